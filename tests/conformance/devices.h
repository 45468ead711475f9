/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The devices that are present, each in every guise that must not change what it computes, and on a
 * thread of its own: what is current is a thread's, a card of CUDA's for one.
 */

#include <stdbool.h>

#include "backend/backend.h"

#define CONF_MAX_GUISES 64

struct conf_thread;

struct conf_guise {
    char label[64];                 /* "cpu:0", "cpu:0/threads=3" */
    struct vrt_registry *registry;  /* its own */
    struct vrt_device *device;
    struct conf_thread *thread;     /* the device's */
    int plain;                      /* the guise whose outputs it must reproduce; itself if none */
    bool selected;                  /* by the arguments */
    int n_ran, n_unsupported, n_failed;
};

/* guises[0] is the plain reference device. */
struct conf_devices {
    struct conf_guise guises[CONF_MAX_GUISES];
    int n;
};

/* Opens all devices in all guises. */
void conf_devices_open(struct conf_devices *devices);

/* Closes them. */
void conf_devices_close(struct conf_devices *devices);

/* Has the guise's thread do something with its device, and waits until that is done. */
void conf_guise_do(struct conf_guise *guise, void (*job)(void *context), void *context);

/*
 * Selects those that `filter` ("cpu", "cpu:0", "cpu:0/threads=3"; "": all) is the beginning of;
 * only devices without a guise if `is_plain`. Return: whether there are any.
 */
bool conf_devices_select(struct conf_devices *devices, const char *filter, bool is_plain);

/* Whether guise `i` must run: it is selected, or one that is selected is held against it. */
bool conf_devices_needed(const struct conf_devices *devices, int i);
