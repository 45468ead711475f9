/* SPDX-License-Identifier: MIT */

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* A line in memory. */
struct kept {
    struct vrt_log_record record;
    char text[];
};

/* The mutable globals of the program: what is logged is a matter of the process. */
static atomic_int log_level = VRT_LOG_WARNING;
static struct {
    pthread_mutex_t mutex;
    struct kept **lines;            /* a ring: the next goes to n_written % capacity */
    uint64_t capacity, n_written;
} history = { .mutex = PTHREAD_MUTEX_INITIALIZER };

const char *const vrt_log_level_names[] = {
    [VRT_LOG_ERROR] = "error",
    [VRT_LOG_WARNING] = "warning",
    [VRT_LOG_INFO] = "info",
    [VRT_LOG_DEBUG] = "debug",
    [VRT_LOG_LEVEL_COUNT] = NULL,
};

/* As syslog(3) counts. */
static const char journal_priorities[VRT_LOG_LEVEL_COUNT] = { '3', '4', '6', '7' };

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
        if (strcmp(name, vrt_log_level_names[i]) == 0) {
            *ret_level = (enum vrt_log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

void vrt_log_keep(int n)
{
    pthread_mutex_lock(&history.mutex);
    for (uint64_t i = 0; i < history.capacity; i++)
        free(history.lines[i]);
    free(history.lines);
    history.lines = n > 0 ? calloc((size_t)n, sizeof(*history.lines)) : NULL;
    history.capacity = history.lines ? (uint64_t)n : 0;
    history.n_written = 0;
    pthread_mutex_unlock(&history.mutex);
}

void vrt_log_recall(void (*take)(void *ctx, const struct vrt_log_record *record), void *ctx)
{
    pthread_mutex_lock(&history.mutex);
    for (uint64_t i = 0; i < history.capacity; i++) {
        const struct kept *kept = history.lines[(history.n_written + i) % history.capacity];
        if (kept)
            take(ctx, &kept->record);
    }
    pthread_mutex_unlock(&history.mutex);
}

/* Where there is no memory for it, a line is only written. */
static void keep(enum vrt_log_level level, const char *topic, const char *text)
{
    size_t size = strlen(text) + 1;

    pthread_mutex_lock(&history.mutex);
    struct kept *kept = history.capacity ? malloc(sizeof(*kept) + size) : NULL;
    if (kept) {
        kept->record = (struct vrt_log_record){ vrt_clock_wall_ns(), level, topic, kept->text };
        memcpy(kept->text, text, size);
        struct kept **place = &history.lines[history.n_written++ % history.capacity];
        free(*place);
        *place = kept;
    }
    pthread_mutex_unlock(&history.mutex);
}

/* Return: bytes, as snprintf() does. */
static int print_time(char *buffer, size_t size)
{
    int64_t wall_ns = vrt_clock_wall_ns();
    time_t seconds = (time_t)(wall_ns / VRT_NS_PER_S);
    struct tm tm;

    if (!localtime_r(&seconds, &tm))
        return 0;
    return snprintf(buffer, size, "%04d-%02d-%02d %02d:%02d:%02d.%03d ", tm.tm_year + 1900,
                    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                    (int)(wall_ns % VRT_NS_PER_S / VRT_NS_PER_MS));
}

void vrt_log_line(enum vrt_log_level level, const char *topic, const char *format, ...)
{
    char line[1024];
    int saved = errno, n = 0;
    va_list args;

    if (!vrt_log_enabled(level))
        return;
    if (getenv("JOURNAL_STREAM"))
        n = snprintf(line, sizeof(line), "<%c>", journal_priorities[level]);
    else
        n = print_time(line, sizeof(line));
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%s %s: ", vrt_log_level_names[level], topic);
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    va_end(args);
    keep(level, topic, line + n);
    n = VRT_MIN(n + VRT_MAX(m, 0), (int)sizeof(line) - 1);
    line[n++] = '\n';

    /* One write: lines of different threads stay whole. Where stderr is gone, nothing helps. */
    ssize_t written = write(STDERR_FILENO, line, (size_t)n);
    (void)written;
    errno = saved;
}
