/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A shard's way through a session, clip by clip: its results are made, computed, and looked at.
 * Where its last clips are still in flight the next shard's may begin.
 *
 * Thread: that of the device.
 */

#include "workers/device/device-executor.h"
#include "workers/device/session/session.h"
#include "workers/device/shard.h"

/* Readies the shard for `session`; nothing is begun. */
void vrt_restore_init(struct vrt_device_executor_shard *shard, struct vrt_session *session);

/* Whether there is a clip to begin, and room for it. */
bool vrt_restore_can_begin(const struct vrt_device_executor_shard *shard);

/* Begins the next clip. */
void vrt_restore_begin(struct vrt_device_executor_shard *shard);

/* Whether a clip of it is in flight. */
bool vrt_restore_is_begun(const struct vrt_device_executor_shard *shard);

/* Ends the oldest clip, which is the session's oldest. */
void vrt_restore_end(struct vrt_device_executor_shard *shard);

/* Whether all of it is restored, or it failed and nothing of it is in flight; then result and
 * frames are final. */
bool vrt_restore_is_done(const struct vrt_device_executor_shard *shard);
