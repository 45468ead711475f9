/* SPDX-License-Identifier: MIT */

/* Which bitrate makes a result as large as was asked for; and whether the disk has room for it. */

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "workers/media/disk-check.h"
#include "workers/media/target-size.h"

#define FPS 25
#define N_FRAMES 3000               /* two minutes */

static struct vrt_encoder_params encoder = {
    .codec = VRT_CODEC_H264, .quality = VRT_UNKNOWN, .bitrate = VRT_UNKNOWN, .n_threads = 4,
    .format = { .width = 640, .height = 360, .depth = 8, .layout = VRT_LAYOUT_YUV,
                .chroma_shift_x = 1, .chroma_shift_y = 1 },
    .time_base = { 1, FPS }, .fps = { FPS, 1 },
};

static enum vrt_container container = VRT_CONTAINER_MKV;

static int choose(int64_t size_bytes, int64_t rest_bytes, int64_t n_frames, int64_t *ret_bitrate,
                  struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_target_size target = {
        .size_bytes = size_bytes, .container = container,
        .rest = { .size_bytes = rest_bytes, .n_packets = 5000 },
        .encoder = &encoder, .n_frames = n_frames,
    };

    *error = (struct vrt_error){ .id = NULL };
    warnings->n = 0;
    return vrt_target_size_bitrate(&target, ret_bitrate, warnings, error);
}

static void test_bitrate(void)
{
    struct vrt_warnings warnings = { .n = 0 };
    struct vrt_error error;
    int64_t bitrate;

    expect_int(choose(30000000, 2000000, N_FRAMES, &bitrate, &warnings, &error), 0);
    expect_int(warnings.n, 0);
    /* All but the sound, half a percent, and some bytes for each packet and second. */
    expect_near((double)bitrate, (30e6 * 0.995 - 2e6 - 2000 - 9 * (N_FRAMES + 5000) - 20 * 120) *
                8 * FPS / N_FRAMES, 1);
    container = VRT_CONTAINER_MP4;
    expect_int(choose(30000000, 2000000, N_FRAMES, &bitrate, &warnings, &error), 0);
    expect_near((double)bitrate, (30e6 * 0.995 - 2e6 - 2000 - 16 * N_FRAMES - 8 * 5000) * 8 * FPS /
                N_FRAMES, 1);
    container = VRT_CONTAINER_TS;
    expect_int(choose(30000000, 2000000, N_FRAMES, &bitrate, &warnings, &error), 0);
    expect_near((double)bitrate, (30e6 * (0.995 - 4.0 / 184) - 2e6 * (1 + 115.0 / 2930) -
                                  115 * N_FRAMES - 4200 * 120) * 8 * FPS / N_FRAMES, 1);
    container = VRT_CONTAINER_MKV;
    expect_int(choose(800000000000, 0, N_FRAMES, &bitrate, &warnings, &error), 0);
    expect_int(warnings.n, 1);
    expect_contains(warnings.sentences[0], "smaller than 800 GB");
    expect_int(bitrate, 640LL * 360 * 3 / 2 * 8 * FPS);
    /* Of one frame likewise; of large frames it's no more than any encoder takes. */
    expect_int(choose(800000000000, 0, 1, &bitrate, &warnings, &error), 0);
    expect_int(bitrate, 640LL * 360 * 3 / 2 * 8 * FPS);
    encoder.format.width = encoder.format.height = 8192;
    expect_int(choose(800000000000, 0, N_FRAMES, &bitrate, &warnings, &error), 0);
    expect_int(bitrate, VRT_BITRATE_MAX);
    encoder.format.width = 640;
    encoder.format.height = 360;
}

static void test_refusals(void)
{
    struct vrt_warnings warnings = { .n = 0 };
    struct vrt_error error;
    int64_t bitrate = -7;

    expect_int(choose(2000000, 2000000, N_FRAMES, &bitrate, &warnings, &error), -EINVAL);
    expect_contains(error.message, "2 MB is too small for 3000 frames of 640x360");
    expect_int(choose(30000000, 0, -1, &bitrate, &warnings, &error), -EINVAL);
    expect_contains(error.message, "length is known");
    expect_str(error.id, "output.quality");
    expect_int(bitrate, -7);
    expect_int(choose(999600, 2000000, N_FRAMES, &bitrate, &warnings, &error), -EINVAL);
    expect_contains(error.message, "1 MB is too small");
    /* What is said to be enough is. */
    expect_int(choose(2000000, 1950000, N_FRAMES, &bitrate, &warnings, &error), -EINVAL);
    expect_contains(error.message, "ask for 2.17 MB");
    expect_int(choose(2175000, 1950000, N_FRAMES, &bitrate, &warnings, &error), 0);
    /* Ten days of 300 frames: no encoder takes less than 1000 bits a second. */
    struct vrt_encoder_params slides = encoder, lossless = encoder;
    slides.fps = (struct vrt_rational){ 1, 2880 };
    const struct vrt_target_size target = {
        .size_bytes = 1000000, .container = VRT_CONTAINER_MKV, .encoder = &slides, .n_frames = 300,
    };
    expect_int(vrt_target_size_bitrate(&target, &bitrate, &warnings, &error), -EINVAL);
    expect_contains(error.message, "ask for 127 MB");
    struct vrt_target_size other = target;
    other.encoder = &lossless;
    lossless.codec = VRT_CODEC_FFV1;
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_target_size_bitrate(&other, &bitrate, &warnings, &error), -EINVAL);
    expect_contains(error.message, "FFV1 has no bitrate");
}

/* An encoder that always takes more than it was told, or less. */
static void test_sum(void)
{
    static const double misses[] = { 1, 1.25, 0.75, 1.6, 0.6 };
    const int64_t segment = 96;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(misses); i++) {
        struct vrt_target_size_course course = {
            .bitrate = 2000000, .fps = encoder.fps, .n_frames = N_FRAMES,
        };
        double size_bytes = 0;
        while (course.n_done < N_FRAMES) {
            const int64_t n = VRT_MIN(segment, N_FRAMES - course.n_done);
            const double took = (double)vrt_target_size_next(&course) / 8 * (double)n / FPS *
                                misses[i];
            size_bytes += took;
            vrt_target_size_note(&course, n, (int64_t)took + 500 + 36 * n);
        }
        expect_near(size_bytes / (2e6 / 8 * N_FRAMES / FPS), 1, 0.01);
        /* What its container takes is none of the encoder's. */
        expect_near(course.took_bytes, size_bytes, 1.0 * N_FRAMES / segment + 1);
    }
}

/* Never out of bounds, of frames that nobody foresaw neither. */
static void test_bounds(void)
{
    static const struct {
        int64_t n_done;
        double told, took, times;
    } cases[] = {
        { 0, 0, 0, 1 }, { 2900, 3e7, 1e9, 0.5 }, { 2900, 3e7, 100, 2 }, { 3000, 3e7, 3e7, 0.5 },
        { 3000, 2e7, 2e7, 0.5 }, { 2999, 29985e3, 29985e3, 1.5 },
        { 3100, 1e7, 1e7, 0.5 }, { 1500, 15e6, 15e6, 1 }, { 1500, 15e6, 14e6, 16.0 / 14 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_target_size_course course = {
            .bitrate = 2000000, .fps = encoder.fps, .n_frames = N_FRAMES,
            .n_done = cases[i].n_done, .told_bytes = cases[i].told, .took_bytes = cases[i].took,
        };
        expect_near((double)vrt_target_size_next(&course), 2e6 * cases[i].times, 1);
    }
}

/* Results so large as so many times what the disk of both has room for. */
static void test_disk(void)
{
    static const struct {
        double times;
        int n_warnings;
        const char *says;           /* the last of them, of so many times the result */
        int share;
    } rows[] = {
        { 0.9, 0, NULL, 0 }, { 1.7, 1, "files may take about %.1f MiB", 2 },
        { 3.5, 2, "result may take about %.1f MiB, and the disk of film.mkv has", 1 },
    };
    const int fd = open("/var/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const double frame_bytes = vrt_encoder_frame_bytes(&encoder);
    struct vrt_disk_check check = { &encoder, -1, fd, fd, "film.mkv" };
    struct vrt_warnings warnings = { .n = 0 };
    struct statvfs disk;

    expect_int(fstatvfs(fd, &disk), 0);
    expect_int(vrt_disk_check_run(&check, &warnings), -1);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const double room = (double)disk.f_bavail * (double)disk.f_frsize;
        char said[128];
        check.n_frames = (int64_t)(rows[i].times * room / frame_bytes);
        const double bytes = (double)check.n_frames * frame_bytes;
        warnings.n = 0;
        expect_int(vrt_disk_check_run(&check, &warnings), (int64_t)bytes);
        expect_int(warnings.n, rows[i].n_warnings);
        if (!rows[i].says)
            continue;
        snprintf(said, sizeof(said), rows[i].says, bytes * rows[i].share / (1 << 20));
        expect_contains(warnings.sentences[warnings.n - 1], said);
    }
    close(fd);
    /* Of what nobody can tell nothing is said. */
    check = (struct vrt_disk_check){ &encoder, INT64_MAX, -1, -1, "film.mkv" };
    warnings.n = 0;
    expect_int(vrt_disk_check_run(&check, &warnings), -1);
    expect_int(warnings.n, 0);
}

TEST_MAIN(
    { "bitrate", test_bitrate },   { "refusals", test_refusals },
    { "sum", test_sum },           { "bounds", test_bounds },
    { "disk", test_disk },
)
