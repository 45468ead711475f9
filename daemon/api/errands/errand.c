/* SPDX-License-Identifier: MIT */

/*
 * What takes long has a thread of its own, by a mailbox in an outbox of its own: libuv has few, and
 * everybody's uploads and submissions wait for those.
 */

#include "daemon/api/errands/errand.h"

#include <errno.h>

#include "base/thread.h"

static void begin_next(struct vrt_turns *turns);

/* It is the next one's turn. */
static void leave(struct vrt_errand *errand)
{
    struct vrt_turns *turns = errand->turns;

    vrt_turns_leave(turns, &errand->turn);
    begin_next(turns);
}

/* The client is told, if it is still there. */
static void tell(struct vrt_errand *errand)
{
    struct vrt_conn *conn = errand->watch.conn;

    if (conn && errand->result < 0) {
        vrt_refuse_errno(&errand->error, errand->result, errand->kind->doing);
        vrt_conn_refuse(conn, &errand->error);
    } else if (conn) {
        errand->kind->reply(errand, conn);
    }
    leave(errand);
}

static void perform(uv_work_t *work)
{
    struct vrt_errand *errand = work->data;

    errand->result = errand->kind->perform(errand);
}

static void on_performed(uv_work_t *work, int status)
{
    struct vrt_errand *errand = work->data;

    (void)status;
    tell(errand);
    errand->kind->free(errand);
}

/* The thread. */
static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct vrt_errand *errand = ctx;
    struct vrt_task *task;

    while ((task = vrt_mailbox_take(mailbox))) {
        errand->result = errand->kind->perform(errand);
        vrt_mailbox_return(mailbox, task, VRT_TASK_DONE);
    }
}

static void on_closed(void *ctx)
{
    struct vrt_errand *errand = ctx;

    errand->kind->free(errand);
}

static void on_ended(void *ctx, bool abandoned)
{
    struct vrt_errand *errand = ctx;

    (void)abandoned;
    vrt_outbox_close(errand->outbox, on_closed, errand);
}

static void on_returned(struct vrt_task *task)
{
    struct vrt_errand *errand = vrt_container_of(task, struct vrt_errand, task);

    tell(errand);
    vrt_mailbox_stop(errand->mailbox);
}

/* Return: 0; -errno: there is no thread, and nothing of it. */
static int begin_thread(struct vrt_errand *errand)
{
    int r = vrt_outbox_new(errand->loop, &errand->outbox);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_mailbox_new(errand->outbox, &(struct vrt_mailbox_params){
        .name = "vrt-errand",
        .capacity = 1,
        .run = run,
        .run_ctx = errand,
        .ended = on_ended,
        .ended_ctx = errand,
    }, &errand->mailbox);
    if (r < 0)
        return vrt_fold(r);
    vrt_task_init(&errand->task, on_returned, NULL);
    r = vrt_mailbox_post(errand->mailbox, &errand->task);
    vrt_assert(r == 0);
    return 0;
}

static void begin(struct vrt_errand *errand)
{
    int r = errand->kind->takes_long ? begin_thread(errand) :
            uv_queue_work(errand->loop, &errand->work, perform, on_performed);

    if (r == 0)
        return;
    errand->result = vrt_raise(r);
    tell(errand);
    if (errand->outbox)
        vrt_outbox_close(errand->outbox, on_closed, errand);
    else
        errand->kind->free(errand);
}

static void begin_next(struct vrt_turns *turns)
{
    struct vrt_turn *turn;

    while ((turn = vrt_turns_next(turns)))
        begin(vrt_container_of(turn, struct vrt_errand, turn));
}

/* One that waits isn't begun any more. */
static void on_gone(struct vrt_conn_watch *watch)
{
    struct vrt_errand *errand = vrt_container_of(watch, struct vrt_errand, watch);

    atomic_store(&errand->is_gone, true);
    if (errand->turn.is_going)
        return;
    leave(errand);
    errand->kind->free(errand);
}

void vrt_errand_begin(struct vrt_errand *errand, const struct vrt_errand_kind *kind,
                      struct vrt_turns *turns, const struct vrt_call *call)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    errand->kind = kind;
    errand->loop = call->api->loop;
    errand->turns = turns;
    errand->work.data = errand;
    errand->watch.gone = on_gone;
    vrt_conn_watch(call->conn, &errand->watch);
    vrt_turns_wait(turns, &errand->turn, call->request->peer->uid);
    begin_next(turns);
}

void vrt_errand_refuse(struct vrt_errand *errand, const struct vrt_errand_kind *kind, int r,
                       const struct vrt_call *call)
{
    struct vrt_error none = { .id = NULL }, *error = errand ? &errand->error : &none;

    vrt_refuse_errno(error, errand ? r : vrt_raise(-ENOMEM), kind->doing);
    vrt_conn_refuse(call->conn, error);
    if (errand)
        kind->free(errand);
}
