/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One video's way through decoder, devices and encoder
 *
 * Phase 1, admission: the job's decode thread opens and probes the input, recognises the network
 * and chooses the recipe (workers/media/job-check.h), and ends; then the loop resolves the devices
 * and asks each how it would do the job (feasibility.h). Phase 2, at the start: a decode thread
 * cuts shards ahead, the pool's devices restore them, the encode thread encodes them in order, then
 * joins and verifies the file. The loop only passes shards on. Every queue is bounded: memory
 * doesn't grow with the length of the video, and a slow stage stops those before it.
 *
 *     vrt_pipeline_new() -> admitted(ctx, error) -> vrt_pipeline_start() -> done(ctx, error)
 *                                \ with an error, or never started: vrt_pipeline_free()
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "base/error.h"
#include "frames/compare/compare.h"
#include "model/network.h"
#include "workers/plan/device-request.h"
#include "workers/media/files/fingerprint.h"
#include "workers/media/files/sequence.h"
#include "workers/plan/recipe.h"
#include "workers/media/segment-record.h"
#include "workers/media/segments/segment-course.h"

struct vrt_glimpse;
struct vrt_pipeline;
struct vrt_pool;

#define VRT_PIPELINE_WARNINGS_MAX 32

enum vrt_pipeline_phase {
    VRT_PIPELINE_ADMITTING,
    VRT_PIPELINE_ADMITTED,          /* waits for vrt_pipeline_start() */
    VRT_PIPELINE_RUNNING,
    VRT_PIPELINE_FINISHING,         /* every frame is encoded: joins, verifies, compares, copies */
    VRT_PIPELINE_ENDED,             /* admission refused, or done was called */
};

enum vrt_stage {
    VRT_STAGE_DECODE,
    VRT_STAGE_UPLOAD,
    VRT_STAGE_COMPUTE,
    VRT_STAGE_DOWNLOAD,
    VRT_STAGE_ENCODE,
    VRT_STAGE_COUNT,
};

/* How much of the way a pipeline goes: the others are what tasks of a cluster do
 * (daemon/cluster/task.h). */
enum vrt_pipeline_part_kind {
    VRT_PIPELINE_WHOLE,
    VRT_PIPELINE_SURVEY,            /* reads the video, and says where its segments will end */
    VRT_PIPELINE_RANGE,             /* makes the segments that follow those given, whose files it
                                     * doesn't have, and joins nothing */
    VRT_PIPELINE_JOIN,              /* makes the file of those given, which are all */
};

struct vrt_pipeline_part {
    enum vrt_pipeline_part_kind kind;
    int64_t end_segment;            /* of a range: the first that is not made */
    int64_t prime_shard;            /* of a range: prime_shard of the last segment given, else 0 */
    struct vrt_bookmark prime;      /* likewise */
    int64_t span_ns;                /* of a join: what the survey said; -1: not known */
    /* Of a survey: the next segment as it will be; NULL: there are no more, and from the first
     * frame to the last it is `span_ns`. */
    void (*surveyed)(void *ctx, const struct vrt_segment_plan *segment, int64_t span_ns);
    void *ctx;
};

/* What pipelines have done so far, one and all. */
struct vrt_pipeline_totals {
    int64_t frames_done;                /* encoded; those made anew after an interruption again */
    int64_t busy_ns[VRT_STAGE_COUNT];   /* that each stage worked, of all devices together */
};

/*
 * What is wanted. Strings and this struct need to live only until vrt_pipeline_new() returns. The
 * pipeline takes duplicates of the descriptors: the caller keeps, and may close, its own.
 */
struct vrt_pipeline_params {
    struct vrt_pipeline_totals *totals; /* are counted up; live longer than it; NULL: nobody asks */
    const struct vrt_pipeline_part *part;   /* copied; NULL: the whole */
    const char *job_id;             /* for logs */
    int priority;                   /* higher goes first */
    uid_t uid;                      /* whose it is: users of equal priority share by turns */

    struct vrt_folder_access access;    /* to what is in folders, on the pipeline's threads, until
                                     * it is freed; zero: none are taken */
    int input_fd;                   /* a video, or a folder of pictures */
    int pipe_fd;                    /* that the video grows by; -1: it doesn't */
    const char *input_name;         /* what messages call it */
    int output_fd;                  /* open for reading and writing; emptied when the finished file
                                     * is there; or a folder; -1: none, it will not be started */
    bool is_alpha_pass;             /* as of struct vrt_job_check: the result stays in the spool,
                                     * and there is no output */
    bool may_replace;               /* files of others in a folder for the output */
    const char *output_name;        /* its suffix decides the container: .mp4, .mkv, .mov */
    int reference_fd;               /* that the finished file is compared with, before it is in the
                                     * output; -1: it is gone, which is warned of at the end */
    const char *reference_name;     /* NULL: it isn't compared */
    int spool_fd;                   /* the job's own folder, for what must wait on disk; while it
                                     * is only admitted, one on the same disk, or -1 */

    struct vrt_network *network;    /* a reference is taken; NULL: read it from model_fd */
    int model_fd;
    const char *model_name;

    const char *devices;            /* see workers/plan/device-request.h; NULL: "auto" */
    enum vrt_fallback fallback;
    const struct vrt_job_settings *settings;

    /* Of an earlier admission: copied. With a recipe nothing of it is chosen anew. */
    const struct vrt_recipe *recipe;            /* NULL: it is chosen */
    struct vrt_glimpse *glimpse;        /* for who looks at the job; NULL: nobody can */
    bool wants_smaller;     /* the recipe proved to be too large for the devices: its clips or its
                             * tiles are made smaller, as far as nobody asked for just these */
    const struct vrt_fingerprint *fingerprint;  /* another input is refused: "input.other";
                                                 * NULL: any is good */
    uint64_t network_checksum;                  /* likewise: "model.other"; 0: any is good */
    const struct vrt_segment_record *segments;  /* that are committed: not computed again */
    size_t n_segments;

    bool wants_speed;               /* find out how fast the devices are, where nobody knows */

    /* Called once, on the loop: `error` is NULL where the job can run. */
    void (*admitted)(void *ctx, const struct vrt_error *error);
    /* Called exactly once after vrt_pipeline_start(), on the loop, when nothing of the pipeline
     * runs any more: `error` is NULL where the output is complete and verified; its id is
     * "job.cancelled" after vrt_pipeline_cancel(), "job.parked" after vrt_pipeline_park(),
     * "spool.full" or "output.full" where there is no room for working files or the result;
     * "device.memory" where a smaller recipe may help.
     * Whatever it says, the files of complete segments stay, and another pipeline goes on from
     * them; the folder and all that is in it are the caller's. */
    void (*done)(void *ctx, const struct vrt_error *error);
    /* On the loop, after vrt_pipeline_start(); both may be NULL. A segment is complete and on the
     * disk for good; the pipeline goes on meanwhile. */
    void (*segment_done)(void *ctx, const struct vrt_segment_record *segment);
    /* Of the segments given, this one and those after it are damaged or missing: they are made
     * anew. It comes once at most, before the first segment_done. */
    void (*segments_cut)(void *ctx, int64_t first_number);
    /* Asked before the file is made of the segments: how many bytes it may have, else the end is
     * "spool.quota"; 0, as where it is NULL: any number. */
    int64_t (*size_bytes_max)(void *ctx);
    void *ctx;
};

/* What admission found. */
struct vrt_pipeline_info {
    const struct vrt_network_info *network;     /* lives as long as the pipeline */
    uint64_t network_checksum;
    struct vrt_recipe recipe;       /* a pipeline made from it gives the same bits */
    struct vrt_fingerprint fingerprint;         /* of the input */
    char codec[32], pixel_format[32];   /* of the input, FFmpeg's names */
    enum vrt_hwdec in_hwdec;            /* that decodes it */
    enum vrt_codec out_codec;           /* of the output */
    int out_alpha;                      /* enum vrt_alpha; VRT_UNKNOWN: the input has none */
    int out_quality;                    /* VRT_UNKNOWN: it has none, or a bitrate instead */
    enum vrt_hwaccel out_hwaccel;       /* that encodes it */
    int64_t out_bitrate;                /* bits a second; VRT_UNKNOWN: it has none */
    int width, height;              /* of the input, as decoded */
    int out_width, out_height;
    double fps;                     /* average; 0: unknown */
    double start_s;                 /* of what is restored of it */
    double duration_s;              /* likewise; -1: unknown */
    int64_t frames_total;           /* by the container; -1: unknown */
    bool is_estimated;              /* that is from the duration: nobody has counted them */
    int64_t n_shards;               /* -1: unknown, as frames_total */
    int64_t n_tiles;                /* of a frame */
    int64_t frame_flops;            /* of the network, by vrt_op_flops() */
    int64_t output_bytes_estimate;  /* size of the result; -1: nobody can tell */
    uint64_t devices;               /* bit i: the pool's device i */
    bool uses_cpu_instead;          /* of the accelerators that were asked for: none ever worked, or
                                     * all lack an op */
    bool reproducible;              /* one class of devices */
    const struct vrt_stream_list *streams;      /* of the input; lives as long as the pipeline */
};

struct vrt_pipeline_device {
    const struct vrt_device_info *info;
    enum vrt_precision precision;   /* what AUTO became; AUTO while nobody knows */
    int in_flight;
    int64_t shards_done, shards_failed, frames_done;
    double frames_underway;         /* of the shards in flight, what is computed of them */
    double fps;                     /* since the pipeline's start; -1: too early to tell */
    int64_t planned_bytes;          /* its share of the device's memory; -1: not known yet */
    int64_t replica_bytes;          /* of that the network's; as the rest, as probed */
    int64_t allowed_bytes;          /* what jobs may take of the device; -1: unknown */
    double flops_per_s;             /* of whole shards, lately; NAN: never measured */
};

/* A job's progress. Numbers are -1 where nobody can tell yet. */
struct vrt_pipeline_snapshot {
    enum vrt_pipeline_phase phase;
    int64_t frames_total, frames_done;      /* done: encoded, by earlier pipelines too */
    double frames_underway;         /* of the others: computed, but not encoded; parts of them */
    bool is_estimated;              /* frames_total, until the input was read to its end */
    int64_t n_segments_done;        /* by earlier pipelines too */
    int64_t frames_concealed;
    int64_t frames_repeated;        /* of those decoded: not computed, for they repeat another */
    double fps;                     /* of the last seconds */
    double left_s;
    double elapsed_s;               /* since vrt_pipeline_start(), without what it was held */
    double busy[VRT_STAGE_COUNT];   /* share of the time in which the stage worked, 0 to 1 */
    enum vrt_stage bottleneck;      /* VRT_STAGE_COUNT: not known yet */
    size_t n_devices;
    struct vrt_pipeline_device devices[VRT_DEVICES_MAX];
    size_t n_warnings;              /* see vrt_pipeline_warning() */
    int64_t frames_compared;        /* of the finished file with the reference, so far */
    bool is_compared;               /* all were, with this outcome: */
    struct vrt_compare_size compared_size;
    struct vrt_quality_means means;
};

/*
 * Begins the admission of a job. Return: 0; -errno, and `error` says why: then no callback will
 * come. Freed by vrt_pipeline_free().
 */
int vrt_pipeline_new(struct vrt_pool *pool, const struct vrt_pipeline_params *params,
                     struct vrt_pipeline **ret_pipeline, struct vrt_error *error) VRT_MUST_CHECK;

/* Starts what was admitted without an error. Failures arrive by `done`. Once vrt_pool_stop() was
 * called nothing starts, and nothing is called. */
void vrt_pipeline_start(struct vrt_pipeline *pipeline);

/*
 * Stops it within one shard's time; the output is left as it was, or empty. `done` (or, before
 * that came, `admitted`) is called with "job.cancelled", never from within this call. Does
 * nothing once it has ended; before vrt_pipeline_start() but after `admitted` it ends at once,
 * without a callback.
 */
void vrt_pipeline_cancel(struct vrt_pipeline *pipeline);

/* As vrt_pipeline_cancel(), with `reason` in the place of "job.cancelled". It is copied. */
void vrt_pipeline_stop(struct vrt_pipeline *pipeline, const struct vrt_error *reason);

/*
 * Ends it with "job.parked" where the least is lost: as soon as the segment in work is complete
 * and was told, at once where none is begun, the pipeline is held, or no device works. One that is
 * finishing finishes. As for cancelling, before `admitted` that is called with the error, and
 * between it and vrt_pipeline_start() nothing is.
 */
void vrt_pipeline_park(struct vrt_pipeline *pipeline);

/* Held, it gives nothing more to devices, and they forget the job when its last shard has come
 * back. What is decoded stays. A pipeline that is finishing finishes. */
void vrt_pipeline_hold(struct vrt_pipeline *pipeline, bool held);

/* The records of the segments up to this number are safe: what only a restart from an earlier one
 * would need is removed. Without it such files take more and more of the disk. */
void vrt_pipeline_committed(struct vrt_pipeline *pipeline, int64_t number);

/* A higher priority is heard at the next shard. */
void vrt_pipeline_set_priority(struct vrt_pipeline *pipeline, int priority);

/* Of a pipeline that has ended, or was admitted and never started; in a callback of its own is
 * fine. Return: NULL. */
struct vrt_pipeline *vrt_pipeline_free(struct vrt_pipeline *pipeline);

/* What admission found; after `admitted` came without an error. */
const struct vrt_pipeline_info *vrt_pipeline_info(const struct vrt_pipeline *pipeline);

/* Its progress now; at any time. Takes microseconds. */
void vrt_pipeline_snapshot(const struct vrt_pipeline *pipeline,
                           struct vrt_pipeline_snapshot *ret_snapshot);

/* Warning `i` of snapshot.n_warnings: one sentence; lives as long as the pipeline. */
const char *vrt_pipeline_warning(const struct vrt_pipeline *pipeline, size_t i);

/* "decode", "upload", "compute", "download", "encode"; "" for VRT_STAGE_COUNT. */
const char *vrt_stage_name(enum vrt_stage stage);

VRT_DEFINE_CLEANUP(struct vrt_pipeline, vrt_pipeline_free)
