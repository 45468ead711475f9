/* SPDX-License-Identifier: MIT */

/* Frames become RGB of 8 bits by libswscale, as a picture of them that is saved would be. */

#include "frames/compare/compare.h"

#include <errno.h>
#include <libswscale/swscale.h>
#include <stdlib.h>

#include "frames/av.h"
#include "frames/compare/alike.h"
#include "frames/decode/reader.h"
#include "frames/view.h"

#define THREADS 2

#define FLAGS (SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT | \
               SWS_FULL_CHR_H_INP)

struct side {
    const char *name;
    struct vrt_reader *reader;          /* NULL: not open */
    struct SwsContext *sws;             /* NULL: no frame came */
    AVFrame *rgb;                       /* NULL: likewise */
    int64_t first_pts, pts;
};

struct vrt_compare {
    char names[2][64];
    struct side sides[2];
    int crop;
    const struct vrt_pictures *shown;   /* the caller's; NULL: nobody looks */
    int64_t n_frames;
};

static int open_side(struct vrt_compare *compare, const struct vrt_compare_params *params, int i,
                     struct vrt_error *error)
{
    struct side *side = &compare->sides[i];

    side->name = vrt_printable(params->names[i], compare->names[i], sizeof(compare->names[i]));
    const struct vrt_reader_params reader = { .n_threads = THREADS, .name = side->name };
    return vrt_fold(vrt_reader_open(params->fds[i], &reader, &side->reader, error));
}

/* Whether frame n of one is to be compared with frame n of the other. */
static int check(const struct vrt_compare *compare, struct vrt_error *error)
{
    struct vrt_compare_side sides[2];

    for (int i = 0; i < 2; i++) {
        const struct vrt_reader_info *info = vrt_reader_info(compare->sides[i].reader);
        sides[i] = (struct vrt_compare_side){
            .name = compare->sides[i].name,
            .width = info->format.width,
            .height = info->format.height,
            .fps = info->fps,
            .variable_rate = info->variable_rate,
        };
    }
    return vrt_fold(vrt_compare_check_alike(sides, compare->crop, error));
}

int vrt_compare_open(const struct vrt_compare_params *params, struct vrt_compare **ret_compare,
                     struct vrt_compare_size *ret_size, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_compare_closep) struct vrt_compare *compare = calloc(1, sizeof(*compare));

    if (!compare)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "comparing");
    compare->crop = params->crop;
    for (int i = 0; i < 2; i++) {
        int r = open_side(compare, params, i, error);
        if (r < 0)
            return vrt_fold(r);
    }
    int r = check(compare, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_frame_format *format = &vrt_reader_info(compare->sides[0].reader)->format;
    *ret_size = (struct vrt_compare_size){ format->width, format->height };
    *ret_compare = VRT_STEAL(compare);
    return 0;
}

static int make_rgb(struct side *side, const struct vrt_frame *frame, const AVFrame *view)
{
    const int matrix = frame->format.matrix == VRT_FRAME_MATRIX_BT709        ? SWS_CS_ITU709
                       : frame->format.matrix == VRT_FRAME_MATRIX_BT2020_NCL ? SWS_CS_BT2020
                                                                             : SWS_CS_ITU601;

    side->rgb = av_frame_alloc();
    if (!side->rgb)
        return vrt_raise(-ENOMEM);
    side->rgb->width = view->width;
    side->rgb->height = view->height;
    side->rgb->format = AV_PIX_FMT_RGB24;
    if (av_frame_get_buffer(side->rgb, 0) < 0)
        return vrt_raise(-ENOMEM);
    side->sws = sws_getContext(view->width, view->height, view->format, view->width, view->height,
                               AV_PIX_FMT_RGB24, FLAGS, NULL, NULL, NULL);
    if (!side->sws)
        return vrt_raise(-ENOTSUP);
    /* Fails for gray, which has no matrix. */
    (void)sws_setColorspaceDetails(side->sws, sws_getCoefficients(matrix),
                                   frame->format.full_range, sws_getCoefficients(SWS_CS_DEFAULT),
                                   1, 0, 1 << 16, 1 << 16);
    return 0;
}

/* Return: 0; VRT_READER_END; -errno with the sentence in `error`. */
static int read_side(struct side *side, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL;
    int r = vrt_reader_next(side->reader, &frame, error);

    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    r = vrt_frame_unwrap(frame, &view);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), side->name);
    if (!side->rgb)
        side->first_pts = frame->pts;
    r = side->rgb ? 0 : make_rgb(side, frame, view);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), side->name);
    side->pts = frame->pts;
    r = sws_scale(side->sws, (const uint8_t *const *)view->data, view->linesize, 0, view->height,
                  side->rgb->data, side->rgb->linesize);
    return r < 0 ? vrt_refuse_errno(error, vrt_raise(vrt_av_errno(r)), side->name) : 0;
}

void vrt_compare_show(struct vrt_compare *compare, const struct vrt_pictures *pictures)
{
    compare->shown = pictures;
}

/* Leaves out what is cropped. */
static void show(const struct vrt_compare *compare, const struct vrt_quality_picture pictures[2])
{
    const int crop = compare->crop;

    for (int i = 0; i < 2; i++) {
        const AVFrame *rgb = compare->sides[i].rgb;
        const size_t stride = pictures[i].stride_bytes;
        const struct vrt_quality_picture inner = {
            pictures[i].rgb + (size_t)crop * stride + (size_t)crop * 3, stride,
        };
        vrt_pictures_put(compare->shown, i, &inner, rgb->width - 2 * crop, rgb->height - 2 * crop);
    }
}

int vrt_compare_next(struct vrt_compare *compare, struct vrt_compared *ret_compared,
                     struct vrt_error *error)
{
    struct side *sides = compare->sides;
    struct vrt_quality_picture pictures[2];
    int ends[2];

    for (int i = 0; i < 2; i++) {
        ends[i] = read_side(&sides[i], error);
        if (ends[i] < 0)
            return vrt_fold(ends[i]);
    }
    if (ends[0] && ends[1])
        return VRT_COMPARE_END;
    if (ends[0] || ends[1])
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "%s has %lld frames and %s "
                          "more: only as many can be compared", sides[ends[0] ? 0 : 1].name,
                          (long long)compare->n_frames, sides[ends[0] ? 1 : 0].name);
    for (int i = 0; i < 2; i++)
        pictures[i] = (struct vrt_quality_picture){ sides[i].rgb->data[0],
                                                    (size_t)sides[i].rgb->linesize[0] };
    const struct vrt_rational base = vrt_reader_info(sides[1].reader)->time_base;
    ret_compared->time_ns = (int64_t)((double)(sides[1].pts - sides[1].first_pts) * base.num /
                                      base.den * 1e9 + 0.5);
    compare->n_frames++;
    if (compare->shown)
        show(compare, pictures);
    int r = vrt_quality_of(pictures, sides[0].rgb->width, sides[0].rgb->height, compare->crop,
                           &ret_compared->quality);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "comparing") : 0;
}

struct vrt_compare *vrt_compare_close(struct vrt_compare *compare)
{
    if (!compare)
        return NULL;
    for (int i = 0; i < 2; i++) {
        sws_freeContext(compare->sides[i].sws);
        av_frame_free(&compare->sides[i].rgb);
        vrt_reader_close(compare->sides[i].reader);
    }
    free(compare);
    return NULL;
}
