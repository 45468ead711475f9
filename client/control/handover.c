/* SPDX-License-Identifier: MIT */

#include "client/control/handover.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/folders.h"

/* What names another; of an output the reason says it already. */
static const char *const cures[VRT_JOB_FILE_COUNT] = {
    [VRT_JOB_INPUT] = "INPUT",
    [VRT_JOB_MODEL] = "--model FILE",
    [VRT_JOB_REFERENCE] = "--reference FILE",
};

/* The daemon's word is a path of days ago: where it leads nowhere, the user knows where to. */
static int refuse_file(const struct vrt_handover *h, enum vrt_job_file file, int r,
                       const struct vrt_error *reason, struct vrt_error *error)
{
    if (h->named || !cures[file] || vrt_error_is(reason, VRT_E(INPUT_OTHER)))
        return vrt_refuse(error, r, reason->id, "%s", reason->message);
    return vrt_refuse(error, r, reason->id, "%s; say where it is: vrtctl %s %lld %s",
                      reason->message, h->verb, h->id, cures[file]);
}

/* Another video is seen by its size, mostly, before anything is said of the output; the daemon
 * looks at what is in it. */
static int open_input(const struct vrt_handover *h, struct vrt_file *file, struct vrt_error *error)
{
    char name[VRT_API_NAME_BYTES];
    struct stat st;

    if (vrt_file_is_folder(h->input))
        return vrt_fold(vrt_folder_open(h->input, file, error));
    int r = vrt_file_open_input(h->input, file, error);
    if (r < 0 || h->input_bytes <= 0 || fstat(file->fd, &st) < 0 || st.st_size == h->input_bytes)
        return vrt_fold(r);
    return vrt_refuse(error, vrt_raise(-ESTALE), VRT_E(INPUT_OTHER),
                      "%s is not the file that this job was submitted for: that had %" PRId64
                      " bytes, and this has %jd", vrt_printable(h->input, name, sizeof(name)),
                      h->input_bytes, (intmax_t)st.st_size);
}

static int open_file(const struct vrt_handover *h, enum vrt_job_file file, struct vrt_file *files,
                     struct vrt_error *error)
{
    struct vrt_error reason = { 0 };
    int r = 0;

    if (file == VRT_JOB_INPUT && h->input_fd > 0)
        files[file].fd = h->input_fd;
    else if (file == VRT_JOB_INPUT && h->input && !vrt_file_is_url(h->input))
        r = open_input(h, &files[file], &reason);
    else if (file == VRT_JOB_OUTPUT && h->output_fd > 0)
        files[file].fd = h->output_fd;
    else if (file == VRT_JOB_OUTPUT && h->output && vrt_file_is_folder(h->output))
        r = vrt_folder_open(h->output, &files[file], &reason);
    else if (file == VRT_JOB_OUTPUT && h->output)
        r = vrt_file_open_output_again(h->output, h->overwrite, &files[VRT_JOB_INPUT], &files[file],
                                       &reason);
    else if (file == VRT_JOB_MODEL && h->model)
        r = vrt_file_open_model(h->model, &files[file], &reason);
    else if (file == VRT_JOB_REFERENCE && h->reference)
        r = vrt_file_open_input(h->reference, &files[file], &reason);
    return r < 0 ? refuse_file(h, file, r, &reason, error) : 0;
}

/* Sends what is open. */
static int post(struct vrt_cli *cli, const struct vrt_handover *h, const struct vrt_file *files,
                struct json_t **ret_json, struct vrt_error *error)
{
    struct vrt_job_files_request q;
    const char *const paths[VRT_JOB_FILE_COUNT] = { h->input, h->output, h->model, h->reference };
    const bool has_path[VRT_JOB_FILE_COUNT] = { h->input_fd <= 0, h->output_fd <= 0, true, true };
    int fds[VRT_JOB_FILE_COUNT], n_fds = 0;
    char path[64];

    vrt_job_files_request_init(&q);
    q.overwrite = h->overwrite;
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        if (files[i].fd < 0)
            continue;
        q.files[i].fd = n_fds;
        vrt_file_name(paths[i], q.files[i].name, sizeof(q.files[i].name));
        if (has_path[i])
            vrt_file_absolute(paths[i], q.files[i].path, sizeof(q.files[i].path));
        fds[n_fds++] = files[i].fd;
    }
    snprintf(path, sizeof(path), "/v1/jobs/%lld/%s", h->id, h->verb);
    const struct vrt_request request = {
        .path = path,
        .fds = fds,
        .n_fds = n_fds,
    };
    return vrt_fold(vrt_conn_post(cli->conn, &request, vrt_job_files_request_fields, &q, ret_json,
                                  error));
}

int vrt_handover_send(struct vrt_cli *cli, const struct vrt_handover *handover,
                      struct json_t **ret_json, struct vrt_error *error)
{
    struct vrt_file files[VRT_JOB_FILE_COUNT] = { VRT_FILE_NONE, VRT_FILE_NONE, VRT_FILE_NONE,
                                                VRT_FILE_NONE };
    int r = 0;

    for (int i = 0; i < VRT_JOB_FILE_COUNT && r == 0; i++)
        r = open_file(handover, i, files, error);
    if (r == 0)
        r = post(cli, handover, files, ret_json, error);
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        vrt_file_close(&files[i]);
    if (r != 0 && handover->output)
        vrt_file_remove_created(handover->output, &files[VRT_JOB_OUTPUT]);
    return vrt_fold(r);
}
