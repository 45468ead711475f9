/* SPDX-License-Identifier: MIT */

/*
 * POST /v1/compare: both files come as descriptors, a thread of its own has them decoded and
 * compared, frame by frame; the client waits for the answer. One is made at a time. Where a third
 * one has the weights for it, the thread computes FVD of the frames that vrt-media shows.
 */

#include "daemon/api/errands/errand.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "compare/msg_compare.h"
#include "daemon/access/descriptors.h"
#include "daemon/jobs/job-report.h"
#include "model/fvd/fvd.h"
#include "model/fvd/i3d.h"
#include "workers/media/comparison.h"

_Static_assert(VRT_PICTURES_SIDE == VRT_FVD_SIDE, "pictures are shown as FVD wants them");

enum {
    FIRST,
    SECOND,
    WEIGHTS,
    N_FILES,
};

/* A client that waits for the figures. */
struct comparing {
    struct vrt_errand errand;               /* of the API's comparisons */
    struct vrt_compare_request request;
    int fds[N_FILES];                       /* -1: none */
    /* by the work's thread */
    struct vrt_fvd *fvd;                    /* NULL: nobody asked for it */
    struct vrt_pictures pictures;           /* for that */
    /* by the work's thread, then the loop's */
    struct vrt_compare_report report;
};

static void comparing_free(struct vrt_errand *errand)
{
    struct comparing *comparing = vrt_container_of(errand, struct comparing, errand);

    for (int i = 0; i < N_FILES; i++)
        vrt_closep(&comparing->fds[i]);
    free(comparing->report.frames);
    free(comparing);
}

static void reply(struct vrt_errand *errand, struct vrt_conn *conn)
{
    const struct comparing *comparing = vrt_container_of(errand, struct comparing, errand);
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    vrt_api_reply(conn, vrt_fields_print(vrt_compare_fields, &comparing->report, &body), &body,
                  "telling of the frames");
}

/* Adds a frame to the report, and to FVD. */
static int add(void *ctx, const struct vrt_compared *compared, struct vrt_error *error)
{
    struct comparing *comparing = ctx;
    struct vrt_compare_report *report = &comparing->report;
    const struct vrt_quality *quality = &compared->quality;
    const size_t n = report->n_frames;

    if (n == VRT_COMPARE_FRAMES_MAX)
        return vrt_refuse(error, vrt_raise(-E2BIG), "input.unlike", "the videos have more than %d "
                          "frames, and no more can be compared: compare a part of each",
                          VRT_COMPARE_FRAMES_MAX);
    /* Twice the room, each time that it is used up. */
    if ((n & (n - 1)) == 0) {
        void *frames = realloc(report->frames, VRT_MAX(2 * n, 1) * sizeof(*report->frames));
        if (!frames)
            return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "comparing");
        report->frames = frames;
    }
    report->frames[report->n_frames++] = (struct vrt_compare_frame){
        .time_s = (double)compared->time_ns / VRT_NS_PER_S,
        .psnr_rgb = vrt_job_report_psnr(vrt_quality_psnr(quality->error_rgb)),
        .psnr_y = vrt_job_report_psnr(vrt_quality_psnr(quality->error_y)),
        .ssim_rgb = quality->ssim_rgb,
        .ssim_y = quality->ssim_y,
    };
    return comparing->fvd ?
           vrt_fold(vrt_fvd_add(comparing->fvd, comparing->pictures.samples, error)) : 0;
}

static bool is_there(void *ctx)
{
    const struct comparing *comparing = ctx;

    return !atomic_load(&comparing->errand.is_gone);
}

/* First of all: whether the file has the weights is known at once. */
static int prepare_fvd(struct comparing *comparing)
{
    const struct vrt_graph_executor_watch watch = { .go_on = is_there, .ctx = comparing };
    struct vrt_error *error = &comparing->errand.error;
    int r = vrt_fvd_new(comparing->fds[WEIGHTS], comparing->request.fvd.name, &watch,
                        &comparing->fvd, error);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_pictures_init(&comparing->pictures);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "comparing") : 0;
}

static int finish_fvd(struct comparing *comparing)
{
    struct vrt_compare_report *report = &comparing->report;
    const int64_t n = vrt_fvd_n_clips(comparing->fvd);

    report->fvd_clips = n;
    if (n < VRT_FVD_CLIPS_MIN) {
        snprintf(report->fvd_warning, sizeof(report->fvd_warning), "FVD is of %d clips of %d "
                 "frames at least, and these videos have %zu frames", VRT_FVD_CLIPS_MIN,
                 VRT_FVD_FRAMES, report->n_frames);
        return 0;
    }
    if (n <= VRT_I3D_LOGITS)
        snprintf(report->fvd_warning, sizeof(report->fvd_warning), "of %d clips the covariance of "
                 "%d logits is a guess: hold this FVD only against that of the same clips",
                 (int)n, VRT_I3D_LOGITS);
    int r = vrt_fvd_distance(comparing->fvd, &report->fvd);
    return r < 0 ? vrt_refuse_errno(&comparing->errand.error, vrt_fold(r), "computing FVD") : 0;
}

static int compare_all(struct comparing *comparing)
{
    struct vrt_errand *errand = &comparing->errand;
    const struct vrt_comparison both = {
        .videos = {
            .fds = { comparing->fds[FIRST], comparing->fds[SECOND] },
            .names = { comparing->request.a.name, comparing->request.b.name },
            .crop = (int)comparing->request.crop,
        },
        .shown = comparing->request.has_fvd ? &comparing->pictures : NULL,
        .cancel = &errand->is_gone,
        .compared = add,
        .ctx = comparing,
    };
    struct vrt_quality_means means;
    struct vrt_compare_size size;
    int r = comparing->request.has_fvd ? prepare_fvd(comparing) : 0;

    if (r < 0)
        return vrt_fold(r);
    r = vrt_comparison_run(&both, &size, &means, &errand->error);
    if (r < 0)
        return vrt_fold(r);
    vrt_job_report_means(&size, &means, &comparing->report);
    return comparing->fvd ? vrt_fold(finish_fvd(comparing)) : 0;
}

/* What FVD is computed with is its thread's, and ends there. */
static int compare(struct vrt_errand *errand)
{
    struct comparing *comparing = vrt_container_of(errand, struct comparing, errand);
    int r = compare_all(comparing);

    comparing->fvd = vrt_fvd_free(comparing->fvd);
    vrt_pictures_done(&comparing->pictures);
    return vrt_fold(r);
}

static const struct vrt_errand_kind comparison = {
    .doing = "comparing",
    .takes_long = true,
    .perform = compare,
    .reply = reply,
    .free = comparing_free,
};

static int take_request(const struct vrt_call *call, struct comparing *comparing)
{
    const struct vrt_request *request = call->request;
    struct vrt_error *error = &comparing->errand.error;
    int r = vrt_compare_request_parse(request->body, request->body_bytes, &comparing->request,
                                      error);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_descriptors_take(request->files, comparing->request.a.fd, "a.fd",
                             &comparing->fds[FIRST], error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_descriptors_take(request->files, comparing->request.b.fd, "b.fd",
                             &comparing->fds[SECOND], error);
    if (r < 0 || !comparing->request.has_fvd)
        return vrt_fold(r);
    return vrt_fold(vrt_descriptors_take(request->files, comparing->request.fvd.fd, "fvd.fd",
                                         &comparing->fds[WEIGHTS], error));
}

void vrt_api_compare(const struct vrt_call *call)
{
    struct comparing *comparing = calloc(1, sizeof(*comparing));

    if (!comparing) {
        vrt_errand_refuse(NULL, &comparison, 0, call);
        return;
    }
    for (int i = 0; i < N_FILES; i++)
        comparing->fds[i] = -1;
    comparing->report.fvd = NAN;
    comparing->report.fvd_clips = VRT_UNKNOWN;
    int r = take_request(call, comparing);
    if (r < 0)
        vrt_errand_refuse(&comparing->errand, &comparison, r, call);
    else
        vrt_errand_begin(&comparing->errand, &comparison, &call->api->comparisons, call);
}
