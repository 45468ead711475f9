/* SPDX-License-Identifier: MIT */

/* What is asked about segments and the finished file. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/process/child-impl.h"

/* Without a byte more of the file, or a segment asked for, a join hangs. All of it gets as long as
 * a slow disk needs for what there is to read and to write, and so does what only reads. */
#define SILENCE_NS (120 * VRT_NS_PER_S)

/* What a join may write: so many times what it is made of, and some for what containers add. */
#define JOINED_TIMES_MAX 2
#define JOINED_BYTES_MORE (64 << 20)

/* A picture, which is compressed: twice what all of its pixels take. */
#define PICTURE_BYTES_MAX (2LL * 2 * VRT_PAIR_SIDE_MAX * VRT_PAIR_SIDE_MAX * 3)

/* Whoever waits for a picture has the others wait. */
#define PICTURE_NS_MAX (900 * VRT_NS_PER_S)

/* No disk is larger: a file may say so that has nothing but holes. */
#define FILE_BYTES_MAX (INT64_MAX / 1024)

/* An animation is made of pictures by computing, by one thread: as long as that takes for those of
 * a segment, however small their file is. */
#define ANIMATION_NS (1200 * VRT_NS_PER_S)

/* How often a join may ask for each segment: it reads all of them four times at most. */
#define GIVEN_TIMES_MAX 16
#define READ_TIMES_MAX 4

/* What is joined: the segments, and how large that may become. */
struct joining {
    struct vrt_joiner_segments segments;
    int64_t n_asked;
    int64_t n_given;                /* segments 0 to n_given - 1, at least once */
    int64_t allowed_bytes;          /* by who asked; what it is made of may make that less */
    int64_t bytes_max;
    int64_t work_ns;                /* for each segment, besides what the disk takes */
    int64_t deadline_ns;            /* of vrt_clock_now_ns(): for all of it */
    int r_open;                     /* why vrtd could not open a segment; 0: it could */
};

static int64_t size_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? VRT_MIN((int64_t)st.st_size, FILE_BYTES_MAX) : 0;
}

static int64_t reading_ns(int fd)
{
    return SILENCE_NS + vrt_child_transfer_ns(fd);
}

static bool is_number(int64_t number)
{
    return number >= 0 && number <= VRT_WIRE_NUMBER_MAX;
}

int vrt_child_joiner_preview(struct vrt_child *child, const struct vrt_joiner_preview *preview,
                             struct vrt_joiner_rest *ret_rest, struct vrt_warnings *warnings,
                             struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    char doing[VRT_MESSAGE_NAME_BYTES + 16];

    if (!message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    message->kind = VRT_MESSAGE_JOIN_PREVIEW;
    vrt_wire_put_name(preview->input_name, message->body.join.name);
    snprintf(doing, sizeof(doing), "reading %s", message->body.join.name);
    message->body.join.container = (int32_t)preview->container;
    vrt_wire_put_streams(preview->streams, message->body.join.streams);
    message->body.join.span_ns = preview->span_ns;
    if (preview->deadline_ns)
        message->body.join.limit_ns = VRT_MAX(preview->deadline_ns - vrt_clock_now_ns(), 1);
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(join),
        .fds = { 1, { preview->input_fd } },
        .limit_ns = preview->deadline_ns ? message->body.join.limit_ns + VRT_NS_PER_S : SILENCE_NS,
        .doing = doing,
        .growing_fd = -1,
    };
    int r = vrt_child_ask(child, &call, message, error);
    if (r < 0)
        return vrt_fold(r);
    struct vrt_joiner_rest rest = {
        .size_bytes = message->body.previewed.size_bytes,
        .n_packets = message->body.previewed.n_packets,
    };
    if (!is_number(rest.size_bytes) || !is_number(rest.n_packets) ||
        vrt_wire_take_stream_list(&message->body.previewed.streams, &rest.streams) < 0 ||
        vrt_wire_take_warnings(&message->body.previewed.warnings, warnings) < 0)
        return vrt_child_distrust(child, doing, error);
    *ret_rest = rest;
    return 0;
}

/* The joiner wants a segment: the process may have those that there are, one after the other. */
static int give_segment(void *ctx, struct vrt_child *child, const struct vrt_message *question,
                        struct vrt_error *error)
{
    struct joining *joining = ctx;
    const struct vrt_joiner_segments *segments = &joining->segments;
    struct vrt_message answer = { .kind = VRT_MESSAGE_JOIN_SEGMENT };
    const int64_t number = question->body.segment.number;

    if (question->kind != VRT_MESSAGE_JOIN_SEGMENT || number < 0 || number >= segments->n ||
        joining->n_asked++ >= GIVEN_TIMES_MAX * (int64_t)segments->n)
        return vrt_child_distrust(child, "joining the segments", error);
    VRT_CLEANUP(vrt_closep) int fd = segments->open(segments->ctx, (int)number);
    answer.result = VRT_MIN(fd, 0);
    joining->r_open = answer.result;
    if (number >= joining->n_given) {
        joining->bytes_max = VRT_MIN(joining->bytes_max + JOINED_TIMES_MAX * size_of(fd),
                                     joining->allowed_bytes);
        joining->deadline_ns += READ_TIMES_MAX * vrt_child_transfer_ns(fd) + joining->work_ns;
        joining->n_given = number + 1;
        vrt_child_may_write(child, joining->bytes_max);
    }
    int r = vrt_child_answer(child, &answer, VRT_MESSAGE_BYTES(segment),
                             &(struct vrt_message_fds){ fd >= 0, { fd } });
    if (r == -EAGAIN)
        return vrt_child_distrust(child, "joining the segments", error);
    /* That it is gone the next wait finds out. */
    if (r < 0 && r != -EPIPE)
        return vrt_refuse_errno(error, r, "joining the segments");
    return 0;
}

/* Why a join failed with r: what the process says of that, or what vrtd knows better. */
static int refuse_join(const struct joining *joining, const struct vrt_joiner_params *params, int r,
                       const struct vrt_error *said, struct vrt_error *error)
{
    const bool is_bounded = joining->bytes_max == params->size_bytes_max;

    if (r == joining->r_open && (r == -EMFILE || r == -ENFILE))
        return vrt_refuse_errno(error, r, "the output");
    if (is_bounded && (r == -EFBIG || size_of(params->output_fd) >= joining->bytes_max))
        return vrt_refuse(error, vrt_raise(-EDQUOT), "spool.quota", "the finished file takes more "
                          "than the working files of this user may");
    return vrt_refuse(error, r, said->id, "%s", said->message);
}

int vrt_child_joiner_run(struct vrt_child *child, const struct vrt_joiner_params *params,
                         struct vrt_joiner_result *ret_result, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    struct joining joining = {
        .segments = params->segments,
        .allowed_bytes = params->size_bytes_max ? params->size_bytes_max : FILE_BYTES_MAX,
        .work_ns = vrt_container_is_animation(params->container) ? ANIMATION_NS : 0,
        .deadline_ns = vrt_clock_now_ns() + SILENCE_NS +
                       READ_TIMES_MAX * vrt_child_transfer_ns(params->input_fd),
    };
    struct vrt_error said = { .id = NULL };

    if (!message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    joining.bytes_max = VRT_MIN(JOINED_TIMES_MAX * size_of(params->input_fd) + JOINED_BYTES_MORE,
                                joining.allowed_bytes);
    message->kind = VRT_MESSAGE_JOIN;
    vrt_wire_put_name(params->input_name, message->body.join.name);
    message->body.join.container = (int32_t)params->container;
    message->body.join.is_part = params->is_part;
    message->body.join.is_bare = params->is_bare;
    vrt_wire_put_streams(params->streams, message->body.join.streams);
    message->body.join.n_segments = params->segments.n;
    vrt_wire_put_hdr(&params->hdr, &message->body.join.hdr);
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(join),
        .fds = { 2, { params->input_fd, params->output_fd } },
        .limit_ns = SILENCE_NS + joining.work_ns,
        .doing = "joining the segments with what else is in the input",
        .growing_fd = params->output_fd,
        .growing_bytes_max = &joining.bytes_max,
        .growth_is_life = true,
        .deadline_ns = &joining.deadline_ns,
        .asked = give_segment,
        .ctx = &joining,
    };
    int r = vrt_child_ask(child, &call, message, &said);
    if (r < 0)
        return refuse_join(&joining, params, vrt_fold(r), &said, error);
    *ret_result = (struct vrt_joiner_result){
        .n_frames = message->body.joined.n_frames,
        .duration_ns = message->body.joined.duration_ns,
        .late_ns = message->body.joined.late_ns,
        .size_bytes = message->body.joined.size_bytes,
    };
    if (!is_number(ret_result->n_frames) || !is_number(ret_result->duration_ns) ||
        !is_number(ret_result->late_ns) || !is_number(ret_result->size_bytes) ||
        vrt_wire_take_warnings(&message->body.joined.warnings, &ret_result->warnings) < 0)
        return vrt_child_distrust(child, call.doing, error);
    return 0;
}

int vrt_child_joiner_picture(struct vrt_child *child, const struct vrt_joiner_picture *picture,
                             int64_t *ret_size_bytes, struct vrt_warnings *warnings,
                             struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    const bool has_original = picture->original_fd >= 0;
    const int original_fd = has_original ? picture->original_fd : picture->segment_fd;
    const int64_t bytes_max = JOINED_TIMES_MAX * (size_of(picture->segment_fd) +
                                                  size_of(original_fd)) + JOINED_BYTES_MORE;
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(picture),
        .fds = { 3, { picture->segment_fd, original_fd, picture->output_fd } },
        .limit_ns = reading_ns(picture->segment_fd) + reading_ns(original_fd),
        .doing = "writing a picture",
        .growing_fd = picture->output_fd,
        .growing_bytes_max = &bytes_max,
    };

    if (!message)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    message->kind = VRT_MESSAGE_JOIN_PICTURE;
    vrt_wire_put_name(picture->original_name, message->body.picture.name);
    message->body.picture.index = picture->index;
    message->body.picture.container = (int32_t)picture->container;
    message->body.picture.has_original = has_original;
    int r = vrt_child_ask(child, &call, message, error);
    if (r < 0)
        return vrt_fold(r);
    /* It may have kept the descriptor: from here on nothing grows. */
    vrt_child_may_write(child, 0);
    if (message->body.joined.size_bytes <= 0 ||
        message->body.joined.size_bytes != size_of(picture->output_fd) ||
        vrt_wire_take_warnings(&message->body.joined.warnings, warnings) < 0)
        return vrt_child_distrust(child, call.doing, error);
    *ret_size_bytes = message->body.joined.size_bytes;
    return 0;
}

int vrt_child_joiner_check_segment(struct vrt_child *child, int fd, int number,
                                   enum vrt_joiner_check check, int64_t *ret_n_frames,
                                   struct vrt_error *error)
{
    struct vrt_message message;
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(segment),
        .fds = { 1, { fd } },
        .limit_ns = reading_ns(fd),
        .doing = "reading a segment",
        .growing_fd = -1,
    };

    vrt_message_init(&message, VRT_MESSAGE_SEGMENT_CHECK);
    message.body.segment.number = number;
    message.body.segment.check = (int32_t)check;
    int r = vrt_child_ask(child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    if (!is_number(message.body.segment.number))
        return vrt_child_distrust(child, call.doing, error);
    *ret_n_frames = message.body.segment.number;
    return 0;
}

int vrt_child_joiner_verify(struct vrt_child *child, int output_fd,
                            const struct vrt_joiner_expected *expected, struct vrt_error *error)
{
    struct vrt_message message;
    const int64_t bytes_max = size_of(output_fd);
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(join),
        .fds = { 1, { output_fd } },
        .limit_ns = reading_ns(output_fd),
        .doing = "reading the finished file again",
        /* It was written by the same process, which is done with it. */
        .growing_fd = output_fd,
        .growing_bytes_max = &bytes_max,
    };

    vrt_message_init(&message, VRT_MESSAGE_JOIN_VERIFY);
    message.body.join.n_frames = expected->n_frames;
    message.body.join.span_ns = expected->span_ns;
    return vrt_fold(vrt_child_ask(child, &call, &message, error));
}

int vrt_child_preview(struct vrt_child *child, struct vrt_preview *preview,
                      struct vrt_error *error)
{
    struct vrt_message message;
    const int64_t reads_ns = reading_ns(preview->before_fd) + reading_ns(preview->after_fd);
    const int64_t bytes_max = VRT_MAX(size_of(preview->picture_fd), PICTURE_BYTES_MAX);
    const struct vrt_child_call call = {
        .size = VRT_MESSAGE_BYTES(preview),
        .fds = { 3, { preview->before_fd, preview->after_fd, preview->picture_fd } },
        .limit_ns = VRT_MIN(reads_ns, PICTURE_NS_MAX),
        .doing = "making a picture",
        .growing_fd = preview->picture_fd,
        .growing_bytes_max = &bytes_max,
    };

    vrt_message_init(&message, VRT_MESSAGE_PREVIEW);
    vrt_wire_put_name(preview->before_name, message.body.preview.before);
    vrt_wire_put_name(preview->after_name, message.body.preview.after);
    vrt_wire_put_streams(preview->before_streams, message.body.preview.streams);
    message.body.preview.start_ns = preview->start_ns;
    message.body.preview.time_ns = preview->time_ns;
    int r = vrt_child_ask(child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_pair_size size = { message.body.preview.width, message.body.preview.height };
    if (size.width <= 0 || size.width > 2 * VRT_PAIR_SIDE_MAX + 64 || size.height <= 0 ||
        size.height > VRT_PAIR_SIDE_MAX ||
        llabs(message.body.preview.shown_ns) > VRT_WIRE_NUMBER_MAX)
        return vrt_child_distrust(child, call.doing, error);
    preview->size = size;
    preview->shown_ns = message.body.preview.shown_ns;
    return 0;
}
