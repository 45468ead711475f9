/* SPDX-License-Identifier: MIT */

/*
 * Each notice has a timer for its next try, whose closing is also what frees it. Those that are due
 * wait in a line while as many as are allowed are being sent: a server that doesn't answer holds up
 * a place for as long as a try may take, not for all of its tries.
 */

#include "daemon/remote/webhooks.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text/digest.h"
#include "base/thread.h"
#include "daemon/remote/url.h"
#include "daemon/remote/web-impl.h"

#define VRT_LOG_TOPIC "webhooks"

#define TRY_MAX_S 30               /* a receiver that lives answers sooner */
#define ANSWER_MAX_BYTES (64 * 1024)    /* of which nothing is kept */

struct vrt_webhooks {
    struct vrt_webhooks_params params;
    uint8_t *secret;
    struct vrt_list due;                /* of struct notice.link: to be sent as soon as possible */
    struct vrt_list others;             /* likewise: being sent, or waiting for their time */
    int n_sending, n_notices;
    uv_timer_t ending;                  /* only for its closing */
    bool stopping;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

struct notice {
    struct vrt_webhooks *webhooks;
    struct vrt_list link;
    struct vrt_webhook webhook;         /* its texts are below */
    char *url, *body;
    char shown[160];
    struct vrt_web_call call;
    struct curl_slist *headers;
    size_t answer_bytes;
    uv_timer_t timer;
    int n_failed;
    bool is_sending;
    enum vrt_webhook_outcome outcome;
};

static void send_due(struct vrt_webhooks *webhooks);

int vrt_webhooks_new(const struct vrt_webhooks_params *params, struct vrt_webhooks **ret_webhooks)
{
    struct vrt_webhooks *webhooks = calloc(1, sizeof(*webhooks));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!webhooks)
        return vrt_raise(-ENOMEM);
    webhooks->params = *params;
    webhooks->secret = malloc(VRT_MAX(params->secret_bytes, 1));
    if (!webhooks->secret) {
        free(webhooks);
        return vrt_raise(-ENOMEM);
    }
    memcpy(webhooks->secret, params->secret, params->secret_bytes);
    webhooks->params.secret = webhooks->secret;
    vrt_list_init(&webhooks->due);
    vrt_list_init(&webhooks->others);
    uv_timer_init(params->loop, &webhooks->ending);
    webhooks->ending.data = webhooks;
    *ret_webhooks = webhooks;
    return 0;
}

static void on_ending_closed(uv_handle_t *handle)
{
    struct vrt_webhooks *webhooks = handle->data;
    void (*stopped)(void *ctx) = webhooks->stopped;
    void *ctx = webhooks->stopped_ctx;

    free(webhooks->secret);
    free(webhooks);
    stopped(ctx);
}

static void end_if_stopped(struct vrt_webhooks *webhooks)
{
    if (webhooks->stopping && webhooks->n_notices == 0 &&
        !uv_is_closing((uv_handle_t *)&webhooks->ending))
        uv_close((uv_handle_t *)&webhooks->ending, on_ending_closed);
}

static void notice_free(struct notice *notice)
{
    curl_slist_free_all(notice->headers);
    free(notice->url);
    free(notice->body);
    free(notice);
}

static void on_notice_closed(uv_handle_t *handle)
{
    struct notice *notice = handle->data;
    struct vrt_webhooks *webhooks = notice->webhooks;

    webhooks->n_notices--;
    if (notice->webhook.done)
        notice->webhook.done(notice->webhook.ctx, notice->outcome);
    notice_free(notice);
    end_if_stopped(webhooks);
}

/* The place of one that was being sent is free again. */
static void stop_sending(struct notice *notice)
{
    vrt_web_call_end(&notice->call);
    notice->webhooks->n_sending -= notice->is_sending;
    notice->is_sending = false;
}

static void end_notice(struct notice *notice, enum vrt_webhook_outcome outcome)
{
    stop_sending(notice);
    vrt_list_remove(&notice->link);
    notice->outcome = outcome;
    uv_close((uv_handle_t *)&notice->timer, on_notice_closed);
}

const char *vrt_webhook_sign(const void *secret, size_t secret_bytes, const char *timestamp,
                             const char *body, char *buffer)
{
    struct hmac_sha256_ctx hmac;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char text[VRT_DIGEST_TEXT_BYTES];

    hmac_sha256_set_key(&hmac, secret_bytes, secret);
    hmac_sha256_update(&hmac, strlen(timestamp), (const uint8_t *)timestamp);
    hmac_sha256_update(&hmac, 1, (const uint8_t *)".");
    hmac_sha256_update(&hmac, strlen(body), (const uint8_t *)body);
    hmac_sha256_digest(&hmac, sizeof(digest), digest);
    snprintf(buffer, 72, "sha256=%s", vrt_digest_print(digest, text));
    return buffer;
}

static int add_header(struct notice *notice, const char *header)
{
    struct curl_slist *headers = curl_slist_append(notice->headers, header);

    if (!headers)
        return vrt_raise(-ENOMEM);
    notice->headers = headers;
    return 0;
}

static int add_headers(struct notice *notice)
{
    const struct vrt_webhooks_params *params = &notice->webhooks->params;
    char timestamp[24], signature[72], header[128];

    curl_slist_free_all(VRT_STEAL(notice->headers));
    snprintf(timestamp, sizeof(timestamp), "%lld", vrt_clock_wall_ns() / VRT_NS_PER_S);
    vrt_webhook_sign(params->secret, params->secret_bytes, timestamp, notice->body, signature);
    int r = add_header(notice, "Content-Type: application/json");
    /* Else libcurl waits to be told that a longer body is welcome. */
    if (r == 0)
        r = add_header(notice, "Expect:");
    snprintf(header, sizeof(header), "X-Vrtd-Timestamp: %s", timestamp);
    if (r == 0)
        r = add_header(notice, header);
    snprintf(header, sizeof(header), "X-Vrtd-Signature: %s", signature);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(add_header(notice, header));
}

static void on_time(uv_timer_t *timer)
{
    struct notice *notice = timer->data;

    vrt_list_remove(&notice->link);
    vrt_list_append(&notice->webhooks->due, &notice->link);
    send_due(notice->webhooks);
}

/* A try came to nothing, and another may not. */
static void try_later(struct notice *notice, const char *why)
{
    curl_off_t asked_s = 0;

    if (++notice->n_failed >= VRT_WEBHOOK_TRIES_MAX) {
        vrt_log_warning("job %lld: its webhook is given up after %d tries: %s",
                        notice->webhook.job_id, notice->n_failed, why);
        end_notice(notice, VRT_WEBHOOK_GIVEN_UP);
        return;
    }
    if (notice->call.easy)
        curl_easy_getinfo(notice->call.easy, CURLINFO_RETRY_AFTER, &asked_s);
    /* Twice the usual: nobody waits for it, and a server that restarts needs minutes. */
    int wait_ms = 2 * vrt_web_retry_ms(notice->webhooks->params.web, notice->n_failed - 1,
                                       (long)asked_s);
    vrt_log_info("job %lld: %s; its webhook is tried again in %d ms", notice->webhook.job_id, why,
                 wait_ms);
    stop_sending(notice);
    uv_timer_start(&notice->timer, on_time, (uint64_t)wait_ms, 0);
}

static size_t on_answer(char *data, size_t one, size_t size, void *ctx)
{
    struct notice *notice = ctx;

    (void)data;
    (void)one;
    notice->answer_bytes += size;
    return notice->answer_bytes > ANSWER_MAX_BYTES ? 0 : size;
}

static void on_sent(struct vrt_web_call *call, CURLcode code)
{
    struct notice *notice = vrt_container_of(call, struct notice, call);
    struct vrt_webhooks *webhooks = notice->webhooks;
    struct vrt_error error = { .id = NULL };
    long status = 0;

    /* Whoever answers at too great a length has answered. */
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    bool has_answer = (code == CURLE_OK || code == CURLE_WRITE_ERROR) && status > 0;
    bool may_pass = has_answer ? vrt_web_status_is_passing(status) :
                                 vrt_web_call_is_passing(call, code);
    if (has_answer)
        vrt_refuse(&error, -EIO, VRT_E(REMOTE_FAILED), "%s answers with HTTP status %ld",
                   notice->shown, status);
    else
        vrt_web_call_refuse(call, code, notice->shown, &error);
    if (has_answer && status >= 200 && status < 300) {
        vrt_log_info("job %lld: %s was told", notice->webhook.job_id, notice->shown);
        end_notice(notice, VRT_WEBHOOK_DELIVERED);
    } else if (may_pass) {
        try_later(notice, error.message);
    } else {
        vrt_log_warning("job %lld: its webhook is given up: %s", notice->webhook.job_id,
                        error.message);
        end_notice(notice, VRT_WEBHOOK_GIVEN_UP);
    }
    send_due(webhooks);
}

static int post(struct notice *notice)
{
    struct vrt_web_call *call = &notice->call;

    int r = vrt_web_call_begin(call, notice->webhooks->params.web, notice->url, false);
    if (r < 0)
        return vrt_fold(r);
    r = add_headers(notice);
    if (r < 0)
        return vrt_fold(r);
    call->done = on_sent;
    notice->answer_bytes = 0;
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, notice->headers);
    curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, notice->body);
    curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_answer);
    curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, notice);
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT, (long)TRY_MAX_S);
    return vrt_fold(vrt_web_call_start(call));
}

/* Sends those that are due, as many as may be sent at a time. */
static void send_due(struct vrt_webhooks *webhooks)
{
    struct notice *notice;

    while (!webhooks->stopping && webhooks->n_sending < VRT_WEBHOOKS_AT_ONCE &&
           (notice = VRT_LIST_FIRST(&webhooks->due, struct notice, link))) {
        vrt_list_remove(&notice->link);
        vrt_list_append(&webhooks->others, &notice->link);
        notice->is_sending = true;
        webhooks->n_sending++;
        if (post(notice) < 0)
            try_later(notice, "there is no memory for it");
    }
}

int vrt_webhooks_send(struct vrt_webhooks *webhooks, const struct vrt_webhook *webhook)
{
    struct notice *notice = NULL;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (webhooks->stopping || webhooks->n_notices >= VRT_WEBHOOKS_MAX)
        return vrt_raise(-EBUSY);
    notice = calloc(1, sizeof(*notice));
    if (!notice)
        return vrt_raise(-ENOMEM);
    notice->webhooks = webhooks;
    notice->webhook = *webhook;
    notice->url = strdup(webhook->url);
    notice->body = strdup(webhook->body);
    if (!notice->url || !notice->body) {
        notice_free(notice);
        return vrt_raise(-ENOMEM);
    }
    vrt_url_shown(notice->url, notice->shown, sizeof(notice->shown));
    vrt_list_init(&notice->link);
    vrt_list_append(&webhooks->others, &notice->link);
    uv_timer_init(webhooks->params.loop, &notice->timer);
    notice->timer.data = notice;
    webhooks->n_notices++;
    /* By the timer, so that nothing happens within this call. */
    uv_timer_start(&notice->timer, on_time, 0, 0);
    return 0;
}

void vrt_webhooks_stop(struct vrt_webhooks *webhooks, void (*stopped)(void *ctx), void *ctx)
{
    struct notice *notice;

    vrt_assert_thread(VRT_THREAD_LOOP);
    webhooks->stopping = true;
    webhooks->stopped = stopped;
    webhooks->stopped_ctx = ctx;
    VRT_LIST_FOREACH(notice, &webhooks->due, link)
        end_notice(notice, VRT_WEBHOOK_STOPPED);
    VRT_LIST_FOREACH(notice, &webhooks->others, link)
        end_notice(notice, VRT_WEBHOOK_STOPPED);
    end_if_stopped(webhooks);
}
