/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * GPUs as the kernel lists them, and the files by which programs reach them
 *
 * No vendor's library is asked: this is for whoever wants to know why such a one finds nothing.
 * Thread: any; files are read.
 */

#include <stdbool.h>
#include <stddef.h>

#include "host/vendors.h"

#define VRT_GPU_NODES_MAX 4        /* a GPU has card* and renderD* */

/* A file that a program has to open to use a GPU. */
struct vrt_gpu_node {
    char path[64];                  /* "/dev/dri/renderD128" */
    int open_errno;                 /* what opening it to read and write ended with; 0: it can be */
    unsigned mode;                  /* permission bits; 0 where there is no file */
    unsigned uid, gid;              /* whose it is */
    char group[32];                 /* gid's name, as /etc/group has it; else the number */
};

struct vrt_gpu {
    const struct vrt_vendor *vendor;
    int device;                     /* PCI's number */
    char address[24];               /* "0000:03:00.0" */
    char driver[32];                /* of the kernel: "i915"; "": none */
    struct vrt_gpu_node nodes[VRT_GPU_NODES_MAX];
    size_t n_nodes;
};

/*
 * Lists the GPUs on the PCI buses below `root` ("" for this machine's), by their addresses, and
 * tries whether the calling process may open their nodes, which does nothing to them. Where the
 * system can't tell, there are none. Return: 0, -ENOMEM. The caller frees *ret_gpus by free().
 */
int vrt_gpus_list(const char *root, struct vrt_gpu **ret_gpus, size_t *ret_n_gpus);
