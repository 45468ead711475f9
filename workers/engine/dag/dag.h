/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Networks that their files state as a graph of operations (ONNX, ncnn): the one form that both are
 * read into
 *
 * A reader adds the nodes in their order, each a function below, which checks that it fits those
 * before it; vrt_dag_finish() then leaves out what the result doesn't need, and joins nodes until
 * each is one op of ours (docs/ops.md). Whatever has no such op is refused by its name.
 *
 * A node's pictures are [channels, H * num / den, W * num / den], H and W being the input's.
 *
 * Thread: any one at a time; once it is finished, any number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/op/enums.h"
#include "base/cleanup.h"
#include "base/error.h"

#define VRT_DAG_IN_MAX 16           /* that are concatenated */

enum vrt_dag_kind {
    VRT_DAG_INPUT,
    VRT_DAG_CONV,                   /* activation(in[0] * weight + bias) * scale + in[1] */
    VRT_DAG_ACTIVATE,               /* of the conv that it follows: gone once finished */
    VRT_DAG_AFFINE,                 /* in[0] * weight[c] + bias[c]: a conv if over 4 channels */
    VRT_DAG_ADD,                    /* in[0] * scale + in[1] * scale_b; finished: scale_b is 1 */
    VRT_DAG_SQUASH,                 /* scale * sigmoid(in[0] * slope) + shift: gone once finished */
    VRT_DAG_MUL,                    /* in[0] * in[1]: gone once finished */
    VRT_DAG_GATE,                   /* (in[1] + in[2]) * (scale * sigmoid(in[0]) + shift) */
    VRT_DAG_CONCAT,
    VRT_DAG_SHUFFLE,                /* pixels of channels, r * r for one; + in[1] enlarged */
    VRT_DAG_UNSHUFFLE,              /* its inverse */
    VRT_DAG_RESIZE,
    VRT_DAG_BICUBIC,                /* to r / r_in: squares of r_in pixels, convolved, to squares
                                     * of r; what is outside is as the edge */
};

/* One value: what an operation makes of those before it. */
struct vrt_dag_node {
    enum vrt_dag_kind kind;
    int n_in, in[VRT_DAG_IN_MAX];
    int channels, num, den;
    int n_uses;                     /* by nodes that are needed; the result counts as one */
    char where[64];                 /* the operation in the file: Conv "Conv_12" */

    int kernel, r, r_in;
    bool is_planar;                 /* un/shuffle, as the file has it: channel (i*r + j)*C + c */
    enum vrt_activation activation;
    enum vrt_resize_mode mode;
    float slope, scale, scale_b, shift;
    float *weight, *bias, *slopes;  /* owned; NULL: none. [O,I,K,K], [O], [O] */

    /* Filled when it is finished. */
    bool keeps_f32;                 /* whatever the precision: it is added up over the network */
    int home, home_channel;         /* the concat in whose channels it is written; -1: none */
};

struct vrt_dag {
    struct vrt_dag_node *nodes;
    int n_nodes, capacity;
    int result;                     /* the node; -1 before it is finished */
    int edge;                       /* pictures are to be mirrored to a multiple of this; 0: no */

    /* While it is read. */
    const char *source;             /* what messages call the file */
    const char *format;             /* "ONNX", "ncnn": static */
    char where[64];                 /* the operation that is being read */
    const char *instead;            /* what to do in the place of reading it; NULL: nothing known */
    bool is_carrier;                /* it holds a network that isn't run operation by operation */
    int64_t values_left;            /* how many more numbers its constants may have */
    struct vrt_error *error;
};

/* An empty graph whose constants may have `n_values` numbers in sum. `source` is borrowed until it
 * is finished. Return: 0; -ENOMEM with the sentence said. */
int vrt_dag_new(const char *source, const char *format, int64_t n_values, struct vrt_error *error,
                struct vrt_dag **ret_dag) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_dag *vrt_dag_free(struct vrt_dag *dag);

VRT_DEFINE_CLEANUP(struct vrt_dag, vrt_dag_free)

/* From now on messages are about this operation. Its name may hold anything. */
void vrt_dag_set_where(struct vrt_dag *dag, const char *kind, const char *name);

/* Fills the error with "SOURCE holds an ONNX graph whose WHERE ...". Return: -EINVAL. */
int vrt_dag_refuse(struct vrt_dag *dag, const char *format, ...) VRT_PRINTF(2, 3);

/* The file has an operation of this type (`size` bytes): where that is one by which a network shows
 * whose weights alone are taken from files, is_carrier says so, or a refusal of the graph says what
 * to do. */
void vrt_dag_note_type(struct vrt_dag *dag, const char *type, size_t size);

/* `n` numbers for a constant, the caller's to free, counted. Return: 0; -EINVAL, -ENOMEM with the
 * sentence said. */
int vrt_dag_alloc(struct vrt_dag *dag, int64_t n, float **ret_values) VRT_MUST_CHECK;

/*
 * Each of the following adds a node, of nodes that are there (*in* are their numbers). Arrays are
 * taken over where that is said, whatever the outcome.
 * Return: its number; -EINVAL, -ENOMEM with the sentence said.
 */

/* The picture that comes in: one only. */
int vrt_dag_input(struct vrt_dag *dag, int channels) VRT_MUST_CHECK;

/* A convolution of stride 1 whose edge of zeros keeps the size. weight [channels, I, kernel,
 * kernel] and bias [channels] (NULL: none) are taken over. */
int vrt_dag_conv(struct vrt_dag *dag, int in, const struct vrt_dag_node *like) VRT_MUST_CHECK;

/* ReLU, leaky ReLU with `slope`, or PReLU with `slopes` (one a channel, taken over). */
int vrt_dag_activate(struct vrt_dag *dag, int in, const struct vrt_dag_node *like) VRT_MUST_CHECK;

/* in * scale[c] + shift[c]; both have n numbers, 1 (for all) or one a channel, and are copied;
 * NULL: ones, zeros. */
int vrt_dag_affine(struct vrt_dag *dag, int in, const float *scale, const float *shift,
                   int n) VRT_MUST_CHECK;

/* scale * sigmoid(in * slope) + shift */
int vrt_dag_squash(struct vrt_dag *dag, int in, float slope, float scale,
                   float shift) VRT_MUST_CHECK;

/* a * scale_a + b * scale_b; a * b */
int vrt_dag_add(struct vrt_dag *dag, int a, float scale_a, int b, float scale_b) VRT_MUST_CHECK;
int vrt_dag_mul(struct vrt_dag *dag, int a, int b) VRT_MUST_CHECK;

/* Channels of `n` nodes, one after the other. */
int vrt_dag_concat(struct vrt_dag *dag, const int *in, int n) VRT_MUST_CHECK;

/* `kind` is VRT_DAG_SHUFFLE or VRT_DAG_UNSHUFFLE. */
int vrt_dag_shuffle(struct vrt_dag *dag, enum vrt_dag_kind kind, int in, int r,
                    bool is_planar) VRT_MUST_CHECK;

/* To num / den of the size in both directions. */
int vrt_dag_resize(struct vrt_dag *dag, int in, enum vrt_resize_mode mode, int num,
                   int den) VRT_MUST_CHECK;

/* The same by bicubic interpolation (Keys 1981, a = -0.75, as PyTorch and ncnn have it), which
 * doesn't smooth first where it makes pictures smaller. */
int vrt_dag_bicubic(struct vrt_dag *dag, int in, int num, int den) VRT_MUST_CHECK;

/* Joins the nodes that `result` needs, and leaves out all others: the input is node 0, the result
 * the last. Return: 0; -EINVAL with the sentence said. */
int vrt_dag_finish(struct vrt_dag *dag, int result) VRT_MUST_CHECK;

/* Pixels of the input around one that can reach the pixels that are made of it. */
int vrt_dag_radius(const struct vrt_dag *dag);

/* Of which H and W must be multiples. */
int vrt_dag_multiple(const struct vrt_dag *dag);
