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

/* Readies the shard for `session`; nothing is sent. */
void vrt_restore_init(struct vrt_device_executor_shard *shard, struct vrt_session *session);

/* Sends one more clip of the shards on its way, in the order in which they were readied, or, where
 * there is no room, waits for the oldest and takes it in. One of them at least isn't done. */
void vrt_restore_advance(struct vrt_device_executor_shard *const *shards, size_t n);

/* Whether there is a clip of the shard that wasn't sent yet. */
bool vrt_restore_has_more(const struct vrt_device_executor_shard *shard);

/* Whether all of it is restored, or it failed and nothing of it is in flight; then result, error
 * and frames are final. */
bool vrt_restore_is_done(const struct vrt_device_executor_shard *shard);
