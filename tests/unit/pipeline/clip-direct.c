/* SPDX-License-Identifier: MIT */

#include "tests/unit/pipeline/clip-direct.h"

#include <unistd.h>

#include "engine/graph-executor.h"
#include "engine/graph.h"
#include "tests/unit/frames/frames-fixture.h"
#include "frames/decode/reader.h"
#include "tests/unit/test.h"
#include "tests/unit/workers/bench-device.h"
#include "workers/plan/colour-graph.h"

#define MAX_BINDINGS 5

/* Frames of RGB: [n,h,w,3]. */
struct clip {
    int n, h, w;
    float *rgb;
};

/* A length covered by pieces, as VRT's authors place them. */
struct places {
    int n, at[64];
};

static void *get(size_t n, size_t size)
{
    void *memory = calloc(n, size);

    expect_true(memory);
    return memory;
}

static struct clip new_clip(int n, int h, int w)
{
    return (struct clip){ n, h, w, get((size_t)n * h * w * 3, sizeof(float)) };
}

static float *pixel(const struct clip *clip, int d, int y, int x)
{
    return clip->rgb + (((size_t)d * clip->h + y) * clip->w + x) * 3;
}

void direct_init(struct direct *direct, struct vrt_network *network)
{
    size_t n;

    *direct = (struct direct){ .network = network };
    direct->device = bench_open("cpu:0", 2, NULL, &direct->registry);
    const struct vrt_param *weights = vrt_network_params(network, &n);
    expect_int(vrt_replica_new(direct->device, weights, n, VRT_DTYPE_F32, &direct->replica), 0);
}

void direct_done(struct direct *direct)
{
    vrt_replica_free(direct->device, direct->replica);
    bench_close(direct->device, direct->registry);
}

/* One binding of a graph, and what is copied to or from it. */
struct operand {
    void *data;
    size_t size_bytes;
    bool is_output;
};

static void run(struct direct *direct, struct vrt_graph *graph, const struct operand *operands,
                int n)
{
    struct vrt_binding bindings[MAX_BINDINGS] = { { NULL, 0 } };
    struct vrt_graph_executor *executor;
    struct vrt_arena arena = { 0 };

    expect_int(vrt_graph_executor_new_all(direct->device, direct->replica, &graph, 1, &arena,
                                          &executor),
               0);
    for (int i = 0; i < n; i++) {
        expect_int(vrt_buffer_new(direct->device, operands[i].size_bytes, &bindings[i].buffer), 0);
        if (!operands[i].is_output)
            expect_int(vrt_buffer_write(direct->device, bindings[i].buffer, 0, operands[i].data,
                                        operands[i].size_bytes), 0);
    }
    expect_int(vrt_graph_executor_submit(executor, bindings), 0);
    expect_int(vrt_device_finish(direct->device), 0);
    for (int i = 0; i < n; i++) {
        if (operands[i].is_output)
            expect_int(vrt_buffer_read(direct->device, bindings[i].buffer, 0, operands[i].data,
                                       operands[i].size_bytes), 0);
        vrt_buffer_free(direct->device, bindings[i].buffer);
    }
    vrt_graph_executor_free(executor);
    vrt_arena_done(direct->device, &arena);
}

/* Copies the frame's planes to or from dense memory. */
static void copy_planes(const struct vrt_frame *frame, struct operand *planes, bool out)
{
    for (int p = 0; p < vrt_frame_format_n_planes(&frame->format); p++) {
        const struct vrt_plane *plane = &frame->planes[p];
        size_t row = (size_t)plane->width *
                     (size_t)vrt_frame_format_sample_bytes(&frame->format);
        if (!planes[p].data)
            planes[p] = (struct operand){ get((size_t)plane->height, row),
                                          row * (size_t)plane->height, out };
        for (int y = 0; y < plane->height; y++) {
            uint8_t *dense = (uint8_t *)planes[p].data + (size_t)y * row;
            uint8_t *there = plane->data + (size_t)y * plane->stride_bytes;
            memcpy(out ? there : dense, out ? dense : there, row);
        }
    }
}

static void to_rgb(struct direct *direct, const struct vrt_frame *frame, const struct clip *clip,
                   int d)
{
    int n = vrt_frame_format_n_planes(&frame->format);
    struct operand operands[MAX_BINDINGS] = { { 0 } };
    struct vrt_graph *graph;

    expect_int(vrt_graph_new(&graph), 0);
    expect_int(vrt_colour_graph_to_rgb(graph, &frame->format), 0);
    copy_planes(frame, operands, false);
    operands[n] = (struct operand){ pixel(clip, d, 0, 0),
                                    (size_t)clip->h * clip->w * 3 * sizeof(float), true };
    run(direct, graph, operands, n + 1);
    for (int p = 0; p < n; p++)
        free(operands[p].data);
    vrt_graph_free(graph);
}

static void to_planes(struct direct *direct, const struct clip *clip, int d,
                      struct vrt_frame *frame)
{
    int n = vrt_frame_format_n_planes(&frame->format);
    struct operand operands[MAX_BINDINGS] = { { 0 } };
    struct vrt_graph *graph;

    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor rgb = vrt_graph_input(graph, VRT_DTYPE_F32,
                                            (struct vrt_shape){ 1, clip->h, clip->w, 3 });
    expect_int(vrt_colour_graph_to_planes(graph, &frame->format, &rgb), 0);
    operands[0] = (struct operand){ pixel(clip, d, 0, 0),
                                    (size_t)clip->h * clip->w * 3 * sizeof(float), false };
    copy_planes(frame, operands + 1, true);
    run(direct, graph, operands, n + 1);
    copy_planes(frame, operands + 1, true);
    for (int p = 1; p <= n; p++)
        free(operands[p].data);
    vrt_graph_free(graph);
}

/* What the network makes of the clip. */
static struct clip apply(struct direct *direct, const struct clip *in, float noise)
{
    const struct vrt_network_info *info = vrt_network_info(direct->network);
    struct clip out = new_clip(info->out_frames ? info->out_frames : in->n, in->h * info->scale,
                               in->w * info->scale);
    const struct vrt_network_use use = { .dtype = VRT_DTYPE_F32, .noise = noise };
    const struct operand operands[] = {
        { in->rgb, (size_t)in->n * in->h * in->w * 3 * sizeof(float), false },
        { out.rgb, (size_t)out.n * out.h * out.w * 3 * sizeof(float), true },
    };
    struct vrt_graph *graph;

    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32,
                                          (struct vrt_shape){ in->n, in->h, in->w, 3 });
    struct vrt_tensor y = vrt_graph_output(graph, VRT_DTYPE_F32,
                                           (struct vrt_shape){ out.n, out.h, out.w, 3 });
    expect_int(vrt_network_build(direct->network, graph, &x, &y, &use), 0);
    run(direct, graph, operands, 2);
    vrt_graph_free(graph);
    return out;
}

/* range(0, length - size, size - overlap) + [max(0, length - size)] */
static struct places place(int length, int size, int overlap)
{
    struct places p = { 0 };

    for (int at = 0; at < length - size; at += size - overlap)
        p.at[p.n++] = at;
    p.at[p.n++] = length > size ? length - size : 0;
    return p;
}

/* Weight of piece i of these at `at`, feathered; lengths in units of 1/scale. */
static float feather(const struct places *p, int size, int overlap, int i, int at)
{
    if (i > 0) {
        int end = p->at[i - 1] + size;
        if (at < end - overlap)
            return 0;
        if (at < end)
            return (float)(at - end + overlap + 1) / (float)(overlap + 1);
    }
    if (i < p->n - 1 && at >= p->at[i] + size - overlap)
        return 1 - (float)(at - p->at[i] - size + overlap + 1) / (float)(overlap + 1);
    return 1;
}

/* Weight of a tile's row or column `at`, counted in pixels of the whole output. */
static float tile_weight(const struct direct_rule *rule, const struct places *p, int scale,
                         int size, int i, int at)
{
    struct places scaled = *p;
    int drop = rule->tile_overlap / 2, start = p->at[i] * scale;

    for (int k = 0; k < p->n; k++)
        scaled.at[k] *= scale;
    if (!rule->official)
        return feather(&scaled, size * scale, rule->tile_overlap * scale, i, at);
    if (i > 0 && at < start + drop)
        return 0;
    return i < p->n - 1 && at >= start + size * scale - (rule->tile_overlap - drop) ? 0 : 1;
}

/* Adds a tile's result to `sums`, and its weights to `weights` where they are counted. */
static void add_tile(const struct direct_rule *rule, const struct places *rows,
                     const struct places *columns, const int ij[2], const struct clip *tile,
                     int scale, const struct clip *sums, float *weights)
{
    int y0 = rows->at[ij[0]] * scale, x0 = columns->at[ij[1]] * scale;

    for (int d = 0; d < tile->n; d++)
    for (int y = 0; y < tile->h; y++)
    for (int x = 0; x < tile->w; x++) {
        float weight = tile_weight(rule, rows, scale, tile->h / scale, ij[0], y0 + y) *
                       tile_weight(rule, columns, scale, tile->w / scale, ij[1], x0 + x);
        for (int c = 0; c < 3; c++)
            pixel(sums, d, y0 + y, x0 + x)[c] += pixel(tile, d, y, x)[c] * weight;
        if (d == 0)
            weights[(size_t)(y0 + y) * sums->w + x0 + x] += weight;
    }
}

/* The clip restored tile by tile. */
static struct clip apply_tiled(struct direct *direct, const struct direct_rule *rule,
                               const struct clip *in)
{
    int scale = vrt_network_info(direct->network)->scale;
    int th = rule->tile_h < in->h ? rule->tile_h : in->h;
    int tw = rule->tile_w < in->w ? rule->tile_w : in->w;
    struct places rows = place(in->h, th, th < in->h ? rule->tile_overlap : 0);
    struct places columns = place(in->w, tw, tw < in->w ? rule->tile_overlap : 0);
    struct clip sums = new_clip(in->n, in->h * scale, in->w * scale);
    float *weights = get((size_t)sums.h * sums.w, sizeof(float));

    for (int i = 0; i < rows.n; i++) {
        for (int k = 0; k < columns.n; k++) {
            struct clip part = new_clip(in->n, th, tw);
            for (int d = 0; d < in->n; d++)
                for (int y = 0; y < th; y++)
                    memcpy(pixel(&part, d, y, 0), pixel(in, d, rows.at[i] + y, columns.at[k]),
                           (size_t)tw * 3 * sizeof(float));
            struct clip out = apply(direct, &part, rule->noise);
            add_tile(rule, &rows, &columns, (int[2]){ i, k }, &out, scale, &sums, weights);
            free(part.rgb);
            free(out.rgb);
        }
    }
    for (int d = 0; rule->official && d < sums.n; d++)
        for (int y = 0; y < sums.h; y++)
            for (int x = 0; x < sums.w; x++)
                for (int c = 0; c < 3; c++)
                    pixel(&sums, d, y, x)[c] /= weights[(size_t)y * sums.w + x];
    free(weights);
    return sums;
}

/* How many frames the network is shown of a scene of n. */
static int shown(const struct direct *direct, const struct direct_rule *rule, int n)
{
    const struct vrt_network_info *info = vrt_network_info(direct->network);
    int depth = n;

    if (n < rule->clip && !rule->official)
        while (depth % info->window_frames && depth < rule->clip)
            depth++;
    return depth < info->min_frames ? info->min_frames : depth;
}

/* Restores the scene `in` and puts it where it belongs in `out`, from frame `first` on. */
static void restore_scene(struct direct *direct, const struct direct_rule *rule,
                          const struct clip *in, const struct clip *out, int first)
{
    int n = in->n < rule->clip ? in->n : rule->clip, depth = shown(direct, rule, n);
    struct places clips = place(in->n, n, n < in->n ? rule->overlap : 0);
    size_t in_frame = (size_t)in->h * in->w * 3, out_frame = (size_t)out->h * out->w * 3;
    int *counts = get((size_t)in->n, sizeof(*counts));

    for (int k = 0; k < clips.n; k++) {
        struct clip part = new_clip(depth, in->h, in->w);
        for (int d = 0; d < depth; d++) {
            /* There, back, and there again. */
            int from = d % (2 * n) < n ? d % (2 * n) : 2 * n - 1 - d % (2 * n);
            memcpy(part.rgb + (size_t)d * in_frame,
                   in->rgb + (size_t)(clips.at[k] + from) * in_frame, in_frame * sizeof(float));
        }
        struct clip made = apply_tiled(direct, rule, &part);
        for (int d = 0; d < n; d++) {
            int at = clips.at[k] + d;
            float weight = rule->official ? 1 : feather(&clips, n, rule->overlap, k, at);
            float *sum = out->rgb + (size_t)(first + at) * out_frame;
            for (size_t i = 0; i < out_frame && weight > 0; i++)
                sum[i] += made.rgb[(size_t)d * out_frame + i] * weight;
            counts[at]++;
        }
        free(part.rgb);
        free(made.rgb);
    }
    for (int d = 0; rule->official && d < in->n; d++)
        for (size_t i = 0; i < out_frame; i++)
            out->rgb[(size_t)(first + d) * out_frame + i] /= (float)counts[d];
    free(counts);
}

void direct_restore(struct direct *direct, const struct direct_rule *rule,
                    struct vrt_frame *const *frames, int n, const struct vrt_frame_format *format,
                    struct vrt_frame **ret_frames)
{
    struct clip in = new_clip(n, frames[0]->format.height, frames[0]->format.width);
    struct clip out = new_clip(n, format->height, format->width);
    size_t frame = (size_t)in.h * in.w * 3;
    const int *cut = rule->cuts;

    for (int i = 0; i < n; i++)
        to_rgb(direct, frames[i], &in, i);
    for (int first = 0, end; first < n; first = end) {
        end = cut && *cut ? *cut++ : n;
        struct clip scene = { end - first, in.h, in.w, in.rgb + (size_t)first * frame };
        restore_scene(direct, rule, &scene, &out, first);
    }
    for (int i = 0; i < n; i++) {
        expect_int(vrt_frame_new(format, &ret_frames[i]), 0);
        to_planes(direct, &out, i, ret_frames[i]);
    }
    free(in.rgb);
    free(out.rgb);
}

void direct_between(struct direct *direct, const int *cuts, struct vrt_frame *const *frames, int n,
                    const struct vrt_frame_format *format, struct vrt_frame **ret_frames)
{
    int start = 0, end = cuts ? *cuts : n;

    for (int i = 0; i < n; i++) {
        if (i == end) {
            start = end;
            cuts++;
            end = *cuts ? *cuts : n;
        }
        struct clip around = new_clip(4, format->height, format->width);
        for (int d = 0; d < 4; d++) {
            const int at = i - 1 + d;
            to_rgb(direct, frames[at < start ? start : at < end ? at : end - 1], &around, d);
        }
        for (int k = 0; k < 2; k++)
            expect_int(vrt_frame_new(format, &ret_frames[2 * i + k]), 0);
        to_planes(direct, &around, 1, ret_frames[2 * i]);
        if (i + 1 < end) {
            struct clip made = apply(direct, &around, 0);
            to_planes(direct, &made, 0, ret_frames[2 * i + 1]);
            free(made.rgb);
        } else {
            to_planes(direct, &around, 1, ret_frames[2 * i + 1]);
        }
        free(around.rgb);
    }
}

int direct_read(const char *path, struct vrt_frame **frames, int max)
{
    const struct vrt_reader_params params = { .n_threads = 1, .name = path };
    int fd = fixture_open(path), n = 0, r;
    struct vrt_reader *reader;

    expect_int(vrt_reader_open(fd, &params, &reader, NULL), 0);
    while ((r = vrt_reader_next(reader, &frames[n], NULL)) == 0)
        expect_true(++n < max);
    expect_int(r, VRT_READER_END);
    vrt_reader_close(reader);
    close(fd);
    return n;
}

int direct_compare(const struct vrt_frame *a, const struct vrt_frame *b, int *ret_most)
{
    int n_other = 0;

    expect_true(vrt_frame_format_same_planes(&a->format, &b->format));
    expect_int(vrt_frame_format_sample_bytes(&a->format), 1);
    *ret_most = 0;
    for (int p = 0; p < vrt_frame_format_n_planes(&a->format); p++) {
        for (int y = 0; y < a->planes[p].height; y++) {
            for (int x = 0; x < a->planes[p].width; x++) {
                int difference = abs(a->planes[p].data[(size_t)y * a->planes[p].stride_bytes + x] -
                                     b->planes[p].data[(size_t)y * b->planes[p].stride_bytes + x]);
                n_other += difference > 0;
                *ret_most = difference > *ret_most ? difference : *ret_most;
            }
        }
    }
    return n_other;
}
