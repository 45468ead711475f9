/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who makes GPUs, and what is known of them without a library of theirs
 *
 * This is not with the backends because vrtctl, which has none, tells it where no daemon answers,
 * and because there is hardware on which nothing of ours can compute. Nothing that runs a job asks.
 */

struct vrt_vendor {
    int number;                     /* PCI's, 0x1002 */
    const char *name;
    const char *kind;               /* of devices; NULL: nothing of ours computes on them */
    const char *no_driver;          /* what to do where the kernel has no driver */
    const char *node;               /* cards have files in /dev that are called so, with a number,
                                     * and those are what counts; NULL: DRM's that render */
    const char *common_nodes[3];    /* files that all programs need besides; NULL behind the last */
};

/* A variable of the environment that a vendor's library, or ours, reads. */
struct vrt_vendor_variable {
    const char *name;
    const char *kind;               /* of devices that it is about; NULL: any */
    const char *meaning;
};

/* Whose display adapters may compute; others' aren't listed. Ended by one without a name. */
extern const struct vrt_vendor vrt_vendors[];

/* Ended by one without a name. */
extern const struct vrt_vendor_variable vrt_vendor_variables[];

/* The vendor of this number, or NULL. */
const struct vrt_vendor *vrt_vendor_find(long number);

/* The vendor of whose hardware devices of a kind are made, or NULL. */
const struct vrt_vendor *vrt_vendor_of_kind(const char *kind);
