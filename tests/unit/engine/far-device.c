/* SPDX-License-Identifier: MIT */

#include "tests/unit/engine/far-device.h"

#include <errno.h>
#include <pthread.h>

#include "backend/checksum.h"
#include "tests/unit/test.h"

#define MAX_RANKS 8

atomic_int far_n_packed_alive;

struct far_packed {
    struct vrt_packed base;
    unsigned char *blob;
    struct far_device *maker;
    bool hung;
};

struct far_replica {
    struct vrt_replica base;
    size_t size_bytes;
    unsigned char *data;
};

/* What all ranks of a group have in common: the one behind a key. */
static struct world {
    pthread_mutex_t lock;
    uint64_t number;
    int n_joined, n_spread[MAX_RANKS];
    bool broken;
    const unsigned char *root;
} worlds[64];
static pthread_mutex_t worlds_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t n_worlds;

struct vrt_group {
    struct world *world;
    struct vrt_group_seat seat;
    bool is_done;
};

static struct far_device *far_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct far_device, base);
}

static void hang(struct far_device *far, atomic_bool *flag)
{
    if (flag)
        atomic_store(&far->is_held, true);
    while (flag && atomic_load(flag))
        test_sleep_ms(1);
}

static int far_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                          struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct far_packed *packed = calloc(1, sizeof(*packed));
    size_t offset = 0;

    for (size_t i = 0; i < pack->n_params; i++) {
        places[i].offset_bytes = offset;
        places[i].size_bytes = (size_t)pack->params[i].dims[0] * sizeof(float);
        offset += (places[i].size_bytes + 255) / 256 * 256;
    }
    packed->blob = calloc(1, offset + 1);
    packed->maker = far_of(device);
    atomic_fetch_add(&far_n_packed_alive, 1);
    *ret_packed = &packed->base;
    return 0;
}

static int far_packed_fill(struct vrt_packed *base, const struct vrt_pack *pack, size_t i)
{
    struct far_packed *packed = vrt_container_of(base, struct far_packed, base);

    if (!packed->hung)
        hang(packed->maker, packed->maker->faults.hang_pack);
    packed->hung = true;
    test_sleep_ms(packed->maker->faults.pack_ms);
    memcpy(packed->blob + base->places[i].offset_bytes, pack->params[i].data,
           base->places[i].size_bytes);
    base->places[i].data = packed->blob + base->places[i].offset_bytes;
    atomic_fetch_add(&packed->maker->n_packed, 1);
    return 0;
}

static void far_packed_free(struct vrt_packed *base)
{
    struct far_packed *packed = vrt_container_of(base, struct far_packed, base);

    atomic_fetch_sub(&far_n_packed_alive, 1);
    free(packed->blob);
    free(packed);
}

static struct far_replica *replica_of(const struct vrt_replica *base)
{
    return vrt_container_of(base, struct far_replica, base);
}

const unsigned char *far_replica_data(const struct vrt_replica *base)
{
    return replica_of(base)->data;
}

static int far_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                             struct vrt_replica **ret_replica)
{
    struct far_replica *replica;

    if (far_of(device)->faults.fail_begin)
        return VRT_BACKEND_E_NOMEM;
    replica = calloc(1, sizeof(*replica));
    replica->size_bytes = vrt_packed_bytes(packed);
    replica->data = calloc(1, replica->size_bytes + 1);
    *ret_replica = &replica->base;
    return 0;
}

static void far_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    (void)device;
    memset(replica_of(base)->data, 0xee, replica_of(base)->size_bytes);
    free(replica_of(base)->data);
    free(replica_of(base));
}

static int far_replica_fill(struct vrt_device *device, struct vrt_replica *base,
                            struct vrt_packed *packed, const size_t range[2])
{
    struct far_device *far = far_of(device);
    const unsigned char *blob = vrt_container_of(packed, struct far_packed, base)->blob;
    const int n = atomic_fetch_add(&far->n_fills, 1) + 1;

    hang(far, far->faults.hang_fill);
    if (n == far->faults.fail_fill)
        return VRT_BACKEND_E_FAILED;
    memcpy(replica_of(base)->data + range[0], blob + range[0], range[1] - range[0]);
    if (n == far->faults.corrupt_fill || n == far->faults.corrupt_fill_twice)
        replica_of(base)->data[range[0]] ^= 1;
    return 0;
}

static int far_replica_checksum(struct vrt_device *device, const struct vrt_replica *base,
                                uint64_t *ret_checksum)
{
    (void)device;
    *ret_checksum = vrt_checksum_bytes(replica_of(base)->data, 0, replica_of(base)->size_bytes);
    return 0;
}

static bool far_can_receive(const struct vrt_device *device)
{
    return !far_of(device)->faults.no_receive;
}

static int far_replica_receive(struct vrt_device *device, struct vrt_replica *base,
                               const struct vrt_replica *source)
{
    struct far_device *far = far_of(device);

    if (far->faults.fail_receive)
        return VRT_BACKEND_E_FAILED;
    atomic_store(&far->is_held, true);
    test_sleep_ms(far->faults.receive_ms);
    memcpy(replica_of(base)->data, replica_of(source)->data, replica_of(base)->size_bytes);
    if (far->faults.corrupt_receive)
        replica_of(base)->data[3] ^= 4;
    atomic_fetch_add(&far->n_received, 1);
    return 0;
}

static bool far_group_is_possible(const struct vrt_device *device)
{
    return !far_of(device)->faults.no_group;
}

static int far_group_key_new(struct vrt_device *device, struct vrt_group_key *ret_key)
{
    struct world *world;

    (void)device;
    pthread_mutex_lock(&worlds_lock);
    world = &worlds[++n_worlds % 64];
    memset(world, 0, sizeof(*world));
    pthread_mutex_init(&world->lock, NULL);
    world->number = n_worlds;
    memset(ret_key, 0, sizeof(*ret_key));
    memcpy(ret_key->bytes, &world->number, sizeof(world->number));
    pthread_mutex_unlock(&worlds_lock);
    return 0;
}

/* Waits for `is_so`. Return: 0; -ECANCELED. */
static int await(struct vrt_group *group, bool (*is_so)(const struct vrt_group *group))
{
    struct world *world = group->world;

    for (;;) {
        pthread_mutex_lock(&world->lock);
        const bool is_there = is_so(group), broken = world->broken;
        pthread_mutex_unlock(&world->lock);
        if (is_there)
            return 0;
        if (broken || !group->seat.watch.go_on(group->seat.watch.ctx))
            return -ECANCELED;
        test_sleep_ms(1);
    }
}

static bool all_joined(const struct vrt_group *group)
{
    return group->world->n_joined == group->seat.n_ranks;
}

static bool root_was_there(const struct vrt_group *group)
{
    return group->world->n_spread[0] > group->world->n_spread[group->seat.rank];
}

static void far_group_free(struct vrt_device *device, struct vrt_group *group)
{
    (void)device;
    pthread_mutex_lock(&group->world->lock);
    if (!group->is_done)
        group->world->broken = true;
    pthread_mutex_unlock(&group->world->lock);
    free(group);
}

static int far_group_join(struct vrt_device *device, const struct vrt_group_seat *seat,
                          struct vrt_group **ret_group)
{
    struct far_device *far = far_of(device);
    struct vrt_group *group;
    uint64_t number;

    if (far->faults.fail_join)
        return VRT_BACKEND_E_FAILED;
    while (far->faults.never_joins && seat->watch.go_on(seat->watch.ctx))
        test_sleep_ms(1);
    if (far->faults.never_joins)
        return -ECANCELED;
    memcpy(&number, seat->key->bytes, sizeof(number));
    group = calloc(1, sizeof(*group));
    group->world = &worlds[number % 64];
    group->seat = *seat;
    pthread_mutex_lock(&group->world->lock);
    group->world->n_joined++;
    pthread_mutex_unlock(&group->world->lock);
    int r = await(group, all_joined);
    if (r) {
        far_group_free(device, group);
        return r;
    }
    *ret_group = group;
    return 0;
}

static int far_group_spread(struct vrt_device *device, struct vrt_group *group,
                            struct vrt_replica *base, const size_t range[2])
{
    struct far_device *far = far_of(device);
    struct world *world = group->world;
    const int rank = group->seat.rank, n = atomic_fetch_add(&far->n_spread, 1) + 1;

    if (n == far->faults.fail_spread)
        return VRT_BACKEND_E_FAILED;
    int r = rank > 0 ? await(group, root_was_there) : 0;
    if (r)
        return r;
    pthread_mutex_lock(&world->lock);
    if (rank == 0)
        world->root = replica_of(base)->data;
    else
        memcpy(replica_of(base)->data + range[0], world->root + range[0], range[1] - range[0]);
    world->n_spread[rank]++;
    pthread_mutex_unlock(&world->lock);
    if (n == far->faults.corrupt_spread)
        replica_of(base)->data[range[0]] ^= 1;
    return 0;
}

static bool all_spread(const struct vrt_group *group)
{
    for (int i = 1; i < group->seat.n_ranks; i++)
        if (group->world->n_spread[i] < group->world->n_spread[0])
            return false;
    return true;
}

static int far_group_finish(struct vrt_device *device, struct vrt_group *group)
{
    (void)device;
    int r = await(group, all_spread);

    group->is_done = r == 0;
    return r;
}

static int far_finish(struct vrt_device *device)
{
    (void)device;
    return 0;
}

static int far_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    *ret_device = (struct vrt_device *)(uintptr_t)vrt_container_of(info, struct far_device, info);
    return 0;
}

static void far_close(struct vrt_device *device)
{
    expect_int(device->used_bytes, 0);
}

static const struct vrt_backend_ops far_ops = {
    .open = far_open,
    .close = far_close,
    .packed_new = far_packed_new,
    .packed_fill = far_packed_fill,
    .packed_free = far_packed_free,
    .replica_begin = far_replica_begin,
    .replica_free = far_replica_free,
    .replica_fill = far_replica_fill,
    .replica_checksum = far_replica_checksum,
    .replica_can_receive = far_can_receive,
    .replica_receive = far_replica_receive,
    .group_is_possible = far_group_is_possible,
    .group_key_new = far_group_key_new,
    .group_join = far_group_join,
    .group_spread = far_group_spread,
    .group_finish = far_group_finish,
    .group_free = far_group_free,
    .finish = far_finish,
};

void far_device_init(struct far_device *far, int i)
{
    memset(far, 0, sizeof(*far));
    far->base.ops = &far_ops;
    far->base.info = &far->info;
    far->info.card = i;
    snprintf(far->info.name, sizeof(far->info.name), "far:%d", i);
    snprintf(far->info.packing_id, sizeof(far->info.packing_id), "far");
}

struct vrt_device *far_device_wrap(struct far_device *far)
{
    static const struct vrt_fault_schedule nothing;
    const struct vrt_fault_wrap wrap = { &nothing, &far->state, &far_ops, &far->info };
    struct vrt_device *device = NULL;

    expect_int(vrt_fault_open(&wrap, &device), 0);
    device->ops = &vrt_backend_fault;
    device->info = &far->info;
    return device;
}
