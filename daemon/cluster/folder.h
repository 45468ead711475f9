/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The folder of a film that a cluster restores: all its tasks have is here, on a disk that they
 * share
 *
 *     request.json    what was asked: struct vrt_job_request, with paths; by who submits
 *     plan.json       what was decided, and where segments end (plan.h); by the first task
 *     segments/       00012.seg: a segment of the result, complete, from whichever attempt
 *     attempts/       a folder for each attempt at a task: what it has in work, and nobody else's
 *     tasks/          what each task has to say (struct vrt_cluster_note)
 *     logs/           what tasks wrote to standard output and error
 *
 * Folder and files are the submitter's alone. A file appears under its name when all of it is on
 * the disk: written aside, synced, renamed; a segment by a link, which fails where there is one
 * already. So whoever comes second, such as an attempt on a node that was thought to be dead,
 * changes nothing.
 *
 * Thread: any; calls wait for the disk.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "msg_job.h"

struct json_t;

#define VRT_CLUSTER_REQUEST "request.json"
#define VRT_CLUSTER_PLAN "plan.json"

struct vrt_cluster_folder {
    char path[VRT_API_PATH_BYTES];
    int fd, segments_fd, attempts_fd, tasks_fd;
};

#define VRT_CLUSTER_FOLDER_NONE \
    { .fd = -1, .segments_fd = -1, .attempts_fd = -1, .tasks_fd = -1 }

/* What a task has to say, kept as tasks/NAME.json. */
struct vrt_cluster_note {
    char state[16];                 /* "running", "done", "failed", "interrupted" */
    char node[64];                  /* the machine it is, or was, on, as Slurm calls it */
    int64_t starts;                 /* since it last got on */
    int64_t updated_at;             /* wall clock, ns */
    char error_id[64], error[VRT_API_TEXT_BYTES];       /* why it failed, or will be tried again;
                                     * "": nothing is wrong */
    char (*warnings)[VRT_API_TEXT_BYTES];
    size_t n_warnings;
    bool has_comparison;
    struct vrt_compare_report comparison;       /* of the film with its reference */
};

/* Opens the folder, and makes what is missing in it. Refused where others may read or write it.
 * Return: 0, it needs vrt_cluster_folder_done(); -errno with `error`. */
int vrt_cluster_folder_open(const char *path, struct vrt_cluster_folder *ret_folder,
                            struct vrt_error *error) VRT_MUST_CHECK;

void vrt_cluster_folder_done(struct vrt_cluster_folder *folder);

/* Reads a file of the folder `fd`. Return: 0, *ret_json is the caller's; -ENOENT, -EINVAL, -errno
 * with `error`. */
int vrt_cluster_read(int fd, const char *name, struct json_t **ret_json,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* Writes, or replaces, a file of the folder `fd`; `json` is taken over, NULL: no memory. Return: 0;
 * -errno with `error`. */
int vrt_cluster_write(int fd, const char *name, struct json_t *json,
                      struct vrt_error *error) VRT_MUST_CHECK;

/* The size of segment `number`. Return: bytes; -1: there is none. */
int64_t vrt_cluster_segment_bytes(const struct vrt_cluster_folder *folder, int64_t number);

/* Makes the segment of an attempt, complete in the folder `from_fd`, the result's, unless there is
 * one. Return: 0; -errno with `error`. */
int vrt_cluster_publish(const struct vrt_cluster_folder *folder, int from_fd, int64_t number,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* Gives the result's segment `number` to an attempt's folder, as its own. Return: 0; -errno with
 * `error`. */
int vrt_cluster_lend(const struct vrt_cluster_folder *folder, int to_fd, int64_t number,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* Removes the result's segment, which is damaged. */
void vrt_cluster_unpublish(const struct vrt_cluster_folder *folder, int64_t number);

/* What task `name` last said; nothing where it never did, or can't be read. It needs
 * vrt_cluster_note_done(). */
void vrt_cluster_note_read(const struct vrt_cluster_folder *folder, const char *name,
                           struct vrt_cluster_note *ret_note);

/* Says it. What fails is logged. */
void vrt_cluster_note_write(const struct vrt_cluster_folder *folder, const char *name,
                            const struct vrt_cluster_note *note);

void vrt_cluster_note_done(struct vrt_cluster_note *note);

