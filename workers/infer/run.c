/* SPDX-License-Identifier: MIT */
/*
 * From files to files through one device. Arrays are channels-first, as PyTorch has them; devices
 * want channels last.
 *
 * Here the network runs alone: over the whole array at once, without tiles, colours or fallback, so
 * that what is reported is the network's own time and memory and the result can be compared element
 * by element with another program's. What doesn't fit is refused rather than cut.
 *
 * The output's file is opened before anything is computed: a path that can't be written to is worth
 * knowing at once.
 */

#include "infer/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/op/precision.h"
#include "backend/kind.h"
#include "base/clock.h"
#include "base/folder.h"
#include "engine/graph-executor.h"
#include "infer/memory.h"
#include "infer/model.h"
#include "model/network.h"
#include "model/test-picture.h"

#define E_INVALID "infer.invalid"
#define E_DEVICE "device.failed"
#define EXTENT_MAX (1 << 20)    /* times a network's scale it is still an int */
#define TRIALS 2                    /* of a precision; the first warms up */

/* One run: who asked, and what it holds, in the order of making. */
struct run {
    const struct vrt_infer_params *params;
    struct vrt_infer_report *report;
    struct vrt_error *error;

    struct vrt_network *network;
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_replica *replica;
    struct vrt_graph *graph;
    struct vrt_arena arena;
    struct vrt_graph_executor *executor;
    struct vrt_buffer *in, *out;
    int n_frames;                   /* that are computed: those given, extended if too few */
};

/* Takes back prepare(); nothing where it wasn't called. The graph goes after the executor that was
 * made of it. */
static void unprepare(struct run *run)
{
    vrt_graph_executor_free(run->executor);
    if (run->device) {
        vrt_buffer_free(run->device, run->out);
        vrt_buffer_free(run->device, run->in);
        vrt_arena_done(run->device, &run->arena);
        vrt_replica_free(run->device, run->replica);
    }
    vrt_graph_free(run->graph);
    run->executor = NULL;
    run->out = run->in = NULL;
    run->arena = (struct vrt_arena){ 0 };
    run->replica = NULL;
    run->graph = NULL;
}

/* What lies on the device goes before it. */
static void run_done(struct run *run)
{
    unprepare(run);
    vrt_device_close(run->device);
    vrt_registry_free(run->registry);
    vrt_network_unref(run->network);
}

/* Fills the error, unless r is 0. Return: r. */
static int check_device(const struct run *run, int r, const char *what)
{
    if (r == 0)
        return 0;
    return vrt_refuse(run->error, r, E_DEVICE, "%s could not %s: %s", run->report->device, what,
                      vrt_backend_strerror(r));
}

static bool is_oracle(const struct vrt_device_info *info)
{
    return vrt_device_kind_find(info->kind, strlen(info->kind))->role == VRT_DEVICE_REFERENCE;
}

/* The device of this name, or the first of this kind; "auto": the first that isn't the oracle. */
static const struct vrt_device_info *find_device(const struct vrt_registry *registry,
                                                 const char *request)
{
    const struct vrt_device_info *named = vrt_registry_find(registry, request);
    const struct vrt_device_info *const *devices;
    bool is_auto = strcmp(request, "auto") == 0;
    size_t n_devices;

    if (named)
        return named;
    devices = vrt_registry_devices(registry, &n_devices);
    for (size_t i = 0; i < n_devices; i++)
        if (is_auto ? !is_oracle(devices[i]) : strcmp(devices[i]->kind, request) == 0)
            return devices[i];
    return NULL;
}

static int refuse_no_device(const struct run *run)
{
    const struct vrt_device_info *const *devices;
    size_t n_devices, n = 0;
    bool is_auto = strcmp(run->params->device, "auto") == 0;
    char names[256] = "none", request[64];

    devices = vrt_registry_devices(run->registry, &n_devices);
    for (size_t i = 0; i < n_devices && n < sizeof(names); i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
                              devices[i]->name);
    if (is_auto)
        return vrt_refuse(run->error, -ENODEV, E_INVALID,
                          "this machine has no device that is made for networks, only: %s; name "
                          "that with --device", names);
    return vrt_refuse(run->error, -ENODEV, E_INVALID,
                      "there is no device \"%s\"; this machine has: %s",
                      vrt_printable(run->params->device, request, sizeof(request)), names);
}

static int open_device(struct run *run)
{
    struct vrt_infer_report *report = run->report;
    char cache[VRT_DEVICE_FOLDER_BYTES];
    const bool has_cache = !run->params->fresh_kernels &&
                           vrt_folder_of_cache(cache, sizeof(cache)) == 0;
    const struct vrt_registry_params params = {
        .values = VRT_BACKEND_VALUES({ "cpu", "threads", run->params->n_threads }),
        .cache_dir = has_cache ? cache : NULL,
    };
    int r = vrt_registry_new(&params, &run->registry, run->error);

    if (r < 0)
        return vrt_refuse_errno(run->error, r, "devices");
    const struct vrt_device_info *info = find_device(run->registry, run->params->device);
    if (!info)
        return refuse_no_device(run);

    snprintf(report->device, sizeof(report->device), "%s", info->name);
    snprintf(report->device_description, sizeof(report->device_description), "%s",
             info->description);
    report->n_threads = info->n_threads;
    report->dtype = vrt_precision_dtype(run->params->precision, info->preferred_dtype);
    return check_device(run, vrt_device_open(run->registry, info, &run->device), "be opened");
}

/* Whether the array is one that the network takes; fills in the report's shapes. */
static int check_input(const struct run *run, const struct vrt_npy *x)
{
    const struct vrt_network_info *info = vrt_network_info(run->network);
    struct vrt_infer_report *report = run->report;
    const char *path = run->params->input;

    if (x->n_dims != 4)
        return vrt_refuse(run->error, -EINVAL, E_INVALID,
                          "%s has %d dimensions, not the 4 of [D,C,H,W]", path, x->n_dims);
    for (int i = 0; i < 4; i++) {
        if (x->dims[i] > EXTENT_MAX)
            return vrt_refuse(run->error, -EINVAL, E_INVALID,
                              "%s has an extent of %lld; %d is the most", path,
                              (long long)x->dims[i], EXTENT_MAX);
        report->in_dims[i] = (int)x->dims[i];
    }
    if (x->dims[1] != info->in_channels)
        return vrt_refuse(run->error, -EINVAL, E_INVALID,
                          "%s has %lld channels ([D,C,H,W]), where the network takes %d", path,
                          (long long)x->dims[1], info->in_channels);
    if (info->max_frames && report->in_dims[0] != info->max_frames)
        return vrt_refuse(run->error, -EINVAL, E_INVALID,
                          "%s has %d frames, where the network takes %d at a time", path,
                          report->in_dims[0], info->max_frames);
    report->out_dims[0] = info->out_frames ? info->out_frames : report->in_dims[0];
    report->out_dims[1] = info->out_channels;
    report->out_dims[2] = report->in_dims[2] * info->scale;
    report->out_dims[3] = report->in_dims[3] * info->scale;
    return 0;
}

/* Makes the graph from the input's shape, and everything on the device that it needs; writes the
 * input there, channels last. */
static int prepare(struct run *run, const float *input)
{
    struct vrt_infer_report *report = run->report;
    const int *in = report->in_dims;
    const struct vrt_shape shape = { run->n_frames, in[2], in[3], in[1] };
    const struct vrt_network_use use = {
        .dtype = report->dtype, .noise = (float)(run->params->sigma / 255),
    };
    size_t n_params;
    const struct vrt_param *params = vrt_network_params(run->network, &n_params);

    int r = vrt_graph_new(&run->graph);
    if (r < 0)
        return vrt_refuse_errno(run->error, r, "graph");
    struct vrt_tensor x = vrt_graph_input(run->graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor y = vrt_graph_output(run->graph, VRT_DTYPE_F32,
                                           vrt_network_out_shape(run->network, shape));
    r = vrt_network_build(run->network, run->graph, &x, &y, &use);
    if (r < 0)
        return vrt_refuse_errno(run->error, r, "graph");

    r = vrt_replica_new(run->device, params, n_params, report->dtype, &run->replica);
    if (r == -EINVAL)
        return vrt_refuse(run->error, r, E_INVALID,
                          "%s doesn't compute in %s: choose another --precision", report->device,
                          vrt_dtype_name(report->dtype));
    if (r != 0)
        return check_device(run, r, "take the weights");
    r = vrt_graph_executor_new_all(run->device, run->replica, &run->graph, 1, &run->arena,
                             &run->executor);
    if (r != 0)
        return check_device(run, r, "prepare the network for this size");
    size_t n_in_bytes = (size_t)vrt_shape_count(x.shape) * sizeof(float);
    size_t n_out_bytes = (size_t)vrt_shape_count(y.shape) * sizeof(float);
    r = vrt_buffer_new(run->device, n_in_bytes, &run->in);
    if (r == 0)
        r = vrt_buffer_new(run->device, n_out_bytes, &run->out);
    if (r != 0)
        return check_device(run, r, "hold input and output");

    report->gflop = (double)vrt_graph_flops(run->graph) / 1e9;
    report->weights_bytes = (int64_t)vrt_replica_bytes(run->device, run->replica);
    report->arena_bytes = (int64_t)run->arena.size_bytes;
    report->io_bytes = (int64_t)(n_in_bytes + n_out_bytes);
    report->planned_bytes = report->weights_bytes + report->arena_bytes + report->io_bytes;
    return check_device(run, vrt_buffer_write(run->device, run->in, 0, input, n_in_bytes),
                        "take the input");
}

static int run_once(struct run *run, double *ret_seconds)
{
    const struct vrt_binding bindings[2] = { { run->in, 0 }, { run->out, 0 } };
    int64_t start_ns = vrt_clock_now_ns();
    int r = vrt_graph_executor_submit(run->executor, bindings);

    if (r == 0)
        r = vrt_device_finish(run->device);
    *ret_seconds = (double)(vrt_clock_now_ns() - start_ns) / (double)VRT_NS_PER_S;
    return r;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int run_timed(struct run *run)
{
    int n_runs = run->params->n_runs, r = 0;
    VRT_CLEANUP(vrt_freep) double *seconds = calloc((size_t)n_runs, sizeof(*seconds));

    if (!seconds)
        return vrt_refuse_errno(run->error, vrt_raise(-ENOMEM), "times");
    for (int i = 0; i < n_runs && r == 0; i++)
        r = run_once(run, &seconds[i]);
    if (r != 0)
        return check_device(run, r, "run the network");
    qsort(seconds, (size_t)n_runs, sizeof(*seconds), compare);
    run->report->n_runs = n_runs;
    run->report->min_s = seconds[0];
    run->report->median_s = (seconds[(n_runs - 1) / 2] + seconds[n_runs / 2]) / 2;
    return 0;
}

/* Not one of the runs that are timed: op by op it is slower. */
static int run_by_ops(struct run *run)
{
    const struct vrt_binding bindings[2] = { { run->in, 0 }, { run->out, 0 } };

    return check_device(run, vrt_graph_executor_submit_timed(run->executor, bindings,
                                                       &run->report->op_times), "be profiled");
}

static int read_output(const struct run *run, float *y, size_t n_y)
{
    return check_device(run, vrt_buffer_read(run->device, run->out, 0, y, n_y * sizeof(*y)),
                        "give the output");
}

/* In the report's type, from x to y. Seconds are the less of TRIALS runs. */
static int try_precision(struct run *run, const float *x, float *y, size_t n_y, double *ret_seconds)
{
    double seconds;
    int r = prepare(run, x);

    *ret_seconds = INFINITY;
    for (int i = 0; i < TRIALS && r == 0; i++) {
        r = check_device(run, run_once(run, &seconds), "run the network");
        *ret_seconds = fmin(*ret_seconds, seconds);
    }
    if (r == 0)
        r = read_output(run, y, n_y);
    unprepare(run);
    return r;
}

/* AUTO: f32, unless the type that the device prefers is faster over this input, and close enough to
 * it. y has room for the output. */
static int choose_precision(struct run *run, const float *x, float *y, size_t n_y)
{
    const enum vrt_dtype shorter = run->report->dtype;
    VRT_CLEANUP(vrt_freep) float *exact = NULL;
    double seconds, exact_seconds;

    if (run->params->precision != VRT_PRECISION_AUTO || shorter == VRT_DTYPE_F32)
        return 0;
    exact = malloc(n_y * sizeof(*exact));
    if (!exact)
        return vrt_refuse_errno(run->error, vrt_raise(-ENOMEM), run->params->output);
    int r = try_precision(run, x, y, n_y, &seconds);
    if (r != 0)
        return r;
    run->report->dtype = VRT_DTYPE_F32;
    r = try_precision(run, x, exact, n_y, &exact_seconds);
    if (r != 0)
        return r;
    if (seconds < exact_seconds && vrt_test_picture_psnr(y, exact, n_y) >= VRT_FIDELITY_MIN_DB)
        run->report->dtype = shorter;
    return 0;
}

/*
 * Everything on the device, from x to y, both channels last. What the process grows by meanwhile
 * is the measured peak of a device that computes in the host's memory.
 */
static int compute(struct run *run, const float *x, float *y, size_t n_y)
{
    int r = choose_precision(run, x, y, n_y);

    if (r != 0)
        return r;
    int64_t mark_bytes = vrt_memory_mark();
    r = prepare(run, x);
    if (r != 0)
        return r;
    r = run_timed(run);
    if (r != 0)
        return r;
    run->report->measured_bytes = run->report->n_threads > 0 ? vrt_memory_growth(mark_bytes) :
                                                               vrt_device_used_bytes(run->device);
    if (run->params->wants_profile)
        r = run_by_ops(run);
    if (r != 0)
        return r;
    return read_output(run, y, n_y);
}

/* Each of n matrices [rows,columns] to [columns,rows]. Return: a new array; NULL: no memory. */
static float *transpose(const float *src, int n, int64_t rows, int64_t columns)
{
    float *result = malloc((size_t)n * (size_t)rows * (size_t)columns * sizeof(*result));
    float *dst = result;

    for (int i = 0; i < n && result; i++, src += rows * columns, dst += rows * columns)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = 0; column < columns; column++)
                dst[column * rows + row] = src[row * columns + column];
    return result;
}

/* The input, channels last, played back and forth for as many frames as are computed: the last
 * one twice. Return: a new array; NULL: no memory. */
static float *extend(const struct run *run, const float *values)
{
    const int *in = run->report->in_dims, n = in[0];
    const int64_t places = (int64_t)in[2] * in[3];
    const size_t frame = (size_t)places * (size_t)in[1];
    VRT_CLEANUP(vrt_freep) float *given = transpose(values, n, in[1], places);
    float *all = malloc((size_t)run->n_frames * frame * sizeof(*all));

    for (int i = 0; i < run->n_frames && given && all; i++) {
        const int k = i % (2 * n);

        memcpy(all + (size_t)i * frame, given + (size_t)(k < n ? k : 2 * n - 1 - k) * frame,
               frame * sizeof(*all));
    }
    if (!given)
        vrt_freep(&all);
    return given ? all : NULL;
}

/* From the array read to the array to be written. */
static int transform(struct run *run, const struct vrt_npy *x, struct vrt_npy *ret_y)
{
    const int *in = run->report->in_dims, *out = run->report->out_dims;
    const struct vrt_network_info *info = vrt_network_info(run->network);
    struct vrt_npy y = { .n_dims = 4, .n_elements = 1 };

    for (int i = 0; i < 4; i++) {
        y.dims[i] = out[i];
        y.n_elements *= out[i];
    }
    run->n_frames = VRT_MAX(in[0], info->min_frames);
    const size_t n_y = (size_t)y.n_elements / (size_t)out[0] *
                       (size_t)(info->out_frames ? info->out_frames : run->n_frames);
    VRT_CLEANUP(vrt_freep) float *x_last = extend(run, x->data);
    VRT_CLEANUP(vrt_freep) float *y_last = malloc(n_y * sizeof(*y_last));
    if (!x_last || !y_last)
        return vrt_refuse_errno(run->error, vrt_raise(-ENOMEM), run->params->input);

    /* Touched now, the pages don't count as the network's. */
    memset(y_last, 0, n_y * sizeof(*y_last));
    int r = compute(run, x_last, y_last, n_y);
    if (r != 0)
        return r;
    y.data = transpose(y_last, out[0], (int64_t)out[2] * out[3], out[1]);
    if (!y.data)
        return vrt_refuse_errno(run->error, vrt_raise(-ENOMEM), run->params->output);
    *ret_y = y;
    return 0;
}

static int run_between(struct run *run, const struct vrt_npy *x, struct vrt_npy_file *file)
{
    VRT_CLEANUP(vrt_npy_done) struct vrt_npy y = { 0 };
    int r = vrt_infer_load_model(run->params->model, &run->network, run->error);

    if (r != 0)
        return r;
    const struct vrt_network_info *info = vrt_network_info(run->network);
    snprintf(run->report->architecture, sizeof(run->report->architecture), "%s",
             info->architecture);
    snprintf(run->report->description, sizeof(run->report->description), "%s", info->description);
    run->report->n_parameters = info->n_parameters;
    run->report->radius = info->radius;
    if (run->params->sigma > 0 && !info->takes_noise)
        return vrt_refuse(run->error, -EINVAL, E_INVALID,
                          "the network isn't told how strong noise is: leave --sigma out");
    r = check_input(run, x);
    if (r != 0)
        return r;
    r = open_device(run);
    if (r != 0)
        return r;
    r = transform(run, x, &y);
    if (r != 0)
        return r;
    return vrt_npy_file_write(file, &y, run->error);
}

int vrt_infer_run(const struct vrt_infer_params *params, struct vrt_infer_report *ret_report,
                  struct vrt_error *error)
{
    struct vrt_infer_report report = { 0 };
    struct run run = { .params = params, .report = &report, .error = error };
    struct vrt_npy_file file;
    struct vrt_npy x;

    int r = vrt_npy_read(params->input, &x, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_npy_file_open(params->output, &file, error);
    if (r == 0) {
        r = run_between(&run, &x, &file);
        run_done(&run);
        vrt_npy_file_close(&file);
    }
    vrt_npy_done(&x);
    if (r != 0)
        return r;
    *ret_report = report;
    return 0;
}
