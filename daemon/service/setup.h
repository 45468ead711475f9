/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the daemon is told: the configuration, what the command line says instead, and whether all
 * that it names is there
 *
 * The same functions serve a start, --check-config and a reload: what one refuses, all refuse.
 *
 * Thread: any but the loop's, while nobody changes the environment.
 */

#include "base/error.h"
#include "base/macro.h"
#include "config/conf.h"
#include "daemon/log/output.h"
#include "daemon/service/options.h"

#define VRT_SETUP_PATH_BYTES 300

struct vrt_setup {
    struct vrt_options options;
    /* Settled once, at the start. */
    char state_dir[VRT_SETUP_PATH_BYTES], models_dir[VRT_SETUP_PATH_BYTES];
    char cache_dir[VRT_SETUP_PATH_BYTES];       /* "": nobody says where */
};

/*
 * Reads the configuration, found as at the start, and lets the command line go before it.
 * ret_path (may be NULL) gets its path, "" where there is none.
 * Return: 0; -errno, and `error` says why.
 */
int vrt_setup_read(const struct vrt_setup *setup, struct vrt_conf *ret_conf,
                   char ret_path[VRT_SETUP_PATH_BYTES], struct vrt_error *error) VRT_MUST_CHECK;

/* Settles where the folders are; makes none. Return: 0; -errno, and `error` says why. */
int vrt_setup_folders(struct vrt_setup *setup, const struct vrt_conf *conf,
                      struct vrt_error *error) VRT_MUST_CHECK;

/* Finds where the socket shall be. Return: 0; -errno, and `error` says why. */
int vrt_setup_socket(const struct vrt_setup *setup, const struct vrt_conf *conf,
                     char ret_path[VRT_SETUP_PATH_BYTES], struct vrt_error *error) VRT_MUST_CHECK;

/* Where the configuration has the log go: borrows its texts. */
struct vrt_log_target vrt_setup_log_target(const struct vrt_conf *conf);

/* Has the log be as it is configured, from now on. Return: 0; -errno, and `error` says why. */
int vrt_setup_log(const struct vrt_conf *conf, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Whether everything that the configuration names is there and means something; the folders are
 * settled. Return: 0; -errno, and `error` says what is wrong.
 */
int vrt_setup_check(const struct vrt_setup *setup, const struct vrt_conf *conf,
                    struct vrt_error *error) VRT_MUST_CHECK;
