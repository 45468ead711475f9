/* SPDX-License-Identifier: MIT */
#pragma once

/* The devices of one kind that a scenario is about. */

#include "backend/backend.h"
#include "tests/unit/test.h"

#define MAX_DEVICES 4

/* The devices' kind: "xpu". */
extern const char *kind;

struct machine {
    struct vrt_registry *registry;
    const struct vrt_device_info *infos[MAX_DEVICES];
    struct vrt_device *devices[MAX_DEVICES];    /* NULL: not open */
    int n;
};

/* Values of options: so many seconds for a piece of work. */
#define PATIENCE_S(n) VRT_BACKEND_VALUES({ kind, "patience_s", n })

/* Those that there are, none of them open. */
struct machine look(const struct vrt_registry_params *params);

/* Return: as vrt_device_open(). */
int open_device(struct machine *m, int i);

/* The first device, open. */
struct machine open_first(void);

/* Closes whatever is open. */
void leave(struct machine *m);

/* Scenarios of which devices there are, and what is said of them, ended by one without a name. */
struct scenario {
    const char *name;
    void (*run)(void);
};

extern const struct scenario presence_scenarios[];
