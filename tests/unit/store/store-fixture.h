/* SPDX-License-Identifier: MIT */
#pragma once

/* A store in a temporary folder, on a loop of its own, and what was read from it. */

#include <uv.h>

#include "daemon/store/store.h"

#define TABLE_MAX 12000

/* One job as it was read, with the numbers of its segments. */
struct table_row {
    struct vrt_store_job job;       /* without texts */
    char request[64], info[64], history[64];
    size_t work_bytes;
    int n_segments;
    struct vrt_segment_record segments[8];      /* the first of them */
};

struct table {
    struct table_row *rows;
    int n_rows;
    int64_t last_id;
    int n_measures;
    char measure[256];              /* the last one: "network|class|what" */
    double value;
};

struct bench {
    char folder[64], file[96];
    int64_t max_bytes;
    uv_loop_t loop;
    struct vrt_store *store;
    int n_pending;                  /* writes by bench_done() that are not done */
    int n_done;
    int last_result;
    bool stopped;
    struct table table;             /* what bench_read() found last */
};

/* Makes the folder; nothing is opened. */
void bench_init(struct bench *bench);

/* Removes the folder with what is in it. */
void bench_remove(struct bench *bench);

/* Opens the store and expects it to work. */
void bench_open(struct bench *bench);

/* The same, and reads all that is in it. */
void bench_read(struct bench *bench);

/* Tries to open it. Return: its outcome; the loop is closed again where that is not 0. */
int bench_try(struct bench *bench, struct vrt_error *error);

/* bench_init() and bench_open(). */
void bench_begin(struct bench *bench);

/* bench_close() and bench_read(). */
void bench_reopen(struct bench *bench);

/* bench_close() and bench_remove(). */
void bench_end(struct bench *bench);

/* Runs the loop until no write is pending. */
void bench_wait(struct bench *bench);

/* Stops the store and closes the loop. */
void bench_close(struct bench *bench);

/* Counts a write of the test, and what became of it. */
struct vrt_store_done bench_done(struct bench *bench);

/* A queued job whose texts follow from its number. It lives until the next call. */
const struct vrt_store_job *bench_job(int64_t id);

/* Puts bench_job(id). */
void bench_put(struct bench *bench, int64_t id);

/* A segment whose figures follow from job and number. */
struct vrt_segment_record bench_segment(int64_t job_id, int64_t number);
