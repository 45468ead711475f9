/* SPDX-License-Identifier: MIT */

#include "workers/plan/output-size.h"

#include <errno.h>
#include <math.h>

#include "base/macro.h"
#include "base/settings.h"

/* Chroma has half the rows and columns in most formats. */
static int even(double side)
{
    return side > 2 * VRT_OUTPUT_SIDE_MAX ? 2 * VRT_OUTPUT_SIDE_MAX : 2 * (int)lrint(side / 2);
}

/* Whether a picture of the input's shape that is so high is so wide, but for rounding. */
static bool has_shape(const struct vrt_frame_format *input, int width, int height)
{
    return fabs((double)input->width * height / input->height - width) < 2;
}

/* Pixels of the shape with which all of the picture has the shape that it had. */
static int reshape(struct vrt_frame_format *format, int width, int height,
                   struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_rational was = format->sample_aspect.num > 0 ? format->sample_aspect
                                                                  : (struct vrt_rational){ 1, 1 };
    struct vrt_rational is;

    if (vrt_rational_scale(was, height, width, &is) < 0 ||
        vrt_rational_scale(is, format->width, format->height, &is) < 0) {
        vrt_error_set_field(error, "scale");
        return vrt_refuse(error, vrt_raise(-EINVAL), "request.field", "%d x %d pixels can't show "
                          "the shape of the video: ask for %dp", width, height, height);
    }
    vrt_warnings_add(warnings, "%d x %d is not the shape of the video: its pixels are shown %d:%d, "
                     "so that nothing is squeezed; %dp makes %d x %d", width, height, is.num,
                     is.den, height, even((double)format->width * height / format->height),
                     height);
    format->sample_aspect = is;
    return 0;
}

int vrt_output_size_choose(const char *scale, int times, struct vrt_frame_format *format,
                           struct vrt_warnings *warnings, struct vrt_error *error)
{
    const int most = VRT_OUTPUT_SIDE_MAX / times;
    struct vrt_scale wanted;
    int width, height;

    if (format->width > most || format->height > most)
        return vrt_refuse(error, -EINVAL, "job.input",
                          "%d x %d pixels enlarged %d times are more than %d a side",
                          format->width, format->height, times, VRT_OUTPUT_SIDE_MAX);
    if (!scale[0]) {
        format->width *= times;
        format->height *= times;
        return 0;
    }
    int r = vrt_scale_parse(scale, &wanted, error);
    if (r < 0)
        return vrt_fold(r);
    height = wanted.factor > 0 ? even(format->height * wanted.factor) : wanted.height;
    width = wanted.width        ? wanted.width
            : wanted.factor > 0 ? even(format->width * wanted.factor)
                                : even((double)format->width * height / format->height);
    if (VRT_MIN(width, height) < VRT_OUTPUT_SIDE_MIN ||
        VRT_MAX(width, height) > VRT_OUTPUT_SIDE_MAX) {
        vrt_error_set_field(error, "scale");
        return vrt_refuse(error, vrt_raise(-EINVAL), "request.field", "scale: %s makes %d x %d "
                          "pixels of this video's %d x %d, and a side has %d to %d", scale, width,
                          height, format->width, format->height, VRT_OUTPUT_SIDE_MIN,
                          VRT_OUTPUT_SIDE_MAX);
    }
    if (!has_shape(format, width, height)) {
        r = reshape(format, width, height, warnings, error);
        if (r < 0)
            return vrt_fold(r);
    }
    format->width = width;
    format->height = height;
    return 0;
}

struct vrt_frame_format vrt_output_made(const struct vrt_frame_format *input, int times,
                                        const struct vrt_frame_format *out)
{
    struct vrt_frame_format made = *out;

    made.width = input->width * times;
    made.height = input->height * times;
    return made;
}
