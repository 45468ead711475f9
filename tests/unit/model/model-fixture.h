/* SPDX-License-Identifier: MIT */
#pragma once

/* What the tests of networks share: checkpoints made by rule, and a run of a network. */

#include <stdint.h>

#include "backend/backend.h"
#include "base/buf.h"
#include "model/network.h"

/* A checkpoint under construction; zero-initialised. */
struct fixture {
    struct vrt_buf header, data;
    uint64_t seed;                  /* of the values; 0: all of them `weight`, biases zero */
    float weight;
    const char *left_out;           /* a tensor that isn't added; NULL: all are */
    bool has_norms;                 /* vectors of weights are norms', around 1, not slopes */
    const char *dtype;              /* "F32" if NULL; "F16" and "I32" only with weights of 0 */
    const char *metadata;           /* JSON object, or NULL */
};

/* What a tensor is called, and its shape. */
struct fixture_tensor {
    const char *name;
    const int *dims;
    int n_dims;
};

/* Appends a tensor of these bytes; `dtype` as .safetensors spell it. */
void fixture_add_data(struct fixture *f, const char *dtype, const struct fixture_tensor *tensor,
                      const void *data, size_t size);

/* Appends one tensor. */
void fixture_add(struct fixture *f, const char *name, const int *dims, int n_dims);

/* Weight [o,i,k,k] and, if asked for, bias [o], of the layer `name`. */
void fixture_add_conv(struct fixture *f, const char *name, int o, int i, int k, bool bias);

/* What was added as the bytes of a .safetensors, for vrt_buf_done(); empties `f`. */
struct vrt_buf fixture_file(struct fixture *f);

/* The network of what was added, or its refusal in `error`; empties `f`. */
int fixture_load(struct fixture *f, struct vrt_network **ret_network, struct vrt_error *error);

/* The same, which must succeed. */
struct vrt_network *fixture_network(struct fixture *f);

/* The network in a file of tests/data, which must be one. */
struct vrt_network *fixture_open_network(const char *path);

/* Sizes of an SRVGGNetCompact; act: 'p' PReLU, 'l' none with params. */
struct fixture_compact {
    int channels, features, convs, scale;
    char act;
};

/* Its tensors. */
void fixture_add_compact(struct fixture *f, const struct fixture_compact *c);

enum fixture_naming { FIXTURE_NEW, FIXTURE_TRUNK, FIXTURE_OLD };

/* Sizes of an RRDBNet; `in` counts what is unshuffled. */
struct fixture_esrgan {
    enum fixture_naming naming;
    int in, out, features, blocks, growth, ups;
    bool plus;
};

/* Its tensors. */
void fixture_add_esrgan(struct fixture *f, const struct fixture_esrgan *e);

/*
 * Names in the order of computation, each once: the i-th conv3x3 layer of an RRDBNet (or, with
 * `past`, the 1x1 layer of its i-th dense block). Written to `name`, of 64 bytes.
 */
void fixture_esrgan_name(const struct fixture_esrgan *e, int i, bool past, char name[64]);

/* How many conv3x3 layers it has. */
int fixture_esrgan_n_convs(const struct fixture_esrgan *e);

/* Sizes of a RIFE: features of each block and of a frame, channels that blocks hand on. */
struct fixture_rife {
    int blocks[6], encode, features, hints;
};

/* Its tensors. */
void fixture_add_rife(struct fixture *f, const struct fixture_rife *r);

/* Sizes of a BasicVSR++; `end`: features where pixels are made; outputs of conv_offset.6. */
struct fixture_basicvsr {
    int features, blocks, end, offsets;
    bool keeps_size;
    const char *prefix;             /* of every name */
};

/* Its tensors. */
void fixture_add_basicvsr(struct fixture *f, const struct fixture_basicvsr *b);

/* Sizes of a SPAN, or a SPANF3; `fold` by `fold` samples become channels first. */
struct fixture_span {
    int channels, features, blocks, fold, up;
    bool is_f3;
};

/* Its tensors. */
void fixture_add_span(struct fixture *f, const struct fixture_span *s);

/*
 * Runs the network over x, [D,C,H,W] of the shape's d, c, h and w, on the device, which must be
 * present. Return: y, [D,C,H*scale,W*scale], to be freed.
 */
float *fixture_run_network(const struct vrt_network *network, const char *device,
                           enum vrt_dtype dtype, struct vrt_shape shape, const float *x);

/* An input, its shape and that of the result. */
struct fixture_run {
    struct vrt_shape in, out;
    const float *x;
};

/* The same, of as many frames as are asked for. */
float *fixture_run_network_to(const struct vrt_network *network, const char *device,
                              enum vrt_dtype dtype, const struct fixture_run *what);

/* Opens the device, which must be present, for vrt_device_close() and vrt_registry_free(). */
struct vrt_device *fixture_open_device(const char *name, struct vrt_registry **ret_registry);

struct fixture_params {
    const struct vrt_param *params;
    size_t n;
};

/* Runs a graph with these weights; skips the test where the device can't, which a processor can. */
void fixture_run_graph(struct vrt_device *device, const struct fixture_params *weights,
                       struct vrt_graph *graph, enum vrt_dtype dtype,
                       const struct vrt_binding *bindings);

/* Whether the machine has that device. */
bool fixture_has_device(const char *device);

/* The type called `name`: "f32", "f16" or "bf16". Return: whether it is one of them. */
bool fixture_dtype(const char *name, enum vrt_dtype *ret_dtype);

/* Whether the device, which must be present, keeps weights of this type. */
bool fixture_computes_in(const char *device, enum vrt_dtype dtype);
