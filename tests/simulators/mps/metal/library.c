/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/msl/compile.h"
#include "tests/simulators/mps/runtime/faults.h"
#include "tests/simulators/mps/runtime/settings.h"

#define ERROR_COMPILE_FAILURE 3
#define VERSION(major, minor) ((uint64_t)(major) << 16 | (minor))

struct compile_options {
    struct mtl_base base;
    bool is_fast;
    uint64_t version;                   /* MTLLanguageVersion */
};

static void init_options(struct mtl_base *object)
{
    struct compile_options *options = (struct compile_options *)object;

    options->is_fast = true;
    options->version = VERSION(3, 0);
}

static void set_fast_math(MTL_SELF(compile_options), mtl_bool is_fast)
{
    self->is_fast = is_fast;
}

static void set_version(MTL_SELF(compile_options), mtl_u64 version)
{
    if (version < VERSION(2, 0) || version > VERSION(3, 2) || (version & 0xffff) > 4)
        mtl_die("%#lx is no version of the language", version);
    self->version = version;
}

static struct mtl_wish read_options(mtl_object handle)
{
    const struct compile_options *options =
        mtl_find_or_nil(handle, &mtl_compile_options_class, "options");
    const uint64_t version = options ? options->version : VERSION(3, 0);

    return (struct mtl_wish){
        .is_fast = !options || options->is_fast,
        .version = (unsigned)(version >> 16) * 100 + (unsigned)(version & 0xffff) * 10,
    };
}

struct mtl_library *mtl_library_new(struct mtl_device *device, mtl_object source,
                                    mtl_object options, mtl_object *ret_error)
{
    const struct mtl_string *text = mtl_find(source, &mtl_string_class, "source");
    const struct mtl_wish wish = read_options(options);
    VRT_CLEANUP(vrt_freep) char *log = NULL;
    char name[17];

    if (mtl_faults_count(device->index, MTL_AT_LIBRARY).fails) {
        mtl_error_give(ret_error, ERROR_COMPILE_FAILURE,
                       "Compilation failed: as VRT_MPS_FAULTS asked for");
        return NULL;
    }
    if (wish.version > (mtl_settings()->system >= 14 ? 310u : 300u)) {
        mtl_error_give(ret_error, ERROR_COMPILE_FAILURE,
                       "Compilation failed: macOS %u knows no MSL %u", mtl_settings()->system,
                       wish.version);
        return NULL;
    }
    const struct vrt_msl_library *code = mtl_compile(text->text, &wish, name, &log);
    if (!code) {
        mtl_error_give(ret_error, ERROR_COMPILE_FAILURE, "Compilation failed:\n\n%s",
                       log ? log : "");
        return NULL;
    }
    struct mtl_library *library = mtl_new(&mtl_library_class);
    library->device = device;
    library->code = code;
    memcpy(library->name, name, sizeof(name));
    return library;
}

static mtl_object new_function(MTL_SELF(mtl_library), mtl_object name)
{
    const struct mtl_string *string = mtl_find(name, &mtl_string_class, "name");

    for (unsigned i = 0; i < self->code->n_kernels; i++) {
        if (strcmp(self->code->kernels[i].name, string->text) != 0)
            continue;
        struct mtl_function *function = mtl_new(&mtl_function_class);
        function->library = mtl_retain(self);
        function->kernel = &self->code->kernels[i];
        return mtl_handle(function);
    }
    return NULL;
}

static void destroy_function(struct mtl_base *object)
{
    mtl_release(((struct mtl_function *)object)->library);
}

const struct mtl_class mtl_compile_options_class = {
    .name = "MTLCompileOptions",
    .n_bytes = sizeof(struct compile_options),
    .has_alloc = true,
    .init = init_options,
    .methods = (const struct mtl_method[]){
        MTL_METHOD("setFastMathEnabled:", set_fast_math, compile_options, mtl_void, mtl_bool),
        MTL_METHOD("setLanguageVersion:", set_version, compile_options, mtl_void, mtl_u64),
        { 0 },
    },
};

const struct mtl_class mtl_library_class = {
    .name = "MTLLibrary",
    .n_bytes = sizeof(struct mtl_library),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("newFunctionWithName:", new_function, mtl_library, mtl_object, mtl_object),
        { 0 },
    },
};

const struct mtl_class mtl_function_class = {
    .name = "MTLFunction",
    .n_bytes = sizeof(struct mtl_function),
    .destroy = destroy_function,
};
