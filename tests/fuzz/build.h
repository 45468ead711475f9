/* SPDX-License-Identifier: MIT */
#pragma once

struct vrt_network;

/* Builds the network's graph for a small picture, and holds what it says of itself against that. */
void fuzz_build(const struct vrt_network *network);
