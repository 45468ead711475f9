/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * vrtctl top: what its files share
 *
 * cmd_top.c is the command; top-history.c keeps what was seen of jobs and devices, a value a
 * second; top-draw.c shows it; top-keys.c does what is typed.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "client/cli.h"
#include "client/terminal/keys.h"
#include "client/terminal/spark.h"
#include "client/terminal/screen.h"
#include "msg_device.h"

/* Which jobs come first; those that are alike there by their numbers. */
enum vrt_top_sort {
    VRT_TOP_BY_STATE,           /* what is at work, then what waits, then what needs somebody */
    VRT_TOP_BY_PRIORITY,        /* the highest first */
    VRT_TOP_BY_PROGRESS,        /* the one that is farthest first */
    VRT_TOP_SORT_COUNT,
};

/* "state", "priority", "progress"; ended by NULL. */
extern const char *const vrt_top_sort_names[];

enum vrt_top_mode {
    VRT_TOP_JOBS,
    VRT_TOP_ASKING,             /* whether the selected job shall be cancelled */
    VRT_TOP_HELP,
};

/* A count that grows, and how fast it does of late. */
struct vrt_rate {
    double total;
    double before[8];           /* totals of the seconds before, the n-th at n % 8 */
    size_t n_before;
};

/* What was seen of a job that is, or was, at work. */
struct vrt_top_job {
    int64_t id;
    bool is_there;              /* it was among the jobs of the last look */
    struct {
        char name[VRT_API_DEVICE_BYTES];
        double frames;          /* of the last look */
    } *devices;
    size_t n_devices;
    struct vrt_series fps, memory;          /* frames/s; bytes */
};

struct vrt_top_device {
    struct vrt_device_report report;
    struct vrt_rate frames;     /* of all jobs */
    struct vrt_series fps, memory;          /* frames/s; bytes */
};

struct vrt_top {
    struct vrt_cli *cli;
    struct vrt_screen screen;
    struct vrt_keys keys;
    /* The jobs that aren't over, as they are sorted; they are the watch's, until the next event. */
    const struct vrt_job_info **jobs;
    size_t n_jobs, capacity;
    struct vrt_top_job *seen;   /* n_seen of them */
    size_t n_seen;
    struct vrt_top_device *devices;
    size_t n_devices;
    int64_t selected_id;        /* of a job; 0: none */
    int64_t asked_id;           /* of the job that VRT_TOP_ASKING is about */
    size_t first;               /* of the jobs, that is shown */
    size_t n_rows;              /* of jobs that were shown last */
    int sort;                   /* enum vrt_top_sort */
    enum vrt_top_mode mode;
    bool is_there;              /* the daemon */
    int64_t looked_ns, drawn_ns;            /* when last; 0: never */
    char said[VRT_API_TEXT_BYTES];          /* printable; "": nothing */
    int64_t said_ns;
    struct vrt_buf drawn;       /* what the screen shows, at the size: */
    int columns, rows;
    bool has_typed;             /* until then the first job is the selected one */
    bool has_quit;              /* the user said so */
};

/* Frees what it holds of jobs and devices. */
void vrt_top_forget(struct vrt_top *top);

/* Says something in the line for that, for a while. */
void vrt_top_say(struct vrt_top *top, const char *sentence);

/* Sorts the jobs, and has one of them selected. */
void vrt_top_arrange(struct vrt_top *top);

/* Where the selected job is among the jobs; n_jobs: nowhere. */
size_t vrt_top_selected(const struct vrt_top *top);

/* Takes how things are into what was seen, once a second; asks for the devices then. Between those
 * it does nothing. */
void vrt_top_look(struct vrt_top *top);

/* Likewise, at once and once: of devices as they are in `reports`, the daemon's list. For a daemon
 * that is away, NULL. Return: 0; -ENOMEM; VRT_CONN_E_BROKEN: it isn't understood. */
int vrt_top_take_look(struct vrt_top *top, const struct json_t *reports, struct vrt_error *error);

/* What was seen of a job; NULL: nothing. */
const struct vrt_top_job *vrt_top_seen(const struct vrt_top *top, int64_t id);

/* What a job holds of its devices' memory; VRT_UNKNOWN: nobody knows. */
int64_t vrt_top_job_bytes(const struct vrt_job_info *job);

/* How tables are printed. */
struct vrt_top_style {
    int width;                  /* as of vrt_table_print() */
    int plot_columns;           /* that each plot in them has; 0: there are none */
};

/* Appends a table of n devices, or of n jobs from the first-th on, at most. Return: 0, -ENOMEM. */
int vrt_top_print_devices(const struct vrt_top *top, size_t n, const struct vrt_top_style *style,
                          struct vrt_buf *buf) VRT_MUST_CHECK;
int vrt_top_print_jobs(const struct vrt_top *top, size_t first, size_t n,
                       const struct vrt_top_style *style, struct vrt_buf *buf) VRT_MUST_CHECK;

/* "2 running, 1 queued, 12.3 frames/s, by state". */
void vrt_top_summarize(const struct vrt_top *top, char *buffer, size_t size);

/* Draws everything, unless the screen shows it. */
void vrt_top_draw(struct vrt_top *top);

/* Does what is typed. Return: whether it goes on. */
bool vrt_top_take_keys(struct vrt_top *top);
