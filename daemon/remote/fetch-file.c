/* SPDX-License-Identifier: MIT */

/* While a step goes on its thread owns the descriptor, the size, the digest and the buffer that is
 * written; the loop owns the buffer that is filled. */

#include "daemon/remote/fetch-file.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "base/io/write.h"

#define BUFFER_BYTES (256 * 1024)  /* hashed and written at a time */
#define WRITE_BYTES (64 * 1024)         /* not worth a step where fewer are there, but at the end */

struct buffer {
    uint8_t data[BUFFER_BYTES];
    size_t size;
};

struct vrt_fetch_file {
    struct vrt_fetch_file_params params;    /* immutable; its texts are below */
    char *name, *note_name, *url;
    uv_work_t work;
    bool is_busy;
    enum vrt_fetch_file_step step;
    char version[VRT_FETCH_VERSION_BYTES];
    struct buffer *filling, *writing;
    /* by the thread while a step goes on */
    int fd, result;
    int64_t size;
    struct sha256_ctx sha256;
};

int vrt_fetch_file_new(const struct vrt_fetch_file_params *params,
                       struct vrt_fetch_file **ret_file)
{
    struct vrt_fetch_file *file = calloc(1, sizeof(*file));
    size_t n = strlen(params->name) + sizeof(".from");

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!file)
        return vrt_raise(-ENOMEM);
    file->params = *params;
    file->fd = -1;
    file->work.data = file;
    sha256_init(&file->sha256);
    file->name = strdup(params->name);
    file->note_name = malloc(n);
    file->url = strdup(params->url);
    file->filling = calloc(1, sizeof(*file->filling));
    file->writing = calloc(1, sizeof(*file->writing));
    if (!file->name || !file->note_name || !file->url || !file->filling || !file->writing) {
        vrt_fetch_file_free(file);
        return vrt_raise(-ENOMEM);
    }
    snprintf(file->note_name, n, "%s.from", params->name);
    file->params.name = file->name;
    file->params.url = file->url;
    *ret_file = file;
    return 0;
}

struct vrt_fetch_file *vrt_fetch_file_free(struct vrt_fetch_file *file)
{
    if (!file)
        return NULL;
    vrt_assert(!file->is_busy);
    vrt_closep(&file->fd);
    free(file->filling);
    free(file->writing);
    free(file->name);
    free(file->note_name);
    free(file->url);
    free(file);
    return NULL;
}

/* Whether NAME.from says that what is there came from the same address, and which version it is. */
static bool read_note(struct vrt_fetch_file *file)
{
    char text[VRT_API_LINK_BYTES + VRT_FETCH_VERSION_BYTES + 8] = "";
    VRT_CLEANUP(vrt_closep) int fd = openat(file->params.folder_fd, file->note_name,
                                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t url_length = strlen(file->url);

    if (read(fd, text, sizeof(text) - 1) < 0)
        return false;
    char *line = strchr(text, '\n'), *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end || (size_t)(line - text) != url_length || memcmp(text, file->url, url_length) != 0 ||
        (size_t)(end - line - 1) >= sizeof(file->version))
        return false;
    snprintf(file->version, sizeof(file->version), "%.*s", (int)(end - line - 1), line + 1);
    return file->version[0];
}

static int remove_note(const struct vrt_fetch_file *file)
{
    if (unlinkat(file->params.folder_fd, file->note_name, 0) < 0 && errno != ENOENT)
        return vrt_raise(-errno);
    return 0;
}

static int write_note(const struct vrt_fetch_file *file)
{
    char text[VRT_API_LINK_BYTES + VRT_FETCH_VERSION_BYTES + 8];

    int r = remove_note(file);
    if (r < 0)
        return vrt_fold(r);
    int n = snprintf(text, sizeof(text), "%s\n%s\n", file->url, file->version);
    if (!file->version[0] || n >= (int)sizeof(text))
        return 0;
    VRT_CLEANUP(vrt_closep) int fd = openat(file->params.folder_fd, file->note_name,
                                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return vrt_raise(-errno);
    return vrt_write_at(fd, text, (size_t)n, 0);
}

static int empty_file(struct vrt_fetch_file *file)
{
    if (ftruncate(file->fd, 0) < 0)
        return vrt_raise(-errno);
    file->size = 0;
    sha256_init(&file->sha256);
    return vrt_fold(write_note(file));
}

/* The digest must begin with what is there already. */
static int digest_file(struct vrt_fetch_file *file)
{
    int64_t offset = 0;

    while (offset < file->size) {
        ssize_t n = pread(file->fd, file->writing->data, BUFFER_BYTES, offset);
        if (n <= 0)
            return vrt_raise(n < 0 ? -errno : -EIO);
        sha256_update(&file->sha256, (size_t)n, file->writing->data);
        offset += n;
    }
    return 0;
}

static int open_file(struct vrt_fetch_file *file)
{
    struct stat st;

    file->fd = openat(file->params.folder_fd, file->name,
                      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, file->params.mode);
    if (file->fd < 0 || fstat(file->fd, &st) < 0)
        return vrt_raise(-errno);
    if (!S_ISREG(st.st_mode))
        return vrt_raise(-EEXIST);
    bool is_known = read_note(file);
    if (!is_known && !file->params.keeps_any)
        return vrt_fold(empty_file(file));
    file->size = st.st_size;
    if (file->params.wants_digest)
        return vrt_fold(digest_file(file));
    return 0;
}

static int write_buffer(struct vrt_fetch_file *file)
{
    struct buffer *buffer = file->writing;

    int r = vrt_write_at(file->fd, buffer->data, buffer->size, file->size);
    if (r < 0)
        return vrt_fold(r);
    file->size += (int64_t)buffer->size;
    if (file->params.wants_digest)
        sha256_update(&file->sha256, buffer->size, buffer->data);
    return 0;
}

static int finish_file(struct vrt_fetch_file *file)
{
    if (fsync(file->fd) < 0)
        return vrt_raise(-errno);
    int r = remove_note(file);
    if (r < 0)
        return vrt_fold(r);
    return fsync(file->params.folder_fd) < 0 ? vrt_raise(-errno) : 0;
}

static int remove_file(struct vrt_fetch_file *file)
{
    unlinkat(file->params.folder_fd, file->note_name, 0);
    unlinkat(file->params.folder_fd, file->name, 0);
    return 0;
}

static void do_step(uv_work_t *work)
{
    static int (*const steps[])(struct vrt_fetch_file *file) = {
        [VRT_FETCH_FILE_OPEN] = open_file,
        [VRT_FETCH_FILE_EMPTY] = empty_file,
        [VRT_FETCH_FILE_WRITE] = write_buffer,
        [VRT_FETCH_FILE_FINISH] = finish_file,
        [VRT_FETCH_FILE_REMOVE] = remove_file,
    };
    struct vrt_fetch_file *file = work->data;

    file->result = steps[file->step](file);
}

static void on_stepped(uv_work_t *work, int status)
{
    struct vrt_fetch_file *file = work->data;

    (void)status;
    file->is_busy = false;
    file->params.stepped(file->params.ctx, file->step, file->result);
}

void vrt_fetch_file_step(struct vrt_fetch_file *file, enum vrt_fetch_file_step step,
                         const char *version)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!file->is_busy);
    if (step == VRT_FETCH_FILE_EMPTY)
        snprintf(file->version, sizeof(file->version), "%s", version);
    if (step == VRT_FETCH_FILE_WRITE) {
        struct buffer *full = file->filling;
        file->filling = file->writing;
        file->writing = full;
        file->filling->size = 0;
    }
    file->step = step;
    int r = uv_queue_work(file->params.loop, &file->work, do_step, on_stepped);
    vrt_assert(r == 0);
    file->is_busy = true;
}

int vrt_fetch_file_append(struct vrt_fetch_file *file, const void *data, size_t size)
{
    /* What came while the file was emptied may wait for a write that nobody has begun. */
    if (size > BUFFER_BYTES - file->filling->size && !file->is_busy)
        vrt_fetch_file_step(file, VRT_FETCH_FILE_WRITE, NULL);
    if (size > BUFFER_BYTES - file->filling->size)
        return VRT_FETCH_FILE_E_BUSY;
    memcpy(file->filling->data + file->filling->size, data, size);
    file->filling->size += size;
    if (!file->is_busy && file->filling->size >= WRITE_BYTES)
        vrt_fetch_file_step(file, VRT_FETCH_FILE_WRITE, NULL);
    return 0;
}

bool vrt_fetch_file_is_busy(const struct vrt_fetch_file *file)
{
    return file->is_busy;
}

bool vrt_fetch_file_has_rest(const struct vrt_fetch_file *file)
{
    return file->filling->size > 0;
}

int64_t vrt_fetch_file_size(const struct vrt_fetch_file *file)
{
    return file->size;
}

const char *vrt_fetch_file_version(const struct vrt_fetch_file *file)
{
    return file->version;
}

const char *vrt_fetch_file_digest(const struct vrt_fetch_file *file,
                                  char digest[VRT_DIGEST_TEXT_BYTES])
{
    uint8_t bytes[SHA256_DIGEST_SIZE];
    struct sha256_ctx copy = file->sha256;

    sha256_digest(&copy, sizeof(bytes), bytes);
    return vrt_digest_print(bytes, digest);
}
