/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What outlives the daemon: jobs, their segments, what was measured; an SQLite file in the state
 * folder, `vrtd.db`, that `sqlite3` may read at any time
 *
 *     vrt_store_open()  ->  vrt_store_load(), vrt_store_load_measures()  ->  the loop runs, writes
 *                       ->  vrt_store_stop()
 *
 * Writes wait on the loop until the store's thread is idle, and then all that wait become one
 * transaction. Its commit is on the disk when a write's `done` is called: whatever happens to
 * process or machine after that, the next start finds it. What was not told yet may be found or
 * not, but never in part, and never without the writes before it, but those told to have failed.
 *
 * On a full disk only the writes that find no room fail; the store goes on, and works again as
 * soon as there is room. It keeps nothing of a write that failed.
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "fields.h"
#include "workers/media/segment-record.h"

struct uv_loop_s;
struct vrt_store;

#define VRT_STORE_INSTANCE_BYTES 17

/* What it points to needs to live only until vrt_store_open() returns. */
struct vrt_store_params {
    struct uv_loop_s *loop;
    const char *folder;             /* the state folder; the file is made in it if need be */
    int64_t max_bytes;              /* of the file, beyond which the disk counts as full; 0: none */
};

/* The texts belong to whoever passes it. */
struct vrt_store_job {
    int64_t id;                     /* at least 1 */
    uid_t uid;
    int state;                      /* enum vrt_job_state; kept by its name */
    int64_t priority;
    int64_t created_at, finished_at;        /* as the queue has them; not looked at */
    int64_t starts;                 /* without a segment since */
    const char *request, *info, *work;      /* JSON that the store doesn't look into; "" allowed */
    const char *history;            /* likewise, as it is loaded; written by its own call */
};

/* One figure that cost time to find out, by these three keys. */
struct vrt_store_measure {
    const char *network;            /* its checksum, as text */
    const char *device_class;       /* a text that is the same at the next start */
    const char *what;               /* "fidelity_db.f16", "flops_per_s.bf16", ... */
    double value;                   /* not NAN */
};

/* Who may come by TCP (daemon/web/tokens.h). The texts belong to whoever passes it. */
struct vrt_store_token {
    int64_t id;                     /* at least 1 */
    const char *name;
    const char *digest;             /* of what is asked for, which isn't kept: hexadecimal digits */
    bool is_admin;
    int64_t created_at, expires_at; /* wall clock, ns; 0: it doesn't expire */
};

/* What becomes of a write: `call` (NULL: nobody asks) is called on the loop exactly once, with 0 or
 * -ENOSPC (disk or quota full), -EIO, -ENOENT (no such job), -EBUSY (another program keeps the file
 * locked for seconds), -ESTALE (the file was moved or removed), -ENOMEM, ... */
struct vrt_store_done {
    void (*call)(void *ctx, int r);
    void *ctx;
};

/* A struct vrt_bookmark, as JSON. */
extern const struct vrt_field vrt_bookmark_fields[];

/*
 * What vrt_store_load() calls: each job in the order of ids, and behind it its segments in order.
 * What is passed lives until the call returns. Return of both: 0, or -errno, which ends the load.
 */
struct vrt_store_reader {
    int (*job)(void *ctx, const struct vrt_store_job *job);
    int (*segment)(void *ctx, int64_t job_id, const struct vrt_segment_record *segment);
    void *ctx;
};

struct vrt_store_counts {
    uint64_t n_writes;              /* told as done, failed ones included */
    uint64_t n_failed;              /* of those */
    uint64_t n_commits;             /* transactions on the disk */
};

/*
 * Opens the file, makes or migrates its tables, checks it, and starts the store's thread. A file
 * that is damaged, foreign or of a newer vrtd is refused as it is: nothing in it is changed.
 * Return: 0; -errno, and `error` names the file and the cure.
 */
int vrt_store_open(const struct vrt_store_params *params, struct vrt_store **ret_store,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* What the file was given when it was made, and no other has: hexadecimal digits. It lives as long
 * as the store. */
const char *vrt_store_instance(const struct vrt_store *store);

/*
 * Reads all jobs. *ret_last_id: the highest id there ever was, 0 for none: also where that job was
 * removed. Before the first write. Return: 0; -errno, of a reader too, and `error` says why.
 */
int vrt_store_load(struct vrt_store *store, const struct vrt_store_reader *reader,
                   int64_t *ret_last_id, struct vrt_error *error) VRT_MUST_CHECK;

/* Reads all that was measured, the oldest first. Before the first write. Return: 0; -errno, see
 * `error`. */
int vrt_store_load_measures(struct vrt_store *store,
                            void (*measure)(void *ctx, const struct vrt_store_measure *measure),
                            void *ctx, struct vrt_error *error) VRT_MUST_CHECK;

/* Reads all tokens, in the order of ids; what `token` returns, unless it is 0, ends it.
 * *ret_last_id: the highest id there ever was, 0 for none. Before the first write. Return: 0;
 * -errno, see `error`. */
int vrt_store_load_tokens(struct vrt_store *store,
                          int (*token)(void *ctx, const struct vrt_store_token *token), void *ctx,
                          int64_t *ret_last_id, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Writes take effect in the order of the calls; what they are given needs to live only until they
 * return. `done` is never called from within, with one exception: where there is no memory even to
 * remember the write, it is called at once with -ENOMEM. Of several puts of one job in a row that
 * wait together only the last is written; each one's `done` is called.
 */

/* Adds the job, or replaces what is kept of it, but never its segments. */
void vrt_store_put_job(struct vrt_store *store, const struct vrt_store_job *job,
                       struct vrt_store_done done);

/* Keeps the job's history, or replaces it. Nobody is told: what fails comes again with more. */
void vrt_store_put_history(struct vrt_store *store, int64_t job_id, const char *history);

/* Adds a segment (or replaces that of its number) and sets the job's `starts` to 0. The files must
 * be on the disk for good already. No such job: -ENOENT. */
void vrt_store_add_segment(struct vrt_store *store, int64_t job_id,
                           const struct vrt_segment_record *segment, struct vrt_store_done done);

/* Forgets the job's segments from this number on. */
void vrt_store_cut_segments(struct vrt_store *store, int64_t job_id, int64_t first_number,
                            struct vrt_store_done done);

/* Forgets the job and its segments, if there is one; its id is never used again. */
void vrt_store_remove_job(struct vrt_store *store, int64_t id, struct vrt_store_done done);

/* Keeps a figure, or replaces it. Nobody is told: what fails is measured again some day. */
void vrt_store_put_measure(struct vrt_store *store, const struct vrt_store_measure *measure);

/* Adds a token. */
void vrt_store_put_token(struct vrt_store *store, const struct vrt_store_token *token,
                         struct vrt_store_done done);

/* Forgets a token, if there is one; its id is never used again. */
void vrt_store_remove_token(struct vrt_store *store, int64_t id, struct vrt_store_done done);

/* What it did since it was opened. */
void vrt_store_counts(const struct vrt_store *store, struct vrt_store_counts *ret_counts);

/*
 * Ends the store when the last write is done; those made by a `done` meanwhile are written too.
 * `stopped` is called once, on the loop, never from within, when nothing of the store is left: it
 * has freed itself.
 */
void vrt_store_stop(struct vrt_store *store, void (*stopped)(void *ctx), void *ctx);
