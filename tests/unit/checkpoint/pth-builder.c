/* SPDX-License-Identifier: MIT */

#include "tests/unit/checkpoint/pth-builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

void pth_bytes(struct vrt_buf *buf, const void *data, size_t size)
{
    expect_int(vrt_buf_append(buf, data, size), 0);
}

static void append_number(struct vrt_buf *buf, uint64_t value, int width)
{
    for (int i = 0; i < width; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);

        pth_bytes(buf, &byte, 1);
    }
}

void pth_u64(struct vrt_buf *buf, uint64_t value)
{
    append_number(buf, value, 8);
}

void pth_text(struct vrt_buf *buf, const char *text)
{
    pth_ops(buf, "X");
    append_number(buf, strlen(text), 4);
    pth_bytes(buf, text, strlen(text));
}

void pth_int(struct vrt_buf *buf, int64_t value)
{
    if (value >= 0 && value < 256) {
        pth_ops(buf, "K");
        append_number(buf, (uint64_t)value, 1);
    } else {
        const int width = value == (int16_t)value ? 2 : 8;

        pth_ops(buf, "\x8a");
        append_number(buf, (uint64_t)width, 1);
        append_number(buf, (uint64_t)value, width);
    }
}

void pth_global(struct vrt_buf *buf, const char *module, const char *name)
{
    expect_int(vrt_buf_printf(buf, "c%s\n%s\n", module, name), 0);
}

void pth_storage(struct vrt_buf *buf, const struct pth_tensor *tensor)
{
    pth_ops(buf, "(");
    pth_text(buf, "storage");
    pth_global(buf, "torch", tensor->storage ? tensor->storage : "FloatStorage");
    pth_text(buf, tensor->key ? tensor->key : "0");
    pth_text(buf, "cpu");
    pth_int(buf, tensor->n_storage);
    pth_ops(buf, "tQ");
}

static void append_tuple(struct vrt_buf *buf, const int64_t *values, int n)
{
    pth_ops(buf, "(");
    for (int i = 0; i < n; i++)
        pth_int(buf, values[i]);
    pth_ops(buf, "t");
}

void pth_tensor(struct vrt_buf *buf, const struct pth_tensor *tensor)
{
    pth_global(buf, "torch._utils", "_rebuild_tensor_v2");
    pth_ops(buf, "(");
    pth_storage(buf, tensor);
    pth_int(buf, tensor->offset);
    append_tuple(buf, tensor->dims, tensor->n_dims);
    append_tuple(buf, tensor->strides, tensor->n_dims);
    pth_ops(buf, "\x89");
    pth_global(buf, "collections", "OrderedDict");
    pth_ops(buf, ")RtR");
}

void pth_entry(struct vrt_buf *buf, const struct pth_tensor *tensor)
{
    pth_text(buf, tensor->name);
    pth_tensor(buf, tensor);
}

void pth_prologue(struct vrt_buf *buf, int is_little_endian)
{
    pth_ops(buf, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                 "\x80\x02M\xe9\x03."
                 "\x80\x02}");
    pth_text(buf, "little_endian");
    pth_bytes(buf, is_little_endian ? "\x88" : "\x89", 1);
    pth_ops(buf, "s.");
}

void pth_epilogue(struct vrt_buf *buf, int n)
{
    pth_ops(buf, "\x80\x02]");
    pth_text(buf, "0");
    pth_ops(buf, "a.");
    pth_u64(buf, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        float value = (float)i;

        pth_bytes(buf, &value, sizeof(value));
    }
}

static void read_all(const struct vrt_checkpoint *cp)
{
    const int64_t n_max = 1 << 20;

    for (int i = 0; i < vrt_checkpoint_n_tensors(cp); i++) {
        const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_tensor(cp, i);
        float *values;

        expect_true(vrt_checkpoint_find(cp, tensor->name) == tensor);
        if (tensor->n_elements > n_max)
            continue;
        values = malloc((size_t)tensor->n_elements * sizeof(*values) + 1);
        expect_true(values != NULL);
        vrt_checkpoint_read_f32(tensor, values);
        free(values);
    }
}

void pth_open(const void *data, size_t size, const char *what, struct pth_opened *ret_opened)
{
    struct pth_opened opened = { .copy = malloc(size ? size : 1) };

    expect_true(opened.copy != NULL);
    if (size)
        memcpy(opened.copy, data, size);
    opened.r = vrt_checkpoint_open_memory(opened.copy, size, "file", &opened.checkpoint,
                                          &opened.error);
    if (opened.r == 0) {
        if (vrt_checkpoint_n_tensors(opened.checkpoint) < 1 || opened.error.message[0])
            test_fail("%s: accepted without tensors or in spite of %s", what, opened.error.message);
        read_all(opened.checkpoint);
    } else {
        if (opened.checkpoint || opened.r != -EINVAL)
            test_fail("%s: refused with %d", what, opened.r);
        if (strncmp(opened.error.message, "file ", 5) != 0)
            test_fail("%s: refused with \"%s\"", what, opened.error.message);
    }
    *ret_opened = opened;
}

void pth_close(struct pth_opened *opened)
{
    opened->checkpoint = vrt_checkpoint_free(opened->checkpoint);
    free(opened->copy);
    opened->copy = NULL;
}

void pth_expect_refused(const struct vrt_buf *buf, const char *what, const char *part)
{
    struct pth_opened opened;

    pth_open(buf->data, buf->size_bytes, what, &opened);
    if (opened.r == 0)
        test_fail("%s was accepted", what);
    if (!strstr(opened.error.message, part))
        test_fail("%s: \"%s\" is without \"%s\"", what, opened.error.message, part);
    pth_close(&opened);
}

void pth_expect_values(const struct vrt_checkpoint *checkpoint, const char *name,
                       const float *values, int n)
{
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(checkpoint, name);
    float actual[64];

    if (!tensor)
        test_fail("tensor %s is missing", name);
    expect_true(n <= 64);
    expect_int(tensor->n_elements, n);
    vrt_checkpoint_read_f32(tensor, actual);
    for (int i = 0; i < n; i++)
        if (actual[i] != values[i])
            test_fail("%s[%d] is %.9g, not %.9g", name, i, (double)actual[i], (double)values[i]);
}
