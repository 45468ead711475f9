/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Failures on a schedule, by the rules of tests/simulators/common/rules.h
 *
 *     0 alloc:3 fail; 1 commit:2 error=8; run:every=5 flip; commit:4 hang
 *
 *     kinds     alloc     each buffer that is asked for
 *               library   each that is made of a text
 *               pipeline  each that is made of a function
 *               commit    each command buffer, as it begins to run
 *               copy      each copy of a blit encoder, as it is done
 *               run       each dispatch, as it is run
 *     effects   fail      alloc: nil; library, pipeline: nil, and an error
 *               error=N   commit: it ends so without having run: MTLCommandBufferError's numbers
 *                         1, 2, 3, 4, 8, 9, 11; after 4 and 11 every later one ends so at once
 *               hang      commit: it never completes, unless its device is gone
 *               flip      copy, run: a bit is wrong of what it wrote
 *
 * VRT_MPS_FAULTS has the rules.
 */

#include <stdbool.h>

enum mtl_event_kind {
    MTL_AT_ALLOC,
    MTL_AT_LIBRARY,
    MTL_AT_PIPELINE,
    MTL_AT_COMMIT,
    MTL_AT_COPY,
    MTL_AT_RUN,
    MTL_EVENT_KIND_COUNT,
};

/* What comes of an event. */
struct mtl_fault {
    bool fails, hangs, flips;
    int error;                          /* 0: none */
};

/* Reads the rules of the environment; dies where they are nonsense. Thread: one. */
void mtl_faults_read(void);

/* Counts the event of a device. */
struct mtl_fault mtl_faults_count(unsigned device, enum mtl_event_kind kind);
