/* SPDX-License-Identifier: MIT */

/* The table of containers. */

#include "frames/encode/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "frames/encode/encoder.h"

/* H.273's numbers. */
#define COLOR_UNSPECIFIED 2     /* of primaries and transfer */
#define TRANSFER_LINEAR 8

const char *vrt_container_name(enum vrt_container container)
{
    vrt_assert((unsigned int)container < VRT_CONTAINER_COUNT);
    return vrt_container_names[container];
}

bool vrt_container_is_matroska(enum vrt_container container)
{
    return container == VRT_CONTAINER_MKV || container == VRT_CONTAINER_WEBM;
}

bool vrt_container_is_mov(enum vrt_container container)
{
    return container == VRT_CONTAINER_MP4 || container == VRT_CONTAINER_MOV;
}

/* "mp4, mov or mkv": those of `containers`, by their bits, each after `prefix`. */
static const char *list_containers(unsigned int containers, const char *prefix, char *text,
                                   size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < VRT_CONTAINER_COUNT && n < size; i++) {
        unsigned int later = containers >> i >> 1;
        if (containers & VRT_CONTAINER_BIT(i))
            n += (size_t)snprintf(text + n, size - n, "%s%s%s", prefix, vrt_container_names[i],
                                  !later ? "" : later & (later - 1) ? ", " : " or ");
    }
    return text;
}

int vrt_container_from_name(const char *name, enum vrt_container *ret_container,
                            struct vrt_error *error)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    const char *dot = strrchr(base, '.');
    char shown[128], endings[104];

    if (dot && vrt_container_find(dot + 1, ret_container))
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                      "the output %s must end in %s, which says what kind of file it becomes",
                      vrt_printable(base, shown, sizeof(shown)),
                      list_containers(VRT_CONTAINER_BIT(VRT_CONTAINER_COUNT) - 1, ".", endings,
                                      sizeof(endings)));
}

int vrt_container_check_codec(enum vrt_container container, enum vrt_codec codec,
                              struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    char endings[80];

    if (vrt_container_holds(container, codec))
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                      ".%s cannot hold %s: name the output %s",
                      vrt_container_name(container), facts->title,
                      list_containers(facts->containers, ".", endings, sizeof(endings)));
}

/* A GIF counts hundredths of a second, and players take frames of less than two for ones of ten. */
static int check_rate_of_gif(struct vrt_rational fps, bool variable, struct vrt_warnings *warnings,
                             struct vrt_error *error)
{
    if (fps.num > (int64_t)fps.den * 50)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          "a .gif file shows 50 frames a second at most, and these are %.6g: name "
                          "the output .apng, or give it fewer frames a second",
                          (double)fps.num / fps.den);
    if (variable || fps.num <= 0 || (int64_t)fps.den * 100 % fps.num != 0)
        vrt_warnings_add(warnings, "a .gif file counts hundredths of a second: frames' times are "
                         "rounded to those; name the output .apng to keep them exact");
    return 0;
}

int vrt_container_check_rate(enum vrt_container container, struct vrt_rational fps, bool variable,
                             struct vrt_warnings *warnings, struct vrt_error *error)
{
    /* MXF: those of SMPTE's standards; it has no times but the rate's. */
    static const struct vrt_rational rates[] = {
        { 24000, 1001 }, { 24, 1 }, { 25, 1 }, { 30000, 1001 }, { 30, 1 }, { 50, 1 },
        { 60000, 1001 }, { 60, 1 },
    };

    if (container == VRT_CONTAINER_GIF)
        return vrt_fold(check_rate_of_gif(fps, variable, warnings, error));
    if (container != VRT_CONTAINER_MXF)
        return 0;
    for (size_t i = 0; !variable && i < VRT_ARRAY_SIZE(rates); i++)
        if ((int64_t)fps.num * rates[i].den == (int64_t)rates[i].num * fps.den)
            return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                      "an .mxf file holds 23.976, 24, 25, 29.97, 30, 50, 59.94 or 60 frames a "
                      "second, all of equal length, and the result has others: name the output "
                      ".mov or .mkv");
}

/*
 * Of FFmpeg's muxers: sizes, times and places in tables (mp4, mov); a head each, and what finds key
 * frames (Matroska); of MPEG-TS a PES head and, on average, half a packet of 188 bytes that stays
 * empty, for each frame and each 2,930 bytes of sound, 4 bytes of each 188, and the programme's
 * tables ten times a second.
 */
double vrt_container_overhead_bytes(enum vrt_container container,
                                    const struct vrt_container_load *load)
{
    static const struct {
        double file, frame, packet, frame_share, packet_share, second;
    } costs[VRT_CONTAINER_COUNT] = {
        [VRT_CONTAINER_MP4] = { 2000, 16, 8, 0, 0, 0 },
        [VRT_CONTAINER_MOV] = { 2000, 16, 8, 0, 0, 0 },
        [VRT_CONTAINER_MKV] = { 2000, 9, 9, 0, 0, 20 },
        [VRT_CONTAINER_WEBM] = { 2000, 9, 9, 0, 0, 20 },
        [VRT_CONTAINER_TS] = { 0, 115, 0, 4.0 / 184, 4.0 / 184 + 115.0 / 2930, 4200 },
    };

    vrt_assert((unsigned int)container < VRT_CONTAINER_COUNT);
    return costs[container].file + costs[container].frame * load->n_frames +
           costs[container].packet * load->n_packets +
           costs[container].frame_share * load->frame_bytes +
           costs[container].packet_share * load->packet_bytes +
           costs[container].second * load->duration_s;
}

/* Of pictures OpenEXR alone holds linear light, and nothing else; PNG can say that it does. */
static int check_light(const struct vrt_container_content *content, struct vrt_warnings *warnings,
                       struct vrt_error *error)
{
    const bool is_linear = content->format->transfer == TRANSFER_LINEAR;

    if (content->container == VRT_CONTAINER_EXR && !is_linear)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          "an .exr file holds linear light, which the input doesn't: name the "
                          "output .png or .tiff");
    if (content->container != VRT_CONTAINER_EXR && content->container != VRT_CONTAINER_PNG &&
        is_linear)
        vrt_warnings_add(warnings, ".%s doesn't tell that light is linear, and the result will be "
                         "shown too dark: name the output .exr, or .png",
                         vrt_container_name(content->container));
    return 0;
}

/* Whose streams have a place for it need none in the container. */
static void check_hdr(const struct vrt_container_content *content, struct vrt_warnings *warnings)
{
    const struct vrt_hdr *hdr = &content->format->hdr;
    const bool is_mxf = content->container == VRT_CONTAINER_MXF;

    if (vrt_codec_facts(content->codec)->has_metadata ||
        vrt_container_is_matroska(content->container) || vrt_container_is_mov(content->container))
        return;
    if (vrt_hdr_has_light(hdr) || (!is_mxf && vrt_hdr_has_display(hdr)))
        vrt_warnings_add(warnings, "%s in .%s doesn't tell of %sthe content's light (HDR10)%s",
                         vrt_codec_facts(content->codec)->title,
                         vrt_container_name(content->container),
                         is_mxf ? "" : "the mastering display and ",
                         is_mxf ? ": name the output .mov to keep that" : "");
}

/*
 * Other codecs carry their colours in the stream, or have but one kind; FFV1 doesn't. In .mov
 * FFmpeg writes them only where primaries, transfer and matrix are all known, and never the range.
 */
int vrt_container_check_colors(const struct vrt_container_content *content,
                               struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_frame_format *format = content->format;

    check_hdr(content, warnings);
    if (vrt_container_is_picture(content->container))
        return vrt_fold(check_light(content, warnings, error));
    if (content->codec != VRT_CODEC_FFV1 || vrt_container_is_matroska(content->container) ||
        format->layout != VRT_LAYOUT_YUV)
        return 0;
    if (format->full_range)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          "FFV1 in .%s doesn't tell that its colours have full range, and would be "
                          "shown with too much contrast: name the output .mkv",
                          vrt_container_name(content->container));
    if (format->primaries == COLOR_UNSPECIFIED || format->transfer == COLOR_UNSPECIFIED)
        vrt_warnings_add(warnings, "FFV1 in .%s doesn't tell its colour matrix where the input "
                         "names no primaries, and players will guess: name the output .mkv to "
                         "keep it", vrt_container_name(content->container));
    return 0;
}
