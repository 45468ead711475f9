/* SPDX-License-Identifier: MIT */
#pragma once

/* What the names in a graph's file stand for: a number each. Names are borrowed. */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "engine/checkpoint/text.h"

struct vrt_dag_name {
    struct vrt_text text;           /* data NULL: a free place */
    int value;
};

/* Embedded by value; zero-filled is empty. */
struct vrt_dag_names {
    struct vrt_dag_name *places;    /* hashed by text, with `key` */
    uint32_t key;
    size_t n_places, n_names;
};

void vrt_dag_names_done(struct vrt_dag_names *names);

/* Return: 0; -EEXIST; -ENOMEM. */
int vrt_dag_names_put(struct vrt_dag_names *names, struct vrt_text text, int value)
    VRT_MUST_CHECK;

/* Return: the entry, which lives until the next is put; NULL: none. */
struct vrt_dag_name *vrt_dag_names_find(const struct vrt_dag_names *names, struct vrt_text text);
