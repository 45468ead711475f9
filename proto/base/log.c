/* SPDX-License-Identifier: MIT */

#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The one mutable global of the program: what is logged is a matter of the process. */
static atomic_int log_level = VRT_LOG_WARNING;

static const struct {
    const char *name;
    char syslog_priority;
} levels[VRT_LOG_LEVEL_COUNT] = {
    [VRT_LOG_ERROR] = { "error", '3' },
    [VRT_LOG_WARNING] = { "warning", '4' },
    [VRT_LOG_INFO] = { "info", '6' },
    [VRT_LOG_DEBUG] = { "debug", '7' },
};

void vrt_log_set_level(enum vrt_log_level level)
{
    atomic_store(&log_level, (int)level);
}

bool vrt_log_enabled(enum vrt_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

int vrt_log_level_from_name(const char *name, enum vrt_log_level *ret_level)
{
    for (int i = 0; i < VRT_LOG_LEVEL_COUNT; i++) {
        if (strcmp(name, levels[i].name) == 0) {
            *ret_level = (enum vrt_log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

void vrt_log_line(enum vrt_log_level level, const char *topic, const char *format, ...)
{
    char line[1024];
    int saved = errno, n = 0;
    va_list args;

    if (!vrt_log_enabled(level))
        return;
    if (getenv("JOURNAL_STREAM"))
        n = snprintf(line, sizeof(line), "<%c>", levels[level].syslog_priority);
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%s %s: ", levels[level].name, topic);
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    va_end(args);
    n = VRT_MIN(n + VRT_MAX(m, 0), (int)sizeof(line) - 1);
    line[n++] = '\n';

    /* One write: lines of different threads stay whole. Where stderr is gone, nothing helps. */
    ssize_t written = write(STDERR_FILENO, line, (size_t)n);
    (void)written;
    errno = saved;
}
