/* SPDX-License-Identifier: MIT */
/*
 * Webhooks, for test_webhooks.py: each URL gets the body, and what became of it stands on a line.
 *
 * usage: webhook-play SECRET BODY STOP_AFTER_MS STOP_AT RETRY_MS URL...
 *
 * It stops after so long, and when no more than STOP_AT are left.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "daemon/remote/web.h"
#include "daemon/remote/webhooks.h"

#define NOTICES_MAX 100

struct play {
    uv_loop_t loop;
    uv_timer_t timer;
    struct vrt_web *web;
    struct vrt_webhooks *webhooks;
    int n_left, stop_at;
};

struct sent {
    struct play *play;
    int number;
};

static void on_web_stopped(void *ctx)
{
    (void)ctx;
}

static void on_stopped(void *ctx)
{
    struct play *play = ctx;

    vrt_assert(play->n_left == 0);
    vrt_web_stop(play->web, on_web_stopped, NULL);
}

static void stop(struct play *play)
{
    if (uv_is_closing((uv_handle_t *)&play->timer))
        return;
    uv_close((uv_handle_t *)&play->timer, NULL);
    vrt_webhooks_stop(play->webhooks, on_stopped, play);
}

static void on_time(uv_timer_t *timer)
{
    stop(timer->data);
}

static void on_done(void *ctx, enum vrt_webhook_outcome outcome)
{
    static const char *const words[] = { "delivered", "given up", "stopped" };
    struct sent *sent = ctx;

    printf("%d %s\n", sent->number, words[outcome]);
    if (--sent->play->n_left <= sent->play->stop_at)
        stop(sent->play);
}

int main(int argc, char **argv)
{
    struct play play = { .n_left = 0 };
    struct sent sent[NOTICES_MAX];
    struct vrt_web_params web;
    struct vrt_error error = { .id = NULL };

    if (argc < 7 || argc > 6 + NOTICES_MAX)
        return 2;
    vrt_log_set_level(VRT_LOG_INFO);
    vrt_web_params_init(&web);
    uv_loop_init(&play.loop);
    web.loop = &play.loop;
    web.private_addresses = true;
    play.stop_at = (int)strtol(argv[4], NULL, 10);
    web.retry_ms = (int)strtol(argv[5], NULL, 10);
    vrt_assert(vrt_web_new(&web, &play.web, &error) == 0);
    vrt_assert(vrt_webhooks_new(&(struct vrt_webhooks_params){
        .loop = &play.loop,
        .web = play.web,
        .secret = argv[1],
        .secret_bytes = strlen(argv[1]),
    }, &play.webhooks) == 0);
    uv_timer_init(&play.loop, &play.timer);
    play.timer.data = &play;
    uv_timer_start(&play.timer, on_time, (uint64_t)strtoull(argv[3], NULL, 10), 0);
    for (int i = 6; i < argc; i++) {
        struct sent *one = &sent[i - 6];
        *one = (struct sent){ .play = &play, .number = i - 6 };
        play.n_left++;
        vrt_assert(vrt_webhooks_send(play.webhooks, &(struct vrt_webhook){
            .job_id = i - 6,
            .url = argv[i],
            .body = argv[2],
            .done = on_done,
            .ctx = one,
        }) == 0);
    }
    uv_run(&play.loop, UV_RUN_DEFAULT);
    vrt_assert(play.n_left == 0 && uv_loop_close(&play.loop) == 0);
    return 0;
}
