/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What backends declare that may be set for their devices: by tables, so that others can read,
 * check and hand on values without knowing a backend. A value is a number, whatever its type.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vrt_backend_option_type {
    VRT_BACKEND_OPTION_INT,
    VRT_BACKEND_OPTION_BOOL,        /* 1 for on, 0 for off */
    VRT_BACKEND_OPTION_WORD,        /* index into `words` */
};

struct vrt_backend_option {
    const char *name;               /* "patience_s" */
    enum vrt_backend_option_type type;
    int64_t min, max;               /* of a value, whatever the type */
    int64_t fallback;               /* the default */
    const char *const *words;       /* ended by NULL */
    const char *help;               /* what it does, in words that vrtd.conf has as well */
};

/* All of one backend, as a section of vrtd.conf. */
struct vrt_backend_section {
    const char *name;               /* "cpu" */
    const struct vrt_backend_option *options;       /* ended by one without a name; NULL: none */
};

/* Tells section i of all that there are. Return: whether there is one. */
typedef bool vrt_backend_sections(size_t i, struct vrt_backend_section *ret_section);

/* What an option is set to. */
struct vrt_backend_value {
    const char *backend, *option;   /* "cpu", "threads" */
    int64_t value;
};

/* VRT_BACKEND_VALUES({ "cpu", "threads", 2 }, ...): ended by one without a backend. */
#define VRT_BACKEND_VALUES(...) \
    ((const struct vrt_backend_value[]){ __VA_ARGS__, { .backend = NULL } })
