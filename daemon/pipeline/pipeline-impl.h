/* SPDX-License-Identifier: MIT */
#pragma once

/* What a pipeline is made of: private to daemon/pipeline*.c. Everything here is the loop's. */

#include "daemon/pipeline/pipeline.h"
#include "daemon/devices/pool-job.h"
#include "workers/media/admission.h"
#include "workers/media/encode-thread.h"
#include "workers/media/decode-thread.h"

/* Progress is averaged over so many of the last returns of the encoder. */
#define VRT_PIPELINE_SAMPLES 64

/* A shard's stay with a device. */
struct vrt_try {
    struct vrt_worker_run *run;
    size_t device;
};

/* A run of frames on its way. It is in one of the pipeline's lists. */
struct vrt_shard {
    struct vrt_list link;
    int64_t index;
    struct vrt_shard_frames frames;     /* in[]: until restored; out[]: from then on */
    struct vrt_try tries[2];            /* that are out: one, or a straggler's two */
    int n_tries;
    int last_failed;                    /* the device it failed on last; -1: none */
    uint64_t excluded;                  /* devices on which it failed twice */
    uint64_t suspects;                  /* devices whose results for it were wrong */
    int n_failures, n_rounds;           /* round: it failed twice on every device there is */
    bool failed_otherwise;              /* than by wrong results, in this round */
    char why[640];                      /* of the last failure */
};

/* A device's part in the job. */
struct vrt_part {
    enum vrt_dtype dtype;
    struct vrt_worker_task *probe;      /* that is out; NULL: none */
    bool is_probed;
    int n_refusals;                     /* probes that failed by the device's own fault */
    int in_flight, n_nomem;
    int64_t shards_done, shards_failed, frames_done;
    struct vrt_job_spec_size size;      /* that it was probed for */
    int64_t planned_bytes;              /* -1: unknown */
    int64_t replica_bytes, allowed_bytes;       /* as probed; -1: unknown */
    int64_t job_bytes;                  /* that the device gave to it; -1: not known yet */
    bool holds;                         /* the device must be told to forget the job */
    struct vrt_session_times times;
};

struct vrt_sample {
    int64_t ran_ns, frames;             /* how long it had run then */
};

struct vrt_pipeline {
    struct vrt_pool *pool;
    struct vrt_pool_job job;            /* listed from vrt_pipeline_new() until it has ended */
    enum vrt_pipeline_phase phase;

    /* What was asked: copies. */
    char *job_id, *input_name, *output_name, *model_name, *request, *codec, *preset;
    int input_fd, output_fd, spool_fd, model_fd;
    enum vrt_fallback fallback;
    bool strict, wants_speed;
    void (*admitted)(void *ctx, const struct vrt_error *error);
    void (*done)(void *ctx, const struct vrt_error *error);
    void (*segment_done)(void *ctx, const struct vrt_segment_record *segment);
    void (*segments_cut)(void *ctx, int64_t first_number);
    void *ctx;

    /* Admission. */
    struct vrt_admission admission;
    struct vrt_job_spec *spec;
    struct vrt_pipeline_info info;
    struct vrt_job_spec_size size;      /* the smallest that a device needs */
    uint64_t wanted;                    /* devices that the request names */
    uint64_t asked;                     /* devices whose probe is to come */
    struct vrt_error probe_error;       /* of the last device that refused */
    bool wants_smaller;                 /* than the recipe's: */
    struct vrt_job_spec_size too_large;
    uint64_t short_of_memory;           /* devices that had too little when they were asked */
    int n_memory_waits;                 /* for those */
    int64_t ask_again_ns;               /* the next one is over; 0: there is none */
    bool is_probing;                    /* the files were found good: the devices are asked */

    /* The threads; NULL: none, or it has ended. */
    struct vrt_mailbox *decode_thread, *encode_thread;
    atomic_bool cancel;                 /* read by both */

    /* Shards between decoder and encoder, by index. */
    struct vrt_list ready;              /* of struct vrt_shard.link: for the devices */
    struct vrt_list restored;           /* of struct vrt_shard.link: for the encoder */
    struct vrt_list running;            /* of struct vrt_shard.link: with a device */
    int n_ready, n_running;             /* shards; tries */
    int64_t n_live;                     /* decoded and not yet encoded, or being decoded */
    int64_t next_index;                 /* of the next shard decoded */
    int64_t next_encode;                /* index of the next shard for the encoder */
    int64_t n_handed;                   /* shards that a device got for the first time */
    int live_max;
    int n_decoding, n_encoding;         /* tasks with the decode and the encode thread */
    bool at_end;                        /* every frame is decoded */
    bool is_finishing;                /* the encode thread was told that there are no more shards */
    bool is_held;                       /* nothing is given to devices */
    bool is_parking;                    /* it ends when the segment in work is complete */

    /* What an earlier pipeline has done. */
    struct vrt_segment_record *segments;
    size_t n_segments;                  /* that were given */
    int64_t first_shard;                /* that isn't in those of them that are good */
    int64_t frames_resumed;             /* in those */
    bool is_resuming;                   /* the encode thread looks at them */

    int64_t n_segments_done;
    int64_t n_open;                     /* frames in the segment in work */
    atomic_llong committed;             /* the last one whose record is safe; -1: none */

    /* The end. */
    bool is_closing;                    /* nothing new is begun */
    struct vrt_error error;             /* message "": none */

    /* Progress. */
    uint64_t devices;                   /* that still take part */
    uint64_t absent;                    /* of these: lost or in quarantine, as last seen */
    struct vrt_part parts[VRT_DEVICES_MAX];
    int64_t started_ns, ended_ns;
    int64_t idle_ns;                    /* of the time since: it was held, and nothing was out */
    int64_t idle_since_ns;              /* likewise, and still is; 0: it isn't */
    int64_t no_device_ns;               /* since when there is none; 0: there is */
    int64_t decode_ns, encode_ns;       /* busy */
    int64_t frames_decoded, frames_done, frames_concealed;
    int64_t frames_total;               /* -1: unknown */
    int64_t span_ns;                    /* from the first frame to the last */
    struct vrt_sample samples[VRT_PIPELINE_SAMPLES];
    size_t n_samples;                   /* ever taken */
    char *warnings[VRT_PIPELINE_WARNINGS_MAX];
    size_t n_warnings;
};

/* Adds a warning, unless it is there; further ones than fit are dropped. */
void vrt_pipeline_warn(struct vrt_pipeline *pipeline, const char *format, ...) VRT_PRINTF(2, 3);

/* Adds each sentence. */
void vrt_pipeline_warn_all(struct vrt_pipeline *pipeline, const struct vrt_warnings *warnings);

/* Ends it with `error` (the first one counts), as soon as nothing is out any more. */
void vrt_pipeline_fail(struct vrt_pipeline *pipeline, const struct vrt_error *error);

/* Takes the next step that is due: in any phase, after anything happened. It may call back, and
 * the callback may free the pipeline: nothing of it may be touched afterwards. */
void vrt_pipeline_step(struct vrt_pipeline *pipeline);

/* Lets the devices forget the job. */
void vrt_pipeline_release_devices(struct vrt_pipeline *pipeline);

/* Phase 1. */

/* Starts the decode thread, and the admission on it. Return: 0, -errno. */
int vrt_pipeline_admit(struct vrt_pipeline *pipeline);

/* The devices that are being asked, and whose answers are waited for. */
uint64_t vrt_pipeline_probing(const struct vrt_pipeline *pipeline);

/* Waits for no probe any more. */
void vrt_pipeline_forsake_probes(struct vrt_pipeline *pipeline);

/* Asks the devices, and ends the admission when all have answered. */
void vrt_pipeline_admit_step(struct vrt_pipeline *pipeline);

/* Phase 2. */

/* Starts the threads and wakes the devices. Return: 0, -errno. */
int vrt_pipeline_flow_start(struct vrt_pipeline *pipeline);

/* Keeps decoder, devices and encoder busy. */
void vrt_pipeline_flow(struct vrt_pipeline *pipeline);

/* Shards. */

/* Takes the frames over, as the next shard for the devices. Return: 0; -ENOMEM: they are still the
 * caller's. */
int vrt_pipeline_add_shard(struct vrt_pipeline *pipeline, struct vrt_shard_frames *frames);

/* Whether the encoder's next shard is there. */
bool vrt_pipeline_next_is_restored(const struct vrt_pipeline *pipeline);

/* Takes it out, where it is there: its frames go to *ret_frames. Return: its index. */
int64_t vrt_pipeline_take_restored(struct vrt_pipeline *pipeline,
                                   struct vrt_shard_frames *ret_frames);

/* Drops the shards that are not with a device. */
void vrt_pipeline_drop_shards(struct vrt_pipeline *pipeline);

/* Tells the pool what is to be handed out. */
void vrt_pipeline_describe(struct vrt_pipeline *pipeline);

/* The pool's questions: take, may_copy, copy, returned. */
struct vrt_worker_run *vrt_pipeline_take(struct vrt_pool_job *job, size_t d);
uint64_t vrt_pipeline_may_copy(const struct vrt_pool_job *job, const void *ctx);
struct vrt_worker_run *vrt_pipeline_copy(struct vrt_pool_job *job, void *ctx, size_t d);
void vrt_pipeline_returned(struct vrt_pool_job *job, size_t d, struct vrt_worker_run *run);

/* Fails the job if no device is left for its next shard, or has been for too long. Says which ones
 * are lost or in quarantine. */
void vrt_pipeline_check_devices(struct vrt_pipeline *pipeline);

/* Whether there has been no device for longer than a job waits. `any`: there is one now. */
bool vrt_pipeline_waits_too_long(struct vrt_pipeline *pipeline, bool any);

/* What computes in this type. */
enum vrt_precision vrt_pipeline_precision(enum vrt_dtype dtype);

/* Notes whether it is held with nothing under way, which is no time of the job's. */
void vrt_pipeline_note_idle(struct vrt_pipeline *pipeline);

/* Notes that `n` more frames are encoded. */
void vrt_pipeline_note_frames(struct vrt_pipeline *pipeline, int n);
