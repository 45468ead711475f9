/* SPDX-License-Identifier: MIT */

/*
 * A download is a row of tries. Each opens where the last one ended:
 *
 *     open the file -> ask -> (empty the file, unless the rest came) -> write ... write -> settle
 *                       ^                                                                  |
 *                       +------------- wait, twice as long each time <---- broke off ------+
 *                                                                                          |
 *                                                        sync, tell <---- complete --------+
 *
 * What the server sends may go on while the file is being written, until both of its buffers are
 * full: then the transfer is paused, and goes on with the next step's end. Nothing is decided about
 * a try before all that came of it has been written.
 *
 * Everything ends in end(), whose closed timer is what tells the owner and frees the object.
 */

#include "daemon/remote/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/remote/url.h"
#include "daemon/remote/web-impl.h"

#define VRT_LOG_TOPIC "fetch"

#define FAILURES_MAX 4              /* in a row, without a byte in between */
#define TRIES_MAX 100               /* in all: a server that sends a byte a time is none */

/* What the headers of an answer say; those of redirects are forgotten. */
struct answer {
    char etag[VRT_FETCH_VERSION_BYTES], modified[VRT_FETCH_VERSION_BYTES];
    int64_t range_start, range_total;       /* of Content-Range; -1: none */
};

struct vrt_fetch {
    struct vrt_fetch_params params;
    char *url, *sha256;                     /* the texts of params; the name is the file's */
    char shown[160];                        /* what to call the address */
    struct vrt_fetch_file *file;
    struct vrt_web_call call;
    uv_timer_t timer;                       /* until the next try; its closing ends it all */
    struct curl_slist *headers;             /* of the try that goes on */
    struct answer answer;
    bool is_accepted;                       /* this try's answer is what was asked for */
    bool is_paused, try_over, cancelled, ending, anew;
    CURLcode code;                          /* of a try that is over */
    int64_t total_bytes;                    /* -1: not known */
    int64_t began_at_bytes;                 /* size when this try began */
    int64_t received_bytes;                 /* with what is still to be written */
    int n_failures, n_tries;
    struct vrt_error error;                 /* with a message: it fails for good */
};

static void ask(struct vrt_fetch *fetch);

static void on_closed(uv_handle_t *handle)
{
    struct vrt_fetch *fetch = handle->data;
    struct vrt_fetch_result result = { .size_bytes = vrt_fetch_file_size(fetch->file) };
    bool failed = fetch->error.message[0];

    if (fetch->params.wants_digest && !failed)
        vrt_fetch_file_digest(fetch->file, result.sha256);
    vrt_fetch_file_free(fetch->file);
    fetch->params.done(fetch->params.ctx, failed ? NULL : &result,
                       failed ? &fetch->error : NULL);
    curl_slist_free_all(fetch->headers);
    free(fetch->url);
    free(fetch->sha256);
    free(fetch);
}

/* It is over, well or with fetch->error. No step goes on. */
static void end(struct vrt_fetch *fetch)
{
    vrt_assert(!vrt_fetch_file_is_busy(fetch->file));
    if (fetch->ending)
        return;
    fetch->ending = true;
    vrt_web_call_end(&fetch->call);
    uv_close((uv_handle_t *)&fetch->timer, on_closed);
}

static void refuse_disk(struct vrt_fetch *fetch, int r)
{
    if (vrt_is_disk_full(r))
        vrt_refuse(&fetch->error, r, VRT_E(SPOOL_FULL),
                   "the disk is full for what is fetched from %s", fetch->shown);
    else
        vrt_refuse_errno(&fetch->error, r, "writing what is fetched");
}

static void on_retry(uv_timer_t *timer)
{
    ask(timer->data);
}

/* The try came to nothing, and another may not: after a while, unless there were enough. */
static void try_again(struct vrt_fetch *fetch, const char *why)
{
    curl_off_t asked_s = 0;
    long status = 0;
    bool has_progress = vrt_fetch_file_size(fetch->file) > fetch->began_at_bytes;

    fetch->n_failures = has_progress ? 1 : fetch->n_failures + 1;
    if (fetch->n_failures > FAILURES_MAX || fetch->n_tries >= TRIES_MAX) {
        curl_easy_getinfo(fetch->call.easy, CURLINFO_RESPONSE_CODE, &status);
        const char *cure = !vrt_web_has_network() ?
                           "; vrtd has no network here, which under systemd is PrivateNetwork=no "
                           "in a drop-in: systemctl edit vrtd" :
                           status ? "" : "; where only a proxy leads out, set proxy in vrtd.conf";
        vrt_refuse(&fetch->error, -EIO, VRT_E(REMOTE_FAILED), "%s (after %d tries)%s", why,
                   fetch->n_tries, cure);
        end(fetch);
        return;
    }
    curl_easy_getinfo(fetch->call.easy, CURLINFO_RETRY_AFTER, &asked_s);
    int wait_ms = vrt_web_retry_ms(fetch->params.web, fetch->n_failures - 1, (long)asked_s);
    vrt_log_info("%s; again in %d ms, from byte %" PRId64, why, wait_ms,
                 vrt_fetch_file_size(fetch->file));
    vrt_web_call_end(&fetch->call);
    if (fetch->params.retrying)
        fetch->params.retrying(fetch->params.ctx, why);
    uv_timer_start(&fetch->timer, on_retry, (uint64_t)wait_ms, 0);
}

/* Whether the server sends the rest of another version than that whose beginning is there, though
 * it was told which one. Both name theirs in the same way, or nothing is known. */
static bool is_other_version(const struct vrt_fetch *fetch, long status)
{
    const char *version = vrt_fetch_file_version(fetch->file);
    const char *answer = version[0] == '"' ? fetch->answer.etag : fetch->answer.modified;

    return status == 206 && version[0] && answer[0] && strcmp(version, answer) != 0;
}

static int refuse_size(struct vrt_fetch *fetch)
{
    return vrt_refuse(&fetch->error, vrt_raise(-EFBIG), VRT_E(REMOTE_TOO_LARGE),
                      "%s has more than the %" PRId64 " bytes that may be fetched", fetch->shown,
                      fetch->params.limit_bytes);
}

/*
 * The server begins to send, or has nothing to send: whether that is what was asked for. Empties
 * the file where it begins anew. Return: 0; -errno, see fetch->error.
 */
static int accept_answer(struct vrt_fetch *fetch)
{
    int64_t size = vrt_fetch_file_size(fetch->file), left = fetch->params.limit_bytes;
    curl_off_t length = -1;
    long status = 0;

    curl_easy_getinfo(fetch->call.easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(fetch->call.easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    bool goes_on = status == 206;
    if (goes_on && (size == 0 || fetch->answer.range_start != size))
        return vrt_refuse(&fetch->error, vrt_raise(-EIO), VRT_E(REMOTE_FAILED),
                          "%s sends another part than was asked for", fetch->shown);
    /* A part may be shorter than what was asked for: then more is to come than its own length. */
    if (goes_on && fetch->answer.range_total > size)
        length = fetch->answer.range_total - size;
    left -= goes_on ? size : 0;
    if (left < 0 || (length >= 0 && length > left))
        return vrt_fold(refuse_size(fetch));
    fetch->total_bytes = length < 0 ? -1 : length + (goes_on ? size : 0);
    fetch->received_bytes = goes_on ? size : 0;
    fetch->is_accepted = true;
    if (goes_on)
        return 0;
    fetch->began_at_bytes = 0;
    const char *version = fetch->answer.etag[0] ? fetch->answer.etag : fetch->answer.modified;
    vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_EMPTY, version);
    return 0;
}

static size_t on_data(char *data, size_t one, size_t size, void *ctx)
{
    struct vrt_fetch *fetch = ctx;
    long status = 0;

    (void)one;
    curl_easy_getinfo(fetch->call.easy, CURLINFO_RESPONSE_CODE, &status);
    /* The words that come with a refusal are for people: the number says enough. */
    if (status != 200 && status != 206)
        return 0;
    if (!fetch->is_accepted && is_other_version(fetch, status))
        return 0;       /* settle() finds it again */
    int r = fetch->is_accepted ? 0 : accept_answer(fetch);
    if (r == 0 && (int64_t)size > fetch->params.limit_bytes - fetch->received_bytes)
        r = refuse_size(fetch);
    if (r == 0)
        r = vrt_fetch_file_append(fetch->file, data, size);
    if (r == VRT_FETCH_FILE_E_BUSY) {
        fetch->is_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (r < 0) {
        vrt_refuse_errno(&fetch->error, r, "writing what is fetched");
        return 0;
    }
    fetch->received_bytes += (int64_t)size;
    return size;
}

/* Takes the value of a header named `name` (with its colon), if this is one. */
static bool take_header(const char *line, size_t size, const char *name, char *buffer,
                        size_t buffer_size)
{
    size_t n = strlen(name);

    if (size < n || strncasecmp(line, name, n) != 0)
        return false;
    while (n < size && (line[n] == ' ' || line[n] == '\t'))
        n++;
    while (size > n && (unsigned char)line[size - 1] <= ' ')
        size--;
    bool fits = size - n < buffer_size;
    for (size_t i = n; i < size; i++)
        fits &= line[i] >= ' ' && line[i] <= '~';
    snprintf(buffer, buffer_size, "%.*s", fits ? (int)(size - n) : 0, line + n);
    return true;
}

/* "bytes 100-199/200", or "bytes * /200" without the space where the range was refused. */
static void take_range(struct answer *answer, const char *text)
{
    const char *slash = strchr(text, '/');
    char *end;

    if (strncasecmp(text, "bytes ", 6) != 0 || !slash)
        return;
    /* One that is too large is the largest, which no file is. */
    long long start = strtoll(text + 6, &end, 10);
    if (*end == '-')
        answer->range_start = start;
    if (slash[1] >= '0' && slash[1] <= '9')
        answer->range_total = strtoll(slash + 1, NULL, 10);
}

static size_t on_header(char *line, size_t one, size_t size, void *ctx)
{
    struct vrt_fetch *fetch = ctx;
    struct answer *answer = &fetch->answer;
    char range[96];

    (void)one;
    if (size >= 5 && strncasecmp(line, "HTTP/", 5) == 0)
        *answer = (struct answer){ .range_start = -1, .range_total = -1 };
    if (take_header(line, size, "ETag:", answer->etag, sizeof(answer->etag))) {
        /* A weak one stands for what is as good as the same, not for the same bytes. */
        if (strncmp(answer->etag, "W/", 2) == 0)
            answer->etag[0] = '\0';
    } else if (take_header(line, size, "Content-Range:", range, sizeof(range))) {
        take_range(answer, range);
    } else {
        take_header(line, size, "Last-Modified:", answer->modified, sizeof(answer->modified));
    }
    return size;
}

/* The whole file has come: is it the right one? */
static void check_digest(struct vrt_fetch *fetch)
{
    char digest[VRT_DIGEST_TEXT_BYTES];

    if (!fetch->sha256[0] ||
        strcmp(vrt_fetch_file_digest(fetch->file, digest), fetch->sha256) == 0) {
        vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_FINISH, NULL);
        return;
    }
    /* What was there before may have been another file: once the whole is worth trying. */
    if (fetch->began_at_bytes > 0 && !fetch->anew) {
        vrt_log_warning("%s: the rest doesn't fit to what was there: all of it is fetched anew",
                        fetch->shown);
        fetch->anew = true;
        vrt_web_call_end(&fetch->call);
        vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_EMPTY, "");
        return;
    }
    vrt_refuse(&fetch->error, -EINVAL, VRT_E(REMOTE_CHECKSUM),
               "%s is not the file that was expected: its SHA-256 is %s, not %s", fetch->shown,
               digest, fetch->sha256);
    vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_REMOVE, NULL);
}

/* The server refused, sends the rest of another version, or says that there is nothing behind what
 * is there already. */
static void settle_status(struct vrt_fetch *fetch, long status)
{
    int64_t size = vrt_fetch_file_size(fetch->file);
    char why[256];

    if (status == 416 && size > 0 && fetch->answer.range_total == size) {
        fetch->total_bytes = size;
        check_digest(fetch);
        return;
    }
    if ((status == 416 || status == 206) && size > 0 && !fetch->anew) {
        fetch->anew = true;
        vrt_web_call_end(&fetch->call);
        vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_EMPTY, "");
        return;
    }
    snprintf(why, sizeof(why), "%s answers with HTTP status %ld", fetch->shown, status);
    if (vrt_web_status_is_passing(status)) {
        try_again(fetch, why);
        return;
    }
    vrt_refuse(&fetch->error, -EIO, VRT_E(REMOTE_FAILED), "%s", why);
    end(fetch);
}

/* The connection brought all that it announced: is that the whole file? */
static void settle_answer(struct vrt_fetch *fetch)
{
    char why[256];

    /* Of nothing nobody was asked to take bytes; an empty file comes by here again. */
    if (!fetch->is_accepted && accept_answer(fetch) < 0) {
        end(fetch);
    } else if (vrt_fetch_file_is_busy(fetch->file)) {
        return;
    } else if (vrt_fetch_file_size(fetch->file) < fetch->total_bytes) {
        snprintf(why, sizeof(why), "%s sends a part only", fetch->shown);
        try_again(fetch, why);
    } else {
        check_digest(fetch);
    }
}

/* A try is over and all of it was written: complete, broken off or refused? */
static void settle(struct vrt_fetch *fetch)
{
    struct vrt_error error = { .id = NULL };
    long status = 0;

    curl_easy_getinfo(fetch->call.easy, CURLINFO_RESPONSE_CODE, &status);
    bool has_answer = fetch->code == CURLE_OK || fetch->code == CURLE_WRITE_ERROR;
    bool is_other = !fetch->is_accepted && is_other_version(fetch, status);
    if (fetch->error.message[0]) {
        end(fetch);
    } else if (has_answer && ((status != 200 && status != 206) || is_other)) {
        settle_status(fetch, status);
    } else if (fetch->code == CURLE_OK) {
        settle_answer(fetch);
    } else {
        vrt_web_call_refuse(&fetch->call, fetch->code, fetch->shown, &error);
        if (vrt_web_call_is_passing(&fetch->call, fetch->code)) {
            try_again(fetch, error.message);
            return;
        }
        fetch->error = error;
        end(fetch);
    }
}

static void on_call_done(struct vrt_web_call *call, CURLcode code);

/* What is to be done next of a try that goes on, now that the file's step has ended. */
static void go_on(struct vrt_fetch *fetch)
{
    if (fetch->try_over && vrt_fetch_file_has_rest(fetch->file)) {
        vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_WRITE, NULL);
    } else if (fetch->try_over) {
        settle(fetch);
    } else if (fetch->is_paused) {
        /* Now the buffers have room: this may call on_data() at once. */
        if (vrt_fetch_file_has_rest(fetch->file))
            vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_WRITE, NULL);
        fetch->is_paused = false;
        CURLcode code = curl_easy_pause(fetch->call.easy, CURLPAUSE_CONT);
        /* What on_data() refuses in there libcurl tells here, and nowhere else. */
        if (code != CURLE_OK)
            on_call_done(&fetch->call, code);
    }
}

static void on_stepped(void *ctx, enum vrt_fetch_file_step which, int result)
{
    struct vrt_fetch *fetch = ctx;

    if (result < 0 && which != VRT_FETCH_FILE_REMOVE)
        refuse_disk(fetch, result);
    if (fetch->cancelled)
        vrt_refuse(&fetch->error, -ECANCELED, "cancelled", "it was cancelled");
    if (fetch->error.message[0] || which == VRT_FETCH_FILE_FINISH) {
        end(fetch);
        return;
    }
    if (which == VRT_FETCH_FILE_WRITE && fetch->params.progress)
        fetch->params.progress(fetch->params.ctx, vrt_fetch_file_size(fetch->file),
                               fetch->total_bytes);
    /* Whoever was told may have cancelled it. */
    if (fetch->ending)
        return;
    if (fetch->call.easy)
        go_on(fetch);
    else
        ask(fetch);
}

static void on_call_done(struct vrt_web_call *call, CURLcode code)
{
    struct vrt_fetch *fetch = vrt_container_of(call, struct vrt_fetch, call);

    fetch->try_over = true;
    fetch->code = code;
    if (!vrt_fetch_file_is_busy(fetch->file))
        go_on(fetch);
}

/* The headers that ask for the rest of what is there. */
static int add_range(struct vrt_fetch *fetch)
{
    const char *version = vrt_fetch_file_version(fetch->file);
    char range[48], condition[VRT_FETCH_VERSION_BYTES + 16];
    int64_t size = vrt_fetch_file_size(fetch->file);
    CURL *easy = fetch->call.easy;

    curl_slist_free_all(VRT_STEAL(fetch->headers));
    /* Where the digest is known the end tells whether the rest fitted. */
    if (size == 0 || (!version[0] && !fetch->sha256[0]))
        return 0;
    snprintf(range, sizeof(range), "%" PRId64 "-", size);
    snprintf(condition, sizeof(condition), "If-Range: %s", version);
    if (curl_easy_setopt(easy, CURLOPT_RANGE, range) != CURLE_OK)
        return vrt_raise(-ENOMEM);
    fetch->headers = version[0] ? curl_slist_append(NULL, condition) : NULL;
    if (version[0] && !fetch->headers)
        return vrt_raise(-ENOMEM);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->headers);
    return 0;
}

/* Begins a try. */
static void ask(struct vrt_fetch *fetch)
{
    fetch->n_tries++;
    fetch->is_accepted = fetch->is_paused = fetch->try_over = false;
    fetch->answer = (struct answer){ .range_start = -1, .range_total = -1 };
    fetch->began_at_bytes = vrt_fetch_file_size(fetch->file);
    int r = vrt_web_call_begin(&fetch->call, fetch->params.web, fetch->url, true);
    if (r == 0)
        r = add_range(fetch);
    if (r == 0) {
        CURL *easy = fetch->call.easy;
        fetch->call.done = on_call_done;
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
        curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
        r = vrt_web_call_start(&fetch->call);
    }
    if (r < 0) {
        vrt_refuse_errno(&fetch->error, vrt_fold(r), "fetching");
        end(fetch);
    }
}

int vrt_fetch_start(const struct vrt_fetch_params *params, struct vrt_fetch **ret_fetch)
{
    struct vrt_fetch *fetch = calloc(1, sizeof(*fetch));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!fetch)
        return vrt_raise(-ENOMEM);
    fetch->params = *params;
    fetch->total_bytes = -1;
    fetch->url = strdup(params->url);
    fetch->sha256 = strdup(params->sha256 ? params->sha256 : "");
    int r = fetch->url && fetch->sha256 ? 0 : vrt_raise(-ENOMEM);
    if (r == 0) {
        vrt_url_shown(fetch->url, fetch->shown, sizeof(fetch->shown));
        fetch->params.url = fetch->url;
        fetch->params.sha256 = fetch->sha256;
        fetch->params.wants_digest |= fetch->sha256[0] != '\0';
        r = vrt_fetch_file_new(&(struct vrt_fetch_file_params){
            .loop = params->loop,
            .folder_fd = params->folder_fd,
            .name = params->name,
            .url = fetch->url,
            .mode = params->mode ? params->mode : 0600,
            .wants_digest = fetch->params.wants_digest,
            .keeps_any = fetch->sha256[0] != '\0',
            .stepped = on_stepped,
            .ctx = fetch,
        }, &fetch->file);
    }
    if (r < 0) {
        free(fetch->url);
        free(fetch->sha256);
        free(fetch);
        return vrt_fold(r);
    }
    vrt_fetch_file_step(fetch->file, VRT_FETCH_FILE_OPEN, NULL);
    uv_timer_init(params->loop, &fetch->timer);
    fetch->timer.data = fetch;
    *ret_fetch = fetch;
    return 0;
}

void vrt_fetch_cancel(struct vrt_fetch *fetch)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (fetch->ending)
        return;
    fetch->cancelled = true;
    vrt_web_call_end(&fetch->call);
    if (vrt_fetch_file_is_busy(fetch->file))
        return;
    vrt_refuse(&fetch->error, -ECANCELED, "cancelled", "it was cancelled");
    end(fetch);
}
