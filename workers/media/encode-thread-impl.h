/* SPDX-License-Identifier: MIT */
#pragma once

/* What an encode thread is made of: private to workers/media/encode-thread*.c. Thread: the encode
 * thread, all of it. */

#include "frames/process/child-encoder.h"
#include "workers/media/blender.h"
#include "workers/media/encode-thread.h"
#include "workers/media/target-size.h"

/* Complete segments whose sizes are remembered: more than the process can have open. */
#define VRT_ENCODE_THREAD_SIZES 64

struct vrt_encode_thread {
    struct vrt_media_thread base;
    struct vrt_encode_thread_params params;

    /* Complete segments. */
    int64_t n_segments, n_frames, size_bytes;
    struct vrt_target_size_course course;   /* n_frames 0: no size was asked for */
    int64_t n_concealed;            /* and of those in the segment in work */
    int64_t n_tails_gone;           /* segments, the first, whose tails were removed */
    int64_t sizes_bytes[VRT_ENCODE_THREAD_SIZES];   /* of number i: at i % the array's size */
    int n_sizes;                    /* of the last so many segments, which the process wrote */

    /* The segment in work: number n_segments. */
    struct vrt_child *child;        /* that encodes and joins; NULL: none was needed yet */
    enum vrt_hwaccel child_hwaccel;         /* that the child may use */
    struct vrt_child_encoder *encoder;      /* NULL: none is */
    struct vrt_child_reader *alpha; /* reads the input's transparency beside it; NULL: none does */
    int segment_fd;
    int64_t n_open;                 /* frames in it */
    int64_t next_shard;             /* that is to come */
    int64_t kept_shard;             /* frames of those before it are in segments already */
    struct vrt_blender *blender;    /* NULL: no shards shared a frame yet */

    bool is_joined;                 /* the finished file is there */
};

/* The file of segment `number` with suffix "seg" or "tail". Return: its descriptor; -errno. */
int vrt_encode_thread_open(const struct vrt_encode_thread *encode_thread, int64_t number,
                           const char *suffix, int flags);

/* Removes such a file, if there is one. */
void vrt_encode_thread_remove(const struct vrt_encode_thread *encode_thread, int64_t number,
                              const char *suffix);

/* Whether the segments that the process wrote are as large as when they were complete: it could
 * have kept their descriptors. Return: 0; -EPIPE with a sentence: it was ended. */
int vrt_encode_thread_check_sizes(struct vrt_encode_thread *encode_thread,
                                  struct vrt_error *error);

/* Syncs a file of the folder, or the folder. Return: 0; -errno with a sentence. */
int vrt_encode_thread_sync(int fd, struct vrt_error *error);

/* Says that a file of the folder can't be written: "spool.full" where that is why. Return: r. */
int vrt_encode_thread_refuse(int r, struct vrt_error *error);

/* Makes the blender, if there is none. Return: 0; -errno with a sentence. */
int vrt_encode_thread_need_blender(struct vrt_encode_thread *encode_thread,
                                   struct vrt_error *error);

/* Starts the process that encodes, by hardware or without, or joins, if it isn't there: what may
 * use a driver reads no input. Return: 0; -errno with a sentence. */
int vrt_encode_thread_need_child(struct vrt_encode_thread *encode_thread, enum vrt_hwaccel hwaccel,
                                 struct vrt_error *error);

/* Whether the finished file of the complete segments is there already. */
bool vrt_encode_thread_has_joined(struct vrt_encode_thread *encode_thread);

/* Writes the pictures of the complete segments into the output's folder, each aside and then under
 * its name. What could not be kept is added to `warnings`. Return: 0; -errno with a sentence. */
int vrt_encode_thread_write_pictures(struct vrt_encode_thread *encode_thread, int64_t n_frames,
                                     struct vrt_warnings *warnings, struct vrt_error *error);

/* What the tasks ask. Return: 0; -errno with the task's error. */
int vrt_encode_thread_resume(struct vrt_media_thread *base, struct vrt_media_task *task);
int vrt_encode_thread_finish(struct vrt_media_thread *base, struct vrt_media_task *task);
