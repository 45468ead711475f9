/* SPDX-License-Identifier: MIT */
#pragma once

/* What a pipeline was asked for: its own copies of texts and descriptors. Thread: the loop's. */

#include "base/macro.h"
#include "daemon/pipeline/pipeline.h"

struct vrt_asked {
    char *job_id, *input_name, *output_name, *reference_name, *model_name, *request;
    int input_fd, output_fd, reference_fd, spool_fd, model_fd, pipe_fd;
    struct vrt_job_settings settings;
    struct vrt_pipeline_part part;
};

/* Copies what `params` has of it; also on failure it needs vrt_asked_done(). Return: 0; -ENOMEM,
 * -errno. */
int vrt_asked_init(struct vrt_asked *asked, const struct vrt_pipeline_params *params)
    VRT_MUST_CHECK;

/* Frees and closes it. */
void vrt_asked_done(struct vrt_asked *asked);
