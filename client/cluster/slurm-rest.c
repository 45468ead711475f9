/* SPDX-License-Identifier: MIT */

/*
 * slurmrestd, by libcurl: a request is one connection. It speaks three versions of its messages at
 * a time, so that of those below every Slurm since 22.05 knows one; which, is found by asking: an
 * address of a version that it doesn't know is answered by 404, and nothing was done.
 */

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/cluster/slurm-impl.h"
#include "fields.h"

#define ANSWER_BYTES_MAX (256 << 20)
#define PATIENCE_S 60L
#define TOKEN_VARIABLE "SLURM_JWT"

/* What slurmrestd calls a job that there isn't (any more): ESLURM_INVALID_JOB_ID,
 * ESLURM_ALREADY_DONE of slurm/slurm_errno.h. */
#define NO_SUCH_JOB 2017
#define ALREADY_DONE 2021

extern char **environ;

static const struct version {
    const char *name;
    enum vrt_slurm_shape shape;
} versions[] = {
    { "v0.0.42", VRT_SLURM_TYPED }, { "v0.0.40", VRT_SLURM_TYPED }, { "v0.0.38", VRT_SLURM_PLAIN },
};

struct call {
    const char *url, *method;
    const char *path;               /* behind the version */
    const char *body;               /* NULL: none */

    struct vrt_buf answer;
    long status;
    int64_t error_number;           /* Slurm's own of a refusal; -1: none */
};

static void close_easy(CURL **easy)
{
    curl_easy_cleanup(*easy);
}

static void free_headers(struct curl_slist **headers)
{
    curl_slist_free_all(*headers);
}

static size_t take_answer(char *data, size_t size, size_t n, void *ctx)
{
    struct call *call = ctx;

    /* Taking less than was given is how curl is told to give up. */
    return vrt_buf_append(&call->answer, data, size * n) < 0 ? 0 : size * n;
}

/* Appends a line to the list. Return: whether there was memory. */
static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    VRT_CLEANUP(vrt_freep) char *line = NULL;

    if (asprintf(&line, "%s: %s", name, value) < 0)
        line = NULL;
    struct curl_slist *more = line ? curl_slist_append(*headers, line) : NULL;
    if (more)
        *headers = more;
    return more;
}

/* Who asks: over a Unix socket the kernel says so, too. */
static bool add_headers(struct curl_slist **headers, const struct call *call)
{
    const char *token = getenv(TOKEN_VARIABLE);
    const struct passwd *user = getpwuid(geteuid());
    bool good = true;

    if (call->body)
        good &= add_header(headers, "Content-Type", "application/json");
    if (token && token[0])
        good &= add_header(headers, "X-SLURM-USER-TOKEN", token);
    if (token && token[0] && user)
        good &= add_header(headers, "X-SLURM-USER-NAME", user->pw_name);
    return good;
}

static void set_up(CURL *easy, struct call *call)
{
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, PATIENCE_S);
    curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "vrtctl/" VRT_VERSION);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    if (call->body)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body);
}

/* Sends it and takes the answer, whatever that is. Return: 0; -errno with `error`. */
static int perform(struct call *call, const char *version, struct vrt_error *error)
{
    static const char unix_beginning[] = "unix:";
    const size_t n = strlen(unix_beginning);
    const bool is_unix = strncmp(call->url, unix_beginning, n) == 0;
    VRT_CLEANUP(close_easy) CURL *easy = curl_easy_init();
    VRT_CLEANUP(free_headers) struct curl_slist *headers = NULL;
    VRT_CLEANUP(vrt_freep) char *address = NULL;

    if (asprintf(&address, "%s/slurm/%s/%s", is_unix ? "http://localhost" : call->url, version,
                 call->path) < 0)
        address = NULL;
    if (!easy || !address || !add_headers(&headers, call))
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "asking slurmrestd");
    set_up(easy, call);
    curl_easy_setopt(easy, CURLOPT_URL, address);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    if (is_unix) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, call->url + n);
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    }
    const CURLcode code = curl_easy_perform(easy);
    if (code == CURLE_OUT_OF_MEMORY)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "asking slurmrestd");
    if (code != CURLE_OK)
        return vrt_refuse(error, vrt_raise(-EIO), "client.slurm", "slurmrestd at %s doesn't "
                          "answer: %s", call->url, curl_easy_strerror(code));
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &call->status);
    return 0;
}

/* The sentence of an answer that is a refusal. */
static int refused(struct call *call, json_t *json, struct vrt_error *error)
{
    const json_t *first = json_array_get(json_object_get(json, "errors"), 0);
    const char *what = json_string_value(json_object_get(first, "error"));
    const char *where = json_string_value(json_object_get(first, "description"));
    char sentence[300], printable[300];

    if (call->status == 401 || call->status == 511)
        return vrt_refuse(error, vrt_raise(-EPERM), "client.slurm", "slurmrestd at %s doesn't know "
                          "who asks: set " TOKEN_VARIABLE " to a token that is valid, such as "
                          "scontrol token prints", call->url);
    if (json_is_integer(json_object_get(first, "error_number")))
        call->error_number = json_integer_value(json_object_get(first, "error_number"));
    if (!what && !where)
        snprintf(sentence, sizeof(sentence), "HTTP status %ld", call->status);
    else if (what && where && !strstr(where, what))
        snprintf(sentence, sizeof(sentence), "%s: %s", where, what);
    else
        snprintf(sentence, sizeof(sentence), "%s", where ? where : what);
    return vrt_refuse(error, vrt_raise(-EIO), "client.slurm", "slurmrestd: %s",
                      vrt_printable(sentence, printable, sizeof(printable)));
}

/* Asks in one version. Return: 0, *ret_json is the caller's; -ENOENT: it doesn't know the version;
 * -errno with `error`. */
static int ask_in(struct call *call, const char *version, json_t **ret_json,
                  struct vrt_error *error)
{
    struct vrt_error why = { .id = NULL };
    json_t *json = NULL;

    call->answer.limit_bytes = ANSWER_BYTES_MAX;
    call->status = 0;
    call->error_number = -1;
    int r = perform(call, version, error);
    if (r == 0)
        r = vrt_json_parse(call->answer.data ? call->answer.data : "", call->answer.size_bytes,
                           &json, &why);
    vrt_buf_done(&call->answer);
    if (r < 0 && !call->status)
        return vrt_fold(r);
    /* Slurm's own refusals may have the status, too, but say why. */
    if (call->status == 404 && !json_array_size(json_object_get(json, "errors"))) {
        json_decref(json);
        return vrt_refuse(error, -ENOENT, "client.slurm", "what answers at %s is no slurmrestd of "
                          "Slurm 22.05 or later", call->url);
    }
    if (call->status != 200)
        r = refused(call, json, error);
    else if (r < 0)
        r = vrt_refuse(error, r, "client.slurm", "slurmrestd's answer makes no sense: %s",
                       why.message);
    if (r == 0)
        *ret_json = json;
    else
        json_decref(json);
    return vrt_fold(r);
}

/* Asks, in whichever version is known. Return: as ask_in(). */
static int ask(struct call *call, json_t **ret_json, struct vrt_error *error)
{
    struct vrt_error why = { .id = NULL };
    int r = -ENOENT;

    for (size_t i = 0; r == -ENOENT && i < VRT_ARRAY_SIZE(versions); i++) {
        why = (struct vrt_error){ .id = NULL };
        r = ask_in(call, versions[i].name, ret_json, &why);
    }
    if (r < 0)
        *error = why;
    return vrt_fold(r);
}

/* Submits it in one version. Return: as ask_in(). */
static int submit_in(const char *url, const struct vrt_slurm_batch *batch,
                     const struct version *version, json_t **ret_json, struct vrt_error *error)
{
    struct vrt_buf body = { .limit_bytes = 0 };
    json_t *json;

    int r = vrt_slurm_json_of_batch(batch, version->shape, environ, &json, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_json_print(json, &body);
    json_decref(json);
    if (r < 0)
        r = vrt_refuse_errno(error, r, "asking slurmrestd");
    else
        r = ask_in(&(struct call){ url, "POST", "job/submit", body.data }, version->name,
                   ret_json, error);
    vrt_buf_done(&body);
    return r;
}

static int submit(const char *url, const struct vrt_slurm_batch *batch, int64_t *ret_id,
                  struct vrt_error *error)
{
    struct vrt_error why = { .id = NULL };
    json_t *json = NULL;
    int r = -ENOENT;

    for (size_t i = 0; r == -ENOENT && i < VRT_ARRAY_SIZE(versions); i++) {
        why = (struct vrt_error){ .id = NULL };
        r = submit_in(url, batch, &versions[i], &json, &why);
    }
    if (r < 0) {
        *error = why;
        return vrt_fold(r);
    }
    const int64_t id = json_integer_value(json_object_get(json, "job_id"));
    json_decref(json);
    if (id <= 0)
        return vrt_refuse(error, vrt_raise(-EPROTO), "client.slurm", "slurmrestd's answer names no "
                          "job");
    *ret_id = id;
    return 0;
}

static int list(const char *url, const char *comment, struct vrt_slurm_job **ret_jobs,
                size_t *ret_n, struct vrt_error *error)
{
    const struct passwd *user = getpwuid(geteuid());
    json_t *json = NULL;

    int r = user ? ask(&(struct call){ url, "GET", "jobs", NULL }, &json, error) :
            vrt_refuse(error, vrt_raise(-ENOENT), "client.slurm", "this user has no name here");
    if (r == 0)
        r = vrt_slurm_jobs_of_json(json, user->pw_name, comment, ret_jobs, ret_n, error);
    json_decref(json);
    return vrt_fold(r);
}

/* What has ended meanwhile is as good. */
static int order(const char *url, int64_t id, enum vrt_slurm_order what, struct vrt_error *error)
{
    static const struct {
        const char *method, *body;
    } orders[] = {
        [VRT_SLURM_CANCEL] = { "DELETE", NULL },
        [VRT_SLURM_HOLD] = { "POST", "{\"hold\":true}" },
        [VRT_SLURM_RELEASE] = { "POST", "{\"hold\":false}" },
    };
    struct vrt_error why = { .id = NULL };
    json_t *json = NULL;
    char path[40];

    snprintf(path, sizeof(path), "job/%" PRId64, id);
    struct call call = { url, orders[what].method, path, orders[what].body };
    int r = ask(&call, &json, &why);
    json_decref(json);
    if (r == 0 || call.error_number == NO_SUCH_JOB || call.error_number == ALREADY_DONE)
        return 0;
    *error = why;
    return vrt_fold(r);
}

const struct vrt_slurm_ops vrt_slurm_by_rest = {
    .submit = submit,
    .list   = list,
    .order  = order,
};
