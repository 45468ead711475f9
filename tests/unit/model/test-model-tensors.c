/* SPDX-License-Identifier: MIT */
/*
 * Networks whose golden files tell every parameter's shape, damaged: whichever single tensor is
 * missing, misshapen or one too many, the sentence says which. Nothing is computed.
 *
 * usage: test-model-tensors CASE...
 */

#include "tests/unit/test.h"

#include <errno.h>

#include "tests/unit/model/golden.h"
#include "tests/unit/model/model-fixture.h"

/* What is done to the tensor `name`. */
struct damage {
    const char *name;
    bool is_left_out;               /* or else it has one row more */
};

static int load(const struct vrt_checkpoint *golden, const struct damage *damage,
                const struct fixture_tensor *extra, struct vrt_error *error)
{
    struct vrt_network *network = NULL;
    struct fixture f = { 0 };

    for (int i = 0; i < vrt_checkpoint_n_tensors(golden); i++) {
        int dims[5], n_dims;
        const char *name = golden_nth_parameter(golden, i, dims, &n_dims);
        const bool is_it = name && damage && strcmp(damage->name, name) == 0;

        if (!name || (is_it && damage->is_left_out))
            continue;
        if (is_it)
            dims[0]++;
        fixture_add(&f, name, dims, n_dims);
    }
    if (extra)
        fixture_add(&f, extra->name, extra->dims, extra->n_dims);
    int r = fixture_load(&f, &network, error);
    vrt_network_unref(network);
    return r;
}

static void expect_refused(const struct vrt_checkpoint *golden, const struct damage *damage,
                           const struct fixture_tensor *extra, const char *part)
{
    struct vrt_error error = { 0 };

    expect_int(load(golden, damage, extra, &error), -EINVAL);
    if (!strstr(error.message, part))
        test_fail("\"%s\" doesn't say %s", error.message, part);
}

/* Where sizes follow from a tensor, another that doesn't fit them may be the one that is named. */
static void test_every_tensor(const struct vrt_checkpoint *golden)
{
    int n = 0;

    for (int i = 0; i < vrt_checkpoint_n_tensors(golden); i++) {
        int dims[5], n_dims;
        const char *name = golden_nth_parameter(golden, i, dims, &n_dims);

        /* One level of SpyNet's six does: they are as large as they are many. */
        if (!name || (strncmp(name, "spynet.", 7) == 0 && !strstr(name, "spynet.basic_module.0.")))
            continue;
        expect_refused(golden, &(struct damage){ name, true }, NULL, "");
        expect_refused(golden, &(struct damage){ name, false }, NULL, "");
        if (strstr(name, ".bias")) {
            expect_refused(golden, &(struct damage){ name, true }, NULL, name);
            expect_refused(golden, &(struct damage){ name, false }, NULL, name);
        }
        n++;
    }
    expect_true(n > 10);
}

/* Buffers of a window's table are held to what they must be; masks, to nothing; groups are few. */
static void test_windows(const struct vrt_checkpoint *golden)
{
    const int step[1] = { 3 }, window = golden_int(golden, "config.window_size", 0);
    const int places[2] = { window * window, window * window };
    struct vrt_error error = { 0 };

    expect_refused(golden, NULL, &(struct fixture_tensor){
        "layers.0.residual_group.blocks.0.attn.relative_position_index", places, 2,
    }, "relative_position_index");
    expect_refused(golden, NULL, &(struct fixture_tensor){ "layers.99.norm.weight", step, 1 },
                   "network of 100 groups of blocks, where vrtd runs up to");
    expect_int(load(golden, NULL, &(struct fixture_tensor){
        "layers.0.residual_group.blocks.1.attn_mask", step, 1,
    }, &error), 0);
}

/* What SpyNet's colours are less, and divided by: one buffer of two, and one of other numbers. */
static void test_colours(const struct vrt_checkpoint *golden)
{
    const int rgb[4] = { 1, 3, 1, 1 };

    expect_refused(golden, NULL, &(struct fixture_tensor){ "spynet.mean", rgb, 4 }, "spynet.mean");
    expect_refused(golden, NULL, &(struct fixture_tensor){ "spynet.std", rgb, 4 }, "spynet.mean");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        test_fail("usage: test-model-tensors CASE...");
    for (int i = 1; i < argc; i++) {
        struct vrt_checkpoint *golden = golden_open(argv[i]);
        struct vrt_error error = { 0 };

        fprintf(stderr, "%s\n", argv[i]);
        expect_int(load(golden, NULL, NULL, &error), 0);
        test_every_tensor(golden);
        expect_refused(golden, NULL, &(struct fixture_tensor){ "ema.step", &(int){ 3 }, 1 },
                       "\"ema.step\"");
        if (vrt_checkpoint_find(golden, "config.window_size"))
            test_windows(golden);
        if (strstr(argv[i], "basicvsr"))
            test_colours(golden);
        vrt_checkpoint_free(golden);
    }
    return 0;
}
