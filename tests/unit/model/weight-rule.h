/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers that follow from a name: so that tests have networks of any size without their files. */

#include <stddef.h>
#include <stdint.h>

/* u_1..u_n of uniform(name, seed), in [0,1). */
void rule_uniform(const char *name, uint64_t seed, float *u, size_t n);

/*
 * The values of VRT's parameter `name`, of this shape: around 0, 1 for norms, and so small that
 * features neither vanish nor grow. `flow_gain` is what the flow network's last layers make of
 * theirs: RULE_FLOW_STEADY for flows of about 1.5 pixels everywhere, RULE_FLOW_LARGE for any.
 */
void rule_fill_vrt(const char *name, uint64_t seed, const int *dims, int n_dims, float flow_gain,
                   float *values);

#define RULE_FLOW_STEADY 0.02f
#define RULE_FLOW_LARGE 0.6f

/*
 * Frames of moving waves and noise, [D,C,H,W] of `dims`, within [0,1]. Return: to be freed; NULL:
 * no memory.
 */
float *rule_video(uint64_t seed, const int dims[4]);
