/* SPDX-License-Identifier: MIT */
#pragma once

/* Who comes by TCP, as it is configured. Thread: the loop's, but where a function says more. */

#include "base/error.h"
#include "base/macro.h"

struct vrt_api;
struct vrt_conf;
struct vrt_store;

/* Whether it may be so. Return: 0; -EINVAL with `error`. Thread: any. */
int vrt_web_check(const struct vrt_conf *conf, struct vrt_error *error) VRT_MUST_CHECK;

/* Reads the tokens, before anything is written to the store, and takes uploads to the API's spool
 * folder: the API has both then. Return: 0; -errno with `error`. */
int vrt_web_load(const struct vrt_conf *conf, struct vrt_store *store, struct vrt_api *api,
                 struct vrt_error *error) VRT_MUST_CHECK;

/* Listens, where it shall; the API has the gate then. Return: 0; -errno with `error`. */
int vrt_web_start(const struct vrt_conf *conf, struct vrt_api *api,
                  struct vrt_error *error) VRT_MUST_CHECK;
