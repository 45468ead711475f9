/* SPDX-License-Identifier: MIT */
#pragma once

/* What vrtd says of its models: for commands other than vrtctl models, too. */

#include <jansson.h>

#include "client/cli.h"
#include "msg_device.h"

/* What the daemon's list says now of the model that model->name names. Return: 0, *ret_json is the
 * caller's; VRT_CONN_E_*; -errno. */
int vrt_model_look(struct vrt_cli *cli, struct vrt_model_report *model, json_t **ret_json,
                   struct vrt_error *error);

/* Where the daemon refused the model that `name` names because it hasn't fetched it yet, `error`
 * becomes the command that does. `name` NULL: no model was named. */
void vrt_model_say_pull(struct vrt_cli *cli, const char *name, struct vrt_error *error);
