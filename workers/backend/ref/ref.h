/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The reference device, "ref:0": every op as the plainest possible loop, with sums in double, on
 * one thread. What it computes is what the ops mean; the other backends are tested against it.
 */

struct vrt_backend_ops;

extern const struct vrt_backend_ops vrt_backend_ref;
