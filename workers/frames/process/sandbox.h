/* SPDX-License-Identifier: MIT */
#pragma once

/* What vrt-media gives up before it sees a byte of anybody's. */

/* What a process may do. */
enum vrt_sandbox {
    VRT_SANDBOX_PLAIN,
    VRT_SANDBOX_DEVICES,            /* use graphics cards besides: their nodes, drivers' calls */
};

/*
 * Gives up new privileges, files that aren't open, programs, the network, and what its work doesn't
 * need of the system's calls; limits memory and descriptors. Threads that begin later have no more;
 * those that a driver has begun before give up nothing but what is limited.
 * Return: what can't be given up here, a part of a sentence ("no landlock"); "": nothing. Thread:
 * the process's first, and its only one but for a driver's.
 */
const char *vrt_sandbox_enter(enum vrt_sandbox sandbox);
