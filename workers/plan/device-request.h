/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which devices a job may use: the request a user wrote, against the devices there are. Pure.
 *
 *     auto            every accelerator; the CPU only if there is none, or none has ever worked
 *     all             accelerators and CPU
 *     KIND            every device of a kind of "backend/kind.h": "cpu"
 *     LIST            devices and kinds, separated by commas: "cpu:0,cpu:1"
 *     KIND:N          one device; a card that is several (KIND:0.0, KIND:0.1) with all of them
 *     KIND:N.W        one device of several that a card is, of a kind that has parts
 *     cpu:-1          the CPU for everything, which is said where accelerators are left out; it
 *                     stands alone
 *
 * "ref" is a device only where it is asked for by name. A kind that the machine lacks is
 * redirected to the best that is there, in the order of preference, unless the fallback forbids
 * it; a numbered device that is missing while others of its kind are there is refused: that is a
 * mistake, not an absence.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

/* As many devices as one daemon drives; a set is a bit mask. */
#define VRT_DEVICES_MAX 64

enum vrt_fallback {
    VRT_FALLBACK_WARN,              /* redirect, and say so */
    VRT_FALLBACK_ALLOW,             /* redirect without a warning */
    VRT_FALLBACK_FORBID,            /* refuse instead */
    VRT_FALLBACK_COUNT,
};

/* The fallback rule of this name ("allow", "warn", "forbid"). Return: 0, -EINVAL. */
int vrt_fallback_from_name(const char *name, enum vrt_fallback *ret_fallback);

/* More than there are kinds, each of which is redirected once. */
#define VRT_DEVICE_WARNINGS_MAX 8

struct vrt_device_choice {
    uint64_t devices;               /* bit i: infos[i] takes part; never 0 */
    bool is_redirected;             /* others take part than were asked for, whoever is told */
    size_t n_warnings;
    char warnings[VRT_DEVICE_WARNINGS_MAX][384];    /* a sentence each: where devices take part
                                     * that weren't asked for, or the processor alone does */
};

struct vrt_device_request {
    const char *text;               /* as above */
    enum vrt_fallback fallback;
    const struct vrt_device_info *const *infos;     /* the devices there are */
    size_t n_infos;                 /* those from VRT_DEVICES_MAX on don't count */
    uint64_t unfit;                 /* bit i: infos[i] has been tried, and has never worked */
    const char *why;                /* there is no accelerator, or the first of those that never
                                     * worked didn't, though the machine has one; NULL: not known */
};

/*
 * Resolves a request.
 * Return: 0; -EINVAL: the request has no such form; -ENODEV: well-formed, but nothing here fits
 * it. The error says which part. Thread: any.
 */
int vrt_device_request_resolve(const struct vrt_device_request *request,
                               struct vrt_device_choice *ret_choice, struct vrt_error *error);

/* Whether `text` has one of the forms above, whatever devices there are. Return: 0, -EINVAL. */
int vrt_device_request_check(const char *text, struct vrt_error *error);
