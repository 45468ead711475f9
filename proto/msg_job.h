/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is said about jobs: the request that makes one, and what GET tells of it
 *
 * The structs' members are the JSON's keys. Unknown numbers: VRT_UNKNOWN (-1), NAN for doubles;
 * unknown times: 0; unknown texts: "". The JSON has null there.
 */

#include "api.h"
#include "base/cleanup.h"
#include "base/settings.h"
#include "fields.h"

enum vrt_job_state {
    VRT_JOB_QUEUED,
    VRT_JOB_FETCHING,       /* its input is being downloaded */
    VRT_JOB_RUNNING,
    VRT_JOB_FINISHING,      /* all frames computed; the file is joined and checked */
    VRT_JOB_PAUSED,         /* by a user */
    VRT_JOB_NEEDS_INPUT,    /* its files must be given again: lost in a restart, or others by now */
    VRT_JOB_DISK_FULL,      /* goes on when there is room; its error says where */
    VRT_JOB_DONE,
    VRT_JOB_FAILED,
    VRT_JOB_CANCELLED,
    VRT_JOB_STATE_COUNT,
};

/* A job's files. */
enum vrt_job_file {
    VRT_JOB_INPUT,
    VRT_JOB_OUTPUT,
    VRT_JOB_MODEL,
    VRT_JOB_REFERENCE,      /* what the result is compared with */
    VRT_JOB_FILE_COUNT,
};

/* "input", "output", "model", "reference". */
extern const char *const vrt_job_file_names[];

/*
 * A file of the submitter's: a descriptor that came with the request, and what to call it. Its path
 * is then only told to whoever gives the file again. Without a descriptor the daemon opens the path
 * itself, where it is allowed to, or fetches the URL.
 */
struct vrt_file_ref {
    int64_t fd;                             /* 0: the first that was sent; VRT_UNKNOWN: none */
    char name[VRT_API_NAME_BYTES];          /* without folders; its ending names the container */
    char path[VRT_API_PATH_BYTES];          /* absolute; "": not said */
    char url[VRT_API_LINK_BYTES];           /* of an input; "": none */
    int64_t upload;                         /* the number of one, of an input or a reference;
                                             * VRT_UNKNOWN: none */
};

/* Whether what is written to the output is kept by vrtd, to be downloaded. */
static inline bool vrt_file_ref_is_kept(const struct vrt_file_ref *output)
{
    return output->fd == VRT_UNKNOWN && !output->path[0];
}

/* POST /v1/jobs. Only input and output must be given. */
struct vrt_job_request {
    union {
        struct {
            struct vrt_file_ref input, output;
            struct vrt_file_ref model;      /* without fd: one the daemon knows; name "": default */
            struct vrt_file_ref reference;  /* the result is compared with; name "": with none */
        };
        struct vrt_file_ref files[VRT_JOB_FILE_COUNT];
    };
    char device[VRT_API_REQUEST_DEVICE_BYTES];  /* see DEVICES in vrtctl(1); "": as configured */
    struct vrt_job_settings settings;       /* its members' names are keys of the request's own */
    int64_t priority;                       /* higher goes first */
    bool overwrite;                         /* an output that isn't empty is replaced at the end */
    bool dry_run;                           /* only tell the plan (msg_plan.h); no output.fd */
    char webhook[VRT_API_LINK_BYTES];       /* told of the job's end; "": nobody is */
};

/*
 * POST /v1/jobs/{id}/resume and /retry: files that a job is given again. Those that are not given
 * have no name; a URL is never given again.
 */
struct vrt_job_files_request {
    union {
        struct {
            struct vrt_file_ref input, output, model, reference;
        };
        struct vrt_file_ref files[VRT_JOB_FILE_COUNT];
    };
    bool overwrite;                         /* an output that isn't empty is replaced at the end */
};

/* PATCH /v1/jobs/{id}. */
struct vrt_job_change {
    int64_t priority;
};

/* A job's share of one device. */
struct vrt_job_device {
    char name[VRT_API_DEVICE_BYTES];
    int64_t shards_done, shards_running, frames_done;
    double frames_underway;                 /* of the shards that run, what is computed of them */
    double fps;                             /* on average since it was begun, or gone on with */
    int64_t replica_bytes, workspace_bytes, peak_bytes;
};

struct vrt_job_model {
    char name[VRT_API_NAME_BYTES];
    char architecture[VRT_API_WORD_BYTES];
    int64_t scale;
    char checksum[VRT_API_WORD_BYTES];      /* 16 hexadecimal digits */
};

/* Busy share of the job's running time, 0 to 1 (NAN: not measured yet). */
struct vrt_job_stages {
    double decode, upload, compute, download, encode;
};

/* What is told of a job's recipe (workers/plan/recipe.h), which is chosen once, when the job is
 * admitted, and of how its result is encoded. */
struct vrt_job_recipe {
    int64_t clip_frames, clip_overlap, tile_width, tile_height, overlap;
    int tiling;                             /* enum vrt_tiling */
    double scene_cuts;                      /* threshold; 0: off */
    double strength;                        /* NAN: of before there was such */
    double denoise;                         /* NAN: the network alone */
    double sigma;                           /* NAN: the network isn't told */
    int precision;                          /* never auto */
    int codec;
    int64_t quality;
    char preset[VRT_API_WORD_BYTES];
    int64_t bitrate;                        /* VRT_UNKNOWN: constant quality */
    int64_t target_size_bytes;              /* that it follows from; VRT_UNKNOWN: from none */
    char scale[VRT_SETTING_WORD_BYTES];     /* as asked for; "": by the network */
    char pixel_format[VRT_API_WORD_BYTES];  /* "": by the input */
    char encoder_options[VRT_SETTING_OPTIONS_BYTES];
    char streams[VRT_SETTING_NAME_BYTES];   /* as asked for; "": all */
    int64_t encoder_threads;
    int deinterlace;                        /* enum vrt_deinterlace; never auto */
    int64_t times;                          /* frames that become of each; 1: no others */
    int64_t times_every;                    /* of all of those, one of so many is shown */
    int alpha;                              /* enum vrt_alpha; unknown: the input has none */
    int tonemap;                            /* enum vrt_tonemap */
    int hwaccel;                            /* enum vrt_hwaccel; never auto */
    int hwdec;                              /* enum vrt_hwdec, likewise: where it works. It decides
                                             * no bits */
};

struct vrt_job_video {
    int64_t width, height, output_width, output_height;
    double fps;
    double start_s, duration_s;             /* of the input: what is restored of it */
    char codec[VRT_API_WORD_BYTES], pixel_format[VRT_API_WORD_BYTES];   /* FFmpeg's names */
};

struct vrt_job_error {
    char id[64];
    char message[VRT_API_TEXT_BYTES];
    char field[64];
};

/* How near one video is to another: of a job, its result to the reference; POST /v1/compare has
 * each of the frames, too. PSNR in dB, NAN: they are equal, it is infinite; SSIM from -1 to 1. RGB:
 * of red, green and blue, in 8 bits; Y: of BT.601's luma. */
struct vrt_compare_report {
    int64_t width, height;
    int64_t frames_total;
    int64_t frames_equal;                   /* of those */
    double psnr_rgb, psnr_y;                /* the mean of all frames; NAN: of one it is infinite */
    double psnr_rgb_overall, psnr_y_overall;        /* of the mean of their errors */
    double ssim_rgb, ssim_y;                /* the mean */
    double worst_s, worst_psnr_y;           /* when the first of the worst frames is, and how bad */

    /* of POST /v1/compare alone: proto/compare/msg_compare.h */
    double fvd;                             /* NAN: it wasn't asked for, or there are too few */
    int64_t fvd_clips;                      /* of each video; VRT_UNKNOWN: it wasn't asked for */
    char fvd_warning[256];                  /* why there is none, or it means little; "" */
    struct vrt_compare_frame *frames;
    size_t n_frames;
};

/* No better PSNR is told of: errors are counted in parts of 1e9. */
#define VRT_COMPARE_PSNR_MAX 150

/* Of a table of such fields, and of all but the frames. */
#define VRT_COMPARE_PSNR(T, member) \
    VRT_FIELD_DOUBLE(T, member, VRT_FIELD_NULLABLE, 0, VRT_COMPARE_PSNR_MAX)
#define VRT_COMPARE_SSIM(T, member) VRT_FIELD_DOUBLE(T, member, VRT_FIELD_NULLABLE, -1, 1)
#define VRT_COMPARE_MEANS(T)                                                            \
    VRT_FIELD_INT(T, width, 0, 0, INT64_MAX),                                           \
    VRT_FIELD_INT(T, height, 0, 0, INT64_MAX),                                          \
    VRT_FIELD_INT(T, frames_total, 0, 0, INT64_MAX),                                    \
    VRT_FIELD_INT(T, frames_equal, 0, 0, INT64_MAX),                                    \
    VRT_COMPARE_PSNR(T, psnr_rgb),                                                      \
    VRT_COMPARE_PSNR(T, psnr_y),                                                        \
    VRT_COMPARE_PSNR(T, psnr_rgb_overall),                                              \
    VRT_COMPARE_PSNR(T, psnr_y_overall),                                                \
    VRT_COMPARE_SSIM(T, ssim_rgb),                                                      \
    VRT_COMPARE_SSIM(T, ssim_y),                                                        \
    VRT_FIELD_DOUBLE(T, worst_s, VRT_FIELD_NULLABLE, INT64_MIN, INT64_MAX),             \
    VRT_COMPARE_PSNR(T, worst_psnr_y)

/* GET /v1/jobs/{id}: all of it. GET /v1/jobs and events: as far as vrt_job_short_fields goes. */
struct vrt_job_info {
    int64_t id;
    int state;                              /* enum vrt_job_state */
    char owner[VRT_API_OWNER_BYTES];        /* a user's name, or number */
    /* "" where whoever asks may not know. */
    char input_name[VRT_API_NAME_BYTES], output_name[VRT_API_NAME_BYTES];
    struct vrt_job_model model;
    char device[VRT_API_REQUEST_DEVICE_BYTES];      /* as requested */
    int64_t priority;
    int64_t created_at, started_at, finished_at;    /* wall clock, ns */
    double elapsed_s;                       /* that it ran; pauses don't count */
    int64_t fetched_bytes, fetch_bytes;     /* of an input that is fetched: so far, of how many */
    int64_t frames_total, frames_done;      /* total: an estimate until the input was read */
    bool frames_estimated;                  /* the total is from the duration, so far */
    double frames_underway;                 /* beside those done: computed, but not encoded yet */
    double percent;                         /* both of frames_total */
    int64_t segments_done;                  /* of the result: what survives anything */
    double fps;                             /* of late; of a job that is over, on average */
    double left_s;                          /* estimated, at that rate */
    bool cancelling;                        /* it ends when its devices have put down its shards */
    char bottleneck[VRT_API_WORD_BYTES];    /* a stage's name, "" if none stands out */
    struct vrt_job_device *devices;
    size_t n_devices;
    int64_t warnings_total;                 /* how many `warnings` there are */
    bool has_error;
    struct vrt_job_error error;
    int64_t frames_compared;                /* of the result with the reference, so far */
    bool has_comparison;
    struct vrt_compare_report comparison;   /* of the result with the reference: no frames */

    /* from here on not in the short form */
    struct vrt_job_stages stages;
    bool has_recipe;
    struct vrt_job_recipe recipe;
    bool has_video;
    struct vrt_job_video video;
    bool reproducible;
    int64_t n_starts;                       /* how often it was begun or gone on with */
    int64_t frames_repeated;                /* so far: like the one before, and so not computed */
    /* As submitted; an input's may be a URL. */
    char input_path[VRT_API_PATH_BYTES], output_path[VRT_API_PATH_BYTES];
    char model_path[VRT_API_PATH_BYTES];
    char reference_name[VRT_API_NAME_BYTES], reference_path[VRT_API_PATH_BYTES];
    bool overwrite;
    int64_t input_bytes;                    /* of the input that it began with */
    int64_t result_bytes;                   /* of the result, where vrtd keeps it; else unknown */
    bool input_piped;                       /* it is a pipe, which can't be read again */
    char (*warnings)[VRT_API_TEXT_BYTES];
    size_t n_warnings;
};

/* Each ended by NULL, by the enum above. */
extern const char *const vrt_job_state_names[];
extern const char *const vrt_job_state_phrases[];       /* "was cancelled", behind "job 7" */

extern const struct vrt_field vrt_job_request_fields[];
extern const struct vrt_field vrt_job_files_request_fields[];
extern const struct vrt_field vrt_job_change_fields[];
extern const struct vrt_field vrt_job_fields[];
extern const struct vrt_field vrt_job_short_fields[];

/* Parts of a job that other messages have too. */
extern const struct vrt_field vrt_job_model_ref_fields[];
extern const struct vrt_field vrt_job_model_fields[];
extern const struct vrt_field vrt_job_recipe_fields[];
extern const struct vrt_field vrt_job_comparison_fields[];   /* without frames */
extern const struct vrt_field vrt_job_video_fields[];

/* Done, failed or cancelled: nothing will happen to it any more. */
bool vrt_job_state_is_final(int state);

/* Every setting absent. */
void vrt_job_request_init(struct vrt_job_request *request);

/*
 * Decodes the body of POST /v1/jobs; checks what can be checked without looking at the files.
 * Return: 0; -EINVAL, with id, field and sentence in error; -ENOMEM. Nothing needs to be freed.
 */
int vrt_job_request_parse(const void *text, size_t size, struct vrt_job_request *ret_request,
                          struct vrt_error *error) VRT_MUST_CHECK;

/* No file given. */
void vrt_job_files_request_init(struct vrt_job_files_request *request);

/* Likewise, of POST /v1/jobs/{id}/resume and /retry. An empty body gives no file. */
int vrt_job_files_request_parse(const void *text, size_t size,
                                struct vrt_job_files_request *ret_request,
                                struct vrt_error *error) VRT_MUST_CHECK;

/* Likewise, of PATCH /v1/jobs/{id}. */
int vrt_job_change_parse(const void *text, size_t size, struct vrt_job_change *ret_change,
                         struct vrt_error *error) VRT_MUST_CHECK;

/* Everything unknown; nothing allocated. */
void vrt_job_info_init(struct vrt_job_info *info);

/* Frees arrays that were decoded; not to be called where they are borrowed. */
void vrt_job_info_done(struct vrt_job_info *info);

/* Decodes a job in either form, leniently. On 0 `ret_info` needs vrt_job_info_done(). */
int vrt_job_info_decode(const struct json_t *json, struct vrt_job_info *ret_info,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* Appends {"error":{...}}, the body of every refusal. Return: 0, -ENOMEM, -EMSGSIZE. */
int vrt_error_print(const struct vrt_error *error, struct vrt_buf *buf) VRT_MUST_CHECK;

/* Decodes such a body. Return: 0; -EINVAL if it is something else. */
int vrt_error_decode(const struct json_t *json, struct vrt_job_error *ret_error);
