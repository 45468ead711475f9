/* SPDX-License-Identifier: MIT */
/*
 * One download, for test_fetch.py: its result on one line of JSON.
 *
 * usage: fetch-play URL FOLDER NAME [private] [limit=BYTES] [sha256=HEX] [digest] [cancel=BYTES]
 *                   [connect_ms=N] [stall_s=N] [proxy=URL]
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "daemon/remote/fetch.h"
#include "daemon/remote/url.h"
#include "daemon/remote/web.h"

struct play {
    uv_loop_t loop;
    struct vrt_web *web;
    struct vrt_fetch *fetch;
    int64_t cancel_bytes, most_bytes, total_bytes;
    bool is_done;
};

static void on_progress(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
    struct play *play = ctx;

    play->most_bytes = done_bytes;
    play->total_bytes = total_bytes;
    if (done_bytes >= play->cancel_bytes)
        vrt_fetch_cancel(play->fetch);
}

static void on_stopped(void *ctx)
{
    (void)ctx;
}

static void on_done(void *ctx, const struct vrt_fetch_result *result, const struct vrt_error *error)
{
    struct play *play = ctx;

    vrt_assert(!play->is_done && !result != !error);
    play->is_done = true;
    if (error)
        printf("{\"error\": \"%s\", \"message\": \"%s\", \"progress\": %" PRId64 "}\n", error->id,
               error->message, play->most_bytes);
    else
        printf("{\"size\": %" PRId64 ", \"sha256\": \"%s\", \"total\": %" PRId64 "}\n",
               result->size_bytes, result->sha256, play->total_bytes);
    vrt_web_stop(play->web, on_stopped, NULL);
}

static int take_option(const char *text, struct play *play, struct vrt_web_params *web,
                       struct vrt_fetch_params *fetch)
{
    const char *value = strchr(text, '=');

    value = value ? value + 1 : "";
    if (strcmp(text, "private") == 0)
        web->private_addresses = true;
    else if (strcmp(text, "digest") == 0)
        fetch->wants_digest = true;
    else if (strncmp(text, "limit=", 6) == 0)
        fetch->limit_bytes = strtoll(value, NULL, 10);
    else if (strncmp(text, "sha256=", 7) == 0)
        fetch->sha256 = value;
    else if (strncmp(text, "cancel=", 7) == 0)
        play->cancel_bytes = strtoll(value, NULL, 10);
    else if (strncmp(text, "connect_ms=", 11) == 0)
        web->connect_ms = (int)strtol(value, NULL, 10);
    else if (strncmp(text, "stall_s=", 8) == 0)
        web->stall_s = (int)strtol(value, NULL, 10);
    else if (strncmp(text, "proxy=", 6) == 0)
        web->proxy = value;
    else
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct play play = { .cancel_bytes = INT64_MAX, .total_bytes = -1 };
    struct vrt_web_params web;
    struct vrt_fetch_params fetch = {
        .limit_bytes = 1 << 30,
        .progress = on_progress,
        .done = on_done,
        .ctx = &play,
    };
    struct vrt_error error = { .id = NULL };

    if (argc < 4)
        return 2;
    vrt_log_set_level(VRT_LOG_INFO);
    vrt_web_params_init(&web);
    web.retry_ms = 10;
    for (int i = 4; i < argc; i++)
        if (take_option(argv[i], &play, &web, &fetch) < 0)
            return 2;
    if (vrt_url_check(argv[1], &error) < 0) {
        printf("{\"error\": \"%s\", \"message\": \"%s\"}\n", error.id, error.message);
        return 0;
    }
    uv_loop_init(&play.loop);
    web.loop = fetch.loop = &play.loop;
    vrt_assert(vrt_web_new(&web, &play.web, &error) == 0);
    fetch.web = play.web;
    fetch.url = argv[1];
    fetch.folder_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fetch.name = argv[3];
    vrt_assert(vrt_fetch_start(&fetch, &play.fetch) == 0);
    if (play.cancel_bytes == 0)
        vrt_fetch_cancel(play.fetch);
    uv_run(&play.loop, UV_RUN_DEFAULT);
    vrt_assert(play.is_done && uv_loop_close(&play.loop) == 0);
    close(fetch.folder_fd);
    return 0;
}
