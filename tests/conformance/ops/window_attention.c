/* SPDX-License-Identifier: MIT */
/* window_attention: out = x + attention(norm(x)), in windows, shifted or not, mutual or not. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/layers.h"
#include "tests/unit/test.h"

struct attention {
    int with;                       /* types */
    int d, h, w, c, heads;
    int window[3];
    bool is_shifted, is_mutual, has_no_norm, has_no_bias;
    float loudness;                 /* 0, or the size of scores that exp() can't have as they are */
    enum conf_view in_view, out_view;
};

CONF_CASES(struct attention, 512)

/* Clips that windows divide, and that they don't; smaller than the window in one dimension or all;
 * one window, and several. */
static void add_sizes(int with)
{
    static const struct {
        int clip[3], window[3];
    } sizes[] = {
        { { 1, 1, 1 }, { 2, 4, 4 } },   { { 2, 4, 4 }, { 2, 4, 4 } },  { { 4, 8, 8 }, { 2, 4, 4 } },
        { { 3, 5, 7 }, { 2, 4, 4 } },   { { 1, 5, 9 }, { 2, 4, 4 } },  { { 5, 3, 9 }, { 2, 4, 4 } },
        { { 5, 9, 2 }, { 2, 4, 4 } },   { { 1, 2, 3 }, { 2, 4, 4 } },  { { 7, 4, 5 }, { 3, 2, 4 } },
        { { 2, 9, 3 }, { 1, 4, 2 } },   { { 4, 3, 3 }, { 6, 8, 8 } },  { { 8, 3, 5 }, { 6, 2, 3 } },
        { { 3, 1, 13 }, { 2, 1, 5 } },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
        for (int shifted = 0; shifted < 2; shifted++)
            add((struct attention){ .with = with, .d = sizes[s].clip[0], .h = sizes[s].clip[1],
                                    .w = sizes[s].clip[2], .c = 12, .heads = 2,
                                    .window = { sizes[s].window[0], sizes[s].window[1],
                                                sizes[s].window[2] },
                                    .is_shifted = shifted });
}

static void add_mutual(int with)
{
    static const int sizes[][5] = {     /* clip, then the window's sides */
        { 2, 4, 4, 4, 4 }, { 2, 3, 5, 3, 4 }, { 3, 5, 9, 4, 4 }, { 4, 6, 6, 3, 2 },
        { 5, 9, 7, 2, 3 }, { 3, 8, 8, 8, 8 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
        for (int shifted = 0; shifted < 2; shifted++)
            add((struct attention){ .with = with, .d = sizes[s][0], .h = sizes[s][1],
                                    .w = sizes[s][2], .c = 24, .heads = 2,
                                    .window = { 2, sizes[s][3], sizes[s][4] },
                                    .is_shifted = shifted, .is_mutual = true });
}

/* Widths of heads that no vector divides, one head, what networks have, and more than that. */
static void add_widths(int with)
{
    static const int widths[][2] = {    /* channels, heads */
        { 1, 1 },   { 4, 1 },   { 8, 2 },   { 24, 6 },  { 32, 1 },  { 40, 2 },  { 36, 6 },
        { 60, 6 },  { 96, 6 },  { 120, 6 }, { 180, 6 }, { 30, 2 },  { 150, 2 }, { 390, 6 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(widths); k++)
        for (int mutual = 0; mutual < 2; mutual++)
            add((struct attention){ .with = with, .d = 2, .h = 4, .w = 7, .c = widths[k][0],
                                    .heads = widths[k][1], .window = { 2, 4, 4 },
                                    .is_shifted = k % 2, .is_mutual = mutual });
}

static void add_options(int with)
{
    for (int bits = 0; bits < 8; bits++)
        add((struct attention){ .with = with, .d = 3, .h = 5, .w = 6, .c = 20, .heads = 2,
                                .window = { 2, 3, 4 }, .is_shifted = true, .is_mutual = bits & 1,
                                .has_no_norm = bits & 2, .has_no_bias = bits & 4 });
}

static void add_views(int with)
{
    for (int v = 1; v < CONF_VIEW_COUNT; v++)
        for (int where = 0; where < 3; where++)
            add((struct attention){ .with = with, .d = 3, .h = 5, .w = 6, .c = 16, .heads = 4,
                                    .window = { 2, 4, 4 }, .is_shifted = true,
                                    .is_mutual = where == 1,
                                    .in_view = where != 1 ? (enum conf_view)v : CONF_DENSE,
                                    .out_view = where != 2 ? (enum conf_view)v : CONF_DENSE });
}

static void add_loud(int with)
{
    for (int heads = 1; heads <= 4; heads *= 2)
        for (int k = 0; k < 2; k++)
            add((struct attention){ .with = with, .d = 3, .h = 5, .w = 6, .c = 24, .heads = heads,
                                    .window = { 2, 4, 4 }, .is_shifted = k,
                                    .loudness = k ? 60000 : 100 });
    /* More keys than are taken at a time: the largest score grows, by little and by much. */
    for (int k = 0; k < 2; k++)
        add((struct attention){ .with = with, .d = 2, .h = 8, .w = 16, .c = 24, .heads = 2,
                                .window = { 2, k ? 5 : 8, 8 }, .is_shifted = k,
                                .loudness = 100 });
}

/* As large as networks have them. */
static void add_real(int with)
{
    add((struct attention){ .with = with, .d = 6, .h = 8, .w = 16, .c = 120, .heads = 6,
                            .window = { 6, 8, 8 } });
    add((struct attention){ .with = with, .d = 8, .h = 8, .w = 8, .c = 60, .heads = 6,
                            .window = { 8, 8, 8 }, .is_shifted = true });
    add((struct attention){ .with = with, .d = 4, .h = 12, .w = 8, .c = 120, .heads = 6,
                            .window = { 2, 8, 8 }, .is_shifted = true, .is_mutual = true });
    add((struct attention){ .with = with, .d = 2, .h = 9, .w = 12, .c = 180, .heads = 6,
                            .window = { 1, 8, 8 }, .is_shifted = true });
}

/* Places in numbers that divide into what is computed at a time, and not; neighbours, and those
 * brought together. */
static void add_numbers(int with)
{
    static const int windows[][3] = {
        { 2, 8, 8 }, { 1, 5, 8 }, { 2, 6, 8 }, { 4, 8, 8 }, { 2, 12, 8 }, { 4, 12, 8 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(windows); k++)
        for (int mutual = 0; mutual <= (windows[k][0] == 2); mutual++)
            add((struct attention){ .with = with, .d = windows[k][0], .h = windows[k][1], .w = 16,
                                    .c = 40, .heads = 2,
                                    .window = { windows[k][0], windows[k][1], windows[k][2] },
                                    .is_shifted = true, .is_mutual = mutual });
}

/* A place seen from another. */
struct pair {
    int place, row;             /* row: of the bias table */
    bool apart;                 /* in one window only as the roll brought round one of them */
    double score;
};

/* The clip with its padding: P places, row-major. */
struct clip {
    const struct attention *attr;
    int size[3], padded[3], window[3], shift[3];
    int n_places;
    double *self, *mutual;          /* [P,3C]; what each place's query, key and value are */
    const float *table;             /* [rows,heads] */
    struct pair *pairs;             /* the places around one: n_pairs of [P] */
    int n_pairs;
};

/* Place `p` as (d,h,w). */
static void split(const struct clip *clip, int p, int at[3])
{
    at[0] = p / (clip->padded[1] * clip->padded[2]);
    at[1] = p / clip->padded[2] % clip->padded[1];
    at[2] = p % clip->padded[2];
}

/* Where in dimension k the roll by the shift puts `i`. */
static int rolled(const struct clip *clip, int k, int i)
{
    return (i + clip->padded[k] - clip->shift[k]) % clip->padded[k];
}

/* The bias table's row for query a and key b: by where both stand in a window of the full size,
 * into which those of a smaller one are put in their order. */
static int row_of(const struct clip *clip, const int a[3], const int b[3])
{
    const int *full = clip->attr->window, *window = clip->window;
    int numbers[2], index = 0, in_full[2][3];

    for (int s = 0; s < 2; s++) {
        const int *at = s ? b : a;
        numbers[s] = 0;
        for (int k = 0; k < 3; k++)
            numbers[s] = numbers[s] * window[k] + rolled(clip, k, at[k]) % window[k];
        for (int k = 2, rest = numbers[s]; k >= 0; k--, rest /= full[k + 1])
            in_full[s][k] = k ? rest % full[k] : rest;
    }
    for (int k = 0; k < 3; k++)
        index = index * (2 * full[k] - 1) + in_full[0][k] - in_full[1][k] + full[k] - 1;
    return index;
}

/* Whether both are in a window. *ret_apart: but only as the roll brought round one of them. */
static bool meet(const struct clip *clip, const int a[3], const int b[3], bool *ret_apart)
{
    *ret_apart = false;
    for (int k = 0; k < 3; k++) {
        if (rolled(clip, k, a[k]) / clip->window[k] != rolled(clip, k, b[k]) / clip->window[k])
            return false;
        *ret_apart |= (a[k] < clip->shift[k]) != (b[k] < clip->shift[k]);
    }
    return true;
}

/* Fills in the pairs of place p. Mutually the query is one frame's and the keys are the other's. */
static void find_pairs(struct clip *clip, int p, bool is_mutual)
{
    int a[3], b[3];

    clip->n_pairs = 0;
    split(clip, p, a);
    for (int k = 0; k < clip->n_places; k++) {
        bool apart;
        split(clip, k, b);
        if (meet(clip, a, b, &apart) && (!is_mutual || a[0] == b[0]))
            clip->pairs[clip->n_pairs++] = (struct pair){ k, row_of(clip, a, b), apart, 0 };
    }
}

/* out [head's channels] of the query that place `from` has, among the keys around place `p`, whose
 * pairs these are. */
static void attend(const struct clip *clip, int p, int from, int head, double *out)
{
    const bool is_mutual = from != p;
    const double *qkv = is_mutual ? clip->mutual : clip->self;
    const int C = clip->attr->c, n = C / clip->attr->heads;
    double sum = 0, most = -INFINITY;

    memset(out, 0, (size_t)n * sizeof(*out));
    for (int i = 0; i < clip->n_pairs; i++) {
        const int k = clip->pairs[i].place;
        double score = 0;
        for (int c = head * n; c < (head + 1) * n; c++)
            score += qkv[from * 3 * C + c] * qkv[k * 3 * C + C + c] / sqrt(n);
        if (!is_mutual)
            score += (double)clip->table[clip->pairs[i].row * clip->attr->heads + head];
        clip->pairs[i].score = clip->pairs[i].apart ? score - 100 : score;
        most = fmax(most, clip->pairs[i].score);
    }
    for (int i = 0; i < clip->n_pairs; i++) {
        const int k = clip->pairs[i].place;
        const double weight = exp(clip->pairs[i].score - most);
        for (int c = 0; c < n; c++)
            out[c] += weight * qkv[k * 3 * C + 2 * C + head * n + c];
        sum += weight;
    }
    for (int c = 0; c < n; c++)
        out[c] /= sum;
}

/* The same place in the other frame of the window. */
static int partner(const struct clip *clip, int p)
{
    const int frame = clip->padded[1] * clip->padded[2], d = p / frame;
    const int other = (rolled(clip, 0, d) ^ 1) + clip->shift[0];

    return other % clip->padded[0] * frame + p % frame;
}

struct layers {
    struct conf_norm norm;
    struct conf_layer qkv, mutual, proj;
    const float *position;          /* [h*w,C] */
};

/* Fills in self and mutual of all places; x [D,H,W,C]. */
static void project(struct clip *clip, const struct layers *layers, const float *x, double *y)
{
    const int C = clip->attr->c;
    int at[3];

    for (int p = 0; p < clip->n_places; p++) {
        split(clip, p, at);
        memset(y, 0, (size_t)C * sizeof(*y));
        if (at[0] < clip->size[0] && at[1] < clip->size[1] && at[2] < clip->size[2])
            conf_norm_apply(&layers->norm,
                            &x[((at[0] * clip->size[1] + at[1]) * clip->size[2] + at[2]) * C], y);
        conf_layer_apply(&layers->qkv, y, &clip->self[p * 3 * C]);
        if (!clip->attr->is_mutual)
            continue;
        const int row = rolled(clip, 1, at[1]) % clip->window[1] * clip->window[2] +
                        rolled(clip, 2, at[2]) % clip->window[2];
        for (int c = 0; c < C; c++)
            y[c] += (double)layers->position[row * C + c];
        conf_layer_apply(&layers->mutual, y, &clip->mutual[p * 3 * C]);
    }
}

static struct clip make_clip(struct conf *t, const struct attention *attr)
{
    struct clip clip = { .attr = attr, .size = { attr->d, attr->h, attr->w }, .n_places = 1 };

    for (int k = 0; k < 3; k++) {
        const bool is_cut = clip.size[k] <= attr->window[k];
        clip.window[k] = is_cut ? clip.size[k] : attr->window[k];
        clip.shift[k] = !is_cut && attr->is_shifted ? attr->window[k] / 2 : 0;
        while (clip.padded[k] < clip.size[k])
            clip.padded[k] += clip.window[k];
        clip.n_places *= clip.padded[k];
    }
    clip.self = conf_array(t, (size_t)clip.n_places * 3 * (size_t)attr->c);
    clip.mutual = conf_array(t, (size_t)clip.n_places * 3 * (size_t)attr->c);
    clip.pairs = calloc((size_t)clip.n_places, sizeof(*clip.pairs));
    expect_true(clip.pairs != NULL);
    return clip;
}

/* want [D,H,W,C] = x + attention. */
static void reference(struct conf *t, struct clip *clip, const struct layers *layers,
                      const float *x, double *want)
{
    const struct attention *attr = clip->attr;
    const int C = attr->c, n = C / attr->heads;
    double *y = conf_array(t, 2 * (size_t)C);
    int at[3];

    project(clip, layers, x, y);
    for (int p = 0; p < clip->n_places; p++) {
        double *all = y;
        split(clip, p, at);
        if (at[0] >= clip->size[0] || at[1] >= clip->size[1] || at[2] >= clip->size[2])
            continue;
        for (int mutual = attr->is_mutual; mutual >= 0; mutual--) {
            find_pairs(clip, p, mutual);
            for (int head = 0; head < attr->heads; head++, all += n)
                attend(clip, p, mutual ? partner(clip, p) : p, head, all);
        }
        const int k = ((at[0] * clip->size[1] + at[1]) * clip->size[2] + at[2]) * C;
        conf_layer_apply(&layers->proj, y, &want[k]);
        for (int c = 0; c < C; c++)
            want[k + c] += (double)x[k + c];
    }
}

/* Makes the params. */
static struct layers make_layers(struct conf *t, struct clip *clip, struct vrt_op *op)
{
    const struct attention *attr = clip->attr;
    const enum vrt_param_use use = conf_types[attr->with].use;
    const int C = attr->c, *window = attr->window;
    struct vrt_op_window_attention *to = &op->window_attention;
    struct layers layers = { .mutual = { .weight = -1, .bias = -1 } };

    layers.norm = conf_norm(t, !attr->has_no_norm, C);
    layers.qkv = conf_layer(t, use, (int[4]){ 3 * C, C }, !attr->has_no_bias);
    layers.proj = conf_layer(t, use, (int[4]){ C, attr->is_mutual ? 2 * C : C },
                             !attr->has_no_bias);
    *to = (struct vrt_op_window_attention){
        .heads = attr->heads,
        .window = { window[0], window[1], window[2] },
        .shifted = attr->is_shifted,
        .norm = layers.norm.op,
        .qkv = layers.qkv.weight,
        .qkv_bias = layers.qkv.bias,
        .mutual = -1,
        .mutual_bias = -1,
        .position = -1,
        .proj = layers.proj.weight,
        .proj_bias = layers.proj.bias,
    };
    to->bias_table = conf_param(t, VRT_PARAM_TABLE, (int[4]){
        (2 * window[0] - 1) * (2 * window[1] - 1) * (2 * window[2] - 1), attr->heads },
        attr->loudness > 0 ? attr->loudness : 1, &clip->table);
    if (attr->is_mutual) {
        layers.mutual = conf_layer(t, use, (int[4]){ 3 * C, C }, !attr->has_no_bias);
        to->mutual = layers.mutual.weight;
        to->mutual_bias = layers.mutual.bias;
        to->position = conf_param(t, VRT_PARAM_TABLE, (int[4]){ window[1] * window[2], C }, 1,
                                  &layers.position);
    }
    return layers;
}

static void run_window_attention(struct conf *t, int i)
{
    const struct attention *attr = &cases[i];
    const struct conf_types *types = &conf_types[attr->with];
    const struct vrt_shape shape = { attr->d, attr->h, attr->w, attr->c };
    struct clip clip = make_clip(t, attr);
    struct vrt_op op = { .kind = VRT_OP_WINDOW_ATTENTION, .n_in = 1 };
    struct conf_tolerance tolerance = conf_layers_tolerance(types, 2);
    float *x;

    conf_replica_dtype(t, types->replica);
    const struct layers layers = make_layers(t, &clip, &op);
    op.in[0] = conf_input(t, (struct conf_spec){ types->x, shape, attr->in_view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){ types->out, shape, attr->out_view, 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(shape));
    if (conf_is_wanted(t))
        reference(t, &clip, &layers, x, want);
    free(clip.pairs);
    /* A score of 100 in f32 is off by 2^-18, and by so much of itself its exponential. */
    if (attr->loudness > 0) {
        tolerance.norm = fmax(tolerance.norm, (double)attr->loudness / 100 * 0x1p-16);
        tolerance.element = fmax(tolerance.element, (double)attr->loudness / 100 * 0x1p-14);
    }
    conf_expect(t, &op, (const double *const[]){ want }, tolerance);
}

int main(int argc, char **argv)
{
    static const int halves[] = { 1, 6 };   /* all of bf16, all of f16 */

    add_sizes(0);
    add_mutual(0);
    add_widths(0);
    add_real(0);
    add_widths(1);
    add_real(2);
    for (size_t k = 0; k < VRT_ARRAY_SIZE(halves); k++) {
        add_sizes(halves[k]);
        add_mutual(halves[k]);
        add_numbers(halves[k]);
    }
    for (int with = 0; with < CONF_N_TYPES; with++) {
        add_options(with);
        add_views(with);
        add_loud(with);
    }
    return conf_main(argc, argv, "window_attention", run_window_attention, n_cases);
}
