/* SPDX-License-Identifier: MIT */

#include "client/cluster/slurm-impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct vrt_slurm_ops *ops_of(const char *url)
{
    return url[0] ? &vrt_slurm_by_rest : &vrt_slurm_by_commands;
}

int vrt_slurm_find(const char *given, char url[VRT_SLURM_URL_BYTES], struct vrt_error *error)
{
    static const char *const beginnings[] = { "unix:/", "http://", "https://" };
    const char *variable = getenv(VRT_SLURM_URL_VARIABLE);

    if (!given)
        given = variable ? variable : "";
    bool is_one = !given[0];
    for (size_t i = 0; i < VRT_ARRAY_SIZE(beginnings); i++)
        is_one |= strncmp(given, beginnings[i], strlen(beginnings[i])) == 0 &&
                  given[strlen(beginnings[i])];
    if (!is_one)
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.slurm", "slurmrestd's address is "
                          "unix:/PATH, http://HOST:PORT or https://HOST:PORT, not %.200s", given);
    if (snprintf(url, VRT_SLURM_URL_BYTES, "%s", given) >= VRT_SLURM_URL_BYTES)
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.slurm", "slurmrestd's address has at "
                          "most %d letters", VRT_SLURM_URL_BYTES - 1);
    return 0;
}

int vrt_slurm_submit(const char *url, const struct vrt_slurm_batch *batch, int64_t *ret_id,
                     struct vrt_error *error)
{
    return vrt_fold(ops_of(url)->submit(url, batch, ret_id, error));
}

int vrt_slurm_list(const char *url, const char *comment, struct vrt_slurm_job **ret_jobs,
                   size_t *ret_n, struct vrt_error *error)
{
    return vrt_fold(ops_of(url)->list(url, comment, ret_jobs, ret_n, error));
}

int vrt_slurm_order(const char *url, int64_t id, enum vrt_slurm_order order,
                    struct vrt_error *error)
{
    return vrt_fold(ops_of(url)->order(url, id, order, error));
}

int vrt_slurm_output(const struct vrt_slurm_batch *batch, struct vrt_buf *path)
{
    int r = 0;

    for (const char *at = batch->folder; r == 0 && *at; at++)
        r = vrt_buf_append(path, *at == '%' ? "%%" : at, *at == '%' ? 2 : 1);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_buf_printf(path, "/%s", batch->output));
}

void vrt_slurm_take_word(const char *text, char *word, size_t size)
{
    const bool is_none = strcmp(text, "None") == 0 || strcmp(text, "(null)") == 0;

    snprintf(word, size, "%s", is_none ? "" : text);
}

int vrt_slurm_add(struct vrt_slurm_job **jobs, size_t *n, const struct vrt_slurm_job *job)
{
    struct vrt_slurm_job *more = *jobs;

    /* Powers of two. */
    if ((*n & (*n - 1)) == 0)
        more = realloc(more, (*n ? 2 * *n : 1) * sizeof(*more));
    if (!more)
        return vrt_raise(-ENOMEM);
    *jobs = more;
    more[(*n)++] = *job;
    return 0;
}
