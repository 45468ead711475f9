/* SPDX-License-Identifier: MIT */

/* The store when the process is killed, when the disk is full, and when the file goes away. */

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/store/store-fixture.h"
#include "tests/unit/test.h"

#define N_KILLS 100
#define IN_FLIGHT 8

/* Writes on and on: job i, then its segment, then job i + 1. */
struct writer {
    struct bench bench;
    int64_t next;                   /* of the writes, two to a job */
    int ack_fd;
};

struct ack {
    struct writer *writer;
    int64_t number;
};

static void write_next(struct writer *writer, struct ack *ack);

static void on_written(void *ctx, int r)
{
    struct ack *ack = ctx;

    expect_int(r, 0);
    expect_int(write(ack->writer->ack_fd, &ack->number, sizeof(ack->number)), sizeof(ack->number));
    write_next(ack->writer, ack);
}

static void write_next(struct writer *writer, struct ack *ack)
{
    struct vrt_store_done done = { on_written, ack };
    int64_t id = writer->next / 2 + 1;

    ack->number = writer->next;
    if (writer->next++ % 2 == 0) {
        vrt_store_put_job(writer->bench.store, bench_job(id), done);
    } else {
        struct vrt_segment_record segment = bench_segment(id, 0);
        vrt_store_add_segment(writer->bench.store, id, &segment, done);
    }
}

/* Never returns: it is killed. */
static void write_on(const struct bench *bench, int64_t first, int ack_fd)
{
    struct writer writer = { .bench = *bench, .next = first, .ack_fd = ack_fd };
    struct ack acks[IN_FLIGHT];

    bench_open(&writer.bench);
    for (int i = 0; i < IN_FLIGHT; i++) {
        acks[i].writer = &writer;
        write_next(&writer, &acks[i]);
    }
    uv_run(&writer.bench.loop, UV_RUN_DEFAULT);
    _exit(1);
}

/* Lets a child write from `first` on and kills it after `n_acks` answers and a while. Return: the
 * last write that was answered. */
static int64_t kill_writer(const struct bench *bench, int64_t first, int n_acks, int delay_us)
{
    int64_t number, last = first - 1;
    int fds[2], status;
    pid_t child;

    expect_int(pipe(fds), 0);
    child = fork();
    expect_true(child >= 0);
    if (child == 0) {
        close(fds[0]);
        write_on(bench, first, fds[1]);
    }
    close(fds[1]);
    for (int i = 0; i < n_acks && read(fds[0], &number, sizeof(number)) == sizeof(number); i++)
        last = number;
    usleep((useconds_t)delay_us);
    expect_int(kill(child, SIGKILL), 0);
    while (read(fds[0], &number, sizeof(number)) == sizeof(number))
        last = number;
    close(fds[0]);
    expect_int(waitpid(child, &status, 0), child);
    expect_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return last;
}

/* What was answered is there, and of the rest only what was written before something else. */
static void test_kill(void)
{
    struct bench bench;
    int64_t n_writes = 0;

    bench_init(&bench);
    srand(1);
    for (int round = 0; round < N_KILLS; round++) {
        int64_t acked = kill_writer(&bench, n_writes, rand() % 40, rand() % 3000);
        int64_t n_found = 0;
        bench_read(&bench);
        for (int i = 0; i < bench.table.n_rows; i++) {
            bool is_last = i == bench.table.n_rows - 1;
            expect_int(bench.table.rows[i].job.id, i + 1);
            expect_str(bench.table.rows[i].request, bench_job(i + 1)->request);
            expect_true(bench.table.rows[i].n_segments == 1 || is_last);
            expect_int(bench.table.rows[i].job.starts, bench.table.rows[i].n_segments ? 0 : 2);
            n_found += 1 + bench.table.rows[i].n_segments;
        }
        if (n_found < acked + 1)
            test_fail("round %d: %lld writes were answered, %lld are there", round,
                      (long long)acked + 1, (long long)n_found);
        n_writes = n_found;
        /* The rest of a job, so that each child begins with one of its own. */
        if (n_writes % 2 == 1) {
            struct vrt_segment_record segment = bench_segment(bench.table.n_rows, 0);
            vrt_store_add_segment(bench.store, bench.table.n_rows, &segment, bench_done(&bench));
            n_writes++;
        }
        bench_close(&bench);
        if (n_writes / 2 > TABLE_MAX - 2000)
            break;
    }
    fprintf(stderr, "%lld writes survived\n", (long long)n_writes);
    expect_true(n_writes > N_KILLS);
    bench_remove(&bench);
}

/* Return: what became of it. */
static int put(struct bench *bench, int64_t id)
{
    bench_put(bench, id);
    bench_wait(bench);
    return bench->last_result;
}

static void put_big(struct bench *bench, int64_t id)
{
    static char text[20000];
    struct vrt_store_job job = *bench_job(id);

    memset(text, 'x', sizeof(text) - 1);
    job.work = text;
    vrt_store_put_job(bench->store, &job, bench_done(bench));
}

/* Puts one job after the other until the disk is full. Return: the first that found no room. */
static int64_t fill(struct bench *bench)
{
    for (int64_t id = 1; id < 1000; id++) {
        put_big(bench, id);
        bench_wait(bench);
        if (bench->last_result) {
            expect_int(bench->last_result, -ENOSPC);
            return id;
        }
    }
    test_fail("the disk does not get full");
}

struct result {
    int r;
    bool told;
};

static void on_result(void *ctx, int r)
{
    struct result *result = ctx;

    expect_true(!result->told);
    *result = (struct result){ r, true };
}

/* Of what waits together only those fail that find no room; with room the store works again. */
static void test_full(void)
{
    struct result results[4] = { 0 };
    struct vrt_store_counts counts;
    struct bench bench;
    int64_t full;

    bench_init(&bench);
    bench.max_bytes = 400000;
    bench_open(&bench);
    full = fill(&bench);
    expect_true(full > 5);

    bench_put(&bench, 1);               /* keeps the thread busy: the others wait together */
    struct vrt_store_job big = *bench_job(full + 1);
    static char text[40000];
    memset(text, 'y', sizeof(text) - 1);
    big.work = text;
    vrt_store_put_job(bench.store, &big, (struct vrt_store_done){ on_result, &results[0] });
    vrt_store_remove_job(bench.store, 2, (struct vrt_store_done){ on_result, &results[1] });
    vrt_store_remove_job(bench.store, 3, (struct vrt_store_done){ on_result, &results[2] });
    big.id = full + 2;
    vrt_store_put_job(bench.store, &big, (struct vrt_store_done){ on_result, &results[3] });
    while (!results[3].told)
        uv_run(&bench.loop, UV_RUN_ONCE);
    for (int i = 0; i < 4; i++)
        expect_int(results[i].r, i ? 0 : -ENOSPC);
    vrt_store_counts(bench.store, &counts);
    expect_int(counts.n_failed, 2);
    expect_int(counts.n_commits, full + 3);
    bench_close(&bench);

    bench.max_bytes = 0;
    bench_read(&bench);
    expect_int(bench.table.n_rows, full - 1 - 2 + 1);
    expect_int(bench.table.rows[bench.table.n_rows - 1].job.id, full + 2);
    expect_int(bench.table.rows[bench.table.n_rows - 1].work_bytes, sizeof(text) - 1);
    expect_int(bench.table.rows[0].work_bytes, 0);
    bench_end(&bench);
}

static void fill_limited(struct bench *bench)
{
    struct rlimit limit;
    int64_t full;

    signal(SIGXFSZ, SIG_IGN);
    expect_int(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 300000;
    expect_int(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bench_open(bench);
    full = fill(bench);
    bench_put(bench, 1);
    limit.rlim_cur = limit.rlim_max;
    expect_int(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int64_t id = full; id < full + 5; id++)
        put_big(bench, id);
    bench_wait(bench);
    expect_int(bench->last_result, 0);
    bench_reopen(bench);
    expect_int(bench->table.n_rows, full + 4);
    bench_close(bench);
}

/* The system says no in the middle of a write, and later yes; the daemon's log says why. */
static void test_no_room(void)
{
    FILE *log = tmpfile();
    char said[1000] = "";
    struct bench bench;
    int status;
    pid_t child;

    bench_init(&bench);
    child = fork();
    expect_true(log && child >= 0);
    if (child == 0) {
        dup2(fileno(log), STDERR_FILENO);
        fill_limited(&bench);
        _exit(0);
    }
    expect_int(waitpid(child, &status, 0), child);
    expect_true(pread(fileno(log), said, sizeof(said) - 1, 0) > 0);
    fclose(log);
    if (status != 0)
        test_fail("%s", said);
    expect_contains(said, "cannot be written: No space left on device");
    bench_remove(&bench);
}

/* The log has its room on the disk before it is needed. */
static void test_reserve(void)
{
    struct bench bench;
    struct stat st;
    char path[110];

    bench_init(&bench);
    snprintf(path, sizeof(path), "%s-wal", bench.file);
    bench_open(&bench);
    for (int i = 0; i < 2; i++) {
        expect_int(stat(path, &st), 0);
        expect_true(st.st_blocks * 512 >= 4 << 20);
        bench_put(&bench, 1);
        bench_wait(&bench);
    }
    bench_close(&bench);
    expect_int(access(path, F_OK), -1);
    bench_remove(&bench);
}

/* What is written to a file that nobody will find again is not said to be written. */
static void test_moved(void)
{
    struct bench bench;
    char away[110];

    bench_begin(&bench);
    expect_int(put(&bench, 1), 0);
    snprintf(away, sizeof(away), "%s.away", bench.file);
    expect_int(rename(bench.file, away), 0);
    expect_int(put(&bench, 2), -ESTALE);
    expect_int(rename(away, bench.file), 0);
    expect_int(put(&bench, 2), 0);
    bench_end(&bench);
}

static void on_timer(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* Somebody locks the file and forgets it: what waits is told so after one time of waiting. */
static void test_locked_for_long(void)
{
    struct vrt_store_counts counts;
    struct bench bench;
    int64_t start_ns;
    sqlite3 *other;

    bench_begin(&bench);
    expect_int(sqlite3_open(bench.file, &other), SQLITE_OK);
    expect_int(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    start_ns = vrt_clock_now_ns();
    for (int i = 1; i <= 20; i++)
        bench_put(&bench, i);
    bench_wait(&bench);
    expect_int(bench.last_result, -EBUSY);
    /* The first alone, then the others: two times 3 s. Each for itself takes 60 at the least. */
    expect_true(vrt_clock_now_ns() - start_ns < 60 * VRT_NS_PER_S);
    vrt_store_counts(bench.store, &counts);
    expect_int(counts.n_failed, 20);
    sqlite3_close(other);
    expect_int(put(&bench, 1), 0);
    bench_end(&bench);
}

/* Somebody looks at the file with a lock on it: writes wait for them. */
static void test_locked(void)
{
    struct bench bench;
    uv_timer_t timer;
    bool is_over = false;
    sqlite3 *other;

    bench_begin(&bench);
    expect_int(sqlite3_open(bench.file, &other), SQLITE_OK);
    expect_int(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    bench_put(&bench, 1);
    uv_update_time(&bench.loop);
    uv_timer_init(&bench.loop, &timer);
    timer.data = &is_over;
    uv_timer_start(&timer, on_timer, 50, 50);
    while (!is_over)
        uv_run(&bench.loop, UV_RUN_ONCE);
    expect_int(bench.n_done, 0);
    expect_int(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    bench_wait(&bench);
    expect_int(bench.last_result, 0);
    uv_close((uv_handle_t *)&timer, NULL);
    bench_end(&bench);
}

TEST_MAIN(
    { "kill", test_kill },
    { "full", test_full },
    { "no-room", test_no_room },
    { "reserve", test_reserve },
    { "moved", test_moved },
    { "locked", test_locked },
    { "locked-for-long", test_locked_for_long },
)
