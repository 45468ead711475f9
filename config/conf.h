/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The configuration: an INI file into a struct, by one table
 *
 * Every option, with its meaning and default: vrtd.conf.in; the same for readers: vrtd.conf(5).
 * A file is taken whole or refused with one sentence that names file and line.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/backend-option.h"

enum vrt_conf_fallback {
    VRT_CONF_FALLBACK_ALLOW,    /* a request for absent devices runs on others */
    VRT_CONF_FALLBACK_WARN,     /* likewise, and the job says so in its warnings */
    VRT_CONF_FALLBACK_FORBID,   /* it is refused */
    VRT_CONF_FALLBACK_COUNT,
};

enum vrt_conf_log_format {
    VRT_CONF_LOG_AUTO,          /* JOURNAL where standard error is systemd's, and no file is wanted;
                                 * else TEXT */
    VRT_CONF_LOG_TEXT,
    VRT_CONF_LOG_JSON,
    VRT_CONF_LOG_JOURNAL,       /* fields, by the journal's own socket */
    VRT_CONF_LOG_FORMAT_COUNT,
};

#define VRT_CONF_PATH_BYTES 256
#define VRT_CONF_BACKEND_VALUES_MAX 64    /* options that all backends declare together */
#define VRT_CONF_OPTIONS_MAX (64 + VRT_CONF_BACKEND_VALUES_MAX)

/* A share of each device, and others of some: the most exact name counts, such as cuda:1.0, then
 * that of its card, cuda:1, then its kind, cuda. */
#define VRT_CONF_SHARES_MAX 16
#define VRT_CONF_SHARE_NAME_BYTES 32
struct vrt_conf_shares {
    double all;
    size_t n;
    struct vrt_conf_share {
        char name[VRT_CONF_SHARE_NAME_BYTES];
        double share;
    } some[VRT_CONF_SHARES_MAX];
};

/* Texts are "" where the option is left to the daemon, numbers 0 where they are "automatic". */
struct vrt_conf {
    struct {
        char socket[108];                       /* as much as an address holds */
        char state_dir[VRT_CONF_PATH_BYTES];
        char models_dir[VRT_CONF_PATH_BYTES];
        char cache_dir[VRT_CONF_PATH_BYTES];    /* of what can be made again */
        int64_t stop_timeout;                   /* seconds for jobs to come to a good place */
        char wall_clock[64];                    /* for tests: how wrong it is, base/clock.h */
    } daemon;
    struct {
        char level[VRT_CONF_PATH_BYTES];        /* "info, pool=debug": vrt_log_levels_parse() */
        int format;                             /* enum vrt_conf_log_format */
        char file[VRT_CONF_PATH_BYTES];
    } log;
    struct {
        char model[VRT_CONF_PATH_BYTES];        /* for jobs that name none */
        char device[VRT_CONF_PATH_BYTES];       /* for jobs that name none */
        int precision;                          /* enum vrt_precision; likewise */
        int codec;                              /* enum vrt_codec */
        int64_t quality_h264, quality_hevc;
        char preset[32];
        int hwaccel;                            /* enum vrt_hwaccel */
        bool scene_cuts;                        /* where a scene ends, a clip does */
        int64_t segment_frames;                 /* of a piece of the result that is kept */
        int64_t decoder_threads;                /* of each job; 0: one per core */
        int64_t max_running;                    /* jobs at a time */
        int64_t turn_s;                         /* of a job, while another user's waits */
        int64_t max_queued;                     /* jobs that may wait */
        int64_t history;                        /* jobs remembered after their end */
        int64_t failed_files_days;              /* what failed jobs have stored stays so long */
        int64_t history_days;                   /* for so long; 0: no limit */
    } jobs;
    struct {
        int fallback;                           /* enum vrt_conf_fallback */
        struct vrt_conf_shares memory_fraction;
        int64_t memory_limit;                   /* bytes of each device; 0: all it has */
        int64_t backoff_s;                      /* until a quarantined device is tried again */
        int64_t patience_s;                     /* a job without a device waits so long for one */
        int64_t silence_s;                      /* that a device may keep beyond its work */
        bool keep_kernels;                      /* that were compiled, in the cache */
        bool force_cpu;                         /* no accelerator is looked for */
        bool reference;                         /* the reference device is one of them */
        char fault[VRT_CONF_PATH_BYTES];        /* schedule for tests, backend/fault.h */
    } devices;
    struct {
        char admin_group[VRT_CONF_PATH_BYTES];  /* its members see and control every job */
        char priority_group[VRT_CONF_PATH_BYTES];   /* its members may ask for more than 0 */
        bool hwaccel;                           /* may encode and decode */
        int64_t max_jobs_per_user;              /* 0: three quarters of all that there may be */
        int64_t spool_per_user;                 /* bytes of working files; 0: no limit */
        char media_roots[VRT_CONF_PATH_BYTES];  /* below which paths are opened; ':' between */
    } access;
    struct {
        bool inputs;                            /* of jobs are fetched from URLs */
        int64_t max_input;                      /* bytes of one */
        bool models;                            /* administrators may pull them */
        char catalogue[VRT_CONF_PATH_BYTES];
        bool webhooks;
        char webhook_secret_file[VRT_CONF_PATH_BYTES];
        bool private_addresses;                 /* are connected to as well */
        char proxy[VRT_CONF_PATH_BYTES];
        char ca_file[VRT_CONF_PATH_BYTES];
    } remote;
    struct {
        char listen[VRT_CONF_PATH_BYTES];       /* addresses with ports; ' ' between; "": none */
        char host[VRT_CONF_PATH_BYTES];         /* names that lead there, likewise */
        bool https;                             /* browsers come by a proxy that speaks it */
        char proxy[VRT_CONF_PATH_BYTES];        /* addresses of proxies that are believed */
        int64_t connections_per_address;
        int64_t max_upload;                     /* bytes of one */
        bool insecure;                          /* others may reach an address without TLS */
    } web;
    /* Those of backends, each at its place in their order; ended by one without a backend. */
    struct vrt_backend_value backend_values[VRT_CONF_BACKEND_VALUES_MAX + 1];
    /* Where the file says what: vrt_conf_place(). */
    char file[VRT_CONF_PATH_BYTES];
    int lines[VRT_CONF_OPTIONS_MAX];            /* of each option in its order; 0: it isn't set */
};

enum vrt_conf_type {
    VRT_CONF_TEXT,          /* char[size], of at least min bytes */
    VRT_CONF_INT,           /* int64_t from min to max */
    VRT_CONF_BYTES,         /* int64_t: a number, perhaps with K, M, G or T (of 1024) behind it */
    VRT_CONF_BOOL,          /* bool: on or off */
    VRT_CONF_SHARES,        /* struct vrt_conf_shares: each over 0, up to 1 */
    VRT_CONF_WORD,          /* int: index into names; a backend's is an int64_t, as all of its */
    VRT_CONF_TYPE_COUNT,
};

/* Of an option. */
enum vrt_conf_flag {
    VRT_CONF_LIVE = 1 << 0,     /* it changes while the daemon runs; others with its next start */
};

struct vrt_conf_option {
    const char *section, *key;
    enum vrt_conf_type type;
    size_t offset, size;
    int64_t min, max;
    const char *const *names;   /* ended by NULL */
    const char *fallback;       /* the default, as it would be written */
    unsigned flags;             /* enum vrt_conf_flag */
};

/* Every option that no backend declares; the last has a NULL section. */
extern const struct vrt_conf_option vrt_conf_options[];

/* Ended by NULL, by enum vrt_conf_fallback, and the other. */
extern const char *const vrt_conf_fallback_names[];

extern const char *const vrt_conf_log_format_names[];

/* The defaults. `backends` are the sections behind ours, which their parts declare. */
void vrt_conf_init(struct vrt_conf *conf, vrt_backend_sections *backends);

/*
 * Reads the file at `path` over the defaults of vrt_conf_init().
 * Return: 0; -EINVAL if something in it is refused; another -errno if it cannot be read; error
 * says what and where. Thread: any.
 */
int vrt_conf_read(const char *path, vrt_backend_sections *backends, struct vrt_conf *ret_conf,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* The same for a text ended by NUL; `name` is what messages call it. */
int vrt_conf_parse(const char *text, const char *name, vrt_backend_sections *backends,
                   struct vrt_conf *ret_conf, struct vrt_error *error) VRT_MUST_CHECK;

/* The share of a device of this name and kind; *ret_index (may be NULL) is the number of the one of
 * shares->some that says so, or shares->n. */
double vrt_conf_share_of(const struct vrt_conf_shares *shares, const char *name, const char *kind,
                         size_t *ret_index);

/* "FILE:LINE: " where the file sets one of our options, "" where it doesn't, for who refuses it
 * after all. Return: buffer. */
const char *vrt_conf_place(const struct vrt_conf *conf, const char *section, const char *key,
                           char *buffer, size_t size);

/*
 * Takes over what `next` says of the options that are live. `told` is called for each option, live
 * or not, of which both say unlike things. Return: how many there are.
 */
size_t vrt_conf_apply(struct vrt_conf *conf, const struct vrt_conf *next,
                      void (*told)(void *ctx, const struct vrt_conf_option *option), void *ctx);
