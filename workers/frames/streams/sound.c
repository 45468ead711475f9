/* SPDX-License-Identifier: MIT */

/* Samples are counted from the video's beginning on. Those that wait for their frame are kept. */

#include "frames/streams/sound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

#define RATE 48000

/* What is read before its frame is shown: sound and picture lie side by side, within seconds. */
#define AHEAD_SAMPLES (30 * RATE)

/* Of those, of as many channels as there may be. */
#define WAITING_BYTES_MAX ((size_t)256 << 20)

/* Times of packets are rounded, by Matroska to a millisecond: what is nearer is no gap. */
#define GAP_SAMPLES (RATE / 50)

/* Silence that nobody hears. */
#define SILENCE_SAMPLES (RATE / 10)

static const struct {
    enum AVCodecID from, to;
    size_t sample_bytes;
    bool is_swapped;
} kinds[] = {
    { AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16LE, 2, false },
    { AV_CODEC_ID_PCM_S16BE, AV_CODEC_ID_PCM_S16LE, 2, true },
    { AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24LE, 3, false },
    { AV_CODEC_ID_PCM_S24BE, AV_CODEC_ID_PCM_S24LE, 3, true },
};

struct vrt_sound {
    AVRational time_base;
    struct vrt_rational fps;
    int64_t start;                  /* in time_base */
    size_t sample_bytes, frame_bytes;   /* of a channel, of all */
    bool is_swapped;
    struct vrt_buf waiting;         /* samples from `first` on */
    int64_t first, end;             /* of those, counted over all channels at once */
    bool has_begun, is_over;
    int64_t n_silent, n_left_out;
};

static int find_kind(enum AVCodecID id)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++)
        if (kinds[i].from == id)
            return (int)i;
    return -1;
}

bool vrt_sound_fits(const AVCodecParameters *par)
{
    return par->codec_type == AVMEDIA_TYPE_AUDIO && find_kind(par->codec_id) >= 0 &&
           par->sample_rate == RATE && par->ch_layout.nb_channels > 0;
}

int vrt_sound_open(const AVStream *in, struct vrt_rational fps, int64_t start,
                   AVCodecParameters *out, struct vrt_sound **ret_sound)
{
    struct vrt_sound *sound = calloc(1, sizeof(*sound));
    const int kind = find_kind(in->codecpar->codec_id);

    vrt_assert(kind >= 0);
    if (!sound || avcodec_parameters_copy(out, in->codecpar) < 0) {
        free(sound);
        return vrt_raise(-ENOMEM);
    }
    const int n_channels = in->codecpar->ch_layout.nb_channels;
    sound->time_base = in->time_base;
    sound->fps = fps;
    sound->start = start;
    sound->sample_bytes = kinds[kind].sample_bytes;
    sound->frame_bytes = sound->sample_bytes * (size_t)n_channels;
    sound->is_swapped = kinds[kind].is_swapped;
    sound->waiting.limit_bytes = WAITING_BYTES_MAX;
    out->codec_id = kinds[kind].to;
    out->codec_tag = 0;
    out->block_align = (int)sound->frame_bytes;
    out->bits_per_coded_sample = 8 * (int)sound->sample_bytes;
    *ret_sound = sound;
    return 0;
}

/* Of frame `k` the first sample. */
static int64_t first_of(const struct vrt_sound *sound, int64_t k)
{
    return av_rescale(k, (int64_t)RATE * sound->fps.den, sound->fps.num);
}

/* From the last byte of a sample to the first. */
static void swap(uint8_t *samples, size_t size, size_t sample_bytes)
{
    for (size_t i = 0; i + sample_bytes <= size; i += sample_bytes) {
        const uint8_t first = samples[i];
        samples[i] = samples[i + sample_bytes - 1];
        samples[i + sample_bytes - 1] = first;
    }
}

static int add_silence(struct vrt_sound *sound, int64_t n)
{
    static const uint8_t zeros[8192];
    size_t left = (size_t)n * sound->frame_bytes;

    if ((uint64_t)n > WAITING_BYTES_MAX / sound->frame_bytes)
        return vrt_raise(-ENOMEM);
    while (left > 0) {
        const size_t size = VRT_MIN(left, sizeof(zeros));
        int r = vrt_buf_append(&sound->waiting, zeros, size);
        if (r < 0)
            return vrt_fold(r);
        left -= size;
    }
    sound->end += n;
    sound->n_silent += n;
    return 0;
}

/* Of the packet the first sample; a file may claim any times. */
static int64_t start_of(const struct vrt_sound *sound, const AVPacket *packet)
{
    const int64_t most = INT64_MAX / 4;

    if (packet->pts == AV_NOPTS_VALUE)
        return sound->end;
    const int64_t at = av_rescale_q(av_sat_sub64(packet->pts, sound->start), sound->time_base,
                                    (AVRational){ 1, RATE });
    return VRT_MIN(VRT_MAX(at, -most), most);
}

bool vrt_sound_is_ahead(const struct vrt_sound *sound, const AVPacket *packet, int64_t k)
{
    return !sound->is_over && start_of(sound, packet) - first_of(sound, k + 1) > AHEAD_SAMPLES;
}

int vrt_sound_add(struct vrt_sound *sound, const AVPacket *packet)
{
    const uint8_t *data = packet->data;
    int64_t n = packet->size / (int64_t)sound->frame_bytes;
    int64_t at = start_of(sound, packet);

    if (sound->has_begun && llabs(at - sound->end) < GAP_SAMPLES)
        at = sound->end;
    /* Before the video, or once more; QuickTime's edit list may have hidden it anyway. */
    const int64_t n_early = VRT_MIN(VRT_MAX(sound->end - at, 0), n);
    sound->n_left_out += packet->flags & AV_PKT_FLAG_DISCARD ? 0 : n_early;
    data += (size_t)n_early * sound->frame_bytes;
    n -= n_early;
    if (n == 0 || sound->is_over) {
        sound->n_left_out += n;
        return 0;
    }
    sound->has_begun = true;
    int r = at > sound->end ? add_silence(sound, at - sound->end) : 0;
    if (r < 0)
        return vrt_fold(r);
    const size_t before = sound->waiting.size_bytes, size = (size_t)n * sound->frame_bytes;
    r = vrt_buf_append(&sound->waiting, data, size);
    if (r < 0)
        return vrt_fold(r);
    if (sound->is_swapped)
        swap((uint8_t *)sound->waiting.data + before, size, sound->sample_bytes);
    sound->end += n;
    return 0;
}

bool vrt_sound_has(const struct vrt_sound *sound, int64_t k)
{
    return sound->end >= first_of(sound, k + 1);
}

int vrt_sound_take(struct vrt_sound *sound, int64_t k, AVPacket *packet)
{
    const int64_t end = first_of(sound, k + 1);
    int r = sound->end < end ? add_silence(sound, end - sound->end) : 0;

    if (r < 0)
        return vrt_fold(r);
    const size_t size = (size_t)(end - sound->first) * sound->frame_bytes;
    struct vrt_buf *waiting = &sound->waiting;
    if (av_new_packet(packet, (int)size) < 0)
        return vrt_raise(-ENOMEM);
    memcpy(packet->data, waiting->data, size);
    vrt_buf_consume(waiting, size);
    sound->first = end;
    packet->pts = packet->dts = k;
    packet->duration = 1;
    packet->flags |= AV_PKT_FLAG_KEY;
    return 0;
}

void vrt_sound_end(struct vrt_sound *sound)
{
    sound->n_left_out += sound->end - sound->first;
    sound->is_over = true;
}

void vrt_sound_warn(const struct vrt_sound *sound, int stream, struct vrt_warnings *warnings)
{
    if (sound->n_silent > SILENCE_SAMPLES)
        vrt_warnings_add(warnings, "audio stream %d has no sound for %.2f s of the video, for "
                         "which an .mxf file has silence", stream,
                         (double)sound->n_silent / RATE);
    if (sound->n_left_out > SILENCE_SAMPLES)
        vrt_warnings_add(warnings, "audio stream %d begins before the video or ends after it: an "
                         ".mxf file has no place for %.2f s of it", stream,
                         (double)sound->n_left_out / RATE);
}

struct vrt_sound *vrt_sound_close(struct vrt_sound *sound)
{
    if (!sound)
        return NULL;
    vrt_buf_done(&sound->waiting);
    free(sound);
    return NULL;
}
