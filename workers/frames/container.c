/* SPDX-License-Identifier: MIT */

/* The table of containers. */

#include "frames/container.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "frames/codec.h"

static const char *const names[VRT_CONTAINER_COUNT] = {
    [VRT_CONTAINER_MP4] = "mp4",
    [VRT_CONTAINER_MOV] = "mov",
    [VRT_CONTAINER_MKV] = "mkv",
};

const char *vrt_container_name(enum vrt_container container)
{
    vrt_assert((unsigned int)container < VRT_CONTAINER_COUNT);
    return names[container];
}

int vrt_container_from_name(const char *name, enum vrt_container *ret_container,
                            struct vrt_error *error)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *dot = strrchr(base, '.');
    char shown[128];

    for (int i = 0; dot && i < VRT_CONTAINER_COUNT; i++) {
        if (strcasecmp(dot + 1, names[i]) == 0) {
            *ret_container = (enum vrt_container)i;
            return 0;
        }
    }
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                      "the output %s must end in .mp4, .mov or .mkv, which says what kind of file "
                      "it becomes", vrt_printable(base, shown, sizeof(shown)));
}

int vrt_container_check_codec(enum vrt_container container, enum vrt_codec codec,
                              struct vrt_error *error)
{
    if (codec != VRT_CODEC_FFV1 || container != VRT_CONTAINER_MP4)
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                      "an .mp4 file cannot hold %s: name the output .mkv",
                      vrt_codec_traits(codec)->title);
}
