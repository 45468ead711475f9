/* SPDX-License-Identifier: MIT */

/*
 * Buffers, replicas and programs are the real backend's own: only the device is ours, so that what
 * passes costs nothing and what the callers' functions keep in their heads is in one place.
 *
 * Calls meet the schedule before they reach the real backend: one that fails has done nothing, as
 * with a driver that refuses. Only corruption comes after, because it spoils what was computed.
 * Freeing, closing and asking what is supported never fail and are not counted: a backend's have no
 * way to fail either, and after a loss the daemon must still be able to clean up.
 *
 * What a schedule counts, and whether the device is lost, is in vrt_fault_state, which outlives the
 * opened device: that is how one that is opened again goes on where it was. It is atomic because a
 * thread that was abandoned in a delay may still be here when the device's next one is.
 */

#include "backend/fault/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend-impl.h"
#include "backend/fault/corrupt.h"
#include "backend/staging.h"
#include "base/clock.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "fault"

/* What a device does at the same time, where the schedule says that it takes time. */
enum engine {
    NONE,                           /* it is never busy */
    UP,
    COMPUTE,
    DOWN,
    ENGINE_COUNT,
};

struct fault_device {
    struct vrt_device base;
    struct vrt_device *inner;
    struct vrt_fault_wrap wrap;
    const struct vrt_replica *corrupted;    /* the last one to which something else came */
    int64_t until_ns[ENGINE_COUNT]; /* when each is done with all that it was given */
};

struct fault_staging {
    struct vrt_staging base;
    struct vrt_staging *inner;
    int64_t pulled_ns;              /* when what was pulled is there */
};

static struct fault_device *fault_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct fault_device, base);
}

static void wait_ns(int64_t ns)
{
    struct timespec left = { ns / VRT_NS_PER_S, ns % VRT_NS_PER_S };

    while (ns > 0 && nanosleep(&left, &left) < 0)
        ;
}

/* Gives the engine something that takes so long, and begins when the one before it is done, too.
 * Return: when it will be done. */
static int64_t occupy(struct fault_device *device, enum engine engine, int64_t takes_ns)
{
    const int64_t free_ns = VRT_MAX(device->until_ns[engine], device->until_ns[engine - 1]);

    device->until_ns[engine] = VRT_MAX(vrt_clock_now_ns(), free_ns) + takes_ns;
    return device->until_ns[engine];
}

/* Waits until there is no such file: looking for it now and then is as soon as a test needs it. */
static void wait_without(const char *file)
{
    while (access(file, F_OK) == 0)
        wait_ns(VRT_NS_PER_MS);
}

/* Counts a call, and does what the schedule says of it, corruptions apart. Return: what the call
 * shall; 0: it goes on. */
static int meet(const struct vrt_fault_wrap *wrap, struct vrt_fault_occasion occasion,
                struct vrt_fault_event *ret_event)
{
    struct vrt_fault_state *state = wrap->state;
    occasion.count = atomic_fetch_add(&state->counts[occasion.call], 1) + 1;
    const struct vrt_fault_event event =
        vrt_fault_schedule_at(wrap->schedule, wrap->info, &occasion);

    *ret_event = event;
    wait_ns(event.delay_ns);
    if (event.file)
        wait_without(event.file);
    if (atomic_load(&state->lost))
        return VRT_BACKEND_E_LOST;
    if (event.effect == VRT_FAULT_NOTHING)
        return 0;
    vrt_log_info("%s: %s number %lld goes wrong, as scheduled", wrap->info->name,
                 vrt_fault_call_name(occasion.call), (long long)occasion.count);
    switch (event.effect) {
    case VRT_FAULT_FAIL:
        return VRT_BACKEND_E_FAILED;
    case VRT_FAULT_NOMEM:
        return VRT_BACKEND_E_NOMEM;
    case VRT_FAULT_LOST:
        /* In this order: whoever sees it lost finds the number. */
        atomic_store(&state->opens_to_revive, event.revive);
        atomic_store(&state->lost, true);
        return VRT_BACKEND_E_LOST;
    default:
        return 0;
    }
}

static int meet_event(struct vrt_device *device, enum vrt_fault_call call,
                      struct vrt_fault_event *ret_event)
{
    return meet(&fault_of(device)->wrap, (struct vrt_fault_occasion){ .call = call }, ret_event);
}

static int meet_call(struct vrt_device *device, enum vrt_fault_call call)
{
    struct vrt_fault_event event;

    return meet_event(device, call, &event);
}

static int meet_alloc(struct vrt_device *device, size_t size_bytes)
{
    const struct vrt_fault_occasion occasion = { .call = VRT_FAULT_ALLOC,
                                                 .size_bytes = (int64_t)size_bytes };
    struct vrt_fault_event event;

    return meet(&fault_of(device)->wrap, occasion, &event);
}

/* An opening of a lost device brings it nearer to being revived. */
static void revive(struct vrt_fault_state *state)
{
    /* From VRT_FAULT_NEVER, which is 0, on 1 is never met. */
    if (atomic_load(&state->lost) && atomic_fetch_sub(&state->opens_to_revive, 1) == 1)
        atomic_store(&state->lost, false);
}

int vrt_fault_open(const struct vrt_fault_wrap *wrap, struct vrt_device **ret_device)
{
    struct vrt_fault_event event;
    struct fault_device *device;

    /* Before the schedule is met: the opening that revives it succeeds itself. */
    revive(wrap->state);
    int r = meet(wrap, (struct vrt_fault_occasion){ .call = VRT_FAULT_OPEN }, &event);
    if (r != 0)
        return r;
    device = calloc(1, sizeof(*device));
    if (!device)
        return vrt_raise(-ENOMEM);
    r = wrap->inner->open(wrap->info, &device->inner);
    if (r != 0) {
        free(device);
        return r;
    }
    /* As the registry does for devices that aren't wrapped: the checked calls rely on both. */
    device->inner->ops = wrap->inner;
    device->inner->info = wrap->info;
    device->wrap = *wrap;
    *ret_device = &device->base;
    return 0;
}

static void fault_close(struct vrt_device *base)
{
    struct fault_device *device = fault_of(base);

    device->inner->ops->close(device->inner);
    free(device);
}

static int fault_buffer_new(struct vrt_device *device, size_t size_bytes,
                            struct vrt_buffer **ret_buffer)
{
    struct vrt_device *inner = fault_of(device)->inner;
    int r = meet_alloc(device, size_bytes);

    return r != 0 ? r : inner->ops->buffer_new(inner, size_bytes, ret_buffer);
}

static void fault_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer)
{
    struct vrt_device *inner = fault_of(device)->inner;

    inner->ops->buffer_free(inner, buffer);
}

static int fault_buffer_write(struct vrt_device *device, struct vrt_buffer *dst,
                              size_t offset_bytes, const void *src, size_t size_bytes)
{
    struct vrt_device *inner = fault_of(device)->inner;
    int r = meet_call(device, VRT_FAULT_WRITE);

    return r != 0 ? r : inner->ops->buffer_write(inner, dst, offset_bytes, src, size_bytes);
}

static int fault_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                             size_t offset_bytes, void *dst, size_t size_bytes)
{
    struct vrt_device *inner = fault_of(device)->inner;
    int r = meet_call(device, VRT_FAULT_READ);

    return r != 0 ? r : inner->ops->buffer_read(inner, src, offset_bytes, dst, size_bytes);
}

static int fault_staging_new(struct vrt_device *device, size_t size_bytes,
                             struct vrt_staging **ret_staging)
{
    int r = meet_alloc(device, size_bytes);

    if (r != 0)
        return r;
    struct fault_staging *staging = calloc(1, sizeof(*staging));
    if (!staging)
        return vrt_raise(-ENOMEM);
    r = vrt_staging_new(fault_of(device)->inner, size_bytes, &staging->inner);
    if (r != 0) {
        free(staging);
        return r;
    }
    staging->base.buffer = vrt_staging_buffer(staging->inner);
    staging->base.host = vrt_staging_host(staging->inner);
    *ret_staging = &staging->base;
    return 0;
}

static struct fault_staging *staging_of(struct vrt_staging *base)
{
    return vrt_container_of(base, struct fault_staging, base);
}

static void fault_staging_free(struct vrt_device *device, struct vrt_staging *staging)
{
    vrt_staging_free(fault_of(device)->inner, staging_of(staging)->inner);
    free(staging_of(staging));
}

static int fault_staging_push(struct vrt_device *device, struct vrt_staging *staging,
                              size_t size_bytes)
{
    struct vrt_fault_event event;
    int r = meet_event(device, VRT_FAULT_WRITE, &event);

    if (r != 0)
        return r;
    occupy(fault_of(device), UP, event.takes_ns);
    return vrt_staging_push(fault_of(device)->inner, staging_of(staging)->inner, size_bytes);
}

static int fault_staging_pull(struct vrt_device *device, struct vrt_staging *staging,
                              size_t size_bytes)
{
    struct vrt_fault_event event;
    int r = meet_event(device, VRT_FAULT_READ, &event);

    if (r != 0)
        return r;
    staging_of(staging)->pulled_ns = occupy(fault_of(device), DOWN, event.takes_ns);
    return vrt_staging_pull(fault_of(device)->inner, staging_of(staging)->inner, size_bytes);
}

static int fault_staging_wait(struct vrt_device *device, struct vrt_staging *staging)
{
    int r = meet_call(device, VRT_FAULT_FINISH);

    if (r != 0)
        return r;
    wait_ns(staging_of(staging)->pulled_ns - vrt_clock_now_ns());
    return vrt_staging_wait(fault_of(device)->inner, staging_of(staging)->inner);
}

static bool fault_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct fault_device *fault = fault_of(device);

    return !vrt_fault_schedule_lacks(fault->wrap.schedule, fault->wrap.info,
                                     vrt_op_kind_name(op->kind)) &&
           fault->inner->ops->supports(fault->inner, op);
}

static size_t fault_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    return vrt_device_workspace_bytes(fault_of(device)->inner, op);
}

static int fault_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                            struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct vrt_device *inner = fault_of(device)->inner;
    struct vrt_packed *packed;
    int r = meet_call(device, VRT_FAULT_PACK);

    if (r != 0)
        return r;
    r = inner->ops->packed_new(inner, pack, places, &packed);
    if (r != 0)
        return r;
    /* It outlives the device, and so must know whose it is. */
    packed->ops = inner->ops;
    *ret_packed = packed;
    return 0;
}

static int fault_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                               struct vrt_replica **ret_replica)
{
    struct vrt_device *inner = fault_of(device)->inner;
    int r = meet_call(device, VRT_FAULT_REPLICA);

    return r != 0 ? r : inner->ops->replica_begin(inner, packed, ret_replica);
}

static void fault_replica_free(struct vrt_device *device, struct vrt_replica *replica)
{
    struct vrt_device *inner = fault_of(device)->inner;

    if (fault_of(device)->corrupted == replica)
        fault_of(device)->corrupted = NULL;
    inner->ops->replica_free(inner, replica);
}

/* Counts a chunk copied to `replica`; one that begins it again makes good what was wrong. */
static int meet_copy(struct vrt_device *device, const struct vrt_replica *replica, bool begins)
{
    struct fault_device *fault = fault_of(device);
    struct vrt_fault_event event;
    int r = meet_event(device, VRT_FAULT_COPY, &event);

    if (begins && fault->corrupted == replica)
        fault->corrupted = NULL;
    if (event.effect == VRT_FAULT_CORRUPT_COPY)
        fault->corrupted = replica;
    return r;
}

static int fault_replica_fill(struct vrt_device *device, struct vrt_replica *replica,
                              struct vrt_packed *packed, const size_t range[2])
{
    int r = meet_copy(device, replica, range[0] == 0);

    return r != 0 ? r : vrt_replica_fill(fault_of(device)->inner, replica, packed, range);
}

static bool fault_replica_can_receive(const struct vrt_device *device)
{
    return vrt_replica_can_receive(fault_of(device)->inner);
}

static int fault_replica_receive(struct vrt_device *device, struct vrt_replica *replica,
                                 const struct vrt_replica *source)
{
    int r = meet_copy(device, replica, true);

    return r != 0 ? r : vrt_replica_receive(fault_of(device)->inner, replica, source);
}

static int fault_replica_checksum(struct vrt_device *device, const struct vrt_replica *replica,
                                  uint64_t *ret_checksum)
{
    struct vrt_fault_event event;
    uint64_t checksum;
    int r = meet_event(device, VRT_FAULT_CHECKSUM, &event);

    if (event.effect == VRT_FAULT_CORRUPT_COPY)
        fault_of(device)->corrupted = replica;
    if (r != 0)
        return r;
    r = vrt_replica_checksum(fault_of(device)->inner, replica, &checksum);
    if (r != 0)
        return r;
    *ret_checksum = fault_of(device)->corrupted == replica ? ~checksum : checksum;
    return 0;
}

static bool fault_group_is_possible(const struct vrt_device *device)
{
    return vrt_group_is_possible(fault_of(device)->inner);
}

static int fault_group_key_new(struct vrt_device *device, struct vrt_group_key *ret_key)
{
    return vrt_group_key_new(fault_of(device)->inner, ret_key);
}

static int fault_group_join(struct vrt_device *device, const struct vrt_group_seat *seat,
                            struct vrt_group **ret_group)
{
    return vrt_group_join(fault_of(device)->inner, seat, ret_group);
}

static int fault_group_spread(struct vrt_device *device, struct vrt_group *group,
                              struct vrt_replica *replica, const size_t range[2])
{
    int r = meet_copy(device, replica, false);

    return r != 0 ? r : vrt_group_spread(fault_of(device)->inner, group, replica, range);
}

static int fault_group_finish(struct vrt_device *device, struct vrt_group *group)
{
    return vrt_group_finish(fault_of(device)->inner, group);
}

static void fault_group_free(struct vrt_device *device, struct vrt_group *group)
{
    vrt_group_free(fault_of(device)->inner, group);
}

static int fault_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                             struct vrt_program **ret_program)
{
    struct vrt_device *inner = fault_of(device)->inner;
    int r = meet_call(device, VRT_FAULT_PROGRAM);

    return r != 0 ? r : inner->ops->program_new(inner, params, ret_program);
}

static void fault_program_free(struct vrt_device *device, struct vrt_program *program)
{
    struct vrt_device *inner = fault_of(device)->inner;

    inner->ops->program_free(inner, program);
}

static int fault_program_submit(struct vrt_device *device, struct vrt_program *program,
                                const struct vrt_binding *bindings)
{
    struct vrt_device *inner = fault_of(device)->inner;
    struct vrt_fault_event event;
    int r = meet_event(device, VRT_FAULT_SUBMIT, &event);

    if (r == 0)
        occupy(fault_of(device), COMPUTE, event.takes_ns);
    if (r == 0)
        r = inner->ops->program_submit(inner, program, bindings);
    if (r != 0 || event.effect == VRT_FAULT_NOTHING)
        return r;
    /* What is still being computed would overwrite the corruption. */
    r = inner->ops->finish(inner);
    return r != 0 ? r : vrt_fault_corrupt(inner, program, bindings, &event);
}

static int fault_finish(struct vrt_device *device)
{
    struct vrt_device *inner = fault_of(device)->inner;
    int r = meet_call(device, VRT_FAULT_FINISH);

    for (int i = 0; r == 0 && i < ENGINE_COUNT; i++)
        wait_ns(fault_of(device)->until_ns[i] - vrt_clock_now_ns());
    return r != 0 ? r : inner->ops->finish(inner);
}

static struct vrt_device *fault_inner(const struct vrt_device *device)
{
    return fault_of(device)->inner;
}

static int fault_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    return vrt_device_memory(fault_of(device)->inner, ret_info);
}

static void fault_sensors(struct vrt_device *device, struct vrt_device_sensors *ret_sensors)
{
    vrt_device_sensors(fault_of(device)->inner, ret_sensors);
}

const struct vrt_backend_ops vrt_backend_fault = {
    .close = fault_close,
    .inner = fault_inner,
    .buffer_new = fault_buffer_new,
    .buffer_free = fault_buffer_free,
    .buffer_write = fault_buffer_write,
    .buffer_read = fault_buffer_read,
    .staging_new = fault_staging_new,
    .staging_free = fault_staging_free,
    .staging_push = fault_staging_push,
    .staging_pull = fault_staging_pull,
    .staging_wait = fault_staging_wait,
    .supports = fault_supports,
    .workspace_bytes = fault_workspace_bytes,
    .packed_new = fault_packed_new,
    .replica_begin = fault_replica_begin,
    .replica_free = fault_replica_free,
    .replica_fill = fault_replica_fill,
    .replica_checksum = fault_replica_checksum,
    .replica_can_receive = fault_replica_can_receive,
    .replica_receive = fault_replica_receive,
    .group_is_possible = fault_group_is_possible,
    .group_key_new = fault_group_key_new,
    .group_join = fault_group_join,
    .group_spread = fault_group_spread,
    .group_finish = fault_group_finish,
    .group_free = fault_group_free,
    .program_new = fault_program_new,
    .program_free = fault_program_free,
    .program_submit = fault_program_submit,
    .finish = fault_finish,
    .memory = fault_memory,
    .sensors = fault_sensors,
};
