/* SPDX-License-Identifier: MIT */
#pragma once

/* What a task is made of: private to daemon/cluster/task*.c. Thread: as task.h says. */

#include "daemon/cluster/folder.h"
#include "daemon/cluster/plan.h"
#include "daemon/cluster/task.h"
#include "daemon/pipeline/pipeline.h"

/* The number of the one job in a task's state folder, and what its working files' folder is
 * called. */
#define VRT_TASK_JOB_ID 1
#define VRT_TASK_JOB_FOLDER "1"

struct vrt_task_state {
    struct vrt_cluster_folder folder;
    enum vrt_pipeline_part_kind kind;
    int64_t i, n;                   /* of a range: which part, of how many */
    char note_name[24];             /* what it is called in tasks/ */
    struct vrt_cluster_note note;
    struct vrt_job_request request;
    struct vrt_cluster_plan plan;   /* of the plan's own task: what comes of it */
    struct vrt_cluster_range range; /* of a range: segments that are missing, in a row */
    struct vrt_pipeline_part part;
    bool is_due;
    bool is_counted;                /* its start is: it may be begun anew */
    char attempt[128];              /* its folder in attempts/; "": none was made */
    int attempt_fd;
    char state_dir[VRT_API_PATH_BYTES];     /* "": none was made */

    /* loop */
    struct uv_async_s *over;        /* NULL: the server isn't there yet */
    bool is_over;
    bool is_done;
    int64_t begun_ns;               /* since when its job runs; 0: it hasn't begun; monotonic */
    double frames_per_s;            /* that devices here are known to make; 0: nobody knows */
    struct vrt_error error;         /* with a message: it failed */
};

/* Makes the attempt's folder, and the state folder. Return: 0; -errno with `error`. */
int vrt_task_make_folders(struct vrt_task_state *task, struct vrt_error *error);

/* Removes what vrt_task_make_folders() made; what can't go is logged. */
void vrt_task_remove_folders(struct vrt_task_state *task);

/* Removes what is in attempts/ and segments/: the film is done. */
void vrt_task_remove_all(const struct vrt_task_state *task);

/* Opens the files that the request names, by struct vrt_job_request's order; -1: no model, or no
 * reference, which may also be gone since the plan: the film is as good. Return: 0, they are the
 * caller's; -errno with `error`. */
int vrt_task_open_files(const struct vrt_task_state *task, int ret_fds[VRT_JOB_FILE_COUNT],
                        struct vrt_error *error);
