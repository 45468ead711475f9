/* SPDX-License-Identifier: MIT */

/*
 * POST /v1/compare: both files come as descriptors, a thread of its own has them decoded and
 * compared, frame by frame; the client waits for the answer. One is made at a time.
 */

#include "daemon/api/errands/errand.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "compare/msg_compare.h"
#include "daemon/access/descriptors.h"
#include "frames/process/child.h"

/* A client that waits for the figures. */
struct comparing {
    struct vrt_errand errand;               /* of the API's comparisons */
    struct vrt_compare_request request;
    int fds[2];                             /* -1: none */
    /* by the work's thread, then the loop's */
    struct vrt_compare_report report;
    struct vrt_quality sum;
};

static void comparing_free(struct vrt_errand *errand)
{
    struct comparing *comparing = vrt_container_of(errand, struct comparing, errand);

    for (int i = 0; i < 2; i++)
        vrt_closep(&comparing->fds[i]);
    free(comparing->report.frames);
    free(comparing);
}

/* What JSON has a number for. */
static double known(double psnr)
{
    return isinf(psnr) ? NAN : psnr;
}

static void reply(struct vrt_errand *errand, struct vrt_conn *conn)
{
    const struct comparing *comparing = vrt_container_of(errand, struct comparing, errand);
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    vrt_api_reply(conn, vrt_fields_print(vrt_compare_fields, &comparing->report, &body), &body,
                  "telling of the frames");
}

/* Adds a frame to the report. Return: 0; -errno with the sentence in the comparison's error. */
static int add(struct comparing *comparing, const struct vrt_compared *compared)
{
    struct vrt_compare_report *report = &comparing->report;
    const struct vrt_quality *quality = &compared->quality;
    const size_t n = report->n_frames;

    if (n == VRT_COMPARE_FRAMES_MAX)
        return vrt_refuse(&comparing->errand.error, vrt_raise(-E2BIG), "input.unlike",
                          "the videos have more than %d frames, and no more can be compared: "
                          "compare a part of each", VRT_COMPARE_FRAMES_MAX);
    /* Twice the room, each time that it is used up. */
    if ((n & (n - 1)) == 0) {
        void *frames = realloc(report->frames, VRT_MAX(2 * n, 1) * sizeof(*report->frames));
        if (!frames)
            return vrt_refuse_errno(&comparing->errand.error, vrt_raise(-ENOMEM), "comparing");
        report->frames = frames;
    }
    const double psnr_rgb = vrt_quality_psnr(quality->error_rgb);
    const double psnr_y = vrt_quality_psnr(quality->error_y);
    report->frames[report->n_frames++] = (struct vrt_compare_frame){
        .time_s = (double)compared->time_ns / VRT_NS_PER_S,
        .psnr_rgb = known(psnr_rgb),
        .psnr_y = known(psnr_y),
        .ssim_rgb = quality->ssim_rgb,
        .ssim_y = quality->ssim_y,
    };
    report->frames_equal += isinf(psnr_rgb) ? 1 : 0;
    report->psnr_rgb += psnr_rgb;
    report->psnr_y += psnr_y;
    comparing->sum.error_rgb += quality->error_rgb;
    comparing->sum.error_y += quality->error_y;
    comparing->sum.ssim_rgb += quality->ssim_rgb;
    comparing->sum.ssim_y += quality->ssim_y;
    return 0;
}

/* What the sums come to. */
static void take_means(struct comparing *comparing)
{
    struct vrt_compare_report *report = &comparing->report;
    const double n = (double)report->n_frames;

    report->frames_total = (int64_t)report->n_frames;
    report->psnr_rgb = known(report->psnr_rgb / n);
    report->psnr_y = known(report->psnr_y / n);
    report->psnr_rgb_overall = known(vrt_quality_psnr(comparing->sum.error_rgb / n));
    report->psnr_y_overall = known(vrt_quality_psnr(comparing->sum.error_y / n));
    report->ssim_rgb = comparing->sum.ssim_rgb / n;
    report->ssim_y = comparing->sum.ssim_y / n;
}

static int compare(struct vrt_errand *errand)
{
    struct comparing *comparing = vrt_container_of(errand, struct comparing, errand);
    const struct vrt_compare_params params = {
        .fds = { comparing->fds[0], comparing->fds[1] },
        .names = { comparing->request.a.name, comparing->request.b.name },
        .crop = (int)comparing->request.crop,
    };
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_compare_size size;
    struct vrt_compared compared;
    int r = vrt_child_new(&errand->is_gone, &child, &comparing->errand.error);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_child_compare_open(child, &params, &size, &comparing->errand.error);
    if (r < 0)
        return vrt_fold(r);
    comparing->report.width = size.width;
    comparing->report.height = size.height;
    while (r == 0) {
        r = vrt_child_compare_next(child, &compared, &comparing->errand.error);
        if (r == 0)
            r = add(comparing, &compared);
    }
    if (r < 0)
        return vrt_fold(r);
    if (!comparing->report.n_frames)
        return vrt_refuse(&comparing->errand.error, vrt_raise(-EINVAL), "input.unlike",
                          "neither video has a frame");
    take_means(comparing);
    return 0;
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
    r = vrt_descriptors_take(request->files, comparing->request.a.fd, "a.fd", &comparing->fds[0],
                             error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_descriptors_take(request->files, comparing->request.b.fd, "b.fd",
                                         &comparing->fds[1], error));
}

void vrt_api_compare(const struct vrt_call *call)
{
    struct comparing *comparing = calloc(1, sizeof(*comparing));

    if (!comparing) {
        vrt_errand_refuse(NULL, &comparison, 0, call);
        return;
    }
    comparing->fds[0] = comparing->fds[1] = -1;
    int r = take_request(call, comparing);
    if (r < 0)
        vrt_errand_refuse(&comparing->errand, &comparison, r, call);
    else
        vrt_errand_begin(&comparing->errand, &comparison, &call->api->comparisons, call);
}
