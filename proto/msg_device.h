/* SPDX-License-Identifier: MIT */
#pragma once

/* What is said about devices, models and the daemon itself. Unknown values: see msg_job.h. */

#include "api.h"
#include "fields.h"

enum vrt_device_state {
    VRT_DEVICE_STARTING,        /* its thread is opening it */
    VRT_DEVICE_READY,
    VRT_DEVICE_BUSY,
    VRT_DEVICE_LOST,            /* until the daemon starts again */
    VRT_DEVICE_QUARANTINED,     /* it failed repeatedly; tried again later */
    VRT_DEVICE_STATE_COUNT,
};

struct vrt_device_usage {
    int64_t total_bytes, free_bytes;                    /* from the driver */
    int64_t replica_bytes, workspace_bytes, peak_bytes; /* by our own accounting */
};

/* What identifies a card; "" where there is none, or nobody knows. */
struct vrt_device_card {
    int64_t number;                             /* of those that vrtd sees */
    char uuid[VRT_API_NAME_BYTES];              /* CUDA: "GPU-..." */
    char pci_address[VRT_API_WORD_BYTES];       /* "0000:01:00.0" */
    char compute_capability[VRT_API_WORD_BYTES];
    char driver_version[VRT_API_WORD_BYTES];    /* CUDA: the newest that it is for */
    char runtime_version[VRT_API_WORD_BYTES];   /* CUDA: what the plugin was built with */
};

/* How a card is at present. */
struct vrt_device_readings {
    double utilization_percent, memory_utilization_percent;
    double temperature_celsius;
    double power_watts, power_limit_watts;
    char throttling[VRT_API_NAME_BYTES];        /* why it is slower than it could be; "none" */
};

/* One of GET /v1/devices: {"devices":[...]}. */
struct vrt_device_report {
    char name[VRT_API_DEVICE_BYTES];            /* "cpu:0" */
    char kind[VRT_API_WORD_BYTES];              /* "cpu" */
    char description[VRT_API_TEXT_BYTES];
    int state;                                  /* enum vrt_device_state */
    int64_t threads;                            /* host threads it computes with */
    struct vrt_device_card card;
    bool has_card;                              /* it is one, or part of one */
    struct vrt_device_usage memory;
    struct vrt_device_readings sensors;
    bool has_sensors;
    int64_t shards_done, shards_failed;
    double seconds_per_shard;
    double retry_in_s;                          /* quarantined: until it is asked again */
    char last_error[VRT_API_TEXT_BYTES];
};

/* Beside them, "auto": what a job would run on that leaves the choice to vrtd. */
struct vrt_auto_report {
    char (*devices)[VRT_API_DEVICE_BYTES];
    size_t n_devices;
    char reason[VRT_API_TEXT_BYTES];
};

/* POST /v1/devices: what administrators ask of devices. */
struct vrt_devices_request {
    char device[VRT_API_REQUEST_DEVICE_BYTES];  /* as a job's; "": every device */
    bool trim;                                  /* what no job uses is given up */
    bool reset_peak;                            /* peak_bytes is then what is held */
};

/* One of its answer, {"devices":[...]}. */
struct vrt_trimmed_report {
    char name[VRT_API_DEVICE_BYTES];
    int state;                                  /* enum vrt_device_state */
    bool done;
    int64_t freed_bytes;                        /* by the trimming */
    int64_t former_peak_bytes;                  /* where it was reset */
    struct vrt_device_usage memory;             /* afterwards */
    char message[VRT_API_TEXT_BYTES];           /* why it isn't done; "": it is */
};

enum vrt_model_state {
    VRT_MODEL_READY,            /* jobs may name it */
    VRT_MODEL_AVAILABLE,        /* the catalogue says where it can be fetched from */
    VRT_MODEL_PULLING,          /* it is being fetched */
    VRT_MODEL_FAILED,           /* fetching it came to nothing: see its error */
    VRT_MODEL_STATE_COUNT,
};

/* How far a device is with the weights of a network. */
enum vrt_held_state {
    VRT_HELD_PACKING,           /* its thread converts them on the host */
    VRT_HELD_COPYING,           /* they are on their way to it, or it waits for them */
    VRT_HELD_READY,             /* it has them, and has not used them yet */
    VRT_HELD_IN_USE,            /* a job is set up with them */
    VRT_HELD_IDLE,              /* kept for whatever comes next */
    VRT_HELD_STATE_COUNT,
};

/* The weights of one network on one device: GET /v1/models, {"replicas":[...]}. */
struct vrt_held_report {
    char device[VRT_API_DEVICE_BYTES];
    char model[VRT_API_NAME_BYTES];             /* "": none of the list; a job brought it */
    char checksum[VRT_API_WORD_BYTES];          /* of the weights, as models have it */
    char precision[VRT_API_WORD_BYTES];
    int64_t bytes;                              /* of the device's memory */
    int state;                                  /* enum vrt_held_state */
};

/* One of GET /v1/models: {"models":[...]}. */
struct vrt_model_report {
    char name[VRT_API_NAME_BYTES];
    int state;                                  /* enum vrt_model_state */
    char architecture[VRT_API_WORD_BYTES];
    int64_t scale, parameters;
    char source[VRT_API_TEXT_BYTES];            /* "built-in", or the file's path */
    char checksum[VRT_API_WORD_BYTES];          /* of the weights, as jobs have it */
    bool is_default;
    char description[VRT_API_TEXT_BYTES];       /* the catalogue's, or our own */
    char license[VRT_API_WORD_BYTES];           /* likewise; "": not known */
    char url[VRT_API_LINK_BYTES];               /* it comes, came or may come from there */
    char sha256[VRT_API_SHA256_BYTES];          /* of the file: as known before, or as it came */
    bool verified;                              /* it came with the SHA-256 that was known before */
    int64_t size_bytes, done_bytes;             /* of the file; of it fetched */
    char error[VRT_API_TEXT_BYTES];             /* why the last fetching failed; of a file that
                                                 * holds no model, why not */
};

/* POST /v1/models: fetches a model of the catalogue by its name, or any by its URL. */
struct vrt_model_request {
    char name[VRT_API_NAME_BYTES];              /* "": none */
    char url[VRT_API_LINK_BYTES];               /* "": none */
    char sha256[VRT_API_SHA256_BYTES];          /* that the file must have; "": as catalogued */
};

struct vrt_status_jobs {
    int64_t queued, fetching, running;          /* running: finishing included */
    int64_t paused, needs_input, disk_full;
    int64_t done, failed, cancelled;
};

struct vrt_status_device {
    char name[VRT_API_DEVICE_BYTES];
    int state;
};

/* GET /v1/status. */
struct vrt_status_report {
    char version[VRT_API_WORD_BYTES];
    char instance[VRT_API_WORD_BYTES];          /* of the state folder, whose jobs these are */
    int64_t pid;
    double uptime_s;
    struct vrt_status_jobs jobs;
    struct vrt_status_device *devices;
    size_t n_devices;
    int64_t requests;                           /* answered since the start */
    int64_t connections;                        /* open now */
};

extern const char *const vrt_device_state_names[];
extern const char *const vrt_held_state_names[];
extern const char *const vrt_model_state_names[];

extern const struct vrt_field vrt_device_fields[];
extern const struct vrt_field vrt_auto_fields[];
extern const struct vrt_field vrt_devices_request_fields[];
extern const struct vrt_field vrt_trimmed_fields[];
extern const struct vrt_field vrt_held_fields[];
extern const struct vrt_field vrt_model_fields[];
extern const struct vrt_field vrt_model_request_fields[];
extern const struct vrt_field vrt_status_fields[];

/* Everything unknown; nothing allocated. */
void vrt_device_report_init(struct vrt_device_report *report);
void vrt_trimmed_report_init(struct vrt_trimmed_report *report);
void vrt_held_report_init(struct vrt_held_report *report);
void vrt_model_report_init(struct vrt_model_report *report);
void vrt_status_report_init(struct vrt_status_report *report);

/* Whether `text` is a SHA-256 in lower case: 64 hexadecimal digits. */
bool vrt_model_sha256_is_valid(const char *text);

/* What jobs hold of a device's memory by our own accounting; VRT_UNKNOWN where nobody knows. */
int64_t vrt_device_held_bytes(const struct vrt_device_usage *memory);

/*
 * Decodes the body of POST /v1/devices.
 * Return: 0; -EINVAL, with id, field and sentence in error; -ENOMEM.
 */
int vrt_devices_request_parse(const void *text, size_t size,
                              struct vrt_devices_request *ret_request,
                              struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Decodes the body of POST /v1/models; a SHA-256 is in lower case afterwards.
 * Return: 0; -EINVAL, with id, field and sentence in error; -ENOMEM.
 */
int vrt_model_request_parse(const void *text, size_t size, struct vrt_model_request *ret_request,
                            struct vrt_error *error) VRT_MUST_CHECK;
