/* SPDX-License-Identifier: MIT */

/*
 * Attention, window after window: a window's places are gathered, normed, turned into queries,
 * keys and values, attended with, and written back. docs/ops.md has the formulas.
 */

#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

/* Added to a score where query and key are no neighbours: only the roll brought them together. */
#define APART (-100.0)

/* One window. Its places are counted row-major: n of them. */
struct window {
    const struct vrt_ref_run *run;
    const struct vrt_op_window_attention *op;
    int c, n;
    int size[3], shift[3];          /* of windows, cut to the clip */
    int clip[3], padded[3];
    int first[3];                   /* of this window in the padded, rolled clip */
    int base;                       /* of two places' entry in the bias table: + code - code */
    int *codes, *labels;            /* [n] */
    double *x;                      /* [n,C], normed */
    double *qkv;                    /* [n,3C] */
    double *keys;                   /* [C,n] */
    double *scores;                 /* [n] */
    double *heads;                  /* [n,C] or, with mutual attention before the other, [n,2C] */
    double *out;                    /* [C] */
};

/* Which queries meet which keys, and where in `heads` what comes of it begins. */
struct meeting {
    int queries, keys, n, column;
    bool relative;                  /* the bias table is added */
};

static bool has_mutual(const struct vrt_op *op)
{
    return op->window_attention.mutual >= 0;
}

static int count_places(const int size[3])
{
    return size[0] * size[1] * size[2];
}

size_t vrt_ref_window_attention_workspace_bytes(const struct vrt_op *op)
{
    const size_t c = (size_t)op->in[0].shape.c;
    int size[3], shift[3];

    vrt_op_window(op, size, shift);
    const size_t n = (size_t)count_places(size);
    return (n * c * (has_mutual(op) ? 7 : 6) + n + c) * sizeof(double) + 2 * n * sizeof(int);
}

static void lay_out(struct window *w, void *workspace)
{
    const int c = w->c, n = w->n;

    w->x = workspace;
    w->qkv = w->x + n * c;
    w->keys = w->qkv + 3 * n * c;
    w->heads = w->keys + n * c;
    w->scores = w->heads + (has_mutual(w->run->op) ? 2 : 1) * n * c;
    w->out = w->scores + n;
    w->codes = (int *)(w->out + c);
    w->labels = w->codes + n;
}

/* Entries of the bias table are counted in windows of full size, as if the places of one that was
 * cut were the first of such a one. */
static void number_places(struct window *w)
{
    const int *full = w->op->window;
    const int columns = 2 * full[2] - 1, rows = 2 * full[1] - 1;

    for (int t = 0; t < w->n; t++)
        w->codes[t] = t / (full[1] * full[2]) * rows * columns +
                      t / full[2] % full[1] * columns + t % full[2];
    w->base = (full[0] - 1) * rows * columns + (full[1] - 1) * columns + full[2] - 1;
}

/* Which of three slices of a dimension holds `i`: only those within one are neighbours. The last is
 * the whole dimension where nothing is shifted. */
static int slice_of(const struct window *w, int k, int i)
{
    if (w->shift[k] == 0)
        return 2;
    return i < w->padded[k] - w->size[k] ? 0 : i < w->padded[k] - w->shift[k] ? 1 : 2;
}

/* Where in the padded, rolled clip place `t` of the window is. */
static void locate(const struct window *w, int t, int at[3])
{
    at[0] = w->first[0] + t / (w->size[1] * w->size[2]);
    at[1] = w->first[1] + t / w->size[2] % w->size[1];
    at[2] = w->first[2] + t % w->size[2];
}

/* Undoes the roll. Return: whether that is a place of the clip, and not one of the padding. */
static bool unroll(const struct window *w, int at[3])
{
    bool inside = true;

    for (int k = 0; k < 3; k++) {
        at[k] = (at[k] + w->shift[k]) % w->padded[k];
        inside &= at[k] < w->clip[k];
    }
    return inside;
}

static void gather(struct window *w)
{
    for (int t = 0; t < w->n; t++) {
        double *x = &w->x[t * w->c];
        int at[3];
        locate(w, t, at);
        w->labels[t] = (slice_of(w, 0, at[0]) * 3 + slice_of(w, 1, at[1])) * 3 +
                       slice_of(w, 2, at[2]);
        if (unroll(w, at)) {
            vrt_ref_read(&w->run->in[0], at, x);
            vrt_ref_norm(w->run, &w->op->norm, x, w->c);
        } else {
            for (int c = 0; c < w->c; c++)
                x[c] = 0;
        }
    }
}

/* `qkv` and `keys` of the window, by one layer or the other. */
static void project(struct window *w, int weight, int bias)
{
    const struct vrt_ref_layer layer = { weight, bias, w->c, 3 * w->c };

    for (int t = 0; t < w->n; t++) {
        double *qkv = &w->qkv[3 * t * w->c];
        vrt_ref_multiply(w->run, &layer, &w->x[t * w->c], qkv);
        for (int c = 0; c < w->c; c++)
            w->keys[c * w->n + t] = qkv[w->c + c];
    }
}

/* Probabilities of query `a` for all keys, into `scores`. */
static void score(struct window *w, const struct meeting *m, int head, int a)
{
    const int dim = w->c / w->op->heads;
    const float *table = vrt_ref_param(w->run->replica, w->op->bias_table);
    const double scale = 1 / sqrt(dim), *query = &w->qkv[3 * (m->queries + a) * w->c + head * dim];
    double *restrict scores = w->scores, most = -HUGE_VAL, sum = 0;

    for (int b = 0; b < m->n; b++) {
        scores[b] = w->labels[a] == w->labels[b] ? 0 : APART;
        if (m->relative)
            scores[b] += (double)table[(w->base + w->codes[a] - w->codes[b]) * w->op->heads +
                                       head];
    }
    for (int c = 0; c < dim; c++) {
        const double *restrict keys = &w->keys[(head * dim + c) * w->n + m->keys];
        for (int b = 0; b < m->n; b++)
            scores[b] += query[c] * scale * keys[b];
    }
    for (int b = 0; b < m->n; b++)
        most = fmax(most, scores[b]);
    for (int b = 0; b < m->n; b++)
        sum += scores[b] = exp(scores[b] - most);
    for (int b = 0; b < m->n; b++)
        scores[b] /= sum;
}

/* Into rows queries.. of `heads`, columns column.. . */
static void attend(struct window *w, const struct meeting *m, int row)
{
    const int dim = w->c / w->op->heads, width = (has_mutual(w->run->op) ? 2 : 1) * w->c;

    for (int a = 0; a < m->n; a++)
    for (int head = 0; head < w->op->heads; head++) {
        double *restrict out = &w->heads[(row + a) * width + m->column + head * dim];
        score(w, m, head, a);
        for (int c = 0; c < dim; c++)
            out[c] = 0;
        for (int b = 0; b < m->n; b++) {
            const double *restrict value = &w->qkv[(3 * (m->keys + b) + 2) * w->c + head * dim];
            for (int c = 0; c < dim; c++)
                out[c] += w->scores[b] * value[c];
        }
    }
}

/* The window's two frames attend to each other, each place knowing where in its frame it is. */
static void attend_mutually(struct window *w)
{
    const float *position = vrt_ref_param(w->run->replica, w->op->position);   /* [n/2,C] */
    const int half = w->n / 2;

    for (int t = 0; t < w->n; t++)
    for (int c = 0; c < w->c; c++)
        w->x[t * w->c + c] += (double)position[t % half * w->c + c];
    project(w, w->op->mutual, w->op->mutual_bias);
    attend(w, &(struct meeting){ .queries = half, .keys = 0, .n = half }, 0);
    attend(w, &(struct meeting){ .queries = 0, .keys = half, .n = half }, half);
}

static void scatter(struct window *w)
{
    const struct vrt_ref_run *run = w->run;
    const int width = (has_mutual(run->op) ? 2 : 1) * w->c;
    const struct vrt_ref_layer proj = { w->op->proj, w->op->proj_bias, width, w->c };

    for (int t = 0; t < w->n; t++) {
        int at[3];
        locate(w, t, at);
        if (!unroll(w, at))
            continue;
        vrt_ref_multiply(run, &proj, &w->heads[t * width], w->out);
        vrt_ref_write(&run->out[0], at, w->out, &run->in[0]);
    }
}

void vrt_ref_window_attention(const struct vrt_ref_run *run)
{
    const struct vrt_shape in = run->op->in[0].shape;
    struct window w = {
        .run = run,
        .op = &run->op->window_attention,
        .c = in.c,
        .clip = { in.d, in.h, in.w },
    };
    const bool mutual = has_mutual(run->op);

    vrt_op_window(run->op, w.size, w.shift);
    w.n = count_places(w.size);
    for (int k = 0; k < 3; k++)
        w.padded[k] = (w.clip[k] + w.size[k] - 1) / w.size[k] * w.size[k];
    lay_out(&w, run->workspace);
    number_places(&w);
    for (w.first[0] = 0; w.first[0] < w.padded[0]; w.first[0] += w.size[0])
    for (w.first[1] = 0; w.first[1] < w.padded[1]; w.first[1] += w.size[1])
    for (w.first[2] = 0; w.first[2] < w.padded[2]; w.first[2] += w.size[2]) {
        gather(&w);
        project(&w, w.op->qkv, w.op->qkv_bias);
        attend(&w, &(struct meeting){ .n = w.n, .column = mutual ? w.c : 0, .relative = true }, 0);
        if (mutual)
            attend_mutually(&w);
        scatter(&w);
    }
}
