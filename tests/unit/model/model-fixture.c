/* SPDX-License-Identifier: MIT */

#include "tests/unit/model/model-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "backend/kind.h"
#include "base/macro.h"
#include "engine/checkpoint.h"
#include "engine/graph-executor.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"
#include "tests/unit/model/weight-rule.h"

/*
 * Values as tests/data/image has them: of uniform(name, seed), around 0 for weights and biases
 * and 0.2 for slopes, small enough that activations neither vanish nor grow.
 */
static void fill(const char *name, uint64_t seed, const int *dims, int n_dims, float *values)
{
    size_t length = strlen(name), n = 1;
    bool slopes = n_dims == 1 && length > 7 && strcmp(name + length - 7, ".weight") == 0;
    double fan = 1, halfwidth;

    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    for (int i = 1; i < n_dims; i++)
        fan *= dims[i];
    halfwidth = n_dims == 1 ? 0.1 : sqrt(3 / fan) * 0.9;
    rule_uniform(name, seed, values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = (slopes ? 0.2f : 0) + (float)halfwidth * (2 * values[i] - 1);
}

static size_t dtype_size(const struct fixture *f)
{
    return f->dtype && strcmp(f->dtype, "F16") == 0 ? 2 : 4;
}

void fixture_add_data(struct fixture *f, const char *dtype, const struct fixture_tensor *tensor,
                      const void *data, size_t size)
{
    size_t begin = f->data.size_bytes;
    int r = vrt_buf_printf(&f->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                           f->header.size_bytes ? "," : "", tensor->name, dtype);

    for (int i = 0; i < tensor->n_dims && r == 0; i++)
        r = vrt_buf_printf(&f->header, "%s%d", i ? "," : "", tensor->dims[i]);
    expect_int(r, 0);
    expect_int(vrt_buf_append(&f->data, data, size), 0);
    expect_int(vrt_buf_printf(&f->header, "],\"data_offsets\":[%zu,%zu]}", begin,
                              f->data.size_bytes), 0);
}

void fixture_add(struct fixture *f, const char *name, const int *dims, int n_dims)
{
    const struct fixture_tensor tensor = { name, dims, n_dims };
    size_t n = 1;

    if (f->left_out && strcmp(f->left_out, name) == 0)
        return;
    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    float *values = calloc(n + 1, sizeof(*values));
    expect_true(values);
    if (f->seed && f->has_norms)
        rule_fill_vrt(name, f->seed, dims, n_dims, RULE_FLOW_STEADY, values);
    else if (f->seed)
        fill(name, f->seed, dims, n_dims, values);
    for (size_t i = 0; f->weight != 0 && i < n && !strstr(name, ".bias"); i++)
        values[i] = f->weight;
    fixture_add_data(f, f->dtype ? f->dtype : "F32", &tensor, values, n * dtype_size(f));
    free(values);
}

void fixture_add_conv(struct fixture *f, const char *name, int o, int i, int k, bool bias)
{
    char tensor[96];

    snprintf(tensor, sizeof(tensor), "%s.weight", name);
    fixture_add(f, tensor, (int[]){ o, i, k, k }, 4);
    snprintf(tensor, sizeof(tensor), "%s.bias", name);
    if (bias)
        fixture_add(f, tensor, &o, 1);
}

struct vrt_buf fixture_file(struct fixture *f)
{
    struct vrt_buf file = { 0 };
    uint64_t n_header;

    expect_int(vrt_buf_append(&file, "........", 8), 0);
    if (f->metadata)
        expect_int(vrt_buf_printf(&file, "{\"__metadata__\":%s,%s}", f->metadata,
                                  f->header.data), 0);
    else
        expect_int(vrt_buf_printf(&file, "{%s}", f->header.data), 0);
    n_header = file.size_bytes - 8;
    memcpy(file.data, &n_header, 8);
    if (f->data.size_bytes)
        expect_int(vrt_buf_append(&file, f->data.data, f->data.size_bytes), 0);
    vrt_buf_done(&f->header);
    vrt_buf_done(&f->data);
    return file;
}

int fixture_load(struct fixture *f, struct vrt_network **ret_network, struct vrt_error *error)
{
    struct vrt_buf file = fixture_file(f);
    struct vrt_checkpoint *checkpoint;
    int r = vrt_checkpoint_open_memory(file.data, file.size_bytes, "net.safetensors", &checkpoint,
                                       error);
    if (r < 0)
        test_fail("the fixture isn't a checkpoint: %s", error->message);
    r = vrt_network_new(checkpoint, "net.safetensors", ret_network, error);
    expect_true(r == 0 || error->message[0]);
    vrt_checkpoint_free(checkpoint);
    vrt_buf_done(&file);
    return r;
}

struct vrt_network *fixture_network(struct fixture *f)
{
    struct vrt_network *network;
    struct vrt_error error = { 0 };

    if (fixture_load(f, &network, &error) != 0)
        test_fail("refused: %s", error.message);
    return network;
}

struct vrt_network *fixture_open_network(const char *path)
{
    struct vrt_checkpoint *checkpoint;
    struct vrt_network *network;
    struct vrt_error error = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    expect_true(fd >= 0);
    if (vrt_checkpoint_open(fd, path, NULL, &checkpoint, &error) != 0 ||
        vrt_network_new(checkpoint, path, &network, &error) != 0)
        test_fail("%s", error.message);
    vrt_checkpoint_free(checkpoint);
    close(fd);
    return network;
}

void fixture_add_compact(struct fixture *f, const struct fixture_compact *c)
{
    char name[64];

    for (int i = 0; i < c->convs + 2; i++) {
        bool last = i == c->convs + 1;
        int o = last ? c->channels * c->scale * c->scale : c->features;

        snprintf(name, sizeof(name), "body.%d", 2 * i);
        fixture_add_conv(f, name, o, i ? c->features : c->channels, 3, true);
        snprintf(name, sizeof(name), "body.%d.weight", 2 * i + 1);
        if (!last && c->act == 'p')
            fixture_add(f, name, &o, 1);
    }
}

/* One convolution, as training has it. */
static void add_five(struct fixture *f, const char *name, int o, int i)
{
    const struct {
        const char *part;
        int o, i, k;
    } parts[] = {
        { "sk", o, i, 1 },         { "conv.0", 2 * i, i, 1 }, { "conv.1", 2 * o, 2 * i, 3 },
        { "conv.2", o, 2 * o, 1 }, { "eval_conv", o, i, 3 },
    };
    char part[64];

    for (size_t k = 0; k < VRT_ARRAY_SIZE(parts); k++) {
        snprintf(part, sizeof(part), "%s.%s", name, parts[k].part);
        fixture_add_conv(f, part, parts[k].o, parts[k].i, parts[k].k, true);
    }
}

void fixture_add_span(struct fixture *f, const struct fixture_span *s)
{
    const int last = s->channels * s->up * s->up;
    char name[32];

    add_five(f, s->fold > 1 ? "conv_1.1" : "conv_1", s->features,
             s->channels * s->fold * s->fold);
    for (int i = 1; i <= s->blocks; i++) {
        for (int k = 1; k <= 3; k++) {
            snprintf(name, sizeof(name), "block_%d.c%d_r", i, k);
            add_five(f, name, s->features, s->features);
        }
        snprintf(name, sizeof(name), "block_%d.att_conv", i);
        if (s->is_f3)
            fixture_add_conv(f, name, s->features, s->features, 1, true);
    }
    fixture_add_conv(f, "conv_cat", s->features, 4 * s->features, 1, true);
    if (s->is_f3) {
        add_five(f, "to_pixel", last, s->features);
        return;
    }
    add_five(f, "conv_2", s->features, s->features);
    fixture_add_conv(f, "upsampler.0", last, s->features, 3, true);
}

static void add_transposed(struct fixture *f, const char *name, int o, int i)
{
    char tensor[64];

    snprintf(tensor, sizeof(tensor), "%s.weight", name);
    fixture_add(f, tensor, (int[]){ i, o, 4, 4 }, 4);
    snprintf(tensor, sizeof(tensor), "%s.bias", name);
    fixture_add(f, tensor, &o, 1);
}

static void add_rife_block(struct fixture *f, const struct fixture_rife *r, int block)
{
    const int c = r->blocks[block], made = 4 * (r->hints ? 5 + r->hints : 6);
    const int in = 7 + 2 * r->features + (block ? 5 + r->hints : 0);
    char name[40];

    snprintf(name, sizeof(name), "block%d.conv0.0.0", block);
    fixture_add_conv(f, name, c / 2, in, 3, true);
    snprintf(name, sizeof(name), "block%d.conv0.1.0", block);
    fixture_add_conv(f, name, c, c / 2, 3, true);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "block%d.convblock.%d.conv", block, i);
        fixture_add_conv(f, name, c, c, 3, true);
        snprintf(name, sizeof(name), "block%d.convblock.%d.beta", block, i);
        fixture_add(f, name, (int[]){ 1, c, 1, 1 }, 4);
    }
    snprintf(name, sizeof(name), "block%d.lastconv.0", block);
    add_transposed(f, name, made, c);
}

void fixture_add_rife(struct fixture *f, const struct fixture_rife *r)
{
    const int e = r->encode;

    for (int i = 0; r->blocks[i]; i++)
        add_rife_block(f, r, i);
    fixture_add_conv(f, "encode.cnn0", e, 3, 3, true);
    fixture_add_conv(f, "encode.cnn1", e, e, 3, true);
    fixture_add_conv(f, "encode.cnn2", e, e, 3, true);
    add_transposed(f, "encode.cnn3", r->features, e);
}

/* A convolution of 3 by 3 taps, `name` behind the prefix. */
static void add_layer(struct fixture *f, const struct fixture_basicvsr *b, const char *name, int o,
                      int i)
{
    char full[96];

    snprintf(full, sizeof(full), "%s%s", b->prefix, name);
    fixture_add_conv(f, full, o, i, 3, true);
}

static void add_blocks(struct fixture *f, const struct fixture_basicvsr *b, const char *prefix,
                       int in, int n)
{
    char name[64];

    snprintf(name, sizeof(name), "%s.main.0", prefix);
    add_layer(f, b, name, b->features, in);
    for (int i = 0; i < 2 * n; i++) {
        snprintf(name, sizeof(name), "%s.main.2.%d.conv%d", prefix, i / 2, i % 2 + 1);
        add_layer(f, b, name, b->features, b->features);
    }
}

static void add_flow(struct fixture *f, const struct fixture_basicvsr *b)
{
    static const int channels[] = { 8, 32, 64, 32, 16, 2 };
    char name[96];

    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "%sspynet.basic_module.%d.basic_module.%d.conv", b->prefix,
                 i / 5, i % 5);
        fixture_add_conv(f, name, channels[i % 5 + 1], channels[i % 5], 7, true);
    }
}

void fixture_add_basicvsr(struct fixture *f, const struct fixture_basicvsr *b)
{
    static const char *const branches[] = { "backward_1", "forward_1", "backward_2", "forward_2" };
    const int c = b->features;
    char name[64];

    add_flow(f, b);
    if (b->keeps_size) {
        add_layer(f, b, "feat_extract.0", c, 3);
        add_layer(f, b, "feat_extract.2", c, c);
    }
    add_blocks(f, b, b->keeps_size ? "feat_extract.4" : "feat_extract", b->keeps_size ? c : 3, 5);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof(name), "deform_align.%s.conv_offset.%d", branches[k], 2 * i);
            add_layer(f, b, name, i == 3 ? b->offsets : c, i ? c : 3 * c + 4);
        }
        snprintf(name, sizeof(name), "deform_align.%s", branches[k]);
        add_layer(f, b, name, c, 2 * c);
        snprintf(name, sizeof(name), "backbone.%s", branches[k]);
        add_blocks(f, b, name, (2 + k) * c, b->blocks);
    }
    add_blocks(f, b, "reconstruction", 5 * c, 5);
    add_layer(f, b, "upsample1.upsample_conv", 4 * c, c);
    add_layer(f, b, "upsample2.upsample_conv", 4 * b->end, c);
    add_layer(f, b, "conv_hr", b->end, b->end);
    add_layer(f, b, "conv_last", 3, b->end);
}

int fixture_esrgan_n_convs(const struct fixture_esrgan *e)
{
    return 1 + e->blocks * 15 + 1 + e->ups + 2;
}

/* Those of the old naming are numbered as PyTorch does what stands in a row. */
static void name_old_tail(const struct fixture_esrgan *e, int tail, char name[64])
{
    if (tail == 0)
        snprintf(name, 64, "model.1.sub.%d", e->blocks);
    else if (tail <= e->ups)
        snprintf(name, 64, "model.%d", 3 * tail);
    else
        snprintf(name, 64, "model.%d", 2 + 3 * e->ups + (tail == e->ups + 1 ? 0 : 2));
}

/* What comes behind the blocks: the trunk's end, the enlargements, the last two. */
static void name_tail(const struct fixture_esrgan *e, int tail, char name[64])
{
    static const char *const tails[2][4] = { { "conv_body", "conv_up%d", "conv_hr", "conv_last" },
                                             { "trunk_conv", "upconv%d", "HRconv", "conv_last" } };
    int kind = tail == 0 ? 0 : tail <= e->ups ? 1 : tail == e->ups + 1 ? 2 : 3;

    if (e->naming == FIXTURE_OLD)
        name_old_tail(e, tail, name);
    else
        snprintf(name, 64, tails[e->naming][kind], tail);
}

void fixture_esrgan_name(const struct fixture_esrgan *e, int i, bool past, char name[64])
{
    static const char *const dense_formats[] = { "body.%d.rdb%d.", "RRDB_trunk.%d.RDB%d.",
                                                 "model.1.sub.%d.RDB%d." };
    const int n_dense = e->blocks * 15, dense = past ? i : (i - 1) / 5;

    if (i == 0 && !past) {
        snprintf(name, 64, "%s", e->naming == FIXTURE_OLD ? "model.0" : "conv_first");
    } else if (!past && i > n_dense) {
        name_tail(e, i - 1 - n_dense, name);
    } else {
        int n = snprintf(name, 64, dense_formats[e->naming], dense / 3, dense % 3 + 1);
        if (past)
            snprintf(name + n, 64 - (size_t)n, "conv1x1");
        else
            snprintf(name + n, 64 - (size_t)n, "conv%d%s", (i - 1) % 5 + 1,
                     e->naming == FIXTURE_OLD ? ".0" : "");
    }
}

void fixture_add_esrgan(struct fixture *f, const struct fixture_esrgan *e)
{
    int n_convs = fixture_esrgan_n_convs(e), nf = e->features, gc = e->growth;
    char name[64];

    for (int i = 0; i < n_convs; i++) {
        int conv = i >= 1 && i <= e->blocks * 15 ? (i - 1) % 5 : -1;
        int o = conv >= 0 && conv < 4 ? gc : i == n_convs - 1 ? e->out : nf;

        fixture_esrgan_name(e, i, false, name);
        fixture_add_conv(f, name, o, i == 0 ? e->in : conv >= 0 ? nf + conv * gc : nf, 3, true);
    }
    for (int i = 0; i < e->blocks * 3 && e->plus; i++) {
        fixture_esrgan_name(e, i, true, name);
        fixture_add_conv(f, name, gc, nf, 1, false);
    }
}

bool fixture_has_device(const char *device)
{
    struct vrt_registry *registry;
    struct vrt_error error = { 0 };

    expect_int(vrt_registry_new(&(struct vrt_registry_params){ 0 }, &registry, &error), 0);
    bool has = vrt_registry_find(registry, device) != NULL;
    vrt_registry_free(registry);
    return has;
}

bool fixture_dtype(const char *name, enum vrt_dtype *ret_dtype)
{
    static const enum vrt_dtype dtypes[] = { VRT_DTYPE_F32, VRT_DTYPE_F16, VRT_DTYPE_BF16 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(dtypes); i++)
        if (strcmp(vrt_dtype_name(dtypes[i]), name) == 0) {
            *ret_dtype = dtypes[i];
            return true;
        }
    return false;
}

struct vrt_device *fixture_open_device(const char *name, struct vrt_registry **ret_registry)
{
    struct vrt_device *device;
    struct vrt_error error = { 0 };

    expect_int(vrt_registry_new(&(struct vrt_registry_params){
        .values = test_backend_values(), .cache_dir = test_cache_dir(),
    }, ret_registry, &error), 0);
    expect_true(vrt_registry_find(*ret_registry, name));
    expect_int(vrt_device_open(*ret_registry, vrt_registry_find(*ret_registry, name), &device), 0);
    return device;
}

bool fixture_computes_in(const char *name, enum vrt_dtype dtype)
{
    struct vrt_registry *registry;
    struct vrt_device *device = fixture_open_device(name, &registry);
    struct vrt_replica *replica = NULL;

    int r = vrt_replica_new(device, NULL, 0, dtype, &replica);
    expect_true(r == 0 || r == -EINVAL);
    vrt_replica_free(device, replica);
    vrt_device_close(device);
    vrt_registry_free(registry);
    return r == 0;
}

/* [N,R,C] to [N,C,R]. */
static float *transposed(const float *src, int n, int rows, int columns)
{
    size_t size = (size_t)rows * (size_t)columns;
    float *dst = malloc((size_t)n * size * sizeof(*dst));

    expect_true(dst);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                dst[(size_t)i * size + (size_t)c * (size_t)rows + (size_t)r] =
                    src[(size_t)i * size + (size_t)r * (size_t)columns + (size_t)c];
    return dst;
}

/* That a replica, or what runs a graph, was made. */
static void expect_made(const struct vrt_device *device, enum vrt_dtype dtype, int r)
{
    if (r == -EINVAL && (dtype != VRT_DTYPE_F32 ||
                         vrt_device_kind_is_accelerator(vrt_device_info(device)->kind)))
        test_skip("the device doesn't hold every param or run every op of the network");
    expect_int(r, 0);
}

void fixture_run_graph(struct vrt_device *device, const struct fixture_params *weights,
                       struct vrt_graph *graph, enum vrt_dtype dtype,
                       const struct vrt_binding *bindings)
{
    struct vrt_replica *replica;
    struct vrt_graph_executor *executor;
    struct vrt_arena arena = { 0 };

    expect_made(device, dtype, vrt_replica_new(device, weights->params, weights->n, dtype,
                                               &replica));
    expect_made(device, dtype, vrt_graph_executor_new_all(device, replica, &graph, 1, &arena,
                                                          &executor));
    expect_int(vrt_graph_executor_submit(executor, bindings), 0);
    expect_int(vrt_device_finish(device), 0);
    vrt_graph_executor_free(executor);
    vrt_arena_done(device, &arena);
    vrt_replica_free(device, replica);
}

float *fixture_run_network(const struct vrt_network *network, const char *name,
                           enum vrt_dtype dtype, struct vrt_shape shape, const float *x)
{
    return fixture_run_network_to(network, name, dtype, &(struct fixture_run){
        .in = shape, .out = vrt_network_out_shape(network, shape), .x = x });
}

float *fixture_run_network_to(const struct vrt_network *network, const char *name,
                              enum vrt_dtype dtype, const struct fixture_run *what)
{
    const struct vrt_shape shape = what->in, out = what->out;
    const float *x = what->x;
    size_t n_in = (size_t)vrt_shape_count(shape), n_out = (size_t)vrt_shape_count(out);
    struct vrt_registry *registry;
    struct vrt_device *device = fixture_open_device(name, &registry);
    struct vrt_graph *graph;
    struct vrt_binding io[2] = { 0 };
    struct fixture_params weights;

    weights.params = vrt_network_params(network, &weights.n);
    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor in_tensor = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor out_tensor = vrt_graph_output(graph, VRT_DTYPE_F32, out);
    expect_int(vrt_network_build(network, graph, &in_tensor, &out_tensor,
                                 &(struct vrt_network_use){ .dtype = dtype }), 0);
    expect_int(vrt_buffer_new(device, n_in * sizeof(float), &io[0].buffer), 0);
    expect_int(vrt_buffer_new(device, n_out * sizeof(float), &io[1].buffer), 0);

    float *x_last = transposed(x, shape.d, shape.c, shape.h * shape.w);
    float *y_last = malloc(n_out * sizeof(*y_last));
    expect_true(y_last);
    expect_int(vrt_buffer_write(device, io[0].buffer, 0, x_last, n_in * sizeof(float)), 0);
    fixture_run_graph(device, &weights, graph, dtype, io);
    expect_int(vrt_buffer_read(device, io[1].buffer, 0, y_last, n_out * sizeof(float)), 0);
    float *y = transposed(y_last, out.d, out.h * out.w, out.c);

    free(x_last);
    free(y_last);
    for (int i = 0; i < 2; i++)
        vrt_buffer_free(device, io[i].buffer);
    vrt_graph_free(graph);
    vrt_device_close(device);
    vrt_registry_free(registry);
    return y;
}
