/* SPDX-License-Identifier: MIT */

/* Frames are asked for one by one. The process decodes them into a file that vrtd has mapped, too,
 * and is able to change them there for as long as it lives: a copy is what others see. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "frames/process/child-impl.h"

/* Without a frame for so long a decoder hangs, on the slowest machine. */
#define SILENCE_NS (300 * VRT_NS_PER_S)

/* vrt-media looks for a few seconds; the disk may be slow besides. */
#define LOOK_LIMIT_NS (60 * VRT_NS_PER_S)

/* Of a pipe, for a look: what is stored so early stays until the job is over. */
#define LOOK_BYTES_MAX (INT64_C(256) << 20)

struct vrt_child_reader {
    struct vrt_child *child;
    struct vrt_frame *place;        /* where the process puts frames */
    struct vrt_frame_pool *pool;    /* of what others see */
    struct vrt_reader_info info;
    bool is_late;                   /* it doesn't begin at the first frame */
    int64_t limit_ns;               /* for its next frame */
    int64_t last_pts;               /* of frame info.n_frames - 1 */
    const struct vrt_feed *feed;    /* or NULL */
    int64_t fed_bytes_max;          /* of it; INT64_MAX: all */
    int64_t told_bytes;             /* that the process knows to be there; -1: it wasn't told */
    bool was_end_told;              /* and that there won't be more */
    int64_t open_deadline_ns;       /* while it is opened; 0: none */
    char doing[VRT_MESSAGE_NAME_BYTES + 16];    /* "reading NAME" */
};

/* Whether the ranges can be of such a file. */
static bool are_ranges(const struct vrt_feed_range *ranges, int32_t n, int64_t size_bytes)
{
    if (n < 0 || n > VRT_FEED_SPENT_MAX)
        return false;
    for (int32_t i = 0; i < n; i++)
        if (ranges[i].from < 0 || ranges[i].to < ranges[i].from || ranges[i].to > size_bytes)
            return false;
    return true;
}

/* The process has read all that it knows of a file that grows: what it was told last, or it would
 * be answered at once and for ever. */
static int give_more(void *ctx, struct vrt_child *child, const struct vrt_message *question,
                     struct vrt_error *error)
{
    struct vrt_child_reader *reader = ctx;
    struct vrt_message answer;
    struct vrt_feed_state state = {
        .size_bytes = question->body.reader_more.size_bytes,
        .n_spent = question->body.reader_more.n_spent,
    };

    if (question->kind != VRT_MESSAGE_READER_MORE || !reader->feed || reader->was_end_told ||
        state.size_bytes < 0 ||
        (reader->told_bytes >= 0 && state.size_bytes != reader->told_bytes) ||
        !are_ranges(question->body.reader_more.spent, state.n_spent, state.size_bytes))
        return vrt_child_distrust(child, reader->doing, error);
    if (reader->open_deadline_ns && vrt_clock_now_ns() > reader->open_deadline_ns)
        return vrt_refuse(error, vrt_raise(-ETIMEDOUT), "input.timeout", "%s was given up: too "
                          "little comes through the pipe to see what it holds", reader->doing);
    memcpy(state.spent, question->body.reader_more.spent, sizeof(state.spent));
    int r = reader->feed->more(reader->feed->ctx, &state, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_message_init(&answer, VRT_MESSAGE_READER_MORE);
    answer.body.reader_more.size_bytes = reader->told_bytes = state.size_bytes;
    reader->was_end_told = state.at_end || state.size_bytes >= reader->fed_bytes_max;
    answer.body.reader_more.at_end = reader->was_end_told;
    r = vrt_child_answer(child, &answer, VRT_MESSAGE_BYTES(reader_more), NULL);
    if (r == -EAGAIN)
        return vrt_child_distrust(child, reader->doing, error);
    /* That it is gone the next wait finds out. */
    return r < 0 && r != -EPIPE ? vrt_refuse_errno(error, r, "asking vrt-media") : 0;
}

int vrt_child_reader_open(struct vrt_child *child, int fd, const struct vrt_reader_params *params,
                          struct vrt_child_reader **ret_reader, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *reader =
        calloc(1, sizeof(*reader));
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));

    if (!reader || !message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    const int64_t now_ns = vrt_clock_now_ns();
    const int64_t limit_ns = params->open_deadline_ns ?
                             VRT_MAX(params->open_deadline_ns - now_ns, 1) : 0;
    *message = (struct vrt_message){ .kind = VRT_MESSAGE_READER_OPEN };
    vrt_wire_put_name(params->name, message->body.reader_open.name);
    message->body.reader_open.start_ns = params->range.start_ns;
    message->body.reader_open.duration_ns = params->range.duration_ns;
    message->body.reader_open.first = params->first;
    message->body.reader_open.first_pts = params->first_pts;
    message->body.reader_open.limit_ns = limit_ns;
    message->body.reader_open.n_threads = params->n_threads;
    message->body.reader_open.strict = params->strict;
    message->body.reader_open.keeps_extra = params->keeps_extra;
    message->body.reader_open.is_alpha = params->is_alpha;
    message->body.reader_open.hwdec = (int32_t)params->hwdec;
    message->body.reader_open.tonemap = (int32_t)params->tonemap;
    message->body.reader_open.deinterlace = (int32_t)params->fields.deinterlace;
    message->body.reader_open.field_order = (int32_t)params->fields.order;
    vrt_wire_put_streams(params->streams, message->body.reader_open.streams);
    message->body.reader_open.is_fed = params->feed != NULL;
    reader->child = child;
    reader->feed = params->feed;
    reader->fed_bytes_max = INT64_MAX;
    reader->told_bytes = -1;
    reader->open_deadline_ns = params->open_deadline_ns;
    snprintf(reader->doing, sizeof(reader->doing), "reading %s", message->body.reader_open.name);
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(reader_open),
        .fds = { 1, { fd } },
        /* FFmpeg looks at the limit itself where it can, and says more. */
        .limit_ns = limit_ns ? limit_ns + VRT_NS_PER_S : SILENCE_NS,
        .doing = reader->doing,
        .asked = give_more,
        .ctx = reader,
        .growing_fd = -1,
    };
    int r = vrt_child_ask(child, &call, message, error);
    if (r < 0)
        return vrt_fold(r);
    reader->open_deadline_ns = 0;
    if (vrt_wire_take_info(&message->body.info, &reader->info) < 0 ||
        reader->info.n_frames != params->first)
        return vrt_child_distrust(child, reader->doing, error);
    reader->last_pts = params->first ? params->first_pts - 1 : INT64_MIN;
    reader->is_late = params->first > 0;
    reader->limit_ns = SILENCE_NS;
    /* What is before the first frame is read, if not decoded. */
    if (params->first || params->range.start_ns)
        reader->limit_ns += vrt_child_transfer_ns(fd);
    r = vrt_frame_new_shared(&reader->info.format, &reader->place);
    if (r == 0)
        r = vrt_frame_pool_new(&reader->info.format, &reader->pool);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the input");
    *ret_reader = VRT_STEAL(reader);
    return 0;
}

int vrt_child_reader_try(struct vrt_child *child, enum vrt_hwdec hwdec, enum vrt_codec codec,
                         struct vrt_error *error)
{
    struct vrt_message message;
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(reader_try),
        .limit_ns = LOOK_LIMIT_NS,
        .doing = "decoding",
        .growing_fd = -1,
    };

    vrt_message_init(&message, VRT_MESSAGE_READER_TRY);
    message.body.reader_try.codec = (int32_t)codec;
    message.body.reader_try.hwdec = (int32_t)hwdec;
    return vrt_fold(vrt_child_ask(child, &call, &message, error));
}

int vrt_child_reader_look(struct vrt_child_reader *reader, enum vrt_deinterlace asked,
                          struct vrt_reader_info *ret_info, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    struct vrt_reader_info info;
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(reader_look),
        .limit_ns = LOOK_LIMIT_NS,
        .doing = reader->doing,
        .asked = give_more,
        .ctx = reader,
        .growing_fd = -1,
    };

    if (!message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    message->kind = VRT_MESSAGE_READER_LOOK;
    message->body.reader_look.deinterlace = (int32_t)asked;
    reader->fed_bytes_max = LOOK_BYTES_MAX;
    int r = vrt_child_ask(reader->child, &call, message, error);
    if (r < 0)
        return vrt_fold(r);
    if (vrt_wire_take_info(&message->body.info, &info) < 0 || info.n_frames ||
        !vrt_frame_format_same_planes(&info.format, &reader->info.format))
        return vrt_child_distrust(reader->child, reader->doing, error);
    *ret_info = info;
    return 0;
}

/* What is known at the end; what was known before stays. */
static bool take_end(struct vrt_child_reader *reader, const struct vrt_message *message)
{
    struct vrt_reader_info info;

    if (vrt_wire_take_info(&message->body.info, &info) < 0 ||
        info.n_frames != reader->info.n_frames ||
        !vrt_frame_format_same_planes(&info.format, &reader->info.format) ||
        info.time_base.num != reader->info.time_base.num ||
        info.time_base.den != reader->info.time_base.den)
        return false;
    reader->info = info;
    return true;
}

/* Whether what is told of a frame can be, of the next one. */
static bool is_next(const struct vrt_child_reader *reader, const struct vrt_message *message)
{
    const struct vrt_message_frame *told = &message->body.reader_next.frame;
    const struct vrt_reader_info *info = &reader->info;

    return told->index == info->n_frames && told->pts >= -VRT_WIRE_NUMBER_MAX &&
           told->pts <= VRT_WIRE_NUMBER_MAX && told->pts > reader->last_pts &&
           told->duration >= 0 && told->duration <= VRT_WIRE_NUMBER_MAX &&
           told->concealed >= 0 && told->concealed <= 1 &&
           vrt_frame_extra_is_valid(&told->extra) &&
           message->body.reader_next.n_frames == info->n_frames + 1 &&
           message->body.reader_next.n_concealed >= info->n_concealed &&
           message->body.reader_next.n_concealed <= info->n_frames + 1 &&
           message->body.reader_next.n_decoded >= info->n_decoded &&
           message->body.reader_next.n_decoded <= VRT_WIRE_NUMBER_MAX;
}

/* The frame as it is now. Return: 0; -EBADMSG: it is nowhere; -errno. */
static int take_frame(struct vrt_child_reader *reader, const struct vrt_message *message,
                      struct vrt_frame **ret_frame)
{
    const struct vrt_message_frame *told = &message->body.reader_next.frame;
    struct vrt_frame *frame;
    int r = vrt_frame_pool_get(reader->pool, &frame);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_frame_take_samples(reader->place, message->body.reader_next.planes, frame);
    if (r < 0) {
        vrt_frame_unref(frame);
        return vrt_fold(r);
    }
    frame->pts = reader->last_pts = told->pts;
    frame->duration = told->duration;
    frame->index = told->index;
    frame->concealed = told->concealed;
    frame->extra = told->extra;
    reader->info.n_frames++;
    reader->info.n_concealed = message->body.reader_next.n_concealed;
    reader->info.n_decoded = message->body.reader_next.n_decoded;
    reader->info.can_go_on = message->body.reader_next.can_go_on;
    *ret_frame = frame;
    return 0;
}

int vrt_child_reader_next(struct vrt_child_reader *reader, struct vrt_frame **ret_frame,
                          struct vrt_error *error)
{
    struct vrt_message message;
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(reader_next),
        .fds = { 1, { reader->place->share.fd } },
        .limit_ns = reader->limit_ns,
        .outcome_max = VRT_READER_LOST,
        .doing = reader->doing,
        .asked = give_more,
        .ctx = reader,
        .growing_fd = -1,
    };

    vrt_message_init(&message, VRT_MESSAGE_READER_NEXT);
    reader->limit_ns = SILENCE_NS;
    int r = vrt_child_ask(reader->child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    if (r == VRT_READER_LOST && reader->is_late)
        return r;
    if (r == VRT_READER_END && take_end(reader, &message))
        return r;
    if (r != 0 || !is_next(reader, &message))
        return vrt_child_distrust(reader->child, reader->doing, error);
    r = take_frame(reader, &message, ret_frame);
    if (r == -EBADMSG)
        return vrt_child_distrust(reader->child, reader->doing, error);
    return r < 0 ? vrt_refuse_errno(error, r, "the input") : 0;
}

const struct vrt_reader_info *vrt_child_reader_info(const struct vrt_child_reader *reader)
{
    return &reader->info;
}

struct vrt_child_reader *vrt_child_reader_close(struct vrt_child_reader *reader)
{
    if (!reader)
        return NULL;
    vrt_frame_unref(reader->place);
    vrt_frame_pool_free(reader->pool);
    free(reader);
    return NULL;
}
