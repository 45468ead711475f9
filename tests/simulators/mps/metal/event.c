/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/event.h"

#include "base/clock.h"

struct mtl_event *mtl_event_new(struct mtl_device *device)
{
    struct mtl_event *event = mtl_new(&mtl_event_class);

    event->device = device;
    return event;
}

struct mtl_event *mtl_shared_event_new(void)
{
    return mtl_new(&mtl_shared_event_class);
}

struct mtl_event *mtl_event_find(mtl_object handle, const struct mtl_device *device)
{
    if (!handle)
        mtl_die("the event is nil");
    struct mtl_base *object = mtl_find_any(handle);
    if (object->class != &mtl_event_class && object->class != &mtl_shared_event_class)
        mtl_die("the event is a %s", object->class->name);
    struct mtl_event *event = (struct mtl_event *)object;
    if (event->device)
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

bool mtl_event_wait(const struct mtl_event *event, uint64_t value, int64_t deadline_ns)
{
    while (event->value < value) {
        if (!mtl_wait(deadline_ns))
            return event->value >= value;
    }
    return true;
}

static mtl_u64 signaled_value(MTL_SELF(mtl_event))
{
    mtl_lock();
    const mtl_u64 value = self->value;
    mtl_unlock();
    return value;
}

static void set_signaled_value(MTL_SELF(mtl_event), mtl_u64 value)
{
    mtl_event_signal(self, value);
}

static mtl_bool wait_until(MTL_SELF(mtl_event), mtl_u64 value, mtl_u64 timeout_ms)
{
    const int64_t now_ns = vrt_clock_now_ns();
    const bool is_endless = timeout_ms >= (uint64_t)(INT64_MAX - now_ns) / VRT_NS_PER_MS;

    mtl_lock();
    const bool is_there = mtl_event_wait(
        self, value, is_endless ? INT64_MAX : now_ns + (int64_t)timeout_ms * VRT_NS_PER_MS);
    mtl_unlock();
    return is_there;
}

const struct mtl_class mtl_event_class = {
    .name = "MTLEvent",
    .n_bytes = sizeof(struct mtl_event),
};

const struct mtl_class mtl_shared_event_class = {
    .name = "MTLSharedEvent",
    .n_bytes = sizeof(struct mtl_event),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("signaledValue", signaled_value, mtl_event, mtl_u64),
        MTL_METHOD("setSignaledValue:", set_signaled_value, mtl_event, mtl_void, mtl_u64),
        MTL_METHOD("waitUntilSignaledValue:timeoutMS:", wait_until, mtl_event, mtl_bool, mtl_u64,
                   mtl_u64),
        { 0 },
    },
};
