/* SPDX-License-Identifier: MIT */
#pragma once

/* What an examination found, in sentences with their cures. Thread: any. */

#include <stdint.h>

#include "daemon/devices/pool.h"
#include "msg_doctor.h"
#include "workers/device/checkup.h"
#include "workers/device/device-executor.h"

enum vrt_doctor_outcome {
    VRT_DOCTOR_NOT_ASKED,           /* the device isn't ready */
    VRT_DOCTOR_WAITS,               /* it hasn't answered so far */
    VRT_DOCTOR_ANSWERED,
    VRT_DOCTOR_UNANSWERED,          /* it won't answer: see `error` */
};

/* What is known of one device. */
struct vrt_doctor_found {
    struct vrt_device_snapshot device;      /* as it was at first */
    enum vrt_doctor_outcome outcome;
    struct vrt_checkup *checkup;            /* ANSWERED: owned */
    struct vrt_device_executor_usage usage; /* ANSWERED: afterwards */
    struct vrt_error error;
};

/* Whether this machine has a GPU for such devices. Files are read. */
bool vrt_doctor_machine_has_gpu(const char *kind);

/* Prints what keeps a GPU from being a device, "" where none is missed. has_gpu() says whether
 * there is hardware for a kind, here and below. */
void vrt_doctor_explain(const struct vrt_pool *pool, bool (*has_gpu)(const char *kind),
                        char *buffer, size_t size);

/* Adds what the backends looked for: of one kind of devices, or of all where it is NULL. */
void vrt_doctor_tell_backends(const struct vrt_pool *pool, const char *kind,
                              bool (*has_gpu)(const char *kind),
                              struct vrt_doctor_report *report);

/* What a device was to do. */
struct vrt_doctor_wanted {
    const float *reference;                 /* NULL: what it computes can't be compared */
    const char *model;                      /* "": the network is the built-in one */
    int patience_s;
};

/* Adds all about one device. */
void vrt_doctor_tell_device(const struct vrt_doctor_found *found,
                            const struct vrt_doctor_wanted *wanted,
                            struct vrt_doctor_report *report);
