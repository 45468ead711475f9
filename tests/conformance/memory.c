/* SPDX-License-Identifier: MIT */

#include "tests/conformance/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/op/half.h"
#include "tests/unit/test.h"

#define GUARD_BYTES 512
#define GUARD 0xa5
#define ALIGN_BYTES 256

/* Appends `size_bytes` of `fill` between guards. Return: where. */
static size_t append(struct conf_image *image, size_t size_bytes, int fill)
{
    const size_t begin = (image->size_bytes + GUARD_BYTES + ALIGN_BYTES - 1) / ALIGN_BYTES *
                         ALIGN_BYTES;
    const size_t end = begin + size_bytes + GUARD_BYTES;

    if (end > image->capacity_bytes) {
        image->capacity_bytes = 2 * end;
        image->data = realloc(image->data, image->capacity_bytes);
        expect_true(image->data != NULL);
    }
    memset(image->data + image->size_bytes, GUARD, end - image->size_bytes);
    memset(image->data + begin, fill, size_bytes);
    image->size_bytes = end;
    return begin;
}

/* The tensor that a view of `spec` is cut from, and the view, with offsets from its start. */
static struct vrt_tensor cut(struct conf_spec spec, struct vrt_shape *ret_whole)
{
    const bool channels = spec.view == CONF_CHANNELS || spec.view == CONF_BOTH;
    const bool crop = spec.view == CONF_CROP || spec.view == CONF_BOTH;
    const bool frames = spec.view == CONF_BOTH;
    const struct vrt_shape s = spec.shape;
    const struct vrt_shape whole = {
        s.d + (frames ? 2 : 0), s.h + (crop ? 3 : 0), s.w + (crop ? 5 : 0),
        s.c + (channels ? 19 : 0),
    };
    struct vrt_tensor t = vrt_tensor_dense(spec.dtype, whole);

    if (channels)
        t = vrt_tensor_channels(&t, 16, s.c);
    if (crop)
        t = vrt_tensor_crop(&t, 1, 3, s.h, s.w);
    if (frames)
        t = vrt_tensor_frames(&t, 1, s.d);
    *ret_whole = whole;
    return t;
}

struct vrt_tensor conf_memory_add(struct conf_memory *memory, struct conf_spec spec,
                                  float *values)
{
    struct vrt_shape whole;
    struct vrt_tensor t = cut(spec, &whole);
    /* By turns in the arena and bound, so that both kinds of places are seen in every role. */
    const int image = getenv("VRT_CONF_ALL_IN_ARENA") ? 0 : memory->n_tensors % CONF_N_IMAGES;
    const size_t size = (size_t)vrt_shape_count(whole) * vrt_dtype_size(spec.dtype);
    const size_t begin = append(&memory->images[image], size, 0xff);

    expect_true(memory->n_tensors < CONF_MAX_TENSORS);
    t.storage = memory->n_tensors;
    if (image == 0) {
        t.slot = VRT_SLOT_ARENA;
        t.offset_bytes += begin;
    } else {
        t.slot = 1 + memory->n_bindings;
        memory->binding_offsets[memory->n_bindings++] = begin;
    }
    memory->tensors[memory->n_tensors++] = (struct conf_tensor){ .tensor = t, .values = values };
    return t;
}

size_t conf_memory_workspace(struct conf_memory *memory, size_t size_bytes)
{
    return append(&memory->images[0], size_bytes, 0xff);
}

/* Which image `t` is in. */
static int image_of(const struct vrt_tensor *t)
{
    return t->slot == VRT_SLOT_ARENA ? 0 : 1;
}

/* The offset in its image of element (0,0,0,0) of `t`. */
static size_t offset_of(const struct conf_memory *memory, const struct vrt_tensor *t)
{
    if (t->slot == VRT_SLOT_ARENA)
        return t->offset_bytes;
    return t->offset_bytes + memory->binding_offsets[t->slot - 1];
}

/* The address of element (d,h,w,c) in an image. */
static unsigned char *element(const struct conf_memory *memory, unsigned char *image,
                              const struct vrt_tensor *t, const int at[4])
{
    const int64_t i = at[0] * t->stride_d + at[1] * t->stride_h + at[2] * t->stride_w + at[3];

    return image + offset_of(memory, t) + (size_t)i * vrt_dtype_size(t->dtype);
}

static void encode(unsigned char *dst, enum vrt_dtype dtype, float x)
{
    uint16_t bits = 0;

    switch (dtype) {
    case VRT_DTYPE_F32: memcpy(dst, &x, sizeof(x)); return;
    case VRT_DTYPE_U8: *dst = (unsigned char)x; return;
    case VRT_DTYPE_F16: bits = vrt_f16_from_f32(x); break;
    case VRT_DTYPE_BF16: bits = vrt_bf16_from_f32(x); break;
    default: bits = (uint16_t)x; break;
    }
    memcpy(dst, &bits, sizeof(bits));
}

static float decode(const unsigned char *src, enum vrt_dtype dtype)
{
    uint16_t bits = 0;
    float x;

    if (dtype == VRT_DTYPE_U8)
        return *src;
    if (dtype == VRT_DTYPE_F32) {
        memcpy(&x, src, sizeof(x));
        return x;
    }
    memcpy(&bits, src, sizeof(bits));
    if (dtype == VRT_DTYPE_U16)
        return bits;
    return dtype == VRT_DTYPE_F16 ? vrt_f32_from_f16(bits) : vrt_f32_from_bf16(bits);
}

/* Steps through [D,H,W,C]. Return: whether there is a next place. */
static bool step(int at[4], struct vrt_shape shape)
{
    const int n[4] = { shape.d, shape.h, shape.w, shape.c };

    for (int i = 3; i >= 0; i--) {
        if (++at[i] < n[i])
            return true;
        at[i] = 0;
    }
    return false;
}

void conf_memory_fill(struct conf_memory *memory)
{
    for (int i = 0; i < memory->n_tensors; i++) {
        const struct vrt_tensor *t = &memory->tensors[i].tensor;
        const float *values = memory->tensors[i].values;
        unsigned char *image = memory->images[image_of(t)].data;
        int at[4] = { 0 };
        if (!values)
            continue;
        do
            encode(element(memory, image, t, at), t->dtype, *values++);
        while (step(at, t->shape));
    }
}

double conf_memory_get(const struct conf_memory *memory, unsigned char *const *images,
                       const struct vrt_tensor *t, const int at[4])
{
    return (double)decode(element(memory, images[image_of(t)], t, at), t->dtype);
}

/* Takes over what an output has in `from`, row by row of channels. */
static void take(const struct conf_memory *memory, const struct vrt_tensor *out,
                 unsigned char *to, unsigned char *from)
{
    const struct vrt_shape rows = { out->shape.d, out->shape.h, out->shape.w, 1 };
    const size_t n_bytes = (size_t)out->shape.c * vrt_dtype_size(out->dtype);
    int at[4] = { 0 };

    do
        memcpy(element(memory, to, out, at), element(memory, from, out, at), n_bytes);
    while (step(at, rows));
}

bool conf_memory_intact(const struct conf_memory *memory, unsigned char *const *images,
                        const struct vrt_op *op, size_t workspace_bytes)
{
    for (int i = 0; i < CONF_N_IMAGES; i++) {
        const struct conf_image *image = &memory->images[i];
        if (image->size_bytes == 0)
            continue;
        VRT_CLEANUP(vrt_freep) unsigned char *expected = malloc(image->size_bytes);
        expect_true(expected != NULL);
        memcpy(expected, image->data, image->size_bytes);
        for (int k = 0; k < vrt_op_n_out(op); k++)
            if (image_of(vrt_op_out(op, k)) == i)
                take(memory, vrt_op_out(op, k), expected, images[i]);
        if (i == 0 && workspace_bytes)
            memcpy(expected + op->workspace_offset_bytes, images[0] + op->workspace_offset_bytes,
                   workspace_bytes);
        if (memcmp(expected, images[i], image->size_bytes) == 0)
            continue;
        size_t at = 0;
        while (images[i][at] == expected[at])
            at++;
        printf("byte %zu of %s was overwritten\n", at, i ? "the bindings" : "the arena");
        return false;
    }
    return true;
}

size_t conf_memory_unused(const struct conf_memory *memory, unsigned char *const *images,
                          const struct vrt_op *op, size_t workspace_bytes)
{
    const unsigned char *before = memory->images[0].data + op->workspace_offset_bytes;
    const unsigned char *after = images[0] + op->workspace_offset_bytes;
    size_t n = 0;

    while (n < workspace_bytes &&
           after[workspace_bytes - 1 - n] == before[workspace_bytes - 1 - n])
        n++;
    return n;
}

void conf_memory_done(struct conf_memory *memory)
{
    for (int i = 0; i < memory->n_tensors; i++)
        free(memory->tensors[i].values);
    for (int i = 0; i < CONF_N_IMAGES; i++)
        free(memory->images[i].data);
    memset(memory, 0, sizeof(*memory));
}
