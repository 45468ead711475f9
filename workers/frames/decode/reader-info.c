/* SPDX-License-Identifier: MIT */

/* What is told of a video is told once here, in the container's words and then in ours. */

#include "frames/decode/reader-info.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/display.h>
#include <libavutil/intfloat.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frames/alpha.h"
#include "frames/av.h"
#include "frames/decode/side-data.h"
#include "frames/metadata/crop.h"
#include "frames/metadata/hdr.h"
#include "frames/pixfmt.h"

/* "mov,mp4,m4a,3gp,3g2,mj2" is one demuxer: the file's brand says which of them it is. */
static void name_container(struct vrt_reader_info *info, const AVFormatContext *format)
{
    const AVDictionaryEntry *brand = av_dict_get(format->metadata, "major_brand", NULL, 0);
    const char *name = format->iformat->name;

    if (av_match_name("mov", name) && brand)
        name = strncmp(brand->value, "qt", 2) == 0 ? "mov" : "mp4";
    av_strlcpy(info->container, name, sizeof(info->container));
    info->container[strcspn(info->container, ",")] = '\0';
}

/* FFmpeg has a demuxer for each kind of picture: png_pipe, jpeg_pipe, ... */
static bool is_still(const AVInputFormat *demuxer)
{
    static const char ending[] = "_pipe";
    const size_t n = strlen(demuxer->name);

    return n > sizeof(ending) && strcmp(demuxer->name + n + 1 - sizeof(ending), ending) == 0;
}

/* Of those that go on. */
static void count_streams(struct vrt_reader_info *info, const struct vrt_source *source)
{
    const AVFormatContext *format = source->format;

    for (unsigned int i = 0; i < source->n_streams; i++) {
        const AVStream *stream = format->streams[i];
        if (!vrt_source_has(source, i))
            continue;
        switch (stream->codecpar->codec_type) {
        case AVMEDIA_TYPE_AUDIO:
            info->n_audio++;
            break;
        case AVMEDIA_TYPE_SUBTITLE:
            info->n_subtitles++;
            break;
        case AVMEDIA_TYPE_ATTACHMENT:
            info->n_attachments++;
            break;
        case AVMEDIA_TYPE_VIDEO:
            info->n_covers += !!(stream->disposition & AV_DISPOSITION_ATTACHED_PIC);
            break;
        default:
            break;
        }
    }
    info->n_chapters = (int)format->nb_chapters;
}

/* The index knows best; then what the muxer counted; then duration times rate. */
static int64_t estimate_frames(struct vrt_reader_info *info, const AVStream *stream)
{
    const AVDictionaryEntry *tag = NULL;

    if (stream->nb_frames > 0)
        return stream->nb_frames;
    /* Matroska's statistics; the name may carry a language: NUMBER_OF_FRAMES-eng. */
    tag = av_dict_get(stream->metadata, "NUMBER_OF_FRAMES", NULL, AV_DICT_IGNORE_SUFFIX);
    const int64_t n_counted = tag ? strtoll(tag->value, NULL, 10) : 0;
    if (n_counted > 0)
        return n_counted;
    if (info->duration_ns <= 0 || info->fps.num <= 0)
        return -1;
    info->is_by_duration = true;
    return av_rescale(info->duration_ns, info->fps.num, info->fps.den * 1000000000LL);
}

/* Rate and duration; neither is to be relied on, which is why frames are counted at the end. */
static void fill_rates(struct vrt_reader_info *info, const AVFormatContext *format,
                       const AVStream *stream)
{
    AVRational average = stream->avg_frame_rate, base = stream->r_frame_rate;
    bool has_average = average.num > 0 && average.den > 0;
    bool has_base = base.num > 0 && base.den > 0;

    info->time_base = vrt_av_rational(stream->time_base);
    info->fps = has_average ? vrt_av_rational(average)
                : has_base  ? vrt_av_rational(base)
                            : (struct vrt_rational){ 0, 1 };
    /* The base rate is one in which all time stamps fit: of fields where the video has fields. */
    if (has_average && has_base) {
        double ratio = av_q2d(base) / av_q2d(average);
        info->variable_rate = fabs(ratio - 1) > 0.01 && fabs(ratio - 2) > 0.02;
    }
    if (stream->duration > 0)
        info->duration_ns = vrt_av_ns(stream->duration, stream->time_base);
    else if (format->duration > 0)
        info->duration_ns = vrt_av_ns(format->duration, AV_TIME_BASE_Q);
    else
        info->duration_ns = -1;
}

/* What the container says of the video, and the output's won't. */
static void fill_dropped(struct vrt_reader_info *info, const struct vrt_source *source,
                         const AVStream *stream)
{
    const AVDictionaryEntry *alpha = av_dict_get(stream->metadata, "alpha_mode", NULL, 0);
    const struct vrt_crop all = { stream->codecpar->width, stream->codecpar->height };
    struct vrt_crop crop;

    if (alpha && strcmp(alpha->value, "0") != 0)
        info->has_alpha = true;
    if (source->size_bytes >= 0 &&
        vrt_crop_find(source->fd, source->size_bytes, source->format->iformat->name, all, &crop))
        vrt_warnings_add(&info->warnings, "the container has %d x %d of the video's %d x %d pixels "
                         "shown: all are restored, and the result shows all",
                         crop.width, crop.height, all.width, all.height);
}

void vrt_reader_info_fill(struct vrt_reader_info *info, const struct vrt_source *source,
                          const AVStream *stream)
{
    const AVFormatContext *format = source->format;
    size_t size = 0;

    name_container(info, format);
    av_strlcpy(info->codec, avcodec_get_name(stream->codecpar->codec_id), sizeof(info->codec));
    count_streams(info, source);
    fill_rates(info, format, stream);
    info->is_still = is_still(format->iformat);
    info->n_frames_estimate = info->is_still ? 1 : estimate_frames(info, stream);
    info->truncated = source->truncated;
    fill_dropped(info, source, stream);

    const uint8_t *matrix = vrt_av_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    if (matrix && size >= 9 * sizeof(int32_t)) {
        int32_t values[9];
        memcpy(values, matrix, sizeof(values));
        double clockwise = -av_display_rotation_get(values);
        info->has_display_matrix = true;
        if (isfinite(clockwise))
            info->rotation_degrees = ((int)lrint(clockwise) % 360 + 360) % 360;
    }
}

/* Whether colours are floats of 32 bits, some of them outside of 0 to 1, or no numbers at all. */
static bool has_bright_floats(const AVFrame *frame)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
    bool has_some = false;

    if (!desc || !(desc->flags & AV_PIX_FMT_FLAG_FLOAT) || desc->comp[0].depth != 32 ||
        desc->comp[0].step != sizeof(float) || desc->flags & AV_PIX_FMT_FLAG_BE)
        return false;
    for (int i = 0; i < VRT_MIN(desc->nb_components, 3); i++) {
        const uint8_t *row = frame->data[i];
        for (int y = 0; y < frame->height; y++, row += frame->linesize[i])
            for (int x = 0; x < frame->width; x++) {
                const float value = av_int2float(AV_RL32(row + sizeof(float) * (size_t)x));
                has_some |= !(value >= 0 && value <= 1);
            }
    }
    return has_some;
}

static bool has_fields(enum AVFieldOrder order)
{
    return order != AV_FIELD_PROGRESSIVE && order != AV_FIELD_UNKNOWN;
}

void vrt_reader_info_note_fields(const AVStream *stream, const AVFrame *decoded,
                                 struct vrt_frame *frame)
{
    const enum AVFieldOrder order = stream->codecpar->field_order;
    bool is_flagged = vrt_av_frame_is_interlaced(decoded);

    frame->interlaced = is_flagged || has_fields(order);
    frame->top_first = is_flagged ? vrt_av_frame_is_top_first(decoded) :
                                    order == AV_FIELD_TT || order == AV_FIELD_BT;
}

void vrt_reader_info_deinterlace(struct vrt_reader_info *info, const struct vrt_fields *fields)
{
    /* Parts of a tick, and frames that become of others. */
    static const struct {
        int n_ticks, n_out, n_in;
    } kinds[VRT_DEINTERLACE_COUNT] = {
        [VRT_DEINTERLACE_FIELD] = { 2, 2, 1 },
        [VRT_DEINTERLACE_TELECINE] = { 4, 4, 5 },
    };
    const int n_ticks = kinds[fields->deinterlace].n_ticks;
    const AVRational share = { kinds[fields->deinterlace].n_out, kinds[fields->deinterlace].n_in };

    info->fields = *fields;
    if (!n_ticks)
        return;
    info->time_base = vrt_av_rational(av_mul_q(vrt_rational_av(info->time_base),
                                               (AVRational){ 1, n_ticks }));
    info->fps = vrt_av_rational(av_mul_q(vrt_rational_av(info->fps), share));
    /* What is left of a film's last five frames stays. */
    if (info->n_frames_estimate > 0)
        info->n_frames_estimate = info->n_frames_estimate / share.den * share.num +
                                  info->n_frames_estimate % share.den;
}

/* Return: as vrt_reader_info_filter(). */
static int open_deinterlacer(struct vrt_reader_info *info, const struct vrt_fields *fields,
                             const char *name, struct vrt_deinterlacer **ret_deinterlacer,
                             struct vrt_error *error)
{
    if (fields->deinterlace == VRT_DEINTERLACE_OFF)
        return 0;
    int r = vrt_deinterlacer_new(&info->format, fields, ret_deinterlacer);
    if (r == -ENOTSUP)
        return vrt_fold(vrt_deinterlacer_refuse(&info->format, fields, info->pixel_format, error));
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), name);
    vrt_reader_info_deinterlace(info, fields);
    return 0;
}

/* Return: as vrt_reader_info_filter(). */
static int open_tonemapper(struct vrt_reader_info *info, enum vrt_tonemap how, const char *name,
                           struct vrt_tonemapper **ret_tonemapper, struct vrt_error *error)
{
    if (how == VRT_TONEMAP_OFF)
        return 0;
    if (!vrt_tonemapper_is_hdr(&info->format)) {
        vrt_warnings_add(&info->warnings, "the input isn't HDR (its transfer is neither PQ nor "
                         "HLG): there is nothing for tonemap to do");
        return 0;
    }
    int r = vrt_tonemapper_new(&info->format, how, ret_tonemapper);
    if (r == -ENOTSUP)
        return vrt_refuse(error, vrt_raise(r), "input.unsupported",
                          "%s cannot become SDR: FFmpeg's filters zscale and tonemap are missing "
                          "here, or take no frames of %dx%d in the pixel format %s", name,
                          info->format.width, info->format.height, info->pixel_format);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), name);
    info->tonemap = how;
    info->format = vrt_tonemapper_format(&info->format);
    return 0;
}

int vrt_reader_info_filter(struct vrt_reader_info *info, const struct vrt_reader_params *params,
                           struct vrt_deinterlacer **ret_deinterlacer,
                           struct vrt_tonemapper **ret_tonemapper, struct vrt_error *error)
{
    const char *name = params->name ? params->name : "the input";
    int r = open_deinterlacer(info, &params->fields, name, ret_deinterlacer, error);

    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(open_tonemapper(info, params->tonemap, name, ret_tonemapper, error));
}

/* What is true of all frames, and not known by samples alone. */
static void complete_format(struct vrt_frame_format *format, const struct vrt_reader_watch *watch,
                            AVFrame *frame)
{
    /* The container's, where it has one: players believe it, and so does who has corrected it. */
    AVRational aspect = av_guess_sample_aspect_ratio(watch->source->format, watch->stream, frame);

    /* What OpenEXR is, though FFmpeg's decoder doesn't say so. */
    if (watch->stream->codecpar->codec_id == AV_CODEC_ID_EXR)
        format->transfer = AVCOL_TRC_LINEAR;
    if (aspect.num > 0 && aspect.den > 0)
        av_reduce(&aspect.num, &aspect.den, aspect.num, aspect.den, INT_MAX);
    else
        aspect = (AVRational){ 0, 1 };
    format->sample_aspect = vrt_av_rational(aspect);
    vrt_hdr_read(watch->stream, frame, &format->hdr);
}

/* What a first frame tells beside its format. */
static void look(struct vrt_reader_info *info, const struct vrt_reader_watch *watch,
                 const AVFrame *frame)
{
    const char *pixel_format = av_get_pix_fmt_name(frame->format);

    av_strlcpy(info->pixel_format, pixel_format ? pixel_format : "",
               sizeof(info->pixel_format));
    info->interlaced = has_fields(watch->stream->codecpar->field_order) ||
                       vrt_av_frame_is_interlaced(frame);
    /* Many pictures have room for it, and nothing there. */
    info->has_alpha |= info->is_still ? vrt_alpha_shows(frame)
                                      : vrt_pixfmt_has_alpha(frame->format);
    if (info->format.chroma_shift_y && info->format.chroma_location > VRT_CHROMA_LOCATION_TOP_LEFT)
        vrt_warnings_add(&info->warnings, "chroma lies at the %s of its luma samples, where the "
                         "networks' colours are not made from: it is taken as if on the left",
                         av_chroma_location_name((enum AVChromaLocation)
                                                 info->format.chroma_location));
    if (has_bright_floats(frame))
        vrt_warnings_add(&info->warnings, "values over 1 (white), below 0, or that are none (NaN), "
                         "are cut off");
    if (info->format.layout == VRT_LAYOUT_YUV &&
        (frame->colorspace == AVCOL_SPC_YCGCO || frame->colorspace == AVCOL_SPC_ICTCP))
        vrt_warnings_add(&info->warnings, "the colour system %s is not known to the networks: they "
                         "see the colours off, and the result may suffer",
                         av_color_space_name(frame->colorspace));
}

bool vrt_reader_info_is_news(struct vrt_reader_watch *watch, unsigned int what)
{
    bool was_said = watch->said & 1u << what;

    watch->said |= 1u << what;
    return !was_said;
}

/* Whether both are known and differ. */
static bool differs(int now, int first, int unknown)
{
    return now != unknown && first != unknown && now != first;
}

static void watch_aspect(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                         AVFrame *frame, int64_t index)
{
    const struct vrt_rational first = info->format.sample_aspect;
    AVRational now = av_guess_sample_aspect_ratio(watch->source->format, watch->stream, frame);

    if (now.num > 0 && first.num > 0 && av_cmp_q(now, vrt_rational_av(first)) != 0 &&
        vrt_reader_info_is_news(watch, VRT_READER_SAYS_ASPECT))
        vrt_warnings_add(&info->warnings, "the aspect ratio changes at frame %lld, from pixels of "
                         "%d:%d to %d:%d, and the output keeps the first: split the input there "
                         "to have both", (long long)index, first.num, first.den, now.num, now.den);
}

static void watch_colours(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                          const AVFrame *frame, int64_t index)
{
    if ((differs(frame->colorspace, watch->first_space, AVCOL_SPC_UNSPECIFIED) ||
         differs(frame->color_range, watch->first_range, AVCOL_RANGE_UNSPECIFIED)) &&
        vrt_reader_info_is_news(watch, VRT_READER_SAYS_COLOUR))
        vrt_warnings_add(&info->warnings, "the coding of colours changes at frame %lld, from %s "
                         "(%s) to %s (%s), and is taken as it was: split the input there to have "
                         "both", (long long)index, av_color_space_name(watch->first_space),
                         av_color_range_name(watch->first_range),
                         av_color_space_name(frame->colorspace),
                         av_color_range_name(frame->color_range));
}

void vrt_reader_info_watch(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                           AVFrame *frame, int64_t index)
{
    vrt_side_data_watch(info, watch, frame, index);
    if (index == 0) {
        watch->first_space = frame->colorspace;
        watch->first_range = frame->color_range;
        return;
    }
    watch_aspect(info, watch, frame, index);
    watch_colours(info, watch, frame, index);
    if (!info->interlaced && !info->fields.deinterlace && vrt_av_frame_is_interlaced(frame) &&
        vrt_reader_info_is_news(watch, VRT_READER_SAYS_INTERLACED))
        vrt_warnings_add(&info->warnings, "the video is interlaced from frame %lld on and is "
                         "restored as if it were not: --deinterlace frame makes whole frames",
                         (long long)index);
}

int vrt_reader_info_begin(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                          AVFrame *frame, struct vrt_error *error)
{
    const AVCodecParameters *par = watch->stream->codecpar;

    watch->first_pixfmt = frame->format;
    if (vrt_pixfmt_of_frame(frame, par, &info->format) < 0 ||
        !vrt_frame_format_is_valid(&info->format))
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.unsupported",
                          "%s has frames that cannot be processed: %dx%d in the pixel format %s",
                          watch->source->name, frame->width, frame->height,
                          av_get_pix_fmt_name(frame->format));
    /* Of what is none already nothing else is made. */
    watch->drops_hdr &= vrt_tonemapper_is_hdr(&info->format);
    int r = vrt_side_data_check(info, watch, frame, error);
    if (r < 0)
        return vrt_fold(r);
    complete_format(&info->format, watch, frame);
    look(info, watch, frame);
    vrt_reader_info_watch(info, watch, frame, 0);
    return 0;
}

int vrt_reader_info_check_frame(const struct vrt_reader_info *info,
                                const struct vrt_reader_watch *watch, const AVFrame *frame,
                                int64_t index, struct vrt_error *error)
{
    const struct vrt_frame_format *format = &info->format;
    const char *name = watch->source->name;

    if (frame->width != format->width || frame->height != format->height)
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.changed",
                          "%s changes from %dx%d to %dx%d at frame %lld: split it there and "
                          "restore the parts one by one", name, format->width, format->height,
                          frame->width, frame->height, (long long)index);
    if (frame->format != (int)watch->first_pixfmt && !watch->is_alpha)
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.changed",
                          "%s changes its pixel format from %s to %s at frame %lld: split it "
                          "there and restore the parts one by one", name,
                          av_get_pix_fmt_name(watch->first_pixfmt),
                          av_get_pix_fmt_name(frame->format), (long long)index);
    return 0;
}

int vrt_reader_info_refuse_damage(const struct vrt_reader_watch *watch,
                                  const struct vrt_reader_times *times, int64_t index,
                                  struct vrt_error *error)
{
    const double last_s = (double)times->last_pts * av_q2d(times->time_base);

    return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged",
                      "%s is damaged at frame %lld (about %.2f s): without strict mode it would "
                      "be concealed", watch->source->name, (long long)index, index ? last_s : 0.0);
}

void vrt_reader_info_count(struct vrt_reader_info *info, struct vrt_frame *frame)
{
    frame->index = info->n_frames++;
    if (!frame->concealed)
        return;
    if (info->n_concealed < VRT_READER_MAX_CONCEALED)
        info->concealed[info->n_concealed] = frame->index;
    info->n_concealed++;
}

/* Lists the concealed frames, if there are any. */
static void list_concealed(struct vrt_reader_info *info)
{
    int64_t n_listed = VRT_MIN(info->n_concealed, VRT_READER_MAX_CONCEALED);
    char list[160] = "";
    size_t used = 0;
    int64_t i = 0;

    if (!info->n_concealed)
        return;
    /* Neighbours are written as a range: "5, 20-25". */
    while (i < n_listed && used < sizeof(list) - 48) {
        int64_t end = i;
        while (end + 1 < n_listed && info->concealed[end + 1] == info->concealed[end] + 1)
            end++;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%lld", i ? ", " : "",
                                 (long long)info->concealed[i]);
        if (end > i)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "-%lld",
                                     (long long)info->concealed[end]);
        i = end + 1;
    }
    vrt_warnings_add(&info->warnings, "%lld damaged frame%s concealed: %s%s",
                     (long long)info->n_concealed, info->n_concealed == 1 ? " was" : "s were",
                     list, i < info->n_concealed ? ", ..." : "");
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* What there are no pictures of. */
static void tell_lost(struct vrt_reader_info *info, const struct vrt_reader_end *end)
{
    const double end_s = vrt_reader_times_end_s(end->times);

    if (end->is_broken)
        vrt_warnings_add(&info->warnings, "the input cannot be read beyond frame %lld (%.2f s): "
                         "the rest is damaged and was left out", (long long)end->n_decoded,
                         end_s);
    if (end->is_cut_off)
        vrt_warnings_add(&info->warnings, "the input ends after %lld frame%s (%.2f s), where it "
                         "is cut off", (long long)end->n_decoded, plural(end->n_decoded), end_s);
    if (info->n_missing)
        vrt_warnings_add(&info->warnings, "%lld frame%s could not be decoded at all and left a "
                         "gap, the first near %.2f s", (long long)info->n_missing,
                         plural(info->n_missing),
                         (double)end->first_missing * av_q2d(end->times->time_base));
}

void vrt_reader_info_sum_up(struct vrt_reader_info *info, const struct vrt_reader_end *end)
{
    const struct vrt_reader_times *times = end->times;

    tell_lost(info, end);
    list_concealed(info);
    if (end->has_late)
        vrt_warnings_add(&info->warnings, "other streams of pictures or sound begin in the midst "
                         "of the input, as where different recordings were joined, and are left "
                         "out: split it there");
    if (end->n_jumps)
        vrt_warnings_add(&info->warnings, "the input's clock jumps %lld time%s, as where "
                         "recordings were joined: what follows each is joined on without a gap",
                         (long long)end->n_jumps, plural(end->n_jumps));
    if (times->n_undated == end->n_decoded)
        vrt_warnings_add(&info->warnings, "the input has no time stamps: its frames are taken to "
                         "follow each other at %.3f a second",
                         1 / ((double)times->last_duration * av_q2d(times->time_base)));
    else if (times->n_repaired)
        vrt_warnings_add(&info->warnings, "the time stamps of %lld frame%s were missing or not "
                         "increasing and have been repaired, the first at frame %lld",
                         (long long)times->n_repaired, plural(times->n_repaired),
                         (long long)times->first_repaired);
}
