/* SPDX-License-Identifier: MIT */
#pragma once

/* What submit --dry-run prints. */

#include "base/error.h"

struct json_t;
struct vrt_cli;

/* Prints the plan that the daemon answered with, its warnings on standard error. Return: 0;
 * VRT_CONN_E_BROKEN, see error; -errno. */
int vrt_plan_print(const struct vrt_cli *cli, const struct json_t *json, struct vrt_error *error);
