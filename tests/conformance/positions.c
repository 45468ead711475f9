/* SPDX-License-Identifier: MIT */

#include "tests/conformance/positions.h"

#include <math.h>

float conf_displacement(struct conf *t, enum conf_reach reach, int n)
{
    static const float wild[] = { 1e9f, -1e9f, 3e38f, -3e38f, HUGE_VALF, -HUGE_VALF, NAN };
    const int range = reach == CONF_REACH_FAR ? 2 * n + 3 : 2;
    const float whole = (float)(conf_random(t, 2 * range + 1) - range);
    const float part = (float)conf_random(t, 16) / 16;

    if (reach == CONF_REACH_WILD && conf_random(t, 8) == 0)
        return wild[conf_random(t, sizeof(wild) / sizeof(wild[0]))];
    return reach == CONF_REACH_WHOLE ? whole : whole + part;
}

double conf_sample(const struct conf_picture *picture, const double at[3], int c)
{
    const struct vrt_shape s = picture->shape;
    double sum = 0;

    for (int h = 0; h < s.h; h++) {
        const double down = 1 - fabs(at[1] - h);
        for (int w = 0; w < s.w && down > 0; w++) {
            const double across = 1 - fabs(at[2] - w);
            if (across > 0)
                sum += down * across *
                       (double)picture->x[(((int)at[0] * s.h + h) * s.w + w) * s.c + c];
        }
    }
    return sum;
}
