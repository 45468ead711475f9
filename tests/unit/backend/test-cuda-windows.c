/* SPDX-License-Identifier: MIT */

/* Windows of an attention: each place, label and bias as one who pads, rolls and cuts finds it. */

#include "backend/cuda/kernels/attention/windows.h"
#include "base/macro.h"
#include "tests/unit/test.h"

static const int clips[][3] = {
    { 1, 1, 1 },  { 2, 8, 8 },   { 6, 8, 16 }, { 7, 5, 9 },   { 3, 9, 12 },
    { 12, 3, 4 }, { 4, 17, 13 }, { 1, 16, 7 }, { 13, 2, 20 },
};

static const int windows[][3] = { { 6, 8, 8 }, { 2, 8, 8 }, { 1, 8, 8 }, { 3, 2, 5 }, { 2, 4, 4 } };

/* The window as an op has it, and as it is cut to the clip. */
struct naive {
    int clip[3], full[3], size[3], shift[3], padded[3];
};

static struct naive naive_of(const int clip[3], const int full[3], bool is_shifted)
{
    struct naive n;

    for (int k = 0; k < 3; k++) {
        const bool is_cut = clip[k] <= full[k];
        n.clip[k] = clip[k];
        n.full[k] = full[k];
        n.size[k] = is_cut ? clip[k] : full[k];
        n.shift[k] = is_shifted && !is_cut ? full[k] / 2 : 0;
        for (n.padded[k] = 0; n.padded[k] < clip[k];)
            n.padded[k] += n.size[k];
    }
    return n;
}

static struct vrt_cuda_windows windows_of(const struct naive *n, bool is_shifted)
{
    struct vrt_op op = {
        .kind = VRT_OP_WINDOW_ATTENTION,
        .n_in = 1,
        .window_attention = {
            .window = { n->full[0], n->full[1], n->full[2] },
            .shifted = is_shifted,
        },
    };

    op.in[0] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){
        n->clip[0], n->clip[1], n->clip[2], 4 });
    return vrt_cuda_windows_of(&op);
}

/* Which slice of dimension k holds i, after the roll. */
static int slice_of(const struct naive *n, int k, int i)
{
    if (n->shift[k] == 0)
        return 0;
    return i >= n->padded[k] - n->shift[k] ? 2 : i >= n->padded[k] - n->size[k] ? 1 : 0;
}

/* A place of the padded clip: the windows hold it where the roll puts it. */
static void check_place(const struct naive *n, const struct vrt_cuda_windows *w, const int at[3],
                        char *seen)
{
    int window = 0, t = 0, found[3];
    bool is_inside = true;

    for (int k = 0; k < 3; k++) {
        const int rolled = (at[k] - n->shift[k] + n->padded[k]) % n->padded[k];
        window = window * (n->padded[k] / n->size[k]) + rolled / n->size[k];
        t = t * n->size[k] + rolled % n->size[k];
        is_inside = is_inside && at[k] < n->clip[k];
    }
    expect_int(vrt_cuda_windows_place(w, window, t, found), is_inside);
    for (int k = 0; k < 3; k++)
        expect_int(found[k], at[k]);
    expect_int(seen[window * w->n_places + t]++, 0);
}

static void check_places(const struct naive *n, const struct vrt_cuda_windows *w)
{
    const int n_places = n->padded[0] * n->padded[1] * n->padded[2];
    char *seen = calloc((size_t)n_places, 1);
    int at[3];

    expect_true(seen != NULL);
    expect_int(w->n_windows * w->n_places, n_places);
    for (at[0] = 0; at[0] < n->padded[0]; at[0]++)
    for (at[1] = 0; at[1] < n->padded[1]; at[1]++)
    for (at[2] = 0; at[2] < n->padded[2]; at[2]++)
        check_place(n, w, at, seen);
    free(seen);
}

/* Whether two places of a window are neighbours only by the roll. */
static bool is_apart(const struct naive *n, const struct vrt_cuda_windows *w, int window, int a,
                     int b)
{
    int first[3], second[3];

    vrt_cuda_windows_place(w, window, a, first);
    vrt_cuda_windows_place(w, window, b, second);
    for (int k = 0; k < 3; k++) {
        const int i = (first[k] - n->shift[k] + n->padded[k]) % n->padded[k];
        const int j = (second[k] - n->shift[k] + n->padded[k]) % n->padded[k];
        if (slice_of(n, k, i) != slice_of(n, k, j))
            return true;
    }
    return false;
}

static void check_labels(const struct naive *n, const struct vrt_cuda_windows *w)
{
    for (int window = 0; window < w->n_windows; window++) {
        bool is_mixed = false;

        for (int a = 0; a < w->n_places; a++)
        for (int b = 0; b < w->n_places; b += 1 + w->n_places / 50) {
            const bool apart = is_apart(n, w, window, a, b);
            expect_int(vrt_cuda_windows_label(w, window, a) !=
                       vrt_cuda_windows_label(w, window, b), apart);
            is_mixed = is_mixed || apart;
        }
        expect_true(!is_mixed || vrt_cuda_windows_is_mixed(w, window));
    }
}

/* Rows of the table for a query and a key, both counted in a window of full size. */
static void check_codes(const struct naive *n, const struct vrt_cuda_windows *w)
{
    const int *full = n->full, n_biases = vrt_cuda_windows_n_biases(w);

    expect_int(n_biases, (2 * full[0] - 1) * (2 * full[1] - 1) * (2 * full[2] - 1));
    for (int a = 0; a < w->n_places; a++)
    for (int b = 0; b < w->n_places; b++) {
        const int query[3] = { a / full[2] / full[1], a / full[2] % full[1], a % full[2] };
        const int key[3] = { b / full[2] / full[1], b / full[2] % full[1], b % full[2] };
        int row = 0;

        for (int k = 0; k < 3; k++)
            row = row * (2 * full[k] - 1) + query[k] - key[k] + full[k] - 1;
        expect_int((n_biases - 1) / 2 + vrt_cuda_windows_code(w, a) - vrt_cuda_windows_code(w, b),
                   row);
        expect_true(row >= 0 && row < n_biases);
    }
}

static void each(void (*check)(const struct naive *n, const struct vrt_cuda_windows *w))
{
    for (size_t c = 0; c < VRT_ARRAY_SIZE(clips); c++)
    for (size_t k = 0; k < VRT_ARRAY_SIZE(windows); k++)
    for (int is_shifted = 0; is_shifted < 2; is_shifted++) {
        const struct naive n = naive_of(clips[c], windows[k], is_shifted);
        const struct vrt_cuda_windows w = windows_of(&n, is_shifted);

        check(&n, &w);
    }
}

static void test_places(void)
{
    each(check_places);
}

static void test_labels(void)
{
    each(check_labels);
}

static void test_codes(void)
{
    each(check_codes);
}

TEST_MAIN(
    { "places", test_places }, { "labels", test_labels },
    { "codes", test_codes },
)
