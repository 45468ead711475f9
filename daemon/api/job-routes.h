/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The routes below /v1/jobs: jobs as they come and are looked at, and what is done to them
 *
 * Thread: the loop's.
 */

#include "base/error.h"
#include "msg_job.h"

struct vrt_call;
struct vrt_job;
struct vrt_peer;

void vrt_api_job_create(const struct vrt_call *call);
void vrt_api_job_list(const struct vrt_call *call);
void vrt_api_job_show(const struct vrt_call *call);
void vrt_api_job_change(const struct vrt_call *call);
void vrt_api_job_cancel(const struct vrt_call *call);
void vrt_api_job_pause(const struct vrt_call *call);
void vrt_api_job_resume(const struct vrt_call *call);
void vrt_api_job_retry(const struct vrt_call *call);
void vrt_api_job_forget(const struct vrt_call *call);
void vrt_api_job_log(const struct vrt_call *call);
void vrt_api_job_output(const struct vrt_call *call);
void vrt_api_job_preview(const struct vrt_call *call);
void vrt_api_job_history(const struct vrt_call *call);

/* No descriptor comes by TCP, and no path of this machine is opened for who comes by it. Return: 0;
 * -EPERM with `error`. */
int vrt_api_check_web_files(const struct vrt_peer *peer,
                            const struct vrt_file_ref files[VRT_JOB_FILE_COUNT],
                            struct vrt_error *error) VRT_MUST_CHECK;

/* The job that the path names, if the client may control it; NULL: he was told why not. */
struct vrt_job *vrt_api_find_own_job(const struct vrt_call *call);
