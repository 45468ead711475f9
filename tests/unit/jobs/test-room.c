/* SPDX-License-Identifier: MIT */
/* daemon/jobs/spool, disk-space: whose working files are whose, what waits for room, what goes. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/job-remote.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/spool.h"
#include "daemon/uploads/uploads.h"
#include "tests/unit/still-clock.h"

/* A queue of jobs of one user, none of which does anything. */
struct bench {
    struct vrt_queue_context context;
    struct vrt_disk_space space;
    char folder[32], stopped[64];       /* why a run was stopped last */
};

static void ignore_change(void *ctx, struct vrt_job *job)
{
    (void)ctx;
    (void)job;
}

static void note_stop(struct vrt_queue_context *context, struct vrt_job *job,
                      const struct vrt_error *error)
{
    struct bench *bench = vrt_container_of(context, struct bench, context);

    (void)job;
    snprintf(bench->stopped, sizeof(bench->stopped), "%s", error->id);
}

/* `limit`: of the user's working files. */
static void bench_init(struct bench *bench, int64_t limit)
{
    struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];

    vrt_log_set_level(VRT_LOG_ERROR);
    *bench = (struct bench){ .folder = "/tmp/vrtd-spool-XXXXXX" };
    bench->space.context = &bench->context;
    bench->context.params.changed = ignore_change;
    bench->context.events.stop_run = note_stop;
    for (int i = 0; i < VRT_QUOTA_KIND_COUNT; i++)
        limits[i] = (struct vrt_quota_limit){ .per_uid = limit, .all = INT64_MAX };
    expect_int(vrt_quota_new(limits, &bench->context.params.quota), 0);
    vrt_jobs_init(&bench->context.jobs);
    expect_true(mkdtemp(bench->folder));
    bench->context.params.spool_fd = open(bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void bench_done(struct bench *bench)
{
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &bench->context.jobs.all, link) {
        vrt_jobs_remove(&bench->context.jobs, job);
        job->segments = NULL;
        vrt_queue_free_job(job);
    }
    vrt_jobs_done(&bench->context.jobs);
    vrt_quota_free(bench->context.params.quota);
    close(bench->context.params.spool_fd);
    expect_int(rmdir(bench->folder), 0);
}

/* A job in this state, with an error if `id` is not NULL, and a segment of so many bytes if any. */
static struct vrt_job *bench_add(struct bench *bench, int state, const char *id, int64_t bytes)
{
    static struct vrt_segment_record segment[4];
    const int number = (int)bench->context.jobs.n_jobs;
    struct vrt_job *job = NULL;

    expect_int(vrt_queue_make_job(number + 1, 1000, &job), 0);
    job->decision = calloc(1, sizeof(*job->decision));
    job->info.state = state;
    job->info.has_error = id;
    snprintf(job->info.error.id, sizeof(job->info.error.id), "%s", id ? id : "");
    segment[number] = (struct vrt_segment_record){ .size_bytes = bytes };
    job->segments = &segment[number];
    job->n_segments = bytes > 0;
    expect_int(vrt_jobs_add(&bench->context.jobs, job), 0);
    return job;
}

static void expect_held(const struct bench *bench, int64_t bytes)
{
    expect_int(vrt_quota_held(bench->context.params.quota, VRT_QUOTA_SPOOL_BYTES, 1000), bytes);
}

static void make_file(int spool_fd, const char *name, int size)
{
    VRT_CLEANUP(vrt_closep) int fd = openat(spool_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    expect_int(ftruncate(fd, size), 0);
}

static int mode_of(int fd)
{
    struct stat st;

    expect_int(fstat(fd, &st), 0);
    return st.st_mode & 07777;
}

/* A job is tried again before its old result is removed, which takes its time. */
static void test_result_made_again(void)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    VRT_CLEANUP(vrt_closep) int again_fd = -1;
    struct bench bench;
    char old[64];

    bench_init(&bench, 0);
    const int spool_fd = bench.context.params.spool_fd;
    expect_int(vrt_spool_detach_result(spool_fd, 7, old, sizeof(old)), -ENOENT);
    expect_int(vrt_spool_make_result(spool_fd, 7, &fd), 0);
    expect_int(vrt_spool_detach_result(spool_fd, 7, old, sizeof(old)), 0);
    expect_int(vrt_spool_open_result(spool_fd, 7), -1);
    expect_int(vrt_spool_make_result(spool_fd, 7, &again_fd), 0);
    expect_int(mode_of(again_fd), 0600);
    vrt_spool_remove(spool_fd, old);
    vrt_closep(&fd);
    fd = vrt_spool_open_result(spool_fd, 7);
    expect_true(fd >= 0);
    expect_int(vrt_spool_detach_result(spool_fd, 7, old, sizeof(old)), 0);
    vrt_spool_remove(spool_fd, old);
    bench_done(&bench);
}

static void ignore_done(void *ctx, int64_t size_bytes, const struct vrt_error *error)
{
    (void)ctx;
    (void)size_bytes;
    (void)error;
}

/* Return: the number of an upload of the bench's user. */
static int64_t upload(struct bench *bench, uv_loop_t *loop, size_t size)
{
    static const struct vrt_upload_events events = { .done = ignore_done };
    static const char data[200];
    struct vrt_error error = { .id = NULL };
    struct vrt_upload *upload;

    expect_int(vrt_upload_begin(bench->context.params.uploads, 1000, -1, &events, &upload, &error),
               0);
    int64_t id = vrt_upload_id(upload);
    expect_int(vrt_upload_write(upload, data, size, &error), 0);
    vrt_upload_finish(upload);
    uv_run(loop, UV_RUN_DEFAULT);
    return id;
}

/* What was uploaded becomes the job's, charged to its user all the time, and stays where what its
 * runs made goes. */
static void test_uploads(void)
{
    struct vrt_error errors[2] = { { .id = NULL } };
    struct vrt_job_request request;
    VRT_CLEANUP(vrt_closep) int job_fd = -1;
    struct bench bench;
    uv_loop_t loop;
    char old[64];

    bench_init(&bench, 1000);
    struct vrt_queue_params *params = &bench.context.params;
    const int spool_fd = params->spool_fd;
    uv_loop_init(&loop);
    expect_int(vrt_uploads_new(&(struct vrt_uploads_params){
        .loop = &loop, .quota = params->quota, .spool_fd = spool_fd, .max_bytes = 200,
        .free_bytes = vrt_spool_free_bytes,
    }, &params->uploads), 0);
    struct vrt_job *job = bench_add(&bench, VRT_JOB_QUEUED, NULL, 0);
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        request.files[i].upload = VRT_UNKNOWN;
    request.input.upload = upload(&bench, &loop, 100);
    request.reference.upload = upload(&bench, &loop, 101);
    expect_held(&bench, 201);
    expect_int(vrt_job_remote_open_uploads(&bench.context, job, &request, NULL), 0);
    expect_int(vrt_job_remote_take_uploads(&bench.space, job, &request, NULL), 0);
    expect_held(&bench, 201);
    expect_int(job->parts->disk.charged_bytes, 201);
    expect_int(job->info.fetched_bytes, 100);
    expect_int(job->info.fetch_bytes, 100);
    /* No other job has it after that. */
    expect_int(vrt_job_remote_open_uploads(&bench.context, job, &request, &errors[0]), -ENOENT);
    expect_str(errors[0].field, "input.upload");
    request.input.upload = VRT_UNKNOWN;
    expect_int(vrt_job_remote_take_uploads(&bench.space, job, &request, &errors[1]), -ENOENT);
    expect_str(errors[1].field, "reference.upload");
    expect_int(vrt_spool_give_file(spool_fd, "upload", 1, VRT_JOB_INPUT), -ENOENT);

    expect_int(vrt_spool_open(spool_fd, 1, &job_fd), 0);
    expect_int(mode_of(job_fd), 0700);
    make_file(job_fd, "00000.seg", 0);
    expect_int(vrt_spool_detach(spool_fd, 1, old, sizeof(old)), 0);
    vrt_spool_take_back(spool_fd, old, 1);
    vrt_spool_remove(spool_fd, old);
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        bool is_uploaded = i == VRT_JOB_INPUT || i == VRT_JOB_REFERENCE;
        VRT_CLEANUP(vrt_closep) int fd = vrt_spool_open_file(spool_fd, 1, i);
        expect_int(job->parts->files.fds[i] >= 0, is_uploaded);
        expect_int(fd >= 0, is_uploaded);
        expect_int(vrt_spool_file_bytes(spool_fd, 1, i), !is_uploaded ? 0 :
                   i == VRT_JOB_INPUT ? 100 : 101);
    }
    expect_true(faccessat(spool_fd, "1/00000.seg", F_OK, 0) < 0);
    vrt_spool_remove(spool_fd, "1");

    /* One that no job takes goes after its time, and not earlier. */
    upload(&bench, &loop, 50);
    now_ns += VRT_API_UPLOAD_KEPT_S * VRT_NS_PER_S;
    vrt_disk_space_sweep_failed(&bench.space);
    expect_held(&bench, 251);
    now_ns++;
    vrt_disk_space_sweep_failed(&bench.space);
    expect_held(&bench, 201);
    vrt_uploads_free(params->uploads);
    expect_int(uv_loop_close(&loop), 0);
    bench_done(&bench);
}

/* Of the names in the spool folder some are jobs' numbers; of these some are known. */
static bool is_wanted(void *ctx, int64_t job_id, bool is_result)
{
    (void)ctx;
    return job_id == 12 || job_id == 7 || job_id == 1 || (job_id == 8 && is_result);
}

static void test_clean(void)
{
    static const struct {
        const char *name;
        bool is_folder, stays;
    } entries[] = {
        { "7", true, true }, { "7.result", false, true }, { "8", true, false },
        { "8.result", false, true }, { "9.result", false, false }, { "07", true, false },
        { "7.results", false, false }, { "+7", true, false }, { "0", true, false },
        { "x", false, false }, { "pipe-0", false, false }, { "7.1234", true, false },
        { "9223372036854775808", true, false }, { "12", true, true },
    };
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_error error = { .id = NULL };
    struct bench bench;

    bench_init(&bench, 0);
    const int spool_fd = bench.context.params.spool_fd;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(entries); i++) {
        if (entries[i].is_folder)
            expect_int(mkdirat(spool_fd, entries[i].name, 0700), 0);
        else
            make_file(spool_fd, entries[i].name, 0);
    }
    expect_int(vrt_spool_joined_bytes(spool_fd, 8), 0);
    expect_int(symlinkat("/", spool_fd, "9"), 0);
    expect_true(vrt_spool_open(spool_fd, 9, &fd) < 0);
    expect_int(vrt_job_files_refuse_spool(&error, -EDQUOT, "x"), -EDQUOT);
    expect_str(error.id, "spool.full");
    make_file(spool_fd, "8/joined.mkv", 5);
    expect_int(vrt_spool_joined_bytes(spool_fd, 8), 5);
    /* Files without a name don't take each other's, nor one that is left. */
    expect_int(vrt_spool_make_file(spool_fd, &fd), 0);
    expect_true(faccessat(spool_fd, "pipe-0", F_OK, 0) == 0);
    expect_true(faccessat(spool_fd, "pipe-1", F_OK, 0) < 0);
    expect_int(mode_of(fd), 0600);
    /* What it takes on the disk isn't what its length says. */
    expect_int(posix_fallocate(fd, 0, 1 << 16), 0);
    expect_int(ftruncate(fd, 1 << 30), 0);
    expect_true(vrt_spool_held_bytes(fd) >= 1 << 16 && vrt_spool_held_bytes(fd) < 1 << 20);
    expect_int(vrt_spool_held_bytes(fd) % 512, 0);
    expect_int(vrt_spool_held_bytes(-1), 0);

    expect_int(vrt_spool_clean(spool_fd, is_wanted, NULL), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(entries); i++) {
        expect_int(faccessat(spool_fd, entries[i].name, F_OK, 0) == 0, entries[i].stays);
        vrt_spool_remove(spool_fd, entries[i].name);
    }
    bench_done(&bench);
    expect_int(vrt_spool_clean(-1, is_wanted, NULL), -EBADF);
}

/* On a full disk a job goes on when enough became free for a segment, and for all that is missing;
 * or a quarter of an hour later. In fractions of what is free, which changes meanwhile. */
static void test_disk(void)
{
    static const struct {
        const char *id;
        double grown, estimate, segment;
        int minutes;
        bool goes_on;
    } rows[] = {
        { "spool.full", 0.25, 0, 0, 0, true },
        { "spool.full", -0.25, 0, 0, 0, false },
        /* Twice: by itself, and joined. */
        { "spool.full", 0.25, 0.4, 0, 0, true },
        { "spool.full", 0.25, 0.6, 0, 0, false },
        { "output.full", 0.25, 0.8, 0, 0, true },
        { "output.full", 0.25, 1.2, 0, 0, false },
        { "store.full", 0.25, 1.2, 0, 0, true },
        { "store.full", -0.25, 1.2, 0, 0, false },
        { "spool.full", 0.25, 0, 0.1, 0, true },
        { "spool.full", 0.25, 0, 0.2, 0, false },
        { "spool.full", -0.25, 1.2, 0, 14, false },
        { "spool.full", -0.25, 1.2, 0, 16, true },
        { "spool.full", -0.25, 1.2, 0.4, 16, true },
        { "spool.full", -0.25, 1.2, 0.6, 16, false },
    };

    for (size_t i = 0; i < 2 * VRT_ARRAY_SIZE(rows); i++) {
        struct bench bench;
        bench_init(&bench, INT64_MAX);
        const double unit = (double)vrt_spool_free_bytes(bench.context.params.spool_fd);
        bool goes_on = rows[i / 2].goes_on && i % 2 == 0;
        struct vrt_job *job = bench_add(&bench, VRT_JOB_DISK_FULL, rows[i / 2].id,
                                        (int64_t)(rows[i / 2].segment * unit));
        job->output_bytes = (int64_t)(rows[i / 2].estimate * unit);
        job->parts->files.fds[VRT_JOB_OUTPUT] = dup(bench.context.params.spool_fd);
        job->parts->disk.free_bytes = (int64_t)(unit - rows[i / 2].grown * unit);
        job->parts->disk.filled_ns = vrt_clock_now_ns() - rows[i / 2].minutes * 60 * VRT_NS_PER_S;
        /* Nothing goes on in a daemon that ends. */
        bench.context.is_stopping = i % 2;
        expect_true(vrt_disk_space_look(&bench.space));
        if ((job->info.state == VRT_JOB_QUEUED) != goes_on || job->info.has_error == goes_on)
            test_fail("row %zu: %s", i / 2, vrt_job_state_names[job->info.state]);
        expect_int(vrt_disk_space_look(&bench.space), !goes_on);
        bench_done(&bench);
    }
}

/* Of a user's jobs the first goes on with the next segment, the others with room to their end. */
static void test_quota(void)
{
    static const char quota[] = "spool.quota";
    static const struct {
        int state, priority;            /* of the other job */
        int64_t segment, estimate, wanted, charged;     /* of the one that waits */
        int64_t held;                   /* by others */
        bool goes_on;
    } rows[] = {
        /* It is the first. */
        { VRT_JOB_PAUSED, 0, 0, -1, 0, 0, 99, true },
        { VRT_JOB_PAUSED, 0, 0, -1, 0, 0, 100, false },
        { VRT_JOB_PAUSED, 0, 5, -1, 0, 0, 90, true }, { VRT_JOB_PAUSED, 0, 5, -1, 0, 0, 91, false },
        { VRT_JOB_PAUSED, 0, 5, -1, 20, 0, 80, true },
        { VRT_JOB_PAUSED, 0, 5, -1, 20, 0, 81, false },
        { VRT_JOB_RUNNING, -1, 5, 50, 0, 0, 90, true },
        { VRT_JOB_FINISHING, -1, 5, 50, 0, 0, 91, false },
        /* The other, which waits too, has nothing to give. */
        { VRT_JOB_DISK_FULL, -1, 5, 50, 0, 0, 91, false },
        /* Alone it is done, or is too large. */
        { VRT_JOB_PAUSED, 0, 5, -1, 0, 100, 0, true },
        { VRT_JOB_PAUSED, 0, 5, -1, 0, 99, 1, false },
        { VRT_JOB_RUNNING, -1, 5, -1, 0, 100, 0, false },
        /* It isn't. */
        { VRT_JOB_RUNNING, 0, 5, 50, 0, 0, 10, true },
        { VRT_JOB_RUNNING, 0, 5, 50, 0, 0, 11, false },
        { VRT_JOB_FINISHING, 1, 5, 50, 0, 0, 11, false },
        { VRT_JOB_RUNNING, 0, 5, 50, 95, 0, 5, true },
        { VRT_JOB_RUNNING, 0, 5, 50, 95, 0, 6, false },
        { VRT_JOB_RUNNING, 0, 0, 50, 0, 0, 0, true }, { VRT_JOB_RUNNING, 0, 0, -1, 0, 0, 0, false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct bench bench;
        bench_init(&bench, 100);
        const bool waits = rows[i].state == VRT_JOB_DISK_FULL;
        struct vrt_job *other = bench_add(&bench, rows[i].state, waits ? quota : NULL, !waits);
        struct vrt_job *job = bench_add(&bench, VRT_JOB_DISK_FULL, quota, rows[i].segment);
        vrt_jobs_set_priority(&bench.context.jobs, other, rows[i].priority);
        job->output_bytes = rows[i].estimate;
        job->parts->disk.wanted_bytes = rows[i].wanted;
        vrt_disk_space_charge(&bench.space, job, rows[i].charged);
        vrt_disk_space_charge(&bench.space, other, rows[i].held);
        vrt_disk_space_look(&bench.space);
        if ((job->info.state == VRT_JOB_QUEUED) != rows[i].goes_on)
            test_fail("row %zu: %s", i, vrt_job_state_names[job->info.state]);
        expect_int(other->info.state, rows[i].state);
        bench_done(&bench);
    }
}

/* What is there is charged, whatever the limit says; a run that passed it ends. */
static void test_charges(void)
{
    struct bench bench;

    bench_init(&bench, 100);
    struct vrt_job *job = bench_add(&bench, VRT_JOB_RUNNING, NULL, 7);
    struct vrt_job *other = bench_add(&bench, VRT_JOB_RUNNING, NULL, 1);
    vrt_disk_space_charge_segment(&bench.space, job, job->segments);
    expect_held(&bench, 14);
    vrt_disk_space_charge(&bench.space, other, 86);
    expect_str(bench.stopped, "");
    vrt_disk_space_charge(&bench.space, job, 86);
    expect_str(bench.stopped, "spool.quota");
    expect_int(job->parts->disk.charged_bytes, 100);
    vrt_disk_space_charge(&bench.space, job, 1);
    expect_str(bench.stopped, "spool.too_large");
    expect_held(&bench, 187);
    /* Of what is swept nobody would give the charge back. */
    job->parts->disk.is_swept = true;
    vrt_disk_space_charge_segment(&bench.space, job, job->segments);
    expect_held(&bench, 187);
    vrt_disk_space_uncharge_segments(&bench.space, job, 1);
    expect_held(&bench, 187);
    vrt_disk_space_uncharge_segments(&bench.space, job, 0);
    expect_held(&bench, 173);
    /* No more than was charged. */
    job->parts->disk.charged_bytes = 3;
    vrt_disk_space_uncharge_segments(&bench.space, job, 0);
    expect_held(&bench, 170);
    /* Once it is tried again it is charged again. */
    job->parts->disk.is_swept = true;
    job->n_segments = 0;
    vrt_disk_space_retry(&bench.space, job);
    vrt_disk_space_charge_segment(&bench.space, job, job->segments);
    expect_held(&bench, 184);
    bench_done(&bench);
}

/* A finished file may take what its user has left, beside what others were promised. */
static void test_joined(void)
{
    enum { MIB = 1 << 20 };
    static const struct {
        int64_t charged, joined, held, promised;        /* MiB; the last two: another job's */
        int64_t left, wanted;                           /* MiB */
        bool was_alone;
    } rows[] = {
        { 30, 0, 0, 0, 70, 70, true },
        { 30, 5, 0, 0, 75, 70, true },
        { 0, 0, 30, 0, 70, 100, false },
        { 30, 0, 0, 10, 60, 70, false },
        { 10, 0, 70, 0, 20, 40, false },
        { 10, 0, 88, 0, 2, 8, false },
        { 99, 0, 0, 0, 1, 1, true },
        { 10, 0, 100, 10, 0, 8, false },
        { 100, 0, 0, 0, 0, 0, true },
    };
    struct bench bench;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        bench_init(&bench, 100 * MIB);
        struct vrt_job *job = bench_add(&bench, VRT_JOB_FINISHING, NULL, 7);
        struct vrt_job *other = bench_add(&bench, VRT_JOB_FINISHING, NULL, 1);
        struct vrt_job_disk *disk = &job->parts->disk;
        vrt_disk_space_charge(&bench.space, job, rows[i].charged * MIB);
        vrt_disk_space_charge(&bench.space, other, rows[i].held * MIB);
        disk->joined_bytes = rows[i].joined * MIB;
        other->parts->disk.promised_bytes = rows[i].promised * MIB;
        expect_int(vrt_disk_space_joined_max(&bench.space, job), 7 + (rows[i].left + 4) * MIB);
        expect_int(disk->promised_bytes, rows[i].left * MIB);
        expect_int(disk->wanted_bytes, VRT_MAX(rows[i].wanted * MIB, 1));
        expect_int(disk->was_alone, rows[i].was_alone);
        bench_done(&bench);
    }
    bench_init(&bench, INT64_MAX);
    expect_int(vrt_disk_space_joined_max(&bench.space,
                                         bench_add(&bench, VRT_JOB_FINISHING, NULL, 7)), 0);
    bench_done(&bench);
}

/* What a run leaves is charged, beside its segments, and says whether its user can have more. */
static void test_after_a_run(void)
{
    static const struct {
        const char *id;
        int64_t wanted, wanted_after;
        bool was_alone;
        const char *says;
    } rows[] = {
        { "spool.quota", 9, 9, false, "spool.quota" },
        { "spool.quota", 9, 9, true, "spool.too_large" },
        { "spool.quota", 0, 0, true, "spool.quota" },
        { "device.failed", 9, 0, true, "device.failed" },
    };
    struct bench bench;

    bench_init(&bench, 100);
    struct vrt_job *job = bench_add(&bench, VRT_JOB_FINISHING, NULL, 7);
    struct vrt_job_disk *disk = &job->parts->disk;
    expect_int(mkdirat(bench.context.params.spool_fd, "1", 0700), 0);
    for (int size = 12; size >= 6; size -= 3) {
        struct vrt_error error = { .id = NULL };
        make_file(bench.context.params.spool_fd, "1/joined.mp4", size);
        disk->promised_bytes = 50;
        vrt_disk_space_note_run(&bench.space, job, &error);
        expect_int(disk->promised_bytes, 0);
        expect_int(disk->joined_bytes, VRT_MAX(size - 7, 0));
        expect_held(&bench, VRT_MAX(size - 7, 0));
    }
    vrt_spool_remove(bench.context.params.spool_fd, "1");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_error error = { .id = rows[i].id, .message = "x" };
        disk->wanted_bytes = rows[i].wanted;
        disk->was_alone = rows[i].was_alone;
        vrt_disk_space_note_run(&bench.space, job, &error);
        expect_int(disk->wanted_bytes, rows[i].wanted_after);
        expect_str(error.id, rows[i].says);
    }
    bench_done(&bench);
}

/* What a start finds is charged, and stays, where its job may need it: a segment of 7 bytes twice,
 * an input, and what the finished file has beside that. */
static void test_load(void)
{
    static const struct {
        int state;
        int64_t result_bytes, charged;
        bool keeps, keeps_result;
    } rows[] = {
        { VRT_JOB_QUEUED, VRT_UNKNOWN, 46, true, true },
        { VRT_JOB_FAILED, VRT_UNKNOWN, 46, true, true },
        { VRT_JOB_CANCELLED, VRT_UNKNOWN, 0, false, false },
        { VRT_JOB_DONE, VRT_UNKNOWN, 0, false, false },
        { VRT_JOB_DONE, 0, 0, false, true },
        { VRT_JOB_DONE, 5, 5, false, true },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct bench bench;
        bench_init(&bench, 1);
        struct vrt_job *job = bench_add(&bench, rows[i].state, NULL, 7);
        job->info.result_bytes = rows[i].result_bytes;
        expect_int(mkdirat(bench.context.params.spool_fd, "1", 0700), 0);
        make_file(bench.context.params.spool_fd, "1/input", 30);
        make_file(bench.context.params.spool_fd, "1/joined.mp4", 9);
        vrt_disk_space_load(&bench.space, job);
        vrt_spool_remove(bench.context.params.spool_fd, "1");
        expect_int(job->parts->disk.charged_bytes, rows[i].charged);
        expect_held(&bench, rows[i].charged);
        expect_int(job->parts->disk.is_swept, rows[i].charged != 46);
        expect_int(vrt_disk_space_keeps(job, false), rows[i].keeps);
        expect_int(vrt_disk_space_keeps(job, true), rows[i].keeps_result);
        bench_done(&bench);
    }
    expect_true(!vrt_disk_space_keeps(NULL, false));
}

TEST_MAIN(
    { "result-made-again", test_result_made_again },
    { "uploads", test_uploads },
    { "clean", test_clean },
    { "disk", test_disk },
    { "quota", test_quota },
    { "charges", test_charges },
    { "joined", test_joined },
    { "after-a-run", test_after_a_run },
    { "load", test_load },
)
