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

/* Where it is known by hand, of vectors that are added as they stand. */
static void test_by_hand(void)
{
    /* In two dimensions each set's are independent, with variances 2/3 and 8/3, and 6 and 2/3:
     * squares of the differences of means and of standard deviations. */
    const double along = sqrt(6) - sqrt(2.0 / 3), across = sqrt(8.0 / 3) - sqrt(2.0 / 3);
    const struct {
        int dims, n;
        float a[4][3], b[4][3];
        double wanted;
    } cases[] = {
        { 2, 4, { { 1, 0 }, { -1, 0 }, { 0, 2 }, { 0, -2 } },
          { { 8, 0 }, { 2, 0 }, { 5, 1 }, { 5, -1 } }, 25 + along * along + across * across },
        /* Of no extent at all. */
        { 3, 3, { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } },
          { { 1, 1, 4 }, { 1, 1, 4 }, { 1, 1, 4 } }, 9 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_gaussian *a, *b;

        expect_int(vrt_gaussian_new(cases[i].dims, &a), 0);
        expect_int(vrt_gaussian_new(cases[i].dims, &b), 0);
        for (int k = 0; k < cases[i].n; k++) {
            vrt_gaussian_add(a, cases[i].a[k]);
            vrt_gaussian_add(b, cases[i].b[k]);
        }
        expect_near(distance(a, b), cases[i].wanted, 1e-12);
    }
}

int main(void)
{
    test_numpy();
    test_known();
    test_by_hand();
    return 0;
}
