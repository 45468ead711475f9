/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What vrtd examines of its own circumstances, and vrtctl of its own where no vrtd answers: the
 * environment, and the GPUs that the kernel has, with who may open them
 *
 * Thread: any, while nobody changes the environment; files are read.
 */

#include <stdbool.h>

#include "msg_doctor.h"

struct vrt_doctor_host {
    enum vrt_doctor_by by;          /* who asks: */
    const char *user;               /* the name of the user whose process it is */
    const char *root;               /* as of vrt_gpus_list() */
    const char *only;               /* nothing of other kinds of device is told; NULL: of all */
    bool (*has_backend)(const char *kind);  /* whether the program could use such; NULL: it may */
};

/* Adds which variables are set that have a say in devices. */
void vrt_doctor_look_at_environment(const struct vrt_doctor_host *host,
                                    struct vrt_doctor_report *report);

/* Adds every GPU, and each of its nodes. */
void vrt_doctor_look_at_gpus(const struct vrt_doctor_host *host, struct vrt_doctor_report *report);

/* Whether a GPU is there that devices of this kind are made of. */
bool vrt_doctor_has_gpu(const struct vrt_doctor_host *host, const char *kind);
