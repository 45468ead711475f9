/* SPDX-License-Identifier: MIT */
#pragma once

/* vrtd as a task of a cluster (daemon/cluster/task.h): vrtd --once. Thread: as server.h. */

#include <stdbool.h>

#include "base/error.h"

struct vrt_conf;
struct vrt_setup;

/* Whether the options name a task of a folder, or neither. Return: 0; -EINVAL with `error`. */
int vrt_once_check(const struct vrt_setup *setup, struct vrt_error *error);

/* Does the task. Return: enum vrt_cluster_exit, what the process is to end with; *ret_at_once:
 * without taking anything down, for threads of it are still in a driver. */
int vrt_once_run(const struct vrt_setup *setup, const struct vrt_conf *conf, bool *ret_at_once);
