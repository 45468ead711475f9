/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Schedules of failures: devices that fail, dawdle, lie or vanish, whenever a test wants them to
 *
 * With a schedule in vrt_registry_params.fault every device of the registry stands behind a wrapper
 * that passes each call on to the real backend, save where a rule says otherwise:
 *
 *     cpu:1 submit:3-5 fail; cpu:0 submit:every=4 delay=50ms; cpu:1 after=10 lost revive=2
 *
 *     schedule    rules, separated by ';'; none at all is a wrapper that does nothing
 *     rule        [device] when effect
 *     device      a name ("cpu:1", "cuda:0.1"), or a kind ("cpu"): all of it; absent: every device
 *     when        call:N           the Nth such call to the device, from 1
 *                 call:N-M         the Nth to the Mth
 *                 call:N-          the Nth and all later ones
 *                 call:every=N     each Nth
 *                 after=N          the same as submit:M- with M = N + 1
 *     call        open, alloc, write, read, pack, replica, copy, checksum, program, submit or
 *                 finish. Of weights: pack lays them out on the host, for all devices of a kind;
 *                 replica takes the device's memory; copy is one chunk of bytes that it is given,
 *                 by the host or another device
 *     effect      fail             VRT_BACKEND_E_FAILED, nothing is done
 *                 nomem            VRT_BACKEND_E_NOMEM; open, alloc, pack, replica and program
 *                 nomem>BYTES      likewise, where more than so many are wanted at once; alloc only
 *                 lost [revive=N]  VRT_BACKEND_E_LOST, and so every call until the Nth time that
 *                                  the device is opened again (default 1; "revive=never")
 *                 delay=T          the call waits first: T is 20us, 50ms or 2s, an hour at most
 *                 takes=T          write, read and submit: what the call begins takes so long,
 *                                  beside the host and what the two others began. So a device that
 *                                  has the host's memory is like one that has its own
 *                 lacks=OP         open only, whatever its number: the device lacks that op
 *                 hang=FILE        the call waits for as long as there is such a file: however slow
 *                                  the machine, what a test waits for comes before it ends that
 *                 corrupt=nan      submit only: it runs, then what it wrote through its bindings
 *                                  is overwritten: with NaN (integers: the largest value),
 *                 corrupt=zeros    zeros,
 *                 corrupt=garbage  or random values, the same in every run
 *                 black            a black picture: zeros, but chroma in the middle
 *                 corrupt          copy: something else arrives than was sent; checksum: its bytes
 *                                  have changed since. From then on the replica's checksum is
 *                                  wrong, until it is copied anew
 *
 * Calls are counted for each device from the making of the registry, over all times that it is
 * opened. Of several rules that fit, delays add up, the first file is waited for, and the first
 * other one takes effect. What an op
 * `range` wrote is made to fit the corruption: a device that lies does so consistently.
 */

#include "base/cleanup.h"
#include "base/error.h"

struct vrt_fault_schedule;

/*
 * Return: 0; -EINVAL where `text` is no schedule (the error says which rule, and why); -ENOMEM.
 * Thread: any; a schedule is immutable.
 */
int vrt_fault_schedule_new(const char *text, struct vrt_fault_schedule **ret_schedule,
                           struct vrt_error *error);

/* Return: NULL. */
struct vrt_fault_schedule *vrt_fault_schedule_free(struct vrt_fault_schedule *schedule);

VRT_DEFINE_CLEANUP(struct vrt_fault_schedule, vrt_fault_schedule_free)
