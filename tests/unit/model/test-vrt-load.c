/* SPDX-License-Identifier: MIT */
/*
 * VRT recognised: the published networks by their names and shapes, small ones of every kind built
 * for every size of clip, and what is refused. Nothing is computed.
 */

#include "tests/unit/test.h"

#include <errno.h>

#include "engine/checkpoint.h"
#include "tests/unit/model/vrt-fixture.h"

/* What the release says of its networks; parameters counted by PyTorch where they are known. */
static void test_published(void)
{
    static const struct {
        const char *description;
        int scale, min_frames, max_frames, clip_frames, clip_overlap;
        bool takes_noise;
        int64_t n_parameters;
    } rows[] = {
        { "VRT, 120 and 180 features, windows of 6 frames, 2 neighbours, x4", 4, 2, 0, 40, 2,
          false, 30676435 },
        { "VRT, 120 and 180 features, windows of 8 frames, 6 neighbours, x4", 4, 4, 0, 40, 2,
          false, 0 },
        { "VRT, 120 and 180 features, windows of 8 frames, 4 neighbours, x4", 4, 3, 0, 32, 2,
          false, 0 },
        { "VRT, 96 and 120 features, windows of 6 frames, 2 neighbours, x1", 1, 2, 0, 12, 2,
          false, 0 },
        { "VRT, 96 and 120 features, windows of 6 frames, 2 neighbours, noise level, x1", 1, 2, 0,
          12, 2, true, 0 },
        { "VRT, 96 and 120 features, windows of 4 frames, 0 neighbours, interpolation, x1", 1, 4,
          4, 4, 0, false, 0 },
    }, *const wanted[9] = { &rows[0], &rows[1], &rows[2], &rows[2], &rows[3], &rows[3], &rows[3],
                            &rows[4], &rows[5] };

    for (int i = 0; i < 9; i++) {
        struct vrt_fixture vrt = { .sizes = vrt_sizes_published(i + 1), .no_buffers = true };
        struct fixture f = { 0 };

        fixture_add_vrt(&f, &vrt);
        struct vrt_network *network = fixture_network(&f);
        const struct vrt_network_info *info = vrt_network_info(network);
        expect_str(info->architecture, "vrt");
        expect_str(info->description, wanted[i]->description);
        expect_int(info->scale, wanted[i]->scale);
        expect_int(info->min_frames, wanted[i]->min_frames);
        expect_int(info->max_frames, wanted[i]->max_frames);
        expect_int(info->out_frames, i == 8 ? 1 : 0);
        expect_int(info->clip_frames, wanted[i]->clip_frames);
        expect_int(info->clip_overlap, wanted[i]->clip_overlap);
        expect_int(info->takes_noise, wanted[i]->takes_noise);
        expect_int(info->in_channels, 3);
        expect_int(info->out_channels, 3);
        expect_int(info->multiple, 8);
        expect_int(info->min_size, 64);
        expect_int(info->tile_size, wanted[i]->scale > 1 ? 128 : 256);
        expect_int(info->tile_overlap, 20);
        expect_int(info->radius, 10);
        if (wanted[i]->n_parameters)
            expect_int(info->n_parameters, wanted[i]->n_parameters);
        vrt_network_unref(network);
    }
}

/* Every kind of network, as small as it gets. */
static void small_kinds(struct vrt_sizes kinds[5])
{
    for (int i = 0; i < 5; i++)
        kinds[i] = vrt_sizes_small();
    for (int i = 1; i < 3; i++) {
        kinds[i].distances = i + 1;
        kinds[i].offset_groups = i + 1;
        kinds[i].features = 12;
        kinds[i].n_up = 2;
    }
    kinds[3].n_up = 0;
    kinds[3].noise = true;
    kinds[4].n_up = 0;
    kinds[4].distances = 0;
    kinds[4].frames = 3;
}

static int build(const struct vrt_network *network, struct vrt_shape in, struct vrt_shape out)
{
    struct vrt_graph *graph;

    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32, in);
    struct vrt_tensor y = vrt_graph_output(graph, VRT_DTYPE_F32, out);
    int r = vrt_network_build(network, graph, &x, &y,
                              &(struct vrt_network_use){ .dtype = VRT_DTYPE_BF16 });
    if (r == 0)
        expect_true(vrt_graph_flops(graph) > 0);
    vrt_graph_free(graph);
    return r;
}

/* From one frame too few to long clips, and from one pixel to sizes that nothing divides. */
static void test_sizes(void)
{
    static const int sizes[][2] = { { 1, 1 }, { 64, 64 }, { 66, 64 }, { 100, 65 }, { 72, 200 },
                                    { 7, 300 } };
    struct vrt_sizes kinds[5];

    small_kinds(kinds);
    for (int i = 0; i < (int)VRT_ARRAY_SIZE(kinds); i++) {
        struct vrt_fixture vrt = { .sizes = kinds[i] };
        struct fixture f = { 0 };

        fixture_add_vrt(&f, &vrt);
        struct vrt_network *network = fixture_network(&f);
        const struct vrt_network_info *info = vrt_network_info(network);
        for (int d = 1; d <= 9; d++) {
            const bool fits = d >= info->min_frames && (!info->max_frames ||
                                                        d <= info->max_frames);

            for (size_t k = 0; k < VRT_ARRAY_SIZE(sizes); k++) {
                const struct vrt_shape in = { d, sizes[k][0], sizes[k][1], 3 };
                const struct vrt_shape out = vrt_network_out_shape(network, in);

                expect_int(out.d, kinds[i].frames ? 1 : d);
                expect_int(out.h, in.h << kinds[i].n_up);
                expect_int(build(network, in, out), fits ? 0 : -EINVAL);
            }
        }
        vrt_network_unref(network);
    }
}

/* `extra`: a tensor that it has besides, or NULL. */
static void expect_refused(const struct vrt_fixture *vrt, const char *extra, const char *part)
{
    struct fixture f = { 0 };
    struct vrt_network *network;
    struct vrt_error error = { 0 };

    fixture_add_vrt(&f, vrt);
    if (extra)
        fixture_add(&f, extra, (int[]){ 3 }, 1);
    expect_int(fixture_load(&f, &network, &error), -EINVAL);
    expect_str(error.id, VRT_CHECKPOINT_E_INVALID);
    if (!strstr(error.message, part) || !strstr(error.message, "VRT network") ||
        strchr(error.message, '\n'))
        test_fail("\"%s\" doesn't say \"%s\"", error.message, part);
}

/* Remembers every name. */
struct lister {
    struct vrt_sizes_visitor visitor;
    char names[600][96];
    int n_names;
};

static void list(struct vrt_sizes_visitor *visitor, enum vrt_sizes_kind kind, const char *name,
                 const int *dims, int n_dims)
{
    struct lister *lister = (struct lister *)visitor;

    (void)kind;
    (void)dims;
    (void)n_dims;
    expect_true(lister->n_names < (int)VRT_ARRAY_SIZE(lister->names));
    snprintf(lister->names[lister->n_names++], sizeof(lister->names[0]), "%s", name);
}

/* Whether another tensor's name tries such stages, blocks and levels of the flow, too. */
static bool is_repeated(const char *name)
{
    const char *block = strstr(name, ".blocks.");

    return (strncmp(name, "stage", 5) == 0 && !strchr("158", name[5])) ||
           (block && block[8] != '0') ||
           (strncmp(name, "spynet.basic_module.", 20) == 0 && name[20] != '5');
}

/* Whatever single tensor is missing or of another shape: the sentence says which, or, where sizes
 * are read from it, at least of which layer. */
static void test_every_tensor(void)
{
    static struct lister lister = { .visitor.visit = list };
    struct vrt_sizes kinds[5];

    small_kinds(kinds);
    for (int i = 0; i < (int)VRT_ARRAY_SIZE(kinds); i++) {
        struct vrt_fixture vrt = { .sizes = kinds[i] };

        lister.n_names = 0;
        vrt_sizes_visit(&vrt.sizes, &lister.visitor);
        /* All of the first kind; of the others, those that come and go with the kind. */
        for (int k = 0; k < lister.n_names; k++) {
            const char *name = lister.names[k];

            if (is_repeated(name) || (i > 0 && strstr(name, ".blocks.")))
                continue;
            vrt.left_out = name;
            expect_refused(&vrt, NULL, name);
            vrt.left_out = NULL;
            vrt.misshapen = name;
            expect_refused(&vrt, NULL, "");
            vrt.misshapen = NULL;
        }
    }
}

static void test_extra(void)
{
    const struct vrt_fixture vrt = { .sizes = vrt_sizes_small() };
    static const char *const names[][2] = {
        { "stage1.residual_group1.blocks.0.attn.extra" }, { "stage9.weight" },
        { "linear_fuse.bias" }, { "stage2.pa_deform.conv_offset.8.weight" },
        { "stage1.residual_group2.blocks.0.attn.qkv_mut.weight",
          "blocks.0 has mutual attention in a window of 3 frames; it needs 2" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++)
        expect_refused(&vrt, names[i][0], names[i][names[i][1] ? 1 : 0]);
}

/* Buffers that aren't what the network would have computed. */
static void test_buffers(void)
{
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small() };
    static const char *const names[] = {
        "stage1.residual_group1.blocks.0.attn.relative_position_index",
        "stage3.residual_group2.blocks.0.attn.relative_position_index",
        "stage8.2.residual_group.blocks.0.attn.relative_position_index",
        "stage1.residual_group1.blocks.0.attn.position_bias", "spynet.mean", "spynet.std",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        vrt.changed = names[i];
        expect_refused(&vrt, NULL, names[i]);
    }

    /* With all of them or none, it is the same network. */
    uint64_t checksums[2];
    for (int i = 0; i < 2; i++) {
        struct fixture f = { 0 };

        vrt.changed = NULL;
        vrt.no_buffers = i == 1;
        fixture_add_vrt(&f, &vrt);
        struct vrt_network *network = fixture_network(&f);
        checksums[i] = vrt_network_checksum(network);
        vrt_network_unref(network);
    }
    expect_true(checksums[0] == checksums[1]);
}

/* Shapes that agree with each other and with no network that can be run. */
static void test_misfits(void)
{
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small() };
    const struct {
        int *field, value;
        const char *part;
    } cases[] = {
        { &vrt.sizes.heads, 3, "3 heads" }, { &vrt.sizes.heads, 0, "relative_position_bias_table" },
        { &vrt.sizes.features, 6, "6 features" },
        { &vrt.sizes.window_frames, 17, "of 1 to 16 frames" },
        { &vrt.sizes.depths[2], 0, "stage3.residual_group1.blocks.0" },
        { &vrt.sizes.depths[1], 1, "stage2.residual_group1.blocks.0" },
        { &vrt.sizes.tail_depth, 0, "stage8.1.residual_group.blocks.0" },
        { &vrt.sizes.n_tail, 0, "stage8" }, { &vrt.sizes.n_tail, 17, "17 groups" },
        { &vrt.sizes.offset_groups, 3, "conv_offset.6" },
        { &vrt.sizes.offset_groups, 0, "conv_offset.6" },
        { &vrt.sizes.distances, 4, "conv_offset.0" }, { &vrt.sizes.distances, 0, "linear_fuse" },
        { &vrt.sizes.frames, 3, "linear_fuse" }, { &vrt.sizes.n_up, 4, "upsample.20" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const int before = *cases[i].field;

        *cases[i].field = cases[i].value;
        expect_refused(&vrt, NULL, cases[i].part);
        *cases[i].field = before;
    }
}

TEST_MAIN(
    { "published", test_published }, { "sizes", test_sizes }, { "every-tensor", test_every_tensor },
    { "extra", test_extra }, { "buffers", test_buffers }, { "misfits", test_misfits },
)
