/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A shard's way through a session: its results are made, computed, and looked at
 *
 * Thread: that of the device.
 */

#include "workers/device/device-executor.h"
#include "workers/device/session.h"
#include "workers/device/shard.h"

/*
 * Restores the shard's frames, with the timestamps of in[0..n-1]. *times is added to in any case.
 * Return: 0; VRT_DEVICE_EXECUTOR_E_* (device-executor.h), and `error` says what is wrong;
 * outcome; -ECANCELED; -errno. Where it isn't 0, nothing is restored.
 */
int vrt_restore_shard(struct vrt_session *session, const struct vrt_device_executor_order *order,
                      struct vrt_shard_frames *frames, struct vrt_session_times *times,
                      struct vrt_error *error);
