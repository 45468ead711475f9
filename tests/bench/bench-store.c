/* SPDX-License-Identifier: MIT */
/*
 * How fast the store takes jobs, and gives them back.
 *
 * usage: bench-store [FOLDER]          (where a temporary folder is made; default: /tmp)
 *
 * Writes are jobs of 3 KB, most of them new. So many are always in flight: each answer leads to
 * the next write. A write's time is from the call to its answer, with the commit between them.
 * A disk that only says that it has synced makes all of it look good: see the time of one fsync.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/macro.h"
#include "daemon/store/store.h"
#include "msg_job.h"

#define N_WRITES 4000
#define N_JOBS 10000
#define TEXT_BYTES 3000

struct bench {
    uv_loop_t loop;
    struct vrt_store *store;
    char folder[256];
    char text[TEXT_BYTES];
    int64_t last_id;
    int n_left, n_out;
    double ms[N_WRITES];
    int n_ms;
};

struct turn {
    struct bench *bench;
    int64_t start_ns;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench-store: %s\n", what);
    exit(1);
}

static void write_one(struct turn *turn);

static void on_done(void *ctx, int r)
{
    struct turn *turn = ctx;
    struct bench *bench = turn->bench;

    if (r)
        fail("a write failed");
    bench->ms[bench->n_ms++] = (double)(vrt_clock_now_ns() - turn->start_ns) / VRT_NS_PER_MS;
    bench->n_out--;
    if (bench->n_left > 0)
        write_one(turn);
    else if (bench->n_out == 0)
        uv_stop(&bench->loop);
}

static void write_one(struct turn *turn)
{
    struct bench *bench = turn->bench;
    const struct vrt_store_job job = {
        .id = ++bench->last_id,
        .state = VRT_JOB_QUEUED,
        .request = bench->text,
        .info = "",
        .work = "",
    };

    bench->n_left--;
    bench->n_out++;
    turn->start_ns = vrt_clock_now_ns();
    vrt_store_put_job(bench->store, &job, (struct vrt_store_done){ on_done, turn });
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Always n_in_flight writes on their way. */
static void measure(struct bench *bench, int n_in_flight)
{
    struct turn *turns = calloc((size_t)n_in_flight, sizeof(*turns));
    struct vrt_store_counts before, after;
    int64_t start_ns;
    double s;

    if (!turns)
        fail("no memory");
    vrt_store_counts(bench->store, &before);
    bench->n_left = N_WRITES;
    bench->n_ms = 0;
    start_ns = vrt_clock_now_ns();
    for (int i = 0; i < n_in_flight; i++) {
        turns[i].bench = bench;
        write_one(&turns[i]);
    }
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    s = (double)(vrt_clock_now_ns() - start_ns) / VRT_NS_PER_S;
    vrt_store_counts(bench->store, &after);
    qsort(bench->ms, N_WRITES, sizeof(*bench->ms), compare);
    printf("%9d %10.0f %11.0f %9.2f %9.2f %9.2f\n", n_in_flight, N_WRITES / s,
           (double)(after.n_commits - before.n_commits) / s, bench->ms[N_WRITES / 2],
           bench->ms[N_WRITES * 99 / 100], bench->ms[N_WRITES - 1]);
    free(turns);
}

/* What the disk takes for one append that is synced, in milliseconds: the median. */
static double fsync_ms(const char *folder)
{
    char path[300], block[4096] = "";
    double ms[101];
    int fd;

    snprintf(path, sizeof(path), "%s/probe", folder);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        fail("the folder cannot be written");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(ms); i++) {
        int64_t start_ns = vrt_clock_now_ns();
        if (write(fd, block, sizeof(block)) != sizeof(block) || fsync(fd) < 0)
            fail("the folder cannot be written");
        ms[i] = (double)(vrt_clock_now_ns() - start_ns) / VRT_NS_PER_MS;
    }
    close(fd);
    unlink(path);
    qsort(ms, VRT_ARRAY_SIZE(ms), sizeof(*ms), compare);
    return ms[VRT_ARRAY_SIZE(ms) / 2];
}

static int count_job(void *ctx, const struct vrt_store_job *job)
{
    *(size_t *)ctx += strlen(job->request);
    return 0;
}

static int count_segment(void *ctx, int64_t job_id, const struct vrt_segment_record *segment)
{
    (void)ctx;
    (void)job_id;
    (void)segment;
    return 0;
}

static void open_store(struct bench *bench)
{
    struct vrt_error error = { 0 };

    if (uv_loop_init(&bench->loop))
        fail("no loop");
    if (vrt_store_open(&(struct vrt_store_params){ .loop = &bench->loop, .folder = bench->folder },
                       &bench->store, &error))
        fail(error.message);
}

static void close_store(struct bench *bench)
{
    vrt_store_stop(bench->store, NULL, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&bench->loop))
        fail("the loop does not close");
}

/* With N_JOBS in it. */
static void measure_start(struct bench *bench)
{
    size_t n_bytes = 0;
    const struct vrt_store_reader reader = { count_job, count_segment, &n_bytes };
    struct vrt_error error = { 0 };
    int64_t start_ns, opened_ns, last_id;

    open_store(bench);
    for (int64_t id = 1; id <= bench->last_id; id++)
        if (id > N_JOBS)
            vrt_store_remove_job(bench->store, id, (struct vrt_store_done){ 0 });
    close_store(bench);
    start_ns = vrt_clock_now_ns();
    open_store(bench);
    opened_ns = vrt_clock_now_ns();
    if (vrt_store_load(bench->store, &reader, &last_id, &error))
        fail(error.message);
    printf("\n%d jobs: opened and checked in %.0f ms, read in %.0f ms\n", N_JOBS,
           (double)(opened_ns - start_ns) / VRT_NS_PER_MS,
           (double)(vrt_clock_now_ns() - opened_ns) / VRT_NS_PER_MS);
    close_store(bench);
}

int main(int argc, char **argv)
{
    static const int in_flight[] = { 1, 10, 100, 1000 };
    static const char *const files[] = { "vrtd.db", "vrtd.db-wal", "vrtd.db-shm" };
    static struct bench bench;
    char path[300];

    snprintf(bench.folder, sizeof(bench.folder), "%s/vrt-bench-XXXXXX",
             argc > 1 ? argv[1] : "/tmp");
    if (!mkdtemp(bench.folder))
        fail("no temporary folder can be made there");
    memset(bench.text, 'x', sizeof(bench.text) - 1);
    printf("4 KB appended and synced: %.2f ms\n\n", fsync_ms(bench.folder));
    printf("in flight   writes/s   commits/s    p50 ms    p99 ms    max ms\n");
    open_store(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(in_flight); i++)
        measure(&bench, in_flight[i]);
    close_store(&bench);
    measure_start(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", bench.folder, files[i]);
        unlink(path);
    }
    return rmdir(bench.folder) ? 1 : 0;
}
