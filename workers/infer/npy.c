/* SPDX-License-Identifier: MIT */
/*
 * The format: "\x93NUMPY", two bytes of version, the header's length (2 bytes in version 1, else
 * 4), the header, which is a Python dictionary such as
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 64, 64), }
 *
 * and the values.
 */

#include "infer/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/write.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_BYTES_MAX 4096
#define HEADER_ALIGNMENT 64         /* of the data, as NumPy's format says */
#define E_INVALID "npy.invalid"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are read as they stand");

/* What a header says, and where its parser is. */
struct header {
    const char *at;
    char descr[32];
    bool fortran_order;
    int n_dims;
    int64_t dims[VRT_NPY_DIMS_MAX];
    bool has_descr, has_order, has_shape;
};

void vrt_npy_done(struct vrt_npy *array)
{
    free(array->data);
    array->data = NULL;
}

/* Whether `token` comes next; it is skipped if it does. */
static bool skip(struct header *h, const char *token)
{
    h->at += strspn(h->at, " \t\n");
    if (strncmp(h->at, token, strlen(token)) != 0)
        return false;
    h->at += strlen(token);
    return true;
}

/* A quoted string without escapes. */
static bool parse_string(struct header *h, char *text, size_t size)
{
    const char *quote = skip(h, "'") ? "'" : skip(h, "\"") ? "\"" : NULL;
    size_t n = quote ? strcspn(h->at, quote) : 0;

    if (!quote || h->at[n] != quote[0] || n >= size)
        return false;
    memcpy(text, h->at, n);
    text[n] = '\0';
    h->at += n + 1;
    return true;
}

static bool parse_shape(struct header *h)
{
    h->n_dims = 0;
    if (!skip(h, "("))
        return false;
    while (!skip(h, ")")) {
        size_t n_digits;

        skip(h, "");
        n_digits = strspn(h->at, "0123456789");
        if (n_digits < 1 || n_digits > 18 || h->n_dims == VRT_NPY_DIMS_MAX)
            return false;
        h->dims[h->n_dims++] = strtoll(h->at, NULL, 10);
        h->at += n_digits;
        if (!skip(h, ","))
            return skip(h, ")");
    }
    return true;
}

static bool parse_value(struct header *h, const char *key)
{
    if (strcmp(key, "descr") == 0) {
        h->has_descr = parse_string(h, h->descr, sizeof(h->descr));
        return h->has_descr;
    }
    if (strcmp(key, "fortran_order") == 0) {
        h->fortran_order = skip(h, "True");
        h->has_order = h->fortran_order || skip(h, "False");
        return h->has_order;
    }
    if (strcmp(key, "shape") == 0) {
        h->has_shape = parse_shape(h);
        return h->has_shape;
    }
    return false;
}

/* Whether `text` is a header that has each of its three keys. */
static bool parse_header(struct header *h, const char *text)
{
    char key[32];

    h->at = text;
    if (!skip(h, "{"))
        return false;
    while (!skip(h, "}")) {
        if (!parse_string(h, key, sizeof(key)) || !skip(h, ":") || !parse_value(h, key))
            return false;
        if (!skip(h, ",")) {
            if (!skip(h, "}"))
                return false;
            break;
        }
    }
    skip(h, "");
    return *h->at == '\0' && h->has_descr && h->has_order && h->has_shape;
}

/*
 * Return: 0 with the header's text, ended by a NUL, and the bytes until the values; -EINVAL;
 * -errno.
 */
static int read_header(int fd, const char *path, char text[HEADER_BYTES_MAX + 1],
                       size_t *ret_n_bytes, struct vrt_error *error)
{
    unsigned char start[MAGIC_BYTES + 2], length[4] = { 0 };
    int r = vrt_read_at(fd, start, sizeof(start), 0);

    if (r == -ENODATA || (r == 0 && memcmp(start, MAGIC, MAGIC_BYTES) != 0))
        return vrt_refuse(error, -EINVAL, E_INVALID, "%s is not a NumPy array (.npy)", path);
    if (r < 0)
        return vrt_refuse_errno(error, r, path);

    unsigned int version = start[MAGIC_BYTES];
    size_t n_length = version == 1 ? 2 : 4;
    if (version < 1 || version > 3)
        return vrt_refuse(error, -EINVAL, E_INVALID,
                          "%s has version %u of the .npy format; 1 to 3 can be read", path,
                          version);
    r = vrt_read_at(fd, length, n_length, sizeof(start));
    size_t n_bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
                     (size_t)length[3] << 24;
    if (r == 0 && n_bytes > HEADER_BYTES_MAX)
        return vrt_refuse(error, -EINVAL, E_INVALID,
                          "%s has a header of %zu bytes, more than the %d that an array of "
                          "numbers needs", path, n_bytes, HEADER_BYTES_MAX);
    if (r == 0)
        r = vrt_read_at(fd, text, n_bytes, (int64_t)(sizeof(start) + n_length));
    if (r == -ENODATA)
        return vrt_refuse(error, -EINVAL, E_INVALID, "%s ends within its header", path);
    if (r < 0)
        return vrt_refuse_errno(error, r, path);
    text[n_bytes] = '\0';
    if (strlen(text) != n_bytes)
        return vrt_refuse(error, -EINVAL, E_INVALID, "%s has a header that isn't text", path);
    *ret_n_bytes = sizeof(start) + n_length + n_bytes;
    return 0;
}

/* Return: 0; -EINVAL if the values that the header tells of aren't what we read, or not there. */
static int check_header(const struct header *h, const char *path, int64_t n_data_bytes,
                        struct vrt_npy *array, struct vrt_error *error)
{
    int64_t n_there = n_data_bytes / (int64_t)sizeof(float), n = 1;
    char descr[64];

    if (strcmp(h->descr, "<f4") != 0)
        return vrt_refuse(error, -EINVAL, E_INVALID,
                          "%s holds values of type \"%s\", not \"<f4\": convert it with "
                          "x.astype('<f4')", path, vrt_printable(h->descr, descr, sizeof(descr)));
    if (h->fortran_order)
        return vrt_refuse(error, -EINVAL, E_INVALID,
                          "%s is in Fortran order: convert it with numpy.ascontiguousarray(x)",
                          path);
    for (int i = 0; i < h->n_dims; i++) {
        if (h->dims[i] < 1)
            return vrt_refuse(error, -EINVAL, E_INVALID, "%s is an array without values", path);
        if (h->dims[i] > n_there / n)
            return vrt_refuse(error, -EINVAL, E_INVALID,
                              "%s is truncated: its header tells of more values than the %" PRId64
                              " that follow", path, n_there);
        n *= h->dims[i];
        array->dims[i] = h->dims[i];
    }
    if (n_data_bytes != n * (int64_t)sizeof(float))
        return vrt_refuse(error, -EINVAL, E_INVALID,
                          "%s holds %" PRId64 " bytes behind the header, where %" PRId64
                          " values take %" PRId64, path, n_data_bytes, n,
                          n * (int64_t)sizeof(float));
    array->n_dims = h->n_dims;
    array->n_elements = n;
    return 0;
}

int vrt_npy_read(const char *path, struct vrt_npy *ret_array, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct vrt_npy array = { 0 };
    struct header header = { 0 };
    char text[HEADER_BYTES_MAX + 1];
    size_t n_header_bytes = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, -errno, path);
    if (!S_ISREG(st.st_mode))
        return vrt_refuse(error, -EINVAL, E_INVALID, "%s is not a regular file", path);

    int r = read_header(fd, path, text, &n_header_bytes, error);
    if (r < 0)
        return vrt_fold(r);
    if (!parse_header(&header, text))
        return vrt_refuse(error, -EINVAL, E_INVALID,
                          "%s has a header that doesn't describe a plain array of numbers", path);
    r = check_header(&header, path, (int64_t)st.st_size - (int64_t)n_header_bytes, &array, error);
    if (r < 0)
        return vrt_fold(r);

    size_t n_bytes = (size_t)array.n_elements * sizeof(float);
    VRT_CLEANUP(vrt_freep) float *data = malloc(n_bytes);
    if (!data)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), path);
    r = vrt_read_at(fd, data, n_bytes, (int64_t)n_header_bytes);
    if (r < 0)
        return vrt_refuse_errno(error, r, path);
    array.data = VRT_STEAL(data);
    *ret_array = array;
    return 0;
}

int vrt_npy_file_open(const char *path, struct vrt_npy_file *ret_file, struct vrt_error *error)
{
    struct vrt_npy_file file = { .path = path };
    const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;

    file.fd = open(path, flags | O_CREAT | O_EXCL, 0666);
    file.created = file.fd >= 0;
    if (file.fd < 0 && errno == EEXIST)
        file.fd = open(path, flags);
    if (file.fd < 0)
        return vrt_refuse_errno(error, -errno, path);
    *ret_file = file;
    return 0;
}

static int write_exactly(int fd, const void *data, size_t size)
{
    size_t n_done = 0;

    while (n_done < size) {
        ssize_t n = write(fd, (const char *)data + n_done, size - n_done);

        if (n < 0 && errno != EINTR)
            return -errno;
        n_done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* The header of version 1, with its spaces. Return: its bytes. */
static size_t format_header(const struct vrt_npy *array, char *header, size_t size)
{
    size_t n = MAGIC_BYTES + 4;

    memcpy(header, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    n += (size_t)snprintf(header + n, size - n, "{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (");
    for (int i = 0; i < array->n_dims; i++)
        n += (size_t)snprintf(header + n, size - n, "%" PRId64 ", ", array->dims[i]);
    n += (size_t)snprintf(header + n, size - n, "), }");
    while ((n + 1) % HEADER_ALIGNMENT != 0)
        header[n++] = ' ';
    header[n++] = '\n';

    size_t n_text = n - MAGIC_BYTES - 4;
    header[MAGIC_BYTES + 2] = (char)(n_text & 255);
    header[MAGIC_BYTES + 3] = (char)(n_text >> 8);
    return n;
}

int vrt_npy_file_write(struct vrt_npy_file *file, const struct vrt_npy *array,
                       struct vrt_error *error)
{
    char header[512];
    size_t n_header = format_header(array, header, sizeof(header));
    struct stat st;
    int r = fstat(file->fd, &st) < 0 ? -errno : 0;

    if (r == 0 && S_ISREG(st.st_mode) && ftruncate(file->fd, 0) < 0)
        r = -errno;
    if (r == 0)
        r = write_exactly(file->fd, header, n_header);
    if (r == 0)
        r = write_exactly(file->fd, array->data, (size_t)array->n_elements * sizeof(float));
    if (r < 0)
        return vrt_refuse_errno(error, r, file->path);

    /* Some file systems tell of a full disk only here. */
    const int fd = file->fd;
    file->fd = -1;
    return close(fd) < 0 ? vrt_refuse_errno(error, -errno, file->path) : 0;
}

void vrt_npy_file_close(struct vrt_npy_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    if (file->created)
        unlink(file->path);
}
