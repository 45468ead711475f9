/* SPDX-License-Identifier: MIT */
/*
 * VRT against what PyTorch computed with the network's original definition: tests/data/vrt and
 * tests/data/flow, tensors inside the network included. Weights and input follow from names.
 *
 * usage: test-vrt-golden DEVICE f32|bf16 CASE...
 *     CASE  "vrt/sr-pa2", "flow/sr-pa6", ...
 */

#include "tests/unit/test.h"

#include <jansson.h>

#include "engine/executor.h"
#include "model/architecture.h"
#include "tests/unit/vrt-fixture.h"
#include "tests/unit/weight-rule.h"

#define MAX_TAPS 64

/* A tensor of the network, whole, channels last. */
struct capture {
    char name[64];
    struct vrt_tensor tensor;       /* the graph's output that it is copied to */
    struct vrt_buffer *buffer;
    float *values;
};

struct play {
    struct vrt_network_taps taps;
    json_t *json;
    float *samples;
    size_t n_samples;
    bool is_flow;                   /* only flows were kept, and they are large */
    const char *name;
    bool turns;                     /* see find_turn() */

    struct vrt_network *network;
    struct vrt_device *device;
    struct capture captures[MAX_TAPS];
    int n_captures;
    struct vrt_tensor in, out;
    float *x;                       /* [D,C,H,W], as the rule makes it */
};

static int get_int(const json_t *object, const char *key)
{
    expect_true(json_is_integer(json_object_get(object, key)));
    return (int)json_integer_value(json_object_get(object, key));
}

static int get_nth(const json_t *object, const char *key, size_t i)
{
    return (int)json_integer_value(json_array_get(json_object_get(object, key), i));
}

static struct vrt_sizes read_sizes(const json_t *config)
{
    struct vrt_sizes sizes = {
        .features = get_nth(config, "embed_dims", 0),
        .tail_features = get_nth(config, "embed_dims", 7),
        .heads = get_nth(config, "num_heads", 0),
        .n_tail = (int)json_array_size(json_object_get(config, "depths")) - 7,
        .tail_depth = get_nth(config, "depths", 7),
        .n_single = (int)json_array_size(json_object_get(config, "indep_reconsts")),
        .window_frames = get_nth(config, "window_size", 0),
        .distances = get_int(config, "pa_frames") / 2,
        .offset_groups = get_int(config, "deformable_groups"),
        .n_up = get_int(config, "upscale") == 4 ? 2 : 0,
        .noise = json_is_true(json_object_get(config, "nonblind_denoising")),
        .frames = get_int(config, "pa_frames") ? 0 : get_nth(config, "img_size", 0),
    };

    for (int i = 0; i < VRT_SIZES_STAGES; i++)
        sizes.depths[i] = get_nth(config, "depths", (size_t)i);
    return sizes;
}

static void read_samples(struct play *p, const char *path)
{
    FILE *file = fopen(path, "rb");

    expect_true(file);
    expect_int(fseek(file, 0, SEEK_END), 0);
    p->n_samples = (size_t)ftell(file) / sizeof(float);
    rewind(file);
    p->samples = malloc(p->n_samples * sizeof(float));
    expect_true(p->samples);
    expect_int(fread(p->samples, sizeof(float), p->n_samples, file), p->n_samples);
    fclose(file);
}

/* The rule's weights are those that the golden outputs were computed with. */
static void check_params(const struct play *p)
{
    const json_t *listed = json_object_get(p->json, "parameters");
    size_t n_params, n_found = 0;
    const struct vrt_param *params = vrt_network_params(p->network, &n_params);

    for (size_t i = 0; i < n_params; i++) {
        const json_t *entry = json_object_get(listed, params[i].name);
        size_t n = 1;

        if (!entry)
            continue;
        n_found++;
        for (int k = 0; k < params[i].n_dims; k++)
            n *= (size_t)params[i].dims[k];
        expect_near(params[i].data[0], json_real_value(json_object_get(entry, "first")), 1e-6);
        expect_near(params[i].data[n - 1], json_real_value(json_object_get(entry, "last")), 1e-6);
    }
    expect_int(n_found, json_object_size(listed));
    if (!p->is_flow)
        expect_int(vrt_network_info(p->network)->n_parameters, get_int(p->json, "params"));
}

static void open_case(struct play *p, const char *name)
{
    struct fixture f = { 0 };
    struct vrt_fixture vrt = { .flow_gain = RULE_FLOW_STEADY };
    char path[512];
    json_error_t error;

    snprintf(path, sizeof(path), "%s/%s.f32", VRT_TEST_DATA, name);
    read_samples(p, path);
    snprintf(path, sizeof(path), "%s/%s.json", VRT_TEST_DATA, name);
    p->json = json_load_file(path, 0, &error);
    if (!p->json)
        test_fail("%s: %s", path, error.text);
    p->is_flow = strncmp(name, "flow/", 5) == 0;
    vrt.sizes = read_sizes(json_object_get(p->json, "config"));
    vrt.seed = (uint64_t)get_int(p->json, "seed");
    if (p->is_flow)
        vrt.flow_gain = RULE_FLOW_LARGE;
    fixture_add_vrt(&f, &vrt);
    p->network = fixture_network(&f);
    check_params(p);

    int dims[4];
    for (size_t i = 0; i < 4; i++)
        dims[i] = get_nth(p->json, "input_shape_DCHW", i);
    p->x = rule_video(vrt.seed, dims);
    expect_true(p->x);
    p->in.shape = (struct vrt_shape){ dims[0], dims[2], dims[3], dims[1] };
}

/* Copies a tensor to an output of the graph. */
static void tap(const struct vrt_network_taps *taps, struct vrt_graph *graph, const char *name,
                const struct vrt_tensor *tensor)
{
    struct play *p = (struct play *)taps;
    struct capture *capture = &p->captures[p->n_captures++];
    struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1, .in = { *tensor } };

    expect_true(p->n_captures < MAX_TAPS);
    snprintf(capture->name, sizeof(capture->name), "%s", name);
    capture->tensor = vrt_graph_output(graph, VRT_DTYPE_F32, tensor->shape);
    op.out = capture->tensor;
    vrt_graph_append(graph, &op);
}

/* Channels last; of what the case calls the input, the network takes the colours. */
static void write_input(struct play *p, struct vrt_buffer *buffer)
{
    const struct vrt_shape s = p->in.shape;
    const int n_given = get_nth(p->json, "input_shape_DCHW", 1), places = s.h * s.w;
    float *values = malloc((size_t)vrt_shape_count(s) * sizeof(float)), *next = values;

    expect_true(values);
    for (int d = 0; d < s.d; d++)
        for (int i = 0; i < places; i++)
            for (int c = 0; c < s.c; c++)
                *next++ = p->x[(d * n_given + c) * places + i];
    expect_int(vrt_buffer_write(p->device, buffer, 0, values,
                                (size_t)vrt_shape_count(s) * sizeof(float)), 0);
    free(values);
}

static void run_graph(struct play *p, struct vrt_graph *graph, enum vrt_dtype dtype)
{
    size_t n_params;
    const struct vrt_param *params = vrt_network_params(p->network, &n_params);
    struct vrt_replica *replica;
    struct vrt_executor *executor;
    struct vrt_arena arena = { 0 };
    struct vrt_binding bindings[1 + MAX_TAPS] = { 0 };

    expect_int(vrt_buffer_new(p->device, (size_t)vrt_shape_count(p->in.shape) * sizeof(float),
                              &bindings[0].buffer), 0);
    write_input(p, bindings[0].buffer);
    for (int i = 0; i < p->n_captures; i++) {
        const size_t size = (size_t)vrt_shape_count(p->captures[i].tensor.shape) * sizeof(float);
        expect_int(vrt_buffer_new(p->device, size, &bindings[1 + i].buffer), 0);
    }
    expect_int(vrt_replica_new(p->device, params, n_params, dtype, &replica), 0);
    expect_int(vrt_executor_new_all(p->device, replica, &graph, 1, &arena, &executor), 0);
    expect_int(vrt_executor_submit(executor, bindings), 0);
    expect_int(vrt_device_finish(p->device), 0);
    for (int i = 0; i < p->n_captures; i++) {
        struct capture *capture = &p->captures[i];
        const size_t size = (size_t)vrt_shape_count(capture->tensor.shape) * sizeof(float);

        capture->values = malloc(size);
        expect_true(capture->values);
        expect_int(vrt_buffer_read(p->device, bindings[1 + i].buffer, 0, capture->values, size),
                   0);
    }
    vrt_executor_free(executor);
    vrt_arena_done(p->device, &arena);
    vrt_replica_free(p->device, replica);
    for (int i = 0; i <= p->n_captures; i++)
        vrt_buffer_free(p->device, bindings[i].buffer);
}

/* The whole network; or only its flows, where those are all that is compared. */
static void build(struct play *p, struct vrt_graph *graph, const struct vrt_network_use *use)
{
    p->in.shape.c = vrt_network_info(p->network)->in_channels;
    p->in = vrt_graph_input(graph, VRT_DTYPE_F32, p->in.shape);
    p->n_captures = 0;
    if (p->is_flow) {
        struct vrt_vrt_builder b = { .vrt = &p->network->vrt, .graph = graph, .use = use };

        vrt_vrt_flows(&b, &p->in);
        expect_int(vrt_graph_status(graph), 0);
        return;
    }
    p->out = vrt_graph_output(graph, VRT_DTYPE_F32,
                              vrt_network_out_shape(p->network, p->in.shape));
    p->captures[p->n_captures++] = (struct capture){ .name = "output", .tensor = p->out };
    expect_int(vrt_network_build(p->network, graph, &p->in, &p->out, use), 0);
}

/*
 * One position of vrt/sr-pa2-odd lies where the nearest pixel changes: added up in the order that
 * oneDNN follows without AVX2, the flow leads to the other one, as it does in PyTorch with another
 * library of its own. Flows are compared as ever; what comes of them then differs by a pixel.
 */
static bool find_turn(const char *name, const struct vrt_device_info *device)
{
    return strcmp(name, "vrt/sr-pa2-odd") == 0 && strcmp(device->name, "cpu:0") == 0 &&
           !strstr(device->description, "AVX2") && !strstr(device->description, "AVX-512");
}

/* Fills in the captures: the output is the first. */
static void run_case(struct play *p, const char *device, enum vrt_dtype dtype)
{
    const struct vrt_network_info *info = vrt_network_info(p->network);
    const struct vrt_network_use use = {
        .dtype = dtype, .noise = 20.0f / 255, .taps = dtype == VRT_DTYPE_F32 ? &p->taps : NULL,
    };
    struct vrt_registry *registry;
    struct vrt_graph *graph;
    struct vrt_error error = { 0 };

    expect_int(vrt_registry_new(&(struct vrt_registry_params){ 0 }, &registry, &error), 0);
    const struct vrt_device_info *device_info = vrt_registry_find(registry, device);
    expect_int(vrt_device_open(registry, device_info, &p->device), 0);
    p->turns = find_turn(p->name, device_info);
    expect_int(vrt_graph_new(&graph), 0);
    p->taps.tap = tap;
    build(p, graph, &use);
    fprintf(stderr, "  %s, %s, %s: %.1f GFLOP\n", info->description, device, vrt_dtype_name(dtype),
            (double)vrt_graph_flops(graph) / 1e9);
    run_graph(p, graph, dtype);
    vrt_graph_free(graph);
    p->device = vrt_device_close(p->device);
    vrt_registry_free(registry);
}

static struct capture *find_capture(struct play *p, const char *name)
{
    for (int i = 0; i < p->n_captures; i++)
        if (strcmp(p->captures[i].name, name) == 0)
            return &p->captures[i];
    return NULL;
}

/* Captures of sums, "a+b", become "a": the network adds b at once, and b was captured as well. */
static void take_sums_apart(struct play *p)
{
    for (int i = p->n_captures - 1; i >= 0; i--) {
        struct capture *sum = &p->captures[i];
        char *plus = strchr(sum->name, '+');

        if (!plus)
            continue;
        const struct capture *part = find_capture(p, plus + 1);
        expect_true(part && vrt_shape_equal(part->tensor.shape, sum->tensor.shape));
        for (int64_t k = 0; k < vrt_shape_count(sum->tensor.shape); k++)
            sum->values[k] -= part->values[k];
        *plus = '\0';
    }
}

/* In which order a tensor's dimensions were kept. */
static const char *find_order(const char *name)
{
    if (strcmp(name, "norm") == 0)
        return "dhwc";
    if (strcmp(name, "conv_after_body") == 0)
        return "wdhc";
    return strncmp(name, "stage", 5) == 0 || strcmp(name, "conv_first") == 0 ? "cdhw" : "dchw";
}

/* Element `i` of a tensor in that order, of channels-last values. */
static float at(const struct capture *capture, const char *order, int64_t i)
{
    const struct vrt_shape s = capture->tensor.shape;
    int64_t d = 0, h = 0, w = 0, c = 0;

    for (int k = 3; k >= 0; k--) {
        const int extent = order[k] == 'd' ? s.d : order[k] == 'h' ? s.h : order[k] == 'w' ? s.w :
                                                                                             s.c;
        int64_t *index = order[k] == 'd' ? &d : order[k] == 'h' ? &h : order[k] == 'w' ? &w : &c;

        *index = i % extent;
        i /= extent;
    }
    return capture->values[((d * s.h + h) * s.w + w) * s.c + c];
}

static void compare(struct play *p, const char *name, const json_t *entry)
{
    const struct capture *capture = find_capture(p, name);
    const int stride = get_int(entry, "stride"), count = get_int(entry, "count");
    const size_t offset = (size_t)get_int(entry, "offset");
    const bool is_flow = strncmp(name, "flow_", 5) == 0;
    double worst = 0, largest = 0;

    if (!capture)
        test_fail("the network shows no %s", name);
    expect_true(offset + (size_t)count <= p->n_samples && count > 100);
    expect_int((vrt_shape_count(capture->tensor.shape) + stride - 1) / stride, count);
    for (int k = 0; k < count; k++) {
        double wanted = (double)p->samples[offset + (size_t)k];
        double got = (double)at(capture, find_order(name), (int64_t)k * stride);

        if (!(fabs(got - wanted) < 1e30))
            test_fail("%s: sample %d is not a number", name, k);
        worst = fmax(worst, fabs(got - wanted));
        largest = fmax(largest, fabs(wanted));
    }
    fprintf(stderr, "    %-18s %.2g of %.3g: %.2g\n", name, worst, largest, worst / largest);
    if (is_flow && p->is_flow)
        expect_true(worst < 1e-3);
    else if (is_flow || !p->turns)
        expect_true(worst < 1e-4 * largest);
    else
        expect_true(worst < (strcmp(name, "output") == 0 ? 2e-3 : 1e-2) * largest);
}

/* What was stored of the input is what the rule makes. */
static void compare_input(const struct play *p, const json_t *entry)
{
    const int stride = get_int(entry, "stride"), count = get_int(entry, "count");
    const int n_given = get_nth(p->json, "input_shape_DCHW", 1);
    const size_t offset = (size_t)get_int(entry, "offset");
    const int places = p->in.shape.h * p->in.shape.w;

    for (int k = 0; k < count; k++) {
        const int i = k * stride, c = i / places % n_given;
        expect_near(c < 3 ? p->x[i] : 20.0f / 255, p->samples[offset + (size_t)k], 1e-6);
    }
}

static void close_case(struct play *p)
{
    for (int i = 0; i < p->n_captures; i++)
        free(p->captures[i].values);
    vrt_network_unref(p->network);
    json_decref(p->json);
    free(p->samples);
    free(p->x);
}

static void check_f32(struct play *p, const char *device)
{
    const char *name;
    json_t *entry;

    run_case(p, device, VRT_DTYPE_F32);
    take_sums_apart(p);
    json_object_foreach(json_object_get(p->json, "tensors"), name, entry) {
        if (strcmp(name, "input") == 0)
            compare_input(p, entry);
        else
            compare(p, name, entry);
    }
}

/* Against the device's own f32: what the shorter type costs, and nothing else. */
static void check_bf16(struct play *p, const char *device)
{
    double worst = 0, low = 1e30, high = -1e30, sum = 0;

    run_case(p, device, VRT_DTYPE_F32);
    const int64_t n = vrt_shape_count(p->out.shape);
    float *wanted = p->captures[0].values;
    for (int i = 1; i < p->n_captures; i++)
        free(p->captures[i].values);
    run_case(p, device, VRT_DTYPE_BF16);
    for (int64_t i = 0; i < n; i++) {
        double difference = (double)p->captures[0].values[i] - (double)wanted[i];

        low = fmin(low, (double)wanted[i]);
        high = fmax(high, (double)wanted[i]);
        worst = fmax(worst, fabs(difference));
        sum += difference * difference;
    }
    free(wanted);
    const double relative = worst / fmax(fabs(low), fabs(high));
    const double psnr = 20 * log10(high - low) - 10 * log10(sum / (double)n);
    fprintf(stderr, "    bf16: %.2g relative, %.1f dB\n", relative, psnr);
    expect_true(relative < 2e-2);
    expect_true(psnr >= 50);
}

int main(int argc, char **argv)
{
    if (argc < 4 || (strcmp(argv[2], "f32") != 0 && strcmp(argv[2], "bf16") != 0))
        test_fail("usage: test-vrt-golden DEVICE f32|bf16 CASE...");
    if (!fixture_has_device(argv[1]))
        test_skip("this build has no such device");
    for (int i = 3; i < argc; i++) {
        struct play p = { .name = argv[i] };

        fprintf(stderr, "%s\n", argv[i]);
        open_case(&p, argv[i]);
        if (strcmp(argv[2], "bf16") == 0)
            check_bf16(&p, argv[1]);
        else
            check_f32(&p, argv[1]);
        close_case(&p);
    }
    return 0;
}
