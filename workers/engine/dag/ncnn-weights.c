/* SPDX-License-Identifier: MIT */
/* The weights of an ncnn network (.bin): numbers without names, as the layers want them. */

#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint.h"
#include "engine/dag/ncnn.h"

/* The four bytes before a layer's weights, little-endian: ncnn's modelbin.cpp reads them. */
#define TAG_F16 UINT32_C(0x01306B47)
#define TAG_INT8 UINT32_C(0x000D4B38)
#define TAG_F32 UINT32_C(0x0002C056)
#define TAG_BYTES 4

static int need(struct vrt_ncnn_weights *weights, uint64_t n_bytes)
{
    const size_t left = weights->file->size_bytes - weights->at;

    if (n_bytes > left)
        return vrt_dag_refuse(weights->dag, "needs %llu bytes of weights where the .bin has %zu "
                              "left: it is cut short, or that of another network",
                              (unsigned long long)n_bytes, left);
    return vrt_dag_file_need(weights->file, weights->at, (size_t)n_bytes);
}

static uint32_t u32_at(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The type that the tag says. Return: bytes of a number; -EINVAL, -errno with the sentence said. */
static int take_tag(struct vrt_ncnn_weights *weights)
{
    int r = need(weights, TAG_BYTES);

    if (r < 0)
        return r;
    const uint32_t tag = u32_at(weights->file->data + weights->at);
    weights->at += TAG_BYTES;
    if (tag == 0 || tag == TAG_F32)
        return 4;
    if (tag == TAG_F16)
        return 2;
    if (tag == TAG_INT8)
        return vrt_dag_refuse(weights->dag, "has weights of 8 bit integers, which vrtd doesn't "
                              "read: take the network's fp16 or fp32 files");
    return vrt_dag_refuse(weights->dag, "has weights of an unknown kind (tag 0x%08x), or they are "
                          "those of another network", tag);
}

int vrt_ncnn_weights_take(struct vrt_ncnn_weights *weights, int64_t n, bool is_tagged,
                          float **ret_values)
{
    int size = is_tagged ? take_tag(weights) : 4;

    if (size < 0)
        return size;
    if (n < 1 || n > INT64_MAX / 8)
        return vrt_dag_refuse(weights->dag, "says that it has %lld weights", (long long)n);
    /* The next weights begin at a multiple of four bytes. */
    const uint64_t n_bytes = ((uint64_t)n * (uint64_t)size + 3) / 4 * 4;
    int r = need(weights, n_bytes);
    if (r < 0)
        return r;
    r = vrt_dag_alloc(weights->dag, n, ret_values);
    if (r < 0)
        return r;
    vrt_checkpoint_read_f32(&(struct vrt_checkpoint_tensor){
        .dtype = size == 2 ? VRT_CHECKPOINT_F16 : VRT_CHECKPOINT_F32,
        .n_dims = 1,
        .dims = { n },
        .strides = { 1 },
        .n_elements = n,
        .data = weights->file->data + weights->at,
    }, *ret_values);
    weights->at += n_bytes;
    return 0;
}
