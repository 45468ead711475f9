/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a store is made of: private to the folder
 *
 * Thread: struct vrt_store_db, the file, belongs to the loop until the first write, then to the
 * store's thread, which closes it; nothing else knows SQLite. All else is the loop's.
 */

#include <sqlite3.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "daemon/store/store.h"

#define VRT_STORE_PATH_BYTES 512

enum vrt_store_verb {
    VRT_STORE_PUT_JOB,
    VRT_STORE_PUT_HISTORY,
    VRT_STORE_ADD_SEGMENT,
    VRT_STORE_CUT_SEGMENTS,
    VRT_STORE_REMOVE_JOB,
    VRT_STORE_PUT_MEASURE,
    VRT_STORE_PUT_TOKEN,
    VRT_STORE_REMOVE_TOKEN,
    VRT_STORE_VERB_COUNT,
};

/* One write, from the call to its `done`. */
struct vrt_store_op {
    struct vrt_list link;
    enum vrt_store_verb verb;
    struct vrt_store_done done;
    int result;                         /* what `done` is told */

    struct vrt_store_job job;           /* PUT_JOB; PUT_HISTORY: that; all verbs of jobs: its id */
    struct vrt_segment_record segment;  /* ADD_SEGMENT; CUT_SEGMENTS: its number */
    struct vrt_store_measure measure;   /* PUT_MEASURE */
    struct vrt_store_token token;       /* PUT_TOKEN; REMOVE_TOKEN: its id */
    char texts[];                       /* that those point to */
};

enum vrt_store_statement {
    VRT_STORE_SQL_BEGIN,
    VRT_STORE_SQL_COMMIT,
    VRT_STORE_SQL_PUT_JOB,
    VRT_STORE_SQL_PUT_HISTORY,
    VRT_STORE_SQL_REMOVE_JOB,
    VRT_STORE_SQL_RESET_STARTS,
    VRT_STORE_SQL_PUT_SEGMENT,
    VRT_STORE_SQL_CUT_SEGMENTS,
    VRT_STORE_SQL_PUT_MEASURE,
    VRT_STORE_SQL_PUT_TOKEN,
    VRT_STORE_SQL_REMOVE_TOKEN,
    VRT_STORE_SQL_COUNT,
};

struct vrt_store_db {
    char path[VRT_STORE_PATH_BYTES];
    char instance[VRT_STORE_INSTANCE_BYTES];
    sqlite3 *sqlite;
    sqlite3_stmt *statements[VRT_STORE_SQL_COUNT];
    bool is_failing;                    /* the last write did, and that was said */
};

/* Opens, checks and migrates; see vrt_store_open(). */
int vrt_store_db_open(const struct vrt_store_params *params, struct vrt_store_db **ret_db,
                      struct vrt_error *error);

/* Moves what is in the write-ahead log into the file and closes it. Return: NULL. */
struct vrt_store_db *vrt_store_db_close(struct vrt_store_db *db);

/* What SQLite's outcome `rc` is as -errno; *db was the last to fail. */
int vrt_store_db_errno(const struct vrt_store_db *db, int rc);

/* Says why the file can't be used, and what to do. Return: vrt_store_db_errno(). */
int vrt_store_db_refuse(const struct vrt_store_db *db, int rc, struct vrt_error *error);

/* Prepares the statements of writes. Return: SQLite's outcome. */
int vrt_store_db_prepare(struct vrt_store_db *db);

/*
 * Writes a list of struct vrt_store_op and fills in the result of each: in one transaction, or,
 * where that fails, each in its own. Return: how many transactions were committed.
 */
int vrt_store_db_write(struct vrt_store_db *db, struct vrt_list *ops);

/* See vrt_store_load(). */
int vrt_store_db_load(struct vrt_store_db *db, const struct vrt_store_reader *reader,
                      int64_t *ret_last_id, struct vrt_error *error);

/* See vrt_store_load_measures(). */
int vrt_store_db_load_measures(struct vrt_store_db *db,
                               void (*measure)(void *ctx, const struct vrt_store_measure *measure),
                               void *ctx, struct vrt_error *error);

/* See vrt_store_load_tokens(). */
int vrt_store_db_load_tokens(struct vrt_store_db *db,
                             int (*token)(void *ctx, const struct vrt_store_token *token),
                             void *ctx, int64_t *ret_last_id, struct vrt_error *error);

VRT_DEFINE_CLEANUP(struct vrt_store_db, vrt_store_db_close)
