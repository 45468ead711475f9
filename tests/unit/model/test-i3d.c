/* SPDX-License-Identifier: MIT */
/*
 * I3D against what PyTorch computed of it (tests/data/fvd, make-fvd.py), weights and clips by rule.
 *
 * usage: test-i3d DEVICE CASE...
 *     CASE  "small", "wide", "full": the clip; "files": what is refused; "videos": FVD of two, on
 *           the device that it chooses; "ends": what ends it
 */

#include "tests/unit/test.h"

#include <errno.h>
#include <unistd.h>

#include "engine/graph-executor.h"
#include "model/fvd/fvd.h"
#include "model/fvd/i3d.h"
#include "tests/unit/environment.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/model-fixture.h"
#include "tests/unit/model/weight-rule.h"

#define SEED 4242

/* What is done to a file: the tensor `name` is left out, is there by another name as well, or
 * `fill` is all that it holds. */
struct damage {
    const char *name, *as_well;
    const float *fill;
    bool is_left_out;
    int rows_more;
};

static void add_tensor(struct fixture *f, const char *name, const int *dims, int n_dims,
                       const struct damage *damage)
{
    const struct fixture_tensor tensor = { name, (int[]){ dims[0] + damage->rows_more }, 1 };
    float values[512];

    if (damage->is_left_out)
        return;
    if (damage->as_well)
        fixture_add(f, damage->as_well, dims, n_dims);
    if (n_dims > 1) {
        int more[5];

        memcpy(more, dims, (size_t)n_dims * sizeof(*more));
        more[1] += damage->rows_more;
        fixture_add(f, name, more, n_dims);
        return;
    }
    expect_true(tensor.dims[0] <= 512);
    for (int i = 0; i < tensor.dims[0]; i++)
        values[i] = damage->fill ? *damage->fill : 1;
    fixture_add_data(f, "F32", &tensor, values, (size_t)tensor.dims[0] * sizeof(float));
}

/* A file with all tensors; where one of the first layers is damaged, with no more than those.
 * Return: its descriptor. */
static int make_file(uint64_t seed, const struct damage *damage)
{
    const bool is_short = damage && strncmp(damage->name, "Conv3d_", 7) == 0;
    struct vrt_checkpoint *golden = golden_open("fvd/i3d-small");
    struct fixture f = { .seed = seed, .has_norms = true };

    for (int i = 0; i < vrt_checkpoint_n_tensors(golden); i++) {
        int dims[5], n_dims;
        const char *name = golden_nth_parameter(golden, i, dims, &n_dims);

        if (!name || (is_short && strncmp(name, "Conv3d_", 7) != 0))
            continue;
        if (damage && strcmp(name, damage->name) == 0)
            add_tensor(&f, name, dims, n_dims, damage);
        else
            fixture_add(&f, name, dims, n_dims);
    }
    struct vrt_buf file = fixture_file(&f);
    FILE *stream = tmpfile();
    expect_true(stream);
    const int fd = dup(fileno(stream));
    expect_true(fd >= 0);
    fclose(stream);
    expect_int(pwrite(fd, file.data, file.size_bytes, 0), file.size_bytes);
    vrt_buf_done(&file);
    vrt_checkpoint_free(golden);
    return fd;
}

/* Runs the graph on clip x, [D,H,W,3] in [-1,1]. */
static void run(const struct vrt_i3d *i3d, const char *device_name, struct vrt_shape shape,
                const float *x, float logits[VRT_I3D_LOGITS])
{
    const size_t n_bytes = (size_t)vrt_shape_count(shape) * sizeof(float);
    struct vrt_registry *registry;
    struct vrt_device *device = fixture_open_device(device_name, &registry);
    struct vrt_graph *graph;
    struct vrt_binding io[2] = { 0 };
    struct fixture_params weights;

    weights.params = vrt_i3d_params(i3d, &weights.n);
    expect_int(vrt_graph_new(&graph), 0);
    const struct vrt_tensor from = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    const struct vrt_tensor to = vrt_graph_output(graph, VRT_DTYPE_F32, (struct vrt_shape){
        1, 1, 1, VRT_I3D_LOGITS });
    expect_int(vrt_i3d_build(i3d, graph, &from, &to), 0);
    expect_int(vrt_buffer_new(device, n_bytes, &io[0].buffer), 0);
    expect_int(vrt_buffer_new(device, VRT_I3D_LOGITS * sizeof(float), &io[1].buffer), 0);
    expect_int(vrt_buffer_write(device, io[0].buffer, 0, x, n_bytes), 0);
    fixture_run_graph(device, &weights, graph, VRT_DTYPE_F32, io);
    expect_int(vrt_buffer_read(device, io[1].buffer, 0, logits, VRT_I3D_LOGITS * sizeof(float)),
               0);
    vrt_buffer_free(device, io[0].buffer);
    vrt_buffer_free(device, io[1].buffer);
    vrt_graph_free(graph);
    vrt_device_close(device);
    vrt_registry_free(registry);
}

/* rule_video(), channels last, less what makes it `scale` * x + `shift`. */
static float *clip(const int dims[4], float scale, float shift)
{
    const size_t places = (size_t)dims[2] * (size_t)dims[3];
    float *x = rule_video(SEED, dims), *made = malloc((size_t)dims[0] * 3 * places * sizeof(*x));

    expect_true(x && made);
    for (size_t d = 0; d < (size_t)dims[0]; d++)
        for (size_t i = 0; i < places; i++)
            for (size_t c = 0; c < 3; c++)
                made[(d * places + i) * 3 + c] = x[(d * 3 + c) * places + i] * scale + shift;
    free(x);
    return made;
}

/* PyTorch's sums are f32 in another order. */
static void check_clip(const struct vrt_i3d *i3d, const char *device, const char *name)
{
    char path[64];
    int dims[4];
    float logits[VRT_I3D_LOGITS];
    double worst = 0, largest = 0;

    snprintf(path, sizeof(path), "fvd/i3d-%s", name);
    struct vrt_checkpoint *golden = golden_open(path);
    const struct golden_samples samples = golden_read(golden, "output");
    for (int i = 0; i < 4; i++)
        dims[i] = golden_int(golden, "input_shape", i);
    float *x = clip(dims, 2, -1);
    run(i3d, device, (struct vrt_shape){ dims[0], dims[2], dims[3], 3 }, x, logits);
    for (int k = 0; k < samples.count; k++) {
        worst = fmax(worst, fabs((double)logits[k * samples.stride] - (double)samples.values[k]));
        largest = fmax(largest, fabs((double)samples.values[k]));
    }
    fprintf(stderr, "%s %s: %.2g relative\n", name, device, worst / largest);
    if (test_looks_at_results())
        expect_true(largest > 0.5 && worst <= 2e-5 * largest);
    free(x);
    free(samples.values);
    vrt_checkpoint_free(golden);
}

static void expect_refused(const struct damage *damage, const char *says)
{
    const int fd = make_file(0, damage);
    struct vrt_error error = { 0 };
    struct vrt_i3d *i3d;

    expect_int(vrt_i3d_read(fd, "net.pt", &i3d, &error), -EINVAL);
    expect_contains(error.message, says);
    expect_contains(error.message, "net.pt");
    close(fd);
}

static void check_files(void)
{
    static const float negative = -1, not_a_number = NAN;
    static const struct {
        struct damage damage;
        const char *says;
    } cases[] = {
        { { "Conv3d_1a_7x7.conv3d.weight", .is_left_out = true }, "holds no I3D" },
        { { "Conv3d_1a_7x7.conv3d.weight", .rows_more = 762 },
          "numbers, which is more than I3D has" },
        { { "Conv3d_1a_7x7.conv3d.weight", .rows_more = -1 },
          "has the shape [64,2,7,7,7], not [64,3,7,7,7]" },
        { { "Conv3d_1a_7x7.bn.bias", .is_left_out = true },
          "\"Conv3d_1a_7x7.bn.bias\" of shape [64] is missing" },
        { { "Conv3d_2b_1x1.bn.running_mean", .fill = &not_a_number }, "not finite numbers" },
        { { "Conv3d_2b_1x1.bn.running_var", .fill = &negative }, "not finite numbers" },
        { { "logits.conv3d.bias", .rows_more = -243 }, "has the shape [157], not [400]" },
        { { "logits.conv3d.bias", .as_well = "more" }, "but for the tensor \"more\"" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++)
        expect_refused(&cases[i].damage, cases[i].says);
}

static bool stop(void *ctx)
{
    (void)ctx;
    return false;
}

/* One clip, of which the 16th frame is answered with `r`. */
static void expect_end(const struct damage *damage, const struct vrt_graph_executor_watch *watch,
                       int r, const char *says)
{
    const size_t n = (size_t)VRT_FVD_SIDE * VRT_FVD_SIDE * 3;
    uint16_t *pictures = calloc(2 * n, sizeof(*pictures));
    const int fd = make_file(SEED, damage);
    struct vrt_error error = { 0 };
    struct vrt_fvd *fvd;

    expect_true(pictures);
    if (vrt_fvd_new(fd, "net.pt", watch, &fvd, &error) < 0)
        test_fail("%s", error.message);
    for (int i = 0; i < VRT_FVD_FRAMES; i++)
        expect_int(vrt_fvd_add(fvd, pictures, &error), i < VRT_FVD_FRAMES - 1 ? 0 : r);
    expect_contains(error.message, says);
    expect_int(vrt_fvd_n_clips(fvd), 0);
    vrt_fvd_free(fvd);
    free(pictures);
    close(fd);
}

/* 33 frames of two videos: two clips, and one that counts for nothing. */
static void check_videos(void)
{
    const int dims[4] = { 32, 3, VRT_FVD_SIDE, VRT_FVD_SIDE }, fd = make_file(SEED, NULL);
    const size_t n = (size_t)VRT_FVD_SIDE * VRT_FVD_SIDE * 3;
    struct vrt_checkpoint *golden = golden_open("fvd/distances");
    struct vrt_error error = { 0 };
    struct vrt_fvd *fvd;
    uint16_t *pictures = calloc(2 * n, sizeof(*pictures));
    float *videos[2] = { clip(dims, 1, 0), clip(dims, 0.75f, 0.125f) }, wanted;
    double found;

    expect_true(pictures);
    if (vrt_fvd_new(fd, "net.pt", &(struct vrt_graph_executor_watch){ 0 }, &fvd, &error) < 0)
        test_fail("%s", error.message);
    for (int i = 0; i < 33; i++) {
        for (int v = 0; v < 2; v++)
            for (size_t k = 0; k < n; k++)
                pictures[(size_t)v * n + k] =
                    (uint16_t)lrintf(videos[v][(size_t)(i % 32) * n + k] * 65535);
        expect_int(vrt_fvd_add(fvd, pictures, &error), 0);
    }
    expect_int(vrt_fvd_n_clips(fvd), 2);
    expect_int(vrt_fvd_distance(fvd, &found), 0);
    vrt_checkpoint_read_f32(vrt_checkpoint_find(golden, "distance.videos"), &wanted);
    fprintf(stderr, "videos: %.8g, by PyTorch %.8g\n", found, (double)wanted);
    expect_near(found, (double)wanted, 1e-4 * (double)wanted);
    vrt_fvd_free(fvd);
    free(pictures);
    free(videos[0]);
    free(videos[1]);
    vrt_checkpoint_free(golden);
    close(fd);
}

static void check_ends(void)
{
    const float large = 2e6f;

    expect_end(NULL, &(struct vrt_graph_executor_watch){ .go_on = stop }, -ECANCELED, "");
    expect_end(&(struct damage){ .name = "logits.conv3d.bias", .fill = &large },
               &(struct vrt_graph_executor_watch){ 0 }, -EINVAL,
               "a logit of 2e+06 of a clip: its weights are no trained ones");
}

int main(int argc, char **argv)
{
    const int fd = make_file(SEED, NULL);
    struct vrt_error error = { 0 };
    struct vrt_i3d *i3d;

    if (argc < 3)
        test_fail("usage: test-i3d DEVICE CASE...");
    if (!fixture_has_device(argv[1]))
        test_skip("this machine has no such device");
    if (vrt_i3d_read(fd, "net.pt", &i3d, &error) < 0)
        test_fail("%s", error.message);
    close(fd);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "files") == 0)
            check_files();
        else if (strcmp(argv[i], "videos") == 0)
            check_videos();
        else if (strcmp(argv[i], "ends") == 0)
            check_ends();
        else
            check_clip(i3d, argv[1], argv[i]);
    }
    vrt_i3d_free(i3d);
    return 0;
}
