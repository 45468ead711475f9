/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The routes below /v1/jobs: jobs as they come and are looked at, and what is done to them
 *
 * Thread: the loop's.
 */

struct vrt_call;
struct vrt_job;

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
void vrt_api_job_history(const struct vrt_call *call);

/* The job that the path names, if the client may control it; NULL: he was told why not. */
struct vrt_job *vrt_api_find_own_job(const struct vrt_call *call);
