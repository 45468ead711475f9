/* SPDX-License-Identifier: MIT */
#pragma once

/* How much of a result is not its restored video. For the joiner alone. */

#include "frames/join/join-streams.h"
#include "frames/join/joiner.h"

/*
 * Reads the beginning of the planned source, a quarter of a GiB at most, and concludes from that
 * what `span_ns` of it take in the output. The source is of no use afterwards.
 * Return: 0; -ECANCELED, -EIO, -ENOMEM with a sentence.
 */
int vrt_join_rest_estimate(const struct vrt_join_streams *plan, int64_t span_ns,
                           struct vrt_joiner_rest *ret_rest, struct vrt_error *error);
