/* SPDX-License-Identifier: MIT */
/* daemon/jobs/spool: what a job's working files will take, a result that is made again, and what
 * was uploaded. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "daemon/jobs/job.h"
#include "daemon/jobs/spool.h"

static struct vrt_segment_record segments[] = {
    { .number = 0, .n_frames = 10, .size_bytes = 1000 },
    { .number = 1, .n_frames = 10, .size_bytes = 3000 },
};

static void test_nothing_is_known(void)
{
    const struct vrt_job job = { .info.frames_total = -1, .output_bytes = -1 };

    expect_int(vrt_spool_stored_bytes(&job), 0);
    expect_int(vrt_spool_output_bytes(&job), 0);
    expect_int(vrt_spool_needed_bytes(&job), 0);
    expect_int(vrt_spool_next_bytes(&job), 0);
}

/* The segments, and all of them joined. */
static void test_estimate(void)
{
    const struct vrt_job job = { .info.frames_total = 100, .output_bytes = 5000 };

    expect_int(vrt_spool_output_bytes(&job), 5000);
    expect_int(vrt_spool_needed_bytes(&job), 10000);
    expect_int(vrt_spool_next_bytes(&job), 0);
}

/* What is stored says more than the estimate, and has to be joined too. */
static void test_stored(void)
{
    struct vrt_job job = { .info.frames_total = 100, .output_bytes = 7, .segments = segments,
                           .n_segments = VRT_ARRAY_SIZE(segments) };

    expect_int(vrt_spool_stored_bytes(&job), 4000);
    expect_int(vrt_spool_output_bytes(&job), 20000);
    expect_int(vrt_spool_needed_bytes(&job), 36000);
    expect_int(vrt_spool_next_bytes(&job), 6000);
    /* All there is: only the join is left. */
    job.info.frames_total = 20;
    expect_int(vrt_spool_output_bytes(&job), 4000);
    expect_int(vrt_spool_needed_bytes(&job), 4000);
    /* The number of frames was wrong, or isn't known. */
    job.info.frames_total = 3;
    expect_int(vrt_spool_output_bytes(&job), 4000);
    job.info.frames_total = -1;
    job.output_bytes = 9000;
    expect_int(vrt_spool_output_bytes(&job), 9000);
    job.output_bytes = -1;
    expect_int(vrt_spool_needed_bytes(&job), 4000);
}

/* Numbers that no video has make no negative ones. */
/* A job is tried again before its old result is removed, which takes its time. */
static void test_result_made_again(void)
{
    char folder[] = "/tmp/vrtd-spool-XXXXXX", old[64];
    VRT_CLEANUP(vrt_closep) int spool_fd = -1;
    VRT_CLEANUP(vrt_closep) int fd = -1;
    VRT_CLEANUP(vrt_closep) int again_fd = -1;

    expect_true(mkdtemp(folder) != NULL);
    spool_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_int(vrt_spool_detach_result(spool_fd, 7, old, sizeof(old)), -ENOENT);
    expect_int(vrt_spool_make_result(spool_fd, 7, &fd), 0);
    expect_int(vrt_spool_detach_result(spool_fd, 7, old, sizeof(old)), 0);
    expect_int(vrt_spool_open_result(spool_fd, 7), -1);
    expect_int(vrt_spool_make_result(spool_fd, 7, &again_fd), 0);
    vrt_spool_remove(spool_fd, old);
    vrt_closep(&fd);
    fd = vrt_spool_open_result(spool_fd, 7);
    expect_true(fd >= 0);
    expect_int(vrt_spool_detach_result(spool_fd, 7, old, sizeof(old)), 0);
    vrt_spool_remove(spool_fd, old);
    expect_int(rmdir(folder), 0);
}

/* What was uploaded stays the job's where what its runs made goes. */
static void test_taken_back(void)
{
    static const enum vrt_job_file files[] = { VRT_JOB_INPUT, VRT_JOB_REFERENCE };
    char folder[] = "/tmp/vrtd-spool-XXXXXX", old[64];
    VRT_CLEANUP(vrt_closep) int spool_fd = -1;
    VRT_CLEANUP(vrt_closep) int job_fd = -1;

    expect_true(mkdtemp(folder) != NULL);
    spool_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_int(vrt_spool_give_file(spool_fd, "upload", 7, VRT_JOB_INPUT), -ENOENT);
    expect_int(vrt_spool_file_bytes(spool_fd, 7, VRT_JOB_INPUT), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++) {
        VRT_CLEANUP(vrt_closep) int fd = openat(spool_fd, "upload", O_WRONLY | O_CREAT, 0600);
        expect_int(ftruncate(fd, 100 + (int)i), 0);
        expect_int(vrt_spool_give_file(spool_fd, "upload", 7, files[i]), 0);
    }
    expect_int(vrt_spool_open(spool_fd, 7, &job_fd), 0);
    close(openat(job_fd, "00000.seg", O_WRONLY | O_CREAT, 0600));
    expect_int(vrt_spool_detach(spool_fd, 7, old, sizeof(old)), 0);
    vrt_spool_take_back(spool_fd, old, 7);
    vrt_spool_remove(spool_fd, old);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++) {
        VRT_CLEANUP(vrt_closep) int fd = vrt_spool_open_file(spool_fd, 7, files[i]);
        expect_true(fd >= 0);
        expect_int(vrt_spool_file_bytes(spool_fd, 7, files[i]), 100 + (int)i);
    }
    expect_true(faccessat(spool_fd, "7/00000.seg", F_OK, 0) < 0);
    vrt_spool_remove(spool_fd, "7");
    expect_int(rmdir(folder), 0);
}

static void test_extremes(void)
{
    static struct vrt_segment_record odd[] = {
        { .n_frames = 1, .size_bytes = INT64_MAX },
        { .n_frames = INT64_MAX, .size_bytes = INT64_MAX },
        { .n_frames = -5, .size_bytes = -5 },
    };
    static const int64_t numbers[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++)
        for (size_t n = 0; n <= VRT_ARRAY_SIZE(odd); n++) {
            const struct vrt_job job = {
                .info.frames_total = numbers[i],
                .output_bytes = numbers[i],
                .segments = odd,
                .n_segments = n,
            };
            expect_true(vrt_spool_stored_bytes(&job) >= 0);
            expect_true(vrt_spool_output_bytes(&job) >= vrt_spool_stored_bytes(&job));
            expect_true(vrt_spool_needed_bytes(&job) >= vrt_spool_output_bytes(&job));
            expect_true(vrt_spool_next_bytes(&job) >= 0);
        }
}

TEST_MAIN(
    { "nothing-is-known", test_nothing_is_known },
    { "estimate", test_estimate },
    { "stored", test_stored },
    { "extremes", test_extremes },
    { "result-made-again", test_result_made_again },
    { "taken-back", test_taken_back },
)
