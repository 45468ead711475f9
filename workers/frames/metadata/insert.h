/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a codec carries beside pictures, put into packets that an encoder made: so that it is there
 * whichever encoder that is, of whatever version. For frames/ alone.
 */

#include <libavcodec/avcodec.h>

#include "base/codecs.h"
#include "frames/frame.h"

/*
 * Puts in front of the packet's picture what belongs there: of the frame its own, and before a key
 * frame what holds for all of the video (NULL: not). Nothing where the codec carries none. Return:
 * 0; -ENOMEM; -EBADMSG: the packet has no picture.
 */
int vrt_metadata_insert(enum vrt_codec codec, AVPacket *packet, const struct vrt_hdr *hdr,
                        const struct vrt_frame_extra *extra);
