/* SPDX-License-Identifier: MIT */
/*
 * Recognition: checkpoints with the names and shapes of public files, made by rule, and what is
 * refused. Nothing is computed.
 */

#include "tests/unit/test.h"

#include <errno.h>

#include "engine/checkpoint.h"
#include "tests/unit/model/model-fixture.h"

/* Of one of the networks. */
struct sizes {
    enum { COMPACT, ESRGAN, SPAN, RIFE, BASICVSR, BY_HAND } kind;
    bool is_not_normed;             /* of SPAN */
    union {
        struct fixture_compact compact;
        struct fixture_esrgan esrgan;
        struct fixture_span span;
        struct fixture_rife rife;
        struct fixture_basicvsr basicvsr;
        struct {
            int kernel, slopes, out;    /* of an SRVGGNetCompact; out 0: no last convolution */
        } by_hand;
    };
};

static void add(struct fixture *f, const struct sizes *of)
{
    switch (of->kind) {
    case COMPACT: fixture_add_compact(f, &of->compact); break;
    case ESRGAN: fixture_add_esrgan(f, &of->esrgan); break;
    case SPAN: fixture_add_span(f, &of->span); break;
    case RIFE: fixture_add_rife(f, &of->rife); break;
    case BASICVSR: fixture_add_basicvsr(f, &of->basicvsr); break;
    case BY_HAND:
        fixture_add_conv(f, "body.0", 8, 3, of->by_hand.kernel, true);
        fixture_add(f, "body.1.weight", (int[]){ of->by_hand.slopes }, 1);
        if (of->by_hand.out)
            fixture_add_conv(f, "body.2", of->by_hand.out, 8, 3, true);
    }
    if (of->is_not_normed)
        fixture_add(f, "no_norm", (int[]){ 1 }, 1);
}

/* What a case says of the network that comes out. */
struct wanted {
    const char *description;
    int scale, multiple, channels, radius;
    int64_t n_parameters;
};

static void check(const char *file, struct fixture *f, int kind, const struct wanted *wanted)
{
    static const char *const architectures[] = { "compact", "esrgan", "span", "rife", "basicvsr" };
    struct vrt_network *network = fixture_network(f);
    const struct vrt_network_info *info = vrt_network_info(network);
    char clips[64];

    fprintf(stderr, "  %s: %s\n", file, info->description);
    expect_str(info->architecture, architectures[kind]);
    expect_str(info->description, wanted->description);
    expect_int(info->scale, wanted->scale);
    expect_int(info->multiple, wanted->multiple);
    expect_int(info->in_channels, wanted->channels);
    expect_int(info->out_channels, wanted->channels);
    expect_int(info->radius, wanted->radius);
    expect_int(info->n_parameters, wanted->n_parameters);
    /* What moves from tile to tile is seen in both. */
    expect_int(info->tile_overlap, kind == RIFE || kind == BASICVSR ? 2 * info->radius : 0);
    snprintf(clips, sizeof(clips), "%d to %d, %d sharing %d by %d, %d%s", info->min_frames,
             info->max_frames, info->clip_frames, info->clip_overlap, vrt_network_clip_step(info),
             info->out_frames, info->any_times ? ", any" : "");
    expect_str(clips, kind == RIFE ? "2 to 2, 2 sharing 0 by 2, 1, any" :
               kind == BASICVSR ? "1 to 0, 30 sharing 6 by 1, 0" : "1 to 0, 1 sharing 0 by 1, 0");
    expect_int(info->window_frames, kind == RIFE ? 2 : kind == BASICVSR ? 5 : 1);
    vrt_network_unref(network);
}

/* Files that there are. */
static void test_files(void)
{
    static const struct {
        const char *file;
        struct sizes sizes;
        struct wanted wanted;
        const char *metadata;
    } cases[] = {
        { "realesr-animevideov3.pth", { COMPACT, .compact = { 3, 64, 16, 4, 'p' } },
          { "SRVGGNetCompact, 64 features, 16 convolutions, x4", 4, 1, 3, 18, 621424 } },
        { "realesr-general-x4v3.pth, realesr-general-wdn-x4v3.pth",
          { COMPACT, .compact = { 3, 64, 32, 4, 'p' } },
          { "SRVGGNetCompact, 64 features, 32 convolutions, x4", 4, 1, 3, 34, 1213296 } },
        { "2x SuperUltraCompact", { COMPACT, .compact = { 3, 24, 8, 2, 'p' } },
          { "SRVGGNetCompact, 24 features, 8 convolutions, x2", 2, 1, 3, 10, 45156 } },
        { "1x Compact", { COMPACT, .compact = { 3, 64, 16, 1, 'p' } },
          { "SRVGGNetCompact, 64 features, 16 convolutions, x1", 1, 1, 3, 18, 595459 } },
        { "3x Compact, no slopes", { COMPACT, .compact = { 3, 32, 4, 3, 'l' } },
          { "SRVGGNetCompact, 32 features, 4 convolutions, leaky ReLU, x3", 3, 1, 3, 6, 45691 } },
        { "3x Compact, ReLU said", { COMPACT, .compact = { 3, 32, 4, 3, 'l' } },
          { "SRVGGNetCompact, 32 features, 4 convolutions, ReLU, x3", 3, 1, 3, 6, 45691 },
          "{\"activation\":\"relu\"}" },
        { "8x gray", { COMPACT, .compact = { 1, 16, 0, 8, 'p' } },
          { "SRVGGNetCompact, 16 features, 0 convolutions, gray, x8", 8, 1, 1, 2, 9456 } },
        { "RealESRGAN_x4plus.pth, RealESRNet_x4plus.pth",
          { ESRGAN, .esrgan = { FIXTURE_NEW, 3, 3, 64, 23, 32, 2, false } },
          { "RRDBNet, 64 features, 23 blocks, growth 32, x4", 4, 1, 3, 349, 16697987 } },
        { "RealESRGAN_x2plus.pth",
          { ESRGAN, .esrgan = { FIXTURE_NEW, 12, 3, 64, 23, 32, 2, false } },
          { "RRDBNet, 64 features, 23 blocks, growth 32, pixel-unshuffle, x2", 2, 2, 3, 698,
            16703171 } },
        { "1x, of Real-ESRGAN's trainer",
          { ESRGAN, .esrgan = { FIXTURE_NEW, 48, 3, 64, 23, 32, 2, false } },
          { "RRDBNet, 64 features, 23 blocks, growth 32, pixel-unshuffle, x1", 1, 4, 3, 1396,
            16723907 } },
        { "RRDB_ESRGAN_x4.pth, BSRGAN.pth, DF2K_JPEG.pth",
          { ESRGAN, .esrgan = { FIXTURE_TRUNK, 3, 3, 64, 23, 32, 2, false } },
          { "RRDBNet, 64 features, 23 blocks, growth 32, x4", 4, 1, 3, 349, 16697987 } },
        { "RRDB_ESRGAN_x4_old_arch.pth, 4x-UltraSharp.pth",
          { ESRGAN, .esrgan = { FIXTURE_OLD, 3, 3, 64, 23, 32, 2, false } },
          { "RRDBNet, 64 features, 23 blocks, growth 32, x4", 4, 1, 3, 349, 16697987 } },
        { "8x, old names", { ESRGAN, .esrgan = { FIXTURE_OLD, 3, 3, 64, 2, 32, 3, false } },
          { "RRDBNet, 64 features, 2 blocks, growth 32, x8", 8, 1, 3, 34, 1627011 } },
        { "1x, old names", { ESRGAN, .esrgan = { FIXTURE_OLD, 3, 3, 64, 2, 32, 0, false } },
          { "RRDBNet, 64 features, 2 blocks, growth 32, x1", 1, 1, 3, 34, 1516227 } },
        { "nESRGANplus.pth", { ESRGAN, .esrgan = { FIXTURE_OLD, 3, 3, 64, 2, 32, 2, true } },
          { "RRDBNet+, 64 features, 2 blocks, growth 32, x4", 4, 1, 3, 34, 1602371 } },
        { "small, gray", { ESRGAN, .esrgan = { FIXTURE_NEW, 4, 1, 24, 2, 12, 2, false } },
          { "RRDBNet, 24 features, 2 blocks, growth 12, pixel-unshuffle, gray, x2", 2, 2, 1, 68,
            224545 } },
        { "spanx2_ch48.pth", { SPAN, .span = { 3, 48, 6, 1, 2, false } },
          { "SPAN, 48 features, 6 blocks, x2", 2, 1, 3, 21, 410700 } },
        { "spanx4_ch48.pth, 4xNomosUni_span_multijpg.pth",
          { SPAN, .span = { 3, 48, 6, 1, 4, false } },
          { "SPAN, 48 features, 6 blocks, x4", 4, 1, 3, 21, 426288 } },
        { "as the community's trainer has it, norm off",
          { SPAN, .is_not_normed = true, .span = { 3, 48, 6, 1, 2, false } },
          { "SPAN, 48 features, 6 blocks, not normed, x2", 2, 1, 3, 21, 410700 } },
        { "2x_AnimeJaNai_HD_V3.1_Balanced_SPANF3_b8f64_unshuffle",
          { SPAN, .span = { 3, 64, 8, 2, 4, true } },
          { "SPANF3, 64 features, 8 blocks, pixel-unshuffle, x2", 2, 2, 3, 52, 970672 } },
        { "4x SPANF3, gray", { SPAN, .span = { 1, 48, 5, 1, 4, true } },
          { "SPANF3, 48 features, 5 blocks, gray, x4", 4, 1, 1, 17, 340192 } },
        { "flownet.pkl of 4.15, 4.17 to 4.19, 4.24",
          { RIFE, .rife = { { 192, 128, 96, 64 }, 32, 8, 0 } },
          { "RIFE, 4 blocks of 192 to 64 features, pictures to 1/8, interpolation, x1", 1, 32, 3,
            128, 5364312 } },
        { "4.21 to 4.23", { RIFE, .rife = { { 256, 192, 96, 48 }, 32, 8, 8 } },
          { "RIFE, 4 blocks of 256 to 48 features, pictures to 1/8, interpolation, x1", 1, 32, 3,
            128, 9322416 } },
        { "4.25.lite", { RIFE, .rife = { { 192, 128, 96, 64, 24 }, 16, 4, 8 } },
          { "RIFE, 5 blocks of 192 to 24 features, pictures to 1/32, interpolation, x1", 1, 128, 3,
            128, 5622700 } },
        { "4.26.heavy", { RIFE, .rife = { { 192, 128, 96, 64, 32 }, 16, 16, 8 } },
          { "RIFE, 5 blocks of 192 to 32 features, pictures to 1/16, interpolation, x1", 1, 64, 3,
            128, 5723156 } },
        { "basicvsr_plusplus_c64n7_8x1_600k_reds4",
          { BASICVSR, .basicvsr = { 64, 7, 64, 432, false, "generator." } },
          { "BasicVSR++, 64 features, 7 blocks, x4", 4, 1, 3, 16, 7322927 } },
        /* Narrower than those, which have 64 and 128. */
        { "basicvsr_plusplus_deblur, _denoise",
          { BASICVSR, .basicvsr = { 16, 15, 64, 432, true, "" } },
          { "BasicVSR++, 16 features, 15 blocks, x1", 1, 4, 3, 64, 2216735 } },
        { "basicvsr_plusplus_c128n25_ntire_decompress",
          { BASICVSR, .basicvsr = { 16, 25, 64, 432, true, "module." } },
          { "BasicVSR++, 16 features, 25 blocks, x1", 1, 4, 3, 64, 2402335 } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct fixture f = { .dtype = "F16", .metadata = cases[i].metadata };

        add(&f, &cases[i].sizes);
        /* What only training has. */
        if (cases[i].sizes.kind == RIFE) {
            fixture_add(&f, "teacher.conv0.0.0.weight", (int[]){ 2 }, 1);
            fixture_add(&f, "caltime.0.weight", (int[]){ 2 }, 1);
        }
        if (cases[i].sizes.kind == BASICVSR && cases[i].sizes.basicvsr.prefix[0] == 'g')
            fixture_add(&f, "step_counter", (int[]){ 1 }, 1);
        check(cases[i].file, &f, (int)cases[i].sizes.kind, &cases[i].wanted);
    }
}

/* Refused with this id, in a sentence that has both parts. */
static void expect_refused(struct fixture *f, const char *id, const char *part, const char *other)
{
    struct vrt_network *network;
    struct vrt_error error = { 0 };

    expect_int(fixture_load(f, &network, &error), -EINVAL);
    fprintf(stderr, "  %s\n", error.message);
    expect_str(error.id, id);
    expect_contains(error.message, "net.safetensors");
    expect_contains(error.message, part);
    expect_contains(error.message, other);
}

static void test_missing(void)
{
    static const struct sizes compact = { COMPACT, .compact = { 3, 8, 1, 2, 'p' } };
    static const struct sizes esrgan = { ESRGAN,
                                         .esrgan = { FIXTURE_NEW, 3, 3, 8, 1, 4, 2, false } };
    static const struct {
        const struct sizes *sizes;
        const char *name;
    } cases[] = {
        { &compact, "body.0.bias" }, { &compact, "body.2.weight" }, { &compact, "body.3.weight" },
        { &compact, "body.4.bias" }, { &esrgan, "conv_first.bias" },
        { &esrgan, "body.0.rdb3.conv5.bias" }, { &esrgan, "conv_body.bias" },
        { &esrgan, "conv_up2.bias" }, { &esrgan, "conv_hr.bias" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct fixture f = { .left_out = cases[i].name };

        add(&f, cases[i].sizes);
        expect_refused(&f, VRT_CHECKPOINT_E_INVALID, cases[i].name, "] is missing");
    }
}

static const struct fixture_compact small = { 3, 8, 1, 2, 'p' };

/* Bits of f32 that aren't a number, in the middle of one tensor; and integers. */
static void test_values(void)
{
    struct fixture f = { .seed = 1 }, g = { .dtype = "I32" };
    const uint32_t infinite = 0x7f800000;

    fixture_add_compact(&f, &small);
    memcpy(f.data.data + 400, &infinite, 4);
    expect_refused(&f, VRT_CHECKPOINT_E_INVALID, "\"body.0.weight\"", "not finite");
    fixture_add_compact(&g, &small);
    expect_refused(&g, VRT_CHECKPOINT_E_INVALID, "\"body.0.weight\"", "i32");
}

/* Numbers of a file that are finite, and what is made of them isn't. */
static void test_made_values(void)
{
    struct fixture span = { .weight = 1e30f }, rife = { .weight = 1e30f };

    fixture_add_span(&span, &(struct fixture_span){ 3, 4, 1, 1, 2, false });
    expect_refused(&span, VRT_CHECKPOINT_E_INVALID, "\"conv_1.eval_conv.weight\"", "not finite");
    fixture_add_rife(&rife, &(struct fixture_rife){ { 8, 8, 8, 8 }, 4, 2, 0 });
    expect_refused(&rife, VRT_CHECKPOINT_E_INVALID, "\"block0.convblock.0.weight\"", "not finite");
}

/* A tensor expanded by a stride of 0 takes no bytes of its file, and must take none of ours. */
static void test_too_large(void)
{
    struct fixture f = { 0 };

    /* Extents that are possible one by one, of a file that holds no bytes of them. */
    fixture_add(&f, "body.0.weight", (int[]){ 100000, 3, 3, 3 }, 4);
    fixture_add(&f, "body.1.weight", (int[]){ 1 }, 1);
    expect_refused(&f, "model.unknown_architecture", "holds no network", "\"body.0.weight\"");
}

static void test_unknown(void)
{
    static const struct {
        const char *first, *second, *part;
    } cases[] = {
        { "layers.0.residual_group.blocks.0.conv_block.cab.0.weight", "conv_first.weight",
          "looks like HAT, which vrtd doesn't run" },
        { "layers.0.blocks.0.attn.attns.0.rpe_biases", "conv_first.weight", "looks like DAT," },
        { "deform_align.backward_1.conv_offset.0.weight", "conv_first.weight",
          "looks like RVRT," },
        { "conv0.weight", "conv9.weight", "looks like the discriminator of a training run" },
        { "encoder.weight", "decoder.weight", "\"encoder.weight\", \"decoder.weight\"" },
        { "encode.cnn0.weight", "block0.weight", "\"encode.cnn0.weight\", \"block0.weight\"" },
        { "body.0.weight", "body.1.weight", "\"body.0.weight\", \"body.1.weight\"" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f = { 0 };

        fixture_add(&f, cases[i].first, (int[]){ 4, 4 }, 2);
        fixture_add(&f, cases[i].second, (int[]){ 4 }, 1);
        expect_refused(&f, VRT_NETWORK_E_UNKNOWN, cases[i].part,
                       "BasicVSR++, SRVGGNetCompact, RRDBNet, RIFE, SPAN, SwinIR and VRT");
    }
}

/* Sizes and tensors that no file of such a network has. */
static void test_sizes(void)
{
    const struct {
        struct sizes sizes;
        const char *part;
        struct fixture_tensor more;
    } cases[] = {
        { { BY_HAND, .by_hand = { 3, 1, 12 } }, "\"body.1.weight\" has the shape [1], not [8]" },
        { { BY_HAND, .by_hand = { 5, 8, 12 } },
          "\"body.0.weight\" has the shape [8,3,5,5], not [8,3,3,3]" },
        { { BY_HAND, .by_hand = { 3, 8, 13 } },
          "body.2.weight has 13 outputs, not 3 times the square of a scale from 1 to 8" },
        { { BY_HAND, .by_hand = { 3, 8, 3 * 81 } }, "body.2.weight has 243 outputs, not 3 times" },
        { { BY_HAND, .by_hand = { 3, 8, 0 } },
          "layers end with body.1, which isn't the place of a convolution" },
        { { COMPACT, .compact = { 4, 8, 1, 2, 'p' } },
          "for pictures of 4 channels; vrtd runs those for 3 (colour) and 1 (gray)" },
        { { COMPACT, .compact = { 3, 8, 1, 2, 'p' } },
          "\"am_list.0.fc.0.weight\" of shape [5,7]",
          { "am_list.0.fc.0.weight", (const int[]){ 5, 7 }, 2 } },
        { { COMPACT, .compact = { 3, 8, 1, 2, 'p' } },
          "\"body.4.weight\" has the shape [12,8,3,3], not [8,8,3,3]",
          { "body.999998.weight", (const int[]){ 12, 8, 3, 3 }, 4 } },
        { { ESRGAN, .esrgan = { FIXTURE_NEW, 3, 3, 8, 1, 4, 2, false } }, "\"step\" of shape []",
          { "step", NULL, 0 } },
        { { ESRGAN, .esrgan = { FIXTURE_NEW, 5, 3, 8, 1, 4, 2, false } },
          "has 5 inputs, which doesn't fit 3 channels and an enlargement by 4" },
        { { ESRGAN, .esrgan = { FIXTURE_NEW, 4, 4, 8, 1, 4, 2, false } },
          "for pictures of 4 channels; vrtd runs those for 3 (colour) and 1 (gray)" },
        { { ESRGAN, .esrgan = { FIXTURE_NEW, 3, 3, 8, 1, 4, 5, false } }, "up to 4 doublings" },
        { { ESRGAN, .esrgan = { FIXTURE_OLD, 3, 3, 8, 1, 4, 2, false } }, "up to 4 doublings",
          { "model.11.bias", NULL, 0 } },
        { { ESRGAN, .esrgan = { FIXTURE_NEW, 3, 3, 8, 1, 4, 2, false } },
          "of 257 blocks; vrtd runs those of 1 to 256", { "body.256.bias", NULL, 0 } },
        /* Folding 4x4 pixels and doubling once would make the picture smaller. */
        { { ESRGAN, .esrgan = { FIXTURE_TRUNK, 48, 3, 8, 1, 4, 1, false } },
          "has 48 inputs, which doesn't fit 3 channels and an enlargement by 2" },
        { { BASICVSR, .basicvsr = { 1025, 0, 8, 432, false, "" } }, "of 1025 features" },
        { { BASICVSR, .basicvsr = { 8, 129, 8, 432, false, "" } }, "of 129 blocks" },
        { { BASICVSR, .basicvsr = { 8, 1, 8, 433, false, "" } },
          "conv_offset.6.weight has 433 outputs, not 27 for each" },
        { { BASICVSR, .basicvsr = { 8, 1, 8, 27, false, "" } },
          "conv_offset.6.weight has 27 outputs" },
        { { BASICVSR, .basicvsr = { 9, 1, 8, 432, false, "" } },
          "that 18 channels can be split into" },
        { { RIFE, .rife = { { 8, 8, 8 }, 4, 2, 0 } }, "of 3 blocks, where vrtd knows those of 4" },
        { { RIFE, .rife = { { 8, 8, 8, 7 }, 4, 2, 0 } },
          "\"block3.conv0.1.0.weight\" has 7 outputs" },
        { { RIFE, .rife = { { 8, 8, 8, 8, 1026 }, 4, 2, 0 } },
          "\"block4.conv0.1.0.weight\" has 1026 outputs" },
        { { SPAN, .span = { 3, 257, 1, 1, 2, false } }, "has 257 outputs, not 1 to 256" },
        { { SPAN, .span = { 3, 4, 65, 1, 2, false } }, "of 65 blocks" },
        { { SPAN, .span = { 3, 4, 1, 1, 9, false } }, "are for 3 inputs and 243 outputs" },
        { { SPAN, .span = { 2, 4, 1, 1, 2, false } }, "are for 2 inputs and 8 outputs" },
        { { SPAN, .span = { 3, 4, 1, 2, 2, true } }, "are for 12 inputs and 12 outputs" },
        { { SPAN, .span = { 1, 4, 1, 1, 2, false } }, "for gray pictures that are to be normed" },
    };
    static const char *const networks[] = {
        [COMPACT] = "is an SRVGGNetCompact network", [ESRGAN] = "is an RRDBNet network",
        [SPAN] = "is a SPAN network", [RIFE] = "is a RIFE network",
        [BASICVSR] = "is a BasicVSR++ network", [BY_HAND] = "is an SRVGGNetCompact network",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct fixture f = { .dtype = "F16" };

        add(&f, &cases[i].sizes);
        if (cases[i].more.name)
            fixture_add(&f, cases[i].more.name, cases[i].more.dims, cases[i].more.n_dims);
        expect_refused(&f, VRT_CHECKPOINT_E_INVALID, networks[cases[i].sizes.kind],
                       cases[i].part);
    }
}

/* Names of any length and content must not spoil the sentence. */
static void test_long_names(void)
{
    struct fixture f = { 0 };
    char name[240] = "";

    for (size_t i = 0; i + 1 < sizeof(name); i++)
        name[i] = (char)('a' + i % 26);
    for (int i = 0; i < 6; i++) {
        name[0] = (char)('a' + i);
        fixture_add(&f, name, (int[]){ 1, 1, 1, 1, 1, 1, 1, 1 }, 8);
    }
    expect_refused(&f, VRT_NETWORK_E_UNKNOWN, "abcdefgh", ", ...");
}

static uint64_t checksum_of(const struct fixture_compact *c, uint64_t seed, float add)
{
    struct fixture f = { .seed = seed };
    float value;

    fixture_add_compact(&f, c);
    memcpy(&value, f.data.data + f.data.size_bytes - 4, 4);
    value += add;
    memcpy(f.data.data + f.data.size_bytes - 4, &value, 4);

    struct vrt_network *network = fixture_network(&f);
    uint64_t checksum = vrt_network_checksum(network);
    expect_true(vrt_network_ref(network) == network);
    expect_true(vrt_network_unref(network) == NULL);
    expect_int(vrt_network_info(network)->scale, c->scale);
    vrt_network_unref(network);
    return checksum;
}

static void test_checksum(void)
{
    uint64_t first = checksum_of(&small, 1, 0);

    expect_true(first == checksum_of(&small, 1, 0));
    expect_true(first != checksum_of(&small, 2, 0));
    expect_true(first != checksum_of(&small, 1, 0x1p-10f));
    expect_true(first != checksum_of(&(struct fixture_compact){ 3, 9, 1, 2, 'p' }, 1, 0));
}

TEST_MAIN(
    { "files", test_files }, { "sizes", test_sizes }, { "missing", test_missing },
    { "values", test_values }, { "made-values", test_made_values }, { "too-large", test_too_large },
    { "unknown", test_unknown }, { "long-names", test_long_names }, { "checksum", test_checksum },
)
