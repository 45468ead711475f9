/* SPDX-License-Identifier: MIT */

#include "daemon/remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/remote/catalogue.h"
#include "daemon/remote/fetch.h"
#include "daemon/remote/pulls.h"
#include "daemon/remote/url.h"
#include "daemon/remote/web.h"

#define VRT_LOG_TOPIC "remote"

#define MODEL_MAX_BYTES (8LL * 1024 * 1024 * 1024)  /* far more than any known */
#define SECRET_MIN_BYTES 16         /* 128 bits */
#define SECRET_MAX_BYTES 4096       /* a larger file is another one */
#define CERTIFICATES_BYTES (16 * 1024)      /* that are looked at */

struct vrt_remote {
    struct vrt_remote_params params;        /* without its texts */
    struct vrt_catalogue *catalogue;        /* NULL: none */
    struct vrt_web *web;                    /* NULL: libcurl is unfit, and so the next two */
    struct vrt_pulls *pulls;
    struct vrt_webhooks *webhooks;          /* NULL: off */
    int step;                               /* of stop_steps, that goes on */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
    void (*rest_stopped)(void *ctx);        /* of vrt_remote_stop() */
    void *rest_ctx;
};

static int read_catalogue(struct vrt_remote *remote, const char *path, struct vrt_error *error)
{
    struct vrt_error why = { .id = NULL };
    char buffer[PATH_MAX];

    if (path[0])
        return vrt_fold(vrt_catalogue_read(path, &remote->catalogue, error));
    const char *ours = vrt_folder_of_part("models/catalogue.json", VRT_CATALOGUE_PATH, buffer,
                                          sizeof(buffer));
    if (vrt_catalogue_read(ours, &remote->catalogue, &why) < 0)
        vrt_log_info("there is no catalogue of models: %s", why.message);
    return 0;
}

/* Reads the secret, without the line's end that an editor puts behind it. */
static int read_secret(const char *path, char *secret, size_t *ret_size, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char shown[128];
    struct stat st;

    vrt_printable(path, shown, sizeof(shown));
    ssize_t n = fd < 0 || fstat(fd, &st) < 0 ? -1 : read(fd, secret, SECRET_MAX_BYTES);
    if (n < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), shown);
    while (n > 0 && (secret[n - 1] == '\n' || secret[n - 1] == '\r'))
        n--;
    if (st.st_mode & S_IRWXO)
        return vrt_refuse(error, vrt_raise(-EPERM), "config.invalid",
                          "%s holds a secret that everybody may read: chmod o= it", shown);
    if (n < SECRET_MIN_BYTES || n == SECRET_MAX_BYTES)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "%s: a secret has from %d to %d bytes", shown, SECRET_MIN_BYTES,
                          SECRET_MAX_BYTES - 1);
    *ret_size = (size_t)n;
    return 0;
}

/* The secret that webhooks are signed with; they are on. */
static int find_secret(const struct vrt_remote_params *params, char *secret, size_t *ret_size,
                       struct vrt_error *error)
{
    if (!params->webhook_secret_file[0])
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "webhooks = on needs a webhook_secret_file, with which they are signed");
    return vrt_fold(read_secret(params->webhook_secret_file, secret, ret_size, error));
}

/* libcurl would take any word for the name of a machine. */
static int check_proxy(const char *proxy, struct vrt_error *error)
{
    char shown[128];

    if (!proxy[0] || strstr(proxy, "://"))
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "proxy: %s: expected an address "
                      "such as http://proxy.example.org:3128",
                      vrt_printable(proxy, shown, sizeof(shown)));
}

/* libcurl would say it of each URL. */
static int check_certificates(const char *path, struct vrt_error *error)
{
    char begin[CERTIFICATES_BYTES + 1], shown[128];

    if (!path[0])
        return 0;
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, begin, CERTIFICATES_BYTES);
    vrt_printable(path, shown, sizeof(shown));
    if (n < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), shown);
    begin[n] = '\0';
    if (!strstr(begin, "-----BEGIN CERTIFICATE-----"))
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "ca_file: %s has no certificate in PEM form within its first %d KiB",
                          shown, CERTIFICATES_BYTES / 1024);
    return 0;
}

int vrt_remote_check(const struct vrt_remote_params *params, struct vrt_error *error)
{
    struct vrt_catalogue *catalogue = NULL;
    char secret[SECRET_MAX_BYTES];
    size_t size;

    int r = check_proxy(params->proxy, error);
    if (r == 0)
        r = check_certificates(params->ca_file, error);
    if (r == 0 && params->catalogue[0])
        r = vrt_catalogue_read(params->catalogue, &catalogue, error);
    vrt_catalogue_free(catalogue);
    if (r < 0)
        return vrt_fold(r);
    if (params->webhooks)
        r = find_secret(params, secret, &size, error);
    return vrt_fold(r);
}

static int start_webhooks(struct vrt_remote *remote, const struct vrt_remote_params *params,
                          struct vrt_error *error)
{
    char secret[SECRET_MAX_BYTES];
    size_t size = 0;

    if (!params->webhooks)
        return 0;
    int r = find_secret(params, secret, &size, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_webhooks_new(&(struct vrt_webhooks_params){
        .loop = params->loop,
        .web = remote->web,
        .secret = secret,
        .secret_bytes = size,
    }, &remote->webhooks);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting the webhooks") : 0;
}

/* What needs libcurl; without a fit one there is none of it, which is no error. */
static int start(struct vrt_remote *remote, const struct vrt_remote_params *params,
                 struct vrt_error *error)
{
    struct vrt_web_params web;

    vrt_web_params_init(&web);
    web.loop = params->loop;
    web.proxy = params->proxy;
    web.ca_file = params->ca_file;
    web.private_addresses = params->private_addresses;
    struct vrt_error why = { .id = NULL };
    int r = vrt_web_new(&web, &remote->web, &why);
    if (r == -ENOTSUP) {
        vrt_log_warning("%s", why.message);
        return 0;
    }
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), why.id, "%s", why.message);
    r = vrt_pulls_new(&(struct vrt_pulls_params){
        .loop = params->loop,
        .web = remote->web,
        .models = params->models,
        .folder = params->models_dir,
        .catalogue = remote->catalogue,
        /* One of the administrator's own is there: else vrtd didn't start. */
        .catalogue_path = VRT_CATALOGUE_PATH,
        .limit_bytes = MODEL_MAX_BYTES,
    }, &remote->pulls);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "starting the pulls of models");
    return vrt_fold(start_webhooks(remote, params, error));
}

static void ignore(void *ctx)
{
    (void)ctx;
}

int vrt_remote_new(const struct vrt_remote_params *params, struct vrt_remote **ret_remote,
                   struct vrt_error *error)
{
    struct vrt_remote *remote = calloc(1, sizeof(*remote));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!remote)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "starting");
    remote->params = *params;
    remote->params.models_dir = remote->params.catalogue = remote->params.proxy =
        remote->params.ca_file = remote->params.webhook_secret_file = NULL;
    int r = read_catalogue(remote, params->catalogue, error);
    if (r == 0)
        r = start(remote, params, error);
    if (r < 0) {
        vrt_remote_stop(remote, ignore, NULL);
        return vrt_fold(r);
    }
    if ((params->inputs || params->webhooks) && !vrt_web_has_network())
        vrt_log_warning("[remote] is on, and vrtd has no network, only a loopback: under systemd, "
                        "PrivateNetwork=no in a drop-in (systemctl edit vrtd) gives it one");
    *ret_remote = remote;
    return 0;
}

static int check(const struct vrt_remote *remote, bool is_allowed, const char *what,
                 const char *option, struct vrt_error *error)
{
    if (is_allowed && remote->web)
        return 0;
    return vrt_refuse(error, vrt_raise(-EPERM), VRT_E(REMOTE_OFF), "this vrtd %s%s%s", what,
                      is_allowed ? ": its libcurl is unfit for that" : "; see [remote] ",
                      is_allowed ? "" : option);
}

/* An address in a request's field; `r` says whether there may be any. */
static int check_url(int r, const char *url, const char *field, struct vrt_error *error)
{
    if (r == 0)
        r = vrt_url_check(url, error);
    if (r < 0)
        vrt_error_set_field(error, field);
    return vrt_fold(r);
}

void vrt_remote_configure(struct vrt_remote *remote, const struct vrt_remote_params *params)
{
    remote->params.inputs = params->inputs;
    remote->params.pulls = params->pulls;
    remote->params.max_input_bytes = params->max_input_bytes;
}

int vrt_remote_check_input(const struct vrt_remote *remote, const char *url,
                           struct vrt_error *error)
{
    int r = check(remote, remote->params.inputs, "fetches no inputs from elsewhere",
                  "inputs in vrtd.conf(5)", error);

    return vrt_fold(check_url(r, url, "input.url", error));
}

int vrt_remote_fetch_input(struct vrt_remote *remote, const struct vrt_remote_input *input,
                           struct vrt_fetch **ret_fetch, struct vrt_error *error)
{
    int r = check(remote, true, "fetches nothing", "", error);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_url_check(input->url, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_fetch_start(&(struct vrt_fetch_params){
        .loop = remote->params.loop,
        .web = remote->web,
        .url = input->url,
        .folder_fd = input->folder_fd,
        .name = input->name,
        .limit_bytes = remote->params.max_input_bytes,
        .progress = input->progress,
        .done = input->done,
        .ctx = input->ctx,
    }, ret_fetch);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "fetching the input") : 0;
}

int vrt_remote_check_webhook(const struct vrt_remote *remote, const char *url,
                             struct vrt_error *error)
{
    int r = check(remote, remote->params.webhooks, "sends no webhooks",
                  "webhooks in vrtd.conf(5)", error);

    return vrt_fold(check_url(r, url, "webhook", error));
}

int vrt_remote_send_webhook(struct vrt_remote *remote, const struct vrt_webhook *webhook)
{
    if (!remote->webhooks)
        return -EPERM;
    return vrt_fold(vrt_webhooks_send(remote->webhooks, webhook));
}

int vrt_remote_pull(struct vrt_remote *remote, const struct vrt_model_request *request,
                    struct vrt_model_report *ret_report, struct vrt_error *error)
{
    int r = check(remote, remote->params.pulls, "fetches no models", "models in vrtd.conf(5)",
                  error);

    if (r == 0 && !remote->pulls)
        r = vrt_refuse(error, vrt_raise(-ESHUTDOWN), VRT_E(SHUTTING_DOWN), "vrtd is about to end");
    return vrt_fold(r < 0 ? r : vrt_pulls_start(remote->pulls, request, ret_report, error));
}

int vrt_remote_report_models(const struct vrt_remote *remote, struct vrt_model_report **reports,
                             size_t *n_reports)
{
    /* What cannot be fetched isn't available. */
    if (!remote->pulls || !remote->params.pulls)
        return 0;
    return vrt_fold(vrt_pulls_report(remote->pulls, reports, n_reports));
}

static void stop_next(void *ctx);

static void stop_webhooks(struct vrt_remote *remote)
{
    struct vrt_webhooks *webhooks = VRT_STEAL(remote->webhooks);

    if (webhooks)
        vrt_webhooks_stop(webhooks, stop_next, remote);
    else
        stop_next(remote);
}

static void stop_pulls(struct vrt_remote *remote)
{
    struct vrt_pulls *pulls = VRT_STEAL(remote->pulls);

    if (pulls)
        vrt_pulls_stop(pulls, stop_next, remote);
    else
        stop_next(remote);
}

static void tell_quiet(struct vrt_remote *remote)
{
    remote->stopped(remote->stopped_ctx);
}

static void stop_web(struct vrt_remote *remote)
{
    if (remote->web)
        vrt_web_stop(remote->web, stop_next, remote);
    else
        stop_next(remote);
}

static void stop_all(struct vrt_remote *remote)
{
    void (*stopped)(void *ctx) = remote->stopped;
    void *ctx = remote->stopped_ctx;

    vrt_catalogue_free(remote->catalogue);
    free(remote);
    stopped(ctx);
}

/* Each step calls it again when it is through. */
static void stop_next(void *ctx)
{
    static void (*const steps[])(struct vrt_remote *remote) = {
        stop_webhooks, stop_pulls, tell_quiet, stop_web, stop_all,
    };
    struct vrt_remote *remote = ctx;

    steps[remote->step++](remote);
}

void vrt_remote_quiet(struct vrt_remote *remote, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    remote->stopped = stopped;
    remote->stopped_ctx = ctx;
    stop_next(remote);
}

/* The second half of the steps. */
static void stop_rest(void *ctx)
{
    struct vrt_remote *remote = ctx;

    remote->stopped = remote->rest_stopped;
    remote->stopped_ctx = remote->rest_ctx;
    stop_next(remote);
}

void vrt_remote_stop(struct vrt_remote *remote, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    remote->rest_stopped = stopped;
    remote->rest_ctx = ctx;
    if (remote->step == 0)
        vrt_remote_quiet(remote, stop_rest, remote);
    else
        stop_rest(remote);
}
