/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Slurm: what vrtctl asks of it, as the user who calls vrtctl
 *
 * There are two ways, by `url`: "" asks by Slurm's own commands (sbatch, squeue, scancel,
 * scontrol); "unix:/PATH", "http://HOST:PORT" and "https://..." ask a slurmrestd, by libcurl, which
 * knows a Unix socket's peer, and others by the token in $SLURM_JWT (scontrol token).
 *
 * Every refusal is one sentence with what Slurm says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "base/error.h"
#include "base/macro.h"

/* Which slurmrestd is asked, where no option says so. */
#define VRT_SLURM_URL_VARIABLE "VRTD_SLURM_URL"
#define VRT_SLURM_URL_BYTES 256

/* What a batch job may ask for; NULL, 0: what Slurm gives by default. */
struct vrt_slurm_wants {
    const char *partition, *account, *time;
    const char *excluded;           /* nodes that it shall not have */
    int64_t gpus;                   /* of a task; 0: none */
    bool whole_node;                /* which nobody else is to have meanwhile */
};

/* A batch job. */
struct vrt_slurm_batch {
    const char *name;
    const char *comment;            /* by which it is found again */
    const char *script;             /* its text */
    const char *folder;             /* where it runs, and below which `output` is */
    const char *output;             /* with sbatch's patterns */
    const char *array;              /* "0-3"; NULL: it is one */
    const char *dependency;         /* "afterok:12"; NULL: none. One that can never come true ends
                                     * it */
    struct vrt_slurm_wants wants;
};

/* A job, or a task of an array, that waits or runs. */
struct vrt_slurm_job {
    int64_t id;
    int64_t batch;                  /* what vrt_slurm_submit() said: of an array that of all */
    char state[24], reason[64];     /* Slurm's words; "": none */
    char comment[64];
    char folder[VRT_API_PATH_BYTES];
};

/* Takes where Slurm is asked: `given`, or what the environment says. Return: 0; -EINVAL with
 * `error`. */
int vrt_slurm_find(const char *given, char url[VRT_SLURM_URL_BYTES],
                   struct vrt_error *error) VRT_MUST_CHECK;

/* Submits it. Return: 0; -errno with `error`. */
int vrt_slurm_submit(const char *url, const struct vrt_slurm_batch *batch, int64_t *ret_id,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* The user's jobs whose comments begin so. Return: 0, *ret_jobs is the caller's, to be freed;
 * -errno with `error`. */
int vrt_slurm_list(const char *url, const char *comment, struct vrt_slurm_job **ret_jobs,
                   size_t *ret_n, struct vrt_error *error) VRT_MUST_CHECK;

/* What becomes of a batch job. */
enum vrt_slurm_order {
    VRT_SLURM_CANCEL,               /* none of that number is as good */
    VRT_SLURM_HOLD,                 /* what of it waits isn't started; what runs goes on */
    VRT_SLURM_RELEASE,
};

/* Return: 0; -errno with `error`. */
int vrt_slurm_order(const char *url, int64_t id, enum vrt_slurm_order order,
                    struct vrt_error *error) VRT_MUST_CHECK;
