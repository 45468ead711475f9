/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * vrt-media: the process in which everything that FFmpeg does for one thread of one job is done
 *
 * A decoder is a large program that runs on what strangers made. Here it has that one job's
 * descriptors, and nothing else: it opens no file, and can't reach those of others. What it says is
 * checked (wire.h); where it crashes, hangs or talks nonsense it is killed, and the call that waits
 * fails by a sentence. It never outlives its job, nor vrtd.
 *
 * The functions of reader.h, joiner.h and preview.h, in child-encoder.h those of encoder.h and in
 * child-compare.h those of compare.h, as asked of such a process, with the same contracts: ids of
 * theirs, and `media.crashed` (-EPIPE), `media.timeout` (-ETIMEDOUT). After either only the
 * functions that free.
 *
 * Thread: a child belongs to one at a time, with all that was made by it.
 */

#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/codecs.h"
#include "frames/decode/reader.h"
#include "frames/join/joiner.h"
#include "frames/preview/preview.h"

struct vrt_child;
struct vrt_child_reader;

/* Starts a process, of the calling thread's priority. `cancel` (may be NULL; true: calls end with
 * -ECANCELED) outlives it. Return: 0; -errno with the sentence in `error`. */
int vrt_child_new(const atomic_bool *cancel, struct vrt_child **ret_child,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* The same of one that encodes or decodes by hardware, and has its nodes and its driver: a wider
 * sandbox. */
int vrt_child_new_for(enum vrt_hwaccel hwaccel, const atomic_bool *cancel,
                      struct vrt_child **ret_child, struct vrt_error *error) VRT_MUST_CHECK;

/* Ends the process, whatever it does, and all that it was asked for. NULL is fine. Return: NULL. */
struct vrt_child *vrt_child_free(struct vrt_child *child);

/* Whether a process stands ready, loaded, that divides into those that are started: at first none
 * does. */
void vrt_child_keep_zygote(bool is_kept);

/* Starts it again where it ended, within 1 ms, and takes leave of killed processes that nobody
 * waited for. Thread: one of the priority that processes are to be born with, which nobody can
 * raise again. */
void vrt_child_look_after(void);

/* What the process can't give up here ("no filter of system calls"), "" where it could give up
 * everything; the child's. NULL: it didn't answer, with the sentence in `error`. */
const char *vrt_child_missing(struct vrt_child *child, struct vrt_error *error);

/* Of reader.h. `params->cancel` isn't looked at: the child's counts. */
int vrt_child_reader_open(struct vrt_child *child, int fd, const struct vrt_reader_params *params,
                          struct vrt_child_reader **ret_reader,
                          struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_reader_next(struct vrt_child_reader *reader, struct vrt_frame **ret_frame,
                          struct vrt_error *error) VRT_MUST_CHECK;
/* Of hwdec.h: whether the hardware that the child was started for decodes a codec. */
int vrt_child_reader_try(struct vrt_child *child, enum vrt_hwdec hwdec, enum vrt_codec codec,
                         struct vrt_error *error) VRT_MUST_CHECK;
/* Of interlacing.h: no frame can be read afterwards. */
int vrt_child_reader_look(struct vrt_child_reader *reader, enum vrt_deinterlace asked,
                          struct vrt_reader_info *ret_info, struct vrt_error *error) VRT_MUST_CHECK;
const struct vrt_reader_info *vrt_child_reader_info(const struct vrt_child_reader *reader);
struct vrt_child_reader *vrt_child_reader_close(struct vrt_child_reader *reader);

/* Of joiner.h and preview.h. */
int vrt_child_joiner_preview(struct vrt_child *child, const struct vrt_joiner_preview *preview,
                             struct vrt_joiner_rest *ret_rest, struct vrt_warnings *warnings,
                             struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_joiner_run(struct vrt_child *child, const struct vrt_joiner_params *params,
                         struct vrt_joiner_result *ret_result,
                         struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_joiner_picture(struct vrt_child *child, const struct vrt_joiner_picture *picture,
                             int64_t *ret_size_bytes, struct vrt_warnings *warnings,
                             struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_joiner_check_segment(struct vrt_child *child, int fd, int number,
                                   enum vrt_joiner_check check, int64_t *ret_n_frames,
                                   struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_joiner_verify(struct vrt_child *child, int output_fd,
                            const struct vrt_joiner_expected *expected,
                            struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_preview(struct vrt_child *child, struct vrt_preview *preview,
                      struct vrt_error *error) VRT_MUST_CHECK;

VRT_DEFINE_CLEANUP(struct vrt_child, vrt_child_free)
VRT_DEFINE_CLEANUP(struct vrt_child_reader, vrt_child_reader_close)
