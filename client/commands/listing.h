/* SPDX-License-Identifier: MIT */
#pragma once

/* Lists that the daemon keeps, as tables or, with --json, an object a line. */

#include <stdbool.h>

#include "client/terminal/table.h"

struct json_t;
struct vrt_cli;
struct vrt_error;

struct vrt_listing {
    const char *path, *key;                 /* what is asked for, and where the list stands in it */
    const struct vrt_column *columns;
    /* Adds the row of an element. Return: 0; VRT_CONN_E_*; -errno. */
    int (*add)(const struct json_t *json, struct vrt_table *table, struct vrt_error *error);
    /* Adds what the answer says besides. Return: likewise. NULL: nothing. */
    int (*add_notes)(const struct json_t *json, struct vrt_table *table, struct vrt_error *error);
    bool is_optional;                       /* where there is none, or it is empty: say nothing */
};

/* Asks for a list and prints it. Return: enum vrt_exit; everything was said. */
int vrt_listing_print(struct vrt_cli *cli, const struct vrt_listing *listing);
