/* SPDX-License-Identifier: MIT */

/*
 * A group of cards is a communicator of NCCL's, made for one spreading and gone after it
 *
 * Each rank is made by the thread that owns its device (ncclCommInitRankConfig), not all of them by
 * one (ncclCommInitAll): so nobody touches another's device, a card that fails does so in its own
 * thread, and the others learn it from their watch. Communicators don't block: a call that isn't
 * done at once says "in progress", and is asked after until it is, or until the watch says no;
 * then the communicator is aborted, which ends what it has on the card. So every wait is finite,
 * whatever the other ranks do.
 *
 * It isn't kept: it takes hundreds of MiB of a card on larger machines, and is needed once for each
 * network.
 *
 * The few declarations that are needed are written down here: to build, nobody needs its header.
 */

#include "backend/cuda/nccl.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/device.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

/* How often a call in progress is asked after. */
#define MOMENT_NS 500000

/* NCCL's own, of its stable interface. */
enum { SUCCESS = 0, IN_PROGRESS = 7 };
enum { UINT8 = 1 };
#define CONFIG_MAGIC 0xcafebeef     /* NCCL_CONFIG_INITIALIZER in nccl.h */
#define CONFIG_VERSION 21800        /* 2.18: of struct config */
#define UNDEFINED INT_MIN

struct comm;

struct unique_id {
    char bytes[128];
};

struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
    int cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share;
};

struct vrt_cuda_nccl {
    void *library;

    /* Of the library. All return SUCCESS, IN_PROGRESS, or what went wrong. */
    int (*get_unique_id)(struct unique_id *ret_id);
    int (*init)(struct comm **ret_comm, int n_ranks, struct unique_id id, int rank,
                struct config *config);
    int (*ask)(struct comm *comm, int *ret_state);
    int (*broadcast)(const void *from, void *to, size_t n, int type, int root, struct comm *comm,
                     cudaStream_t stream);
    int (*finalize)(struct comm *comm);
    int (*destroy)(struct comm *comm);
    int (*break_off)(struct comm *comm);
    const char *(*error_string)(int error);
};

#define ENTRY(name, member) { name, offsetof(struct vrt_cuda_nccl, member) }

/* All of them are needed; the newest came with 2.14. */
static const struct {
    const char *name;
    size_t offset;
} entries[] = {
    ENTRY("ncclGetUniqueId", get_unique_id),
    ENTRY("ncclCommInitRankConfig", init),
    ENTRY("ncclCommGetAsyncError", ask),
    ENTRY("ncclBroadcast", broadcast),
    ENTRY("ncclCommFinalize", finalize),
    ENTRY("ncclCommDestroy", destroy),
    ENTRY("ncclCommAbort", break_off),
    ENTRY("ncclGetErrorString", error_string),
};

struct vrt_group {
    struct comm *comm;              /* NULL: it was destroyed */
    struct vrt_replica_watch watch;
    bool is_root;                   /* it has the bytes */
};

_Static_assert(sizeof(struct unique_id) == sizeof(struct vrt_group_key), "a key is an id");

int vrt_cuda_nccl_open(const char *library, struct vrt_cuda_nccl **ret_nccl,
                       struct vrt_error *error)
{
    VRT_CLEANUP(vrt_cuda_nccl_closep) struct vrt_cuda_nccl *nccl = calloc(1, sizeof(*nccl));

    if (!nccl)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), library);
    /* A thread of its own waits for all ranks of a key, those that never come as well: it can't be
     * unloaded. */
    nccl->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!nccl->library)
        return vrt_refuse(error, -ENOENT, "device.failed", "%s", dlerror());
    for (size_t i = 0; i < VRT_ARRAY_SIZE(entries); i++) {
        void *entry = dlsym(nccl->library, entries[i].name);
        if (!entry)
            return vrt_refuse(error, -ENOSYS, "device.failed", "%s lacks %s: it is older than 2.14",
                              library, entries[i].name);
        memcpy((char *)nccl + entries[i].offset, &entry, sizeof(entry));
    }
    *ret_nccl = VRT_STEAL(nccl);
    return 0;
}

struct vrt_cuda_nccl *vrt_cuda_nccl_close(struct vrt_cuda_nccl *nccl)
{
    if (!nccl)
        return NULL;
    if (nccl->library)
        dlclose(nccl->library);
    free(nccl);
    return NULL;
}

bool vrt_cuda_group_is_possible(const struct vrt_device *device)
{
    return vrt_cuda_device_of(device)->nccl != NULL;
}

static int fail(const struct vrt_cuda_device *cuda, int r, const char *what)
{
    vrt_log_info("%s: %s failed: NCCL says: %s (%d)", cuda->base.info->name, what,
                 cuda->nccl->error_string(r), r);
    return VRT_BACKEND_E_FAILED;
}

/* Whether the watch wants to go on, after a moment. */
static bool wait_a_moment(const struct vrt_group *group)
{
    nanosleep(&(struct timespec){ 0, MOMENT_NS }, NULL);
    return !group->watch.go_on || group->watch.go_on(group->watch.ctx);
}

/* Waits until a call that returned `r` is done. */
static int settle(const struct vrt_cuda_device *cuda, const struct vrt_group *group, int r,
                  const char *what)
{
    while (r == IN_PROGRESS) {
        if (!wait_a_moment(group))
            return -ECANCELED;
        int asked = cuda->nccl->ask(group->comm, &r);
        if (asked != SUCCESS)
            r = asked;
    }
    return r == SUCCESS ? 0 : fail(cuda, r, what);
}

int vrt_cuda_group_key_new(struct vrt_device *device, struct vrt_group_key *ret_key)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct unique_id id;
    int r = cuda->nccl->get_unique_id(&id);

    if (r != SUCCESS)
        return fail(cuda, r, "making a key");
    memcpy(ret_key->bytes, id.bytes, sizeof(id.bytes));
    return 0;
}

int vrt_cuda_group_join(struct vrt_device *device, const struct vrt_group_seat *seat,
                        struct vrt_group **ret_group)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_group *group = calloc(1, sizeof(*group));
    struct config config = {
        .size = sizeof(config),
        .magic = CONFIG_MAGIC,
        .version = CONFIG_VERSION,
        .blocking = 0,
        .cga_cluster_size = UNDEFINED,
        .min_ctas = UNDEFINED,
        .max_ctas = UNDEFINED,
        .split_share = UNDEFINED,
    };
    struct unique_id id;

    if (!group)
        return vrt_raise(-ENOMEM);
    group->watch = seat->watch;
    group->is_root = seat->rank == 0;
    memcpy(id.bytes, seat->key->bytes, sizeof(id.bytes));
    int r = cuda->nccl->init(&group->comm, seat->n_ranks, id, seat->rank, &config);
    r = settle(cuda, group, r, "becoming one of a group");
    if (r != 0) {
        vrt_cuda_group_free(device, group);
        return r;
    }
    *ret_group = group;
    return 0;
}

/* Waits for the card, as long as the watch says so and no other rank failed. */
static int await_stream(struct vrt_cuda_device *cuda, const struct vrt_group *group)
{
    int r = (int)cudaStreamQuery(cuda->upload), state;

    while (r == (int)cudaErrorNotReady) {
        int asked = cuda->nccl->ask(group->comm, &state);
        if (asked != SUCCESS || (state != SUCCESS && state != IN_PROGRESS))
            return fail(cuda, asked != SUCCESS ? asked : state, "spreading weights");
        if (!wait_a_moment(group))
            return -ECANCELED;
        r = (int)cudaStreamQuery(cuda->upload);
    }
    return vrt_cuda_outcome(cuda, r, "spreading weights");
}

int vrt_cuda_group_spread(struct vrt_device *device, struct vrt_group *group,
                          struct vrt_replica *base, const size_t range[2])
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    char *at = vrt_container_of(base, struct vrt_cuda_replica, base)->blob + range[0];
    /* Behind what was copied from the host, in the same stream. */
    int r = cuda->nccl->broadcast(at, at, range[1] - range[0], UINT8, 0, group->comm,
                                  cuda->upload);

    r = settle(cuda, group, r, "spreading weights");
    /* What it copies from the host next waits behind this, for a stage, and asks no watch. */
    return r != 0 || !group->is_root ? r : await_stream(cuda, group);
}

int vrt_cuda_group_finish(struct vrt_device *device, struct vrt_group *group)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    int r = await_stream(cuda, group);

    if (r != 0)
        return r;
    r = settle(cuda, group, cuda->nccl->finalize(group->comm), "leaving a group");
    if (r != 0)
        return r;
    cuda->nccl->destroy(group->comm);
    group->comm = NULL;
    return 0;
}

void vrt_cuda_group_free(struct vrt_device *device, struct vrt_group *group)
{
    if (group->comm)
        vrt_cuda_device_of(device)->nccl->break_off(group->comm);
    free(group);
}
