/* SPDX-License-Identifier: MIT */
#pragma once

/* What of Foundation goes with Metal: strings, errors, arrays, locations of files, the system. */

#include "tests/simulators/mps/runtime/object.h"

struct mtl_string {
    struct mtl_base base;
    char *text;
};

struct mtl_error {
    struct mtl_base base;
    struct mtl_string *description;
    long code;
};

struct mtl_array {
    struct mtl_base base;
    size_t n;
    struct mtl_base **objects;          /* each retained */
};

struct mtl_url {
    struct mtl_base base;
    char *path;
};

extern const struct mtl_class mtl_string_class, mtl_error_class, mtl_array_class, mtl_url_class,
    mtl_process_info_class;

/* New objects, to be released by the caller; strings are copied. */
struct mtl_string *mtl_string_new(const char *text);
struct mtl_error *mtl_error_new(long code, const char *description);
struct mtl_array *mtl_array_new(struct mtl_base *const *objects, size_t n);

/* Gives a client an error where it asked for one: *ret_error, as its pool's. */
void mtl_error_give(mtl_object *ret_error, long code, const char *format, ...) VRT_PRINTF(3, 4);
