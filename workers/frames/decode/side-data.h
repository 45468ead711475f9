/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What stands beside the pictures, in the container or in the stream: kept, or named as lost. For
 * the reader alone.
 */

#include "frames/decode/reader-info.h"

/*
 * Whether the pictures mean what they seem to, by the container and the first frame (NULL: there is
 * none yet): those of Dolby Vision that no other decoder understands are refused; of others is
 * warned that what is Dolby's alone is dropped. Return: 0; -ENOTSUP with a sentence.
 */
int vrt_side_data_check(struct vrt_reader_info *info, const struct vrt_reader_watch *watch,
                        const AVFrame *frame, struct vrt_error *error);

/* Looks at frame `index`: warns of what it carries that isn't kept, and of HDR's numbers that
 * change. */
void vrt_side_data_watch(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                         const AVFrame *frame, int64_t index);

/* Captions and HDR10+ of the frame, as far as they are kept. */
void vrt_side_data_take(const AVFrame *frame, struct vrt_frame_extra *ret_extra);
