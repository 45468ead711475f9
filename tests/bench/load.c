/* SPDX-License-Identifier: MIT */

#include "tests/bench/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/op/half.h"
#include "base/macro.h"
#include "model/parts/layers.h"
#include "tests/unit/model/vrt-fixture.h"
#include "tests/unit/model/weight-rule.h"

#define SEED 1234
#define E_INVALID "bench.invalid"
#define E_DEVICE "device.failed"

/* Numbers that are made for a matrix: repeated, they are as good as others. */
#define N_NUMBERS (1 << 16)

static struct vrt_network *make_vrt(int number)
{
    struct fixture f = { 0 };
    const struct vrt_fixture vrt = {
        .sizes = number ? vrt_sizes_published(number) : vrt_sizes_small(),
        .seed = SEED,
        .flow_gain = RULE_FLOW_STEADY,
        .no_buffers = true,
    };

    fixture_add_vrt(&f, &vrt);
    return fixture_network(&f);
}

/* The sizes of the common networks for pictures: realesr-animevideov3, RealESRGAN_x4plus. */
static struct vrt_network *make_picture_network(bool is_compact)
{
    struct fixture f = { .seed = SEED };

    if (is_compact)
        fixture_add_compact(&f, &(struct fixture_compact){ 3, 64, 16, 4, 'p' });
    else
        fixture_add_esrgan(&f, &(struct fixture_esrgan){
            .naming = FIXTURE_NEW, .in = 3, .out = 3, .features = 64, .blocks = 23, .growth = 32,
            .ups = 2,
        });
    return fixture_network(&f);
}

static int make_network(struct load *load, const char *name, struct vrt_error *error)
{
    if (strncmp(name, "vrt:", 4) == 0 && name[4] >= '0' && name[4] <= '9' && !name[5])
        load->network = make_vrt(name[4] - '0');
    else if (strcmp(name, "compact") == 0 || strcmp(name, "esrgan") == 0)
        load->network = make_picture_network(name[0] == 'c');
    else
        return vrt_refuse(error, -EINVAL, E_INVALID, "there is no network \"%s\": vrt:0 to vrt:9, "
                          "compact, esrgan", name);
    return 0;
}

/* Fills the error, unless r is 0. Return: r. */
static int check(int r, const char *what, const struct load_params *params,
                 struct vrt_error *error)
{
    return r ? vrt_refuse(error, r, E_DEVICE, "%s could not %s: %s", params->device, what,
                          vrt_backend_strerror(r)) : 0;
}

static int open_device(struct load *load, const struct load_params *params,
                       struct vrt_error *error)
{
    const struct vrt_registry_params registry = {
        .values = VRT_BACKEND_VALUES(
            { "cpu", "threads", params->n_threads },
            { "cuda", "workers_per_device", VRT_MAX(params->n_workers, 1) },
            { "cuda", "libraries", params->libraries },
            { "cuda", "f32", params->fma ? VRT_CUDA_F32_WANTED_FMA : VRT_CUDA_F32_WANTED_AUTO }),
    };
    char name[64];
    const struct vrt_device_info *const *infos, *info;
    size_t n_infos;
    int r = vrt_registry_new(&registry, &load->registry, error);

    if (r < 0)
        return r;
    info = vrt_registry_find(load->registry, params->device);
    snprintf(name, sizeof(name), "%s.%d", params->device, params->worker);
    if (!info)
        info = vrt_registry_find(load->registry, name);
    infos = vrt_registry_devices(load->registry, &n_infos);
    for (size_t i = 0; i < n_infos && !info; i++)
        if (strcmp(infos[i]->kind, params->device) == 0)
            info = infos[i];
    if (!info)
        return vrt_refuse(error, -ENODEV, E_INVALID, "this machine has no device \"%s\"",
                          params->device);
    return check(vrt_device_open(load->registry, info, &load->device), "be opened", params, error);
}

/* x [rows,n] times weight [n,n], both of the type that is measured. */
static int build_product(struct load *load, const struct load_params *params)
{
    const int n = params->product;
    const struct vrt_shape shape = { 1, n, 1, n };
    const struct vrt_op_linear linear = { .norm = { -1, -1 }, .weight = 0, .bias = -1 };
    const size_t n_values = (size_t)n * (size_t)n;
    float *values = malloc(n_values * sizeof(*values));

    if (!values)
        return -ENOMEM;
    rule_uniform("weight", SEED, values, n_values);
    for (size_t i = 0; i < n_values; i++)
        values[i] = 2 * values[i] - 1;
    load->weight = (struct vrt_param){
        .name = "weight", .n_dims = 2, .dims = { n, n }, .data = values,
    };
    load->in = vrt_graph_input(load->graph, params->dtype, shape);
    load->out = vrt_graph_output(load->graph, params->dtype, shape);
    vrt_layer_linear(load->graph, &load->in, &linear, NULL, &load->out);
    return vrt_graph_status(load->graph);
}

static int build_network(struct load *load, const struct load_params *params)
{
    const struct vrt_network_info *info = vrt_network_info(load->network);
    const struct vrt_network_use use = { .dtype = params->dtype, .noise = 20.0f / 255 };
    const struct vrt_shape shape = {
        params->n_frames, params->height, params->width, info->in_channels,
    };

    load->in = vrt_graph_input(load->graph, VRT_DTYPE_F32, shape);
    load->out = vrt_graph_output(load->graph, VRT_DTYPE_F32,
                                 vrt_network_out_shape(load->network, shape));
    return vrt_network_build(load->network, load->graph, &load->in, &load->out, &use);
}

static float *make_frames(struct vrt_shape s)
{
    const size_t places = (size_t)s.h * (size_t)s.w;
    float *frames = rule_video(SEED, (int[]){ s.d, s.c, s.h, s.w }), *next;
    float *last = malloc((size_t)vrt_shape_count(s) * sizeof(*last));

    next = last;
    for (int d = 0; d < s.d && frames && last; d++)
        for (size_t i = 0; i < places; i++)
            for (int c = 0; c < s.c; c++)
                *next++ = frames[((size_t)d * (size_t)s.c + (size_t)c) * places + i];
    if (!frames)
        vrt_freep(&last);
    free(frames);
    return last;
}

static void *make_matrix(size_t n_elements, enum vrt_dtype dtype)
{
    const size_t size = vrt_dtype_size(dtype);
    char *matrix = malloc(n_elements * size);
    float *numbers = malloc(N_NUMBERS * sizeof(*numbers));

    if (!matrix || !numbers) {
        free(numbers);
        vrt_freep(&matrix);
        return NULL;
    }
    rule_uniform("x", SEED, numbers, N_NUMBERS);
    for (size_t i = 0; i < n_elements; i++) {
        const float value = 2 * numbers[i % N_NUMBERS] - 1;
        const uint16_t half = dtype == VRT_DTYPE_F16 ? vrt_f16_from_f32(value)
                                                     : vrt_bf16_from_f32(value);
        const void *stored = dtype == VRT_DTYPE_F32 ? (const void *)&value : (const void *)&half;

        memcpy(matrix + i * size, stored, size);
    }
    free(numbers);
    return matrix;
}

static int make_input(struct load *load, const struct load_params *params)
{
    const size_t n = (size_t)vrt_shape_count(load->in.shape);

    load->x_bytes = n * vrt_dtype_size(load->in.dtype);
    load->y_bytes = (size_t)vrt_shape_count(load->out.shape) * vrt_dtype_size(load->out.dtype);
    load->x = params->network ? (void *)make_frames(load->in.shape)
                              : make_matrix(n, params->dtype);
    return load->x ? 0 : -ENOMEM;
}

static int prepare(struct load *load, const struct load_params *params, struct vrt_error *error)
{
    size_t n_weights = 1;
    const struct vrt_param *weights = load->network ? vrt_network_params(load->network, &n_weights)
                                                    : &load->weight;
    int r = vrt_replica_new(load->device, weights, n_weights, params->dtype, &load->replica);

    if (r)
        return check(r, r == -EINVAL ? "compute in this precision" : "take the weights", params,
                     error);
    r = vrt_graph_executor_new_all(load->device, load->replica, &load->graph, 1, &load->arena,
                             &load->executor);
    if (r)
        return check(r, "prepare this size", params, error);
    r = vrt_buffer_new(load->device, load->x_bytes, &load->buffers[0]);
    if (r == 0)
        r = vrt_buffer_new(load->device, load->y_bytes, &load->buffers[1]);
    if (r == 0)
        r = load_write(load);
    return check(r, "hold input and output", params, error);
}

int load_open(struct load *load, const struct load_params *params, struct vrt_error *error)
{
    int r = params->network ? make_network(load, params->network, error) : 0;

    if (r == 0)
        r = open_device(load, params, error);
    if (r)
        return r;
    r = vrt_graph_new(&load->graph);
    if (r == 0)
        r = params->network ? build_network(load, params) : build_product(load, params);
    if (r == 0)
        r = make_input(load, params);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the work");
    return prepare(load, params, error);
}

void load_close(struct load *load)
{
    vrt_graph_executor_free(load->executor);
    if (load->device) {
        for (int i = 0; i < 2; i++)
            vrt_buffer_free(load->device, load->buffers[i]);
        vrt_arena_done(load->device, &load->arena);
        vrt_replica_free(load->device, load->replica);
    }
    vrt_graph_free(load->graph);
    vrt_device_close(load->device);
    vrt_registry_free(load->registry);
    vrt_network_unref(load->network);
    free((void *)load->weight.data);
    free(load->x);
    *load = (struct load){ 0 };
}

int load_write(struct load *load)
{
    return vrt_buffer_write(load->device, load->buffers[0], 0, load->x, load->x_bytes);
}

int load_read(struct load *load, void *y)
{
    return vrt_buffer_read(load->device, load->buffers[1], 0, y, load->y_bytes);
}

int load_run(struct load *load)
{
    const struct vrt_binding bindings[2] = { { load->buffers[0], 0 }, { load->buffers[1], 0 } };
    int r = vrt_graph_executor_submit(load->executor, bindings);

    return r ? r : vrt_device_finish(load->device);
}

int load_run_by_ops(struct load *load, struct vrt_op_times *times)
{
    const struct vrt_binding bindings[2] = { { load->buffers[0], 0 }, { load->buffers[1], 0 } };

    return vrt_graph_executor_submit_timed(load->executor, bindings, times);
}
