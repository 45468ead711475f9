/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/dag/read.h"

struct vrt_network;

/* Builds the network's graph for a small picture, and holds what it says of itself against that. */
void fuzz_build(const struct vrt_network *network);

/* A reader of a format: no network, with a sentence, or one that can be built. Return: 0. */
typedef int fuzz_reader(const struct vrt_dag_file *file, struct vrt_dag **ret_dag);
int fuzz_read(fuzz_reader *read, const uint8_t *data, size_t size);
