/* SPDX-License-Identifier: MIT */

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define OFF_MAX_S 1e9           /* thirty years: no sum overflows, and every date can be printed */

/* Written before there are threads, and by tests only. */
static struct vrt_wall_error wall_error;
static int64_t wall_error_since_ns;

static int64_t read_clock(clockid_t id)
{
    struct timespec t = { 0 };

    clock_gettime(id, &t);
    return t.tv_sec * VRT_NS_PER_S + t.tv_nsec;
}

int64_t vrt_clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t vrt_clock_wall_ns(void)
{
    int64_t wall_ns = read_clock(CLOCK_REALTIME) + wall_error.offset_ns;

    if (wall_error.period_ns > 0 &&
        (vrt_clock_now_ns() - wall_error_since_ns) / wall_error.period_ns % 2 == 1)
        wall_ns += wall_error.jump_ns;
    return wall_ns;
}

void vrt_clock_wait_moment(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t ns)
{
    const int64_t until_ns = read_clock(CLOCK_REALTIME) + ns;
    const struct timespec until = { until_ns / VRT_NS_PER_S, until_ns % VRT_NS_PER_S };

    pthread_cond_timedwait(changed, lock, &until);
}

/* Takes a number of seconds off the front of the text. */
static bool take_seconds(const char **text, int64_t *ret_ns)
{
    char *end;
    double seconds = strtod(*text, &end);

    if (end == *text || !(fabs(seconds) <= OFF_MAX_S))
        return false;
    *text = end;
    *ret_ns = (int64_t)(seconds * (double)VRT_NS_PER_S);
    return true;
}

int vrt_clock_parse_wall_error(const char *text, struct vrt_wall_error *ret_wrong)
{
    struct vrt_wall_error wrong = { .offset_ns = 0 };

    bool valid = take_seconds(&text, &wrong.offset_ns);
    if (valid && *text == ',') {
        text++;
        valid = take_seconds(&text, &wrong.jump_ns) && *text++ == ',' &&
                take_seconds(&text, &wrong.period_ns) && wrong.period_ns > 0;
    }
    if (!valid || *text)
        return -EINVAL;
    *ret_wrong = wrong;
    return 0;
}

void vrt_clock_set_wall_error(const struct vrt_wall_error *wrong)
{
    wall_error = *wrong;
    wall_error_since_ns = vrt_clock_now_ns();
}
