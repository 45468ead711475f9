/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Log lines on standard error: "warning pool: device cpu:1 was quarantined".
 *
 * A file names its topic once: #define VRT_LOG_TOPIC "pool", after its includes. Levels by
 * consequence: error = something the user asked for will not happen; warning = we went on
 * without something; info = life cycle; debug = the rest. Under systemd (JOURNAL_STREAM is set)
 * each line starts with the "<3>" that the journal reads, elsewhere with the local time. Lines are
 * written whole: threads don't mix theirs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

enum vrt_log_level {
    VRT_LOG_ERROR,
    VRT_LOG_WARNING,
    VRT_LOG_INFO,
    VRT_LOG_DEBUG,
    VRT_LOG_LEVEL_COUNT,
};

/* "error", "warning", "info", "debug"; ended by NULL. */
extern const char *const vrt_log_level_names[];

#define vrt_log_error(...) vrt_log_line(VRT_LOG_ERROR, VRT_LOG_TOPIC, __VA_ARGS__)
#define vrt_log_warning(...) vrt_log_line(VRT_LOG_WARNING, VRT_LOG_TOPIC, __VA_ARGS__)
#define vrt_log_info(...) vrt_log_line(VRT_LOG_INFO, VRT_LOG_TOPIC, __VA_ARGS__)
#define vrt_log_debug(...) vrt_log_line(VRT_LOG_DEBUG, VRT_LOG_TOPIC, __VA_ARGS__)

/* Lines above `level` are dropped from now on. The default is VRT_LOG_WARNING. Thread: any. */
void vrt_log_set_level(enum vrt_log_level level);

/* Whether a line of `level` would be written: guards what is costly to format. Thread: any. */
bool vrt_log_enabled(enum vrt_log_level level);

/* The level of this name. Return: 0, -EINVAL. */
int vrt_log_level_from_name(const char *name, enum vrt_log_level *ret_level);

/* One line that was written. */
struct vrt_log_record {
    int64_t wall_ns;
    enum vrt_log_level level;
    const char *topic, *text;
};

/* From now on the last `n` lines are kept in memory; 0: none. Thread: the first. */
void vrt_log_keep(int n);

/* Calls `take` with each line that is kept, the oldest first; it must not log. Thread: any. */
void vrt_log_recall(void (*take)(void *ctx, const struct vrt_log_record *record), void *ctx);

/* Writes one line; longer ones are cut at 1,000 bytes. Errno is kept. Thread: any. */
void vrt_log_line(enum vrt_log_level level, const char *topic, const char *format, ...)
    VRT_PRINTF(3, 4);
