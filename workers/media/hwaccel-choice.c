/* SPDX-License-Identifier: MIT */

#include "workers/media/hwaccel-choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "frames/process/child-encoder.h"

/* How much of the input is decoded twice: frames that refer to one another, in all their kinds. */
#define TRIED_FRAMES 12
#define TRIED_NS (30 * VRT_NS_PER_S)

/* Has the hardware encode a frame, as the result will be. Return: 0; -errno with a sentence. */
static int try_hwaccel(const struct vrt_job_check *check, enum vrt_hwaccel hwaccel,
                       struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_encoder_params encoder = check->encoder;
    int r = vrt_child_new_for(hwaccel, check->cancel, &child, error);

    if (r != 0)
        return vrt_fold(r);
    encoder.hwaccel = hwaccel;
    return vrt_fold(vrt_child_encoder_try(child, &encoder, error));
}

/* Whether `asked` is, or may be, the hardware `hwaccel`, which has an encoder for the codec. */
static bool may_be(enum vrt_hwaccel asked, enum vrt_hwaccel hwaccel, enum vrt_codec codec)
{
    return (asked == hwaccel || asked == VRT_HWACCEL_AUTO) && vrt_hwaccel_encoder(hwaccel, codec);
}

/* Adds it to those before. Whole ones, as far as there is room, but the first in any case. */
static void add_reason(const char *why, char *reasons, size_t size)
{
    const size_t n = strlen(reasons);
    const int room = VRT_MAX((int)size - (int)(n + sizeof("; ")), 0);

    if (n == 0 || strlen(why) <= (size_t)room)
        snprintf(reasons + n, size - n, "%s%.*s", n ? "; " : "", room, why);
}

/* Return: 0; -ECANCELED, or -errno where the job goes on, with a sentence. */
static int choose_encoder(struct vrt_job_check *check, struct vrt_error *error)
{
    const enum vrt_hwaccel asked = (enum vrt_hwaccel)VRT_MAX(check->settings->hwaccel,
                                                             VRT_HWACCEL_OFF);
    const char *title = vrt_codec_facts(check->encoder.codec)->title;
    char reasons[200] = "";

    for (int i = VRT_HWACCEL_AUTO + 1; asked != VRT_HWACCEL_OFF && i < VRT_HWACCEL_COUNT; i++) {
        const enum vrt_hwaccel hwaccel = (enum vrt_hwaccel)i;
        struct vrt_error why = { .id = NULL };
        if (!may_be(asked, hwaccel, check->encoder.codec))
            continue;
        int r = try_hwaccel(check, hwaccel, &why);
        if (r == 0) {
            check->encoder.hwaccel = hwaccel;
            return 0;
        }
        if (r == -ECANCELED || check->has_recipe)
            return vrt_refuse(error, vrt_fold(r), why.id, "%.380s%s", why.message,
                              r == -ECANCELED ? "" : ": the job was begun with that, and goes on "
                              "once it works again (vrtctl retry), or has to be submitted anew");
        add_reason(why.message, reasons, sizeof(reasons));
    }
    if (reasons[0])
        vrt_warnings_add(&check->warnings, "%s, so software encodes: %s",
                         asked == VRT_HWACCEL_AUTO ? "no hardware encodes this"
                                                   : "that hardware doesn't encode this", reasons);
    else if (asked != VRT_HWACCEL_OFF)
        vrt_warnings_add(&check->warnings, "no hardware of that kind encodes %s: software does",
                         title);
    return 0;
}

static bool is_same_plane(const struct vrt_plane *a, const struct vrt_plane *b, int sample_bytes)
{
    const size_t bytes = (size_t)a->width * (size_t)sample_bytes;

    for (int y = 0; y < a->height; y++)
        if (memcmp(a->data + (size_t)y * a->stride_bytes, b->data + (size_t)y * b->stride_bytes,
                   bytes) != 0)
            return false;
    return true;
}

static bool is_same_extra(const struct vrt_frame_extra *a, const struct vrt_frame_extra *b)
{
    return a->n_captions == b->n_captions && a->n_hdr10plus == b->n_hdr10plus &&
           memcmp(a->captions, b->captions, (size_t)a->n_captions) == 0 &&
           memcmp(a->hdr10plus, b->hdr10plus, (size_t)a->n_hdr10plus) == 0;
}

static bool is_same_frame(const struct vrt_frame *a, const struct vrt_frame *b)
{
    if (a->pts != b->pts || a->duration != b->duration || a->concealed != b->concealed ||
        !is_same_extra(&a->extra, &b->extra))
        return false;
    for (int i = 0; i < vrt_frame_format_n_planes(&a->format); i++)
        if (!is_same_plane(&a->planes[i], &b->planes[i],
                           vrt_frame_format_sample_bytes(&a->format)))
            return false;
    return true;
}

static bool is_same_hdr(const struct vrt_hdr *a, const struct vrt_hdr *b)
{
    return memcmp(&a->display, &b->display, sizeof(a->display)) == 0 &&
           a->max_light == b->max_light && a->average_light == b->average_light;
}

static bool is_same_video(const struct vrt_reader_info *a, const struct vrt_reader_info *b)
{
    const struct vrt_frame_format *is = &a->format, *was = &b->format;

    return vrt_frame_format_same_samples(is, was) && is->primaries == was->primaries &&
           is->transfer == was->transfer && is->color_space == was->color_space &&
           is->sample_aspect.num == was->sample_aspect.num &&
           is->sample_aspect.den == was->sample_aspect.den && is_same_hdr(&is->hdr, &was->hdr) &&
           a->interlaced == b->interlaced && strcmp(a->pixel_format, b->pixel_format) == 0;
}

/* Reads one frame of each. Return: 0; VRT_READER_END: both have ended; -errno with a sentence: the
 * first can't be read, or isn't like the second. */
static int compare_next(struct vrt_child_reader *hardware, struct vrt_child_reader *software,
                        struct vrt_error *error)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *is = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *was = NULL;
    int r = vrt_child_reader_next(hardware, &is, error);

    if (r < 0)
        return vrt_fold(r);
    const int software_r = vrt_child_reader_next(software, &was, error);
    if (software_r < 0)
        return vrt_fold(software_r);
    if (r == software_r && (r != 0 || is_same_frame(is, was)))
        return r;
    return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "its frames are others than "
                      "software's, from frame %lld on",
                      (long long)vrt_child_reader_info(software)->n_frames - 1);
}

/* Has the beginning of the input decoded by both. Return: 0; -errno with a sentence. */
static int try_hwdec(const struct vrt_job_check *check, enum vrt_hwdec hwdec,
                     struct vrt_child *child, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *other = NULL;
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *hardware = NULL;
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *software = NULL;
    struct vrt_reader_params params = {
        .n_threads = 1,
        .streams = check->settings->streams,
        .keeps_extra = true,
        .hwdec = hwdec,
        .name = check->files.input_name,
        .open_deadline_ns = vrt_clock_now_ns() + TRIED_NS,
    };
    int r = vrt_child_new_for(vrt_hwdec_hwaccel(hwdec), check->cancel, &other, error);

    if (r == 0)
        r = vrt_child_reader_open(other, check->files.input_fd, &params, &hardware, error);
    params.hwdec = VRT_HWDEC_OFF;
    if (r == 0)
        r = vrt_child_reader_open(child, check->files.input_fd, &params, &software, error);
    if (r == 0 && !is_same_video(vrt_child_reader_info(hardware), vrt_child_reader_info(software)))
        return vrt_refuse(error, vrt_raise(-ENODEV), "input.codec", "what it says of the video is "
                          "other than what software says");
    for (int i = 0; r == 0 && i < TRIED_FRAMES; i++)
        r = compare_next(hardware, software, error);
    return r < 0 ? vrt_fold(r) : 0;
}

/* Whether hardware may decode the input: its frames are then software's, and can be read again. */
static bool may_decode(const struct vrt_job_check *check)
{
    return vrt_hwdec_is_exact(check->input.codec) && !check->input.is_still &&
           !check->files.is_sequence && !check->files.is_piped && !check->settings->strict;
}

/* Return: 0; -ECANCELED with a sentence. */
static int choose_decoder(struct vrt_job_check *check, struct vrt_child *child,
                          struct vrt_error *error)
{
    const enum vrt_hwdec asked = (enum vrt_hwdec)VRT_MAX(check->settings->hwdec, VRT_HWDEC_OFF);
    char reasons[200] = "";

    check->hwdec = check->has_recipe && asked != VRT_HWDEC_AUTO ? asked : VRT_HWDEC_OFF;
    if (check->has_recipe || !asked || !may_decode(check))
        return 0;
    for (int i = VRT_HWDEC_AUTO + 1; i < VRT_HWDEC_COUNT; i++) {
        struct vrt_error why = { .id = NULL };
        if (asked != VRT_HWDEC_AUTO && asked != (enum vrt_hwdec)i)
            continue;
        int r = try_hwdec(check, (enum vrt_hwdec)i, child, &why);
        if (r == 0) {
            check->hwdec = (enum vrt_hwdec)i;
            return 0;
        }
        if (r == -ECANCELED) {
            *error = why;
            return r;
        }
        add_reason(why.message, reasons, sizeof(reasons));
    }
    vrt_warnings_add(&check->warnings, "%s, so software decodes: %s",
                     asked == VRT_HWDEC_AUTO ? "no hardware decodes this"
                                             : "that hardware doesn't decode this", reasons);
    return 0;
}

int vrt_hwaccel_choose(struct vrt_job_check *check, struct vrt_child *child,
                       struct vrt_error *error)
{
    int r = choose_encoder(check, error);

    return r < 0 ? vrt_fold(r) : vrt_fold(choose_decoder(check, child, error));
}
