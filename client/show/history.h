/* SPDX-License-Identifier: MIT */
#pragma once

/* How a job fared: vrtctl show --history. */

struct vrt_cli;

/* Shows it: by plots on a terminal, else by a line for each point. Return: enum vrt_exit;
 * everything was said. */
int vrt_history_show(struct vrt_cli *cli, long long id);
