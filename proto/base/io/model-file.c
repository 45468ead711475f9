/* SPDX-License-Identifier: MIT */

#include "base/io/model-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io/write.h"

#define PIECE_BYTES (1 << 20)

static const char *const endings[] = { ".param", ".bin" };

/* Which of the two endings the path has: 0, 1; -1: neither. */
static int which(const char *path)
{
    const size_t n = strlen(path);

    for (int i = 0; i < (int)VRT_ARRAY_SIZE(endings); i++) {
        const size_t m = strlen(endings[i]);

        if (n > m && strcasecmp(path + n - m, endings[i]) == 0)
            return i;
    }
    return -1;
}

bool vrt_model_file_is_pair(const char *path)
{
    return which(path) >= 0;
}

char *vrt_model_file_other(const char *path)
{
    const int own = which(path);
    char *other;

    if (asprintf(&other, "%.*s%s", (int)(strlen(path) - strlen(endings[own])), path,
                 endings[1 - own]) < 0)
        return NULL;
    return other;
}

static int refuse(struct vrt_error *error, const char *path, int r)
{
    char shown[200];

    return vrt_refuse(error, vrt_raise(r), "model.invalid", "%s: %s",
                      vrt_printable(path, shown, sizeof(shown)), strerror(-r));
}

static int open_one(int folder, const char *path, int *ret_fd, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = openat(folder, path,
                                            O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return refuse(error, path, -errno);
    if (fstat(fd, &st) < 0)
        return refuse(error, path, -errno);
    if (!S_ISREG(st.st_mode))
        return refuse(error, path, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL);
    *ret_fd = VRT_STEAL_FD(fd);
    return 0;
}

/* The other one, which belongs to the first. */
static int open_other(int folder, const char *path, const char *other, int *ret_fd,
                      struct vrt_error *error)
{
    char shown[160], shown_other[160];

    if (faccessat(folder, other, F_OK, 0) < 0 && errno == ENOENT)
        return vrt_refuse(error, vrt_raise(-ENOENT), "model.invalid",
                          "%s is half of an ncnn network, whose other half is missing: put %s "
                          "beside it", vrt_printable(path, shown, sizeof(shown)),
                          vrt_printable(other, shown_other, sizeof(shown_other)));
    return vrt_fold(open_one(folder, other, ret_fd, error));
}

/*
 * Whether a .bin is a checkpoint, as PyTorch's are called often, and no half of anything: an
 * archive, a pickle, or names behind their length. Weights of ncnn begin with none of these bytes,
 * or with a length of 0.
 */
static bool is_checkpoint(int fd)
{
    unsigned char head[9];
    uint64_t length = 0;

    if (pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return false;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | head[i];
    return memcmp(head, "PK\3\4", 4) == 0 ||
           (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5) ||
           (head[8] == '{' && length >= 2 && length <= UINT32_MAX);
}

/* Appends the file to `to`, of which *at bytes are there. Of a text, its end is one line's. */
static int append(int from, int to, bool is_text, int64_t *at)
{
    VRT_CLEANUP(vrt_freep) char *piece = malloc(PIECE_BYTES);
    off_t read_bytes = 0;
    char last = '\n';
    ssize_t n;

    if (!piece)
        return vrt_raise(-ENOMEM);
    while ((n = pread(from, piece, PIECE_BYTES, read_bytes)) > 0) {
        int r = vrt_write_at(to, piece, (size_t)n, *at);
        if (r < 0)
            return vrt_fold(r);
        last = piece[n - 1];
        read_bytes += n;
        *at += n;
    }
    if (n < 0)
        return vrt_raise(-errno);
    if (!is_text || last == '\n')
        return 0;
    int r = vrt_write_at(to, "\n", 1, *at);
    *at += 1;
    return vrt_fold(r);
}

/* A file that has no name any more. */
static int make_file(int *ret_fd)
{
    FILE *file = tmpfile();

    if (!file)
        return vrt_raise(-errno);
    *ret_fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
    int r = *ret_fd < 0 ? vrt_raise(-errno) : 0;
    fclose(file);
    return r;
}

int vrt_model_file_join(int folder, const char *path, int *ret_fd, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int param = -1, bin = -1, joined = -1;
    VRT_CLEANUP(vrt_freep) char *other = vrt_model_file_other(path);
    const bool is_param = which(path) == 0;
    int64_t at = 0;

    if (!other)
        return refuse(error, path, -ENOMEM);
    int r = open_one(folder, path, is_param ? &param : &bin, error);
    if (r < 0)
        return vrt_fold(r);
    if (!is_param && is_checkpoint(bin)) {
        *ret_fd = VRT_STEAL_FD(bin);
        return 0;
    }
    r = open_other(folder, path, other, is_param ? &bin : &param, error);
    if (r < 0)
        return vrt_fold(r);
    r = make_file(&joined);
    if (r == 0)
        r = append(param, joined, true, &at);
    if (r == 0)
        r = append(bin, joined, false, &at);
    if (r < 0)
        return vrt_refuse_errno(error, r, "joining a model's two files in the folder for temporary "
                                "ones");
    *ret_fd = VRT_STEAL_FD(joined);
    return 0;
}
