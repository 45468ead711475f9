/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A shard's way through a kit: its results are made, computed, and looked at
 *
 * Thread: that of the device.
 */

#include "workers/device/kit.h"
#include "workers/device/shard.h"

/*
 * Restores the shard's frames, with the timestamps of in[0..n-1]. *times is added to in any case.
 * Return: 0; VRT_RUNNER_E_OUTPUT (runner.h), and `error` says what is wrong; outcome; -ECANCELED;
 * -errno. Where it isn't 0, nothing is restored.
 */
int vrt_restore_shard(struct vrt_kit *kit, const struct vrt_work *work,
                      const struct vrt_executor_watch *watch, struct vrt_shard_frames *frames,
                      struct vrt_kit_times *times, struct vrt_error *error);
