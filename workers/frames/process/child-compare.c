/* SPDX-License-Identifier: MIT */

#include "frames/process/child-compare.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frames/process/child-impl.h"
#include "frames/process/wire.h"

/* To open two videos, and for a frame of each: the largest takes seconds. */
#define SILENCE_NS (60 * VRT_NS_PER_S)

#define DOING "comparing two videos"

/* Parts of 1e9 in one. */
#define ONE INT64_C(1000000000)
#define ERROR_MAX (255 * 255 * ONE)

int vrt_child_compare_open(struct vrt_child *child, const struct vrt_compare_params *params,
                           struct vrt_compare_size *ret_size, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(compare_open),
        .fds = { 2, { params->fds[0], params->fds[1] } },
        .limit_ns = SILENCE_NS,
        .doing = DOING,
        .growing_fd = -1,
    };

    if (!message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), DOING);
    vrt_message_init(message, VRT_MESSAGE_COMPARE_OPEN);
    for (int i = 0; i < 2; i++)
        vrt_wire_put_name(params->names[i], message->body.compare_open.names[i]);
    message->body.compare_open.crop = params->crop;
    int r = vrt_child_ask(child, &call, message, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_compare_size size = { message->body.compare_open.width,
                                           message->body.compare_open.height };
    if (size.width < 1 || size.width > VRT_FRAME_MAX_SIDE || size.height < 1 ||
        size.height > VRT_FRAME_MAX_SIDE)
        return vrt_child_distrust(child, DOING, error);
    *ret_size = size;
    return 0;
}

int vrt_child_compare_show(struct vrt_child *child, const struct vrt_pictures *pictures,
                           struct vrt_error *error)
{
    struct vrt_message message;
    const struct vrt_child_call call = {
        .size = offsetof(struct vrt_message, body),
        .fds = { 1, { pictures->fd } },
        .limit_ns = SILENCE_NS,
        .doing = DOING,
        .growing_fd = -1,
    };

    vrt_message_init(&message, VRT_MESSAGE_COMPARE_SHOW);
    return vrt_fold(vrt_child_ask(child, &call, &message, error));
}

static bool is_between(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

int vrt_child_compare_next(struct vrt_child *child, struct vrt_compared *ret_compared,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(compare_next),
        .limit_ns = SILENCE_NS,
        .outcome_max = VRT_COMPARE_END,
        .doing = DOING,
        .growing_fd = -1,
    };

    if (!message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), DOING);
    vrt_message_init(message, VRT_MESSAGE_COMPARE_NEXT);
    int r = vrt_child_ask(child, &call, message, error);
    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    if (llabs(message->body.compare_next.time_ns) > VRT_WIRE_NUMBER_MAX ||
        !is_between(message->body.compare_next.error_rgb, 0, ERROR_MAX) ||
        !is_between(message->body.compare_next.error_y, 0, ERROR_MAX) ||
        !is_between(message->body.compare_next.ssim_rgb, -ONE, ONE) ||
        !is_between(message->body.compare_next.ssim_y, -ONE, ONE))
        return vrt_child_distrust(child, DOING, error);
    *ret_compared = (struct vrt_compared){
        .time_ns = message->body.compare_next.time_ns,
        .quality = {
            .error_rgb = (double)message->body.compare_next.error_rgb / (double)ONE,
            .error_y = (double)message->body.compare_next.error_y / (double)ONE,
            .ssim_rgb = (double)message->body.compare_next.ssim_rgb / (double)ONE,
            .ssim_y = (double)message->body.compare_next.ssim_y / (double)ONE,
        },
    };
    return 0;
}
