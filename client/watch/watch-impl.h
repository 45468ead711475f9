/* SPDX-License-Identifier: MIT */
#pragma once

/* What watch.c, which follows jobs, and watch-say.c, which tells of them, share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli.h"
#include "client/terminal/screen.h"
#include "client/watch/watch.h"
#include "msg_device.h"

/* One job that is followed. */
struct vrt_watched {
    struct vrt_job_info job;
    bool over;
    bool asked;                 /* for its files, in this state */
    int said_state;             /* of its last line, where lines follow each other */
    int64_t said_ns;
    int64_t warnings_total;     /* of the job, when its warnings were asked for last */
    char (*warnings)[VRT_API_TEXT_BYTES];       /* n_warnings that were said */
    size_t n_warnings;
};

struct vrt_watch {
    struct vrt_cli *cli;
    const struct vrt_watch_params *params;
    struct vrt_screen screen;
    struct vrt_watched *jobs;
    size_t n_jobs, capacity;
    int64_t drawn_ns;
    bool changed;               /* since it was drawn */
    bool said_nothing;          /* that there is nothing to watch */
    char instance[VRT_API_WORD_BYTES];      /* of the daemon's state folder; "": unknown */
    bool was_there;             /* the daemon answered once: if it goes, it may come back */
    int64_t gone_ns;            /* since when it doesn't answer; 0: it does */
    int exit;
    struct vrt_error error;
};

/* Draws the block on a terminal, unless nothing changed, or it was drawn a moment ago. */
void vrt_watch_draw(struct vrt_watch *w);

/* Tells how a job stands, in whatever way is wanted; `json` is what the daemon said of it. */
void vrt_watch_say_job(struct vrt_watch *w, struct vrt_watched *f, const struct json_t *json);

/* Tells those warnings of `job`, in its long form, that were not told yet. */
void vrt_watch_say_warnings(struct vrt_watch *w, struct vrt_watched *f,
                            const struct vrt_job_info *job);

/* Tells how a job ended. */
void vrt_watch_say_result(struct vrt_watch *w, struct vrt_watched *f);

/* Tells what is wrong with a device. */
void vrt_watch_say_device(struct vrt_watch *w, const struct vrt_device_report *device);

/* Says a sentence about the daemon itself above what is drawn. */
void vrt_watch_say(struct vrt_watch *w, const char *sentence);

/* Says once that there is nothing to watch, where no block of bars says it. */
void vrt_watch_say_nothing(struct vrt_watch *w);

/* After Ctrl-C, which ends only this program: says what goes on. */
void vrt_watch_say_detached(const struct vrt_watch *w);
