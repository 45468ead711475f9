/* SPDX-License-Identifier: MIT */

/* Reading, once per start: jobs and segments side by side, both in the order of the jobs. */

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "api.h"
#include "daemon/store/store-impl.h"
#include "msg_job.h"

#define JOBS \
    "SELECT id, uid, priority, created_at, finished_at, starts, state, request, info, work, " \
    "history " \
    "FROM jobs ORDER BY id"
#define SEGMENTS \
    "SELECT job, number, n_frames, next_shard, size_bytes, tail_bytes, n_concealed, ran_ms, " \
    "behind " \
    "FROM segments ORDER BY job, number"
#define LAST_ID "SELECT max(seq) FROM sqlite_sequence WHERE name = 'jobs'"
#define TOKENS "SELECT id, name, digest, is_admin, created_at, expires_at FROM tokens ORDER BY id"
#define LAST_TOKEN "SELECT max(seq) FROM sqlite_sequence WHERE name = 'tokens'"
#define MEASURES "SELECT network, device_class, what, value FROM measured ORDER BY at"

struct load {
    struct vrt_store_db *db;
    const struct vrt_store_reader *reader;
    struct vrt_error *error;
    sqlite3_stmt *jobs, *segments;
    bool has_segment;                   /* `segments` stands on a row */
};

static void finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

/* Return: SQLite's outcome. */
static int prepare(struct vrt_store_db *db, const char *sql, sqlite3_stmt **ret_statement)
{
    return sqlite3_prepare_v2(db->sqlite, sql, -1, ret_statement, NULL);
}

/* Goes on to the next row. Return: 0, with *ret_is_row; -errno, and `error` says why. */
static int step(struct vrt_store_db *db, sqlite3_stmt *statement, bool *ret_is_row,
                struct vrt_error *error)
{
    int rc = sqlite3_step(statement);

    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return vrt_store_db_refuse(db, rc, error);
    *ret_is_row = rc == SQLITE_ROW;
    return 0;
}

/* NULL: no memory, as the tables hold no null. */
static const char *column_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

static int load_job(struct load *load, int64_t *ret_id)
{
    sqlite3_stmt *row = load->jobs;
    const char *state = column_text(row, 6);
    const struct vrt_store_job job = {
        .id = sqlite3_column_int64(row, 0),
        .uid = (uid_t)sqlite3_column_int64(row, 1),
        .priority = sqlite3_column_int64(row, 2),
        .created_at = sqlite3_column_int64(row, 3),
        .finished_at = sqlite3_column_int64(row, 4),
        .starts = sqlite3_column_int64(row, 5),
        .state = state ? vrt_name_find(vrt_job_state_names, state) : VRT_UNKNOWN,
        .request = column_text(row, 7),
        .info = column_text(row, 8),
        .work = column_text(row, 9),
        .history = column_text(row, 10),
    };

    if (!state || !job.request || !job.info || !job.work || !job.history)
        return vrt_refuse_errno(load->error, vrt_raise(-ENOMEM), "reading the jobs");
    if (job.state == VRT_UNKNOWN)
        return vrt_refuse(load->error, vrt_raise(-EPROTO), VRT_E(INTERNAL), "job %lld in %s has a "
                          "state that this vrtd doesn't know: start the newer one that wrote it, "
                          "or move the file away", (long long)job.id, load->db->path);
    *ret_id = job.id;
    return vrt_fold(load->reader->job(load->reader->ctx, &job));
}

#define T struct vrt_bookmark
const struct vrt_field vrt_bookmark_fields[] = {
    VRT_FIELD_INT(T, first, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELD_INT(T, first_pts, VRT_FIELD_REQUIRED, INT64_MIN / 2, INT64_MAX / 2),
    VRT_FIELD_INT(T, n_read, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELD_INT(T, last_pts, VRT_FIELD_REQUIRED, INT64_MIN / 2, INT64_MAX / 2),
    VRT_FIELD_INT(T, checksum, VRT_FIELD_REQUIRED, 0, INT64_MAX),
    VRT_FIELD_INT(T, scene_start, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELD_INT(T, clip, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELD_INT(T, begin_pts, VRT_FIELD_REQUIRED, INT64_MIN / 2, INT64_MAX / 2),
    VRT_FIELD_INT(T, n_new, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELD_INT(T, n_repeated, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELD_INT(T, n_held, VRT_FIELD_REQUIRED, 0, INT64_MAX / 2),
    VRT_FIELDS_END,
};
#undef T

/* Where decoding goes on behind the segment that `row` stands on: nowhere, where nothing of use is
 * said. */
static struct vrt_bookmark behind_of(sqlite3_stmt *row)
{
    struct vrt_bookmark behind = { .first = 0 };
    const char *text = column_text(row, 8);
    json_t *json = NULL;

    if (!text || vrt_json_parse(text, strlen(text), &json, NULL) < 0)
        return behind;
    if (vrt_fields_decode(vrt_bookmark_fields, json, VRT_FIELDS_LENIENT, &behind, NULL) < 0)
        behind.first = 0;
    json_decref(json);
    return behind;
}

/* Those of a job; what stands before them is of no job that there is. */
static int load_segments(struct load *load, int64_t job_id)
{
    sqlite3_stmt *row = load->segments;
    int r = 0;

    while (r == 0 && load->has_segment && sqlite3_column_int64(row, 0) <= job_id) {
        const struct vrt_segment_record segment = {
            .number = sqlite3_column_int64(row, 1),
            .n_frames = sqlite3_column_int64(row, 2),
            .next_shard = sqlite3_column_int64(row, 3),
            .size_bytes = sqlite3_column_int64(row, 4),
            .tail_bytes = sqlite3_column_int64(row, 5),
            .n_concealed = sqlite3_column_int64(row, 6),
            .ran_ms = sqlite3_column_int64(row, 7),
            .behind = behind_of(row),
        };
        if (sqlite3_column_int64(row, 0) == job_id)
            r = vrt_fold(load->reader->segment(load->reader->ctx, job_id, &segment));
        if (r < 0)
            return r;
        r = step(load->db, row, &load->has_segment, load->error);
    }
    return r;
}

int vrt_store_db_load(struct vrt_store_db *db, const struct vrt_store_reader *reader,
                      int64_t *ret_last_id, struct vrt_error *error)
{
    VRT_CLEANUP(finalize) sqlite3_stmt *jobs = NULL;
    VRT_CLEANUP(finalize) sqlite3_stmt *segments = NULL;
    VRT_CLEANUP(finalize) sqlite3_stmt *last = NULL;
    struct load load = { .db = db, .reader = reader, .error = error };
    int64_t last_id = 0, id = 0;
    bool is_row = false;
    int rc = prepare(db, JOBS, &jobs), r;

    if (rc == SQLITE_OK)
        rc = prepare(db, SEGMENTS, &segments);
    if (rc == SQLITE_OK)
        rc = prepare(db, LAST_ID, &last);
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    load.jobs = jobs;
    load.segments = segments;
    r = step(db, last, &is_row, error);
    if (r == 0 && is_row)
        last_id = sqlite3_column_int64(last, 0);
    if (r == 0)
        r = step(db, segments, &load.has_segment, error);
    while (r == 0 && (r = step(db, jobs, &is_row, error)) == 0 && is_row) {
        r = load_job(&load, &id);
        if (r == 0)
            r = load_segments(&load, id);
    }
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "reading the jobs");
    *ret_last_id = last_id;
    return 0;
}

int vrt_store_db_load_measures(struct vrt_store_db *db,
                               void (*measure)(void *ctx, const struct vrt_store_measure *measure),
                               void *ctx, struct vrt_error *error)
{
    VRT_CLEANUP(finalize) sqlite3_stmt *row = NULL;
    bool is_row = false;
    int rc = prepare(db, MEASURES, &row), r;

    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    while (!(r = step(db, row, &is_row, error)) && is_row) {
        const struct vrt_store_measure found = {
            .network = column_text(row, 0),
            .device_class = column_text(row, 1),
            .what = column_text(row, 2),
            .value = sqlite3_column_double(row, 3),
        };
        if (!found.network || !found.device_class || !found.what)
            return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading what was measured");
        measure(ctx, &found);
    }
    return vrt_fold(r);
}

int vrt_store_db_load_tokens(struct vrt_store_db *db,
                             int (*token)(void *ctx, const struct vrt_store_token *token),
                             void *ctx, int64_t *ret_last_id, struct vrt_error *error)
{
    VRT_CLEANUP(finalize) sqlite3_stmt *row = NULL;
    VRT_CLEANUP(finalize) sqlite3_stmt *last = NULL;
    bool is_row = false;
    int rc = prepare(db, TOKENS, &row), r = 0;

    if (rc == SQLITE_OK)
        rc = prepare(db, LAST_TOKEN, &last);
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    while (r == 0 && (r = step(db, row, &is_row, error)) == 0 && is_row) {
        const struct vrt_store_token found = {
            .id = sqlite3_column_int64(row, 0),
            .name = column_text(row, 1),
            .digest = column_text(row, 2),
            .is_admin = sqlite3_column_int64(row, 3) != 0,
            .created_at = sqlite3_column_int64(row, 4),
            .expires_at = sqlite3_column_int64(row, 5),
        };
        r = found.name && found.digest ? token(ctx, &found) : vrt_raise(-ENOMEM);
    }
    if (r == 0)
        r = step(db, last, &is_row, error);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "reading the tokens");
    *ret_last_id = is_row ? sqlite3_column_int64(last, 0) : 0;
    return 0;
}
