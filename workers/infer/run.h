/* SPDX-License-Identifier: MIT */
#pragma once

/* One run of vrt-infer: a model, an array, a device, and what came of it. */

#include "backend/backend.h"
#include "base/settings.h"
#include "engine/graph-executor.h"
#include "infer/npy.h"

struct vrt_infer_params {
    const char *model;              /* a file, or the name of a built-in model */
    const char *input, *output;
    const char *device;             /* "cpu:0"; a kind, for the first of it; "auto" */
    enum vrt_precision precision;
    int n_threads;                  /* of a CPU device; 0: all cores */
    int n_runs;                     /* at least 1 */
    double sigma;                   /* standard deviation of the noise, of 255; 0 to 50 */
    bool wants_profile;             /* one run more, op by op */
    bool fresh_kernels;             /* compiled anew, and not kept */
};

struct vrt_infer_report {
    char architecture[32], description[128];
    char device[32], device_description[128];
    enum vrt_dtype dtype;
    int n_threads;
    int in_dims[4], out_dims[4];    /* [D,C,H,W] */
    int64_t n_parameters;
    int radius;                     /* as of struct vrt_network_info */
    int n_runs;
    double min_s, median_s;
    double gflop;                   /* of one run, counted from the graph */
    int64_t planned_bytes;          /* the next three, known before the first run */
    int64_t weights_bytes, arena_bytes, io_bytes;
    int64_t measured_bytes;         /* the process grew by, or the device counts; -1: unknown */
    struct vrt_op_times op_times;   /* of one run; all 0 where no profile was wanted */
};

/*
 * Runs it all: reads, computes, writes. Return: 0; -errno or an outcome of the backend, the error
 * saying why in one sentence.
 */
int vrt_infer_run(const struct vrt_infer_params *params, struct vrt_infer_report *ret_report,
                  struct vrt_error *error) VRT_MUST_CHECK;
