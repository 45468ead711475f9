/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sound as MXF has it: of each frame of the video as many samples as are heard while it is shown
 * (SMPTE ST 382), uncompressed, from the first frame to the last. What isn't there is silence, what
 * is beyond is left out. For the joiner alone.
 */

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "frames/format.h"
#include "frames/warnings.h"

struct vrt_sound;

/* Whether it is of a kind that becomes such without loss: PCM of 16 or 24 bits, 48 kHz. */
bool vrt_sound_fits(const AVCodecParameters *par);

/*
 * Of a stream, beside a video of `fps` that begins at `start`, in the stream's time base; `out` is
 * set to what becomes of it. Return: 0; -ENOMEM.
 */
int vrt_sound_open(const AVStream *in, struct vrt_rational fps, int64_t start,
                   AVCodecParameters *out, struct vrt_sound **ret_sound);

/* Takes the samples of the stream's next packet. Return: 0; -ENOMEM. */
int vrt_sound_add(struct vrt_sound *sound, const AVPacket *packet);

/* Whether the packet is heard so long after frame `k` that nobody stores what lies between. */
bool vrt_sound_is_ahead(const struct vrt_sound *sound, const AVPacket *packet, int64_t k);

/* Whether all samples of frame `k`, from 0, were added. */
bool vrt_sound_has(const struct vrt_sound *sound, int64_t k);

/* Leaves those of frame `k`, which comes behind the one before, in `packet`. Return: 0; -ENOMEM. */
int vrt_sound_take(struct vrt_sound *sound, int64_t k, AVPacket *packet);

/* No frame comes any more: what is added is only counted. */
void vrt_sound_end(struct vrt_sound *sound);

/* At the end: what was added, and what left out, if that can be heard. */
void vrt_sound_warn(const struct vrt_sound *sound, int stream, struct vrt_warnings *warnings);

/* NULL is fine. Return: NULL. */
struct vrt_sound *vrt_sound_close(struct vrt_sound *sound);
