/* SPDX-License-Identifier: MIT */

/*
 * window_attention: a unit of work is a window, from its tokens' norm to their residual
 *
 * Heads are taken one after the other, each with a query, key and value of its own made from the
 * window's panel, so that everything a core touches for a window stays in its second-level cache.
 */

#include <math.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/products/scores.h"
#include "backend/cpu/products/tokens.h"

#define ALIGN 64

/* A window of the clip, padded and rolled. */
struct window {
    int size[3], shift[3];          /* of the window, d h w */
    int padded[3];                  /* the clip's size, a multiple of the window's */
    int n[3];                       /* windows */
    int n_tokens, step;             /* of a window; rounded up to whole blocks */
};

/* Where a thread keeps what, in bytes from its scratch. */
struct layout {
    size_t panel, mutual;           /* [blocks][rows of C][VRT_BLOCK_TOKENS]: the normed window;
                                     * with positions */
    size_t block;                   /* [C][VRT_BLOCK_TOKENS] */
    size_t q, k, v;                 /* of one head */
    size_t results;                 /* f32 [C or 2C][step]: of all heads */
    size_t heads;                   /* [rows of C or 2C][VRT_BLOCK_TOKENS]: some of that */
    size_t scores;
    size_t bias, query_at, key_at;
    size_t labels, places, row;
    size_t end;
};

/* All that the steps of one window share. */
struct work {
    const struct vrt_cpu_call *call;
    const struct vrt_op_window_attention *op;
    struct window window;
    int C, head_dim, n_results;
    bool is_masked;                 /* some tokens don't see others of another label */
    float *labels;
    struct vrt_place *places;
    vrt_unit *panel, *mutual, *q, *k, *v, *heads;
    float *block, *results, *scores, *row;
    struct vrt_attention_bias bias;
    float *bias_values;
    int *query_at, *key_at;
};

static struct window find_windows(const struct vrt_op *op)
{
    const int clip[3] = { op->in[0].shape.d, op->in[0].shape.h, op->in[0].shape.w };
    struct window w;

    vrt_op_window(op, w.size, w.shift);
    w.n_tokens = w.size[0] * w.size[1] * w.size[2];
    w.step = w.n_tokens;
    /* A mutual window's second half is a block of its own, and may begin within one. */
    if (op->window_attention.mutual >= 0)
        w.step = w.n_tokens / 2 + vrt_block_ceil(w.n_tokens / 2);
    w.step = vrt_block_ceil(w.step);
    for (int i = 0; i < 3; i++) {
        w.n[i] = (clip[i] + w.size[i] - 1) / w.size[i];
        w.padded[i] = w.n[i] * w.size[i];
    }
    return w;
}

/* Whether the bias can be read from its table in runs of 8 queries: rows of the window are whole
 * runs, and a query's place in it is the same as in the window the table was made for. */
static bool has_bias_runs(const struct vrt_op *op, const struct window *w)
{
    const int *full = op->window_attention.window;

    return full[2] % 8 == 0 && w->size[2] == full[2] && w->size[1] == full[1];
}

static size_t bias_table_floats(const struct vrt_op *op)
{
    const int *full = op->window_attention.window;

    return (size_t)(2 * full[0] - 1) * (size_t)(2 * full[1] - 1) * (size_t)(2 * full[2] - 1);
}

static size_t take(size_t *end, size_t bytes)
{
    const size_t at = *end;

    *end += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static struct layout find_layout(const struct vrt_op *op)
{
    const struct window w = find_windows(op);
    const bool is_mutual = op->window_attention.mutual >= 0;
    const size_t C = (size_t)op->in[0].shape.c, head_dim = C / (size_t)op->window_attention.heads;
    const size_t n_results = is_mutual ? 2 * C : C;
    const size_t row = sizeof(float) * (size_t)w.step;
    const size_t panel = row * vrt_panel_rows((int)C);
    const size_t n_bias = has_bias_runs(op, &w) ? bias_table_floats(op)
                                                : (size_t)w.n_tokens * (size_t)w.step;
    struct layout at = { .end = 0 };

    at.panel = take(&at.end, panel);
    at.mutual = take(&at.end, is_mutual ? panel : 0);
    at.block = take(&at.end, sizeof(float) * C * VRT_BLOCK_TOKENS);
    at.q = take(&at.end, row * vrt_panel_rows((int)head_dim));
    at.k = take(&at.end, row * vrt_panel_rows((int)head_dim));
    at.v = take(&at.end, row * head_dim);
    at.results = take(&at.end, row * n_results);
    at.heads = take(&at.end, sizeof(float) * VRT_BLOCK_TOKENS * vrt_panel_rows((int)n_results));
    at.scores = take(&at.end, sizeof(float) * VRT_BLOCK_TOKENS * vrt_attention_rows(w.n_tokens));
    at.bias = take(&at.end, sizeof(float) * n_bias);
    at.query_at = take(&at.end, sizeof(int) * (size_t)w.step / 8);
    at.key_at = take(&at.end, sizeof(int) * (size_t)w.n_tokens);
    at.labels = take(&at.end, row);
    at.places = take(&at.end, sizeof(struct vrt_place) * (size_t)w.step);
    at.row = take(&at.end, sizeof(float) * C);
    return at;
}

static size_t attention_scratch_bytes(const struct vrt_op *op)
{
    return find_layout(op).end;
}

static int attention_n_units(const struct vrt_op *op)
{
    const struct window w = find_windows(op);

    return w.n[0] * w.n[1] * w.n[2];
}

/* In which of three slices of the padded clip a place lies: places of different slices were far
 * apart before the clip was rolled. */
static int slice_of(const struct window *w, int i, int at)
{
    if (w->shift[i] == 0 || at >= w->padded[i] - w->shift[i])
        return 2;
    return at >= w->padded[i] - w->size[i];
}

/* Finds where the tokens of window `unit` come from, and to labels which of them see each other.
 * Return: whether some don't. */
static bool place_tokens(const struct window *w, const struct vrt_shape *clip, int unit,
                         struct vrt_place *places, float *labels)
{
    const int limits[3] = { clip->d, clip->h, clip->w };
    const int window[3] = { unit / (w->n[1] * w->n[2]), unit / w->n[2] % w->n[1], unit % w->n[2] };
    bool mixed = false;

    for (int t = 0; t < w->n_tokens; t++) {
        const int inside[3] = { t / (w->size[1] * w->size[2]), t / w->size[2] % w->size[1],
                                t % w->size[2] };
        int from[3], label = 0;
        bool exists = true;

        for (int i = 0; i < 3; i++) {
            const int at = window[i] * w->size[i] + inside[i];
            from[i] = (at + w->shift[i]) % w->padded[i];
            exists = exists && from[i] < limits[i];
            label = 3 * label + slice_of(w, i, at);
        }
        places[t] = (struct vrt_place){ exists ? from[0] : -1, from[1], from[2] };
        labels[t] = (float)label;
        mixed = mixed || labels[t] != labels[0];
    }
    for (int t = w->n_tokens; t < w->step; t++) {
        places[t].d = -1;
        labels[t] = 0;
    }
    return mixed;
}

/* The distance in the table from a window's first token to its token t, of the full window. */
static int table_offset(const int full[3], int t)
{
    const int d = t / (full[1] * full[2]), h = t / full[2] % full[1], w = t % full[2];

    return (d * (2 * full[1] - 1) + h) * (2 * full[2] - 1) + w;
}

/* Which values of the table keys and queries meet at, for all heads. */
static void place_bias(struct work *work)
{
    const struct window *w = &work->window;
    const int *full = work->op->window;
    const int center = table_offset(full, full[0] * full[1] * full[2] - 1);

    work->bias = (struct vrt_attention_bias){
        .values = work->bias_values,
        .query_at = work->query_at,
        .key_at = work->key_at,
    };
    if (!has_bias_runs(work->call->op, w))
        work->bias.step = (size_t)w->step;
    for (int t = 0; t < w->n_tokens; t++)
        work->key_at[t] = table_offset(full, t);
    for (int run = 0; run < w->step / 8; run++)
        work->query_at[run] = center + (8 * run < w->n_tokens ? table_offset(full, 8 * run) : 0);
}

/* The table's column of head h; or, where it can't be read in runs, the bias of each pair. */
static void find_bias(struct work *work, int h)
{
    const struct vrt_op_window_attention *op = work->op;
    const float *table = work->call->params[op->bias_table].values;
    const struct window *w = &work->window;
    const int center = table_offset(op->window, op->window[0] * op->window[1] * op->window[2] - 1);

    if (!work->bias.step) {
        const size_t n = bias_table_floats(work->call->op);
        for (size_t i = 0; i < n; i++)
            work->bias_values[i] = VRT_ATTENTION_LOG2E * table[i * (size_t)op->heads + (size_t)h];
        return;
    }
    for (int k = 0; k < w->n_tokens; k++)
        for (int q = 0; q < w->step; q++) {
            const int at = center - work->key_at[k] + work->key_at[VRT_MIN(q, w->n_tokens - 1)];
            work->bias_values[k * w->step + q] = VRT_ATTENTION_LOG2E * table[at * op->heads + h];
        }
}

/* The window's tokens, normed, as panels. */
static void gather(const struct work *work)
{
    const struct vrt_op_window_attention *op = work->op;
    const struct vrt_cpu_call *call = work->call;
    const int C = work->C, n_positions = op->window[1] * op->window[2];
    const size_t rows = vrt_panel_rows(C);

    for (int first = 0; first < work->window.step; first += VRT_BLOCK_TOKENS) {
        const struct vrt_token_run run =
            vrt_tokens_run(call, 0, work->places + first, VRT_BLOCK_TOKENS);

        vrt_tokens_gather(&run, work->block, work->row);
        vrt_tokens_norm(call, &op->norm, &run, work->block);
        vrt_tokens_put(work->block, C, work->panel + (size_t)first * rows, VRT_BLOCK_TOKENS);
        if (op->mutual < 0)
            continue;
        const float *position = call->params[op->position].values;     /* [n_positions][C] */
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
            for (int c = 0; c < C; c++)
                work->block[c * VRT_BLOCK_TOKENS + t] +=
                    position[(first + t) % n_positions * C + c];
        vrt_tokens_put(work->block, C, work->mutual + (size_t)first * rows, VRT_BLOCK_TOKENS);
    }
}

/* Queries, keys or values (part 0, 1, 2) of head h; `sums` has room for one head of a block. */
static void project_part(const struct work *work, const int params[2], int part, int h, float *sums)
{
    const struct vrt_weight_rows rows = vrt_tokens_weight_rows(
        work->call, params[0], params[1], part * work->C + h * work->head_dim);
    const vrt_unit *panel = params[0] == work->op->mutual ? work->mutual : work->panel;
    const float scale = VRT_ATTENTION_LOG2E / sqrtf((float)work->head_dim);
    const size_t step = (size_t)work->window.step, v_step = vrt_panel_row_at((int)step);

    for (size_t first = 0; first < step; first += VRT_BLOCK_TOKENS) {
        vrt_tokens_multiply(&rows, work->head_dim, panel + first * vrt_panel_rows(work->C),
                            VRT_BLOCK_TOKENS, sums);
        for (int i = 0; part == 0 && i < work->head_dim * VRT_BLOCK_TOKENS; i++)
            sums[i] *= scale;
        if (part == 0)
            vrt_tokens_put(sums, work->head_dim, work->q + first, step);
        if (part == 1)
            vrt_keys_put(sums, work->head_dim, (int)first, work->k, step);
        for (int i = 0; part == 2 && i < work->head_dim; i++)
            vrt_unit_put_row(work->v + (size_t)i * v_step + first / VRT_UNIT_ELEMENTS, v_step,
                             sums + i * VRT_BLOCK_TOKENS, VRT_BLOCK_TOKENS);
    }
}

static struct vrt_attention_head head_of(const struct work *work)
{
    const size_t step = (size_t)work->window.step;

    return (struct vrt_attention_head){
        .q = work->q, .k = work->k, .v = work->v,
        .step = step,
        .key_row = vrt_keys_row(work->head_dim),
        .v_step = vrt_panel_row_at((int)step),
        .n_queries = work->window.n_tokens,
        .n_keys = work->window.n_tokens,
        .head_dim = work->head_dim,
        .query_labels = work->is_masked ? work->labels : NULL,
        .key_labels = work->labels,
        .out_step = step,
        .scores = work->scores,
    };
}

/* Self attention of head h, to out [head_dim][step]. */
static void attend(struct work *work, int h, float *out)
{
    struct vrt_attention_head head = head_of(work);

    for (int part = 0; part < 3; part++)
        project_part(work, (int[2]){ work->op->qkv, work->op->qkv_bias }, part, h, work->block);
    find_bias(work, h);
    head.bias = work->bias;
    head.out = out;
    vrt_attention_run(&head);
}

/* Mutual attention: the first frame's tokens get what the second's ask of the first, and the other
 * way round. Labels are those of the first frame, for both. */
static void attend_mutually(const struct work *work, int h, float *out)
{
    struct vrt_attention_head head = head_of(work);
    const int half = work->window.n_tokens / 2;

    for (int part = 0; part < 3; part++)
        project_part(work, (int[2]){ work->op->mutual, work->op->mutual_bias }, part, h,
                     work->block);
    head.n_queries = half;
    head.n_keys = half;
    head.q = work->q + half;
    head.out = out;
    vrt_attention_run(&head);
    head.q = work->q;
    head.k = work->k + (size_t)half * head.key_row;
    head.v = work->v + half / VRT_UNIT_ELEMENTS;
    head.out = out + half;
    vrt_attention_run(&head);
}

/* The results of all heads at VRT_BLOCK_TOKENS tokens, as a panel. */
static const vrt_unit *results_at(const struct work *work, int first, size_t *ret_ld)
{
    const size_t step = (size_t)work->window.step;

    if (VRT_UNIT_ELEMENTS == 1) {
        *ret_ld = step;
        return (const vrt_unit *)work->results + first;
    }
    for (int i = 0; i < work->n_results; i += VRT_UNIT_ELEMENTS) {
        const float *even = work->results + (size_t)i * step + first;

        vrt_unit_put(work->heads + vrt_panel_row_at(i) * VRT_BLOCK_TOKENS, VRT_BLOCK_TOKENS, even,
                     i + 1 < work->n_results ? even + step : NULL);
    }
    vrt_panel_fill_up(work->heads, VRT_BLOCK_TOKENS, work->n_results);
    *ret_ld = VRT_BLOCK_TOKENS;
    return work->heads;
}

static void project(const struct work *work)
{
    const struct vrt_op_window_attention *op = work->op;
    const struct vrt_weight_rows rows =
        vrt_tokens_weight_rows(work->call, op->proj, op->proj_bias, 0);

    for (int first = 0; first < work->window.step; first += VRT_BLOCK_TOKENS) {
        const struct vrt_place *places = work->places + first;
        const struct vrt_token_run in = vrt_tokens_run(work->call, 0, places, VRT_BLOCK_TOKENS);
        const struct vrt_token_run out = vrt_tokens_run(work->call, -1, places, VRT_BLOCK_TOKENS);

        size_t ld;
        const vrt_unit *panel = results_at(work, first, &ld);

        vrt_tokens_expect(&out);
        vrt_tokens_multiply(&rows, work->C, panel, ld, work->block);
        vrt_tokens_scatter(&out, &in, work->block, work->row);
    }
}

static void set_up(const struct vrt_cpu_call *call, struct work *ret_work)
{
    const struct layout at = find_layout(call->op);
    char *scratch = call->scratch;

    *ret_work = (struct work){
        .call = call,
        .op = &call->op->window_attention,
        .window = find_windows(call->op),
        .C = call->op->in[0].shape.c,
        .head_dim = call->op->in[0].shape.c / call->op->window_attention.heads,
        .places = (void *)(scratch + at.places),
        .panel = (void *)(scratch + at.panel),
        .mutual = (void *)(scratch + at.mutual),
        .q = (void *)(scratch + at.q),
        .k = (void *)(scratch + at.k),
        .v = (void *)(scratch + at.v),
        .heads = (void *)(scratch + at.heads),
        .block = (void *)(scratch + at.block),
        .results = (void *)(scratch + at.results),
        .scores = (void *)(scratch + at.scores),
        .row = (void *)(scratch + at.row),
        .bias_values = (void *)(scratch + at.bias),
        .query_at = (void *)(scratch + at.query_at),
        .key_at = (void *)(scratch + at.key_at),
        .labels = (void *)(scratch + at.labels),
    };
    ret_work->n_results = ret_work->op->mutual >= 0 ? 2 * ret_work->C : ret_work->C;
}

static void run_window(struct work *work, int unit)
{
    const bool is_mutual = work->op->mutual >= 0;
    const size_t step = (size_t)work->window.step;
    /* The last projection takes what is mutual first. */
    float *self = work->results + (is_mutual ? (size_t)work->C * step : 0);

    work->is_masked = place_tokens(&work->window, &work->call->op->in[0].shape, unit,
                                   work->places, work->labels);
    gather(work);
    for (int h = 0; h < work->op->heads; h++) {
        const size_t channel = (size_t)(h * work->head_dim);

        attend(work, h, self + channel * step);
        if (is_mutual)
            attend_mutually(work, h, work->results + channel * step);
    }
    project(work);
}

/* "Rows" are windows: vrt_cpu_kernel.n_units. */
static void attention_windows(const struct vrt_cpu_call *call, int d, int first, int last)
{
    struct work work;

    (void)d;
    set_up(call, &work);
    place_bias(&work);
    for (int unit = first; unit < last; unit++)
        run_window(&work, unit);
    vrt_product_end();
}

const struct vrt_cpu_kernel vrt_cpu_op_attention_tokens = {
    .rows = attention_windows,
    .scratch_bytes = attention_scratch_bytes,
    .n_units = attention_n_units,
};
