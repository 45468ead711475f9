/* SPDX-License-Identifier: MIT */

#include "backend/mps/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define VRT_LOG_TOPIC "mps"

/* MTLPipelineOptionFailOnBinaryArchiveMiss */
#define ONLY_FROM_ARCHIVE 4UL

struct file {
    char folder[512], path[544];    /* of this process alone; "": there is none */
};

static void file_remove(struct file *file)
{
    if (file->folder[0]) {
        unlink(file->path);
        rmdir(file->folder);
    }
}

/* A place for an archive. Return: whether there is one. */
static bool file_init(struct file *file)
{
    const char *parent = getenv("TMPDIR");

    snprintf(file->folder, sizeof(file->folder), "%s/vrtd-kernel-XXXXXX",
             parent && parent[0] ? parent : "/tmp");
    if (!mkdtemp(file->folder)) {
        vrt_log_debug("kept kernels can't be used: %s: %s", file->folder, strerror(errno));
        file->folder[0] = 0;
        return false;
    }
    snprintf(file->path, sizeof(file->path), "%s/archive", file->folder);
    return true;
}

static bool file_write(const struct file *file, const void *data, size_t size_bytes)
{
    VRT_CLEANUP(vrt_closep) int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                          0600);

    return fd >= 0 && write(fd, data, size_bytes) == (ssize_t)size_bytes;
}

/* Return: what is in it, to be freed; NULL: nothing that can be kept. */
static void *file_read(const struct file *file, size_t *ret_size_bytes)
{
    VRT_CLEANUP(vrt_closep) int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    VRT_CLEANUP(vrt_freep) void *data = NULL;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0 ||
        (uint64_t)st.st_size > VRT_CACHE_ITEM_BYTES)
        return NULL;
    data = malloc((size_t)st.st_size);
    if (!data || read(fd, data, (size_t)st.st_size) != st.st_size)
        return NULL;
    *ret_size_bytes = (size_t)st.st_size;
    return VRT_STEAL(data);
}

static vrt_metal_id url_of(const struct file *file)
{
    return VRT_METAL(url_of, vrt_metal.class_of("NSURL"), vrt_metal_string(file->path));
}

/* An archive, owned: of a file, or with nothing in it (NULL). Return: NULL: it can't be had. */
static vrt_metal_id open_archive(vrt_metal_id device, const struct file *file)
{
    vrt_metal_id descriptor = vrt_metal_new("MTLBinaryArchiveDescriptor"), error = NULL;
    char why[160];

    if (file)
        VRT_METAL(set_url, descriptor, url_of(file));
    vrt_metal_id archive = VRT_METAL(new_archive, device, descriptor, &error);
    if (!archive)
        vrt_log_debug("an archive of kernels can't be had: %s",
                      vrt_metal_why(error, why, sizeof(why)));
    vrt_metal_drop(&descriptor);
    return archive;
}

/* The pipeline, if the archive has it. */
static vrt_metal_id take(vrt_metal_id device, vrt_metal_id descriptor, vrt_metal_id archive)
{
    vrt_metal_id error = NULL;

    VRT_METAL(set_archives, descriptor,
              VRT_METAL(array_of, vrt_metal.class_of("NSArray"), &archive, 1UL));
    vrt_metal_id pipeline = VRT_METAL(new_pipeline, device, descriptor, ONLY_FROM_ARCHIVE, NULL,
                                      &error);
    VRT_METAL(set_archives, descriptor, NULL);
    return pipeline;
}

vrt_metal_id vrt_mps_archive_load(struct vrt_cache *cache, const struct vrt_cache_key *key,
                                  vrt_metal_id device, vrt_metal_id descriptor)
{
    VRT_CLEANUP(file_remove) struct file file = { "", "" };
    vrt_metal_id archive = NULL, pipeline = NULL;
    struct vrt_cache_item item;
    const int found = vrt_cache_load(cache, key, &item);

    if (found) {
        if (found != -ENOENT)
            vrt_log_debug("kept kernel %s can't be used: %s, ignoring", key->name,
                          strerror(-found));
        return NULL;
    }
    if (file_init(&file) && file_write(&file, item.data, item.size_bytes)) {
        archive = open_archive(device, &file);
        pipeline = archive ? take(device, descriptor, archive) : NULL;
        if (!pipeline) {
            vrt_log_debug("kept kernel %s is refused, ignoring", key->name);
            vrt_cache_drop(cache, key);
        }
    }
    vrt_metal_drop(&archive);
    free(item.file);
    return pipeline;
}

void vrt_mps_archive_store(struct vrt_cache *cache, const struct vrt_cache_key *key,
                           vrt_metal_id device, vrt_metal_id descriptor)
{
    VRT_CLEANUP(file_remove) struct file file = { "", "" };
    VRT_CLEANUP(vrt_freep) void *data = NULL;
    vrt_metal_id archive, error = NULL;
    size_t size_bytes = 0;

    if (!cache->folder[0] || !file_init(&file))
        return;
    archive = open_archive(device, NULL);
    if (archive && VRT_METAL(archive_pipeline, archive, descriptor, &error) &&
        VRT_METAL(write_archive, archive, url_of(&file), &error))
        data = file_read(&file, &size_bytes);
    if (data)
        vrt_cache_store(cache, key, data, size_bytes);
    vrt_metal_drop(&archive);
}
