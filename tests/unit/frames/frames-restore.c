/* SPDX-License-Identifier: MIT */

#include "tests/unit/frames/frames-restore.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define MAX_SEGMENTS 64

struct restoration {
    const struct restore_params *params;
    enum vrt_container container;
    struct restore_result *result;
    struct vrt_reader *reader;
    struct vrt_encoder_params encoder_params;
    struct vrt_encoder *encoder;
    int segment_fds[MAX_SEGMENTS], n_segments;
    int input_fd, output_fd;
    int64_t span_ns;                /* of the frames that were read, first to last */
};

/* An unnamed file: it goes with its descriptor. */
static int temporary_file(void)
{
    char path[200];

    snprintf(path, sizeof(path), "%s", fixture_path("segment-XXXXXX"));
    int fd = mkstemp(path);
    expect_true(fd >= 0);
    unlink(path);
    return fd;
}

static int start_segment(struct restoration *s, struct vrt_error *error)
{
    expect_true(s->n_segments < MAX_SEGMENTS);
    s->segment_fds[s->n_segments] = temporary_file();
    return vrt_encoder_new(&s->encoder_params, s->segment_fds[s->n_segments++], &s->encoder,
                           error);
}

static int end_segment(struct restoration *s, struct vrt_error *error)
{
    int64_t size_bytes = 0;
    int r = vrt_encoder_finish(s->encoder, &size_bytes, error);

    s->encoder = vrt_encoder_free(s->encoder);
    return r;
}

static int encode_all(struct restoration *s, struct vrt_error *error)
{
    struct vrt_frame *frame = NULL;
    int n = s->params->segment_frames, r;
    int64_t first_pts = 0;

    while ((r = vrt_reader_next(s->reader, &frame, error)) == 0) {
        const struct vrt_rational *tick = &vrt_reader_info(s->reader)->time_base;
        if (frame->index == 0)
            first_pts = frame->pts;
        s->span_ns = llround((double)(frame->pts - first_pts) * tick->num / tick->den * 1e9);
        r = s->encoder ? 0 : start_segment(s, error);
        if (r == 0)
            r = vrt_encoder_send(s->encoder, frame, error);
        if (r == 0 && n && (frame->index + 1) % n == 0)
            r = end_segment(s, error);
        frame = vrt_frame_unref(frame);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    return s->encoder ? end_segment(s, error) : 0;
}

static int open_segment(void *ctx, int number)
{
    const struct restoration *s = ctx;

    return fcntl(s->segment_fds[number], F_DUPFD_CLOEXEC, 0);
}

static int join(struct restoration *s, const char *out, struct vrt_error *error)
{
    const struct vrt_joiner_params params = {
        .segments = { .open = open_segment, .ctx = s, .n = s->n_segments },
        .input_fd = s->input_fd,
        .input_name = "clip",
        .output_fd = s->output_fd,
        .container = s->container,
        .is_part = s->params->range.start_ns || s->params->range.duration_ns,
    };

    int r = vrt_joiner_run(&params, &s->result->joined, error);
    if (r < 0)
        return r;
    expect_int(s->result->joined.n_frames, vrt_reader_info(s->reader)->n_frames);
    expect_int(s->result->joined.size_bytes, fixture_size(out));
    const struct vrt_joiner_expected expected = {
        .n_frames = s->result->joined.n_frames,
        .span_ns = s->span_ns + s->result->joined.late_ns,
    };
    return vrt_joiner_verify(s->output_fd, &expected, NULL, error);
}

static int run(struct restoration *s, const char *in, const char *out, struct vrt_error *error)
{
    const struct restore_params *params = s->params;
    const struct vrt_reader_params reader_params = { .n_threads = 2, .strict = params->strict,
                                                     .range = params->range, .name = "clip" };

    s->input_fd = fixture_open(in);
    s->output_fd = open(out, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    expect_true(s->output_fd >= 0);
    int r = vrt_container_from_name(out, &s->container, error);
    if (r == 0)
        r = vrt_container_check_codec(s->container, params->codec, error);
    if (r == 0)
        r = vrt_reader_open(s->input_fd, &reader_params, &s->reader, error);
    if (r < 0)
        return r;
    s->result->info = *vrt_reader_info(s->reader);
    const struct vrt_frame_format *format = &s->result->info.format;
    const struct vrt_encoder_pick pick = { params->codec, format, format->width, format->height };
    s->encoder_params = (struct vrt_encoder_params){
        .codec = params->codec,
        .quality = params->quality,
        .bitrate = params->bitrate,
        .preset = "ultrafast",
        .n_threads = params->n_threads ? params->n_threads : 2,
        .time_base = s->result->info.time_base,
        .fps = s->result->info.fps,
    };
    r = vrt_encoder_pick_format(&pick, &s->encoder_params.format, &s->result->warnings, error);
    s->result->format = s->encoder_params.format;
    if (r == 0)
        r = encode_all(s, error);
    s->result->info = *vrt_reader_info(s->reader);
    return r < 0 ? r : join(s, out, error);
}

int restore(const char *in, const char *out, const struct restore_params *params,
            struct restore_result *ret_result, struct vrt_error *error)
{
    struct restoration s = { .params = params, .result = ret_result };

    *ret_result = (struct restore_result){ 0 };
    int r = run(&s, in, out, error);
    vrt_encoder_free(s.encoder);
    vrt_reader_close(s.reader);
    for (int i = 0; i < s.n_segments; i++)
        close(s.segment_fds[i]);
    close(s.input_fd);
    close(s.output_fd);
    return r;
}

void restore_ok(const char *in, const char *out, const struct restore_params *params,
                struct restore_result *ret_result)
{
    struct vrt_error error = { 0 };

    if (restore(in, out, params, ret_result, &error) != 0)
        test_fail("%s to %s: %s", in, out, error.message);
}

int fixture_read(int fd, const struct vrt_reader_params *params,
                 struct fixture_reading *ret_reading)
{
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
    struct vrt_frame *frame = NULL;

    *ret_reading = (struct fixture_reading){ .n = 0 };
    int r = vrt_reader_open(fd, params, &reader, &ret_reading->error);
    while (r == 0 && (r = vrt_reader_next(reader, &frame, &ret_reading->error)) == 0) {
        const int n = ret_reading->n++;
        expect_true(n < FIXTURE_FRAMES_MAX);
        expect_int(frame->index, params->first + n);
        ret_reading->hashes[n] = fixture_hash(frame);
        ret_reading->pts[n] = frame->pts;
        ret_reading->durations[n] = frame->duration;
        ret_reading->can_go_on[n] = vrt_reader_info(reader)->can_go_on;
        frame = vrt_frame_unref(frame);
    }
    if (reader)
        ret_reading->info = *vrt_reader_info(reader);
    return r;
}
