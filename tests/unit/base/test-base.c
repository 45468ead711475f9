/* SPDX-License-Identifier: MIT */
/* proto/base: each object's contract, its limits included. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/codecs.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/home.h"
#include "base/io/model-file.h"
#include "base/io/write.h"
#include "base/list.h"
#include "base/text/hash.h"
#include "base/thread.h"

static void test_buf(void)
{
    struct vrt_buf buf = { .limit_bytes = 10 };

    expect_int(vrt_buf_append(&buf, "hello", 5), 0);
    expect_int(vrt_buf_printf(&buf, "%d", 12345), 0);
    expect_str(buf.data, "hello12345");
    expect_int(vrt_buf_append(&buf, "!", 1), -EMSGSIZE);
    expect_int(vrt_buf_printf(&buf, "%s", "!"), -EMSGSIZE);
    expect_str(buf.data, "hello12345");
    vrt_buf_consume(&buf, 5);
    expect_str(buf.data, "12345");

    VRT_CLEANUP(vrt_freep) char *text = vrt_buf_steal(&buf);
    expect_str(text, "12345");
    expect_int(buf.size_bytes, 0);
    VRT_CLEANUP(vrt_freep) char *empty = vrt_buf_steal(&buf);
    expect_str(empty, "");
    vrt_buf_done(&buf);
}

struct item {
    int value;
    struct vrt_list link;
};

static void test_list(void)
{
    struct item items[3] = { { .value = 1 }, { .value = 2 }, { .value = 3 } };
    struct vrt_list list;
    struct item *item;
    int sum = 0, order = 0;

    vrt_list_init(&list);
    expect_true(VRT_LIST_FIRST(&list, struct item, link) == NULL);
    for (int i = 0; i < 3; i++)
        vrt_list_append(&list, &items[i].link);
    VRT_LIST_FOREACH(item, &list, link) {
        order = order * 10 + item->value;
        if (item->value == 2)
            vrt_list_remove(&item->link);
    }
    expect_int(order, 123);
    VRT_LIST_FOREACH(item, &list, link)
        sum += item->value;
    expect_int(sum, 4);
    vrt_list_insert_before(&items[0].link, &items[1].link);
    expect_int(VRT_LIST_FIRST(&list, struct item, link)->value, 2);
    vrt_list_remove(&items[1].link);
    vrt_list_remove(&items[1].link);
    expect_true(vrt_list_is_empty(&items[1].link));
}

static void test_error(void)
{
    struct vrt_error error = { 0 };

    expect_int(vrt_refuse(&error, -EINVAL, "test.first", "the %s is wrong", "size"), -EINVAL);
    expect_int(vrt_refuse_errno(&error, -EIO, "later"), -EIO);
    expect_str(error.message, "the size is wrong");
    expect_str(error.id, "test.first");
    expect_int(vrt_refuse(NULL, -EINVAL, "test", "nobody asks"), -EINVAL);

    struct vrt_error system = { 0 };
    expect_int(vrt_refuse_errno(&system, -ENOENT, "reading x"), -ENOENT);
    expect_str(system.message, "reading x: No such file or directory");
    expect_str(system.id, "internal");
}

static void test_printable(void)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        { "clip.mp4", "clip.mp4" },
        { "a\nb\x1b[31m", "a?b?[31m" },
        { "f\xc3\xbcr", "f\xc3\xbcr" },
        { "\xff\xc3", "??" },
        { "\xc0\x80", "??" },                   /* overlong */
        { "\xed\xa0\x80", "???" },              /* a surrogate */
        { "\xc2\x9b", "?" },                    /* a control character of two bytes */
        { "0123456789abcdefghij", "0123456789ab..." },
        { "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2",
          "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2..." },
    };
    char buffer[16];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++)
        expect_str(vrt_printable(cases[i].text, buffer, sizeof(buffer)), cases[i].shown);
}

static void test_cleanup(void)
{
    int kept = -1, closed = -1;

    {
        VRT_CLEANUP(vrt_closep) int a = open("/dev/null", O_RDONLY | O_CLOEXEC);
        VRT_CLEANUP(vrt_closep) int b = open("/dev/null", O_RDONLY | O_CLOEXEC);
        expect_true(a >= 0 && b >= 0);
        closed = a;
        kept = VRT_STEAL_FD(b);
        expect_int(b, -1);
    }
    expect_int(fcntl(closed, F_GETFD), -1);
    expect_true(fcntl(kept, F_GETFD) >= 0);
    close(kept);
}

static void test_folder(void)
{
    static const struct {
        const char *given, *cache, *home, *folder;      /* folder: NULL: nobody says */
    } cases[] = {
        { "/a:/b", "/c", "/h", "/a" },
        { NULL, "/c", "/h", "/c/vrtd" },
        { "a", "c", "/h", "/h/.cache/vrtd" },
        { NULL, NULL, NULL, NULL },
    };
    const char *const names[] = { "CACHE_DIRECTORY", "XDG_CACHE_HOME", "HOME" };
    char buffer[32];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *const values[] = { cases[i].given, cases[i].cache, cases[i].home };
        for (size_t k = 0; k < VRT_ARRAY_SIZE(names); k++)
            expect_int(values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]), 0);
        const int r = vrt_folder_of_cache(buffer, sizeof(buffer));
        expect_int(r, cases[i].folder || geteuid() == 0 ? 0 : -ENOENT);
        expect_str(r ? "" : buffer, cases[i].folder ? cases[i].folder :
                                    geteuid() == 0 ? "/var/cache/vrtd" : "");
    }
    const uid_t user = geteuid();
    expect_int(user == 0 ? seteuid(65534) : 0, 0);
    expect_int(vrt_folder_of_cache(buffer, sizeof(buffer)), -ENOENT);
    expect_int(seteuid(user), 0);
    expect_int(setenv("HOME", "/a/folder/that/is/longer/than/the/buffer", 1), 0);
    expect_int(vrt_folder_of_cache(buffer, sizeof(buffer)), -ENAMETOOLONG);
}

static void test_folder_make(void)
{
    static const struct {
        const char *path, *made;
        mode_t mode, made_mode;
    } cases[] = {
        { "a/b//c", "a", 0700, 0755 }, { "a/b//c", "a/b/c", 0700, 0700 },
        { "a/b", "a/b", 0700, 0755 }, { "d/e/file", "d/e", 0, 0755 }, { "f", "f", 0700, 0700 },
    };
    char folder[] = "/tmp/vrt-folder-XXXXXX", path[64];
    struct stat st;

    umask(022);
    expect_true(mkdtemp(folder));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].path);
        expect_int(vrt_folder_make(path, 0755, cases[i].mode), 0);
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].made);
        expect_int(stat(path, &st), 0);
        expect_int(st.st_mode & 0777, cases[i].made_mode);
    }
    snprintf(path, sizeof(path), "%s/d/e/file", folder);
    expect_int(access(path, F_OK), -1);
    expect_int(vrt_folder_make("", 0755, 0700), -ENOENT);
    expect_int(vrt_folder_make("/dev/null/a/b", 0755, 0700), -ENOTDIR);
    snprintf(path, sizeof(path), "rm -r %s", folder);
    expect_int(system(path), 0);
}

/* Both halves of an ncnn network as one file, and what is called as one but is none. */
static void test_model_files(void)
{
    static const struct {
        const char *path, *param, *bin;         /* NULL: it isn't there */
        int n;                                  /* bytes of the .bin */
        const char *joined;                     /* NULL: it is refused, and as `says` says */
        const char *says;
    } cases[] = {
        { "a.param", "text\n", "weights", 7, "text\nweights", NULL },
        { "a.BIN", "text", "weights", 7, "text\nweights", NULL },
        { "a.bin", NULL, "weights, many", 13, NULL, "half of an ncnn network" },
        { "a.param", "text", NULL, 0, NULL, "put a.bin beside it" },
        { "a.bin", "text", NULL, 0, NULL, "a.bin: No such file" },
        { "a.bin", NULL, "short", 5, NULL, "half of" },
        { "a.bin", NULL, "PK\3\4zip file", 12, "PK\3\4zip file", NULL },
        { "a.bin", NULL, "PK\3\5zip file", 12, NULL, "half of" },
        { "a.bin", NULL, "\200\2a pickle", 10, "\200\2a pickle", NULL },
        { "a.bin", NULL, "\200\5a pickle", 10, "\200\5a pickle", NULL },
        { "a.bin", NULL, "\200\1a pickle", 10, NULL, "half of" },
        { "a.bin", NULL, "\200\6a pickle", 10, NULL, "half of" },
        { "a.bin", NULL, "\2\0\0\0\0\0\0\0{}", 10, "\2", NULL },
        { "a.bin", NULL, "\377\377\377\377\0\0\0\0{}", 10, "\377\377\377\377", NULL },
        { "a.bin", NULL, "\1\0\0\0\0\0\0\0{}", 10, NULL, "half of" },
        { "a.bin", NULL, "\0\0\0\0\1\0\0\0{}", 10, NULL, "half of" },
        { "a.bin", NULL, "\2\0\0\0\0\0\0\0[]", 10, NULL, "half of" },
    };
    char folder[] = "/tmp/vrt-model-XXXXXX", found[32];

    expect_true(!vrt_model_file_is_pair(".bin") && !vrt_model_file_is_pair("a.bins"));
    expect_true(mkdtemp(folder));
    const int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *const texts[] = { cases[i].param, cases[i].bin };
        const char *const names[] = { "a.param",
                                      strcmp(cases[i].path, "a.BIN") ? "a.bin" : "a.BIN" };
        struct vrt_error error = { 0 };
        int fd = -1;
        for (int k = 0; k < 2; k++) {
            const int made = texts[k] ? openat(at, names[k], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) :
                                        -1;
            if (texts[k])
                expect_int(vrt_write_at(made, texts[k], k ? (size_t)cases[i].n : strlen(texts[k]),
                                        0), 0);
            vrt_closep(&(int){ made });
        }
        errno = ENOENT;
        const int r = vrt_model_file_join(at, cases[i].path, &fd, &error);
        expect_int(r == 0, cases[i].joined != NULL);
        const ssize_t n = r == 0 ? pread(fd, found, sizeof(found) - 1, 0) : 0;
        expect_true(n >= 0);
        found[n] = '\0';
        if (r == 0)
            expect_str(found, cases[i].joined);
        else
            expect_contains(error.message, cases[i].says);
        vrt_closep(&fd);
        for (int k = 0; k < 2; k++)
            unlinkat(at, names[k], 0);
    }
    expect_int(mkdirat(at, "a.bin", 0700), 0);
    struct vrt_error error = { 0 };
    int fd = -1;
    expect_int(vrt_model_file_join(at, "a.bin", &fd, &error), -EISDIR);
    unlinkat(at, "a.bin", AT_REMOVEDIR);
    close(at);
    expect_int(rmdir(folder), 0);
}

/* What a container is given where nobody chose: one that holds its frames' depth. */
static void test_codecs(void)
{
    static const struct {
        enum vrt_container container;
        int depth;
        enum vrt_codec codec;
    } cases[] = {
        { VRT_CONTAINER_MP4, 8, VRT_CODEC_H264 }, { VRT_CONTAINER_MP4, 9, VRT_CODEC_HEVC },
        { VRT_CONTAINER_MP4, 16, VRT_CODEC_HEVC }, { VRT_CONTAINER_MKV, 12, VRT_CODEC_HEVC },
        { VRT_CONTAINER_MKV, 13, VRT_CODEC_FFV1 }, { VRT_CONTAINER_WEBM, 16, VRT_CODEC_VP9 },
        { VRT_CONTAINER_MXF, 8, VRT_CODEC_DNXHR },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++)
        expect_int(vrt_codec_for(cases[i].container, cases[i].depth), cases[i].codec);
    expect_int(vrt_preset_find("ultrafast"), 0);
    expect_int(vrt_preset_find("placebo"), 9);
    expect_int(vrt_preset_find("p"), -1);
}

/* Names that one key has in one place another has all over it. */
static void test_hash(void)
{
    int counts[64] = { 0 }, n = 0, most = 0;
    char name[16];

    for (int i = 0; i < 65536; i++) {
        const size_t size = (size_t)snprintf(name, sizeof(name), "conv.%d", i);
        if (vrt_hash(123456789, name, size) % 1024 != 7)
            continue;
        most = VRT_MAX(most, ++counts[vrt_hash(987654321, name, size) % 64]);
        n++;
    }
    expect_true(n > 32 && most < 8);
    expect_true(vrt_hash_key() != vrt_hash_key());
    expect_true(vrt_hash(99999, "a", 1) != vrt_hash(99999, "a", 2));
    expect_true(vrt_hash(99999, "ac", 2) != vrt_hash(99999, "bc", 2));
}

static void test_program_path(void)
{
    char path[4096], small[8];
    size_t n = vrt_program_path(path, sizeof(path));

    expect_true(n > 0 && path[0] == '/');
    expect_int(strlen(path), n);
    expect_str(strrchr(path, '/'), "/test-base");
    expect_int(vrt_program_path(small, sizeof(small)), 0);
    expect_int(vrt_program_path(path, n), 0);
    expect_int(vrt_program_path(path, n + 1), n);
}

static void test_clock(void)
{
    int64_t a = vrt_clock_now_ns();

    test_sleep_ms(1);
    expect_true(vrt_clock_now_ns() - a >= VRT_NS_PER_MS);
    expect_true(vrt_clock_wall_ns() > 1700000000LL * VRT_NS_PER_S);
}

static void test_wrong_wall_clock(void)
{
    static const char *const refused[] = {
        "", "x", "1,", "1,2", "1,2,", "1,2,0", "1,2,-1", "1,2,3,", "1,2,3,4", "nan", "inf",
        "1e10", "1,1e10,1", "1 ", "1,2,1e-12",
    };
    int64_t wall = vrt_clock_wall_ns();
    struct vrt_wall_error wrong = { .offset_ns = 42 };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (vrt_clock_parse_wall_error(refused[i], &wrong) != -EINVAL || wrong.offset_ns != 42)
            test_fail("\"%s\" is taken", refused[i]);
    expect_int(vrt_clock_parse_wall_error("-86400.5", &wrong), 0);
    vrt_clock_set_wall_error(&wrong);
    expect_near(vrt_clock_wall_ns() - wall, -86400.5e9, 10e9);
    /* Both sides of a jump are seen, and what is between is never. */
    expect_int(vrt_clock_parse_wall_error("0,1000000,0.001", &wrong), 0);
    vrt_clock_set_wall_error(&wrong);
    int n_jumps = 0;
    for (bool was_off = false; n_jumps < 6;) {
        int64_t off = vrt_clock_wall_ns() - wall;
        bool is_off = off > 500000 * VRT_NS_PER_S;
        expect_near(off, is_off ? 1e15 : 0, 20e9);
        n_jumps += is_off != was_off;
        was_off = is_off;
    }
    expect_int(vrt_clock_parse_wall_error("0", &wrong), 0);
    vrt_clock_set_wall_error(&wrong);
    expect_near(vrt_clock_wall_ns() - wall, 0, 20e9);
}

/* Whether the calling thread would take the signal. */
static bool takes(int signal_number)
{
    sigset_t blocked;

    expect_int(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
    return !sigismember(&blocked, signal_number);
}

static void *inherit(void *seen)
{
    *(bool *)seen = takes(SIGTERM);
    return NULL;
}

static void *work(void *role)
{
    static const int sent[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD,
                                SIGALRM, SIGPIPE, SIGXFSZ, SIGPROF, SIGTSTP };
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    pthread_t child;
    bool child_takes = true;

    expect_true(takes(SIGTERM));
    vrt_thread_set_role(*(enum vrt_thread_role *)role, "worker");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(sent); i++)
        expect_true(!takes(sent[i]));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(own); i++)
        expect_true(takes(own[i]));
    expect_int(pthread_create(&child, NULL, inherit, &child_takes), 0);
    pthread_join(child, NULL);
    expect_true(!child_takes);
    return NULL;
}

/* Workers, pools and what they start leave the process's signals to the others. */
static void test_signals(void)
{
    enum vrt_thread_role roles[] = { VRT_THREAD_WORKER, VRT_THREAD_POOL };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(roles); i++) {
        pthread_t thread;
        expect_int(pthread_create(&thread, NULL, work, &roles[i]), 0);
        pthread_join(thread, NULL);
    }
    vrt_thread_set_role(VRT_THREAD_LOOP, "loop");
    expect_true(takes(SIGTERM) && takes(SIGINT));
}

static void test_thread(void)
{
    expect_int(vrt_thread_role(), VRT_THREAD_ANY);
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_thread_set_role(VRT_THREAD_LOOP, "a name longer than fifteen bytes");
    vrt_assert_thread(VRT_THREAD_LOOP);
    expect_int(vrt_thread_role(), VRT_THREAD_LOOP);
}

/* As much as is there, from anywhere. */
static void test_at(void)
{
    FILE *file = tmpfile();
    const int fd = fileno(file);
    char bytes[8] = "";

    expect_int(vrt_write_at(fd, "lo", 2, 3), 0);
    expect_int(vrt_write_at(fd, "hel", 3, 0), 0);
    expect_int(vrt_read_at(fd, bytes, 5, 0), 0);
    expect_str(bytes, "hello");
    expect_int(vrt_read_at(fd, bytes, 3, 2), 0);
    expect_str(bytes, "llolo");
    expect_int(vrt_read_at(fd, bytes, 6, 0), -ENODATA);
    expect_int(vrt_read_at(fd, bytes, 1, 5), -ENODATA);
    expect_int(vrt_read_at(fd, bytes, 0, 5), 0);
    expect_int(vrt_read_at(-1, bytes, 1, 0), -EBADF);
    expect_int(vrt_write_at(-1, bytes, 1, 0), -EBADF);
    /* A part of it finds room. */
    struct rlimit limit;
    expect_true(getrlimit(RLIMIT_FSIZE, &limit) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    expect_int(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 7, limit.rlim_max }), 0);
    expect_int(vrt_write_at(fd, "xyz", 3, 5), -EFBIG);
    expect_int(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fclose(file);
}

TEST_MAIN(
    { "buf", test_buf },         { "list", test_list },   { "error", test_error },
    { "at", test_at },           { "printable", test_printable },
    { "cleanup", test_cleanup }, { "folder", test_folder },
    { "folder-make", test_folder_make }, { "hash", test_hash },
    { "model-files", test_model_files }, { "codecs", test_codecs },
    { "program-path", test_program_path },
    { "clock", test_clock },
    { "wrong-wall-clock", test_wrong_wall_clock },
    { "thread", test_thread }, { "signals", test_signals },
)
