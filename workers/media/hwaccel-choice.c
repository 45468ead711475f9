/* SPDX-License-Identifier: MIT */

#include "workers/media/hwaccel-choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "frames/process/child-encoder.h"

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

int vrt_hwaccel_choose(struct vrt_job_check *check, struct vrt_error *error)
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
