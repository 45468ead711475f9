/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Models on their way into the folder of models
 *
 * A model is fetched as NAME.part beside where it will stand, its SHA-256 computed meanwhile; only
 * when it has the right one and is a network that is known does it get its name, at once and never
 * over another file. What broke off is gone on with by the next pull.
 *
 * Thread: the loop's.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "msg_device.h"

struct uv_loop_s;
struct vrt_catalogue;
struct vrt_models;
struct vrt_pulls;
struct vrt_web;

#define VRT_PULLS_MAX 4         /* at a time */
#define VRT_PULLS_KEPT 16       /* that are over and still told of */

struct vrt_pulls_params {
    struct uv_loop_s *loop;
    struct vrt_web *web;
    struct vrt_models *models;
    const char *folder;                         /* of models; made where there is none */
    const struct vrt_catalogue *catalogue;      /* NULL: none; lives longer */
    const char *catalogue_path;                 /* where one was looked for; lives longer */
    int64_t limit_bytes;                        /* of a model */
};

/* Nothing is pulled yet; `folder` is copied. Return: 0, freed by vrt_pulls_stop(); -ENOMEM. */
int vrt_pulls_new(const struct vrt_pulls_params *params, struct vrt_pulls **ret_pulls);

/*
 * Begins to pull what `request` names; one that is being pulled already goes on.
 * Return: 0, with what there is to be told of it so far; -errno, see error (model.not_found,
 * model.busy, remote.url, request.field).
 */
int vrt_pulls_start(struct vrt_pulls *pulls, const struct vrt_model_request *request,
                    struct vrt_model_report *ret_report, struct vrt_error *error);

/*
 * Adds to a list of models what is known of pulls and what the catalogue holds besides:
 * *reports, of *n_reports, is an array from malloc(). Return: 0; -ENOMEM, and it is as it was.
 */
int vrt_pulls_report(const struct vrt_pulls *pulls, struct vrt_model_report **reports,
                     size_t *n_reports);

/* Ends all pulls, keeping what was fetched, and frees it; then calls `stopped`, by the loop. */
void vrt_pulls_stop(struct vrt_pulls *pulls, void (*stopped)(void *ctx), void *ctx);
