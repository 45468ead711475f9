/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * submit --recursive: the videos of a folder and of all below it, each with its place below
 * --output-dir, which has the same folders
 *
 * A video's result is called as the video is, so that it doesn't depend on what else is there:
 * whether one is done is seen again and again, as the folder fills.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/cli.h"

struct vrt_series_job;

struct vrt_series {
    const char *root;           /* the operand */
    char **inputs;              /* what was found, in the order of the alphabet */
    char **folders;             /* of their results, from the root on; they may have to be made */
    size_t n, capacity;
    struct vrt_series_job *jobs;            /* with --skip-done: all that the daemon has */
    size_t n_jobs, n_jobs_capacity;
    size_t n_done, n_underway, n_unsettled;        /* that are left out */
    bool has_failed;            /* some folder can't be read, which was said */
};

/* Whether the command line asks for a series, and rightly. Return: enum vrt_exit; what is wrong was
 * said. */
int vrt_series_check(const struct vrt_cli *cli);

/* Finds what is in the folder that is the operand, and asks for the daemon's jobs if need be.
 * Return: enum vrt_exit; all was said. To be done in either case. */
int vrt_series_find(struct vrt_cli *cli, struct vrt_series *series);

/* Frees what it holds. */
void vrt_series_done(struct vrt_series *series);

/* The path of the result of input i, of this codec (VRT_UNKNOWN: as configured). Return: a path to
 * free; NULL: no memory. */
char *vrt_series_output(const struct vrt_series *series, size_t i, int codec);

/* With --skip-done: whether a result is there, or was tried, so that it is left out; that is
 * counted, or said of one that failed. */
bool vrt_series_leaves_out(const struct vrt_cli *cli, struct vrt_series *series, const char *input,
                           const char *output);

/* Makes the folder that a result stands in. Return: 0; -errno with `error`. */
int vrt_series_make_folder(const char *output, struct vrt_error *error);

/* Says how many were left out, and why; and that there was nothing, where that is so. Return: enum
 * vrt_exit: whether all of the folder could be read. */
int vrt_series_say(const struct vrt_cli *cli, const struct vrt_series *series);
