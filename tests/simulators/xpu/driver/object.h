/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What handles stand for
 *
 * A handle is a number that is never given out twice, and no address: a freed object's is known as
 * such, and reading through one ends the process. An object is embedded first in what it is part
 * of, and lives as long as its parent at most.
 */

#include <stdint.h>

#include "tests/simulators/xpu/driver/driver.h"

enum drv_kind {
    DRV_DRIVER,
    DRV_DEVICE,
    DRV_SENSOR,
    DRV_CONTEXT,
    DRV_MODULE,
    DRV_KERNEL,
    DRV_QUEUE,
    DRV_LIST,
    DRV_FENCE,
    DRV_POOL,
    DRV_EVENT,
    DRV_KIND_COUNT,
};

struct drv_object {
    enum drv_kind kind;
    uint64_t handle;
    struct drv_object *parent;          /* NULL: none */
    unsigned n_children;
    struct drv_object *next;            /* in the table of handles */
};

/* Locked. Gives `object` a handle; `parent` may be NULL. */
void drv_object_add(struct drv_object *object, enum drv_kind kind, struct drv_object *parent);

/*
 * Locked. Takes its handle back. Return: HANDLE_OBJECT_IN_USE, and misuse, where it has children.
 */
ze_result_t drv_object_remove(struct drv_object *object);

/*
 * Locked. What the handle stands for. Return: NULL where that isn't a living object of `kind`;
 * unless the handle is NULL that is misuse.
 */
void *drv_object_find(const void *handle, enum drv_kind kind);

/* Locked. Says which objects still live that a program makes and destroys: each is misuse. */
void drv_object_report_leaks(void);

/* The handle of the object at the head of `thing`, as the type that the API has for it. */
#define DRV_HANDLE(type, thing) ((type)(uintptr_t)(thing)->object.handle)

/* A handle that is given out where there is no object: it is of no living one. */
#define DRV_NO_HANDLE 0x7a6ffffffffffff0u
