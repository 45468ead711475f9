/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A load: something to compute, ready on a device of its own, for those who measure
 *
 * Results: 0; -errno; an outcome of the backend. `error` says why. Thread: the one that opened it.
 */

#include "backend/backend.h"
#include "backend/cuda/kind.h"
#include "backend/cuda/libraries/library.h"
#include "base/error.h"
#include "engine/graph-executor.h"
#include "model/network.h"

struct load_params {
    const char *network;            /* "vrt:1" to "vrt:9", "vrt:0" for the smallest, "compact",
                                     * "esrgan"; NULL: a matrix product */
    int product;                    /* rows and columns of both its matrices */
    const char *device;             /* "cpu:0", or a kind for the first of it */
    enum vrt_dtype dtype;
    int n_frames, width, height;
    int n_threads;                  /* of a CPU device; 0: all cores */
    int n_workers, worker;          /* which of so many devices that a CUDA card is presented as;
                                     * 0: it is one */
    enum vrt_cuda_libraries_wanted libraries;       /* CUDA: what NVIDIA's libraries compute */
    bool fma;                       /* CUDA: products of f32 by FMA, whatever the card */
};

struct load {
    struct vrt_network *network;    /* weights follow from names; NULL: a product */
    struct vrt_param weight;        /* of the product */
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_replica *replica;
    struct vrt_graph *graph;
    struct vrt_arena arena;
    struct vrt_graph_executor *executor;
    struct vrt_buffer *buffers[2];  /* the input's and the output's, by themselves */
    struct vrt_tensor in, out;
    void *x;                        /* what the input is filled with, in the host's memory */
    size_t x_bytes, y_bytes;
};

/* Makes everything and puts the input on the device. What was made of it is load_close()'s to free,
 * also after a failure. */
int load_open(struct load *load, const struct load_params *params,
              struct vrt_error *error) VRT_MUST_CHECK;

/* Frees what there is of it. */
void load_close(struct load *load);

/* Copies the input to the device; the output from there to `y`, of y_bytes. */
int load_write(struct load *load);
int load_read(struct load *load, void *y);

/* Computes once, and waits for it. */
int load_run(struct load *load);

/* The same op by op, adding to *times. */
int load_run_by_ops(struct load *load, struct vrt_op_times *times);
