/* SPDX-License-Identifier: MIT */

/*
 * The loop's side: writes wait in a list, and go to the thread as one batch when it has brought
 * the last one back. So the disk's speed sets the size of the batches: one write when there is
 * little to do, hundreds when there is much, and never more than one commit's time between a
 * write and its transaction.
 */

#include "daemon/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "daemon/store/store-impl.h"
#include "msg_job.h"
#include "workers/mailbox.h"

#define VRT_LOG_TOPIC "store"

struct vrt_store {
    struct vrt_outbox *outbox;
    struct vrt_mailbox *mailbox;
    struct vrt_list waiting;            /* of struct vrt_store_op.link */
    struct vrt_store_counts counts;
    char instance[VRT_STORE_INSTANCE_BYTES];
    bool has_written;                   /* the thread has the file */
    bool is_busy;                       /* ... and the batch */
    bool is_telling;
    bool is_stopping, is_ending;        /* vrt_store_stop() was called; the last write is done */
    void (*stopped)(void *ctx);
    void *stopped_ctx;

    struct {                            /* changes hands with the task */
        struct vrt_task task;
        struct vrt_list ops;            /* of struct vrt_store_op.link */
        int n_commits;
    } batch;

    struct vrt_store_db *db;            /* the loop's until the first write, then the thread's */
};

static void move_ops(struct vrt_list *from, struct vrt_list *to)
{
    struct vrt_store_op *op;

    VRT_LIST_FOREACH(op, from, link) {
        vrt_list_remove(&op->link);
        vrt_list_append(to, &op->link);
    }
}

/* Gives the thread what waits, if it has nothing; ends it where nothing will come any more. */
static void go_on(struct vrt_store *store)
{
    int r;

    if (store->is_busy)
        return;
    if (!vrt_list_is_empty(&store->waiting)) {
        move_ops(&store->waiting, &store->batch.ops);
        store->is_busy = store->has_written = true;
        r = vrt_mailbox_post(store->mailbox, &store->batch.task);
        /* It has room for one batch, and is stopped only below. */
        vrt_assert(r == 0);
    } else if (store->is_stopping && !store->is_telling) {
        store->is_busy = store->is_ending = true;
        vrt_mailbox_stop(store->mailbox);
    }
}

static void on_batch_done(struct vrt_task *task)
{
    struct vrt_store *store = vrt_container_of(task, struct vrt_store, batch.task);
    struct vrt_list told;
    struct vrt_store_op *op;

    vrt_list_init(&told);
    move_ops(&store->batch.ops, &told);
    store->counts.n_commits += (uint64_t)store->batch.n_commits;
    store->is_busy = false;
    /* The disk has something to do while the loop tells; whoever is told may write more, or stop
     * the store. */
    store->is_telling = true;
    go_on(store);
    while ((op = VRT_LIST_FIRST(&told, struct vrt_store_op, link))) {
        vrt_list_remove(&op->link);
        store->counts.n_writes++;
        store->counts.n_failed += op->result != 0;
        if (op->done.call)
            op->done.call(op->done.ctx, op->result);
        free(op);
    }
    store->is_telling = false;
    go_on(store);
}

static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct vrt_store *store = ctx;
    struct vrt_task *task;

    while ((task = vrt_mailbox_take(mailbox))) {
        store->batch.n_commits = vrt_store_db_write(store->db, &store->batch.ops);
        vrt_mailbox_return(mailbox, task, VRT_TASK_DONE);
    }
    store->db = vrt_store_db_close(store->db);
}

static void on_closed(void *ctx)
{
    struct vrt_store *store = ctx;
    void (*stopped)(void *ctx) = store->stopped;
    void *stopped_ctx = store->stopped_ctx;

    free(store);
    if (stopped)
        stopped(stopped_ctx);
}

static void on_ended(void *ctx, bool abandoned)
{
    struct vrt_store *store = ctx;

    (void)abandoned;
    vrt_outbox_close(store->outbox, on_closed, store);
}

int vrt_store_open(const struct vrt_store_params *params, struct vrt_store **ret_store,
                   struct vrt_error *error)
{
    VRT_CLEANUP(vrt_store_db_closep) struct vrt_store_db *db = NULL;
    VRT_CLEANUP(vrt_freep) struct vrt_store *store = calloc(1, sizeof(*store));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!store)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the store of jobs");
    r = vrt_store_db_open(params, &db, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_list_init(&store->waiting);
    vrt_list_init(&store->batch.ops);
    vrt_task_init(&store->batch.task, on_batch_done, NULL);
    r = vrt_outbox_new(params->loop, &store->outbox);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the store of jobs");
    store->db = db;
    memcpy(store->instance, db->instance, sizeof(store->instance));
    r = vrt_mailbox_new(store->outbox, &(struct vrt_mailbox_params){
        .name = "vrt-store",
        .capacity = 1,
        .run = run,
        .run_ctx = store,
        .ended = on_ended,
        .ended_ctx = store,
    }, &store->mailbox);
    if (r < 0) {
        vrt_outbox_close(store->outbox, NULL, NULL);
        return vrt_refuse_errno(error, vrt_fold(r), "the store of jobs");
    }
    (void)VRT_STEAL(db);
    *ret_store = VRT_STEAL(store);
    return 0;
}

const char *vrt_store_instance(const struct vrt_store *store)
{
    return store->instance;
}

int vrt_store_load(struct vrt_store *store, const struct vrt_store_reader *reader,
                   int64_t *ret_last_id, struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!store->has_written);
    return vrt_fold(vrt_store_db_load(store->db, reader, ret_last_id, error));
}

int vrt_store_load_measures(struct vrt_store *store,
                            void (*measure)(void *ctx, const struct vrt_store_measure *measure),
                            void *ctx, struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!store->has_written);
    return vrt_fold(vrt_store_db_load_measures(store->db, measure, ctx, error));
}

int vrt_store_load_tokens(struct vrt_store *store,
                          int (*token)(void *ctx, const struct vrt_store_token *token), void *ctx,
                          int64_t *ret_last_id, struct vrt_error *error)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!store->has_written);
    return vrt_fold(vrt_store_db_load_tokens(store->db, token, ctx, ret_last_id, error));
}

/* With room for `text_bytes` of texts. NULL: no memory, and `done` was told. */
static struct vrt_store_op *new_op(enum vrt_store_verb verb, size_t text_bytes,
                                   struct vrt_store_done done)
{
    struct vrt_store_op *op = calloc(1, sizeof(*op) + text_bytes);

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (op) {
        op->verb = verb;
        op->done = done;
    } else if (done.call) {
        done.call(done.ctx, vrt_raise(-ENOMEM));
    }
    return op;
}

/* Copies a text to *place, which moves on behind it. */
static const char *keep(char **place, const char *text)
{
    size_t n = strlen(text) + 1;
    char *kept = memcpy(*place, text, n);

    *place += n;
    return kept;
}

static void add(struct vrt_store *store, struct vrt_store_op *op)
{
    vrt_assert(!store->is_ending);
    vrt_list_append(&store->waiting, &op->link);
    go_on(store);
}

void vrt_store_put_job(struct vrt_store *store, const struct vrt_store_job *job,
                       struct vrt_store_done done)
{
    size_t n = strlen(job->request) + strlen(job->info) + strlen(job->work) + 3;
    struct vrt_store_op *op = new_op(VRT_STORE_PUT_JOB, n, done);

    vrt_assert(job->id > 0 && job->state >= 0 && job->state < VRT_JOB_STATE_COUNT);
    if (!op)
        return;
    char *place = op->texts;
    op->job = *job;
    op->job.request = keep(&place, job->request);
    op->job.info = keep(&place, job->info);
    op->job.work = keep(&place, job->work);
    add(store, op);
}

void vrt_store_put_history(struct vrt_store *store, int64_t job_id, const char *history)
{
    struct vrt_store_op *op = new_op(VRT_STORE_PUT_HISTORY, strlen(history) + 1,
                                     (struct vrt_store_done){ 0 });

    if (!op)
        return;
    char *place = op->texts;
    op->job.id = job_id;
    op->job.history = keep(&place, history);
    add(store, op);
}

void vrt_store_add_segment(struct vrt_store *store, int64_t job_id,
                           const struct vrt_segment_record *segment, struct vrt_store_done done)
{
    struct vrt_store_op *op = new_op(VRT_STORE_ADD_SEGMENT, 0, done);

    if (!op)
        return;
    op->job.id = job_id;
    op->segment = *segment;
    add(store, op);
}

void vrt_store_cut_segments(struct vrt_store *store, int64_t job_id, int64_t first_number,
                            struct vrt_store_done done)
{
    struct vrt_store_op *op = new_op(VRT_STORE_CUT_SEGMENTS, 0, done);

    if (!op)
        return;
    op->job.id = job_id;
    op->segment.number = first_number;
    add(store, op);
}

void vrt_store_remove_job(struct vrt_store *store, int64_t id, struct vrt_store_done done)
{
    struct vrt_store_op *op = new_op(VRT_STORE_REMOVE_JOB, 0, done);

    if (!op)
        return;
    op->job.id = id;
    add(store, op);
}

void vrt_store_put_measure(struct vrt_store *store, const struct vrt_store_measure *measure)
{
    size_t n = strlen(measure->network) + strlen(measure->device_class) + strlen(measure->what) + 3;
    struct vrt_store_op *op = new_op(VRT_STORE_PUT_MEASURE, n, (struct vrt_store_done){ 0 });

    if (!op)
        return;
    char *place = op->texts;
    op->measure.network = keep(&place, measure->network);
    op->measure.device_class = keep(&place, measure->device_class);
    op->measure.what = keep(&place, measure->what);
    op->measure.value = measure->value;
    add(store, op);
}

void vrt_store_put_token(struct vrt_store *store, const struct vrt_store_token *token,
                         struct vrt_store_done done)
{
    size_t n = strlen(token->name) + strlen(token->digest) + 2;
    struct vrt_store_op *op = new_op(VRT_STORE_PUT_TOKEN, n, done);

    if (!op)
        return;
    char *place = op->texts;
    op->token = *token;
    op->token.name = keep(&place, token->name);
    op->token.digest = keep(&place, token->digest);
    add(store, op);
}

void vrt_store_remove_token(struct vrt_store *store, int64_t id, struct vrt_store_done done)
{
    struct vrt_store_op *op = new_op(VRT_STORE_REMOVE_TOKEN, 0, done);

    if (!op)
        return;
    op->token.id = id;
    add(store, op);
}

void vrt_store_counts(const struct vrt_store *store, struct vrt_store_counts *ret_counts)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    *ret_counts = store->counts;
}

void vrt_store_stop(struct vrt_store *store, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!store->is_stopping);
    store->is_stopping = true;
    store->stopped = stopped;
    store->stopped_ctx = ctx;
    go_on(store);
}
