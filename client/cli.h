/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * vrtctl: what every command is given, and what it is
 *
 * A command is an entry in the table of main.c, in a file of its own; its options are a table too.
 * One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "msg_job.h"

struct vrt_conn;

/* As documented in vrtctl(1). */
enum vrt_exit {
    VRT_EXIT_OK,
    VRT_EXIT_FAILED,            /* a job failed or was cancelled; the daemon or we refused */
    VRT_EXIT_USAGE,
    VRT_EXIT_UNREACHABLE,       /* no daemon answers, or what answers is none */
    VRT_EXIT_NOT_FOUND,         /* no job has this number */
    VRT_EXIT_INTERRUPTED = 130,
};

enum vrt_option_type {
    VRT_OPTION_FLAG,            /* bool */
    VRT_OPTION_TEXT,            /* const char * */
    VRT_OPTION_INT,             /* int64_t from min to max */
    VRT_OPTION_AMOUNT,          /* int64_t from min to max, as 8M or 700Mi */
    VRT_OPTION_NUMBER,          /* double from min to max */
    VRT_OPTION_TIME,            /* double: seconds from min to max */
    VRT_OPTION_WORD,            /* int: index into names */
    VRT_OPTION_APPEND,          /* char[max]: each time it is given, behind a space */
};

struct vrt_option {
    const char *name;           /* without its dashes; NULL ends a table */
    char letter;                /* 0: it has no short form */
    enum vrt_option_type type;
    size_t offset;              /* in struct vrt_args */
    int64_t min, max;
    const char *const *names;   /* ended by NULL; of texts, what a shell offers: NULL: nothing */
    const char *argument;       /* what help calls its value; NULL for flags */
    const char *help;
};

/* The command line, decoded. Texts point into argv. */
struct vrt_args {
    const char *socket;
    int64_t timeout_s;
    bool json, help, version;

    const char *model, *output, *reference, *device, *preset, *webhook, *sha256, *pixel_format;
    const char *streams, *scale;
    struct vrt_job_settings settings;           /* but for those, and the next */
    const char *scene_cuts;
    int64_t priority;
    bool overwrite, follow, dry_run, all, reverse;
    bool tells_streams;                         /* of a dry run */
    const char *state;
    int sort;                                   /* what list sorts by, by its index */
    const char *size;
    int64_t frames, batch;                      /* VRT_UNKNOWN: not given */
    double time_s;                              /* NAN: likewise */
    int output_format;                          /* enum vrt_container; VRT_UNKNOWN: likewise */
    bool preview;
    bool recursive, skip_done;                  /* of folders */
    const char *match, *output_dir;
    int64_t settled_s;
    bool trim, reset_peak;                      /* of devices */
    bool history;                               /* of a job */
    bool admin;                                 /* of a token */
    const char *expires;
    int64_t crop;                               /* of what is compared */
    const char *fvd;                            /* likewise: I3D's weights */
    bool vmaf;                                  /* likewise: computed by ffmpeg */
    bool cluster;                               /* of a film that Slurm restores, and: */
    int64_t nodes, gpus;                        /* VRT_UNKNOWN: not given */
    const char *partition, *account, *time_limit, *slurm_url;

    char **operands;
    int n_operands;
};

struct vrt_cli {
    struct vrt_args args;
    struct vrt_conn *conn;
};

struct vrt_command {
    const char *name, *operands, *summary;
    const struct vrt_option *options;           /* besides the common ones; NULL: none */
    int min_operands, max_operands;
    int (*run)(struct vrt_cli *cli);            /* Return: enum vrt_exit */
};

extern const struct vrt_command vrt_command_submit, vrt_command_info, vrt_command_status,
    vrt_command_list, vrt_command_show, vrt_command_watch, vrt_command_top, vrt_command_wait,
    vrt_command_pause, vrt_command_resume, vrt_command_retry, vrt_command_priority,
    vrt_command_cancel, vrt_command_clean, vrt_command_compare,
    vrt_command_preview, vrt_command_logs,
    vrt_command_devices, vrt_command_models, vrt_command_codecs, vrt_command_profile,
    vrt_command_tune, vrt_command_doctor, vrt_command_cluster, vrt_command_token,
    vrt_command_version;

/*
 * Says `error` on standard error, as "vrtctl: what: sentence"; without `what` where it is NULL.
 * With --json it is the object that the API refuses with.
 */
void vrt_cli_complain(const struct vrt_cli *cli, const char *what, const struct vrt_error *error);

/* Says the warnings on standard error, a line for each, of `what` (NULL: of nothing by name). With
 * --json each is an object. */
void vrt_cli_warn(const struct vrt_cli *cli, const char *what,
                  char (*warnings)[VRT_API_TEXT_BYTES], size_t n_warnings);

/* Complains of what vrt_conn_*() returned. Return: the exit status for it. */
int vrt_cli_fail(const struct vrt_cli *cli, const char *what, int r,
                 const struct vrt_error *error);

/* Complains of the command line. Return: VRT_EXIT_USAGE. */
int vrt_cli_misused(const struct vrt_cli *cli, const char *format, ...) VRT_PRINTF(2, 3);

/* Prints `json` on a line by itself. Return: enum vrt_exit. */
int vrt_cli_print_json(const struct json_t *json);

/* The job's number that operand `i` is, or complains and returns 0. */
long long vrt_cli_job_id(const struct vrt_cli *cli, int i);

/*
 * The numbers that the first n operands are, or complains.
 * Return: VRT_EXIT_OK, *ret_ids is the caller's (not NULL); another enum vrt_exit.
 */
int vrt_cli_job_ids(const struct vrt_cli *cli, int n, long long **ret_ids);
