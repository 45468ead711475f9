/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Everything that has to do with other machines, and what of it the configuration allows:
 * inputs by URL, models, webhooks
 *
 * Where this machine's libcurl is unfit the daemon runs without: each of them is refused then.
 *
 * Thread: the loop's; vrt_remote_new() before it runs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "daemon/remote/webhooks.h"
#include "msg_device.h"

struct uv_loop_s;
struct vrt_fetch;
struct vrt_fetch_result;
struct vrt_models;
struct vrt_remote;

struct vrt_remote_params {
    struct uv_loop_s *loop;
    struct vrt_models *models;
    const char *models_dir;
    const char *catalogue;          /* a file; "": the one that was installed, if it is there */
    const char *webhook_secret_file;
    const char *proxy;
    const char *ca_file;            /* "": whom the system trusts */
    bool inputs, pulls, webhooks;   /* allowed */
    bool private_addresses;
    int64_t max_input_bytes;
};

/*
 * Whether vrt_remote_new() could read what is configured: the proxy's address, certificates and a
 * catalogue of one's own, the secret of webhooks that are on. Any thread; `loop`, `models`,
 * `models_dir` aren't looked at. Return: 0; -errno, see error.
 */
int vrt_remote_check(const struct vrt_remote_params *params,
                     struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Reads the catalogue and the secret, which may wait for the disk.
 * Return: 0, it is freed by vrt_remote_stop(); -errno, see error: what was configured cannot be.
 */
int vrt_remote_new(const struct vrt_remote_params *params, struct vrt_remote **ret_remote,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* From now on that is allowed, and that much, which `params` says of inputs and models; the rest of
 * it is as it was. What is being fetched goes on. */
void vrt_remote_configure(struct vrt_remote *remote, const struct vrt_remote_params *params);

/* Whether an input may be fetched from there. Return: 0; -EPERM, -EINVAL, see error. */
int vrt_remote_check_input(const struct vrt_remote *remote, const char *url,
                           struct vrt_error *error);

/* An input that is to be fetched; as in fetch.h. */
struct vrt_remote_input {
    const char *url;
    int folder_fd;
    const char *name;
    void (*progress)(void *ctx, int64_t done_bytes, int64_t total_bytes);
    void (*done)(void *ctx, const struct vrt_fetch_result *result, const struct vrt_error *error);
    void *ctx;
};

/*
 * Begins to fetch an input, whether or not a new one would be allowed: it was, when its job was
 * taken. Return: 0, and *ret_fetch may be cancelled until `done` comes; -errno, see error.
 */
int vrt_remote_fetch_input(struct vrt_remote *remote, const struct vrt_remote_input *input,
                           struct vrt_fetch **ret_fetch, struct vrt_error *error);

/* Whether a webhook may be sent there. Return: as vrt_remote_check_input(). */
int vrt_remote_check_webhook(const struct vrt_remote *remote, const char *url,
                             struct vrt_error *error);

/* As vrt_webhooks_send(), which see. Return: also -EPERM where there are none. */
int vrt_remote_send_webhook(struct vrt_remote *remote, const struct vrt_webhook *webhook);

/* As vrt_pulls_start(), for an administrator. Return: also -EPERM, see error. */
int vrt_remote_pull(struct vrt_remote *remote, const struct vrt_model_request *request,
                    struct vrt_model_report *ret_report, struct vrt_error *error);

/* Adds what is known of models besides those in the folder: as vrt_pulls_report(). */
int vrt_remote_report_models(const struct vrt_remote *remote, struct vrt_model_report **reports,
                             size_t *n_reports);

/*
 * Ends pulls and webhooks, whose `done` comes before `stopped` does; they can be gone on with at
 * the next start. There are no further ones: what wants to begin them is refused.
 */
void vrt_remote_quiet(struct vrt_remote *remote, void (*stopped)(void *ctx), void *ctx);

/* Ends everything and frees it, then calls `stopped`, by the loop. No input is being fetched. */
void vrt_remote_stop(struct vrt_remote *remote, void (*stopped)(void *ctx), void *ctx);
