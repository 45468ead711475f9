/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is told of a job, out of what its pipeline says
 *
 * Thread: the loop's.
 */

#include "daemon/jobs/job.h"
#include "daemon/pipeline/pipeline.h"

/* Whether what is due next of it is its transparency, which the network restores before the
 * colours; of one that is being admitted it never is. */
bool vrt_job_report_is_alpha_due(const struct vrt_job *job);

/* That it starts. */
void vrt_job_report_log_start(const struct vrt_job *job);

/* What admission found. */
void vrt_job_report_admitted(struct vrt_job *job);

/* The progress of its pipeline, whose phase is *ret_phase then. Return: whether any was made. */
bool vrt_job_report_progress(struct vrt_job *job, enum vrt_pipeline_phase *ret_phase);

/* A PSNR, which JSON has a number for unless it is infinite. Return: NAN for such. */
double vrt_job_report_psnr(double psnr);

/* How near one video is to another: all of the report but its frames. */
void vrt_job_report_means(const struct vrt_compare_size *size,
                          const struct vrt_quality_means *means,
                          struct vrt_compare_report *report);

/* Says in the log how far it is: "job 7: 50 of 2674 frames (1.9 %), 12.3 fps, cuda:0 6.1, cuda:1
 * 6.2; 213 s left". */
void vrt_job_report_log(const struct vrt_job *job);

/* What went wrong. */
void vrt_job_report_error(struct vrt_job *job, const struct vrt_error *error);

/* Nothing works for it at the moment. */
void vrt_job_report_idle(struct vrt_job *job);

/* No run of it is under way: its progress is what is stored of it, and what that took. */
void vrt_job_report_stored(struct vrt_job *job);

/* It is tried again: as before, and nobody has had a part in it yet. */
void vrt_job_report_retried(struct vrt_job *job);

/* It is over; `error` is NULL where nothing went wrong. */
void vrt_job_report_end(struct vrt_job *job, const struct vrt_error *error);

/* Frees the job's pipeline, which has ended or was never started: there is no more to be told. */
void vrt_job_free_pipeline(struct vrt_job *job);
