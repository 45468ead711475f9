/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Files that a job is given again: opened as the user, as when it was submitted, and sent along
 * with the request to go on
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct json_t;
struct vrt_cli;

struct vrt_handover {
    long long id;                           /* the job */
    const char *verb;                       /* "resume", "retry" */
    const char *input, *output, *model, *reference;     /* paths; NULL: not given again */
    int input_fd, output_fd;                /* over 0: these, which have no paths; are closed */
    int64_t input_bytes;                    /* of the job's; 0, VRT_UNKNOWN: not known */
    bool overwrite;                         /* an output that holds something by now */
    bool named;                             /* the paths are what the user just said */
};

/*
 * Opens the files and asks the daemon to go on with the job. The answer, the job, is the caller's
 * (json_decref). An output that was made for it is removed again where that is refused.
 * Return: 0; VRT_CONN_E_*; -errno. `error` has a sentence with the cure.
 */
int vrt_handover_send(struct vrt_cli *cli, const struct vrt_handover *handover,
                      struct json_t **ret_json, struct vrt_error *error);
