/* SPDX-License-Identifier: MIT */

/*
 * What the two ends of a job do by themselves, for bench-daemon.py: as its threads ask processes of
 * vrt-media, without a network between them
 *
 * usage: bench-ends decode FILE N_THREADS
 *        bench-ends encode FILE N_THREADS CODEC QUALITY PRESET N_SEGMENTS SEGMENT_FRAMES
 *
 * encode decodes the first FRAMES_MAX frames beforehand, and encodes them again and again. Prints
 * frames, seconds, and the processors' seconds.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "frames/process/child-encoder.h"

#define FRAMES_MAX 48

static struct vrt_error error;

/* A number of the command line. */
static int number(const char *word)
{
    return (int)strtol(word, NULL, 10);
}

static void need(bool is_well, const char *what)
{
    if (is_well)
        return;
    fprintf(stderr, "bench-ends: %s: %s\n", what, error.message);
    exit(1);
}

/* Of this process, and of those that are gone. */
static double cpu_s(void)
{
    double sum = 0;

    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
        sum += (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    }
    return sum;
}

/* Reads frames; up to `n_kept` are copied into `pool`, which is made where there is none. Return:
 * how many there were. */
static int read_all(const char *path, int n_threads, int n_kept, struct vrt_frame **kept,
                    struct vrt_frame_pool **pool, struct vrt_reader_info *ret_info)
{
    const struct vrt_reader_params params = { .n_threads = n_threads, .name = path };
    struct vrt_child_reader *reader;
    struct vrt_child *child;
    struct vrt_frame *frame;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    int n = 0;

    need(fd >= 0, path);
    need(vrt_child_new(NULL, &child, &error) == 0, "vrt-media");
    need(vrt_child_reader_open(child, fd, &params, &reader, &error) == 0, path);
    for (; (!kept || n < n_kept) && vrt_child_reader_next(reader, &frame, &error) == 0; n++) {
        if (kept) {
            need(*pool || vrt_frame_pool_new(&frame->format, pool) == 0, "memory");
            need(vrt_frame_pool_get(*pool, &kept[n]) == 0, "memory");
            vrt_frame_copy_samples(frame, kept[n]);
        }
        vrt_frame_unref(frame);
    }
    *ret_info = *vrt_child_reader_info(reader);
    vrt_child_reader_close(reader);
    vrt_child_free(child);
    close(fd);
    return n;
}

static void encode_segment(struct vrt_child *child, const struct vrt_encoder_params *params,
                           struct vrt_frame **frames, int n_frames, int n)
{
    char path[] = "/tmp/vrt-bench-XXXXXX";
    struct vrt_child_encoder *encoder;
    const int fd = mkstemp(path);
    int64_t size_bytes;

    need(fd >= 0, path);
    unlink(path);
    need(vrt_child_encoder_new(child, params, fd, &encoder, &error) == 0, "encoder");
    for (int i = 0; i < n; i++) {
        struct vrt_frame *frame = frames[i % n_frames];
        frame->pts = i;
        frame->duration = 1;
        need(vrt_child_encoder_send(encoder, frame, &error) == 0, "encoder");
    }
    need(vrt_child_encoder_finish(encoder, &size_bytes, &error) == 0, "encoder");
    vrt_child_encoder_free(encoder);
    close(fd);
}

static int encode(char **words, int *ret_n, double *ret_cpu_s, int64_t *ret_started_ns)
{
    struct vrt_frame *frames[FRAMES_MAX] = { NULL };
    struct vrt_frame_pool *pool = NULL;
    struct vrt_reader_info info;
    struct vrt_child *child;
    const int n_frames = read_all(words[0], 2, FRAMES_MAX, frames, &pool, &info);
    const int n_segments = number(words[5]), n = number(words[6]);
    struct vrt_encoder_params params = {
        .quality = number(words[3]), .preset = words[4], .n_threads = number(words[1]),
        .format = info.format, .time_base = { 1, 25 }, .fps = { 25, 1 },
    };

    for (int i = 0; vrt_codec_names[i]; i++)
        if (strcmp(vrt_codec_names[i], words[2]) == 0)
            params.codec = (enum vrt_codec)i;
    *ret_cpu_s = cpu_s();
    *ret_started_ns = vrt_clock_now_ns();
    need(n_frames > 0, words[0]);
    need(vrt_child_new(NULL, &child, &error) == 0, "vrt-media");
    for (int i = 0; i < n_segments; i++)
        encode_segment(child, &params, frames, n_frames, n);
    *ret_n = n_segments * n;
    vrt_child_free(child);
    for (int i = 0; i < n_frames; i++)
        vrt_frame_unref(frames[i]);
    vrt_frame_pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    const bool is_encode = argc == 9 && strcmp(argv[1], "encode") == 0;
    int64_t started_ns = vrt_clock_now_ns();
    double cpu_before_s = cpu_s();
    struct vrt_reader_info info;
    int n = 0;

    if (!is_encode && (argc != 4 || strcmp(argv[1], "decode") != 0)) {
        fprintf(stderr, "bench-ends: see its head\n");
        return 2;
    }
    if (is_encode)
        encode(argv + 2, &n, &cpu_before_s, &started_ns);
    else
        n = read_all(argv[2], number(argv[3]), 0, NULL, NULL, &info);
    printf("%d %.4f %.4f\n", n, (double)(vrt_clock_now_ns() - started_ns) / VRT_NS_PER_S,
           cpu_s() - cpu_before_s);
    return 0;
}
