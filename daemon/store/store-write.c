/* SPDX-License-Identifier: MIT */

/*
 * Writing, on the store's thread
 *
 * A transaction that fails leaves nothing behind. Whose fault it was cannot be told from outside,
 * on a full disk least of all (the next row may well fit into a page that is there), so then each
 * write is tried in a transaction of its own, and only those that fail now are told so.
 */

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/store/store-impl.h"
#include "msg_job.h"

#define VRT_LOG_TOPIC "store"

static const char *const statements[VRT_STORE_SQL_COUNT] = {
    [VRT_STORE_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [VRT_STORE_SQL_COMMIT] = "COMMIT",
    /* Not REPLACE: that would be a removal first. */
    [VRT_STORE_SQL_PUT_JOB] =
        "INSERT INTO jobs (id, uid, priority, created_at, finished_at, starts, state, request, "
        "info, work) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
        "ON CONFLICT (id) DO UPDATE SET uid = ?2, priority = ?3, created_at = ?4, "
        "finished_at = ?5, starts = ?6, state = ?7, request = ?8, info = ?9, work = ?10",
    [VRT_STORE_SQL_PUT_HISTORY] = "UPDATE jobs SET history = ?2 WHERE id = ?1",
    [VRT_STORE_SQL_REMOVE_JOB] = "DELETE FROM jobs WHERE id = ?1",
    [VRT_STORE_SQL_RESET_STARTS] = "UPDATE jobs SET starts = 0 WHERE id = ?1",
    [VRT_STORE_SQL_PUT_SEGMENT] =
        "INSERT OR REPLACE INTO segments (job, number, n_frames, next_shard, size_bytes, "
        "tail_bytes, n_concealed, ran_ms, behind) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [VRT_STORE_SQL_CUT_SEGMENTS] = "DELETE FROM segments WHERE job = ?1 AND number >= ?2",
    [VRT_STORE_SQL_PUT_MEASURE] =
        "INSERT OR REPLACE INTO measured (at, network, device_class, what, value) "
        "VALUES (?1, ?2, ?3, ?4, ?5)",
    [VRT_STORE_SQL_PUT_TOKEN] =
        "INSERT OR REPLACE INTO tokens (id, is_admin, created_at, expires_at, name, digest) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [VRT_STORE_SQL_REMOVE_TOKEN] = "DELETE FROM tokens WHERE id = ?1",
};

int vrt_store_db_prepare(struct vrt_store_db *db)
{
    int rc = SQLITE_OK;

    for (int i = 0; rc == SQLITE_OK && i < VRT_STORE_SQL_COUNT; i++)
        rc = sqlite3_prepare_v3(db->sqlite, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &db->statements[i], NULL);
    return rc;
}

/* What a statement's parameters are, in this order. */
struct values {
    const int64_t *ints;
    const char *const *texts;
    int n_ints, n_texts;
    const double *real;                 /* NULL: none */
};

/* Runs a statement that answers with nothing. Return: 0, -errno. */
static int run(struct vrt_store_db *db, enum vrt_store_statement which, struct values values)
{
    sqlite3_stmt *statement = db->statements[which];
    int rc = SQLITE_OK, n = 0, r;

    for (int i = 0; rc == SQLITE_OK && i < values.n_ints; i++)
        rc = sqlite3_bind_int64(statement, ++n, values.ints[i]);
    for (int i = 0; rc == SQLITE_OK && i < values.n_texts; i++)
        rc = sqlite3_bind_text(statement, ++n, values.texts[i], -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && values.real)
        rc = sqlite3_bind_double(statement, ++n, *values.real);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    r = rc == SQLITE_DONE ? 0 : vrt_store_db_errno(db, rc);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return r < 0 ? vrt_raise(r) : 0;
}

static int put_job(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    const struct vrt_store_job *job = &op->job;
    const int64_t ints[] = { job->id, job->uid, job->priority, job->created_at, job->finished_at,
                             job->starts };
    const char *const texts[] = { vrt_name_of(vrt_job_state_names, job->state), job->request,
                                  job->info, job->work };

    return run(db, VRT_STORE_SQL_PUT_JOB, (struct values){
        .ints = ints,
        .texts = texts,
        .n_ints = VRT_ARRAY_SIZE(ints),
        .n_texts = VRT_ARRAY_SIZE(texts),
    });
}

static int put_history(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    return run(db, VRT_STORE_SQL_PUT_HISTORY, (struct values){
        .ints = &op->job.id,
        .texts = &op->job.history,
        .n_ints = 1,
        .n_texts = 1,
    });
}

static int add_segment(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    const struct vrt_segment_record *segment = &op->segment;
    const int64_t ints[] = { op->job.id, segment->number, segment->n_frames, segment->next_shard,
                             segment->size_bytes, segment->tail_bytes, segment->n_concealed,
                             segment->ran_ms };
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf behind = { .limit_bytes = 0 };
    int r = run(db, VRT_STORE_SQL_RESET_STARTS, (struct values){ .ints = ints, .n_ints = 1 });

    if (r < 0)
        return r;
    if (sqlite3_changes(db->sqlite) == 0)
        return vrt_raise(-ENOENT);
    r = vrt_fields_print(vrt_bookmark_fields, &segment->behind, &behind);
    if (r < 0)
        return vrt_fold(r);
    return run(db, VRT_STORE_SQL_PUT_SEGMENT, (struct values){
        .ints = ints,
        .texts = (const char *const[]){ behind.data },
        .n_ints = VRT_ARRAY_SIZE(ints),
        .n_texts = 1,
    });
}

static int cut_segments(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    const int64_t ints[] = { op->job.id, op->segment.number };

    return run(db, VRT_STORE_SQL_CUT_SEGMENTS, (struct values){ .ints = ints, .n_ints = 2 });
}

static int remove_job(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    const int64_t ints[] = { op->job.id, INT64_MIN };
    int r = run(db, VRT_STORE_SQL_CUT_SEGMENTS, (struct values){ .ints = ints, .n_ints = 2 });

    if (r < 0)
        return r;
    return run(db, VRT_STORE_SQL_REMOVE_JOB, (struct values){ .ints = ints, .n_ints = 1 });
}

static int put_measure(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    const struct vrt_store_measure *measure = &op->measure;
    const int64_t at_s = vrt_clock_wall_ns() / VRT_NS_PER_S;
    const char *const texts[] = { measure->network, measure->device_class, measure->what };

    return run(db, VRT_STORE_SQL_PUT_MEASURE, (struct values){
        .ints = &at_s,
        .texts = texts,
        .n_ints = 1,
        .n_texts = VRT_ARRAY_SIZE(texts),
        .real = &measure->value,
    });
}

static int put_token(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    const struct vrt_store_token *token = &op->token;
    const int64_t ints[] = { token->id, token->is_admin, token->created_at, token->expires_at };
    const char *const texts[] = { token->name, token->digest };

    return run(db, VRT_STORE_SQL_PUT_TOKEN, (struct values){
        .ints = ints,
        .texts = texts,
        .n_ints = VRT_ARRAY_SIZE(ints),
        .n_texts = VRT_ARRAY_SIZE(texts),
    });
}

static int remove_token(struct vrt_store_db *db, const struct vrt_store_op *op)
{
    return run(db, VRT_STORE_SQL_REMOVE_TOKEN, (struct values){
        .ints = &op->token.id,
        .n_ints = 1,
    });
}

static int (*const verbs[VRT_STORE_VERB_COUNT])(struct vrt_store_db *db,
                                                const struct vrt_store_op *op) = {
    [VRT_STORE_PUT_JOB] = put_job,
    [VRT_STORE_PUT_HISTORY] = put_history,
    [VRT_STORE_ADD_SEGMENT] = add_segment,
    [VRT_STORE_CUT_SEGMENTS] = cut_segments,
    [VRT_STORE_REMOVE_JOB] = remove_job,
    [VRT_STORE_PUT_MEASURE] = put_measure,
    [VRT_STORE_PUT_TOKEN] = put_token,
    [VRT_STORE_REMOVE_TOKEN] = remove_token,
};

/* A put right before another of the same job need not be written for the second to be right. */
static bool is_superseded(const struct vrt_store_op *op)
{
    const struct vrt_store_op *next = vrt_container_of(op->link.next, const struct vrt_store_op,
                                                       link);

    return op->verb == VRT_STORE_PUT_JOB && next->verb == VRT_STORE_PUT_JOB &&
           next->job.id == op->job.id;
}

/* The file as it was opened is what the next start will find; what is written to one that was
 * removed or replaced meanwhile would be lost without a word. */
static int check_place(struct vrt_store_db *db)
{
    int has_moved = 0;

    sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    return has_moved ? vrt_raise(-ESTALE) : 0;
}

/* Writes from *first to before *end in one transaction. Return: 0, with each op's result; -errno:
 * nothing was written. */
static int write_range(struct vrt_store_db *db, struct vrt_list *first, struct vrt_list *end)
{
    int r = check_place(db);

    if (r == 0)
        r = run(db, VRT_STORE_SQL_BEGIN, (struct values){ 0 });
    for (struct vrt_list *link = first; r == 0 && link != end; link = link->next) {
        struct vrt_store_op *op = vrt_container_of(link, struct vrt_store_op, link);
        op->result = 0;
        if (link->next != end && is_superseded(op))
            continue;
        op->result = verbs[op->verb](db, op);
        /* A segment of a job that is gone touched nothing. */
        if (op->result != -ENOENT)
            r = op->result;
    }
    if (r == 0)
        r = run(db, VRT_STORE_SQL_COMMIT, (struct values){ 0 });
    /* Some failures end the transaction by themselves: then there is nothing to take back. */
    if (r != 0)
        sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
    return vrt_fold(r);
}

/* Says once that it fails, and once that it works again. */
static void report(struct vrt_store_db *db, int r)
{
    if (r != 0 && !db->is_failing)
        vrt_log_error("%s cannot be written: %s; jobs are refused until it can", db->path,
                      r == -EBADMSG ? "it is damaged, stop vrtd and move it away" :
                      r == -ESTALE ? "it was moved or removed, start vrtd again" :
                      r == -EBUSY ? "another program keeps it locked" : strerror(-r));
    else if (r == 0 && db->is_failing)
        vrt_log_info("%s can be written again", db->path);
    db->is_failing = r != 0;
}

/* Writes each op in a transaction of its own. Return: how many were committed. */
static int write_each(struct vrt_store_db *db, struct vrt_list *ops)
{
    struct vrt_store_op *op;
    int n_commits = 0;

    /* What is in the log already need not stay there: that makes room for more. */
    sqlite3_wal_checkpoint_v2(db->sqlite, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    VRT_LIST_FOREACH(op, ops, link) {
        int r = write_range(db, &op->link, op->link.next);
        if (r != 0)
            op->result = r;
        else
            n_commits++;
    }
    return n_commits;
}

int vrt_store_db_write(struct vrt_store_db *db, struct vrt_list *ops)
{
    int r = write_range(db, ops->next, ops);
    struct vrt_store_op *op;

    report(db, r);
    if (r == 0)
        return 1;
    /* These would take as long again, and for each write. */
    if (r != -EBUSY && r != -ESTALE)
        return write_each(db, ops);
    VRT_LIST_FOREACH(op, ops, link)
        op->result = r;
    return 0;
}
