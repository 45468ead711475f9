/* SPDX-License-Identifier: MIT */

/* Of pictures the first tells what all are like, as the first frame of a video does. */

#include "workers/media/files/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "workers/media/files/pipe.h"

/* Where nobody says how many pictures a second has: only networks without time may see them so, and
 * no file of pictures tells. */
#define FPS_DEFAULT 25

/* How long pictures are looked at before a job of theirs is admitted. */
#define LOOK_NS (3 * VRT_NS_PER_S)

#define SHOWN_BYTES 128             /* that a sentence shows of a name */

struct vrt_input {
    struct vrt_child *child;
    struct vrt_child_reader *reader;    /* of the video, or of one picture; NULL: of none */
    struct vrt_pipe pipe;               /* that the video comes by, if it does */
    struct vrt_feed feed;

    /* Of pictures. */
    const struct vrt_files *files;
    struct vrt_reader_params params;
    struct vrt_reader_info info;        /* of all; where it is a video the reader has it */
    size_t next;                        /* picture to be given out */
    struct vrt_frame *last;             /* the one before it */
};

struct vrt_rational vrt_input_fps(double fps)
{
    const double whole = round(fps * 1.001);

    if (isnan(fps))
        return (struct vrt_rational){ 0, 1 };
    /* 23.976, 29.97 and so on, as television has it; others to the thousandth. */
    if (fabs(fps - round(fps)) > 1e-6 && fabs(fps - whole / 1.001) < 0.005)
        return (struct vrt_rational){ (int)whole * 1000, 1001 };
    if (fabs(fps - round(fps)) < 1e-6)
        return (struct vrt_rational){ (int)round(fps), 1 };
    return (struct vrt_rational){ (int)round(fps * 1000), 1000 };
}

static const char *name_of(const struct vrt_input *input, size_t k, char shown[SHOWN_BYTES])
{
    return vrt_printable(input->files->sequence.names[k], shown, SHOWN_BYTES);
}

/* Opens picture input->next. */
static int open_picture(struct vrt_input *input, struct vrt_error *error)
{
    const struct vrt_files *files = input->files;
    const char *name = files->sequence.names[input->next];
    struct vrt_reader_params params = input->params;
    char shown[SHOWN_BYTES];

    VRT_CLEANUP(vrt_closep) int fd = vrt_files_open_picture(files, input->next, error);
    if (fd < 0)
        return vrt_fold(fd);
    params.name = name;
    params.n_threads = 1;
    input->reader = vrt_child_reader_close(input->reader);
    int r = vrt_child_reader_open(input->child, fd, &params, &input->reader, error);
    if (r < 0 || vrt_child_reader_info(input->reader)->is_still)
        return vrt_fold(r);
    return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.unsupported",
                      "%s is a video, whatever its name says: restore it by itself",
                      name_of(input, input->next, shown));
}

/* What the first picture says, said of all. */
static void fill_info(struct vrt_input *input, struct vrt_rational fps)
{
    const int64_t n = (int64_t)input->files->sequence.n;
    struct vrt_reader_info *info = &input->info;

    if (fps.num <= 0)
        fps = (struct vrt_rational){ FPS_DEFAULT, 1 };
    *info = *vrt_child_reader_info(input->reader);
    info->is_still = false;
    info->fps = fps;
    info->time_base = (struct vrt_rational){ fps.den, fps.num };
    info->variable_rate = false;
    info->n_frames_estimate = n;
    info->is_by_duration = false;
    info->duration_ns = (int64_t)((double)n * fps.den / fps.num * VRT_NS_PER_S);
    info->n_frames = 0;
    vrt_sequence_warn(&input->files->sequence, &info->warnings);
}

int vrt_input_open(const struct vrt_input_params *params, struct vrt_input **ret_input,
                   struct vrt_error *error)
{
    VRT_CLEANUP(vrt_input_closep) struct vrt_input *input = calloc(1, sizeof(*input));
    int r;

    if (!input)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    input->child = params->child;
    input->params = params->reader;
    if (params->files->is_sequence) {
        input->files = params->files;
        input->params.first = 0;    /* each picture is read by itself */
    }
    input->pipe = (struct vrt_pipe){ params->files->pipe_fd, params->files->input_fd,
                                     params->is_last, NULL };
    input->feed = (struct vrt_feed){ vrt_pipe_more, &input->pipe };
    if (params->files->is_piped)
        input->params.feed = &input->feed;
    r = input->files ? open_picture(input, error) :
        vrt_child_reader_open(params->child, params->files->input_fd, &input->params,
                              &input->reader, error);
    if (r < 0)
        return vrt_fold(r);
    if (input->files)
        fill_info(input, params->fps);
    if (input->files && params->reader.first > 0)
        input->next = (size_t)VRT_MIN(params->reader.first, input->info.n_frames_estimate);
    *ret_input = VRT_STEAL(input);
    return 0;
}

static int check_alike(const struct vrt_input *input, struct vrt_error *error)
{
    const struct vrt_frame_format *is = &vrt_child_reader_info(input->reader)->format;
    const struct vrt_frame_format *was = &input->info.format;
    char shown[2][SHOWN_BYTES], text[2][80];

    if (vrt_frame_format_same_planes(is, was))
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.changed",
                      "%s is %s, and %s, the first, is %s: pictures of a folder must be alike, "
                      "restore those that aren't by themselves",
                      name_of(input, input->next, shown[0]),
                      vrt_frame_format_describe(is, text[0], sizeof(text[0])),
                      name_of(input, 0, shown[1]),
                      vrt_frame_format_describe(was, text[1], sizeof(text[1])));
}

/* Picture input->next, decoded. Return: 0; -EBADMSG: it is damaged; -errno. */
static int decode_picture(struct vrt_input *input, struct vrt_frame **ret_frame,
                          struct vrt_error *error)
{
    char shown[SHOWN_BYTES];
    int r = input->next > 0 ? open_picture(input, error) : 0;

    if (r < 0)
        return vrt_fold(r);
    r = check_alike(input, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_warnings_merge(&input->info.warnings, &vrt_child_reader_info(input->reader)->warnings);
    r = vrt_child_reader_next(input->reader, ret_frame, error);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged", "%s holds no picture",
                          name_of(input, input->next, shown));
    return vrt_fold(r);
}

/* In the place of a picture that is damaged: what the one before it shows. */
static int conceal(struct vrt_input *input, struct vrt_frame **ret_frame, struct vrt_error *error)
{
    struct vrt_warnings *warnings = &input->info.warnings;
    char shown[SHOWN_BYTES];
    int r = vrt_frame_new(&input->info.format, ret_frame);

    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the input");
    vrt_frame_copy_samples(input->last, *ret_frame);
    (*ret_frame)->concealed = true;
    if (warnings->n < VRT_WARNINGS_MAX / 2)
        vrt_warnings_add(warnings, "%s is damaged: the picture before it stands in its place",
                         name_of(input, input->next, shown));
    *error = (struct vrt_error){ .id = NULL };
    return 0;
}

static int next_picture(struct vrt_input *input, struct vrt_frame **ret_frame,
                        struct vrt_error *error)
{
    struct vrt_reader_info *info = &input->info;
    struct vrt_frame *frame;

    if (input->next == input->files->sequence.n)
        return VRT_READER_END;
    int r = decode_picture(input, &frame, error);
    /* It would have been concealed by the one before it. */
    if (r == -EBADMSG && !input->last && input->next > 0 && !input->params.strict)
        return VRT_READER_LOST;
    if (r == -EBADMSG && input->last && !input->params.strict)
        r = conceal(input, &frame, error);
    if (r < 0)
        return vrt_fold(r);
    frame->index = frame->pts = (int64_t)input->next++;
    frame->duration = 1;
    if (frame->concealed && info->n_concealed < VRT_READER_MAX_CONCEALED)
        info->concealed[info->n_concealed] = frame->index;
    info->n_concealed += frame->concealed;
    info->n_frames = frame->index + 1;
    info->n_decoded++;
    info->can_go_on = !info->n_concealed && !info->warnings.n;
    vrt_frame_unref(input->last);
    input->last = vrt_frame_ref(frame);
    *ret_frame = frame;
    return 0;
}

int vrt_input_next(struct vrt_input *input, struct vrt_frame **ret_frame, struct vrt_error *error)
{
    if (input->files)
        return vrt_fold(next_picture(input, ret_frame, error));
    return vrt_fold(vrt_child_reader_next(input->reader, ret_frame, error));
}

/* Whether picture input->next would do. */
static int look_at_picture(struct vrt_input *input, struct vrt_error *error)
{
    int r = open_picture(input, error);

    if (r == -EBADMSG && !input->params.strict) {
        *error = (struct vrt_error){ .id = NULL };
        return 0;
    }
    return r < 0 ? vrt_fold(r) : vrt_fold(check_alike(input, error));
}

/* The first was opened. Each other one has its turn once: the middle, the quarters, and so on, so
 * that they are from everywhere when time is up. */
static int look_at_pictures(struct vrt_input *input, struct vrt_error *error)
{
    const size_t n = input->files->sequence.n;
    const int64_t end_ns = vrt_clock_now_ns() + LOOK_NS;
    size_t step = 1;

    while (step < n)
        step *= 2;
    for (; step > 0; step /= 2) {
        for (input->next = step; input->next < n; input->next += 2 * step) {
            int r = vrt_clock_now_ns() < end_ns ? look_at_picture(input, error) : 0;
            if (r < 0)
                return vrt_fold(r);
        }
    }
    return 0;
}

int vrt_input_look(struct vrt_input *input, enum vrt_deinterlace asked,
                   struct vrt_reader_info *info, struct vrt_error *error)
{
    if (!input->files)
        return vrt_fold(vrt_child_reader_look(input->reader, asked, info, error));
    if (asked != VRT_DEINTERLACE_AUTO && asked != VRT_DEINTERLACE_OFF)
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unsupported",
                          "pictures of a folder aren't deinterlaced: make a video of them first");
    return vrt_fold(look_at_pictures(input, error));
}

const struct vrt_reader_info *vrt_input_info(const struct vrt_input *input)
{
    return input->files ? &input->info : vrt_child_reader_info(input->reader);
}

struct vrt_input *vrt_input_close(struct vrt_input *input)
{
    if (!input)
        return NULL;
    vrt_child_reader_close(input->reader);
    vrt_frame_unref(input->last);
    vrt_pipe_done(&input->pipe);
    free(input);
    return NULL;
}
