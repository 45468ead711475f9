/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Log lines: "warning pool: cpu:1 is quarantined for 30 s: ..."
 *
 * A file names its topic once: #define VRT_LOG_TOPIC "pool", after its includes; log.c has a table
 * of them, to which backends' names are added. Levels by consequence: error = something the user
 * asked for will not happen; warning = we went on without something; info = life cycle; debug = the
 * rest. Lines are written whole: threads don't mix theirs.
 *
 * Who reads logs by programs gets fields besides the text. Which job and which user a line is about
 * it says itself: their numbers are those behind "job " and "uid " in its format. The device is the
 * thread's, or that of VRT_LOG_DEVICE().
 *
 * They go to standard error, in text; the daemon has them go elsewhere (daemon/log/output.h). Under
 * systemd (JOURNAL_STREAM names standard error) each starts with the "<3>" that the journal reads,
 * elsewhere with the local time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

struct vrt_error;

enum vrt_log_level {
    VRT_LOG_ERROR,
    VRT_LOG_WARNING,
    VRT_LOG_INFO,
    VRT_LOG_DEBUG,
    VRT_LOG_LEVEL_COUNT,
};

/* "error", "warning", "info", "debug"; ended by NULL. */
extern const char *const vrt_log_level_names[];

/* The digit of each level's priority, as syslog(3) counts. */
extern const char vrt_log_priorities[VRT_LOG_LEVEL_COUNT];

/* Where in the sources a line comes from. */
#define VRT_LOG_HERE __FILE__, __LINE__, __func__

#define VRT_LOG_(level, ...) vrt_log_line(level, VRT_LOG_TOPIC, VRT_LOG_HERE, __VA_ARGS__)
#define vrt_log_error(...) VRT_LOG_(VRT_LOG_ERROR, __VA_ARGS__)
#define vrt_log_warning(...) VRT_LOG_(VRT_LOG_WARNING, __VA_ARGS__)
#define vrt_log_info(...) VRT_LOG_(VRT_LOG_INFO, __VA_ARGS__)
#define vrt_log_debug(...) VRT_LOG_(VRT_LOG_DEBUG, __VA_ARGS__)

/* What is logged of each topic. */
#define VRT_LOG_TOPICS_MAX 64
struct vrt_log_levels {
    unsigned char of[VRT_LOG_TOPICS_MAX + 1];   /* enum vrt_log_level, by the table; the last: of a
                                                 * topic that isn't there */
};

/* One more topic that levels may name: a constant. Thread: the first, before others start. */
void vrt_log_add_topic(const char *topic);

/*
 * Levels as they are configured: "info, pool=debug, conn=warning"; what has no topic is of all that
 * aren't named. Return: 0; -EINVAL, and `error` says what is wrong.
 */
int vrt_log_levels_parse(const char *text, struct vrt_log_levels *ret_levels,
                         struct vrt_error *error) VRT_MUST_CHECK;

/* Lines above these are dropped from now on. Thread: any. */
void vrt_log_set_levels(const struct vrt_log_levels *levels);

/* Likewise, for every topic. The default is VRT_LOG_WARNING. Thread: any. */
void vrt_log_set_level(enum vrt_log_level level);

/* Whether a line would be written: guards what is costly to format. Thread: any. */
bool vrt_log_enabled(enum vrt_log_level level, const char *topic);

/* The level of this name. Return: 0, -EINVAL. */
int vrt_log_level_from_name(const char *name, enum vrt_log_level *ret_level);

/* How many lines of `level` there were since the process began. Thread: any. */
int64_t vrt_log_count(enum vrt_log_level level);

/* One line. */
struct vrt_log_record {
    int64_t wall_ns;
    enum vrt_log_level level;
    const char *topic, *text;
    const char *file, *function;    /* file: from the root of the sources on */
    int line;
    int64_t job;                    /* 0: none */
    int64_t uid;                    /* -1: none */
    const char *device;             /* "": none */
};

/* From now on the last `n` lines are kept in memory; 0: none. Thread: the first. */
void vrt_log_keep(int n);

/* Calls `take` with each line that is kept, the oldest first; it must not log. Thread: any. */
void vrt_log_recall(void (*take)(void *ctx, const struct vrt_log_record *record), void *ctx);

/* Writes one line; longer ones are cut at 1,000 bytes. Errno is kept. Thread: any. */
void vrt_log_line(enum vrt_log_level level, const char *topic, const char *file, int line,
                  const char *function, const char *format, ...) VRT_PRINTF(6, 7);

/* Writes a line that was made elsewhere, unless its level is above its topic's. Thread: any. */
void vrt_log_write(const struct vrt_log_record *record);

/* The lines of the calling thread are about this device from now on; "": about none. */
void vrt_log_set_device(const char *name);

/* Likewise until the end of the block; then about none. */
#define VRT_LOG_DEVICE(name)                                                            \
    __attribute__((cleanup(vrt_log_unset_device), unused))                              \
    const char *const log_device_ = (vrt_log_set_device(name), (name))

static inline void vrt_log_unset_device(const char *const *device)
{
    (void)device;
    vrt_log_set_device("");
}

/* From now on `output` writes the lines; NULL: standard error again. Thread: any. */
void vrt_log_set_output(void (*output)(const struct vrt_log_record *record));

/* What standard error is. */
enum vrt_log_stderr {
    VRT_LOG_STDERR_OTHER,           /* lines for it begin with the time */
    VRT_LOG_STDERR_JOURNAL,         /* which has its own: with the priority, "<3>" */
};
enum vrt_log_stderr vrt_log_stderr(void);

/* As much as any form of a line takes. */
#define VRT_LOG_BYTES_MAX 8192

/* A line for people, with its end: "2026-01-02 03:04:05.678 info queue: job 7 starts". What would
 * end or garble it is '?'. Return: bytes. Thread: any. */
size_t vrt_log_print(const struct vrt_log_record *record, enum vrt_log_stderr reader,
                     char buffer[VRT_LOG_BYTES_MAX]);

/* Writes that to standard error. Thread: any. */
void vrt_log_print_stderr(const struct vrt_log_record *record);

/* Where a plugin, which has its own copy of all this, has its lines written. */
struct vrt_log_host {
    bool (*enabled)(enum vrt_log_level level, const char *topic);
    void (*write)(const struct vrt_log_record *record);
};

/* Ours, for plugins. */
extern const struct vrt_log_host vrt_log_host;

/* From now on lines go there, as long as the process lives. */
void vrt_log_set_host(const struct vrt_log_host *host);
