/* SPDX-License-Identifier: MIT */

/*
 * First a plan is made of the input's streams alone, so that it can be told before any work is
 * done; then the output's streams are made of the plan.
 */

#include "frames/join/join-streams.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>

#include "frames/av.h"
#include "frames/encode/codec.h"
#include "frames/metadata/hdr.h"
#include "frames/pixfmt.h"
#include "frames/join/join-caps.h"
#include "frames/streams/copied.h"
#include "frames/join/tags.h"
#include "frames/streams/stream-info.h"

static const struct {
    const char *muxer;
    enum AVCodecID subtitles;           /* its kind of text subtitles */
} containers[VRT_CONTAINER_COUNT] = {
    [VRT_CONTAINER_MP4] = { "mp4", AV_CODEC_ID_MOV_TEXT },
    [VRT_CONTAINER_MOV] = { "mov", AV_CODEC_ID_MOV_TEXT },
    [VRT_CONTAINER_MKV] = { "matroska", AV_CODEC_ID_SUBRIP },
    [VRT_CONTAINER_WEBM] = { "webm", AV_CODEC_ID_WEBVTT },
    [VRT_CONTAINER_TS] = { "mpegts", AV_CODEC_ID_NONE },
    [VRT_CONTAINER_MXF] = { "mxf", AV_CODEC_ID_NONE },
    [VRT_CONTAINER_GIF] = { "gif", AV_CODEC_ID_NONE },
    [VRT_CONTAINER_APNG] = { "apng", AV_CODEC_ID_NONE },
};

/* What a transport stream holds, which FFmpeg doesn't say of it. */
static const enum AVCodecID held_by_ts[] = {
    AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,
    AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AAC, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3,
    AV_CODEC_ID_DTS, AV_CODEC_ID_OPUS, AV_CODEC_ID_DVB_SUBTITLE, AV_CODEC_ID_DVB_TELETEXT,
};

const AVOutputFormat *vrt_join_muxer(enum vrt_container container)
{
    return av_guess_format(containers[container].muxer, NULL, NULL);
}

/* Beside the restored video, packet by packet. Experimental combinations count: FLAC in MP4 has
 * been one for years, and plays. */
static bool holds(enum vrt_container container, const AVStream *in)
{
    const AVOutputFormat *muxer = vrt_join_muxer(container);
    const enum AVCodecID id = in->codecpar->codec_id;

    for (size_t i = 0; container == VRT_CONTAINER_TS && i < VRT_ARRAY_SIZE(held_by_ts); i++)
        if (held_by_ts[i] == id)
            return true;
    if (container == VRT_CONTAINER_TS || container == VRT_CONTAINER_MXF ||
        vrt_container_is_animation(container))
        return false;
    return muxer && id != AV_CODEC_ID_NONE &&
           avformat_query_codec(muxer, id, FF_COMPLIANCE_EXPERIMENTAL) == 1 &&
           vrt_copied_fits(in, muxer);
}

/* What MP4 and Matroska take for cover art. */
static bool is_picture(enum AVCodecID id)
{
    return id == AV_CODEC_ID_MJPEG || id == AV_CODEC_ID_PNG || id == AV_CODEC_ID_BMP;
}

/* Attached files, and streams of neither pictures, sound nor text. */
static enum vrt_join_kind decide_data(const AVStream *in, enum vrt_container container)
{
    enum AVMediaType type = in->codecpar->codec_type;

    if (type == AVMEDIA_TYPE_ATTACHMENT)
        return container == VRT_CONTAINER_MKV ? VRT_JOIN_COPIED : VRT_JOIN_LEFT_OUT;
    return type == AVMEDIA_TYPE_DATA && holds(container, in)
               ? VRT_JOIN_COPIED : VRT_JOIN_LEFT_OUT;
}

/* What `container` can make of a stream that is not the restored one. */
static enum vrt_join_kind decide(const AVStream *in, enum vrt_container container)
{
    enum AVCodecID id = in->codecpar->codec_id;

    switch (in->codecpar->codec_type) {
    case AVMEDIA_TYPE_VIDEO:
        if (!(in->disposition & AV_DISPOSITION_ATTACHED_PIC))
            return holds(container, in) ? VRT_JOIN_COPIED : VRT_JOIN_LEFT_OUT;
        if (!is_picture(id) || !in->attached_pic.size)
            return VRT_JOIN_LEFT_OUT;
        return container == VRT_CONTAINER_MP4   ? VRT_JOIN_COVER
               : container == VRT_CONTAINER_MKV ? VRT_JOIN_ATTACHED
                                                : VRT_JOIN_LEFT_OUT;
    case AVMEDIA_TYPE_AUDIO:
        if (container == VRT_CONTAINER_MXF)
            return vrt_sound_fits(in->codecpar) ? VRT_JOIN_CUT : VRT_JOIN_LEFT_OUT;
        return holds(container, in) ? VRT_JOIN_COPIED : VRT_JOIN_LEFT_OUT;
    case AVMEDIA_TYPE_SUBTITLE:
        if (holds(container, in))
            return VRT_JOIN_COPIED;
        return vrt_subtitle_is_text(id) && avcodec_find_decoder(id) &&
                       avcodec_find_encoder(containers[container].subtitles)
                   ? VRT_JOIN_CONVERTED : VRT_JOIN_LEFT_OUT;
    default:
        return decide_data(in, container);
    }
}

static bool is_wanted(const AVStream *in, enum vrt_join_care care)
{
    return care == VRT_JOIN_EVERYTHING ||
           (care == VRT_JOIN_PICTURE_AND_SOUND && in->codecpar->codec_type == AVMEDIA_TYPE_AUDIO);
}

/* Streams whose content comes back by another way: chapters, which QuickTime has as text, and the
 * time code from its tag. */
static bool is_made_anew(const AVStream *in)
{
    const unsigned int tag = in->codecpar->codec_tag;

    return in->codecpar->codec_type == AVMEDIA_TYPE_DATA &&
           (tag == MKTAG('t', 'm', 'c', 'd') || tag == MKTAG('t', 'e', 'x', 't') ||
            tag == MKTAG('t', 'x', '3', 'g'));
}

/* Names the stream and, where there is one, the container that would keep it. */
static void warn_left_out(const struct vrt_join_stream *stream, enum vrt_container container,
                          struct vrt_warnings *warnings)
{
    static const enum vrt_container cures[] = { VRT_CONTAINER_MKV, VRT_CONTAINER_MP4,
                                                VRT_CONTAINER_MOV, VRT_CONTAINER_TS };
    const AVCodecParameters *par = stream->in->codecpar;
    const char *type = av_get_media_type_string(par->codec_type);
    bool cover = stream->in->disposition & AV_DISPOSITION_ATTACHED_PIC;
    char cure[40] = "";

    for (size_t i = 0; !cure[0] && i < VRT_ARRAY_SIZE(cures); i++)
        if (cures[i] != container && decide(stream->in, cures[i]) != VRT_JOIN_LEFT_OUT)
            snprintf(cure, sizeof(cure), ": name the output .%s to keep it",
                     vrt_container_name(cures[i]));
    vrt_warnings_add(warnings, "%s stream %d (%s) cannot be kept in .%s%s",
                     cover ? "cover art" : type ? type : "unknown", stream->in->index,
                     avcodec_get_name(par->codec_id), vrt_container_name(container), cure);
}

/* What becomes of stream `i`. `attached_bytes` grows with what is attached. */
static void plan_stream(struct vrt_join_streams *plan, int i, enum vrt_join_care care,
                        int64_t *attached_bytes, struct vrt_warnings *warnings)
{
    struct vrt_join_stream *stream = &plan->streams[i];
    AVStream *in = plan->source->format->streams[i];

    stream->in = in;
    stream->last_dts = stream->next_sample = AV_NOPTS_VALUE;
    stream->kind = i == plan->video      ? VRT_JOIN_RESTORED
                   : is_wanted(in, care) ? decide(in, plan->container)
                                         : VRT_JOIN_LEFT_OUT;
    if (!vrt_source_has(plan->source, (unsigned int)i))
        stream->kind = VRT_JOIN_LEFT_OUT;
    else if (stream->kind == VRT_JOIN_LEFT_OUT && !is_made_anew(in))
        warn_left_out(stream, plan->container, warnings);
    if (stream->kind != VRT_JOIN_LEFT_OUT &&
        !vrt_join_caps_attaches(stream, attached_bytes, warnings))
        stream->kind = VRT_JOIN_LEFT_OUT;
    bool read = stream->kind == VRT_JOIN_COPIED || stream->kind == VRT_JOIN_CONVERTED ||
                stream->kind == VRT_JOIN_CUT;
    vrt_source_select(plan->source, (unsigned int)i, read);
    if (stream->kind == VRT_JOIN_COPIED && in->codecpar->codec_type == AVMEDIA_TYPE_VIDEO)
        vrt_warnings_add(warnings, "video stream %d is kept as it is: only stream %d is "
                         "restored", i, plan->video);
    if (stream->kind == VRT_JOIN_CONVERTED && in->codecpar->codec_id == AV_CODEC_ID_ASS)
        vrt_warnings_add(warnings, "subtitle stream %d (ass) loses most of its styles in .%s",
                         i, vrt_container_name(plan->container));
}

/* What has no place in some containers: chapters, and tags of the whole. */
static int warn_of_description(const struct vrt_join_streams *plan, struct vrt_warnings *warnings)
{
    const AVFormatContext *format = plan->source->format;
    AVDictionary *tags = NULL;

    if (plan->container != VRT_CONTAINER_TS && plan->container != VRT_CONTAINER_MXF &&
        !vrt_container_is_animation(plan->container))
        return 0;
    int r = vrt_tags_copy(&tags, format->metadata, false);
    if (r == 0 && (format->nb_chapters || av_dict_count(tags)))
        vrt_warnings_add(warnings, "the film's chapters and tags cannot be kept in .%s: name the "
                         "output .mkv to keep them", vrt_container_name(plan->container));
    av_dict_free(&tags);
    return vrt_fold(r);
}

int vrt_join_streams_plan(struct vrt_join_streams *plan, enum vrt_join_care care,
                          struct vrt_warnings *warnings)
{
    int64_t attached_bytes = 0;

    vrt_join_streams_done(plan);
    vrt_join_caps_trim(plan->source, warnings);
    plan->streams = calloc(plan->source->n_streams, sizeof(*plan->streams));
    if (!plan->streams)
        return vrt_raise(-ENOMEM);
    plan->n = (int)plan->source->n_streams;
    for (int i = 0; i < plan->n; i++)
        plan_stream(plan, i, care, &attached_bytes, warnings);
    return vrt_fold(warn_of_description(plan, warnings));
}

bool vrt_join_streams_has_others(const struct vrt_join_streams *plan)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->streams[i].kind == VRT_JOIN_COPIED || plan->streams[i].kind == VRT_JOIN_CONVERTED)
            return true;
    return false;
}

static enum vrt_stream_fate fate_of(const struct vrt_join_streams *plan, int i)
{
    const struct vrt_join_stream *stream = &plan->streams[i];

    switch (stream->kind) {
    case VRT_JOIN_RESTORED:         return VRT_STREAM_RESTORED;
    case VRT_JOIN_CONVERTED:        return VRT_STREAM_CONVERTED;
    case VRT_JOIN_CUT:              /* sample by sample */
    case VRT_JOIN_COPIED:
    case VRT_JOIN_COVER:
    case VRT_JOIN_ATTACHED:         return VRT_STREAM_COPIED;
    case VRT_JOIN_LEFT_OUT:         break;
    }
    if (!vrt_source_has(plan->source, (unsigned int)i))
        return VRT_STREAM_NOT_CHOSEN;
    return is_made_anew(stream->in) ? VRT_STREAM_MADE_ANEW : VRT_STREAM_NO_PLACE;
}

void vrt_join_streams_list(const struct vrt_join_streams *plan, struct vrt_stream_list *ret_list)
{
    *ret_list = (struct vrt_stream_list){ .n_all = plan->n };
    for (int i = 0; i < vrt_stream_list_n(ret_list); i++)
        vrt_stream_info_fill(plan->streams[i].in, fate_of(plan, i), &ret_list->streams[i]);
}

/* Side data that is as true of the output as of the input. */
static int copy_side_data(AVStream *out, const AVStream *in, bool reencoded)
{
    static const struct {
        enum AVPacketSideDataType type;
        bool of_codec;              /* describes the encoded stream rather than the picture */
    } kept[] = {
        { AV_PKT_DATA_DISPLAYMATRIX, false },
        { AV_PKT_DATA_STEREO3D, false },
        { AV_PKT_DATA_SPHERICAL, false },
        { AV_PKT_DATA_MASTERING_DISPLAY_METADATA, true },
        { AV_PKT_DATA_CONTENT_LIGHT_LEVEL, true },
        { AV_PKT_DATA_REPLAYGAIN, false },
        { AV_PKT_DATA_AUDIO_SERVICE_TYPE, false },
        { AV_PKT_DATA_CPB_PROPERTIES, true },
        { AV_PKT_DATA_DOVI_CONF, true },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(kept); i++) {
        size_t size = 0;
        const uint8_t *data = vrt_av_stream_side_data(in, kept[i].type, &size);
        if (!data || (reencoded && kept[i].of_codec))
            continue;
        if (vrt_av_stream_add_side_data(out, kept[i].type, data, size) < 0)
            return vrt_raise(-ENOMEM);
    }
    return 0;
}

/* FFmpeg's MP4 muxer has no place for a track's title but the name of its handler, which players
 * show. */
static int name_handler(AVDictionary **tags)
{
    const AVDictionaryEntry *title = av_dict_get(*tags, "title", NULL, 0);

    if (title && av_dict_set(tags, "handler_name", title->value, 0) < 0)
        return vrt_raise(-ENOMEM);
    return 0;
}

/* What every stream keeps, whatever becomes of its packets. */
static int copy_common(const struct vrt_join_streams *plan, const struct vrt_join_stream *stream)
{
    const AVStream *in = stream->in;
    AVStream *out = stream->out;
    bool reencoded = stream->kind == VRT_JOIN_RESTORED;

    out->disposition = in->disposition;
    out->time_base = in->time_base;
    out->avg_frame_rate = in->avg_frame_rate;
    out->r_frame_rate = in->r_frame_rate;
    out->sample_aspect_ratio = in->sample_aspect_ratio;
    int r = vrt_tags_copy(&out->metadata, in->metadata, reencoded || plan->is_part);
    if (r == 0 && vrt_container_is_mov(plan->container))
        r = name_handler(&out->metadata);
    return vrt_fold(r < 0 ? r : copy_side_data(out, in, reencoded));
}

/* The container's name for what is encoded, where FFmpeg needs to be told. 0: it doesn't. */
static unsigned int pick_tag(const struct vrt_segment_head *head, enum vrt_container container)
{
    static const unsigned int prores[] = {
        [FF_PROFILE_PRORES_PROXY] = MKTAG('a', 'p', 'c', 'o'),
        [FF_PROFILE_PRORES_LT] = MKTAG('a', 'p', 'c', 's'),
        [FF_PROFILE_PRORES_STANDARD] = MKTAG('a', 'p', 'c', 'n'),
        [FF_PROFILE_PRORES_HQ] = MKTAG('a', 'p', 'c', 'h'),
        [FF_PROFILE_PRORES_4444] = MKTAG('a', 'p', '4', 'h'),
        [FF_PROFILE_PRORES_XQ] = MKTAG('a', 'p', '4', 'x'),
    };

    /* Apple's players insist on this one of HEVC's two names. */
    if (head->codec == VRT_CODEC_HEVC && vrt_container_is_mov(container))
        return MKTAG('h', 'v', 'c', '1');
    if (head->codec == VRT_CODEC_PRORES && head->profile >= 0 &&
        head->profile < (int)VRT_ARRAY_SIZE(prores))
        return prores[head->profile];
    return 0;
}

/* What of transparency the container is told; the stream has it. */
static int tell_alpha(const struct vrt_segment_head *head, AVStream *out)
{
    AVCodecParameters *par = out->codecpar;

    if (!head->format.has_alpha)
        return 0;
    par->format = vrt_codec_choose(head->codec, &head->format).pixfmt;
    /* QuickTime's number for colours with alpha, of 8 bits or more. */
    par->bits_per_coded_sample = 32;
    if (head->codec == VRT_CODEC_VP9 && av_dict_set(&out->metadata, "alpha_mode", "1", 0) < 0)
        return vrt_raise(-ENOMEM);
    return 0;
}

/* From the segment and nothing else: the input's parameters describe another encoding. */
static int create_restored(const struct vrt_join_streams *plan, struct vrt_join_stream *stream,
                           const struct vrt_join_video *video)
{
    const enum vrt_container container = plan->container;
    const struct vrt_segment_head *head = &video->head;
    const struct vrt_frame_format *format = &head->format;
    AVCodecParameters *par = stream->out->codecpar;

    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = vrt_codec_id(head->codec);
    par->codec_tag = pick_tag(head, container);
    par->extradata = av_mallocz((size_t)video->extradata_size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!par->extradata)
        return vrt_raise(-ENOMEM);
    memcpy(par->extradata, video->extradata, (size_t)video->extradata_size);
    par->extradata_size = video->extradata_size;
    par->format = vrt_pixfmt_of(format);
    par->profile = head->profile;
    par->level = head->level;
    par->width = format->width;
    par->height = format->height;
    par->video_delay = (int)video->delay;
    par->field_order = AV_FIELD_PROGRESSIVE;
    par->sample_aspect_ratio = vrt_rational_av(format->sample_aspect);
    par->color_range = format->full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    par->color_primaries = (enum AVColorPrimaries)format->primaries;
    par->color_trc = (enum AVColorTransferCharacteristic)format->transfer;
    par->color_space = (enum AVColorSpace)format->color_space;
    if (format->chroma_shift_x)
        par->chroma_location = (enum AVChromaLocation)format->chroma_location;

    /* A hint for the muxer, which needs no numerator: times are multiplied by it. MXF's is the
     * frame's length. */
    stream->out->time_base = container == VRT_CONTAINER_MXF
                                 ? av_inv_q(vrt_rational_av(head->fps))
                                 : (AVRational){ 1, head->time_base.den };
    stream->out->sample_aspect_ratio = par->sample_aspect_ratio;
    stream->out->avg_frame_rate = vrt_rational_av(head->fps);
    int r = tell_alpha(head, stream->out);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_hdr_write(&plan->hdr, stream->out));
}

/* Attached files need a name and a type. */
static int name_attachment(const struct vrt_join_stream *stream)
{
    bool is_png = stream->in->codecpar->codec_id == AV_CODEC_ID_PNG;
    bool cover = stream->kind == VRT_JOIN_ATTACHED;
    AVDictionary **tags = &stream->out->metadata;
    char name[32];

    snprintf(name, sizeof(name), cover ? "cover%s" : "attachment-%s%d",
             cover ? is_png ? ".png" : ".jpg" : "", stream->in->index);
    if (av_dict_set(tags, "filename", name, AV_DICT_DONT_OVERWRITE) < 0 ||
        av_dict_set(tags, "mimetype", !cover  ? "application/octet-stream"
                                      : is_png ? "image/png" : "image/jpeg",
                    AV_DICT_DONT_OVERWRITE) < 0)
        return vrt_raise(-ENOMEM);
    return 0;
}

/* Matroska keeps cover art as an attached file, whose bytes are the stream's extradata. */
static int create_attached(struct vrt_join_stream *stream)
{
    AVCodecParameters *par = stream->out->codecpar;
    const AVPacket *picture = &stream->in->attached_pic;

    par->codec_type = AVMEDIA_TYPE_ATTACHMENT;
    par->codec_id = stream->in->codecpar->codec_id;
    par->extradata = av_mallocz((size_t)picture->size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!par->extradata)
        return vrt_raise(-ENOMEM);
    memcpy(par->extradata, picture->data, (size_t)picture->size);
    par->extradata_size = picture->size;
    return 0;
}

/* When the video begins, as the stream counts. */
static int64_t start_in(const struct vrt_join_video *video, const struct vrt_join_stream *stream)
{
    return av_rescale_q(video->first_pts[0], vrt_rational_av(video->head.time_base),
                        stream->in->time_base);
}

static int create_stream(struct vrt_join_streams *plan, struct vrt_join_stream *stream,
                         const AVOutputFormat *muxer, const struct vrt_join_video *video)
{
    int r = copy_common(plan, stream);

    if (r < 0)
        return vrt_fold(r);
    switch (stream->kind) {
    case VRT_JOIN_RESTORED:
        return vrt_fold(create_restored(plan, stream, video));
    case VRT_JOIN_CONVERTED:
        return vrt_fold(vrt_subtitle_open(stream->in, containers[plan->container].subtitles,
                                          stream->out->codecpar, &stream->subtitle));
    case VRT_JOIN_CUT:
        return vrt_fold(vrt_sound_open(stream->in, video->head.fps, start_in(video, stream),
                                       stream->out->codecpar, &stream->sound));
    case VRT_JOIN_ATTACHED:
        r = create_attached(stream);
        return vrt_fold(r < 0 ? r : name_attachment(stream));
    default:
        r = vrt_copied_set(stream->out, stream->in, muxer);
        if (r < 0 || stream->in->codecpar->codec_type != AVMEDIA_TYPE_ATTACHMENT)
            return vrt_fold(r);
        return vrt_fold(name_attachment(stream));
    }
}

/* Whether it is a video that moves beside the restored one. */
static bool is_other_video(const struct vrt_join_stream *stream)
{
    return stream->kind == VRT_JOIN_COPIED &&
           stream->in->codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
}

/* Adds the stream to the output, unless it is there already. Return: 0; -ENOMEM. */
static int add_stream(struct vrt_join_streams *plan, struct vrt_join_stream *stream,
                      AVFormatContext *output, const struct vrt_join_video *video)
{
    if (stream->kind == VRT_JOIN_LEFT_OUT || stream->out)
        return 0;
    stream->out = avformat_new_stream(output, NULL);
    return stream->out ? vrt_fold(create_stream(plan, stream, output->oformat, video))
                       : vrt_raise(-ENOMEM);
}

/* Players show the default video, or the first: that is the restored one. */
static void make_default(struct vrt_join_streams *plan)
{
    AVStream *restored = plan->streams[plan->video].out;

    for (int i = 0; i < plan->n; i++) {
        struct vrt_join_stream *stream = &plan->streams[i];
        if (!is_other_video(stream) || !(stream->out->disposition & AV_DISPOSITION_DEFAULT) ||
            plan->streams[plan->video].in->disposition & AV_DISPOSITION_DEFAULT)
            continue;
        stream->out->disposition &= ~AV_DISPOSITION_DEFAULT;
        restored->disposition |= AV_DISPOSITION_DEFAULT;
    }
}

int vrt_join_streams_create(struct vrt_join_streams *plan, AVFormatContext *output,
                            const struct vrt_join_video *video)
{
    for (int i = 0; i < plan->n; i++) {
        /* MXF wants it before all. */
        const bool is_behind = is_other_video(&plan->streams[i]) ||
                               plan->streams[i].kind == VRT_JOIN_CUT;
        const int first = is_behind ? plan->video : i;
        int r = add_stream(plan, &plan->streams[first], output, video);
        if (r < 0)
            return vrt_fold(r);
        r = add_stream(plan, &plan->streams[i], output, video);
        if (r < 0)
            return vrt_fold(r);
    }
    make_default(plan);
    return 0;
}

void vrt_join_streams_done(struct vrt_join_streams *plan)
{
    for (int i = 0; i < plan->n; i++) {
        plan->streams[i].subtitle = vrt_subtitle_close(plan->streams[i].subtitle);
        plan->streams[i].sound = vrt_sound_close(plan->streams[i].sound);
    }
    free(plan->streams);
    plan->streams = NULL;
    plan->n = 0;
}
