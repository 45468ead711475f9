/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Errands: what a thread does for a client that waits for the answer, when its turn has come
 *
 * A client that goes away while its errand waits ends it; one that goes while it is under way has
 * it stopped, as soon as its thread looks, and nobody is told.
 *
 *     vrt_errand_begin() -> (its turn) -> perform(), on a thread -> reply() or a refusal -> free()
 *
 * Thread: the loop's, but for perform().
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "base/error.h"
#include "daemon/access/turns.h"
#include "daemon/api/routes.h"
#include "workers/mailbox.h"

struct vrt_errand;

struct vrt_errand_kind {
    const char *doing;              /* "comparing", for sentences */
    bool takes_long;                /* it has a thread of its own, else one of libuv's few */
    /* On a thread. Return: 0; -errno, maybe with the sentence in errand->error. */
    int (*perform)(struct vrt_errand *errand);
    /* It went well: answers. */
    void (*reply)(struct vrt_errand *errand, struct vrt_conn *conn);
    /* Frees the whole of what it is embedded in. */
    void (*free)(struct vrt_errand *errand);
};

/* Embedded in what is done, zero-filled but for what that needs. */
struct vrt_errand {
    const struct vrt_errand_kind *kind;
    atomic_bool is_gone;            /* the client; for perform() */
    struct vrt_error error;         /* perform()'s, then the loop's */
    /* immutable, from its beginning on */
    struct uv_loop_s *loop;
    struct vrt_turns *turns;
    /* loop */
    struct vrt_turn turn;
    struct vrt_conn_watch watch;
    int result;
    uv_work_t work;
    struct vrt_task task;           /* of its own thread, and the next two */
    struct vrt_outbox *outbox;
    struct vrt_mailbox *mailbox;
};

/* It waits for its turn among `turns`, and does what is to be done for whoever has called; frees
 * the errand in the end. */
void vrt_errand_begin(struct vrt_errand *errand, const struct vrt_errand_kind *kind,
                      struct vrt_turns *turns, const struct vrt_call *call);

/* Refuses the call instead, with errand->error or r < 0, and frees the errand. NULL: for lack of
 * memory. */
void vrt_errand_refuse(struct vrt_errand *errand, const struct vrt_errand_kind *kind, int r,
                       const struct vrt_call *call);
