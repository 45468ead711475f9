/* SPDX-License-Identifier: MIT */
#pragma once

/* Compiler attributes and the few macros that every file may need. */

#include <stddef.h>

#define VRT_PRINTF(f, first) __attribute__((format(printf, f, first)))
#define VRT_NORETURN __attribute__((noreturn))
#define VRT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VRT_MUST_CHECK __attribute__((warn_unused_result))

/* For what kernels compute with the very code of the host: VRT_PRODUCT is a * b rounded by itself,
 * where nvcc would else make one operation of it and of the sum that it is part of. */
#ifdef __CUDACC__
#define VRT_DEVICE __device__
#define VRT_PRODUCT(a, b) __fmul_rn(a, b)
#else
#define VRT_DEVICE
#define VRT_PRODUCT(a, b) ((a) * (b))
#endif

#define VRT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define VRT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define VRT_MAX(a, b) ((a) > (b) ? (a) : (b))

/* The struct that holds `member` at `pointer`. */
#define vrt_container_of(pointer, type, member) \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))
