/* SPDX-License-Identifier: MIT */
#pragma once

/* An ONNX graph of SwinIR while it is read: its samples, and in which order they are. */

#include "model/carrier/onnx/layout.h"
#include "model/carrier/onnx/graph.h"
#include "model/carrier/sketch.h"

#define VRT_SWINIR_BOTH (1 << VRT_AXIS_ROWS | 1 << VRT_AXIS_COLUMNS)

struct vrt_swinir_data {
    int node;
    struct vrt_layout layout;
    int rolled, by;                 /* axes that it is rolled along, and how far */
    bool is_cut;                    /* it is a part of a node: along axis, from start to end */
    enum vrt_axis_kind axis;
    int64_t start, end;
    bool is_end;                    /* nothing may read it: a result */
};

struct vrt_swinir_reader {
    struct vrt_carrier_onnx *onnx;
    struct vrt_sketch *sketch;
    struct vrt_swinir_data *data;
    int n_data, capacity;
    int channels;
    int64_t size[2], padded[2];     /* of the picture: rows, columns */
};

/* The following are about the operation that is read. */

static inline bool vrt_swinir_is_data(const struct vrt_swinir_reader *reader, int i)
{
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(reader->onnx, i);

    return value && value->kind == VRT_CARRIER_DATA;
}

static inline const struct vrt_carrier_shape *vrt_swinir_shape(
    const struct vrt_swinir_reader *reader, int i)
{
    return &vrt_carrier_onnx_in(reader->onnx, i)->shape;
}

/* Return: the data's number; anything once sketch->r is a failure. */
int vrt_swinir_put(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *data);

/* A node in that one's layout: this one; or of this kind. Return: as vrt_swinir_put(). */
int vrt_swinir_put_node(struct vrt_swinir_reader *reader, int node,
                        const struct vrt_swinir_data *like);
int vrt_swinir_put_made(struct vrt_swinir_reader *reader, enum vrt_sketch_kind kind,
                        const struct vrt_swinir_data *x, float by);

/* Input i as it is; with node and layout as operations on samples read it. */
struct vrt_swinir_data vrt_swinir_any(const struct vrt_swinir_reader *reader, int i);
struct vrt_swinir_data vrt_swinir_in(struct vrt_swinir_reader *reader, int i);

/* The constant in the sketch that input i is; 0: that failed. */
int vrt_swinir_constant(struct vrt_swinir_reader *reader, int i);

struct vrt_layout vrt_swinir_picture(int64_t channels, int64_t rows, int64_t columns);

/* Whether x, input 0, is channels of rows of columns; else that is refused. */
void vrt_swinir_want_picture(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *x);

/* Queries and keys, or shares and values, in windows [windows,heads,places,features]. Return: as
 * vrt_swinir_put(). */
int vrt_swinir_attend(struct vrt_swinir_reader *reader);

/* Scores x plus numbers for each pair of places, input i: a bias for each head, or a mask for each
 * window. Return: as vrt_swinir_put(). */
int vrt_swinir_bias(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *x, int i);

/* Operations that move samples. Return: as vrt_swinir_put(). */
int vrt_swinir_gather(void *network);
int vrt_swinir_slice(void *network);
int vrt_swinir_concat(void *network);
int vrt_swinir_pad(void *network);
int vrt_swinir_reshape(void *network);
int vrt_swinir_transpose(void *network);
int vrt_swinir_to_pixels(void *network);
