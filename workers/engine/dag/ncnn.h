/* SPDX-License-Identifier: MIT */
#pragma once

/* A layer of an ncnn network's text, and the weights that follow the text. */

#include "engine/checkpoint/text.h"
#include "engine/dag/read.h"

#define VRT_NCNN_PARAMS_MAX 32
#define VRT_NCNN_BLOBS_MAX 64

/* "Convolution Conv_0 1 1 data 54 0=64 1=3": type, name, how many blobs go in and come out, their
 * names, then parameters by number. */
struct vrt_ncnn_layer {
    struct vrt_text type, name;
    struct vrt_text in[VRT_NCNN_BLOBS_MAX], out[VRT_NCNN_BLOBS_MAX];
    int n_in, n_out;
    struct vrt_ncnn_param {
        int key;                    /* of an array: -23300 less its number */
        struct vrt_text value;
    } params[VRT_NCNN_PARAMS_MAX];
    int n_params;
};

/* What comes before the weights: "7767517", how many layers and blobs, then the layers by line. */
struct vrt_ncnn_text {
    const struct vrt_dag_file *file;
    struct vrt_dag *dag;            /* whose messages are used */
    int n_layers;
    size_t at;                      /* the next layer's line */
    size_t end;                     /* behind the last */
    int conv_inputs;                /* channels of the first convolution; 0: there is none */
};

/* The weights: one after the other in the order of the layers. */
struct vrt_ncnn_weights {
    const struct vrt_dag_file *file;
    struct vrt_dag *dag;
    size_t at;                      /* the next byte */
};

/* Goes over the text once; file and dag are set. Return: 0; -EINVAL, -errno, the sentence said. */
int vrt_ncnn_text_open(struct vrt_ncnn_text *text) VRT_MUST_CHECK;

/* Takes the next layer's line apart, which messages are about from then on. Return: 0; -EINVAL with
 * the sentence said. */
int vrt_ncnn_layer_take(struct vrt_ncnn_text *text,
                        struct vrt_ncnn_layer *ret_layer) VRT_MUST_CHECK;

/* A copy that ends with a NUL, for messages. */
const char *vrt_ncnn_copied(struct vrt_text text, char *buffer, size_t size);

/* The parameter, or `otherwise` where it isn't given, or is no number that fits. */
int vrt_ncnn_int(const struct vrt_ncnn_layer *layer, int key, int otherwise);
float vrt_ncnn_float(const struct vrt_ncnn_layer *layer, int key, float otherwise);

/* Element i of the array, or `otherwise`. */
float vrt_ncnn_element(const struct vrt_ncnn_layer *layer, int key, int i, float otherwise);

/*
 * The next `n` numbers, the caller's to free: f32, or, where `is_tagged`, as the four bytes before
 * them say. Return: 0; -EINVAL, -errno with the sentence said.
 */
int vrt_ncnn_weights_take(struct vrt_ncnn_weights *weights, int64_t n, bool is_tagged,
                          float **ret_values) VRT_MUST_CHECK;
