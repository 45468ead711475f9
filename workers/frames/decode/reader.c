/* SPDX-License-Identifier: MIT */

/*
 * Packets are sent one by one, and the decoder is emptied after each: so an error that it returns
 * belongs to a known packet, and the list of damaged frames does not depend on its threads.
 */

#include "frames/decode/reader.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frames/alpha.h"
#include "frames/av.h"
#include "frames/convert.h"
#include "frames/decode/damage.h"
#include "frames/decode/decoder.h"
#include "frames/filter/deinterlacer.h"
#include "frames/decode/part.h"
#include "frames/hwaccel/hwdec.h"
#include "frames/pixfmt.h"
#include "frames/decode/reader-info.h"
#include "frames/decode/side-data.h"
#include "frames/decode/source.h"

#define MAX_ERRORS 1024             /* in a row, without a packet in between */

struct vrt_reader {
    struct vrt_source *source;
    const AVStream *stream;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *decoded;               /* the frame that decode_next() left */
    struct vrt_converter *converter;
    struct vrt_deinterlacer *deinterlacer;      /* NULL: frames are given out as they are */
    struct vrt_tonemapper *tonemapper;          /* NULL: likewise */
    struct vrt_damage damage;
    struct vrt_part part;
    struct vrt_reader_info info;
    struct vrt_reader_watch watch;
    struct vrt_reader_times times;
    bool strict, is_alpha;
    enum vrt_hwdec hwdec;
    bool may_go_on;                 /* nothing that is known at first is against beginning later */
    unsigned int first_said, first_delay;   /* by the first frame: watch.said; frames held back */
    int64_t first, first_pts;       /* over 0: it began late, as of struct vrt_reader_params */

    bool has_first;                 /* `decoded` was decoded by vrt_reader_open() */
    bool draining;                  /* all packets are sent */
    bool ended;                     /* nothing more is given out */
    bool is_part_over;              /* by frames behind its end, of which ... */
    int n_behind;                   /* ... so many were decoded */
    bool broken;                    /* the demuxer gave up before the end of the file */
    int n_errors;                   /* of the decoder, since the last packet or frame */
    int64_t n_decoded;              /* frames of the part, so far */
    int64_t n_concealed;            /* of those */
    int64_t n_errors_told;          /* errors of the decoder that are of matter to the part */
};

static int refuse_memory(const struct vrt_reader *reader, struct vrt_error *error)
{
    return vrt_refuse_errno(error, vrt_raise(-ENOMEM), reader->source->name);
}

/* The decoder reported an error. Return: 0: go on; -EBADMSG in strict mode; -ENODEV of hardware,
 * since what is made up for it no standard says. */
static int note_damage(struct vrt_reader *reader, struct vrt_error *error)
{
    const AVCodecContext *decoder = reader->decoder;
    if (reader->hwdec)
        return vrt_fold(vrt_hwdec_refuse(reader->hwdec, error));
    int delay = decoder->active_thread_type & FF_THREAD_FRAME ? decoder->thread_count - 1 : 0;

    int64_t n_before = vrt_damage_fail(&reader->damage, delay, reader->draining);
    reader->n_errors_told += n_before >= 0;
    return !reader->strict || n_before < 0 ? 0 :
           vrt_reader_info_refuse_damage(&reader->watch, &reader->times,
                                         reader->n_decoded + n_before, error);
}

/* The decoder forgets what it has: it goes on with the packets that were kept. */
static void begin_part(struct vrt_reader *reader)
{
    avcodec_flush_buffers(reader->decoder);
    /* Its threads are at rest: nobody counts into it. */
    reader->damage = (struct vrt_damage){
        .from = reader->part.start, .places = reader->damage.places,
    };
}

/* Leaves the video's next packet that is to be decoded in `packet`. Return: as of
 * vrt_source_next(). */
static int next_packet(struct vrt_reader *reader, struct vrt_error *error)
{
    AVPacket *packet = reader->packet;

    for (;;) {
        av_packet_unref(packet);
        if (vrt_part_next(&reader->part, packet))
            return 0;
        int r = vrt_source_next(reader->source, packet, error);
        if (r < 0)
            return vrt_fold(r);
        int outcome = r > 0 ? vrt_part_end(&reader->part) :
                      packet->stream_index == reader->stream->index ?
                      vrt_part_take(&reader->part, packet) : VRT_PART_HELD;
        if (outcome < 0)
            return refuse_memory(reader, error);
        if (outcome == 0)
            return r;
        if (outcome == VRT_PART_BEGIN)
            begin_part(reader);
    }
}

/* Sends the decoder the video's next packet, or the end. Return: 0; -errno with a sentence. */
static int feed(struct vrt_reader *reader, struct vrt_error *error)
{
    AVPacket *packet = reader->packet;
    int r = next_packet(reader, error);

    if (r < 0)
        return vrt_fold(r);
    if (r != 0) {
        /* From now on the decoder gives out what it holds back. */
        reader->draining = true;
        reader->broken = r == VRT_SOURCE_BROKEN;
        avcodec_send_packet(reader->decoder, NULL);
        return 0;
    }
    int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    atomic_int *n_errors = vrt_damage_add(&reader->damage, time);
    if (packet->flags & AV_PKT_FLAG_CORRUPT)
        atomic_fetch_add(n_errors, 1);
    reader->decoder->opaque = n_errors;
    r = avcodec_send_packet(reader->decoder, packet);
    av_packet_unref(packet);
    if (r == AVERROR(ENOMEM))
        return refuse_memory(reader, error);
    if (r < 0 || (reader->hwdec && atomic_load(n_errors) > 0))
        return note_damage(reader, error);
    return 0;
}

/* Leaves the next frame in `decoded`. Return: 0; VRT_READER_END; -errno with a sentence. */
static int decode_next(struct vrt_reader *reader, struct vrt_error *error)
{
    for (;;) {
        int r = avcodec_receive_frame(reader->decoder, reader->decoded);
        if (r == 0) {
            reader->n_errors = 0;
            reader->info.n_decoded++;
            return vrt_decoder_fetch(reader->hwdec, reader->decoder, reader->decoded, error);
        }
        if (r == AVERROR_EOF || reader->n_errors > MAX_ERRORS)
            return VRT_READER_END;
        if (r == AVERROR(ENOMEM))
            return refuse_memory(reader, error);
        if (r == AVERROR(EAGAIN)) {
            reader->n_errors = 0;
            r = feed(reader, error);
        } else {
            reader->n_errors++;
            r = note_damage(reader, error);
        }
        if (r < 0)
            return vrt_fold(r);
    }
}

/* Whether anything was found wrong with the file so far. */
static bool is_damaged(const struct vrt_reader *reader)
{
    return reader->n_concealed || reader->damage.n_missing ||
           atomic_load(&reader->source->n_logged) > 0;
}

/* In an undamaged video room between frames is how its maker wanted it; in a damaged one, whole
 * frames were lost before the decoder saw them. */
static void measure_gap(struct vrt_reader *reader, int64_t pts)
{
    if (reader->n_decoded && !reader->info.variable_rate && is_damaged(reader) &&
        !vrt_source_n_jumps(reader->source))
        vrt_reader_times_measure(&reader->times, pts);
}

/* `decoded`, shown at `pts`, as a frame of ours. */
static int convert(struct vrt_reader *reader, int64_t pts, struct vrt_frame **ret_frame,
                   struct vrt_error *error)
{
    const AVFrame *decoded = reader->decoded;

    int r = reader->is_alpha ?
            vrt_alpha_extract(decoded, &reader->info.format, ret_frame) :
            vrt_converter_run(reader->converter, decoded, &reader->info.format, ret_frame);
    if (r == -ENOMEM)
        return refuse_memory(reader, error);
    if (r < 0)
        return vrt_refuse(error, r, "input.unsupported",
                          "%s has the pixel format %s, which cannot be converted: convert it to "
                          "yuv444p16 with ffmpeg first", reader->source->name,
                          av_get_pix_fmt_name(decoded->format));
    vrt_reader_info_note_fields(reader->stream, decoded, *ret_frame);
    if (reader->watch.keeps_extra)
        vrt_side_data_take(decoded, &(*ret_frame)->extra);
    (*ret_frame)->pts = pts;
    (*ret_frame)->duration = vrt_reader_times_duration(&reader->times, decoded);
    return 0;
}

/* `decoded` is shown before the part that is wanted: nothing of it is told. */
static void leave_out(struct vrt_reader *reader, int64_t pts)
{
    vrt_damage_show(&reader->damage, vrt_damage_time(reader->decoded));
    vrt_reader_times_note(&reader->times, reader->decoded, pts);
    vrt_reader_times_forget(&reader->times);
}

/* `decoded`, shown at `pts`, as a frame of ours, counted. */
static int take_decoded(struct vrt_reader *reader, int64_t pts, struct vrt_frame **ret_frame,
                        struct vrt_error *error)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    const AVFrame *decoded = reader->decoded;
    int r = vrt_reader_info_check_frame(&reader->info, &reader->watch, decoded, reader->n_decoded,
                                        error);

    if (r < 0)
        return vrt_fold(r);
    if (reader->n_decoded)
        vrt_reader_info_watch(&reader->info, &reader->watch, reader->decoded, reader->n_decoded);
    r = convert(reader, pts, &frame, error);
    if (r < 0)
        return vrt_fold(r);
    frame->concealed = vrt_damage_show(&reader->damage, vrt_damage_time(decoded)) ||
                       decoded->decode_error_flags || decoded->flags & AV_FRAME_FLAG_CORRUPT;
    if (frame->concealed && reader->strict)
        return vrt_reader_info_refuse_damage(&reader->watch, &reader->times, reader->n_decoded,
                                             error);
    reader->n_concealed += frame->concealed;
    measure_gap(reader, pts);
    vrt_reader_times_note(&reader->times, decoded, pts);
    reader->n_decoded++;
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

/* Settles how many frames never came, and where the first of them should have been. */
static void count_missing(struct vrt_reader *reader)
{
    struct vrt_damage *damage = &reader->damage;
    struct vrt_reader_info *info = &reader->info;
    const AVStream *stream = reader->stream;

    vrt_damage_finish(damage);
    /* Damage between packets may also have hidden all the rest. */
    if (info->duration_ns > 0 && !info->truncated && !reader->broken && !reader->is_part_over) {
        int64_t start = stream->start_time != AV_NOPTS_VALUE ? stream->start_time : 0;
        int64_t end_ns = reader->part.range.start_ns + info->duration_ns;
        measure_gap(reader, start + av_rescale_q(end_ns, (AVRational){ 1, VRT_NS_PER_S },
                                                 stream->time_base));
    }
    if (reader->times.n_gaps > damage->n_missing) {
        damage->n_missing = reader->times.n_gaps;
        damage->first_missing = reader->times.first_gap;
    }
    info->n_missing = damage->n_missing;
}

/* The end was reached: says what was wrong on the way. Return: VRT_READER_END; -EBADMSG. */
static int finish(struct vrt_reader *reader, struct vrt_error *error)
{
    struct vrt_reader_info *info = &reader->info;
    const char *name = reader->source->name;
    const double end_s = vrt_reader_times_end_s(&reader->times);

    if (reader->ended)
        return VRT_READER_END;
    reader->ended = true;
    if (info->n_frames == 0)
        return vrt_fold(vrt_part_refuse(&reader->part, name, error));
    count_missing(reader);
    if (reader->broken && reader->strict)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged",
                          "%s cannot be read beyond frame %lld (%.2f s): the rest is damaged",
                          name, (long long)info->n_frames, end_s);
    if (info->n_missing && reader->strict)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged",
                          "%s is damaged: %lld of its frames cannot be decoded, the first near "
                          "%.2f s", name, (long long)info->n_missing,
                          (double)reader->damage.first_missing * av_q2d(reader->stream->time_base));
    vrt_reader_info_sum_up(info, &(struct vrt_reader_end){
        .is_broken = reader->broken,
        .is_cut_off = info->truncated && !reader->is_part_over,
        .has_late = reader->source->has_late,
        .first_missing = reader->damage.first_missing,
        .n_decoded = reader->n_decoded,
        .n_jumps = vrt_source_n_jumps(reader->source),
        .times = &reader->times,
    });
    return VRT_READER_END;
}

/* Decodes as far as a frame of the part, or of its context, shown at *ret_pts. Return: 0;
 * VRT_READER_END; -errno. */
static int find_next(struct vrt_reader *reader, int64_t *ret_pts, bool *ret_is_context,
                     struct vrt_error *error)
{
    for (;;) {
        int r = reader->has_first ? 0 : decode_next(reader, error);
        reader->has_first = false;
        if (r != 0)
            return r < 0 ? vrt_fold(r) : r;
        *ret_pts = vrt_reader_times_repair(&reader->times, reader->decoded, reader->n_decoded);
        bool is_before = *ret_pts < reader->part.start, is_behind = *ret_pts >= reader->part.end;
        /* Those that aren't of the part are seen by neighbours that are deinterlaced. */
        *ret_is_context = (is_before || is_behind) && reader->deinterlacer &&
                          vrt_reader_info_check_frame(&reader->info, &reader->watch,
                                                      reader->decoded, reader->n_decoded,
                                                      NULL) == 0;
        reader->is_part_over = is_behind && (!*ret_is_context || ++reader->n_behind >=
                                             vrt_deinterlacer_ahead(&reader->info.fields));
        if (is_before)
            leave_out(reader, *ret_pts);
        if (!is_before || *ret_is_context)
            return is_behind && !*ret_is_context ? VRT_READER_END : 0;
    }
}

/* The next frame, as it was decoded. Return: likewise. */
static int read_decoded(struct vrt_reader *reader, struct vrt_frame **ret_frame,
                        bool *ret_is_context, struct vrt_error *error)
{
    int64_t pts = 0;
    int r = reader->is_part_over ? VRT_READER_END :
                                   find_next(reader, &pts, ret_is_context, error);

    if (r == 0 && *ret_is_context)
        r = convert(reader, pts, ret_frame, error);
    else if (r == 0)
        r = take_decoded(reader, pts, ret_frame, error);
    av_frame_unref(reader->decoded);
    return r < 0 ? vrt_fold(r) : r;
}

/* The next frame of what the deinterlacer makes. Return: likewise. */
static int read_deinterlaced(struct vrt_reader *reader, struct vrt_frame **ret_frame,
                             struct vrt_error *error)
{
    bool is_context = false;

    for (;;) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        int r = vrt_deinterlacer_next(reader->deinterlacer, ret_frame);
        if (r == VRT_DEINTERLACER_END)
            return VRT_READER_END;
        if (r == 0) {
            /* Those of a film have times of their own. */
            int side = vrt_part_side(&reader->part, (*ret_frame)->pts, reader->info.time_base,
                                     reader->stream->time_base);
            if (side == 0 || !reader->part.is_all_seen)
                return 0;
            *ret_frame = vrt_frame_unref(*ret_frame);
            reader->is_part_over |= side > 0;
            continue;
        }
        if (r == VRT_DEINTERLACER_MORE) {
            r = read_decoded(reader, &frame, &is_context, error);
            if (r < 0)
                return vrt_fold(r);
            r = vrt_deinterlacer_push(reader->deinterlacer, frame, is_context);
            if (r == 0)
                continue;
        }
        return vrt_refuse_errno(error, vrt_fold(r), reader->source->name);
    }
}

/* The next frame of the part. Return: likewise. */
static int read_next(struct vrt_reader *reader, struct vrt_frame **ret_frame,
                     struct vrt_error *error)
{
    bool is_context = false;
    int r = reader->ended ? VRT_READER_END : reader->deinterlacer ?
            read_deinterlaced(reader, ret_frame, error) :
            read_decoded(reader, ret_frame, &is_context, error);

    if (r == 0 && reader->tonemapper)
        r = vrt_tonemapper_run(reader->tonemapper, ret_frame, reader->source->name, error);
    return r < 0 ? vrt_fold(r) : r;
}

/* Whether the frames to come may depend on what is before those that a decoder begins with: what is
 * made up for damage and missing times does, and how many it holds back, where it has to learn that
 * (and drops a frame). */
static bool is_odd(const struct vrt_reader *reader)
{
    return is_damaged(reader) || reader->n_errors_told || reader->broken ||
           reader->times.n_guessed || reader->times.n_repaired || vrt_part_is_odd(&reader->part) ||
           (unsigned int)reader->decoder->has_b_frames != reader->first_delay;
}

/* What becomes of a reader that began late, by `r` of what it did last: where its first frame isn't
 * what it was, or anything is odd, nobody knows whether the others will be. */
static int check_late(const struct vrt_reader *reader, int r, struct vrt_frame **ret_frame)
{
    const bool is_first = reader->info.n_frames == reader->first;
    const bool is_lost = r == -EBADMSG || is_odd(reader) ||
                         (is_first && (r != 0 || (*ret_frame)->pts != reader->first_pts));

    if ((r < 0 && r != -EBADMSG) || !is_lost)
        return r;
    if (r == 0)
        *ret_frame = vrt_frame_unref(*ret_frame);
    return VRT_READER_LOST;
}

int vrt_reader_next(struct vrt_reader *reader, struct vrt_frame **ret_frame,
                    struct vrt_error *error)
{
    const bool is_late = reader->first > 0;
    if (is_late && (!reader->may_go_on || (reader->info.n_frames == reader->first &&
                    !vrt_part_leap(&reader->part, reader->source, reader->stream))))
        return VRT_READER_LOST;
    int r = read_next(reader, ret_frame, error);
    /* Fields before it. */
    while (r == 0 && is_late && (*ret_frame)->pts < reader->first_pts) {
        vrt_frame_unref(*ret_frame);
        r = read_next(reader, ret_frame, error);
    }
    if (r == VRT_READER_END)
        r = finish(reader, error);
    if (is_late)
        r = check_late(reader, r, ret_frame);
    if (r == 0)
        vrt_reader_info_count(&reader->info, *ret_frame);
    reader->info.can_go_on = reader->may_go_on && !is_odd(reader) &&
                             reader->watch.said == reader->first_said;
    return r < 0 ? vrt_fold(r) : r;
}

/* Decodes the first frame, which tells the format of all. Return: 0; -errno with a sentence. */
static int open_first(struct vrt_reader *reader, struct vrt_error *error)
{
    struct vrt_reader_info *info = &reader->info;
    AVFrame *frame = reader->decoded;
    int r = decode_next(reader, error);
    if (r == VRT_READER_END)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged",
                          "%s is damaged or holds no picture: not a single frame of it can be "
                          "decoded (%s)", reader->source->name, info->codec);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_reader_info_begin(info, &reader->watch, frame, error);
    if (r < 0)
        return vrt_fold(r);
    if (reader->is_alpha)
        vrt_alpha_format(frame->format, &info->format);
    reader->has_first = true;
    reader->first_said = reader->watch.said;
    reader->first_delay = (unsigned int)reader->decoder->has_b_frames;
    int64_t first_pts = frame->best_effort_timestamp;
    vrt_part_place(&reader->part, first_pts == AV_NOPTS_VALUE ? 0 : first_pts,
                   reader->stream->time_base);
    if (reader->part.range.start_ns > 0)
        reader->damage.from = reader->part.start;
    return 0;
}

/* Whether a reader could begin later. Has frames before params->first left out, where this one
 * does, as those before a part are. */
static void begin_late(struct vrt_reader *reader, const struct vrt_reader_params *params)
{
    const bool is_by_field = reader->info.fields.deinterlace == VRT_DEINTERLACE_FIELD;
    /* A second field is shown so much later than the frame that it is of. */
    const int64_t ahead = vrt_reader_times_duration(&reader->times, reader->decoded);

    reader->may_go_on = !params->feed && !params->hwdec && !params->is_alpha &&
                        !reader->part.is_all_seen && vrt_part_knows(&reader->part);
    if (params->first <= 0)
        return;
    reader->first = reader->info.n_frames = params->first;
    reader->first_pts = params->first_pts;
    reader->n_decoded = params->first / (is_by_field ? 2 : 1);
    vrt_part_begin_late(&reader->part, params->first_pts - (is_by_field ? ahead : 0),
                        reader->info.time_base, reader->stream->time_base);
    reader->damage.from = reader->part.start;
}

/* Chooses the stream; the others' packets are not even read. */
static int pick_stream(struct vrt_reader *reader, struct vrt_error *error)
{
    struct vrt_source *source = reader->source;

    int index = vrt_source_pick_video(source, error);
    if (index < 0)
        return vrt_fold(index);
    for (unsigned int i = 0; i < source->n_streams; i++)
        vrt_source_select(source, i, (int)i == index);
    reader->stream = reader->watch.stream = source->format->streams[index];
    reader->watch.source = source;
    reader->part.codec = reader->stream->codecpar;
    vrt_reader_info_fill(&reader->info, reader->source, reader->stream);
    reader->times = (struct vrt_reader_times){
        .time_base = reader->stream->time_base,
        .fps = reader->info.fps,
        .may_lack = source->packets,
    };
    return 0;
}

int vrt_reader_open(int fd, const struct vrt_reader_params *params, struct vrt_reader **ret_reader,
                    struct vrt_error *error)
{
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = calloc(1, sizeof(*reader));
    const struct vrt_source_params source_params = {
        .fd = fd,
        .name = params->name,
        .cancel = params->cancel, .feed = params->feed,
        .deadline_ns = params->open_deadline_ns,
        .streams = params->streams,
    };

    if (!reader)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    reader->strict = params->strict;
    reader->watch.keeps_extra = params->keeps_extra;
    reader->is_alpha = reader->watch.is_alpha = params->is_alpha;
    reader->hwdec = params->hwdec;
    reader->watch.drops_hdr = params->tonemap != VRT_TONEMAP_OFF;
    reader->damage.from = INT64_MIN;
    reader->part.range = params->range;
    reader->part.is_all_seen = params->fields.deinterlace == VRT_DEINTERLACE_TELECINE;
    int r = vrt_source_open(&source_params, &reader->source, error);
    if (r < 0)
        return vrt_fold(r);
    reader->packet = av_packet_alloc();
    reader->decoded = av_frame_alloc();
    if (!reader->packet || !reader->decoded || vrt_converter_new(&reader->converter) < 0)
        return refuse_memory(reader, error);
    r = pick_stream(reader, error);
    if (r < 0)
        return vrt_fold(r);
    if (reader->info.truncated && reader->strict)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.truncated",
                          "%s is truncated: it ends before its container says it does",
                          reader->source->name);
    r = vrt_decoder_open(reader->source, reader->stream, params, &reader->decoder, error);
    if (r < 0)
        return vrt_fold(r);
    r = open_first(reader, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_part_limit(&reader->part, reader->source->name, &reader->info, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_reader_info_filter(&reader->info, params, &reader->deinterlacer, &reader->tonemapper,
                               error);
    if (r < 0)
        return vrt_fold(r);
    begin_late(reader, params);
    reader->source->deadline_ns = 0;
    *ret_reader = VRT_STEAL(reader);
    return 0;
}

void vrt_reader_decode_into(struct vrt_reader *reader, struct vrt_places *places)
{
    reader->damage.places = reader->deinterlacer || reader->tonemapper || reader->is_alpha ?
                            NULL : places;
}

void vrt_reader_set_deadline(struct vrt_reader *reader, int64_t deadline_ns)
{
    reader->source->deadline_ns = deadline_ns;
}

const struct vrt_reader_info *vrt_reader_info(const struct vrt_reader *reader)
{
    return &reader->info;
}

struct vrt_reader *vrt_reader_close(struct vrt_reader *reader)
{
    if (!reader)
        return NULL;
    avcodec_free_context(&reader->decoder);
    vrt_part_done(&reader->part);
    av_packet_free(&reader->packet);
    av_frame_free(&reader->decoded);
    reader->converter = vrt_converter_free(reader->converter);
    reader->deinterlacer = vrt_deinterlacer_free(reader->deinterlacer);
    reader->tonemapper = vrt_tonemapper_free(reader->tonemapper);
    reader->source = vrt_source_close(reader->source);
    free(reader);
    return NULL;
}
