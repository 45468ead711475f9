/* SPDX-License-Identifier: MIT */
#pragma once

/* The ways to ask Slurm, and the JSON of slurmrestd: private to client/cluster/slurm*.c. */

#include "base/buf.h"
#include "client/cluster/slurm.h"

struct json_t;

/* As slurm.h has them. */
struct vrt_slurm_ops {
    int (*submit)(const char *url, const struct vrt_slurm_batch *batch, int64_t *ret_id,
                  struct vrt_error *error);
    int (*list)(const char *url, const char *comment, struct vrt_slurm_job **ret_jobs,
                size_t *ret_n, struct vrt_error *error);
    int (*order)(const char *url, int64_t id, enum vrt_slurm_order order, struct vrt_error *error);
};

extern const struct vrt_slurm_ops vrt_slurm_by_commands, vrt_slurm_by_rest;

/* Where it writes, with the folder's own "%" told from Slurm's patterns. Return: 0, `path` is a
 * text; -errno. */
int vrt_slurm_output(const struct vrt_slurm_batch *batch, struct vrt_buf *path) VRT_MUST_CHECK;

/* Copies a word of Slurm's; what it has no word for is "". */
void vrt_slurm_take_word(const char *text, char *word, size_t size);

/* Appends a job. Return: 0; -ENOMEM. */
int vrt_slurm_add(struct vrt_slurm_job **jobs, size_t *n, const struct vrt_slurm_job *job)
    VRT_MUST_CHECK;

/* slurmrestd's messages have had two shapes: up to v0.0.38 (Slurm 22.05), words and numbers; since
 * v0.0.40 (23.11), numbers that may be infinite or not set, and lists. */
enum vrt_slurm_shape { VRT_SLURM_PLAIN, VRT_SLURM_TYPED };

/* What a batch job is submitted by, with `environment` ("NAME=value", ended by NULL) as its own;
 * of that, what is no UTF-8 and $SLURM_JWT stay out. Return: 0, *ret_json is the caller's; -EINVAL,
 * -ENOMEM with `error`. */
int vrt_slurm_json_of_batch(const struct vrt_slurm_batch *batch, enum vrt_slurm_shape shape,
                            char *const *environment, struct json_t **ret_json,
                            struct vrt_error *error) VRT_MUST_CHECK;

/* The jobs in an answer, of either shape, that are `user`'s and not over, and whose comments begin
 * so. Return: 0, *ret_jobs is the caller's; -EPROTO, -ENOMEM with `error`. */
int vrt_slurm_jobs_of_json(const struct json_t *json, const char *user, const char *comment,
                           struct vrt_slurm_job **ret_jobs, size_t *ret_n,
                           struct vrt_error *error) VRT_MUST_CHECK;

/* Reads a time limit as sbatch(1) has it, such as "90", "1:30:00" or "2-12". Return: minutes,
 * rounded up; -1: without a limit; -EINVAL. Pure. */
int64_t vrt_slurm_minutes(const char *text);
