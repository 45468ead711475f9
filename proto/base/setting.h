/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Settings: options that a part of the program declares by a table, so that others can read, check
 * and hand on what they are set to without knowing the part. A value is a number, of any type.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vrt_setting_type {
    VRT_SETTING_INT,
    VRT_SETTING_BOOL,               /* 1 for on, 0 for off */
    VRT_SETTING_WORD,               /* index into `words` */
};

struct vrt_setting {
    const char *name;               /* "patience_s" */
    enum vrt_setting_type type;
    int64_t min, max;               /* of a value, whatever the type */
    int64_t fallback;               /* the default */
    const char *const *words;       /* ended by NULL */
    const char *help;               /* what it does, in words that vrtd.conf has as well */
};

/* All of one part. */
struct vrt_setting_group {
    const char *name;               /* "cpu" */
    const struct vrt_setting *settings;     /* ended by one without a name; NULL: none */
};

/* Tells group i of all that there are. Return: whether there is one. */
typedef bool vrt_setting_groups(size_t i, struct vrt_setting_group *ret_group);

/* What an option is set to. */
struct vrt_setting_value {
    const char *group, *name;
    int64_t value;
};

/* VRT_SETTINGS({ "cpu", "threads", 2 }, ...): values, ended by one without a group. */
#define VRT_SETTINGS(...) ((const struct vrt_setting_value[]){ __VA_ARGS__, { .group = NULL } })
