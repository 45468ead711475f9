/* SPDX-License-Identifier: MIT */
#pragma once

/* What goes with a frame from the input to the output, past the network. Bytes alone: what they
 * mean no one between the decoder and the encoder asks. */

#include <stdbool.h>
#include <stdint.h>

/* Of ATSC A/53: three bytes each, and as many as its count of 5 bits tells. */
#define VRT_CAPTIONS_BYTES_MAX (3 * 31)

/* The longest message of three windows. */
#define VRT_HDR10PLUS_BYTES_MAX 960

/* What a video carries with a frame, beside its samples. */
struct vrt_frame_extra {
    int n_captions;             /* bytes; 0: it has none */
    int n_hdr10plus;            /* likewise */
    uint8_t captions[VRT_CAPTIONS_BYTES_MAX];       /* CEA-608 and 708, as A/53's cc_data */
    uint8_t hdr10plus[VRT_HDR10PLUS_BYTES_MAX];     /* SMPTE ST 2094-40, as ITU-T T.35's message
                                 * from the country's code on */
};

/* Whether there may be as many bytes as are said. Thread: any. */
static inline bool vrt_frame_extra_is_valid(const struct vrt_frame_extra *extra)
{
    return extra->n_captions >= 0 && extra->n_captions <= VRT_CAPTIONS_BYTES_MAX &&
           extra->n_captions % 3 == 0 && extra->n_hdr10plus >= 0 &&
           extra->n_hdr10plus <= VRT_HDR10PLUS_BYTES_MAX;
}
