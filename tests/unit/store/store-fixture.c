/* SPDX-License-Identifier: MIT */

#include "tests/unit/store/store-fixture.h"

#include <dirent.h>
#include <unistd.h>

#include "msg_job.h"
#include "tests/unit/test.h"

void bench_init(struct bench *bench)
{
    *bench = (struct bench){ .folder = "/tmp/vrt-store-XXXXXX" };
    expect_true(mkdtemp(bench->folder));
    snprintf(bench->file, sizeof(bench->file), "%s/vrtd.db", bench->folder);
}

void bench_remove(struct bench *bench)
{
    DIR *dir = opendir(bench->folder);
    struct dirent *entry;
    char path[400];

    free(bench->table.rows);
    expect_true(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", bench->folder, entry->d_name);
        expect_int(unlink(path), 0);
    }
    closedir(dir);
    expect_int(rmdir(bench->folder), 0);
}

int bench_try(struct bench *bench, struct vrt_error *error)
{
    const struct vrt_store_params params = {
        .loop = &bench->loop,
        .folder = bench->folder,
        .max_bytes = bench->max_bytes,
    };
    int r;

    bench->store = NULL;
    bench->stopped = false;
    bench->n_pending = bench->n_done = bench->last_result = 0;
    expect_int(uv_loop_init(&bench->loop), 0);
    r = vrt_store_open(&params, &bench->store, error);
    if (r)
        expect_int(uv_loop_close(&bench->loop), 0);
    return r;
}

void bench_open(struct bench *bench)
{
    struct vrt_error error = { 0 };

    if (bench_try(bench, &error))
        test_fail("the store does not open: %s", error.message);
}

static int on_job(void *ctx, const struct vrt_store_job *job)
{
    struct table *table = ctx;
    struct table_row *row = &table->rows[table->n_rows++];

    expect_true(table->n_rows <= TABLE_MAX);
    *row = (struct table_row){ .job = *job, .work_bytes = strlen(job->work) };
    row->job.request = row->job.info = row->job.work = NULL;
    snprintf(row->request, sizeof(row->request), "%s", job->request);
    snprintf(row->info, sizeof(row->info), "%s", job->info);
    snprintf(row->history, sizeof(row->history), "%s", job->history);
    return 0;
}

static int on_segment(void *ctx, int64_t job_id, const struct vrt_segment_record *segment)
{
    struct table *table = ctx;
    struct table_row *row = &table->rows[table->n_rows - 1];

    expect_int(row->job.id, job_id);
    if (row->n_segments < 8)
        row->segments[row->n_segments] = *segment;
    row->n_segments++;
    return 0;
}

static void on_measure(void *ctx, const struct vrt_store_measure *measure)
{
    struct table *table = ctx;

    table->n_measures++;
    table->value = measure->value;
    snprintf(table->measure, sizeof(table->measure), "%s|%s|%s", measure->network,
             measure->device_class, measure->what);
}

void bench_read(struct bench *bench)
{
    struct table *table = &bench->table;
    const struct vrt_store_reader reader = {
        .job = on_job, .segment = on_segment, .ctx = table,
    };
    struct vrt_error error = { 0 };

    bench_open(bench);
    free(table->rows);
    *table = (struct table){ .rows = malloc(TABLE_MAX * sizeof(*table->rows)) };
    expect_true(table->rows);
    if (vrt_store_load(bench->store, &reader, &table->last_id, &error) ||
        vrt_store_load_measures(bench->store, on_measure, table, &error))
        test_fail("the store is not read: %s", error.message);
}

void bench_wait(struct bench *bench)
{
    while (bench->n_pending > 0)
        uv_run(&bench->loop, UV_RUN_ONCE);
}

static void on_stopped(void *ctx)
{
    struct bench *bench = ctx;

    expect_true(!bench->stopped);
    bench->stopped = true;
}

void bench_close(struct bench *bench)
{
    vrt_store_stop(bench->store, on_stopped, bench);
    expect_true(!bench->stopped);
    expect_int(uv_run(&bench->loop, UV_RUN_DEFAULT), 0);
    expect_true(bench->stopped);
    expect_int(bench->n_pending, 0);
    expect_int(uv_loop_close(&bench->loop), 0);
}

void bench_begin(struct bench *bench)
{
    bench_init(bench);
    bench_open(bench);
}

void bench_reopen(struct bench *bench)
{
    bench_close(bench);
    bench_read(bench);
}

void bench_end(struct bench *bench)
{
    bench_close(bench);
    bench_remove(bench);
}

static void on_done(void *ctx, int r)
{
    struct bench *bench = ctx;

    expect_true(r <= 0);
    bench->n_pending--;
    bench->n_done++;
    bench->last_result = r;
}

struct vrt_store_done bench_done(struct bench *bench)
{
    bench->n_pending++;
    return (struct vrt_store_done){ on_done, bench };
}

const struct vrt_store_job *bench_job(int64_t id)
{
    static char request[64], info[64];
    static struct vrt_store_job job;

    snprintf(request, sizeof(request), "{\"request\": %lld}", (long long)id);
    snprintf(info, sizeof(info), "{\"info\": \"Grüße %lld\"}", (long long)id);
    job = (struct vrt_store_job){
        .id = id,
        .uid = (uid_t)(1000 + id % 3),
        .state = VRT_JOB_QUEUED,
        .priority = id % 7 - 3,
        .created_at = 1700000000000000000 + id,
        .finished_at = -1,
        .starts = 2,
        .request = request,
        .info = info,
        .work = "",
    };
    return &job;
}

void bench_put(struct bench *bench, int64_t id)
{
    vrt_store_put_job(bench->store, bench_job(id), bench_done(bench));
}

/* With a bookmark at one end or the other of what it may hold. */
struct vrt_segment_record bench_segment(int64_t job_id, int64_t number)
{
    const int64_t most = INT64_MAX / 2, n = number % 2 ? most : 0, rest = most - n;
    const int64_t pts = number % 2 ? most : INT64_MIN / 2;

    return (struct vrt_segment_record){
        .number = number,
        .n_frames = 96,
        .next_shard = 12 * (number + 1),
        .size_bytes = INT64_MAX - job_id,
        .tail_bytes = number % 2,
        .n_concealed = number,
        .ran_ms = 1000 * number,
        .behind = { n, pts, rest, pts, number % 2 ? 0 : INT64_MAX, rest, rest, pts, rest, rest,
                    rest },
    };
}
