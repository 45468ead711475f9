/* SPDX-License-Identifier: MIT */

#include "daemon/pipeline/asked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Copies `text`, where there is any, to *ret_copy. */
static int copy_text(const char *text, char **ret_copy)
{
    if (!text)
        return 0;
    *ret_copy = strdup(text);
    return *ret_copy ? 0 : vrt_raise(-ENOMEM);
}

/* Duplicates `fd`, where there is one, to *ret_fd. */
static int copy_fd(int fd, int *ret_fd)
{
    if (fd < 0)
        return 0;
    *ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *ret_fd < 0 ? vrt_raise(-errno) : 0;
}

int vrt_asked_init(struct vrt_asked *asked, const struct vrt_pipeline_params *params)
{
    const char *const texts[] = {
        params->job_id, params->input_name, params->output_name, params->reference_name,
        params->model_name ? params->model_name : "the model",
        params->devices ? params->devices : "auto",
    };
    char **const text_copies[] = { &asked->job_id, &asked->input_name, &asked->output_name,
                                   &asked->reference_name, &asked->model_name,
                                   &asked->request };
    const int fds[] = { params->input_fd, params->output_fd, params->spool_fd,
                        params->network ? -1 : params->model_fd, params->pipe_fd,
                        params->reference_name ? params->reference_fd : -1 };
    int *const fd_copies[] = { &asked->input_fd, &asked->output_fd, &asked->spool_fd,
                               &asked->model_fd, &asked->pipe_fd, &asked->reference_fd };
    int r = 0;

    *asked = (struct vrt_asked){
        .input_fd = -1, .output_fd = -1, .spool_fd = -1, .model_fd = -1, .pipe_fd = -1,
        .reference_fd = -1,
        .settings = *params->settings,
    };
    if (params->part)
        asked->part = *params->part;
    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(texts); i++)
        r = copy_text(texts[i], text_copies[i]);
    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(fds); i++)
        r = copy_fd(fds[i], fd_copies[i]);
    return r;
}

void vrt_asked_done(struct vrt_asked *asked)
{
    int *const fds[] = { &asked->input_fd, &asked->output_fd, &asked->spool_fd, &asked->model_fd,
                         &asked->pipe_fd, &asked->reference_fd };
    char *const texts[] = { asked->job_id, asked->input_name, asked->output_name,
                            asked->reference_name, asked->model_name, asked->request };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        vrt_closep(fds[i]);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        free(texts[i]);
}
