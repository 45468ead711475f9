/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/queue/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHOICE 64                   /* commands that are looked at */

static struct {
    enum { FORWARD, REVERSE, RANDOM } kind;
    uint64_t state;
} order;

bool drv_order_read(void)
{
    const char *text = getenv("VRT_XPU_ORDER");
    unsigned seed;
    char rest;

    order.kind = FORWARD;
    if (!text || !*text || strcmp(text, "forward") == 0)
        return true;
    if (strcmp(text, "reverse") == 0) {
        order.kind = REVERSE;
        return true;
    }
    if (sscanf(text, "random:%u%c", &seed, &rest) != 1) {
        fprintf(stderr, "vrt-xpu-driver: VRT_XPU_ORDER=%s is nonsense\n", text);
        return false;
    }
    order.kind = RANDOM;
    order.state = seed * 0x9e3779b97f4a7c15u + 1;
    return true;
}

/* One of 0 ... n - 1. */
static size_t choose(size_t n)
{
    if (order.kind != RANDOM)
        return order.kind == FORWARD ? 0 : n - 1;
    order.state ^= order.state << 13;
    order.state ^= order.state >> 7;
    order.state ^= order.state << 17;
    return order.state % n;
}

/* Whether it waits for all before it; a barrier with events of its own waits only for these. */
static bool needs_all(const struct drv_command *command)
{
    return command->kind == DRV_COMMAND_BARRIER && !command->n_waits;
}

static bool is_ready(const struct drv_command *command)
{
    for (uint32_t i = 0; i < command->n_waits; i++) {
        const struct drv_event *event = drv_event_find(command->waits[i]);
        if (event && !event->is_signaled)
            return false;
    }
    return true;
}

/* A command that may be done now: where all of them wait for something, the first. */
static size_t next(const struct drv_list *list, const bool *is_done, size_t first)
{
    size_t ready[MAX_CHOICE], n = 0;
    for (size_t i = first; i < list->n_commands && n < MAX_CHOICE; i++) {
        const struct drv_command *command = list->commands[i];
        if (is_done[i])
            continue;
        if ((i == first || !needs_all(command)) && is_ready(command))
            ready[n++] = i;
        /* All that follows waits for it. */
        if (command->kind == DRV_COMMAND_BARRIER)
            break;
    }
    return n ? ready[choose(n)] : first;
}

ze_result_t drv_list_run(const struct drv_list *list, const struct drv_place *place)
{
    VRT_CLEANUP(vrt_freep) bool *is_done = calloc(list->n_commands + 1, sizeof(bool));
    ze_result_t r = is_done ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
    for (size_t first = 0; r == ZE_RESULT_SUCCESS && first < list->n_commands;) {
        const size_t i = next(list, is_done, first);
        r = drv_command_run(list->commands[i], place);
        is_done[i] = true;
        while (is_done[first])
            first++;
    }
    return r;
}
