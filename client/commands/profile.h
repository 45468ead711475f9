/* SPDX-License-Identifier: MIT */
#pragma once

/* Profiles for other commands than vrtctl profile. */

#include <jansson.h>

#include "client/cli.h"
#include "client/files.h"
#include "msg_plan.h"

/* Has a model timed, which takes seconds or minutes. `model`: the file that q->model.fd stands for,
 * or none. Return: 0, *ret_json is the caller's; VRT_CONN_E_*; -errno. */
int vrt_profile_post(struct vrt_cli *cli, const struct vrt_profile_request *q,
                     const struct vrt_file *model, json_t **ret_json, struct vrt_error *error);
