/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Following jobs to their end
 *
 * On a terminal a line with a bar for each, drawn in place; elsewhere a line every few seconds;
 * with --json the daemon's events as they come, and at a job's end all that is known of it.
 */

#include <stdbool.h>
#include <stddef.h>

struct vrt_cli;
struct vrt_job_info;
struct vrt_watch;

/* Who shows jobs in another way than by lines and bars, and hears from the user. */
struct vrt_watch_view {
    /* Called between events, twice a second or more; `is_there` is false while the daemon is away.
     * Return: whether it goes on; false ends it as Ctrl-C does. */
    bool (*turn)(void *context, const struct vrt_watch *watch, bool is_there);
    /* Takes a printable sentence that would have a line of its own. */
    void (*say)(void *context, const char *sentence);
    /* Leaves the terminal to what is complained of at the end. */
    void (*leave)(void *context);
    int input_fd;               /* where what a user types comes from */
};

struct vrt_watch_params {
    const long long *ids;       /* these, until all are over; none: every job, until interrupted */
    size_t n_ids;
    bool quiet;                 /* only how they end */
    bool say_how_to_cancel;     /* when interrupted: the user may think that the jobs end too */
    /* Told of each job that is over, in whatever state; NULL: nobody. */
    void (*on_end)(void *context, const struct vrt_job_info *job);
    /* Told of a job that waits for its files. Return: whether they were given; NULL: nobody has
     * them. */
    bool (*on_needs_input)(void *context, const struct vrt_job_info *job);
    /* Asked now and then, of jobs that end with this program: whether nobody wants them any more,
     * which interrupts it; NULL: they go on without it. */
    bool (*is_unwanted)(void *context);
    const struct vrt_watch_view *view;          /* NULL: lines and bars */
    void *context;
};

/* Return: enum vrt_exit, by what became of the jobs. Everything was said. */
int vrt_watch(struct vrt_cli *cli, const struct vrt_watch_params *params);

/* The next of the jobs that aren't over, as far as they are known; *at begins as 0. Return: it is
 * the watch's, and stays until the next event; NULL: there are no more. */
const struct vrt_job_info *vrt_watch_next(const struct vrt_watch *watch, size_t *at);
