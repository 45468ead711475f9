/* SPDX-License-Identifier: MIT */
#pragma once

/* What cmd_tune.c and tune-trial.c share. */

#include <signal.h>

#include "client/cli.h"
#include "client/files.h"
#include "client/terminal/screen.h"
#include "msg_plan.h"

/* A video, the model for it, and what was found out. */
struct vrt_tune {
    struct vrt_cli *cli;
    const char *path;                       /* the video's */
    struct vrt_file input, model;           /* model: none where it is one that vrtd knows */
    struct vrt_plan_report plan;            /* of a job on it */
    struct vrt_screen screen;
    double fps;                             /* all devices together, as they were timed */
    /* Of all, about, some seconds each: how many are done, and are so at the device's end. */
    int n_steps, n_steps_done, n_steps_due;
    const volatile sig_atomic_t *interrupted;   /* not 0: by the user */

    /* The trial. */
    int64_t n_tried;                        /* frames */
    double estimated_s;                     /* the whole video; NAN: nobody knows its length */
};

/* Asks what vrtd would do with the video. Return: 0, tune->plan is set; VRT_CONN_E_*; -errno. */
int vrt_tune_plan(struct vrt_tune *tune, struct vrt_error *error);

/*
 * Restores the video's beginning as a job would, into a file that is removed again, and finds out
 * how long all of it takes. The job is forgotten; where the user interrupts it, it is cancelled.
 * Return: 0; VRT_CONN_E_*; -errno.
 */
int vrt_tune_try(struct vrt_tune *tune, struct vrt_error *error);

/* Steps that the trial is worth. */
#define VRT_TUNE_TRIAL_STEPS 5

/* Shows on a terminal how far all of it is, `part` (0 to 1) of the trial among it, and what is
 * being done. */
void vrt_tune_say(struct vrt_tune *tune, double part, const char *format, ...) VRT_PRINTF(3, 4);
