/* SPDX-License-Identifier: MIT */

/*
 * One lock for an outbox and all its mailboxes: messages are few (some per shard), and one lock
 * makes the rule "returned exactly once, by the thread or for it" a matter of reading one flag.
 *
 * A task is in one place at a time: `posted`, then `running`, then the outbox's `returned`, then
 * with done(). Stopping moves what is posted straight to `returned`; abandoning does that with
 * running tasks too, and then there are two who know of each. So it goes when both done() was
 * called (was_told) and the thread came back with it (came_back), freed by whichever of them is
 * second; a thread that never comes back keeps it for good, with whatever else it holds.
 *
 * A mailbox has two references, the loop's and its thread's, and holds one of the outbox: a thread
 * that was abandoned may wake up when the loop is long gone, and still finds lock and flags. The
 * loop's is given up by end_mailbox(), after the mailbox's last task was told, since `returned` is
 * emptied before `ended` is looked at.
 *
 * Callbacks run without the lock: they post, stop and close.
 *
 * The loop is woken through a pipe, when the lock is free again. uv_async_send() marks its handle
 * while it writes, and a loop that wakes meanwhile spins until the mark is gone: where a thread of
 * low priority was preempted by the very loop that it woke, for as long as all others on that
 * processor like to compute. With the lock held it would be the same with the lock.
 */

#include "workers/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

struct vrt_outbox {
    /* loop */
    uv_poll_t poll;                     /* of pipe[0] */
    void (*closed)(void *ctx);
    void *ctx;

    /* immutable */
    uv_file pipe[2];                    /* a byte in it: look at the lists */

    pthread_mutex_t lock;
    struct {
        struct vrt_list returned;       /* of struct vrt_task.link */
        struct vrt_list ended;          /* of struct vrt_mailbox.ended_link */
        int n_refs;                     /* the loop, each mailbox */
        bool has_news;                  /* the lists got longer since the lock was taken */
    } locked;
};

struct vrt_mailbox {
    /* immutable */
    struct vrt_outbox *outbox;
    int capacity;
    int nice;
    char name[16];
    void (*run)(struct vrt_mailbox *mailbox, void *run_ctx);
    void *run_ctx;
    void (*ended)(void *ended_ctx, bool abandoned);
    void *ended_ctx;

    /* loop */
    pthread_t thread;
    pthread_cond_t wake;

    atomic_int_least64_t beat_ns;       /* 0: it has no task */

    struct {                            /* under the outbox's lock */
        struct vrt_list posted, running;        /* of struct vrt_task.link */
        struct vrt_list ended_link;
        int n_out;                      /* posted, done() not called */
        bool is_stopped, is_abandoned, has_ended;
        int n_refs;                     /* the loop, the thread */
    } locked;
};

void vrt_task_init(struct vrt_task *task, void (*done)(struct vrt_task *task),
                   void (*discard)(struct vrt_task *task))
{
    vrt_list_init(&task->link);
    task->outcome = VRT_TASK_PENDING;
    task->abandoned = task->was_told = task->came_back = false;
    task->done = done;
    task->discard = discard;
    atomic_init(&task->cancel, false);
}

/* Gives the lock back, and then wakes the loop if there is something new for it. The caller has a
 * reference of the outbox, if only a mailbox's. */
static void unlock(struct vrt_outbox *outbox)
{
    bool rings = outbox->locked.has_news;

    outbox->locked.has_news = false;
    pthread_mutex_unlock(&outbox->lock);
    /* A pipe that is full wakes the loop as well. */
    if (rings)
        (void)!write(outbox->pipe[1], "", 1);
}

static void free_outbox(struct vrt_outbox *outbox)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(outbox->pipe); i++)
        if (outbox->pipe[i] >= 0)
            close(outbox->pipe[i]);
    pthread_mutex_destroy(&outbox->lock);
    free(outbox);
}

/* With the lock held; gives it back. */
static void unref_outbox_unlock(struct vrt_outbox *outbox)
{
    bool last = --outbox->locked.n_refs == 0;

    pthread_mutex_unlock(&outbox->lock);
    if (last)
        free_outbox(outbox);
}

/* With the lock held; gives it back. */
static void unref_mailbox_unlock(struct vrt_mailbox *mailbox)
{
    struct vrt_outbox *outbox = mailbox->outbox;

    if (--mailbox->locked.n_refs > 0) {
        pthread_mutex_unlock(&outbox->lock);
        return;
    }
    pthread_cond_destroy(&mailbox->wake);
    free(mailbox);
    unref_outbox_unlock(outbox);
}

/* Frees `mailbox` for the loop, after its last word. */
static void end_mailbox(struct vrt_outbox *outbox, struct vrt_mailbox *mailbox)
{
    bool abandoned = mailbox->locked.is_abandoned;

    if (!abandoned)
        pthread_join(mailbox->thread, NULL);
    mailbox->ended(mailbox->ended_ctx, abandoned);
    pthread_mutex_lock(&outbox->lock);
    unref_mailbox_unlock(mailbox);
}

/* Calls done(); an abandoned task goes when both sides have let go of it. Only of those anything is
 * read afterwards: done() may have freed any other. */
static void tell(struct vrt_outbox *outbox, struct vrt_task *task)
{
    bool abandoned = task->abandoned;
    bool came_back;

    task->done(task);
    if (!abandoned)
        return;
    pthread_mutex_lock(&outbox->lock);
    task->was_told = true;
    came_back = task->came_back;
    pthread_mutex_unlock(&outbox->lock);
    if (came_back && task->discard)
        task->discard(task);
}

/* On the loop: calls done() for what came back, then ended(). Each callback may post, stop or
 * close, so the lists are taken one item at a time. */
static void deliver(uv_poll_t *poll, int status, int events)
{
    struct vrt_outbox *outbox = vrt_container_of(poll, struct vrt_outbox, poll);
    char bytes[64];

    (void)status;
    (void)events;
    /* Before the lists are looked at: what is put there from now on rings again. */
    (void)!read(outbox->pipe[0], bytes, sizeof(bytes));
    pthread_mutex_lock(&outbox->lock);
    /* A callback may close the outbox, but the lock is needed until the end of this. */
    outbox->locked.n_refs++;
    for (;;) {
        struct vrt_task *task = VRT_LIST_FIRST(&outbox->locked.returned, struct vrt_task, link);
        struct vrt_mailbox *mailbox = task ? NULL :
            VRT_LIST_FIRST(&outbox->locked.ended, struct vrt_mailbox, locked.ended_link);
        if (!task && !mailbox)
            break;
        vrt_list_remove(task ? &task->link : &mailbox->locked.ended_link);
        if (task)
            task->mailbox->locked.n_out--;
        pthread_mutex_unlock(&outbox->lock);
        if (task)
            tell(outbox, task);
        else
            end_mailbox(outbox, mailbox);
        pthread_mutex_lock(&outbox->lock);
    }
    unref_outbox_unlock(outbox);
}

int vrt_outbox_new(struct uv_loop_s *loop, struct vrt_outbox **ret_outbox)
{
    struct vrt_outbox *outbox = calloc(1, sizeof(*outbox));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!outbox)
        return vrt_raise(-ENOMEM);
    vrt_list_init(&outbox->locked.returned);
    vrt_list_init(&outbox->locked.ended);
    outbox->locked.n_refs = 1;
    r = -pthread_mutex_init(&outbox->lock, NULL);
    if (r < 0) {
        free(outbox);
        return vrt_raise(r);
    }
    outbox->pipe[0] = outbox->pipe[1] = -1;
    r = uv_pipe(outbox->pipe, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE);
    if (r == 0)
        r = uv_poll_init(loop, &outbox->poll, outbox->pipe[0]);
    if (r < 0) {
        free_outbox(outbox);
        return vrt_raise(r);
    }
    r = uv_poll_start(&outbox->poll, UV_READABLE, deliver);
    vrt_assert(r == 0);
    *ret_outbox = outbox;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct vrt_outbox *outbox = vrt_container_of((uv_poll_t *)handle, struct vrt_outbox, poll);
    void (*closed)(void *ctx) = outbox->closed;
    void *ctx = outbox->ctx;

    pthread_mutex_lock(&outbox->lock);
    unref_outbox_unlock(outbox);
    if (closed)
        closed(ctx);
}

void vrt_outbox_close(struct vrt_outbox *outbox, void (*closed)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    outbox->closed = closed;
    outbox->ctx = ctx;
    pthread_mutex_lock(&outbox->lock);
    vrt_assert(vrt_list_is_empty(&outbox->locked.returned) &&
               vrt_list_is_empty(&outbox->locked.ended));
    pthread_mutex_unlock(&outbox->lock);
    uv_close((uv_handle_t *)&outbox->poll, on_closed);
}

static void *thread_main(void *arg)
{
    struct vrt_mailbox *mailbox = arg;
    struct vrt_outbox *outbox = mailbox->outbox;

    vrt_thread_set_role(VRT_THREAD_WORKER, mailbox->name);
    if (mailbox->nice)
        vrt_thread_set_background(mailbox->nice);
    mailbox->run(mailbox, mailbox->run_ctx);

    pthread_mutex_lock(&outbox->lock);
    mailbox->locked.has_ended = true;
    if (!mailbox->locked.is_abandoned) {
        vrt_list_append(&outbox->locked.ended, &mailbox->locked.ended_link);
        outbox->locked.has_news = true;
    }
    unlock(outbox);
    pthread_mutex_lock(&outbox->lock);
    unref_mailbox_unlock(mailbox);
    return NULL;
}

int vrt_mailbox_new(struct vrt_outbox *outbox, const struct vrt_mailbox_params *params,
                    struct vrt_mailbox **ret_mailbox)
{
    struct vrt_mailbox *mailbox = calloc(1, sizeof(*mailbox));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!mailbox)
        return vrt_raise(-ENOMEM);
    mailbox->outbox = outbox;
    mailbox->capacity = params->capacity;
    mailbox->nice = params->nice;
    mailbox->run = params->run;
    mailbox->run_ctx = params->run_ctx;
    mailbox->ended = params->ended;
    mailbox->ended_ctx = params->ended_ctx;
    for (size_t i = 0; params->name[i] && i + 1 < sizeof(mailbox->name); i++)
        mailbox->name[i] = params->name[i];
    vrt_list_init(&mailbox->locked.posted);
    vrt_list_init(&mailbox->locked.running);
    vrt_list_init(&mailbox->locked.ended_link);
    mailbox->locked.n_refs = 2;
    r = pthread_cond_init(&mailbox->wake, NULL);
    if (r != 0) {
        free(mailbox);
        return vrt_raise(-r);
    }

    pthread_mutex_lock(&outbox->lock);
    outbox->locked.n_refs++;
    pthread_mutex_unlock(&outbox->lock);
    r = pthread_create(&mailbox->thread, NULL, thread_main, mailbox);
    if (r != 0) {
        /* There is no thread to drop its reference. */
        pthread_mutex_lock(&outbox->lock);
        mailbox->locked.n_refs = 1;
        unref_mailbox_unlock(mailbox);
        return vrt_raise(-r);
    }
    *ret_mailbox = mailbox;
    return 0;
}

/* Puts `task` at an end of the queue. */
static int post(struct vrt_mailbox *mailbox, struct vrt_task *task, bool first)
{
    struct vrt_list *posted = &mailbox->locked.posted;
    int r = 0;

    vrt_assert_thread(VRT_THREAD_LOOP);
    pthread_mutex_lock(&mailbox->outbox->lock);
    if (mailbox->locked.is_stopped) {
        r = -ESHUTDOWN;
    } else if (mailbox->locked.n_out >= mailbox->capacity) {
        r = -ENOBUFS;
    } else {
        /* Until done(): a loop that is late is not buried in what came back either. */
        mailbox->locked.n_out++;
        task->mailbox = mailbox;
        vrt_list_insert_before(first ? posted->next : posted, &task->link);
        pthread_cond_signal(&mailbox->wake);
    }
    pthread_mutex_unlock(&mailbox->outbox->lock);
    return r < 0 ? vrt_raise(r) : 0;
}

int vrt_mailbox_post(struct vrt_mailbox *mailbox, struct vrt_task *task)
{
    return post(mailbox, task, false);
}

int vrt_mailbox_post_first(struct vrt_mailbox *mailbox, struct vrt_task *task)
{
    return post(mailbox, task, true);
}

/* With the lock held: sends `task` to the loop. */
static void send_back(struct vrt_mailbox *mailbox, struct vrt_task *task,
                      enum vrt_task_outcome outcome)
{
    task->outcome = outcome;
    vrt_list_append(&mailbox->outbox->locked.returned, &task->link);
    mailbox->outbox->locked.has_news = true;
}

/* With the lock held: sends all that was not begun back. */
static void send_posted_back(struct vrt_mailbox *mailbox, enum vrt_task_outcome outcome)
{
    struct vrt_task *task;

    while ((task = VRT_LIST_FIRST(&mailbox->locked.posted, struct vrt_task, link))) {
        vrt_list_remove(&task->link);
        send_back(mailbox, task, outcome);
    }
}

void vrt_mailbox_stop(struct vrt_mailbox *mailbox)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pthread_mutex_lock(&mailbox->outbox->lock);
    mailbox->locked.is_stopped = true;
    send_posted_back(mailbox, VRT_TASK_STOPPED);
    pthread_cond_signal(&mailbox->wake);
    unlock(mailbox->outbox);
}

void vrt_mailbox_abandon(struct vrt_mailbox *mailbox)
{
    struct vrt_outbox *outbox = mailbox->outbox;
    struct vrt_task *task;

    vrt_assert_thread(VRT_THREAD_LOOP);
    pthread_mutex_lock(&outbox->lock);
    /* A thread that has ended meanwhile is on the list already, and will be joined. */
    if (!mailbox->locked.has_ended && !mailbox->locked.is_abandoned) {
        mailbox->locked.is_stopped = mailbox->locked.is_abandoned = true;
        pthread_detach(mailbox->thread);
        while ((task = VRT_LIST_FIRST(&mailbox->locked.running, struct vrt_task, link))) {
            vrt_list_remove(&task->link);
            task->abandoned = true;
            send_back(mailbox, task, VRT_TASK_LOST);
        }
        send_posted_back(mailbox, VRT_TASK_LOST);
        vrt_list_append(&outbox->locked.ended, &mailbox->locked.ended_link);
        pthread_cond_signal(&mailbox->wake);
        outbox->locked.has_news = true;
    }
    unlock(outbox);
}

int64_t vrt_mailbox_silent_ns(const struct vrt_mailbox *mailbox)
{
    int64_t beat_ns = atomic_load(&mailbox->beat_ns);

    return beat_ns ? vrt_clock_now_ns() - beat_ns : 0;
}

const struct vrt_task *vrt_mailbox_running(struct vrt_mailbox *mailbox, int64_t *ret_silent_ns)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    /* While it is held, no other task is begun. */
    pthread_mutex_lock(&mailbox->outbox->lock);
    const struct vrt_task *task = VRT_LIST_FIRST(&mailbox->locked.running, struct vrt_task, link);
    *ret_silent_ns = vrt_mailbox_silent_ns(mailbox);
    pthread_mutex_unlock(&mailbox->outbox->lock);
    return task;
}

static struct vrt_task *take(struct vrt_mailbox *mailbox, bool waits)
{
    struct vrt_task *task = NULL;

    pthread_mutex_lock(&mailbox->outbox->lock);
    while (waits && !mailbox->locked.is_stopped && vrt_list_is_empty(&mailbox->locked.posted))
        pthread_cond_wait(&mailbox->wake, &mailbox->outbox->lock);
    /* Whoever stopped it has sent back all that was posted, with the lock held. */
    if (!vrt_list_is_empty(&mailbox->locked.posted)) {
        task = VRT_LIST_FIRST(&mailbox->locked.posted, struct vrt_task, link);
        vrt_list_remove(&task->link);
        vrt_list_append(&mailbox->locked.running, &task->link);
    }
    pthread_mutex_unlock(&mailbox->outbox->lock);
    if (task)
        vrt_mailbox_beat(mailbox);
    return task;
}

struct vrt_task *vrt_mailbox_take(struct vrt_mailbox *mailbox)
{
    /* A thread that waits for work is not silent, however long it waits. */
    atomic_store(&mailbox->beat_ns, 0);
    return take(mailbox, true);
}

struct vrt_task *vrt_mailbox_take_more(struct vrt_mailbox *mailbox)
{
    return take(mailbox, false);
}

void vrt_mailbox_return(struct vrt_mailbox *mailbox, struct vrt_task *task,
                        enum vrt_task_outcome outcome)
{
    bool discard = false;

    pthread_mutex_lock(&mailbox->outbox->lock);
    if (mailbox->locked.is_abandoned) {
        task->came_back = true;
        discard = task->was_told;
    } else {
        vrt_assert(!vrt_list_is_empty(&mailbox->locked.running));
        vrt_list_remove(&task->link);
        send_back(mailbox, task, outcome);
    }
    /* What it has besides begins to be waited for now. */
    atomic_store(&mailbox->beat_ns,
                 vrt_list_is_empty(&mailbox->locked.running) ? 0 : vrt_clock_now_ns());
    unlock(mailbox->outbox);
    if (discard && task->discard)
        task->discard(task);
}

void vrt_mailbox_beat(struct vrt_mailbox *mailbox)
{
    atomic_store(&mailbox->beat_ns, vrt_clock_now_ns());
}
