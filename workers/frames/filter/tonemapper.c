/* SPDX-License-Identifier: MIT */

/*
 * One frame in, one out: linear light in floats, the primaries of BT.709, the curve, and back. All
 * that zscale could take from a frame it is told, so that nothing unspecified is guessed by it.
 */

#include "frames/filter/tonemapper.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/filter/filter.h"
#include "frames/pixfmt.h"
#include "frames/view.h"

/* cd/m2 of SDR's white, and of the brightest where nobody says. */
#define WHITE 100
#define PEAK 1000

struct vrt_tonemapper {
    struct vrt_frame_format mapped;
    struct vrt_filter *filter;
    AVFrame *filtered;
};

bool vrt_tonemapper_is_hdr(const struct vrt_frame_format *format)
{
    return format->transfer == AVCOL_TRC_SMPTE2084 || format->transfer == AVCOL_TRC_ARIB_STD_B67;
}

struct vrt_frame_format vrt_tonemapper_format(const struct vrt_frame_format *hdr)
{
    struct vrt_frame_format format = *hdr;

    format.primaries = AVCOL_PRI_BT709;
    format.transfer = AVCOL_TRC_BT709;
    format.hdr = (struct vrt_hdr){ .max_light = 0 };
    format.matrix = VRT_FRAME_MATRIX_BT709;
    if (format.layout == VRT_LAYOUT_YUV) {
        format.color_space = AVCOL_SPC_BT709;
        format.full_range = false;
    }
    return format;
}

/* The brightest that is to be seen, in SDR's whites. */
static double peak_of(const struct vrt_hdr *hdr)
{
    const double peak = hdr->max_light > 0     ? hdr->max_light
                        : hdr->display.max > 0 ? hdr->display.max / 10000.0
                                               : PEAK;

    return VRT_MAX(peak / WHITE, 1);
}

/* The chain, in FFmpeg's words: numbers are those of H.273, but for zscale's own of where chroma
 * lies and of the range. */
static void spell(const struct vrt_frame_format *format, const struct vrt_frame_format *mapped,
                  enum vrt_tonemap how, char *chain, size_t size)
{
    const bool has_primaries = format->primaries != AVCOL_PRI_UNSPECIFIED;
    const int place = (int)format->chroma_location - 1;
    const bool is_rgb = format->layout == VRT_LAYOUT_GBR;

    snprintf(chain, size, "zscale=tin=%d:pin=%d:min=%d:rin=%d:cin=%d:t=linear:npl=%d,"
             "format=gbrpf32le,zscale=p=bt709,tonemap=%s:desat=0:peak=%.6f,"
             "zscale=t=bt709:m=%d:r=%d:c=%d,format=%s", format->transfer,
             has_primaries ? format->primaries : AVCOL_PRI_BT2020,
             is_rgb ? AVCOL_SPC_RGB : vrt_matrix_number(format->matrix), format->full_range, place,
             WHITE, vrt_tonemap_names[how], peak_of(&format->hdr),
             is_rgb ? AVCOL_SPC_RGB : AVCOL_SPC_BT709, mapped->full_range, place,
             av_get_pix_fmt_name(vrt_pixfmt_of(format)));
}

int vrt_tonemapper_new(const struct vrt_frame_format *format, enum vrt_tonemap how,
                       struct vrt_tonemapper **ret_tonemapper)
{
    VRT_CLEANUP(vrt_tonemapper_freep) struct vrt_tonemapper *tonemapper =
        calloc(1, sizeof(*tonemapper));
    char chain[384];

    if (!tonemapper)
        return vrt_raise(-ENOMEM);
    tonemapper->mapped = vrt_tonemapper_format(format);
    tonemapper->filtered = av_frame_alloc();
    if (!tonemapper->filtered)
        return vrt_raise(-ENOMEM);
    spell(format, &tonemapper->mapped, how, chain, sizeof(chain));
    int r = vrt_filter_new(chain, format, &tonemapper->filter);
    if (r < 0)
        return vrt_fold(r);
    *ret_tonemapper = VRT_STEAL(tonemapper);
    return 0;
}

/* One in, one out. Return: 0; -errno. */
static int map(struct vrt_tonemapper *tonemapper, struct vrt_frame *was,
               struct vrt_frame **ret_frame)
{
    int r = vrt_filter_push(tonemapper->filter, was);

    if (r == 0)
        r = vrt_filter_pull(tonemapper->filter, tonemapper->filtered);
    if (r == 0)
        r = vrt_frame_wrap(tonemapper->filtered, &tonemapper->mapped, ret_frame);
    av_frame_unref(tonemapper->filtered);
    return r > 0 ? vrt_raise(-EIO) : vrt_fold(r);
}

int vrt_tonemapper_run(struct vrt_tonemapper *tonemapper, struct vrt_frame **frame,
                       const char *name, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *was = VRT_STEAL(*frame);
    struct vrt_frame *mapped = NULL;
    int r = map(tonemapper, was, &mapped);

    if (r < 0)
        return vrt_refuse_errno(error, r, name);
    mapped->pts = was->pts;
    mapped->duration = was->duration;
    mapped->concealed = was->concealed;
    mapped->interlaced = was->interlaced;
    mapped->top_first = was->top_first;
    mapped->extra = was->extra;
    /* It tells how HDR is to be shown. */
    mapped->extra.n_hdr10plus = 0;
    *frame = mapped;
    return 0;
}

struct vrt_tonemapper *vrt_tonemapper_free(struct vrt_tonemapper *tonemapper)
{
    if (!tonemapper)
        return NULL;
    vrt_filter_free(tonemapper->filter);
    av_frame_free(&tonemapper->filtered);
    free(tonemapper);
    return NULL;
}
