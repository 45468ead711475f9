/* SPDX-License-Identifier: MIT */

/*
 * Convolutions by Winograd's algorithm ("backend/cpu/conv/winograd.h")
 *
 * A band of rows is cut into tiles of 4x4 outputs, which are done some at a time, so that what is
 * between the transforms stays in the second-level cache: these tiles' inputs are transformed, all
 * channels of them; then, for each block of output channels, there are 36 products, of [tiles,I] by
 * [I,block], whose sums are transformed and finished. Vectors run over channels throughout. Each
 * sum is over the input channels in ascending order, whichever tiles it is computed beside.
 */

#include <string.h>

#include "backend/cpu/conv/winograd.h"
#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/cpu/isa/vector.h"

#define TILES 18                /* that are done at a time: a multiple of ROWS */
#define LANES VRT_CPU_VECTOR_FLOATS
#define IN VRT_WINOGRAD_IN
#define OUT VRT_WINOGRAD_OUT
#define PRODUCTS VRT_WINOGRAD_PRODUCTS

/* Sums that the registers hold: so many tiles by so many vectors of channels. */
#define ROWS 6
#define VECTORS (LANES == 16 ? 4 : 2)

/* Some tiles of frame d. Those of a frame are numbered row by row. */
struct tiles {
    const struct vrt_cpu_call *call;
    int d, first, n, across;        /* which, how many; how many there are in a row */
    float *inputs;                  /* [36][TILES,I], from product to product inputs_step */
    float *sums;                    /* [36][TILES,block], from product to product sums_step */
    size_t inputs_step, sums_step;
    float *bias, *slopes;           /* [O], up to a multiple of LANES */
};

/* From one product's rows to the next one's: not a power of two, lest all be in the same place of
 * a cache. */
static size_t step_of(int row)
{
    return (size_t)(TILES * row + 16);
}

/* Lays out what a thread needs, at `base`. Return: how many bytes that is. */
static size_t lay_out(const struct vrt_op *op, char *base, struct tiles *t)
{
    const size_t vectors = ((size_t)op->out.shape.c + LANES - 1) / LANES * LANES;
    size_t bytes = 0;

    t->inputs_step = step_of(op->in[0].shape.c);
    t->sums_step = step_of(vrt_winograd_block(op->out.shape.c));
    t->inputs = vrt_cpu_part(base, &bytes, PRODUCTS * t->inputs_step * sizeof(float));
    t->sums = vrt_cpu_part(base, &bytes, PRODUCTS * t->sums_step * sizeof(float));
    t->bias = vrt_cpu_part(base, &bytes, vectors * sizeof(float));
    t->slopes = vrt_cpu_part(base, &bytes, vectors * sizeof(float));
    return bytes;
}

/* Row and column of tile i of them, in the output. */
static void place(const struct tiles *t, int i, int *ret_y, int *ret_x)
{
    *ret_y = (t->first + i) / t->across * OUT;
    *ret_x = (t->first + i) % t->across * OUT;
}

/* Six of the input, or of what one direction made of them, to six: B' times them, its rows being
 * the coefficients of x (x^2 - p^2) (x^2 - q^2), divided by x - point but for the last. */
static inline void transform_in(const vrt_cpu_vector d[IN], vrt_cpu_vector ret_v[IN])
{
    const float p = (float)VRT_WINOGRAD_P, q = (float)VRT_WINOGRAD_Q;
    const vrt_cpu_vector even_p = d[4] - 2 * d[2], odd_p = d[3] - 2 * d[1];
    const vrt_cpu_vector even_q = d[4] - 0.5f * d[2], odd_q = d[3] - 0.5f * d[1];

    ret_v[0] = d[4] - 2.5f * d[2] + d[0];
    ret_v[1] = even_p + p * odd_p;
    ret_v[2] = even_p - p * odd_p;
    ret_v[3] = even_q + q * odd_q;
    ret_v[4] = even_q - q * odd_q;
    ret_v[5] = d[5] - 2.5f * d[3] + d[1];
}

/* Six sums to four of the output: A' times them, its rows being the points' powers. */
static inline void transform_out(const vrt_cpu_vector m[IN], vrt_cpu_vector ret_y[OUT])
{
    const float p = (float)VRT_WINOGRAD_P, q = (float)VRT_WINOGRAD_Q;
    const vrt_cpu_vector even_p = m[1] + m[2], odd_p = m[1] - m[2];
    const vrt_cpu_vector even_q = m[3] + m[4], odd_q = m[3] - m[4];

    ret_y[0] = m[0] + even_p + even_q;
    ret_y[1] = p * odd_p + q * odd_q;
    ret_y[2] = 0.5f * even_p + 2 * even_q;
    ret_y[3] = (0.5f * p) * odd_p + (2 * q) * odd_q + m[5];
}

/* vrt_dtype_size() of the two types there are here, without a call for each tile. */
static inline int64_t size_of(enum vrt_dtype dtype)
{
    return dtype == VRT_DTYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* A tensor's pixels from one of them on, and of each its channels from one on. */
struct pixels {
    char *first;
    size_t row_bytes, column_bytes;
};

/* Those of frame d from channel `c` of (y, x) on, which may be outside. */
static inline struct pixels pixels_of(const struct vrt_tensor *tensor, const void *base, int d,
                                      const int at[2], int c)
{
    const int64_t size = size_of(tensor->dtype);
    const int64_t first = d * tensor->stride_d + at[0] * tensor->stride_h +
                          at[1] * tensor->stride_w + c;

    return (struct pixels){
        .first = (char *)base + first * size,
        .row_bytes = (size_t)(tensor->stride_h * size),
        .column_bytes = (size_t)(tensor->stride_w * size),
    };
}

static inline char *pixel_at(const struct pixels *p, int y, int x)
{
    return p->first + (size_t)y * p->row_bytes + (size_t)x * p->column_bytes;
}

/* A tile of 6x6 that is read. Of its rows and columns those in [y0, y1) and [x0, x1) are inside
 * the picture; the others are zeros. */
struct source {
    struct pixels pixels;
    int y0, y1, x0, x1;
};

/* LANES channels of pixel (y, x) of a tile. */
static inline vrt_cpu_vector read_pixel(const struct source *s, const enum vrt_dtype DTYPE, int y,
                                        int x)
{
    const char *from = pixel_at(&s->pixels, y, x);

    if (y < s->y0 || y >= s->y1 || x < s->x0 || x >= s->x1)
        return (vrt_cpu_vector){ 0 };
    if (DTYPE == VRT_DTYPE_F32)
        return vrt_cpu_vector_load((const float *)(const void *)from);
    return vrt_cpu_vector_load_bf16((const uint16_t *)(const void *)from);
}

/* LANES channels of a tile, [6,6], to those of the 36 products' inputs, each `step` from the one
 * before. */
static inline __attribute__((always_inline)) void read_channels(const struct source *s,
                                                                const enum vrt_dtype DTYPE,
                                                                float *to, size_t step)
{
    vrt_cpu_vector part[IN][IN];

    for (int y = 0; y < IN; y++) {
        vrt_cpu_vector d[IN];

        for (int x = 0; x < IN; x++)
            d[x] = read_pixel(s, DTYPE, y, x);
        transform_in(d, part[y]);
    }
    for (int x = 0; x < IN; x++) {
        vrt_cpu_vector d[IN], v[IN];

        for (int y = 0; y < IN; y++)
            d[y] = part[y][x];
        transform_in(d, v);
        for (int y = 0; y < IN; y++)
            vrt_cpu_vector_store(to + (size_t)(y * IN + x) * step, v[y]);
    }
}

/* Has a cache, the first or the second, fetch what of tile i's input its neighbours to the left and
 * above don't have. */
static inline __attribute__((always_inline)) void prefetch(const struct tiles *t, int i,
                                                           const bool IS_FIRST)
{
    const struct vrt_tensor *in = &t->call->op->in[0];
    const size_t pixel_bytes = (size_t)(in->shape.c * size_of(in->dtype));
    int at[2];

    place(t, i, &at[0], &at[1]);
    const struct pixels pixels = pixels_of(in, t->call->in[0], t->d, at, 0);
    const int y_end = VRT_MIN(1 + OUT, in->shape.h - at[0]);
    const int x_end = VRT_MIN(1 + OUT, in->shape.w - at[1]);
    for (int y = 1; y < y_end; y++)
        for (int x = 1; x < x_end; x++) {
            const char *pixel = pixel_at(&pixels, y, x);

            for (size_t byte = 0; byte < pixel_bytes; byte += 64)
                if (IS_FIRST)
                    __builtin_prefetch(pixel + byte, 0, 3);
                else
                    __builtin_prefetch(pixel + byte, 0, 2);
        }
}

/* Transforms the input of tile i of them. The last vector of channels may lie over the one before:
 * there are LANES of them at least. */
static void read_tile(const struct tiles *t, int i)
{
    const struct vrt_tensor *in = &t->call->op->in[0];
    const int C = in->shape.c;
    int y, x;

    prefetch(t, i + 1, true);
    place(t, i, &y, &x);
    struct source edge = {
        .y0 = VRT_MAX(0, 1 - y),
        .y1 = VRT_MIN(IN, in->shape.h + 1 - y),
        .x0 = VRT_MAX(0, 1 - x),
        .x1 = VRT_MIN(IN, in->shape.w + 1 - x),
    };
    const bool is_inside = edge.y1 - edge.y0 == IN && edge.x1 - edge.x0 == IN;
    for (int begun = 0; begun < C; begun += LANES) {
        const int c = VRT_MIN(begun, C - LANES);
        float *to = t->inputs + i * C + c;
        const int at[2] = { y - 1, x - 1 };

        edge.pixels = pixels_of(in, t->call->in[0], t->d, at, c);
        /* The compiler shall see that all is read. */
        const struct source inside = { edge.pixels, 0, IN, 0, IN };
        if (!is_inside)
            read_channels(&edge, in->dtype, to, t->inputs_step);
        else if (in->dtype == VRT_DTYPE_F32)
            read_channels(&inside, VRT_DTYPE_F32, to, t->inputs_step);
        else
            read_channels(&inside, VRT_DTYPE_BF16, to, t->inputs_step);
    }
}

struct product {
    const float *inputs, *weights;  /* [R,I], [I,weights_row] */
    int I;
    size_t weights_row;
    float *sums;                    /* [R,weights_row] */
};

/* sums = inputs x weights, V vectors wide. They stay in registers where R and V are constants. */
static inline __attribute__((always_inline)) void multiply(const struct product *g, const int R,
                                                           const int V)
{
    /* Two pointers, of which the rows are 0 to 2 strides away: that is an addressing mode. */
    const size_t row = (size_t)g->I;
    const float *low = g->inputs, *high = g->inputs + 3 * row, *w = g->weights;
    vrt_cpu_vector sums[ROWS][VECTORS];

    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++)
            sums[r][v] = (vrt_cpu_vector){ 0 };
    for (size_t i = 0; i < row; i++, w += g->weights_row) {
        vrt_cpu_vector weights[VECTORS];

        for (int v = 0; v < V; v++)
            weights[v] = vrt_cpu_vector_load(w + LANES * v);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            const float x = r < 3 ? low[(size_t)r * row + i] : high[(size_t)(r - 3) * row + i];

            for (int v = 0; v < V; v++)
                sums[r][v] += x * weights[v];
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++)
            vrt_cpu_vector_store(g->sums + (size_t)r * g->weights_row + LANES * v, sums[r][v]);
}

/* n tiles, and maybe one more, which nobody reads; V vectors wide. */
static inline __attribute__((always_inline)) void multiply_tiles(struct product g, int n,
                                                                 const int V)
{
    const int least = ROWS - 1;     /* by two this is not more work, but less well done */

    for (; n >= least; n -= ROWS) {
        multiply(&g, ROWS, V);
        g.inputs += ROWS * (size_t)g.I;
        g.sums += ROWS * g.weights_row;
    }
    for (; n > 0; n -= 2) {
        multiply(&g, 2, V);
        g.inputs += 2 * (size_t)g.I;
        g.sums += 2 * g.weights_row;
    }
}

/* All 36 products of the tiles with a block of weights, [36,I,block], of which the first n columns
 * are wanted. */
static void multiply_block(const struct tiles *t, const float *weights, int block, int n)
{
    const int I = t->call->op->in[0].shape.c;

    for (int p = 0; p < PRODUCTS; p++) {
        if (p < t->n)
            prefetch(t, t->n + p, false);
        for (int c = 0; c < n; c += VECTORS * LANES) {
            const struct product g = {
                .inputs = t->inputs + (size_t)p * t->inputs_step,
                .weights = weights + (size_t)(p * I * block + c),
                .I = I,
                .weights_row = (size_t)block,
                .sums = t->sums + (size_t)p * t->sums_step + c,
            };

            switch (VRT_MIN(VECTORS, (n - c + LANES - 1) / LANES)) {
            case 1: multiply_tiles(g, t->n, 1); break;
            case 2: multiply_tiles(g, t->n, 2); break;
            case 3: multiply_tiles(g, t->n, VRT_MIN(3, VECTORS)); break;
            default: multiply_tiles(g, t->n, VECTORS); break;
            }
        }
    }
}

/* n elements, fewer than LANES, in pieces whose sizes the compiler knows. */
static inline __attribute__((always_inline)) void copy_some(void *to, const void *from, int n,
                                                            const size_t SIZE)
{
    size_t at = 0;

#pragma GCC unroll 4
    for (int piece = LANES / 2; piece > 0; piece /= 2)
        if (n & piece) {
            memcpy((char *)to + at, (const char *)from + at, (size_t)piece * SIZE);
            at += (size_t)piece * SIZE;
        }
}

/* n elements as f32, LANES at most; the rest is zeros. */
static inline vrt_cpu_vector load_some(enum vrt_dtype dtype, const char *from, int n)
{
    vrt_cpu_vector f32 = { 0 };
    vrt_cpu_halves bf16 = { 0 };

    if (dtype == VRT_DTYPE_F32) {
        if (n >= LANES)
            return vrt_cpu_vector_load((const float *)(const void *)from);
        copy_some(&f32, from, n, sizeof(float));
        return f32;
    }
    if (n >= LANES)
        memcpy(&bf16, from, sizeof(bf16));
    else
        copy_some(&bf16, from, n, sizeof(uint16_t));
    return vrt_cpu_vector_from_bf16(bf16);
}

/* The first n, LANES at most. */
static inline void store_some(enum vrt_dtype dtype, char *to, int n, vrt_cpu_vector f32)
{
    if (dtype == VRT_DTYPE_F32) {
        if (n >= LANES)
            vrt_cpu_vector_store((float *)(void *)to, f32);
        else
            copy_some(to, &f32, n, sizeof(float));
        return;
    }
    const vrt_cpu_halves bf16 = vrt_cpu_vector_to_bf16(f32);

    if (n >= LANES)
        memcpy(to, &bf16, sizeof(bf16));
    else
        copy_some(to, &bf16, n, sizeof(uint16_t));
}

/* Some channels of a tile that is written, and what its sums become: activation(sums + bias) *
 * scale + residual. */
struct target {
    struct pixels pixels, residual;     /* residual.first NULL: nothing is added */
    enum vrt_dtype residual_dtype;
    vrt_cpu_vector bias, slopes;
    float scale;
};

/* The tile's sums, of which one direction is transformed, as far as the picture, h rows of w
 * pixels, and its n channels, LANES at most, go. */
static inline __attribute__((always_inline)) void
write_pixels(const struct target *to, vrt_cpu_vector part[OUT][IN], enum vrt_dtype dtype, int h,
             int w, int n)
{
    for (int y = 0; y < h; y++) {
        vrt_cpu_vector row[OUT];

        transform_out(part[y], row);
        for (int x = 0; x < w; x++) {
            const vrt_cpu_vector sums = row[x] + to->bias, sloped = sums * to->slopes;
            const vrt_cpu_integers is_below = sums < 0;
            vrt_cpu_vector done = (vrt_cpu_vector)((is_below & (vrt_cpu_integers)sloped) |
                                                   (~is_below & (vrt_cpu_integers)sums));

            done *= to->scale;
            if (to->residual.first)
                done += load_some(to->residual_dtype, pixel_at(&to->residual, y, x), n);
            store_some(dtype, pixel_at(&to->pixels, y, x), n, done);
        }
    }
}

/* Channels [c, c + LANES) of tile i of them, whose sums begin at `from`. */
static void write_channels(const struct tiles *t, int i, int c, const float *from)
{
    const struct vrt_op *op = t->call->op;
    const struct vrt_tensor *out = &op->out;
    vrt_cpu_vector part[OUT][IN];
    int at[2];

    for (int k = 0; k < IN; k++) {
        vrt_cpu_vector m[IN], column[OUT];

        for (int l = 0; l < IN; l++)
            m[l] = vrt_cpu_vector_load(from + (size_t)(l * IN + k) * t->sums_step);
        transform_out(m, column);
        for (int l = 0; l < OUT; l++)
            part[l][k] = column[l];
    }

    place(t, i, &at[0], &at[1]);
    struct target to = {
        .pixels = pixels_of(out, t->call->out, t->d, at, c),
        .residual_dtype = op->in[1].dtype,
        .bias = vrt_cpu_vector_load(t->bias + c),
        .slopes = vrt_cpu_vector_load(t->slopes + c),
        .scale = op->conv2d.scale,
    };
    if (t->call->in[1])
        to.residual = pixels_of(&op->in[1], t->call->in[1], t->d, at, c);
    const int h = VRT_MIN(OUT, out->shape.h - at[0]), w = VRT_MIN(OUT, out->shape.w - at[1]);
    const int n = VRT_MIN(LANES, out->shape.c - c);
    /* The compiler shall see that all is written. */
    if (h < OUT || w < OUT || n < LANES)
        write_pixels(&to, part, out->dtype, h, w, n);
    else if (out->dtype == VRT_DTYPE_F32)
        write_pixels(&to, part, VRT_DTYPE_F32, OUT, OUT, LANES);
    else
        write_pixels(&to, part, VRT_DTYPE_BF16, OUT, OUT, LANES);
}

/* Bias and slopes of all outputs, whatever the op has of them. */
static void fill_vectors(const struct vrt_cpu_call *call, struct tiles *t)
{
    const struct vrt_op_conv2d *attr = &call->op->conv2d;
    const float *bias = attr->bias >= 0 ? call->params[attr->bias].values : NULL;
    const bool is_prelu = attr->activation == VRT_ACTIVATION_PRELU;
    const float *slopes = is_prelu ? call->params[attr->slopes].values : NULL;
    const float slope[VRT_ACTIVATION_PRELU] = {
        [VRT_ACTIVATION_NONE] = 1,
        [VRT_ACTIVATION_RELU] = 0,
        [VRT_ACTIVATION_LEAKY_RELU] = attr->slope,
    };

    for (int o = 0; o < call->op->out.shape.c; o++) {
        t->bias[o] = bias ? bias[o] : 0;
        t->slopes[o] = slopes ? slopes[o] : slope[attr->activation];
    }
}

static void run(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int I = op->in[0].shape.c, O = op->out.shape.c, block = vrt_winograd_block(O);
    const float *weights = call->params[op->conv2d.weight].matrix;
    struct tiles t = { .call = call, .d = d, .across = (op->out.shape.w + OUT - 1) / OUT };
    const int end = (y1 + OUT - 1) / OUT * t.across;

    lay_out(op, call->scratch, &t);
    fill_vectors(call, &t);
    for (t.first = y0 / OUT * t.across; t.first < end; t.first += TILES) {
        t.n = VRT_MIN(TILES, end - t.first);
        for (int i = 0; i < t.n; i++)
            read_tile(&t, i);
        for (int c = 0; c < O; c += block) {
            const int n = VRT_MIN(block, O - c);

            multiply_block(&t, weights + (size_t)(c * I) * PRODUCTS, block, n);
            for (int i = 0; i < t.n; i++)
                for (int v = 0; v < n; v += LANES)
                    write_channels(&t, i, c + v, t.sums + i * block + v);
        }
    }
}

static size_t scratch_bytes(const struct vrt_op *op)
{
    static char anywhere[64];
    struct tiles t;

    return lay_out(op, anywhere, &t);
}

/* Whole tiles, and no fewer than are done at a time. */
static int align_rows(const struct vrt_op *op)
{
    const int across = (op->out.shape.w + OUT - 1) / OUT;

    return (TILES + across - 1) / across * OUT;
}

const struct vrt_cpu_kernel vrt_cpu_op_conv2d = {
    .rows = run,
    .scratch_bytes = scratch_bytes,
    .align_rows = align_rows,
};
