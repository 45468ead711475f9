/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/event.h"

struct mtl_event *mtl_event_new(struct mtl_device *device)
{
    struct mtl_event *event = mtl_new(&mtl_event_class);

    event->device = device;
    return event;
}

struct mtl_event *mtl_event_find(mtl_object handle, const struct mtl_device *device)
{
    struct mtl_event *event = mtl_find(handle, &mtl_event_class, "event");

    mtl_device_expect(device, event->device, "event");
    return event;
}

void mtl_event_signal(struct mtl_event *event, uint64_t value)
{
    mtl_lock();
    if (value <= event->value)
        mtl_die("an event that is at %llu is signaled %llu", (unsigned long long)event->value,
                (unsigned long long)value);
    event->value = value;
    mtl_changed();
    mtl_unlock();
}

const struct mtl_class mtl_event_class = {
    .name = "MTLEvent",
    .n_bytes = sizeof(struct mtl_event),
};
