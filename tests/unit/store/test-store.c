/* SPDX-License-Identifier: MIT */

/* The store: what was written is found again, in order; what waits together is one commit. */

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/macro.h"
#include "daemon/store/store-impl.h"
#include "msg_job.h"
#include "tests/unit/store/store-fixture.h"
#include "tests/unit/test.h"

static void ignore_stopped(void *ctx)
{
    *(bool *)ctx = true;
}

static void expect_row(const struct table_row *row, const struct vrt_store_job *job)
{
    expect_int(row->job.id, job->id);
    expect_int(row->job.uid, job->uid);
    expect_int(row->job.state, job->state);
    expect_int(row->job.priority, job->priority);
    expect_int(row->job.created_at, job->created_at);
    expect_int(row->job.finished_at, job->finished_at);
    expect_int(row->job.starts, job->starts);
    expect_str(row->request, job->request);
    expect_str(row->info, job->info);
    expect_int(row->work_bytes, strlen(job->work));
}

/* Every field of a job and of its segments, through an end and a start. */
static void test_round_trip(void)
{
    struct vrt_store_job odd = {
        .id = INT64_MAX - 1, .uid = UINT_MAX - 1, .state = VRT_JOB_STATE_COUNT - 1,
        .priority = INT64_MIN, .created_at = -1, .finished_at = INT64_MAX, .starts = 3,
        .request = "{\"name\": \"'; DROP TABLE jobs; --\"}", .info = "",
        .work = "\xff is no UTF-8",
    };
    struct bench bench;
    struct stat st;

    bench_init(&bench);
    bench_read(&bench);
    expect_int(bench.table.n_rows, 0);
    expect_int(bench.table.last_id, 0);
    expect_int(stat(bench.file, &st), 0);
    expect_int(st.st_mode & 07777, 0600);

    bench_put(&bench, 1);
    vrt_store_put_job(bench.store, &odd, bench_done(&bench));
    bench_put(&bench, 2);
    for (int i = 0; i < 3; i++) {
        struct vrt_segment_record segment = bench_segment(2, i);
        vrt_store_add_segment(bench.store, 2, &segment, bench_done(&bench));
    }
    vrt_store_put_history(bench.store, 1, "older");
    vrt_store_put_history(bench.store, 1, "It's older");
    vrt_store_put_history(bench.store, 77, "of no job");
    bench_put(&bench, 1);
    bench_close(&bench);
    expect_int(bench.n_done, 7);
    expect_int(bench.last_result, 0);

    bench_read(&bench);
    expect_int(bench.table.n_rows, 3);
    expect_int(bench.table.last_id, odd.id);
    for (int i = 0; i < 2; i++) {
        struct vrt_store_job job = *bench_job(i + 1);
        /* Its segments set it back. */
        job.starts = i == 1 ? 0 : job.starts;
        expect_row(&bench.table.rows[i], &job);
    }
    expect_row(&bench.table.rows[2], &odd);
    expect_str(bench.table.rows[0].history, "It's older");
    expect_str(bench.table.rows[1].history, "");
    expect_int(bench.table.rows[0].n_segments, 0);
    expect_int(bench.table.rows[1].n_segments, 3);
    for (int i = 0; i < 3; i++) {
        struct vrt_segment_record wanted = bench_segment(2, i);
        expect_true(memcmp(&bench.table.rows[1].segments[i], &wanted, sizeof(wanted)) == 0);
    }
    bench_end(&bench);
}

/* All states have names that lead back to them. */
static void test_states(void)
{
    struct bench bench;

    bench_begin(&bench);
    for (int state = 0; state < VRT_JOB_STATE_COUNT; state++) {
        struct vrt_store_job job = *bench_job(state + 1);
        job.state = state;
        vrt_store_put_job(bench.store, &job, bench_done(&bench));
    }
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, VRT_JOB_STATE_COUNT);
    for (int state = 0; state < VRT_JOB_STATE_COUNT; state++)
        expect_int(bench.table.rows[state].job.state, state);
    bench_end(&bench);
}

struct order {
    int *last;
    int mine;
};

static void on_ordered(void *ctx, int r)
{
    struct order *order = ctx;

    expect_int(r, 0);
    expect_int(order->mine, *order->last + 1);
    *order->last = order->mine;
}

/* Answers come in the order of the writes, and what waits while the disk is busy is one commit. */
static void test_group_commit(void)
{
    struct order orders[500];
    struct vrt_store_counts counts;
    struct bench bench;
    int last = -1;

    bench_begin(&bench);
    for (int i = 0; i < 500; i++) {
        orders[i] = (struct order){ &last, i };
        vrt_store_put_job(bench.store, bench_job(i + 1),
                          (struct vrt_store_done){ on_ordered, &orders[i] });
        expect_int(last, -1);
    }
    while (last < 499)
        uv_run(&bench.loop, UV_RUN_ONCE);
    vrt_store_counts(bench.store, &counts);
    expect_int(counts.n_writes, 500);
    expect_int(counts.n_failed, 0);
    /* The first has gone at once, all the others together. */
    expect_int(counts.n_commits, 2);
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, 500);
    bench_end(&bench);
}

/* Of many puts of one job the last counts, but what stands between them keeps its place. */
static void test_merge(void)
{
    struct vrt_segment_record segment = bench_segment(7, 0);
    struct bench bench;

    bench_begin(&bench);
    bench_put(&bench, 1);
    for (int i = 0; i < 100; i++) {
        struct vrt_store_job job = *bench_job(7);
        job.priority = i;
        vrt_store_put_job(bench.store, &job, bench_done(&bench));
        if (i == 97)
            vrt_store_add_segment(bench.store, 7, &segment, bench_done(&bench));
        if (i == 98)
            vrt_store_remove_job(bench.store, 7, bench_done(&bench));
    }
    bench_wait(&bench);
    expect_int(bench.n_done, 103);
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, 2);
    expect_int(bench.table.rows[1].job.priority, 99);
    expect_int(bench.table.rows[1].job.starts, 2);
    expect_int(bench.table.rows[1].n_segments, 0);
    bench_end(&bench);
}

/* A put never touches segments; a cut forgets them from a number on, of that job only. */
static void test_segments(void)
{
    struct vrt_segment_record other = { .number = 1, .n_frames = 5 };
    struct bench bench;

    bench_begin(&bench);
    for (int id = 1; id <= 3; id++) {
        bench_put(&bench, id);
        for (int i = 5; i >= 0; i--) {
            struct vrt_segment_record segment = bench_segment(id, i);
            vrt_store_add_segment(bench.store, id, &segment, bench_done(&bench));
        }
        bench_put(&bench, id);
    }
    vrt_store_cut_segments(bench.store, 2, 2, bench_done(&bench));
    vrt_store_add_segment(bench.store, 2, &other, bench_done(&bench));
    vrt_store_cut_segments(bench.store, 3, 0, bench_done(&bench));
    vrt_store_cut_segments(bench.store, 99, 0, bench_done(&bench));
    bench_wait(&bench);
    expect_int(bench.last_result, 0);
    vrt_store_add_segment(bench.store, 99, &other, bench_done(&bench));
    bench_put(&bench, 4);
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, 4);
    expect_int(bench.table.rows[0].n_segments, 6);
    for (int i = 0; i < 6; i++)
        expect_int(bench.table.rows[0].segments[i].number, i);
    expect_int(bench.table.rows[0].job.starts, 2);
    expect_int(bench.table.rows[1].n_segments, 2);
    expect_int(bench.table.rows[1].segments[1].n_frames, 5);
    expect_int(bench.table.rows[2].n_segments, 0);
    bench_end(&bench);
}

/* A segment of no job fails alone: what waits beside it is written. */
static void test_no_such_job(void)
{
    struct vrt_segment_record segment = bench_segment(1, 0);
    struct vrt_store_counts counts;
    struct bench bench;

    bench_begin(&bench);
    bench_put(&bench, 1);
    bench_put(&bench, 2);
    vrt_store_add_segment(bench.store, 5, &segment, bench_done(&bench));
    bench_wait(&bench);
    expect_int(bench.last_result, -ENOENT);
    vrt_store_counts(bench.store, &counts);
    expect_int(counts.n_failed, 1);
    expect_int(counts.n_commits, 2);
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, 2);
    bench_end(&bench);
}

/* The highest id there ever was is known also when its job is gone. */
static void test_ids(void)
{
    struct bench bench;

    bench_begin(&bench);
    for (int i = 1; i <= 9; i++)
        bench_put(&bench, i);
    vrt_store_remove_job(bench.store, 9, bench_done(&bench));
    vrt_store_remove_job(bench.store, 77, bench_done(&bench));
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, 8);
    expect_int(bench.table.last_id, 9);
    for (int i = 1; i <= 8; i++)
        vrt_store_remove_job(bench.store, i, bench_done(&bench));
    bench_reopen(&bench);
    expect_int(bench.table.n_rows, 0);
    expect_int(bench.table.last_id, 9);
    bench_end(&bench);
}

struct chain {
    struct bench *bench;
    int n_left;
    bool stopped;
};

static void on_chain(void *ctx, int r)
{
    struct chain *chain = ctx;

    expect_int(r, 0);
    if (chain->n_left-- > 0)
        vrt_store_put_job(chain->bench->store, bench_job(10 + chain->n_left),
                          (struct vrt_store_done){ on_chain, chain });
    if (chain->n_left == 5)
        vrt_store_stop(chain->bench->store, ignore_stopped, &chain->stopped);
}

/* Stopping waits for the writes that answers lead to. */
static void test_stop(void)
{
    struct bench bench;
    struct chain chain = { &bench, 10, false };

    bench_begin(&bench);
    vrt_store_put_job(bench.store, bench_job(1), (struct vrt_store_done){ on_chain, &chain });
    expect_int(uv_run(&bench.loop, UV_RUN_DEFAULT), 0);
    expect_true(chain.stopped);
    expect_int(chain.n_left, -1);
    expect_int(uv_loop_close(&bench.loop), 0);
    bench_read(&bench);
    expect_int(bench.table.n_rows, 11);
    bench_end(&bench);
}

static void test_measures(void)
{
    struct vrt_store_measure measure = { "0123456789abcdef", "cpu, somebody's \"fast\" one, "
                                         "2 threads", "flops_per_s.bf16", 1.25e12 };
    struct bench bench;

    bench_begin(&bench);
    vrt_store_put_measure(bench.store, &measure);
    measure.value = 2.5e12;
    vrt_store_put_measure(bench.store, &measure);
    bench_reopen(&bench);
    expect_int(bench.table.n_measures, 1);
    expect_near(bench.table.value, 2.5e12, 0);
    expect_str(bench.table.measure, "0123456789abcdef|cpu, somebody's \"fast\" one, 2 threads|"
               "flops_per_s.bf16");
    bench_end(&bench);
}

static int note_token(void *ctx, const struct vrt_store_token *token)
{
    char *text = ctx;
    size_t n = strlen(text);

    snprintf(text + n, 200 - n, "%lld %s %s %d %lld %lld\n", (long long)token->id, token->name,
             token->digest, token->is_admin, (long long)token->created_at,
             (long long)token->expires_at);
    return token->id == 7 ? -ENOMEM : 0;
}

/* The highest number there ever was is known also when its token is gone. */
static void test_tokens(void)
{
    static const struct vrt_store_token tokens[] = {
        { 3, "Ann's", "beef", true, 11, 12 }, { 2, "b", "feed", false, 13, 0 },
        { 9, "gone", "0", false, 1, 1 },
    };
    struct vrt_error error = { 0 };
    struct bench bench;
    char text[200] = "";
    int64_t last_id = -1;

    bench_begin(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(tokens); i++)
        vrt_store_put_token(bench.store, &tokens[i], bench_done(&bench));
    vrt_store_remove_token(bench.store, 9, bench_done(&bench));
    bench_wait(&bench);
    expect_int(bench.n_done, 4);
    expect_int(bench.last_result, 0);
    bench_reopen(&bench);
    expect_int(vrt_store_load_tokens(bench.store, note_token, text, &last_id, &error), 0);
    expect_str(text, "2 b feed 0 13 0\n3 Ann's beef 1 11 12\n");
    expect_int(last_id, 9);
    vrt_store_put_token(bench.store, &(struct vrt_store_token){ 7, "", "", false, 0, 0 },
                        bench_done(&bench));
    bench_reopen(&bench);
    expect_int(vrt_store_load_tokens(bench.store, note_token, text, &last_id, &error), -ENOMEM);
    expect_true(error.message[0]);
    bench_end(&bench);
}

static int refuse_job(void *ctx, const struct vrt_store_job *job)
{
    (void)job;
    return ++*(int *)ctx == 2 ? -ENOMEM : 0;
}

/* What SQLite says, in all its detail, is an errno that is told of. */
static void test_outcomes(void)
{
    static const struct {
        int rc, wanted;
    } outcomes[] = {
        { SQLITE_OK, 0 }, { SQLITE_FULL, -ENOSPC }, { SQLITE_IOERR_SHMSIZE, -ENOSPC },
        { SQLITE_NOMEM, -ENOMEM }, { SQLITE_IOERR_NOMEM, -ENOMEM },
        { SQLITE_BUSY_SNAPSHOT, -EBUSY }, { SQLITE_LOCKED, -EBUSY }, { SQLITE_PERM, -EACCES },
        { SQLITE_READONLY_DBMOVED, -ESTALE }, { SQLITE_READONLY_DIRECTORY, -EROFS },
        { SQLITE_TOOBIG, -EMSGSIZE }, { SQLITE_CORRUPT_VTAB, -EBADMSG },
        { SQLITE_NOTADB, -EBADMSG }, { SQLITE_IOERR_READ, -EIO }, { SQLITE_MISUSE, -EIO },
    };
    struct vrt_store_db *db;
    struct vrt_error error = { 0 };
    struct bench bench;

    bench_init(&bench);
    expect_int(vrt_store_db_open(&(struct vrt_store_params){ .folder = bench.folder }, &db,
                                 &error), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(outcomes); i++)
        expect_int(vrt_store_db_errno(db, outcomes[i].rc), outcomes[i].wanted);
    vrt_store_db_close(db);
    bench_remove(&bench);
}

/* A reader that can't go on ends the load with what it said. */
static void test_reader_fails(void)
{
    int n_read = 0;
    const struct vrt_store_reader reader = { .job = refuse_job, .ctx = &n_read };
    struct vrt_error error = { 0 };
    struct bench bench;
    int64_t last_id = -1;

    bench_begin(&bench);
    for (int i = 1; i <= 3; i++)
        bench_put(&bench, i);
    bench_reopen(&bench);
    expect_int(vrt_store_load(bench.store, &reader, &last_id, &error), -ENOMEM);
    expect_int(n_read, 2);
    expect_int(last_id, -1);
    expect_true(error.message[0]);
    bench_end(&bench);
}

TEST_MAIN(
    { "round-trip", test_round_trip },
    { "states", test_states },
    { "group-commit", test_group_commit },
    { "merge", test_merge },
    { "segments", test_segments },
    { "no-such-job", test_no_such_job },
    { "ids", test_ids },
    { "stop", test_stop },
    { "measures", test_measures },
    { "tokens", test_tokens },
    { "outcomes", test_outcomes },
    { "reader-fails", test_reader_fails },
)
