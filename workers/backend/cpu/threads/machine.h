/* SPDX-License-Identifier: MIT */
#pragma once

/* What the operating system says of this machine and of our share in it. Thread: any. */

#include <stdint.h>

#define VRT_CPU_CORES_MAX 1024

struct vrt_cpu_machine {
    char model[80];             /* "AMD EPYC 9354", or "CPU" */
    int n_cores;                /* that this process may keep busy: affinity, and cgroup quota */
    int cores[VRT_CPU_CORES_MAX];   /* those it may run on, node by node */
    int n_allowed;              /* of cores[] */
    int n_nodes;                /* NUMA nodes that those belong to */
    int64_t memory_bytes;       /* of the machine, or the cgroup's limit; -1: unknown */
};

/* Never fails: what can't be found out has a plain default. */
void vrt_cpu_machine_look(struct vrt_cpu_machine *ret_machine);

/* Keeps the calling thread, and those that it starts from now on, on these cores, where the system
 * lets it: a refusal costs only speed. */
void vrt_cpu_machine_stay(const int *cores, int n);

/* Bytes that could be had without swapping, as the kernel and the cgroup see it; -1: unknown. */
int64_t vrt_cpu_machine_free_bytes(void);
