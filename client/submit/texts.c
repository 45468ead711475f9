/* SPDX-License-Identifier: MIT */

#include "client/submit/texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "msg_job.h"

int vrt_take_text(const char *text, const char *what, char *buffer, size_t size,
                  struct vrt_error *error)
{
    char printable[80];

    if (!text[0])
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "--%s: \"\" names nothing; leave it "
                          "out for what is usual", what);
    if (snprintf(buffer, size, "%s", text) < (int)size)
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "--%s: \"%s\" is too long", what,
                      vrt_printable(text, printable, sizeof(printable)));
}

int vrt_take_scene_cuts(const char *text, double *ret_threshold, struct vrt_error *error)
{
    char *end, printable[80];
    double x;

    if (!text)
        return 0;
    x = strtod(text, &end);
    if (strcmp(text, "on") == 0)
        x = VRT_API_SCENE_CUTS;
    else if (strcmp(text, "off") == 0)
        x = 0;
    else if (end == text || *end || !(x > 0 && x <= 1))
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "--scene-cuts: expected off, on or a "
                          "number over 0, at most 1, got \"%s\"",
                          vrt_printable(text, printable, sizeof(printable)));
    *ret_threshold = x;
    return 0;
}
