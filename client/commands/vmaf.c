/* SPDX-License-Identifier: MIT */
/*
 * No file is made for what libvmaf logs: it opens its standard output by name, to which ffmpeg
 * itself writes nothing.
 */

#include "client/commands/vmaf.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "client/program.h"
#include "fields.h"

#define OUTPUT_BYTES_MAX ((size_t)512 << 20)    /* libvmaf logs about 1 KiB of a frame */
#define CURE "--vmaf needs one that is built with its filter libvmaf"

extern char **environ;

/* The first line of what ffmpeg said, of which the others only follow; without who says it. */
static const char *sentence_of(struct vrt_buf *said, int status, char *line, int size)
{
    if (!said->size_bytes) {
        snprintf(line, (size_t)size, "it ended with status %d and said nothing", status);
        return line;
    }
    said->data[strcspn(said->data, "\n")] = 0;
    const char *who = said->data[0] == '[' ? strstr(said->data, "] ") : NULL;
    return vrt_printable(who ? who + 2 : said->data, line, size);
}

/* Return: 0, `out` is what it wrote; -errno, with `error`. */
static int run_ffmpeg(char *const *argv, const volatile sig_atomic_t *interrupt,
                      struct vrt_buf *out, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf said = { .limit_bytes = OUTPUT_BYTES_MAX };
    struct vrt_error why = { .id = NULL };
    char line[200];
    int r = vrt_program_run(&(struct vrt_program){ argv, environ, NULL, interrupt }, out, &said,
                            &why);

    if (r == -ENOENT)
        return vrt_refuse(error, r, "client.vmaf", "there is no ffmpeg in $PATH: " CURE);
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), "client.vmaf", "VMAF: %s", why.message);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EIO), "client.vmaf", "VMAF: ffmpeg: %s",
                          sentence_of(&said, r, line, sizeof(line)));
    return 0;
}

int vrt_vmaf_check(const volatile sig_atomic_t *interrupt, struct vrt_error *error)
{
    char *const argv[] = { "ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-filters", NULL };
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf out = { .limit_bytes = OUTPUT_BYTES_MAX };
    int r = run_ffmpeg(argv, interrupt, &out, error);

    if (r < 0)
        return vrt_fold(r);
    if (!out.size_bytes || !strstr(out.data, " libvmaf "))
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "client.vmaf", "the ffmpeg that is first in "
                          "$PATH has no VMAF: " CURE);
    return 0;
}

/* A path that ffmpeg takes for nothing else, such as an option or another protocol. */
static char *url_of(const char *path)
{
    char *url = NULL;

    return asprintf(&url, "file:%s", path) < 0 ? NULL : url;
}

/* Of each input by its number; an odd crop is one of luma, which alone counts. */
static char *make_graph(int64_t crop)
{
    char *graph = NULL, part[120];

    snprintf(part, sizeof(part), "crop=iw-%" PRId64 ":ih-%" PRId64 ":%" PRId64 ":%" PRId64
             ":exact=1,settb=1/25,setpts=N", 2 * crop, 2 * crop, crop, crop);
    return asprintf(&graph, "[0:V:0]%s[a];[1:V:0]%s[b];[a][b]libvmaf=log_fmt=json:"
                    "log_path=/dev/stdout:n_threads=%ld", part, part,
                    VRT_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1)) < 0 ? NULL : graph;
}

/* Takes the scores from libvmaf's log. Return: 0; -ENOMEM; -EBADMSG: it isn't as libvmaf's. */
static int read_log(const json_t *log, size_t n_frames, struct vrt_vmaf *ret_vmaf)
{
    struct vrt_vmaf vmaf = { .worst = 0 };
    json_t *frames;

    if (json_unpack((json_t *)log, "{s:o, s:{s:{s:F, s:F, s:F}}}", "frames", &frames,
                    "pooled_metrics", "vmaf", "mean", &vmaf.mean, "harmonic_mean",
                    &vmaf.harmonic_mean, "min", &vmaf.min) < 0 ||
        json_array_size(frames) != n_frames)
        return vrt_raise(-EBADMSG);
    VRT_CLEANUP(vrt_freep) double *scores = calloc(n_frames, sizeof(*scores));
    if (!scores)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < n_frames; i++) {
        if (json_unpack(json_array_get(frames, i), "{s:{s:F}}", "metrics", "vmaf", &scores[i]) < 0)
            return vrt_raise(-EBADMSG);
        if (scores[i] < scores[vmaf.worst])
            vmaf.worst = i;
    }
    vmaf.frames = VRT_STEAL(scores);
    *ret_vmaf = vmaf;
    return 0;
}

int vrt_vmaf_compute(const struct vrt_vmaf_params *params, struct vrt_vmaf *ret_vmaf,
                     struct vrt_error *error)
{
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf out = { .limit_bytes = OUTPUT_BYTES_MAX };
    VRT_CLEANUP(vrt_freep) char *graph = make_graph(params->crop);
    VRT_CLEANUP(vrt_freep) char *main = url_of(params->distorted);
    VRT_CLEANUP(vrt_freep) char *reference = url_of(params->reference);
    struct vrt_error why = { .id = NULL };
    json_t *log = NULL;

    if (!graph || !main || !reference)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "VMAF");
    /* As vrtd: frames as they are stored. The inputs' order is the filter's. */
    char *const argv[] = { "ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-v", "error",
                           "-noautorotate", "-i", main, "-noautorotate", "-i", reference,
                           "-lavfi", graph, "-f", "null", "-", NULL };
    int r = run_ffmpeg(argv, params->interrupt, &out, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_json_parse(out.data, out.size_bytes, &log, &why);
    if (r == 0)
        r = read_log(log, params->n_frames, ret_vmaf);
    json_decref(log);
    return r < 0 ? vrt_refuse(error, vrt_fold(r), "client.vmaf", "VMAF: what ffmpeg gave isn't the "
                              "log of libvmaf 2 or later on %zu frames", params->n_frames) : 0;
}
