/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What each user holds of the daemon, against limits
 *
 * Pure. Whoever makes an object that a client can make us hold takes one of its kind for the
 * client's uid first, and gives it back when the object goes. The superuser is limited like
 * everybody: a runaway script of his is no better.
 *
 * Thread: the loop's.
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/macro.h"

struct vrt_quota;

enum vrt_quota_kind {
    VRT_QUOTA_CONNECTIONS,
    VRT_QUOTA_STREAMS,          /* of events, and downloads; each is a connection too */
    VRT_QUOTA_UNREAD_BYTES,     /* of answers and streams, that their readers leave waiting */
    VRT_QUOTA_JOBS,             /* that wait or run; those that are over are limited by age */
    VRT_QUOTA_SPOOL_BYTES,      /* of working files on the disk */
    VRT_QUOTA_KIND_COUNT,
};

enum vrt_quota_outcome {
    VRT_QUOTA_OK = 0,
    VRT_QUOTA_E_USER,           /* this user has as many as one may have */
    VRT_QUOTA_E_ALL,            /* all users together have as many as the daemon holds */
};

struct vrt_quota_limit {
    int64_t per_uid, all;       /* at least 1; INT64_MAX: none */
};

/* Nobody holds anything. Return: 0, -ENOMEM. It is freed by vrt_quota_free(). */
int vrt_quota_new(const struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT],
                  struct vrt_quota **ret_quota);

/* From now on these are the limits. Who holds more keeps it, and gets no more. */
void vrt_quota_configure(struct vrt_quota *quota,
                         const struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT]);

/* Return: NULL. */
struct vrt_quota *vrt_quota_free(struct vrt_quota *quota);

/* Charges one to `uid`. Return: 0; an outcome, nothing was charged; -ENOMEM. */
int vrt_quota_take(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid) VRT_MUST_CHECK;

/* Gives back what vrt_quota_take() charged. */
void vrt_quota_give(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid);

/* vrt_quota_take() of so many at a time, at least 1: all of them or none. */
int vrt_quota_take_amount(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid,
                          int64_t amount) VRT_MUST_CHECK;

/* Gives back so many of those that were charged, however they were. */
void vrt_quota_give_amount(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid,
                           int64_t amount);

/*
 * Charges what is there already, such as the jobs of an earlier run of the daemon: it may pass the
 * limits, and then nothing more is granted until enough was given back. Return: 0, -ENOMEM.
 */
int vrt_quota_charge(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid,
                     int64_t amount) VRT_MUST_CHECK;

/* How many one user may hold. */
int64_t vrt_quota_limit(const struct vrt_quota *quota, enum vrt_quota_kind kind);

/* How many `uid` holds. */
int64_t vrt_quota_held(const struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid);

VRT_DEFINE_CLEANUP(struct vrt_quota, vrt_quota_free)
