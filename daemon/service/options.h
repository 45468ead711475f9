/* SPDX-License-Identifier: MIT */
#pragma once

/* vrtd's command line. Thread: the first, before there is a loop. */

#include <stdbool.h>

#include "base/error.h"

enum vrt_options_outcome {
    VRT_OPTIONS_OK = 0,
    VRT_OPTIONS_E_DONE,             /* --help or --version was printed: nothing else is wanted */
};

/* What was given; NULL where nothing was. The texts are argv's. */
struct vrt_options {
    const char *socket, *state_dir, *config, *log_level;
    const char *once, *part;        /* folder and task of a cluster */
    bool check_config;
};

/*
 * Reads the command line. Return: 0; an outcome; -EINVAL, and `error` says what is wrong with it.
 */
int vrt_options_parse(int argc, char **argv, struct vrt_options *ret_options,
                      struct vrt_error *error);
