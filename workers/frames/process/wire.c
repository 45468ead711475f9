/* SPDX-License-Identifier: MIT */

/* The checks are written once for both ends; those of vrtd are what counts. */

#include "frames/process/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What refuses with a sentence below frames/. Any other id is told as a failure of the process: for
 * descriptors all jobs would wait, and who cancels one is vrtd alone. */
static const char *const ids[] = {
    "encode.failed", "input.changed", "input.codec", "input.damaged", "input.empty",
    "input.no_video", "input.not_media", "input.not_regular", "input.part", "input.playlist",
    "input.read", "input.streams", "input.timeout", "input.truncated", "input.unsupported",
    "out_of_memory",
    "output.codec", "output.container", "output.format", "output.options", "output.preset",
    "output.quality", "output.verify", "output.write", "segment.damaged", "spool.full",
};

#define ERRNO_MAX 4095
#define COUNT_MAX (1 << 20)

void vrt_wire_put_rational(struct vrt_rational q, struct vrt_message_rational *ret_wire)
{
    *ret_wire = q.num >= 0 && q.den > 0 ? (struct vrt_message_rational){ q.num, q.den } :
                                          (struct vrt_message_rational){ 0, 1 };
}

static void put_point(const int point[2], int32_t ret_wire[2])
{
    ret_wire[0] = point[0];
    ret_wire[1] = point[1];
}

void vrt_wire_put_hdr(const struct vrt_hdr *hdr, struct vrt_message_hdr *ret_wire)
{
    put_point(hdr->display.red, ret_wire->red);
    put_point(hdr->display.green, ret_wire->green);
    put_point(hdr->display.blue, ret_wire->blue);
    put_point(hdr->display.white, ret_wire->white);
    ret_wire->max = hdr->display.max;
    ret_wire->min = hdr->display.min;
    ret_wire->max_light = hdr->max_light;
    ret_wire->average_light = hdr->average_light;
}

int vrt_wire_take_hdr(const struct vrt_message_hdr *wire, struct vrt_hdr *ret_hdr)
{
    const struct vrt_hdr hdr = {
        .display = {
            .red = { wire->red[0], wire->red[1] },
            .green = { wire->green[0], wire->green[1] },
            .blue = { wire->blue[0], wire->blue[1] },
            .white = { wire->white[0], wire->white[1] },
            .max = wire->max,
            .min = wire->min,
        },
        .max_light = wire->max_light,
        .average_light = wire->average_light,
    };

    if (!vrt_hdr_is_valid(&hdr))
        return -EBADMSG;
    *ret_hdr = hdr;
    return 0;
}

void vrt_wire_put_format(const struct vrt_frame_format *format,
                         struct vrt_message_format *ret_wire)
{
    *ret_wire = (struct vrt_message_format){
        .width = format->width,
        .height = format->height,
        .depth = format->depth,
        .layout = (int32_t)format->layout,
        .chroma_shift_x = format->chroma_shift_x,
        .chroma_shift_y = format->chroma_shift_y,
        .matrix = (int32_t)format->matrix,
        .full_range = format->full_range,
        .chroma_location = (int32_t)format->chroma_location,
        .primaries = format->primaries,
        .transfer = format->transfer,
        .color_space = format->color_space,
        .has_alpha = format->has_alpha,
    };
    vrt_wire_put_rational(format->sample_aspect, &ret_wire->sample_aspect);
    vrt_wire_put_hdr(&format->hdr, &ret_wire->hdr);
}

void vrt_wire_put_warnings(const struct vrt_warnings *warnings,
                           struct vrt_message_warnings *ret_wire)
{
    ret_wire->n = warnings->n;
    ret_wire->n_lost = warnings->n_lost;
    memcpy(ret_wire->sentences, warnings->sentences, sizeof(ret_wire->sentences));
}

/* A container may claim anything: what no film has, nobody knows. */
static int64_t believable(int64_t number)
{
    return number <= VRT_WIRE_NUMBER_MAX ? number : -1;
}

void vrt_wire_put_info(const struct vrt_reader_info *info, struct vrt_message_info *ret_wire)
{
    *ret_wire = (struct vrt_message_info){
        .variable_rate = info->variable_rate,
        .interlaced = info->interlaced,
        .truncated = info->truncated,
        .is_still = info->is_still,
        .has_alpha = info->has_alpha,
        .has_display_matrix = info->has_display_matrix,
        .rotation_degrees = info->rotation_degrees,
        .tonemap = (int32_t)info->tonemap,
        .deinterlace = (int32_t)info->fields.deinterlace,
        .field_order = (int32_t)info->fields.order,
        .n_audio = info->n_audio,
        .n_subtitles = info->n_subtitles,
        .n_attachments = info->n_attachments,
        .n_chapters = info->n_chapters,
        .n_covers = info->n_covers,
        .duration_ns = believable(info->duration_ns),
        .n_frames_estimate = believable(info->n_frames_estimate),
        .is_by_duration = info->is_by_duration,
        .n_frames = info->n_frames,
        .n_concealed = info->n_concealed,
        .n_missing = info->n_missing,
        .n_decoded = info->n_decoded,
        .can_go_on = info->can_go_on,
    };
    vrt_wire_put_format(&info->format, &ret_wire->format);
    vrt_wire_put_rational(info->time_base, &ret_wire->time_base);
    vrt_wire_put_rational(info->fps, &ret_wire->fps);
    vrt_wire_put_warnings(&info->warnings, &ret_wire->warnings);
    memcpy(ret_wire->container, info->container, sizeof(ret_wire->container));
    memcpy(ret_wire->codec, info->codec, sizeof(ret_wire->codec));
    memcpy(ret_wire->pixel_format, info->pixel_format, sizeof(ret_wire->pixel_format));
    memcpy(ret_wire->concealed, info->concealed, sizeof(ret_wire->concealed));
}

void vrt_wire_put_encoder(const struct vrt_encoder_params *params,
                          struct vrt_message_encoder *ret_wire)
{
    *ret_wire = (struct vrt_message_encoder){
        .codec = (int32_t)params->codec,
        .quality = params->quality,
        .n_threads = params->n_threads,
        .bitrate = params->bitrate,
        .max_bitrate = params->max_bitrate,
        .hwaccel = (int32_t)params->hwaccel,
        .has_preset = params->preset != NULL,
    };
    snprintf(ret_wire->preset, sizeof(ret_wire->preset), "%s",
             params->preset ? params->preset : "");
    snprintf(ret_wire->options, sizeof(ret_wire->options), "%s",
             params->options ? params->options : "");
    vrt_wire_put_format(&params->format, &ret_wire->format);
    vrt_wire_put_rational(params->time_base, &ret_wire->time_base);
    vrt_wire_put_rational(params->fps, &ret_wire->fps);
}

void vrt_wire_put_name(const char *name, char ret_wire[VRT_MESSAGE_NAME_BYTES])
{
    vrt_printable(name ? name : "the input", ret_wire, VRT_MESSAGE_NAME_BYTES);
}

void vrt_wire_put_streams(const char *streams, char ret_wire[VRT_SETTING_NAME_BYTES])
{
    snprintf(ret_wire, VRT_SETTING_NAME_BYTES, "%s", streams ? streams : "");
}

void vrt_wire_put_error(int r, const struct vrt_error *error, struct vrt_message *ret_message)
{
    ret_message->result = r;
    snprintf(ret_message->error_id, sizeof(ret_message->error_id), "%s",
             error->id ? error->id : "");
    snprintf(ret_message->error, sizeof(ret_message->error), "%s", error->message);
}

int vrt_wire_take_rational(const struct vrt_message_rational *wire, bool may_be_unknown,
                           struct vrt_rational *ret_q)
{
    if (wire->den <= 0 || wire->num < 0 || (wire->num == 0 && !may_be_unknown))
        return -EBADMSG;
    *ret_q = (struct vrt_rational){ wire->num, wire->den };
    return 0;
}

/* Whether `value` is one of 0 to `end` - 1. */
static bool is_below(int32_t value, int32_t end)
{
    return value >= 0 && value < end;
}

int vrt_wire_take_format(const struct vrt_message_format *wire,
                         struct vrt_frame_format *ret_format)
{
    if (!is_below(wire->layout, VRT_LAYOUT_COUNT) ||
        !is_below(wire->matrix, VRT_FRAME_MATRIX_COUNT) || !is_below(wire->full_range, 2) ||
        wire->chroma_location < VRT_CHROMA_LOCATION_LEFT ||
        wire->chroma_location > VRT_CHROMA_LOCATION_BOTTOM ||
        !is_below(wire->primaries, 256) || !is_below(wire->transfer, 256) ||
        !is_below(wire->color_space, 256) || !is_below(wire->has_alpha, 2))
        return -EBADMSG;
    const struct vrt_frame_format format = {
        .width = wire->width,
        .height = wire->height,
        .depth = wire->depth,
        .layout = (enum vrt_layout)wire->layout,
        .chroma_shift_x = wire->chroma_shift_x,
        .chroma_shift_y = wire->chroma_shift_y,
        .matrix = (enum vrt_matrix)wire->matrix,
        .full_range = wire->full_range,
        .chroma_location = (enum vrt_chroma_location)wire->chroma_location,
        .primaries = wire->primaries,
        .transfer = wire->transfer,
        .color_space = wire->color_space,
        .has_alpha = wire->has_alpha,
    };
    struct vrt_rational aspect;
    struct vrt_hdr hdr;
    if (!vrt_frame_format_is_valid(&format) || vrt_wire_take_hdr(&wire->hdr, &hdr) < 0 ||
        vrt_wire_take_rational(&wire->sample_aspect, true, &aspect) < 0)
        return -EBADMSG;
    *ret_format = format;
    ret_format->sample_aspect = aspect;
    ret_format->hdr = hdr;
    return 0;
}

/* Whether there is an end of the text in it. */
static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size);
}

int vrt_wire_take_warnings(const struct vrt_message_warnings *wire, struct vrt_warnings *warnings)
{
    char shown[sizeof(wire->sentences[0])];

    if (wire->n < 0 || wire->n > VRT_WARNINGS_MAX || wire->n_lost < 0 || wire->n_lost > COUNT_MAX)
        return -EBADMSG;
    for (int i = 0; i < wire->n; i++)
        if (!is_text(wire->sentences[i], sizeof(wire->sentences[i])))
            return -EBADMSG;
    for (int i = 0; i < wire->n; i++)
        vrt_warnings_add(warnings, "%s", vrt_printable(wire->sentences[i], shown, sizeof(shown)));
    warnings->n_lost += wire->n_lost;
    return 0;
}

static int take_stream(const struct vrt_stream_info *wire, struct vrt_stream_info *ret_info)
{
    const int32_t counts[] = {
        wire->width, wire->height, wire->fps_num, wire->sample_rate, wire->channels,
    };
    bool is_sane = is_below(wire->kind, VRT_STREAM_KIND_COUNT) &&
                   is_below(wire->fate, VRT_STREAM_FATE_COUNT) && wire->fps_den > 0 &&
                   wire->bitrate >= 0 && wire->bitrate <= VRT_WIRE_NUMBER_MAX &&
                   is_text(wire->codec, sizeof(wire->codec)) &&
                   is_text(wire->language, sizeof(wire->language)) &&
                   is_text(wire->title, sizeof(wire->title)) &&
                   is_text(wire->disposition, sizeof(wire->disposition));

    for (size_t i = 0; i < VRT_ARRAY_SIZE(counts); i++)
        is_sane &= counts[i] >= 0;
    if (!is_sane)
        return -EBADMSG;
    *ret_info = *wire;
    vrt_printable(wire->codec, ret_info->codec, sizeof(ret_info->codec));
    vrt_printable(wire->language, ret_info->language, sizeof(ret_info->language));
    vrt_printable(wire->title, ret_info->title, sizeof(ret_info->title));
    vrt_printable(wire->disposition, ret_info->disposition, sizeof(ret_info->disposition));
    return 0;
}

int vrt_wire_take_stream_list(const struct vrt_stream_list *wire, struct vrt_stream_list *ret_list)
{
    if (wire->n_all < 0 || wire->n_all > COUNT_MAX)
        return -EBADMSG;
    for (int i = 0; i < vrt_stream_list_n(wire); i++)
        if (take_stream(&wire->streams[i], &ret_list->streams[i]) < 0)
            return -EBADMSG;
    ret_list->n_all = wire->n_all;
    return 0;
}

/* Numbers of an info: each in its range. */
static bool is_info_sane(const struct vrt_message_info *wire)
{
    const int32_t flags[] = { wire->variable_rate, wire->interlaced, wire->truncated,
                              wire->is_by_duration, wire->has_display_matrix, wire->is_still,
                              wire->has_alpha, wire->can_go_on };
    const int32_t counts[] = { wire->n_audio, wire->n_subtitles, wire->n_attachments,
                               wire->n_chapters, wire->n_covers };
    const int64_t unknown_or[] = { wire->duration_ns, wire->n_frames_estimate };
    const int64_t known[] = { wire->n_frames, wire->n_concealed, wire->n_missing,
                              wire->n_decoded };
    bool is_sane = is_below(wire->rotation_degrees, 360) &&
                   is_below(wire->tonemap, VRT_TONEMAP_COUNT) &&
                   is_below(wire->deinterlace, VRT_DEINTERLACE_COUNT) &&
                   wire->deinterlace != VRT_DEINTERLACE_AUTO &&
                   is_below(wire->field_order, VRT_FIELD_ORDER_COUNT) &&
                   is_text(wire->container, sizeof(wire->container)) &&
                   is_text(wire->codec, sizeof(wire->codec)) &&
                   is_text(wire->pixel_format, sizeof(wire->pixel_format));

    for (size_t i = 0; i < VRT_ARRAY_SIZE(flags); i++)
        is_sane &= is_below(flags[i], 2);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(counts); i++)
        is_sane &= counts[i] >= 0;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(unknown_or); i++)
        is_sane &= unknown_or[i] >= -1 && unknown_or[i] <= VRT_WIRE_NUMBER_MAX;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        is_sane &= known[i] >= 0 && known[i] <= VRT_WIRE_NUMBER_MAX;
    return is_sane;
}

int vrt_wire_take_info(const struct vrt_message_info *wire, struct vrt_reader_info *ret_info)
{
    struct vrt_reader_info info = {
        .variable_rate = wire->variable_rate,
        .interlaced = wire->interlaced,
        .truncated = wire->truncated,
        .is_still = wire->is_still,
        .has_alpha = wire->has_alpha,
        .has_display_matrix = wire->has_display_matrix,
        .rotation_degrees = wire->rotation_degrees,
        .tonemap = (enum vrt_tonemap)wire->tonemap,
        .fields = {
            (enum vrt_deinterlace)wire->deinterlace,
            (enum vrt_field_order)wire->field_order,
        },
        .n_audio = wire->n_audio,
        .n_subtitles = wire->n_subtitles,
        .n_attachments = wire->n_attachments,
        .n_chapters = wire->n_chapters,
        .n_covers = wire->n_covers,
        .duration_ns = wire->duration_ns,
        .n_frames_estimate = wire->n_frames_estimate,
        .is_by_duration = wire->is_by_duration,
        .n_frames = wire->n_frames,
        .n_concealed = wire->n_concealed,
        .n_missing = wire->n_missing,
        .n_decoded = wire->n_decoded,
        .can_go_on = wire->can_go_on,
    };

    if (!is_info_sane(wire) || vrt_wire_take_format(&wire->format, &info.format) < 0 ||
        vrt_wire_take_rational(&wire->time_base, false, &info.time_base) < 0 ||
        vrt_wire_take_rational(&wire->fps, true, &info.fps) < 0 ||
        vrt_wire_take_warnings(&wire->warnings, &info.warnings) < 0)
        return -EBADMSG;
    vrt_printable(wire->container, info.container, sizeof(info.container));
    vrt_printable(wire->codec, info.codec, sizeof(info.codec));
    vrt_printable(wire->pixel_format, info.pixel_format, sizeof(info.pixel_format));
    memcpy(info.concealed, wire->concealed, sizeof(info.concealed));
    *ret_info = info;
    return 0;
}

int vrt_wire_take_encoder(struct vrt_message_encoder *wire, struct vrt_encoder_params *ret_params)
{
    struct vrt_encoder_params params = { .quality = wire->quality, .n_threads = wire->n_threads };

    if (!is_below(wire->codec, VRT_CODEC_COUNT) || !is_below(wire->hwaccel, VRT_HWACCEL_COUNT) ||
        wire->hwaccel == VRT_HWACCEL_AUTO || !is_text(wire->preset, sizeof(wire->preset)) ||
        !is_text(wire->options, sizeof(wire->options)) ||
        vrt_wire_take_format(&wire->format, &params.format) < 0 ||
        vrt_wire_take_rational(&wire->time_base, false, &params.time_base) < 0 ||
        vrt_wire_take_rational(&wire->fps, true, &params.fps) < 0)
        return -EBADMSG;
    params.codec = (enum vrt_codec)wire->codec;
    params.preset = wire->has_preset ? wire->preset : NULL;
    params.bitrate = wire->bitrate;
    params.max_bitrate = wire->max_bitrate;
    params.hwaccel = (enum vrt_hwaccel)wire->hwaccel;
    params.options = wire->options;
    *ret_params = params;
    return 0;
}

int vrt_wire_take_found(const struct vrt_message_found *wire, struct vrt_codec_found *ret_found)
{
    if (!is_text(wire->encoders, sizeof(wire->encoders)) ||
        !is_text(wire->pixel_formats, sizeof(wire->pixel_formats)))
        return -EBADMSG;
    vrt_printable(wire->encoders, ret_found->encoders, sizeof(ret_found->encoders));
    vrt_printable(wire->pixel_formats, ret_found->pixel_formats,
                  sizeof(ret_found->pixel_formats));
    return 0;
}

int vrt_wire_take_result(const struct vrt_message *message, int outcome_max,
                         struct vrt_error *error)
{
    char shown[sizeof(message->error)];
    const char *id = "internal";

    if (message->result >= 0)
        return message->result <= outcome_max ? message->result : -EBADMSG;
    if (message->result < -ERRNO_MAX || !is_text(message->error_id, sizeof(message->error_id)) ||
        !is_text(message->error, sizeof(message->error)) || !message->error[0])
        return -EBADMSG;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(ids); i++)
        if (strcmp(ids[i], message->error_id) == 0)
            id = ids[i];
    return vrt_refuse(error, message->result, id, "%s",
                      vrt_printable(message->error, shown, sizeof(shown)));
}
