/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is said about work that isn't done: the plan of a job that was only tried (POST /v1/jobs
 * with `dry_run`), and the profile of a model on a device (POST /v1/profile). Unknown values: see
 * msg_job.h.
 */

#include "base/streams.h"
#include "msg_job.h"

/* What a job would take of a device. */
struct vrt_plan_device {
    char name[VRT_API_DEVICE_BYTES];
    int precision;                          /* enum vrt_precision, never auto */
    int64_t replica_bytes;                  /* the model */
    int64_t workspace_bytes;                /* frames, tiles and what is between */
    int64_t peak_bytes;                     /* both: the most that is ever held for the job */
    int64_t allowed_bytes;                  /* what jobs may take of it at present */
    double gflop_per_s;                     /* as measured with this model */
    double seconds_per_shard;               /* at that rate */
};

/* A stream of the input, and what becomes of it. Numbers that its kind hasn't are unknown. */
struct vrt_plan_stream {
    int64_t index;                          /* FFmpeg's, by which --streams may name it */
    int kind;                               /* enum vrt_stream_kind */
    int fate;                               /* enum vrt_stream_fate */
    char codec[VRT_API_WORD_BYTES];         /* FFmpeg's name */
    int64_t width, height;
    double fps;
    int64_t sample_rate, channels;
    int64_t bitrate;                        /* bits a second, as the file says */
    char language[VRT_API_WORD_BYTES], title[VRT_API_NAME_BYTES];
    char disposition[VRT_API_NAME_BYTES];   /* FFmpeg's words, with commas between them */
};

/* The answer to a POST /v1/jobs with `dry_run`. */
struct vrt_plan_report {
    char input_name[VRT_API_NAME_BYTES], output_name[VRT_API_NAME_BYTES];
    char reference_name[VRT_API_NAME_BYTES];        /* the result is compared with; "": with none */
    struct vrt_job_model model;
    char device[VRT_API_REQUEST_DEVICE_BYTES];      /* as requested */
    struct vrt_job_video video;
    struct vrt_job_recipe recipe;
    int64_t frames_total;                   /* by the container */
    int64_t shards;                         /* pieces of work that devices take by turns */
    int64_t tiles;                          /* of a frame */
    double gflop;                           /* of all frames */
    double estimated_s;                     /* of the devices, if they do nothing else */
    struct vrt_plan_device *devices;
    size_t n_devices;
    struct vrt_plan_stream *streams;        /* none: pictures become of it, or are it */
    size_t n_streams;
    int64_t streams_total;                  /* those that aren't told of too */
    bool reproducible;
    char (*warnings)[VRT_API_TEXT_BYTES];
    size_t n_warnings;
};

/* POST /v1/profile. Nothing must be given. */
struct vrt_profile_request {
    struct vrt_file_ref model;              /* as in a job's request */
    char device[VRT_API_REQUEST_DEVICE_BYTES];      /* as there; the first of several is taken */
    struct vrt_job_settings settings;       /* of these precision, tile, overlap and clip */
    int64_t width, height;                  /* of the frames */
    int64_t batch;                          /* frames at a time; unknown: as suits the device */
    bool keep;                              /* jobs on such frames are done like this */
    int64_t frames;                         /* to be timed, at least; unknown: for some seconds */
};

/* All ops of one kind. */
struct vrt_profile_op {
    char kind[VRT_API_WORD_BYTES];          /* "conv2d" */
    int64_t count;                          /* in a shard */
    double seconds;                         /* of a shard, each op waited for */
    double share;                           /* of all kinds' seconds, 0 to 1 */
    double gflop_per_s;
};

/* The answer to a POST /v1/profile. */
struct vrt_profile_report {
    struct vrt_job_model model;
    char description[VRT_API_TEXT_BYTES];   /* of the network */
    int64_t parameters;
    char device[VRT_API_DEVICE_BYTES];
    char device_description[VRT_API_TEXT_BYTES];
    int precision;                          /* enum vrt_precision, never auto */
    int64_t width, height, output_width, output_height;

    /* As a job on frames of this size would do it. */
    int64_t clip_frames, clip_overlap, tile_width, tile_height, overlap;
    int64_t tiles;                          /* of a frame */
    int64_t batch;                          /* frames at a time, that the network sees one by one */

    int64_t frames;                         /* that were timed */
    /* All of a frame's time on the device. */
    double frame_mean_s, frame_p50_s, frame_p95_s, frame_p99_s;
    double upload_s, compute_s, download_s; /* what the mean is made of */
    double fps;
    double gflop_per_frame, gflop_per_s;
    double fidelity_db;                     /* of the precision, from f32; NAN: it is that */
    int64_t replica_bytes, workspace_bytes, peak_bytes; /* held on the device for it */
    int64_t allowed_bytes;                  /* what jobs may take of it at present */
    struct vrt_profile_op *ops;             /* those that take longest first */
    size_t n_ops;
    char (*warnings)[VRT_API_TEXT_BYTES];
    size_t n_warnings;
};

/* By the enums of base/streams.h; each ended by NULL. */
extern const char *const vrt_stream_kind_names[];
extern const char *const vrt_stream_fate_names[];

extern const struct vrt_field vrt_plan_fields[];
extern const struct vrt_field vrt_profile_request_fields[];
extern const struct vrt_field vrt_profile_fields[];

/* Everything unknown; nothing allocated. */
void vrt_plan_report_init(struct vrt_plan_report *report);
void vrt_profile_report_init(struct vrt_profile_report *report);

/* What a request is that says nothing. */
void vrt_profile_request_init(struct vrt_profile_request *request);

/* Decodes a plan, leniently. On 0 `ret_report` needs vrt_fields_done(vrt_plan_fields, ...). */
int vrt_plan_report_decode(const struct json_t *json, struct vrt_plan_report *ret_report,
                           struct vrt_error *error) VRT_MUST_CHECK;

/* The same of a profile. On 0 `ret_report` needs vrt_fields_done(vrt_profile_fields, ...). */
int vrt_profile_report_decode(const struct json_t *json, struct vrt_profile_report *ret_report,
                              struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Decodes the body of POST /v1/profile. Return: 0; -EINVAL, with id, field and sentence in error;
 * -ENOMEM. Nothing needs to be freed.
 */
int vrt_profile_request_parse(const void *text, size_t size,
                              struct vrt_profile_request *ret_request,
                              struct vrt_error *error) VRT_MUST_CHECK;
