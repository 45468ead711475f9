/* SPDX-License-Identifier: MIT */
/*
 * VRT against what PyTorch computed with the network's original definition: tests/data/vrt and
 * tests/data/flow, tensors inside the network included. Weights and input follow from names.
 *
 * usage: test-vrt-golden DEVICE f32|f16|bf16 CASE...
 *     CASE  "vrt/sr-pa2", "flow/sr-pa6", ...
 *
 * In f16 and bf16 it is the device's own f32 that is compared with: what the shorter type costs,
 * and that flows cost nothing, for they are f32 in every precision, and so are offsets.
 */

#include "tests/unit/test.h"

#include "engine/graph-executor.h"
#include "model/architecture.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/environment.h"
#include "tests/unit/model/vrt-fixture.h"
#include "tests/unit/model/weight-rule.h"

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
    struct vrt_checkpoint *golden;
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

static struct vrt_sizes read_sizes(const struct vrt_checkpoint *golden)
{
    const int pa_frames = golden_int(golden, "config.pa_frames", 0);
    struct vrt_sizes sizes = {
        .features = golden_int(golden, "config.embed_dims", 0),
        .tail_features = golden_int(golden, "config.embed_dims", 7),
        .heads = golden_int(golden, "config.num_heads", 0),
        .n_tail = golden_count(golden, "config.depths") - 7,
        .tail_depth = golden_int(golden, "config.depths", 7),
        .n_single = golden_count(golden, "config.indep_reconsts"),
        .window_frames = golden_int(golden, "config.window_size", 0),
        .distances = pa_frames / 2,
        .offset_groups = golden_int(golden, "config.deformable_groups", 0),
        .n_up = golden_int(golden, "config.upscale", 0) == 4 ? 2 : 0,
        .noise = golden_int(golden, "config.nonblind_denoising", 0) != 0,
        .frames = pa_frames ? 0 : golden_int(golden, "config.img_size", 0),
    };

    for (int i = 0; i < VRT_SIZES_STAGES; i++)
        sizes.depths[i] = golden_int(golden, "config.depths", i);
    return sizes;
}

static void open_case(struct play *p, const char *name)
{
    struct fixture f = { 0 };
    struct vrt_fixture vrt = { .flow_gain = RULE_FLOW_STEADY };
    int dims[4];

    p->golden = golden_open(name);
    p->is_flow = strncmp(name, "flow/", 5) == 0;
    vrt.sizes = read_sizes(p->golden);
    vrt.seed = (uint64_t)golden_int(p->golden, "seed", 0);
    if (p->is_flow)
        vrt.flow_gain = RULE_FLOW_LARGE;
    fixture_add_vrt(&f, &vrt);
    p->network = fixture_network(&f);
    golden_check_params(p->golden, p->network);
    if (!p->is_flow)
        expect_int(vrt_network_info(p->network)->n_parameters,
                   golden_int(p->golden, "n_parameters", 0));

    for (int i = 0; i < 4; i++)
        dims[i] = golden_int(p->golden, "input_shape", i);
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
    const int n_given = golden_int(p->golden, "input_shape", 1), places = s.h * s.w;
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

/* Of every op: flows, offsets, and what comes of a norm or of softmax. Inside ops it is the
 * conformance tests that show it. */
static void check_types(const struct vrt_graph *graph)
{
    size_t n_ops;
    const struct vrt_op *ops = vrt_graph_ops(graph, &n_ops);

    for (size_t i = 0; i < n_ops; i++) {
        const enum vrt_op_kind kind = ops[i].kind;
        const bool is_moved = kind == VRT_OP_WARP || kind == VRT_OP_DEFORM_CONV2D;

        if (is_moved || kind == VRT_OP_FLOW_OFFSETS)
            expect_int(vrt_op_in(&ops[i], 1)->dtype, VRT_DTYPE_F32);
        if (kind == VRT_OP_FLOW_OFFSETS || kind == VRT_OP_LAYERNORM ||
            kind == VRT_OP_WINDOW_ATTENTION)
            expect_int(ops[i].out.dtype, VRT_DTYPE_F32);
    }
}

static void run_graph(struct play *p, struct vrt_graph *graph, enum vrt_dtype dtype)
{
    struct vrt_binding bindings[1 + MAX_TAPS] = { 0 };
    struct fixture_params weights;

    weights.params = vrt_network_params(p->network, &weights.n);
    expect_int(vrt_buffer_new(p->device, (size_t)vrt_shape_count(p->in.shape) * sizeof(float),
                              &bindings[0].buffer), 0);
    write_input(p, bindings[0].buffer);
    for (int i = 0; i < p->n_captures; i++) {
        const size_t size = (size_t)vrt_shape_count(p->captures[i].tensor.shape) * sizeof(float);
        expect_int(vrt_buffer_new(p->device, size, &bindings[1 + i].buffer), 0);
    }
    fixture_run_graph(p->device, &weights, graph, dtype, bindings);
    for (int i = 0; i < p->n_captures; i++) {
        struct capture *capture = &p->captures[i];
        const size_t size = (size_t)vrt_shape_count(capture->tensor.shape) * sizeof(float);

        capture->values = malloc(size);
        expect_true(capture->values);
        expect_int(vrt_buffer_read(p->device, bindings[1 + i].buffer, 0, capture->values, size),
                   0);
    }
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
        size_t n_params;
        const struct vrt_param *params = vrt_network_params(p->network, &n_params);

        vrt_graph_set_params(graph, params, n_params, use->dtype);
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
 * library of its own, and other kinds of devices add up in orders of their own. Flows are compared
 * as ever; what comes of them then differs by a pixel.
 */
static bool find_turn(const char *name, const struct vrt_device_info *device)
{
    if (strcmp(name, "vrt/sr-pa2-odd") != 0 || strcmp(device->kind, "ref") == 0)
        return false;
    return strcmp(device->kind, "cpu") != 0 ||
           (!strstr(device->description, "AVX2") && !strstr(device->description, "AVX-512"));
}

/* Fills in the captures: the output is the first. */
static void run_case(struct play *p, const char *device, enum vrt_dtype dtype)
{
    const struct vrt_network_use use = {
        .dtype = dtype, .noise = 20.0f / 255, .taps = &p->taps,
    };
    struct vrt_registry *registry;
    struct vrt_graph *graph;

    p->device = fixture_open_device(device, &registry);
    p->turns = find_turn(p->name, vrt_registry_find(registry, device));
    expect_int(vrt_graph_new(&graph), 0);
    p->taps.tap = tap;
    build(p, graph, &use);
    check_types(graph);
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
    static const char letters[] = "dhwc";
    const int extents[4] = { s.d, s.h, s.w, s.c };
    int64_t place[4];

    for (int k = 3; k >= 0; k--) {
        const ptrdiff_t which = strchr(letters, order[k]) - letters;

        place[which] = i % extents[which];
        i /= extents[which];
    }
    return capture->values[((place[0] * s.h + place[1]) * s.w + place[2]) * s.c + place[3]];
}

/* How far each kind of tensor may be from what it should be, for f32. */
static double find_tolerance(const struct play *p, const char *name, double largest)
{
    const bool is_flow = strncmp(name, "flow_", 5) == 0;

    if (is_flow && p->is_flow)
        return 1e-3;
    if (is_flow || !p->turns)
        return 1e-4 * largest;
    return (strcmp(name, "output") == 0 ? 2e-3 : 1e-2) * largest;
}

static void compare(struct play *p, const char *name)
{
    struct golden_samples samples = golden_read(p->golden, name);
    const struct capture *capture = find_capture(p, name);
    double worst = 0, largest = 0;

    if (!capture)
        test_fail("the network shows no %s", name);
    expect_int((vrt_shape_count(capture->tensor.shape) + samples.stride - 1) / samples.stride,
               samples.count);
    for (int k = 0; k < samples.count; k++) {
        double wanted = (double)samples.values[k];
        double got = (double)at(capture, find_order(name), (int64_t)k * samples.stride);

        if (!(fabs(got - wanted) < 1e30))
            test_fail("%s: sample %d is not a number", name, k);
        worst = fmax(worst, fabs(got - wanted));
        largest = fmax(largest, fabs(wanted));
    }
    free(samples.values);
    fprintf(stderr, "    %-18s %.2g of %.3g: %.2g\n", name, worst, largest, worst / largest);
    expect_true(worst < find_tolerance(p, name, largest));
}

/* What was stored of the input is what the rule makes. */
static void compare_input(const struct play *p)
{
    struct golden_samples samples = golden_read(p->golden, "input");
    const int n_given = golden_int(p->golden, "input_shape", 1);
    const int places = p->in.shape.h * p->in.shape.w;

    for (int k = 0; k < samples.count; k++) {
        const int i = k * samples.stride, c = i / places % n_given;
        expect_near(c < 3 ? p->x[i] : 20.0f / 255, samples.values[k], 1e-6);
    }
    free(samples.values);
}

static void drop_captures(struct play *p)
{
    for (int i = 0; i < p->n_captures; i++)
        free(p->captures[i].values);
    p->n_captures = 0;
}

static void close_case(struct play *p)
{
    drop_captures(p);
    vrt_network_unref(p->network);
    vrt_checkpoint_free(p->golden);
    free(p->x);
}

static void check_f32(struct play *p, const char *device)
{
    run_case(p, device, VRT_DTYPE_F32);
    take_sums_apart(p);
    for (int i = 0; i < vrt_checkpoint_n_tensors(p->golden); i++) {
        const char *name = golden_nth_name(p->golden, i);

        if (name && strcmp(name, "input") == 0)
            compare_input(p);
        else if (name)
            compare(p, name);
    }
}

/* Within 2e-2 of the largest value, and 50 dB. */
static void compare_output(const struct capture *capture, const struct capture *wanted)
{
    const int64_t n = vrt_shape_count(wanted->tensor.shape);
    double worst = 0, low = 1e30, high = -1e30, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const double value = (double)wanted->values[i];
        const double difference = fabs((double)capture->values[i] - value);

        if (!(difference < 1e30))
            test_fail("sample %lld is not a number", (long long)i);
        low = fmin(low, value);
        high = fmax(high, value);
        worst = fmax(worst, difference);
        sum += difference * difference;
    }
    const double relative = worst / fmax(fabs(low), fabs(high));
    const double psnr = 20 * log10(high - low) - 10 * log10(sum / (double)n + 1e-30);
    fprintf(stderr, "    output: %.2g relative, %.1f dB\n", relative, psnr);
    expect_true(relative < 2e-2);
    expect_true(psnr >= 50);
}

static void check_half(struct play *p, const char *device, enum vrt_dtype dtype)
{
    struct play exact = *p;

    run_case(&exact, device, VRT_DTYPE_F32);
    run_case(p, device, dtype);
    expect_int(p->n_captures, exact.n_captures);
    for (int i = 0; i < p->n_captures; i++) {
        const struct capture *capture = &p->captures[i], *wanted = &exact.captures[i];
        const size_t n = (size_t)vrt_shape_count(wanted->tensor.shape);

        expect_str(capture->name, wanted->name);
        if (strncmp(capture->name, "flow_", 5) == 0) {
            /* The same ops in f32 on the same device: the same bits. */
            if (memcmp(capture->values, wanted->values, n * sizeof(float)) != 0)
                test_fail("%s is not that of f32", capture->name);
        } else if (strcmp(capture->name, "output") == 0) {
            compare_output(capture, wanted);
        }
    }
    drop_captures(&exact);
}

int main(int argc, char **argv)
{
    enum vrt_dtype dtype;

    if (argc < 4 || !fixture_dtype(argv[2], &dtype))
        test_fail("usage: test-vrt-golden DEVICE f32|f16|bf16 CASE...");
    if (!fixture_has_device(argv[1]))
        test_skip("this machine has no such device");
    if (!fixture_computes_in(argv[1], dtype))
        test_skip("the device doesn't compute in this type");
    for (int i = 3; i < argc; i++) {
        struct play p = { .name = argv[i] };

        fprintf(stderr, "%s\n", argv[i]);
        open_case(&p, argv[i]);
        if (!test_looks_at_results())
            run_case(&p, argv[1], dtype);
        else if (dtype == VRT_DTYPE_F32)
            check_f32(&p, argv[1]);
        else
            check_half(&p, argv[1], dtype);
        close_case(&p);
    }
    return 0;
}
