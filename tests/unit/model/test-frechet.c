/* SPDX-License-Identifier: MIT */
/* The Frechet distance against NumPy's (tests/data/make-fvd.py), and where it is known. */

#include "tests/unit/test.h"

#include "model/fvd/frechet.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/weight-rule.h"

#define SEED 4242

/* Vectors that follow from a name, as make-fvd.py has them. */
static struct vrt_gaussian *gaussian(const char *name, int n, int dims, float off)
{
    struct vrt_gaussian *made;
    float *x = calloc((size_t)n * (size_t)dims, sizeof(*x));

    expect_true(x);
    rule_uniform(name, SEED, x, (size_t)n * (size_t)dims);
    expect_int(vrt_gaussian_new(dims, &made), 0);
    for (int i = 0; i < n; i++) {
        float *row = x + (size_t)i * (size_t)dims;

        for (int k = 0; k < dims; k++)
            row[k] *= 0.5f + 1.5f * (float)k / (float)(dims - 1);
        for (int k = dims - 1; k > 0; k--)
            row[k] += row[k - 1];
        for (int k = 0; k < dims; k++)
            row[k] += off;
        vrt_gaussian_add(made, row);
    }
    free(x);
    expect_int(vrt_gaussian_count(made), n);
    return made;
}

static double distance(struct vrt_gaussian *a, struct vrt_gaussian *b)
{
    double found, back;

    expect_int(vrt_frechet_distance(a, b, &found), 0);
    expect_int(vrt_frechet_distance(b, a, &back), 0);
    expect_near(back, found, 1e-9 * (1 + found));
    vrt_gaussian_free(a);
    vrt_gaussian_free(b);
    return found;
}

static void test_numpy(void)
{
    static const char *const names[] = { "many", "few", "two", "apart" };
    struct vrt_checkpoint *golden = golden_open("fvd/distances");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char key[64];
        int sizes[4];
        float wanted;

        snprintf(key, sizeof(key), "set.%s", names[i]);
        for (int k = 0; k < 4; k++)
            sizes[k] = golden_int(golden, key, k);
        snprintf(key, sizeof(key), "distance.%s", names[i]);
        vrt_checkpoint_read_f32(vrt_checkpoint_find(golden, key), &wanted);
        const double found = distance(gaussian("first", sizes[1], sizes[0], 0),
                                      gaussian("second", sizes[2], sizes[0],
                                               (float)sizes[3] / 100));
        fprintf(stderr, "%s: %.8g\n", names[i], found);
        expect_near(found, (double)wanted, 1e-5 * (double)wanted);
    }
    vrt_checkpoint_free(golden);
}

/* Nothing apart but the means: as many times the square of that as there are dimensions. Also of
 * vectors that are fewer than those. */
static void test_known(void)
{
    expect_near(distance(gaussian("first", 30, 12, 0), gaussian("first", 30, 12, 0)), 0, 1e-9);
    expect_near(distance(gaussian("first", 5, 12, 0), gaussian("first", 5, 12, 3)), 12 * 9, 1e-4);
    expect_near(distance(gaussian("first", 20, 100, 0), gaussian("first", 20, 100, 0.5f)), 25,
                1e-3);
}

/* In two dimensions each set's are independent: squares of the differences of means and of standard
 * deviations. */
static void test_diagonal(void)
{
    const float first[4][2] = { { 1, 0 }, { -1, 0 }, { 0, 2 }, { 0, -2 } };
    struct vrt_gaussian *a, *b;
    double found;

    expect_int(vrt_gaussian_new(2, &a), 0);
    expect_int(vrt_gaussian_new(2, &b), 0);
    for (int i = 0; i < 4; i++) {
        vrt_gaussian_add(a, first[i]);
        vrt_gaussian_add(b, (const float[]){ 3 * first[i][0] + 5, first[i][1] / 2 });
    }
    /* Variances 2/3 and 8/3; of the second 6 and 2/3. */
    expect_int(vrt_frechet_distance(a, b, &found), 0);
    const double along = sqrt(6) - sqrt(2.0 / 3), across = sqrt(8.0 / 3) - sqrt(2.0 / 3);
    expect_near(found, 25 + along * along + across * across, 1e-12);
    vrt_gaussian_free(a);
    vrt_gaussian_free(b);
}

/* None: one of no extent at all. */
static void test_points(void)
{
    struct vrt_gaussian *a, *b;
    double found;

    expect_int(vrt_gaussian_new(3, &a), 0);
    expect_int(vrt_gaussian_new(3, &b), 0);
    for (int i = 0; i < 3; i++) {
        vrt_gaussian_add(a, (const float[]){ 1, 1, 1 });
        vrt_gaussian_add(b, (const float[]){ 1, 1, 4 });
    }
    expect_int(vrt_frechet_distance(a, b, &found), 0);
    expect_near(found, 9, 1e-12);
    vrt_gaussian_free(a);
    vrt_gaussian_free(b);
}

int main(void)
{
    test_numpy();
    test_known();
    test_diagonal();
    test_points();
    return 0;
}
