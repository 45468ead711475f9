/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulators/common/cache.h"
#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/metal/pipeline.h"
#include "tests/simulators/mps/runtime/settings.h"

#define ERROR_INVALID_FILE 1
#define SUM_DIGITS 16

struct mtl_archive {
    struct mtl_base base;
    struct mtl_device *device;
    char *lines;                        /* of pipelines: "library kernel\n" */
};

struct mtl_archive_descriptor {
    struct mtl_base base;
    struct mtl_url *url;                /* retained; NULL: none */
};

/* What a file begins with that this machine can use. */
static void write_head(char head[64])
{
    snprintf(head, 64, "vrt-mps-sim archive 1, family %u, system %u\n", mtl_settings()->family,
             mtl_settings()->system);
}

/* What stands in a file, its head and sum taken off; NULL: it isn't whole, or of something else. */
static char *read_lines(const char *path)
{
    VRT_CLEANUP(vrt_freep) char *text = NULL;
    char head[64], sum[SUM_DIGITS + 1];
    size_t n;

    text = (char *)sim_file_read(path, &n);
    write_head(head);
    if (!text || n < strlen(head) + SUM_DIGITS || strncmp(text, head, strlen(head)) != 0)
        return NULL;
    sim_cache_name(text, n - SUM_DIGITS, sum);
    if (strcmp(text + n - SUM_DIGITS, sum) != 0)
        return NULL;
    text[n - SUM_DIGITS] = '\0';
    return mtl_copy(text + strlen(head));
}

struct mtl_archive *mtl_archive_new(struct mtl_device *device,
                                    const struct mtl_archive_descriptor *descriptor,
                                    mtl_object *ret_error)
{
    char *lines = descriptor->url ? read_lines(descriptor->url->path) : mtl_copy("");

    if (!lines) {
        mtl_error_give(ret_error, ERROR_INVALID_FILE,
                       "Invalid URL: %s is missing, damaged, or of another device",
                       descriptor->url->path);
        return NULL;
    }
    struct mtl_archive *archive = mtl_new(&mtl_archive_class);
    archive->device = device;
    archive->lines = lines;
    return archive;
}

static char *line_of(const struct mtl_function *function)
{
    char *line = NULL;

    if (asprintf(&line, "%s %s\n", function->library->name, function->kernel->name) < 0)
        mtl_die("no memory");
    return line;
}

bool mtl_archive_has(const struct mtl_archive *archive, const struct mtl_function *function)
{
    VRT_CLEANUP(vrt_freep) char *line = line_of(function);

    mtl_lock();
    const bool result = strstr(archive->lines, line) != NULL;
    mtl_unlock();
    return result;
}

static mtl_bool add(MTL_SELF(mtl_archive), mtl_object handle, mtl_pointer error)
{
    const struct mtl_pipeline_descriptor *descriptor =
        mtl_find(handle, &mtl_pipeline_descriptor_class, "descriptor");
    char *joined = NULL;

    (void)error;
    if (!descriptor->function)
        mtl_die("the descriptor has no function");
    mtl_device_expect(self->device, descriptor->function->library->device, "function");
    if (mtl_archive_has(self, descriptor->function))
        return true;
    VRT_CLEANUP(vrt_freep) char *line = line_of(descriptor->function);
    mtl_lock();
    if (asprintf(&joined, "%s%s", self->lines, line) < 0)
        mtl_die("no memory");
    free(self->lines);
    self->lines = joined;
    mtl_unlock();
    return true;
}

static mtl_bool serialize(MTL_SELF(mtl_archive), mtl_object handle, mtl_pointer error)
{
    const struct mtl_url *url = mtl_find(handle, &mtl_url_class, "location");
    VRT_CLEANUP(vrt_freep) char *text = NULL;
    char head[64], sum[SUM_DIGITS + 1];
    const size_t n_sum = SUM_DIGITS;

    write_head(head);
    mtl_lock();
    const int n = asprintf(&text, "%s%s0123456789abcdef", head, self->lines);
    mtl_unlock();
    if (n < 0)
        mtl_die("no memory");
    sim_cache_name(text, (size_t)n - n_sum, sum);
    memcpy(text + n - n_sum, sum, n_sum);
    if (sim_file_write(url->path, text, (size_t)n) == 0)
        return true;
    mtl_error_give((mtl_object *)(uintptr_t)error, ERROR_INVALID_FILE,
                   "Invalid URL: %s can't be written", url->path);
    return false;
}

static void destroy(struct mtl_base *object)
{
    free(((struct mtl_archive *)object)->lines);
}

static void set_url(MTL_SELF(mtl_archive_descriptor), mtl_object handle)
{
    struct mtl_url *url = mtl_find_or_nil(handle, &mtl_url_class, "location");

    mtl_release(self->url);
    self->url = mtl_retain(url);
}

static void destroy_descriptor(struct mtl_base *object)
{
    mtl_release(((struct mtl_archive_descriptor *)object)->url);
}

const struct mtl_class mtl_archive_class = {
    .name = "MTLBinaryArchive",
    .n_bytes = sizeof(struct mtl_archive),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("addComputePipelineFunctionsWithDescriptor:error:", add, mtl_archive, mtl_bool,
                   mtl_object, mtl_pointer),
        MTL_METHOD("serializeToURL:error:", serialize, mtl_archive, mtl_bool, mtl_object,
                   mtl_pointer),
        { 0 },
    },
    .destroy = destroy,
};

const struct mtl_class mtl_archive_descriptor_class = {
    .name = "MTLBinaryArchiveDescriptor",
    .n_bytes = sizeof(struct mtl_archive_descriptor),
    .has_alloc = true,
    .methods = (const struct mtl_method[]){
        MTL_METHOD("setUrl:", set_url, mtl_archive_descriptor, mtl_void, mtl_object),
        { 0 },
    },
    .destroy = destroy_descriptor,
};
