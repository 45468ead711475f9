/* SPDX-License-Identifier: MIT */
#pragma once

/* What submit makes of its command line: files of its own each, and a job. */

#include <stdbool.h>
#include <stddef.h>

#include "client/cli.h"
#include "client/files.h"
#include "client/folders.h"
#include "client/submit/pipes.h"
#include "client/submit/series.h"

/* One FILE of the command line, and what became of it. */
struct vrt_submission {
    struct vrt_folder_input folder;     /* if it is one */
    bool makes_folder;          /* the result is a folder of pictures */
    char *output;               /* its path */
    struct vrt_file file;       /* closed; for removing what we created */
    long long id;               /* 0: no job was made of it */
    bool is_submitted;          /* to Slurm, in the place of that */
    bool is_left_out;           /* and none shall be */
};

struct vrt_submissions {
    struct vrt_cli *cli;
    struct vrt_series series;   /* with --recursive */
    struct vrt_submission *items;
    size_t n_items;
    bool full;                  /* the daemon takes no more for now */
    struct vrt_pipes pipes;     /* of the one that there is then */
};

/* Whether the result of an operand is a folder of pictures: of such a folder, unless the output is
 * called as a file, or a pipe; of a video where pictures are asked for. */
bool vrt_submission_makes_folder(const struct vrt_args *args, const char *operand,
                                 bool is_folder);

/* The path of result `i`, to be freed. Inputs of one name (a.avi, a.webm) must not get the same.
 * Return: NULL: no memory. */
char *vrt_submission_output(const struct vrt_args *args, const struct vrt_submissions *s, int i);

/* The command, as its options say. Return: enum vrt_exit; all was said. */
int vrt_submit(struct vrt_cli *cli);

/* Prints what the plan says of the input's streams, and its warnings. Return: as
 * vrt_plan_print(). */
int vrt_info_print(const struct vrt_cli *cli, const struct json_t *json, struct vrt_error *error);

/*
 * Shows the progress of those that became jobs until all are over, gives the daemon their files
 * again where it has lost them, and makes previews if asked. Return: enum vrt_exit; all was said.
 */
int vrt_submissions_follow(struct vrt_submissions *s);
