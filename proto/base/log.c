/* SPDX-License-Identifier: MIT */

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/about.h"

#define LINE_BYTES 1024

/* A line in memory. */
struct kept {
    struct vrt_log_record record;
    char text[];
};

const char *const vrt_log_level_names[] = {
    [VRT_LOG_ERROR] = "error",
    [VRT_LOG_WARNING] = "warning",
    [VRT_LOG_INFO] = "info",
    [VRT_LOG_DEBUG] = "debug",
    [VRT_LOG_LEVEL_COUNT] = NULL,
};

const char vrt_log_priorities[VRT_LOG_LEVEL_COUNT] = { '3', '4', '6', '7' };

/* The mutable globals of the program: what is logged is a matter of the process. */
static const char *topics[VRT_LOG_TOPICS_MAX + 1] = {
    "access", "api", "backend", "cache", "claim", "cluster", "conn", "decode", "doctor", "encode",
    "error", "events", "executor", "fault", "fd-store", "fetch", "ffmpeg", "frames", "graph",
    "listener", "main", "media", "model", "models", "network", "notify", "op", "pipeline", "plan",
    "pool", "profile", "program", "pulls", "queue", "registry", "reload", "remote", "replica",
    "server", "spool", "store", "web", "webhooks", "worker", NULL,
};
static atomic_uchar levels[VRT_LOG_TOPICS_MAX + 1] = {
    [0 ... VRT_LOG_TOPICS_MAX] = VRT_LOG_WARNING,
};
static _Atomic int64_t n_lines[VRT_LOG_LEVEL_COUNT];
static _Atomic(const struct vrt_log_host *) log_host;
static struct {
    pthread_mutex_t mutex;
    struct kept **lines;            /* a ring: the next goes to n_written % capacity */
    uint64_t capacity, n_written;
} history = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static _Atomic(void (*)(const struct vrt_log_record *record)) output;
static pthread_once_t looked = PTHREAD_ONCE_INIT;
static enum vrt_log_stderr reader;

static _Thread_local char thread_device[32];

/* The place of a topic in the table; VRT_LOG_TOPICS_MAX: it isn't there. */
static size_t find_topic(const char *topic, size_t size)
{
    for (size_t i = 0; topics[i]; i++)
        if (strncmp(topics[i], topic, size) == 0 && !topics[i][size])
            return i;
    return VRT_LOG_TOPICS_MAX;
}

void vrt_log_add_topic(const char *topic)
{
    size_t n = 0;

    while (topics[n])
        n++;
    if (n < VRT_LOG_TOPICS_MAX && find_topic(topic, strlen(topic)) == VRT_LOG_TOPICS_MAX)
        topics[n] = topic;
}

void vrt_log_set_levels(const struct vrt_log_levels *wanted)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(levels); i++)
        atomic_store(&levels[i], wanted->of[i]);
}

void vrt_log_set_level(enum vrt_log_level level)
{
    struct vrt_log_levels wanted;

    memset(wanted.of, (int)level, sizeof(wanted.of));
    vrt_log_set_levels(&wanted);
}

/* One part of a text of levels: "info", "pool=debug". *is_set: topics that were named. */
static int parse_level(const char *part, size_t size, struct vrt_log_levels *to,
                       bool is_set[VRT_LOG_TOPICS_MAX + 1], struct vrt_error *error)
{
    char word[64], shown[64];
    enum vrt_log_level level;

    snprintf(word, sizeof(word), "%.*s", (int)size, part);
    vrt_printable(word, shown, sizeof(shown));
    char *equals = strchr(word, '=');
    const char *name = equals ? equals + 1 : word;
    size_t topic = equals ? find_topic(word, (size_t)(equals - word)) : VRT_LOG_TOPICS_MAX;

    if (vrt_log_level_from_name(name, &level) < 0)
        return vrt_refuse(error, -EINVAL, "config.invalid", "\"%s\" is no level, only error, "
                          "warning, info and debug, and behind one of the others, perhaps, those "
                          "of topics: info, pool=debug", shown);
    if (equals && topic == VRT_LOG_TOPICS_MAX)
        return vrt_refuse(error, -EINVAL, "config.invalid", "\"%s\" names no topic: they are the "
                          "words behind the level in the log, such as pool or conn", shown);
    if (is_set[topic])
        return vrt_refuse(error, -EINVAL, "config.invalid", "\"%s\" is there twice", shown);
    is_set[topic] = true;
    to->of[topic] = (unsigned char)level;
    return 0;
}

int vrt_log_levels_parse(const char *text, struct vrt_log_levels *ret_levels,
                         struct vrt_error *error)
{
    bool is_set[VRT_LOG_TOPICS_MAX + 1] = { false };
    struct vrt_log_levels found;

    found.of[VRT_LOG_TOPICS_MAX] = VRT_LOG_INFO;
    for (const char *p = text;; p++) {
        p += strspn(p, " \t");
        size_t size = strcspn(p, ",");
        size_t next = size;
        while (size > 0 && (p[size - 1] == ' ' || p[size - 1] == '\t'))
            size--;
        int r = parse_level(p, size, &found, is_set, error);
        if (r < 0)
            return r;
        p += next;
        if (!*p)
            break;
    }
    for (size_t i = 0; i < VRT_LOG_TOPICS_MAX; i++)
        if (!is_set[i])
            found.of[i] = found.of[VRT_LOG_TOPICS_MAX];
    *ret_levels = found;
    return 0;
}

int64_t vrt_log_count(enum vrt_log_level level)
{
    return atomic_load_explicit(&n_lines[level], memory_order_relaxed);
}

static bool is_enabled(enum vrt_log_level level, const char *topic)
{
    const size_t i = find_topic(topic, strlen(topic));

    return (int)level <= atomic_load_explicit(&levels[i], memory_order_relaxed);
}

bool vrt_log_enabled(enum vrt_log_level level, const char *topic)
{
    const struct vrt_log_host *host = atomic_load_explicit(&log_host, memory_order_acquire);

    return host ? host->enabled(level, topic) : is_enabled(level, topic);
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
static void keep(const struct vrt_log_record *record)
{
    size_t size = strlen(record->text) + 1;

    pthread_mutex_lock(&history.mutex);
    struct kept *kept = history.capacity ? malloc(sizeof(*kept) + size) : NULL;
    if (kept) {
        kept->record = *record;
        kept->record.text = memcpy(kept->text, record->text, size);
        kept->record.device = "";
        struct kept **place = &history.lines[history.n_written++ % history.capacity];
        free(*place);
        *place = kept;
    }
    pthread_mutex_unlock(&history.mutex);
}

void vrt_log_set_device(const char *name)
{
    snprintf(thread_device, sizeof(thread_device), "%s", name);
}

void vrt_log_set_output(void (*wanted)(const struct vrt_log_record *record))
{
    atomic_store(&output, wanted);
}

/* systemd says which stream it reads by device and inode: who inherits the variable, and has
 * standard error redirected, has another. */
static void look_at_stderr(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    if (stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
        fstat(STDERR_FILENO, &st) == 0 && (unsigned long long)st.st_dev == device &&
        st.st_ino == inode)
        reader = VRT_LOG_STDERR_JOURNAL;
}

enum vrt_log_stderr vrt_log_stderr(void)
{
    pthread_once(&looked, look_at_stderr);
    return reader;
}

/* Return: bytes. */
static size_t print_time(int64_t wall_ns, char *buffer, size_t size)
{
    time_t seconds = (time_t)(wall_ns / VRT_NS_PER_S);
    struct tm tm;

    if (!localtime_r(&seconds, &tm))
        return 0;
    return (size_t)snprintf(buffer, size, "%04d-%02d-%02d %02d:%02d:%02d.%03d ", tm.tm_year + 1900,
                            tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                            (int)(wall_ns % VRT_NS_PER_S / VRT_NS_PER_MS));
}

size_t vrt_log_print(const struct vrt_log_record *record, enum vrt_log_stderr for_reader,
                     char buffer[VRT_LOG_BYTES_MAX])
{
    const int size = VRT_LOG_BYTES_MAX - 1;
    int n = for_reader == VRT_LOG_STDERR_JOURNAL ?
        snprintf(buffer, VRT_LOG_BYTES_MAX, "<%c>", vrt_log_priorities[record->level]) :
        (int)print_time(record->wall_ns, buffer, VRT_LOG_BYTES_MAX);

    n += snprintf(buffer + n, (size_t)(size - n), "%s %.64s: ", vrt_log_level_names[record->level],
                  record->topic);
    vrt_printable(record->text, buffer + n, size - n);
    n += (int)strlen(buffer + n);
    buffer[n++] = '\n';
    return (size_t)n;
}

void vrt_log_print_stderr(const struct vrt_log_record *record)
{
    char line[VRT_LOG_BYTES_MAX];
    size_t n = vrt_log_print(record, vrt_log_stderr(), line);

    /* One write: lines of different threads stay whole. Where stderr is gone, nothing helps. */
    ssize_t written = write(STDERR_FILENO, line, n);
    (void)written;
}

void vrt_log_write(const struct vrt_log_record *record)
{
    void (*write_out)(const struct vrt_log_record *record) = atomic_load(&output);
    struct vrt_log_record whole = *record;

    if (!is_enabled(record->level, record->topic))
        return;
    if (!whole.device[0])
        whole.device = thread_device;
    atomic_fetch_add_explicit(&n_lines[record->level], 1, memory_order_relaxed);
    keep(&whole);
    (write_out ? write_out : vrt_log_print_stderr)(&whole);
}

void vrt_log_line(enum vrt_log_level level, const char *topic, const char *file, int line,
                  const char *function, const char *format, ...)
{
    const struct vrt_log_host *host = atomic_load_explicit(&log_host, memory_order_acquire);
    char text[LINE_BYTES];
    int saved = errno;
    va_list args;

    if (!vrt_log_enabled(level, topic))
        return;
    /* Compilers name files from the build folder on. */
    while (strncmp(file, "../", 3) == 0)
        file += 3;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct vrt_log_record record = {
        .wall_ns = vrt_clock_wall_ns(),
        .level = level,
        .topic = topic,
        .text = text,
        .file = file,
        .line = line,
        .function = function,
        .device = "",
    };
    va_start(args, format);
    vrt_log_find_about(format, args, &record.job, &record.uid);
    va_end(args);
    (host ? host->write : vrt_log_write)(&record);
    errno = saved;
}

const struct vrt_log_host vrt_log_host = { .enabled = is_enabled, .write = vrt_log_write };

void vrt_log_set_host(const struct vrt_log_host *host)
{
    atomic_store_explicit(&log_host, host, memory_order_release);
}
