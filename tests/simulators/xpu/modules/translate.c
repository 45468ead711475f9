/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/modules/translate.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/common/program.h"

struct files {
    char module[PATH_MAX + 64], result[PATH_MAX + 64], made[PATH_MAX + 64], log[PATH_MAX + 64];
    char joined[PATH_MAX + 64];
};

/* Has matrix.c compiled, the translated module being made part of it. */
static bool add_matrices(const struct files *files, const char *kernel)
{
    char scratch[256];
    char *const compile[] = { DRV_CLANG, "-x", "c", "-std=gnu17", "-target", "spir64", "-O2",
                              "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Xclang",
                              "-disable-llvm-passes", "-c", "-emit-llvm", scratch, "-Xclang",
                              "-mlink-bitcode-file", "-Xclang", (char *)(uintptr_t)files->made,
                              DRV_MATRIX, "-o", (char *)(uintptr_t)files->joined, NULL };

    snprintf(scratch, sizeof(scratch), "-DSCRATCH=\"%s.given\"", kernel);
    return sim_program_run(compile, files->log) && rename(files->joined, files->made) == 0;
}

/* Has the module translated to LLVM's form, in `made`, with what it uses of matrix units. */
static bool make_bitcode(const struct files *files, const char *matrix_kernel)
{
    char *const convert[] = { DRV_LLVM_SPIRV, "-r", "--spirv-target-env=CL1.2",
                              (char *)(uintptr_t)files->module, "-o",
                              (char *)(uintptr_t)files->made, NULL };

    return sim_program_run(convert, files->log) &&
           (!matrix_kernel || add_matrices(files, matrix_kernel));
}

/* The same in SPIR-V: without matrix units that is the module itself. */
static bool make_spirv(const struct files *files, const char *matrix_kernel)
{
    char *const convert[] = { DRV_LLVM_SPIRV, "--spirv-max-version=1.2",
                              (char *)(uintptr_t)files->made, "-o",
                              (char *)(uintptr_t)files->joined, NULL };

    if (!matrix_kernel)
        return rename(files->module, files->made) == 0;
    return make_bitcode(files, matrix_kernel) && sim_program_run(convert, files->log) &&
           rename(files->joined, files->made) == 0;
}

static uint8_t *translate(const struct files *files, const struct drv_wish *wish,
                          size_t *ret_n_bytes, char **ret_log)
{
    char *const check[] = { DRV_SPIRV_VAL, "--target-env", "opencl2.2",
                            (char *)(uintptr_t)files->module, NULL };
    size_t n;

    if (!sim_program_run(check, files->log) ||
        !(wish->form == DRV_FORM_SPIRV ? make_spirv : make_bitcode)(files, wish->matrix_kernel)) {
        *ret_log = (char *)sim_file_read(files->log, &n);
        return NULL;
    }
    /* Whole, or not at all: another process may look for it. */
    return rename(files->made, files->result) == 0 ? sim_file_read(files->result, ret_n_bytes)
                                                   : NULL;
}

/* What the cache calls the result: by the module and, where that is part of it, matrix.c. */
static void name_result(const void *spirv, size_t n_bytes, bool has_matrices, char ret_name[40])
{
    VRT_CLEANUP(vrt_freep) uint8_t *source = NULL;
    size_t n = 0;

    sim_cache_name(spirv, n_bytes, ret_name);
    if (!has_matrices)
        return;
    source = sim_file_read(DRV_MATRIX, &n);
    ret_name[16] = '-';
    sim_cache_name(source, n, ret_name + 17);
}

uint8_t *drv_translate(const void *spirv, size_t n_bytes, const struct drv_wish *wish,
                       size_t *ret_n_bytes, char **ret_log)
{
    static unsigned n_calls;            /* under the lock of program.c */
    VRT_CLEANUP(vrt_freep) struct files *files = malloc(sizeof(*files));
    char name[40], made[64];

    if (!files)
        return NULL;
    name_result(spirv, n_bytes, wish->matrix_kernel != NULL, name);
    snprintf(made, sizeof(made), "%ld-%u", (long)getpid(), n_calls++);
    snprintf(files->result, sizeof(files->result), "%s/%s.%s", sim_cache_path(), name,
             wish->form == DRV_FORM_SPIRV ? "checked.spv" : "bc");
    snprintf(files->module, sizeof(files->module), "%s/%s.spv", sim_cache_path(), made);
    snprintf(files->made, sizeof(files->made), "%s/%s.bc", sim_cache_path(), made);
    snprintf(files->joined, sizeof(files->joined), "%s/%s-joined.bc", sim_cache_path(), made);
    snprintf(files->log, sizeof(files->log), "%s/%s.log", sim_cache_path(), made);

    uint8_t *result = sim_file_read(files->result, ret_n_bytes);
    if (result)
        return result;
    if (sim_file_write(files->module, spirv, n_bytes) == 0)
        result = translate(files, wish, ret_n_bytes, ret_log);
    unlink(files->module);
    unlink(files->made);
    unlink(files->joined);
    unlink(files->log);
    return result;
}
