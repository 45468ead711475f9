/* SPDX-License-Identifier: MIT */

/* The table of containers. */

#include "frames/encode/container.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "frames/encode/encoder.h"

#define COLOR_UNSPECIFIED 2     /* H.273's number for primaries and transfer */

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
                      vrt_codec_title(codec));
}

/*
 * H.264 and HEVC carry their colours in the stream, FFV1 doesn't. In .mov FFmpeg writes them only
 * where primaries, transfer and matrix are all known, and never the range.
 */
int vrt_container_check_colors(const struct vrt_container_content *content,
                               struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_frame_format *format = content->format;

    if (content->codec != VRT_CODEC_FFV1 || content->container == VRT_CONTAINER_MKV ||
        format->layout != VRT_LAYOUT_YUV)
        return 0;
    if (format->full_range)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          "an .%s file doesn't tell of FFV1 that its colours have full range, and "
                          "would be shown with too much contrast: name the output .mkv",
                          vrt_container_name(content->container));
    if (format->primaries == COLOR_UNSPECIFIED || format->transfer == COLOR_UNSPECIFIED)
        vrt_warnings_add(warnings, "an .%s file doesn't tell which colour matrix FFV1 has where "
                         "the input names no primaries, and players will guess: name the output "
                         ".mkv to keep it", vrt_container_name(content->container));
    return 0;
}
