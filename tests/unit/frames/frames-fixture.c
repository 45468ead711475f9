/* SPDX-License-Identifier: MIT */

#include "tests/unit/frames/frames-fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/unit/test.h"

#define HASH_BEGIN 0xcbf29ce484222325u

/* A test is one process with one folder. */
static char folder[64];

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s could not be removed\n", folder);
}

void fixture_init(void)
{
    if (system("command -v ffmpeg >/dev/null && command -v ffprobe >/dev/null") != 0)
        test_skip("the ffmpeg program is not installed");
    snprintf(folder, sizeof(folder), "/tmp/vrt-frames-XXXXXX");
    expect_true(mkdtemp(folder));
    atexit(remove_folder);
}

const char *fixture_path(const char *name)
{
    static char paths[512][160];
    static int next;
    char *path = paths[next++ % VRT_ARRAY_SIZE(paths)];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

/* A step of FNV-1a. */
static uint64_t hash_on(uint64_t hash, uint32_t next)
{
    return (hash ^ next) * 0x100000001b3u;
}

/* For the shell: what these say of files of the same bytes is kept, too. */
static const char kept_programs[] =
    "kept() { kept=$VRT_KEPT/clips/$({ echo \"$@\"; "
    "for file; do [ ! -f \"$file\" ] || cat \"$file\"; done; } | md5sum | cut -c 1-32).out; "
    "[ -e \"$kept\" ] || { command \"$@\" >\"$kept.$$\" && mv \"$kept.$$\" \"$kept\"; } "
    "|| { status=$?; cat \"$kept.$$\"; rm \"$kept.$$\"; return $status; }; cat \"$kept\"; }; "
    "ffprobe() { kept ffprobe \"$@\"; }; ffmpeg() { kept ffmpeg \"$@\"; }";

static const char *run(const char *format, va_list args)
{
    static char output[65536];
    char command[4096];
    bool keeps = getenv("VRT_KEPT") &&
                 (strstr(format, "ffprobe -v error") || strstr(format, "-f framemd5"));

    int n = snprintf(command, sizeof(command), "%s\ncd '%s' && ", keeps ? kept_programs : "",
                     folder);
    vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
    FILE *pipe = popen(command, "r");
    expect_true(pipe);
    size_t size = fread(output, 1, sizeof(output) - 1, pipe);
    int status = pclose(pipe);
    if (status != 0)
        test_fail("status %d from: %s", status, command);
    while (size && output[size - 1] == '\n')
        size--;
    output[size] = '\0';
    return output;
}

const char *fixture_run(const char *command, ...)
{
    va_list args;

    va_start(args, command);
    const char *output = run(command, args);
    va_end(args);
    return output;
}

static int count(const char *text, const char *part)
{
    int n = 0;

    while ((text = strstr(text, part))) {
        text += strlen(part);
        n++;
    }
    return n;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = HASH_BEGIN;

    for (; *text; text++)
        hash = hash_on(hash, (uint8_t)*text);
    return hash;
}

/* Whether it is one file, and made of nothing but its arguments. */
static bool is_drawn(const char *line, const char *name)
{
    return count(line, "-i ") == count(line, "-f lavfi -i ") && !strstr(line, "movie=") &&
           !strstr(line, "-attach ") && !strpbrk(name, "%/");
}

const char *fixture_make(const char *name, const char *arguments, ...)
{
    char line[3072];
    va_list args;

    va_start(args, arguments);
    vsnprintf(line, sizeof(line), arguments, args);
    va_end(args);
    if (getenv("VRT_KEPT") && is_drawn(line, name))
        fixture_run("mkdir -p \"$VRT_KEPT/clips\"; kept=\"$VRT_KEPT/clips/%016" PRIx64 "-%s\"; "
                    "cp \"$kept\" '%s' 2>/dev/null || { ffmpeg -nostdin -v error -y %s '%s' && "
                    "{ cp '%s' \"$kept.$$\" && mv \"$kept.$$\" \"$kept\" || true; }; }",
                    hash_text(line), name, name, line, name, name);
    else
        fixture_run("ffmpeg -nostdin -v error -y %s '%s'", line, name);
    return fixture_path(name);
}

const char *fixture_turn(const char *name, const char *from)
{
    static const char ffmpeg[] = "ffmpeg -nostdin -v error -y";

    /* The option since FFmpeg 6.0, which no longer heeds the metadata. */
    fixture_run("%s -display_rotation:v:0 -90 -i '%s' -c copy '%s' 2>/dev/null || "
                "%s -i '%s' -c copy -metadata:s:v rotate=-90 '%s'", ffmpeg, from, name, ffmpeg,
                from, name);
    return fixture_path(name);
}

const char *fixture_write(const char *name, const void *data, size_t size)
{
    const char *path = fixture_path(name);
    FILE *file = fopen(path, "wb");

    expect_true(file);
    expect_int(fwrite(data, 1, size, file), size);
    expect_int(fclose(file), 0);
    return path;
}

const char *fixture_cut(const char *name, const char *from, int64_t size)
{
    fixture_run("head -c %lld '%s' > '%s'", (long long)size, from, name);
    return fixture_path(name);
}

int64_t fixture_size(const char *path)
{
    struct stat st;

    expect_int(stat(path, &st), 0);
    return st.st_size;
}

int fixture_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        test_fail("%s cannot be opened", path);
    return fd;
}

uint64_t fixture_hash(const struct vrt_frame *frame)
{
    const struct vrt_frame_format *format = &frame->format;
    uint64_t hash = HASH_BEGIN ^ (uint64_t)(format->width * 65536 + format->height) ^
                    (uint64_t)format->depth << 48;

    for (int i = 0; i < vrt_frame_format_n_planes(format); i++) {
        const struct vrt_plane *plane = &frame->planes[i];
        size_t row = (size_t)(plane->width * vrt_frame_format_sample_bytes(format));
        for (int y = 0; y < plane->height; y++)
            hash = hash_on(hash, (uint32_t)crc32(0, plane->data + (size_t)y * plane->stride_bytes,
                                                 (uInt)row));
    }
    return hash;
}

bool fixture_warns(const struct vrt_warnings *warnings, const char *part)
{
    for (int i = 0; i < warnings->n; i++)
        if (strstr(warnings->sentences[i], part))
            return true;
    return false;
}

int64_t fixture_rss_bytes(void)
{
    long long n_pages = 0;

    if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init"))
        return 0;
    FILE *file = fopen("/proc/self/statm", "r");

    expect_true(file);
    expect_int(fscanf(file, "%*d %lld", &n_pages), 1);
    fclose(file);
    return n_pages * sysconf(_SC_PAGESIZE);
}

/* What LeakSanitizer asks for, where it is there: libx265 and libx264 lose some of their own. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libx265\nleak:libx264\n";
}
