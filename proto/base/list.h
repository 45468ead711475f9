/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Doubly linked list whose links are embedded in what it holds; it owns nothing.
 *
 *     struct vrt_list jobs;               of struct vrt_job.link
 *     vrt_list_init(&jobs);
 *     vrt_list_append(&jobs, &job->link);
 *     VRT_LIST_FOREACH(job, &jobs, link) ...      (the current item may be removed)
 */

#include <stdbool.h>

#include "base/macro.h"

struct vrt_list {
    struct vrt_list *next, *previous;
};

/* The items of `list`, each through its member `link`; the current one may be removed. */
#define VRT_LIST_FOREACH(item, list, link)                                                      \
    for (__typeof__(item) item##_next = NULL,                                                   \
         item##_now = vrt_container_of((list)->next, __typeof__(*item), link);                  \
         (item = item##_now, &item->link != (list)) &&                                          \
         (item##_next = vrt_container_of(item->link.next, __typeof__(*item), link), true);      \
         item##_now = item##_next)

/* The first item, or NULL where the list is empty. */
#define VRT_LIST_FIRST(list, type, link) \
    (vrt_list_is_empty(list) ? NULL : vrt_container_of((list)->next, type, link))

/* Makes `list` an empty list, or a link that is in none. */
static inline void vrt_list_init(struct vrt_list *list)
{
    list->next = list->previous = list;
}

/* Whether nothing is in `list`; for a link: whether it is in no list. */
static inline bool vrt_list_is_empty(const struct vrt_list *list)
{
    return list->next == list;
}

/* Puts `link`, which is in no list, before `at`: with the list itself as `at`, last. */
static inline void vrt_list_insert_before(struct vrt_list *at, struct vrt_list *link)
{
    link->next = at;
    link->previous = at->previous;
    at->previous->next = link;
    at->previous = link;
}

/* Puts `link`, which is in no list, last. */
static inline void vrt_list_append(struct vrt_list *list, struct vrt_list *link)
{
    vrt_list_insert_before(list, link);
}

/* Takes `link` out of its list, if it is in one (it was initialised). */
static inline void vrt_list_remove(struct vrt_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    vrt_list_init(link);
}
