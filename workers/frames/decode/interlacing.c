/* SPDX-License-Identifier: MIT */

/*
 * Frames are woven anew: the lines of one field from a frame, those of the other from the frame
 * before. Where something moves, a line then stands out from its neighbours, the more, the more
 * time lies between the two fields. Of a whole frame no weave is as smooth as the frame itself; of
 * an interlaced one the weave of the neighbouring fields is, and the other is far rougher.
 *
 * FFmpeg's idet compares the two weaves alone, and takes drawn pictures with hard edges, all of
 * them whole, for interlaced ones. Where nothing moves nobody can tell, and flags count; where it
 * can be told, that is believed against them.
 */

#include "frames/decode/interlacing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frames/filter/deinterlacer.h"
#include "frames/decode/reader-info.h"

#define LOOK_FRAMES 100
#define LOOK_NS (3 * VRT_NS_PER_S)

/* Nothing with more or fewer lines was broadcast in fields. */
#define LINES_MIN 240
#define LINES_MAX 1152

/* Samples of a line that are looked at. */
#define COLUMNS 360

/* Of 256: what changes by more moves. So much of a frame must. */
#define MOVES 8
#define MOVING_MIN 0.001

/* The rougher of two weaves is so many times as rough as the smoother, at least. */
#define ROUGHER 1.25

/* Of a film of 24000/1001 frames a second, that is. */
#define FPS_TELECINED (30000.0 / 1001)

/* So many that all tell the same are as good as a hundred: Full HD takes long to decode. */
#define UNANIMOUS 24

/* So many frames tell enough. Of those that do more than half are combed where a video is taken to
 * be interlaced that doesn't say so, and hardly any where one is taken to be whole that says it
 * isn't. */
#define TELLING_MIN 12
#define WHOLE_SHARE 20

/* Of fields that show which comes first, so many times as many show it. */
#define ORDER_TIMES 4

struct findings {
    int n_frames, n_flagged, n_flagged_top;
    int n_top, n_bottom, n_whole;   /* combed with the top field first, the other, not at all */
};

/* How rough a frame is where something moves, and what is woven of it and the one before. */
struct roughness {
    double own, old_top, old_bottom;    /* the latter two: that field is the earlier frame's */
    double moving;                      /* the share of the frame */
};

static int sample(const struct vrt_frame *frame, int x, int y)
{
    const uint8_t *row = frame->planes[0].data + (size_t)y * frame->planes[0].stride_bytes;

    return frame->format.depth > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

/* Around line `y` of column `x`, of the frame `is` and the one before it. */
static void measure_at(const struct vrt_frame *was, const struct vrt_frame *is, int x, int y,
                       struct roughness *roughness)
{
    const int threshold = MOVES << (is->format.depth - 8);
    int old[3], new[3];
    bool moves = false;

    for (int i = 0; i < 3; i++) {
        old[i] = sample(was, x, y - 1 + i);
        new[i] = sample(is, x, y - 1 + i);
        moves |= abs(old[i] - new[i]) > threshold;
    }
    if (!moves)
        return;
    int old_line = abs(new[0] + new[2] - 2 * old[1]), new_line = abs(old[0] + old[2] - 2 * new[1]);
    bool is_top = y % 2 == 0;
    roughness->moving += 1;
    roughness->own += abs(new[0] + new[2] - 2 * new[1]);
    roughness->old_top += is_top ? old_line : new_line;
    roughness->old_bottom += is_top ? new_line : old_line;
}

static struct roughness measure(const struct vrt_frame *was, const struct vrt_frame *is)
{
    const struct vrt_plane *plane = &is->planes[0];
    const int step = VRT_MAX(plane->width / COLUMNS, 1);
    struct roughness roughness = { 0 };

    for (int y = 1; y + 1 < plane->height; y++)
        for (int x = 0; x < plane->width; x += step)
            measure_at(was, is, x, y, &roughness);
    roughness.moving *= (double)step / ((double)plane->width * plane->height);
    return roughness;
}

/* What the frame tells, beside the one before it. */
static void judge(const struct vrt_frame *was, const struct vrt_frame *is,
                  struct findings *findings)
{
    const struct roughness rough = measure(was, is);
    double smoother = VRT_MIN(rough.old_top, rough.old_bottom);
    double rougher = VRT_MAX(rough.old_top, rough.old_bottom);

    if (rough.moving < MOVING_MIN)
        return;
    /* The old top field is the furthest from the new bottom one if it came first. */
    if (rougher > ROUGHER * smoother && smoother < ROUGHER * rough.own)
        *(rough.old_top > rough.old_bottom ? &findings->n_top : &findings->n_bottom) += 1;
    else if (smoother > ROUGHER * rough.own)
        findings->n_whole++;
}

/* Whether enough frames have told, all of them the same. */
static bool is_clear(const struct findings *findings)
{
    const int counts[] = { findings->n_top, findings->n_bottom, findings->n_whole };
    int most = 0, n = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(counts); i++) {
        most = VRT_MAX(most, counts[i]);
        n += counts[i];
    }
    return n == most && n >= UNANIMOUS;
}

/* What is wrong with a frame is the job's affair: the look ends there. Return: 0; -errno. */
static int look(struct vrt_reader *reader, struct findings *findings)
{
    const int n_lines = vrt_reader_info(reader)->format.height;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *was = NULL;

    if (n_lines < LINES_MIN || n_lines > LINES_MAX)
        return 0;
    vrt_reader_set_deadline(reader, vrt_clock_now_ns() + LOOK_NS);
    while (findings->n_frames < LOOK_FRAMES && !is_clear(findings)) {
        struct vrt_frame *is = NULL;
        int r = vrt_reader_next(reader, &is, NULL);
        if (r == -ENOMEM || r == -ECANCELED)
            return vrt_fold(r);
        if (r != 0)
            return 0;
        findings->n_frames++;
        findings->n_flagged += is->interlaced;
        findings->n_flagged_top += is->interlaced && is->top_first;
        if (was)
            judge(was, is, findings);
        vrt_frame_unref(was);
        was = is;
    }
    return 0;
}

static bool is_flagged(const struct vrt_reader_info *info, const struct findings *findings)
{
    return info->interlaced || 2 * findings->n_flagged > findings->n_frames;
}

static bool is_combed(const struct findings *findings)
{
    int n = findings->n_top + findings->n_bottom;

    return n + findings->n_whole >= TELLING_MIN && n > findings->n_whole;
}

static bool is_whole(const struct findings *findings)
{
    return findings->n_whole >= TELLING_MIN &&
           (findings->n_top + findings->n_bottom) * WHOLE_SHARE < findings->n_whole;
}

/* Which field is first, as frames show it; FLAGGED: they don't. */
static enum vrt_field_order seen_order(const struct findings *findings)
{
    if (findings->n_top >= TELLING_MIN && findings->n_top >= ORDER_TIMES * findings->n_bottom)
        return VRT_FIELD_ORDER_TOP;
    if (findings->n_bottom >= TELLING_MIN && findings->n_bottom >= ORDER_TIMES * findings->n_top)
        return VRT_FIELD_ORDER_BOTTOM;
    return VRT_FIELD_ORDER_FLAGGED;
}

static enum vrt_field_order choose_order(struct vrt_reader_info *info,
                                         const struct findings *findings)
{
    const enum vrt_field_order seen = seen_order(findings);
    const enum vrt_field_order flagged = 2 * findings->n_flagged_top >= findings->n_flagged ?
                                         VRT_FIELD_ORDER_TOP : VRT_FIELD_ORDER_BOTTOM;

    if (!is_flagged(info, findings) || seen == VRT_FIELD_ORDER_FLAGGED)
        return seen;
    if (seen == flagged)
        return VRT_FIELD_ORDER_FLAGGED;
    vrt_warnings_add(&info->warnings, "the video says that its %s fields come first, but what "
                     "moves in it says the contrary, and is believed",
                     flagged == VRT_FIELD_ORDER_TOP ? "top" : "bottom");
    return seen;
}

/* What becomes of a video of which nobody said it. */
static enum vrt_deinterlace choose(struct vrt_reader_info *info, const struct findings *findings)
{
    bool flagged = is_flagged(info, findings);

    if (flagged && is_whole(findings)) {
        vrt_warnings_add(&info->warnings, "the video says that it is interlaced, but its frames "
                         "are whole and stay as they are: --deinterlace frame treats them all the "
                         "same");
        return VRT_DEINTERLACE_OFF;
    }
    if (!flagged && !is_combed(findings))
        return VRT_DEINTERLACE_OFF;
    if (!flagged)
        vrt_warnings_add(&info->warnings, "the video is interlaced, though it doesn't say so, and "
                         "is deinterlaced: --deinterlace off leaves it as it is");
    return VRT_DEINTERLACE_FRAME;
}

static void warn_of_fields(struct vrt_reader_info *info)
{
    vrt_warnings_add(&info->warnings, "the video is interlaced and is restored as if it were not: "
                     "--deinterlace frame makes whole frames");
}

/* Whether frames of this format can be deinterlaced. Return: 0; -ENOTSUP; -ENOMEM. */
static int try_format(const struct vrt_frame_format *format, enum vrt_deinterlace asked)
{
    VRT_CLEANUP(vrt_deinterlacer_freep) struct vrt_deinterlacer *deinterlacer = NULL;
    const struct vrt_fields fields = { .deinterlace = asked };

    return vrt_deinterlacer_new(format, &fields, &deinterlacer);
}

/* Whether one frame in five may repeat another. Return: 0; -ENOTSUP with a sentence. */
static int check_telecine(const struct vrt_reader_info *info, struct vrt_error *error)
{
    const double fps = info->fps.num > 0 ? (double)info->fps.num / info->fps.den : FPS_TELECINED;

    if (fabs(fps - FPS_TELECINED) < 0.02 * FPS_TELECINED && !info->variable_rate)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.unsupported", "only videos of 29.97 or 30 "
                      "frames a second can be telecined, and this one has %s%.6g: --deinterlace "
                      "frame makes whole frames of any", info->variable_rate ? "a variable rate of "
                      : "", fps);
}

int vrt_interlacing_look(struct vrt_reader *reader, enum vrt_deinterlace asked,
                         struct vrt_reader_info *ret_info, struct vrt_error *error)
{
    struct vrt_reader_info info = *vrt_reader_info(reader);
    struct findings findings = { .n_frames = 0 };
    struct vrt_fields fields = { .deinterlace = VRT_DEINTERLACE_OFF };

    int r = asked == VRT_DEINTERLACE_TELECINE ? check_telecine(&info, error) : 0;
    if (r < 0)
        return vrt_fold(r);
    r = asked == VRT_DEINTERLACE_OFF ? -ENOTSUP : try_format(&info.format, asked);
    if (r == -ENOTSUP && asked != VRT_DEINTERLACE_AUTO && asked != VRT_DEINTERLACE_OFF) {
        fields.deinterlace = asked;
        return vrt_fold(vrt_deinterlacer_refuse(&info.format, &fields, info.pixel_format, error));
    }
    if (r < 0 && r != -ENOTSUP)
        return vrt_refuse_errno(error, vrt_fold(r), "the input");
    if (r == -ENOTSUP) {
        if (info.interlaced)
            warn_of_fields(&info);
        *ret_info = info;
        return 0;
    }
    r = look(reader, &findings);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the input");
    fields.deinterlace = asked == VRT_DEINTERLACE_AUTO ? choose(&info, &findings) : asked;
    if (fields.deinterlace != VRT_DEINTERLACE_OFF)
        fields.order = choose_order(&info, &findings);
    vrt_reader_info_deinterlace(&info, &fields);
    *ret_info = info;
    return 0;
}
