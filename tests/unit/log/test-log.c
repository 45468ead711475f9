/* SPDX-License-Identifier: MIT */
/* Log lines: what is logged of which topic, what a line says besides its text, how that looks in
 * JSON and to systemd's journal, and that none is lost where a file is moved away. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/about.h"
#include "daemon/log/format.h"
#include "daemon/log/output.h"

#define VRT_LOG_TOPIC "pool"

static char folder[] = "/tmp/vrt-log-XXXXXX";

static void test_levels(void)
{
    static const struct {
        const char *text;
        enum vrt_log_level all, pool, access;
    } good[] = {
        { "info", VRT_LOG_INFO, VRT_LOG_INFO, VRT_LOG_INFO },
        { "error, pool=debug", VRT_LOG_ERROR, VRT_LOG_DEBUG, VRT_LOG_ERROR },
        { "pool=debug,access=error,warning", VRT_LOG_WARNING, VRT_LOG_DEBUG, VRT_LOG_ERROR },
        { " access=warning ", VRT_LOG_INFO, VRT_LOG_INFO, VRT_LOG_WARNING },
    };
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "\"\" is no level" }, { "loud", "\"loud\" is no level" },
        { "info, debug", "\"debug\" is there twice" }, { "info,", "\"\" is no level" },
        { "swimming=debug", "\"swimming=debug\" names no topic" },
        { "poo=debug", "names no topic" }, { "pool=loud", "\"pool=loud\" is no level" },
        { "pool=debug pool=info", "is no level" },
        { "pool=debug,pool=info", "\"pool=info\" is there twice" }, { "=debug", "names no topic" },
    };
    struct vrt_log_levels levels;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(good); i++) {
        expect_int(vrt_log_levels_parse(good[i].text, &levels, NULL), 0);
        vrt_log_set_levels(&levels);
        for (int level = 0; level < VRT_LOG_LEVEL_COUNT; level++) {
            expect_int(vrt_log_enabled(level, "pool"), level <= (int)good[i].pool);
            expect_int(vrt_log_enabled(level, "access"), level <= (int)good[i].access);
            expect_int(vrt_log_enabled(level, "store"), level <= (int)good[i].all);
            expect_int(vrt_log_enabled(level, "no topic"), level <= (int)good[i].all);
        }
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bad); i++) {
        struct vrt_error error = { .id = NULL };
        expect_int(vrt_log_levels_parse(bad[i].text, &levels, &error), -EINVAL);
        expect_contains(error.message, bad[i].says);
    }
    expect_int(vrt_log_levels_parse("dryer=debug", &levels, NULL), -EINVAL);
    vrt_log_add_topic("dryer");
    vrt_log_add_topic("pool");
    expect_int(vrt_log_levels_parse("error,pool=info,dryer=debug", &levels, NULL), 0);
    vrt_log_set_levels(&levels);
    expect_true(vrt_log_enabled(VRT_LOG_DEBUG, "dryer"));
    expect_true(vrt_log_enabled(VRT_LOG_INFO, "pool") && !vrt_log_enabled(VRT_LOG_DEBUG, "pool"));
}

/* To the journal, where it reads this very stream, a line tells its level instead of the time. */
static void test_stream(void)
{
    static const struct {
        int more_device, more_inode;    /* of the stream that is read, over this one's */
    } cases[] = { { 0, 0 }, { 0, 1 }, { 1, 0 } };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        char stream[64], text[100] = "";
        struct stat st;
        int fds[2];
        expect_int(pipe(fds), 0);
        expect_int(fstat(fds[1], &st), 0);
        snprintf(stream, sizeof(stream), "%llu:%llu",
                 (unsigned long long)st.st_dev + (unsigned)cases[i].more_device,
                 (unsigned long long)st.st_ino + (unsigned)cases[i].more_inode);
        const pid_t child = fork();
        if (child == 0) {
            setenv("JOURNAL_STREAM", stream, 1);
            dup2(fds[1], STDERR_FILENO);
            vrt_log_warning("one");
            _exit(0);
        }
        expect_int(waitpid(child, NULL, 0), child);
        expect_true(read(fds[0], text, sizeof(text) - 1) > 0);
        expect_str(i == 0 ? text : text + strlen("2026-01-02 03:04:05.678 "),
                   i == 0 ? "<4>warning pool: one\n" : "warning pool: one\n");
        close(fds[0]);
        close(fds[1]);
    }
}

static void __attribute__((format(printf, 3, 4))) expect_about(int64_t job, int64_t uid,
                                                               const char *format, ...)
{
    int64_t found_job, found_uid;
    va_list args;

    va_start(args, format);
    vrt_log_find_about(format, args, &found_job, &found_uid);
    va_end(args);
    expect_int(found_job, job);
    expect_int(found_uid, uid);
}

static void test_about(void)
{
    expect_about(0, -1, "nothing");
    expect_about(7LL << 32, -1, "job %" PRId64 " starts", INT64_C(7) << 32);
    expect_about(7, 1000, "job %" PRId64 " of uid %d %s: %s", INT64_C(7), 1000, "is", "uid 3");
    expect_about(0, 3, "a job of uid %d was refused: %s", 3, "job 9");
    expect_about(12, -1, "job %s: shard %" PRId64 " goes to %s", "12", INT64_C(3), "cpu:0");
    expect_about(0, 5, "job %s: uid %d asked", "being submitted", 5);
    expect_about(0, -1, "job %d of uid %d", -1, -1);
    expect_about(8, 0, "%5.1f %-*d %zu %lld %c%% of job %lld by uid %d", 1.5, 3, 4, (size_t)5, 6LL,
                 'x', 8LL, 0);
    expect_about(4, 2, "%.*s %Lf %jd %p %hhd job %ld: uid %d", 2, "ab", 1.0L, (intmax_t)1, NULL,
                 (signed char)1, 4L, 2);
    /* What isn't in the format counts for nothing. */
    expect_about(0, -1, "%s", "job 3 of uid 4");
    expect_about(0, -1, "the job %.0f", 3.0);
    /* Nor what may end without a NUL byte: it isn't read. */
    expect_about(0, 6, "job %.*s of uid %d", 2, "12", 6);
}

static void print(const struct vrt_log_record *record, json_t **ret_json)
{
    char line[VRT_LOG_BYTES_MAX];
    json_error_t error;
    size_t n = vrt_log_print_json(record, line);

    expect_int(line[n - 1], '\n');
    expect_true(!memchr(line, '\n', n - 1));
    *ret_json = json_loadb(line, n, 0, &error);
    if (!*ret_json)
        test_fail("%s in: %.*s", error.text, (int)n, line);
}

static void test_json(void)
{
    static const struct {
        const char *text, *read;
    } cases[] = {
        { "", "" }, { "job 7: \"a\\b\"", "job 7: \"a\\b\"" },
        { "two\nlines\r\t\x01\x7f", "two\nlines\r\t\x01\x7f" },
        { "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xff|\xc3|\xed\xa0\x80",
          "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };
    struct vrt_log_record record = {
        .wall_ns = INT64_C(1767323045678000000), .level = VRT_LOG_WARNING, .topic = "pool",
        .file = "daemon/a.c", .function = "f", .line = 12, .job = 7, .uid = 0, .device = "cuda:0",
    };
    char all[VRT_LOG_BYTES_MAX + 1];
    json_t *json;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        record.text = cases[i].text;
        print(&record, &json);
        expect_str(json_string_value(json_object_get(json, "message")), cases[i].read);
        json_decref(json);
    }
    record.text = "one";
    all[vrt_log_print_json(&record, all)] = '\0';
    expect_str(all, "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"warning\","
               "\"topic\":\"pool\",\"job\":7,\"device\":\"cuda:0\",\"user\":0,"
               "\"file\":\"daemon/a.c\",\"line\":12,\"function\":\"f\",\"message\":\"one\"}\n");
    expect_int(setenv("TZ", "UTC", 1), 0);
    tzset();
    all[vrt_log_print(&record, VRT_LOG_STDERR_OTHER, all)] = '\0';
    expect_str(all, "2026-01-02 03:04:05.678 warning pool: one\n");
    /* Whatever is in it, and however much, it is one object. */
    for (int byte = 1; byte < 256; byte++) {
        memset(all, byte, sizeof(all) - 1);
        all[sizeof(all) - 1] = '\0';
        record.text = all;
        print(&record, &json);
        json_decref(json);
    }
    record = (struct vrt_log_record){ .topic = "pool", .text = "", .file = "", .function = "",
                                      .uid = -1, .device = "" };
    all[vrt_log_print_json(&record, all)] = '\0';
    expect_str(all, "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"error\",\"topic\":\"pool\","
               "\"file\":\"\",\"line\":0,\"function\":\"\",\"message\":\"\"}\n");
}

/* The value of a field of a datagram; NULL: it isn't there. Return: buffer. */
static const char *field(const char *data, size_t size, const char *name, char *buffer)
{
    const char *p = data, *end = data + size;

    while (p < end) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        const char *equals = memchr(p, '=', (size_t)(line_end - p));
        const char *value = equals ? equals + 1 : line_end + 9;
        uint64_t n = 0;
        for (int i = 0; !equals && i < 8; i++)
            n |= (uint64_t)(unsigned char)line_end[1 + i] << (8 * i);
        if (equals)
            n = (uint64_t)(line_end - value);
        const size_t name_bytes = (size_t)((equals ? equals : line_end) - p);
        expect_int(value[n], '\n');
        if (name_bytes == strlen(name) && memcmp(p, name, name_bytes) == 0) {
            memcpy(buffer, value, n);
            buffer[n] = '\0';
            return buffer;
        }
        p = value + n + 1;
    }
    return NULL;
}

/* Leaves what lines went to. */
static void close_log(void)
{
    expect_int(vrt_log_open(&(struct vrt_log_target){ .file = "" }, NULL), 0);
    vrt_log_set_output(NULL);
}

static void test_journal(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char data[VRT_LOG_BYTES_MAX], text[VRT_LOG_BYTES_MAX], wanted[700];
    struct vrt_error error = { .id = NULL };
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/journal", folder);
    expect_int(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    expect_int(vrt_log_open(&(struct vrt_log_target){ VRT_CONF_LOG_JOURNAL, "", address.sun_path },
                            &error), 0);
    vrt_log_set_level(VRT_LOG_INFO);
    const int64_t n_before = vrt_log_count(VRT_LOG_WARNING);
    {
        VRT_LOG_DEVICE("cuda:1");
        vrt_log_warning("job %d of uid %d: %s%0600d", 5, 0, "PRIORITY=0\nVRTD_JOB=6\n\xff", 0);
    }
    vrt_log_debug("nobody reads this");
    vrt_log_error("plain");
    expect_int(vrt_log_count(VRT_LOG_WARNING), n_before + 1);
    ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
    expect_true(n > 0);
    snprintf(wanted, sizeof(wanted), "pool: job 5 of uid 0: PRIORITY=0\nVRTD_JOB=6\n\xff%0600d", 0);
    expect_str(field(data, (size_t)n, "MESSAGE", text), wanted);
    expect_str(field(data, (size_t)n, "PRIORITY", text), "4");
    expect_str(field(data, (size_t)n, "SYSLOG_IDENTIFIER", text), "vrtd");
    expect_str(field(data, (size_t)n, "CODE_FILE", text), "tests/unit/log/test-log.c");
    expect_str(field(data, (size_t)n, "CODE_FUNC", text), "test_journal");
    expect_true(strtol(field(data, (size_t)n, "CODE_LINE", text), NULL, 10) > 100);
    expect_str(field(data, (size_t)n, "VRTD_TOPIC", text), "pool");
    expect_str(field(data, (size_t)n, "VRTD_JOB", text), "5");
    expect_str(field(data, (size_t)n, "VRTD_USER", text), "0");
    expect_str(field(data, (size_t)n, "VRTD_DEVICE", text), "cuda:1");
    expect_true((n = recv(fd, data, sizeof(data), MSG_DONTWAIT)) > 0);
    expect_str(field(data, (size_t)n, "MESSAGE", text), "pool: plain");
    expect_str(field(data, (size_t)n, "PRIORITY", text), "3");
    expect_true(!field(data, (size_t)n, "VRTD_JOB", text));
    expect_true(!field(data, (size_t)n, "VRTD_DEVICE", text));
    expect_true(!field(data, (size_t)n, "VRTD_USER", text));
    expect_int(recv(fd, data, sizeof(data), MSG_DONTWAIT), -1);
    close(fd);
    close_log();
}

#define N_WRITERS 4
#define N_LINES 2000

static atomic_int n_begun;

static void *write_lines(void *ctx)
{
    atomic_fetch_add(&n_begun, 1);
    for (int i = 0; i < N_LINES; i++)
        vrt_log_info("line %d of %d", i, *(const int *)ctx);
    return NULL;
}

/* Counts how often each line is in a file. */
static void count_lines(const char *path, int counts[N_WRITERS][N_LINES])
{
    FILE *file = fopen(path, "r");
    char line[1024];
    int i, writer;

    while (file && fgets(line, sizeof(line), file)) {
        const char *found = strstr(line, "\"message\":\"line ");
        if (found && sscanf(found, "\"message\":\"line %d of %d\"", &i, &writer) == 2)
            counts[writer][i]++;
        else
            test_fail("not a whole line: %s", line);
    }
    if (file)
        fclose(file);
}

/* As logrotate does, again and again, while threads log: every line is there, once and whole, and
 * nothing is on standard error, nor left open. */
static void test_rotation(void)
{
    static int counts[N_WRITERS][N_LINES];
    char path[100], moved[120];
    pthread_t threads[N_WRITERS];
    int ids[N_WRITERS], n_moved = 0;

    snprintf(path, sizeof(path), "%s/stderr", folder);
    const int aside = dup(STDERR_FILENO), fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    expect_int(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    snprintf(path, sizeof(path), "%s/log", folder);
    expect_int(vrt_log_open(&(struct vrt_log_target){ VRT_CONF_LOG_JSON, path, NULL }, NULL), 0);
    vrt_log_set_level(VRT_LOG_INFO);
    for (int i = 0; i < N_WRITERS; i++) {
        ids[i] = i;
        expect_int(pthread_create(&threads[i], NULL, write_lines, &ids[i]), 0);
    }
    while (atomic_load(&n_begun) < N_WRITERS)
        test_sleep_ms(0);
    for (; n_moved < 20; n_moved++) {
        snprintf(moved, sizeof(moved), "%s.%d", path, n_moved);
        expect_int(rename(path, moved), 0);
        expect_int(vrt_log_reopen(NULL), 0);
        expect_int(access(path, F_OK), 0);
    }
    for (int i = 0; i < N_WRITERS; i++)
        pthread_join(threads[i], NULL);
    close_log();
    dup2(aside, STDERR_FILENO);
    close(aside);
    expect_int(lseek(fd, 0, SEEK_END), 0);
    close(fd);
    const int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, fd + 1);
    expect_true(next <= fd + 3);
    close(next);
    count_lines(path, counts);
    for (int i = 0; i < n_moved; i++) {
        snprintf(moved, sizeof(moved), "%s.%d", path, i);
        count_lines(moved, counts);
    }
    for (int w = 0; w < N_WRITERS; w++)
        for (int i = 0; i < N_LINES; i++)
            expect_int(counts[w][i], 1);
}

/* A line that the file doesn't take any more, as its disk is full, is on standard error. */
static void expect_aside(void)
{
    const int aside = dup(STDERR_FILENO);
    struct rlimit limit;
    char text[100] = "";
    int fds[2];

    expect_int(pipe(fds), 0);
    dup2(fds[1], STDERR_FILENO);
    getrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1, limit.rlim_max });
    vrt_log_info("full");
    setrlimit(RLIMIT_FSIZE, &limit);
    dup2(aside, STDERR_FILENO);
    expect_true(read(fds[0], text, sizeof(text) - 1) > 0);
    expect_contains(text, " info pool: full\n");
    close(aside);
    close(fds[0]);
    close(fds[1]);
}

/* What can't be opened is refused, and all is as it was. */
static void test_unfit(void)
{
    char path[100], there[100];
    struct vrt_error error = { .id = NULL };
    struct stat st;

    snprintf(there, sizeof(there), "%s/there", folder);
    expect_int(vrt_log_open(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, there, NULL }, &error), 0);
    snprintf(path, sizeof(path), "%s/no folder/log", folder);
    expect_int(vrt_log_check(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, path, NULL }, &error),
               -ENOENT);
    expect_contains(error.message, "no folder/log can't be written: No such file");
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_log_open(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, path, NULL }, &error),
               -ENOENT);
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_log_check(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, "log", NULL }, &error),
               -EINVAL);
    expect_contains(error.message, "absolute");
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_log_check(&(struct vrt_log_target){ VRT_CONF_LOG_JOURNAL, there, NULL }, &error),
               -EINVAL);
    expect_contains(error.message, "the journal takes no file");
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_log_check(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, folder, NULL }, &error),
               -EISDIR);
    expect_int(vrt_log_check(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, "/dev/null", NULL },
                             &error), -EINVAL);
    /* A check makes nothing. */
    snprintf(path, sizeof(path), "%s/new", folder);
    expect_int(vrt_log_check(&(struct vrt_log_target){ VRT_CONF_LOG_TEXT, path, NULL }, NULL), 0);
    expect_int(access(path, F_OK), -1);
    vrt_log_set_level(VRT_LOG_INFO);
    expect_true(rename(there, path) == 0 && mkdir(there, 0700) == 0);
    expect_int(vrt_log_reopen(&error), -EISDIR);
    vrt_log_info("still here");
    expect_int(stat(path, &st), 0);
    expect_true(st.st_size > 10);
    expect_int(st.st_mode & 0777, 0640 & st.st_mode);
    expect_aside();
    close_log();
}

static void take_line(void *ctx, const struct vrt_log_record *record)
{
    *(*(char **)ctx)++ = record->text[0];
}

/* The last lines that are logged at all, the oldest first. */
static void test_kept(void)
{
    const struct vrt_log_record debug = { .level = VRT_LOG_DEBUG, .topic = "pool", .text = "x" };
    char lines[8] = "";

    vrt_log_keep(3);
    for (char c = 'a'; c <= 'e'; c++) {
        char *next = lines;
        vrt_log_write(&debug);
        vrt_log_info("%c", c);
        vrt_log_recall(take_line, &next);
    }
    expect_str(lines, "cde");
}

static void begin(void)
{
    if (!mkdtemp(folder))
        test_fail("no folder: %s", strerror(errno));
}

/* First, before this process has looked at its own stream, what its children see. */
TEST_MAIN_AFTER(begin(),
    { "stream", test_stream },
    { "levels", test_levels },
    { "about", test_about },
    { "json", test_json },
    { "journal", test_journal },
    { "rotation", test_rotation },
    { "unfit", test_unfit },
    { "kept", test_kept },
)
