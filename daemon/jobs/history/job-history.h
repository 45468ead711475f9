/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How fast a job was over its life, and what memory it took
 *
 * A bounded number of points, whatever it takes: when there is no room for another, each two become
 * one, and from then on they are twice as far apart. So a job of a minute has a point for each look
 * at it, and one of three days one for each quarter of an hour. Rates aren't kept: they are the
 * frames between two points, and so are right however points were joined. Pure.
 *
 * Thread: the loop's.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macro.h"

struct vrt_history_point;

/* Zero-initialised is empty. */
struct vrt_job_history {
    struct vrt_history_point *points;   /* `fps` is filled in when they are printed */
    size_t n_points, capacity;
    double period_s;                    /* 0: none yet */
};

/* What a look at a job finds. */
struct vrt_job_look {
    double elapsed_s;                   /* that it has run */
    double frames;                      /* done and under way */
    int64_t memory_bytes;               /* of its devices; -1: unknown */
};

/*
 * Takes the look in. What was noted of a later time or of more frames is forgotten: the job went
 * back behind that. Where there is no memory for it, the history has a gap.
 */
void vrt_job_history_note(struct vrt_job_history *history, const struct vrt_job_look *look);

/* Appends it as JSON, as GET /v1/jobs/{id}/history tells it. Return: 0, -ENOMEM, -EMSGSIZE. */
int vrt_job_history_print(const struct vrt_job_history *history, struct vrt_buf *buf)
    VRT_MUST_CHECK;

/* Reads such a text into an empty one. Return: 0; -EINVAL: it is none, and it stays empty;
 * -ENOMEM. */
int vrt_job_history_read(const char *text, struct vrt_job_history *history) VRT_MUST_CHECK;

/* Frees what it holds; it is empty afterwards. */
void vrt_job_history_done(struct vrt_job_history *history);
