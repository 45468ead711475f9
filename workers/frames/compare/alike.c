/* SPDX-License-Identifier: MIT */

#include "frames/compare/alike.h"

#include <errno.h>
#include <math.h>

#include "base/macro.h"
#include "frames/compare/quality.h"

/* Rates that are one but for rounding: 29.97 and 30000/1001; 30 is another. */
#define RATES_APART_MAX 5e-4

int vrt_compare_check_alike(const struct vrt_compare_side sides[2], int crop,
                            struct vrt_error *error)
{
    const struct vrt_compare_side *a = &sides[0], *b = &sides[1];
    const int least = VRT_QUALITY_WINDOW + 2 * crop;
    const double rates[2] = { (double)a->fps.num / a->fps.den, (double)b->fps.num / b->fps.den };

    if (a->width != b->width || a->height != b->height)
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "%s has %d x %d pixels and %s "
                          "%d x %d: only videos of one size can be compared; submit --scale makes "
                          "such", a->name, a->width, a->height, b->name, b->width, b->height);
    if (!a->variable_rate && !b->variable_rate && a->fps.num > 0 && b->fps.num > 0 &&
        fabs(rates[0] - rates[1]) > RATES_APART_MAX * rates[0])
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "%s shows %.6g frames "
                          "a second and %s %.6g: frames are compared one by one, of one rate",
                          a->name, rates[0], b->name, rates[1]);
    if (a->width < least || a->height < least)
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unlike", "%d x %d pixels are too few: "
                          "a side needs %d%s", a->width, a->height, least,
                          crop ? " with what is cropped" : "");
    return 0;
}
