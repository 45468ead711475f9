/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How a card is, as NVIDIA's management library (NVML) tells: what CUDA itself doesn't know
 *
 * Thread: any, for each struct one at a time.
 */

#include "backend/backend.h"

struct vrt_cuda_nvml;

/* What the driver brings. */
#define VRT_CUDA_NVML_LIBRARY "libnvidia-ml.so.1"

/*
 * Loads `library` and finds the card with this PCI address. The caller closes *ret_nvml.
 * Return: 0; -ENOENT: the library can't be loaded; -ENOSYS: it lacks what is needed; -EIO: it, or
 * the card, doesn't answer; -ENOMEM. The error says which.
 */
int vrt_cuda_nvml_open(const char *library, const char *pci_address,
                       struct vrt_cuda_nvml **ret_nvml, struct vrt_error *error);

/* NULL is fine. Return: NULL. */
struct vrt_cuda_nvml *vrt_cuda_nvml_close(struct vrt_cuda_nvml *nvml);

/* Asks the card, which takes a millisecond or so; what it doesn't tell is unknown. */
void vrt_cuda_nvml_read(const struct vrt_cuda_nvml *nvml, struct vrt_device_sensors *ret_sensors);

VRT_DEFINE_CLEANUP(struct vrt_cuda_nvml, vrt_cuda_nvml_close)
