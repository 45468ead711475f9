/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * NCCL, which spreads bytes among cards faster than the host could: loaded where it is there
 *
 * Thread: that of the device.
 */

#include "base/cleanup.h"
#include "base/error.h"

struct vrt_cuda_nccl;

/*
 * Loads `library`. The caller closes *ret_nccl.
 * Return: 0; -ENOENT: it can't be loaded; -ENOSYS: it is older than 2.14, and would wait without
 * end for a card that fails; -ENOMEM. The error says which.
 */
int vrt_cuda_nccl_open(const char *library, struct vrt_cuda_nccl **ret_nccl,
                       struct vrt_error *error);

/* NULL is fine. Return: NULL. */
struct vrt_cuda_nccl *vrt_cuda_nccl_close(struct vrt_cuda_nccl *nccl);

VRT_DEFINE_CLEANUP(struct vrt_cuda_nccl, vrt_cuda_nccl_close)
