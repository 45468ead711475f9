/* SPDX-License-Identifier: MIT */

/* An MPS device's life: opened, waited for, asked, closed. */

#include "backend/mps/device.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/mps/mps.h"
#include "backend/mps/staging.h"
#include "backend/packed-blob.h"
#include "base/clock.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "mps"

/* Devices that were given up: Metal may still call back. */
static struct {
    pthread_mutex_t lock;
    struct vrt_mps_device *first;
} stuck = { .lock = PTHREAD_MUTEX_INITIALIZER };

int vrt_mps_outcome(struct vrt_mps_device *mps, long result, const char *what, const char *why)
{
    const char *name = mps->base.info->name;

    if (result == 0)
        return 0;
    if (result == VRT_MPS_STUCK) {
        mps->is_stuck = true;
        vrt_log_warning("%s: %s took more than %d s: it is given up, with what it may still use",
                        name, what, (int)(mps->patience_ns / VRT_NS_PER_S));
        return VRT_BACKEND_E_LOST;
    }
    vrt_log_warning("%s: %s failed: %s (%ld)", name, what, why, result);
    switch (result) {
    case VRT_METAL_OUT_OF_MEMORY:
        return VRT_BACKEND_E_NOMEM;
    case VRT_METAL_ACCESS_REVOKED:
    case VRT_METAL_DEVICE_REMOVED:
        return VRT_BACKEND_E_LOST;
    default:
        return VRT_BACKEND_E_FAILED;
    }
}

int vrt_mps_commit(struct vrt_mps_device *mps, struct vrt_mps_queue *queue, vrt_metal_id commands,
                   const char *what)
{
    return vrt_mps_outcome(mps, vrt_mps_queue_commit(queue, commands, mps->patience_ns), what,
                           "Metal gives no command buffer");
}

int vrt_mps_await(struct vrt_mps_device *mps, struct vrt_mps_queue *queue, uint64_t n,
                  const char *what)
{
    /* Once is enough to be patient. */
    if (mps->is_stuck)
        return VRT_BACKEND_E_LOST;
    return vrt_mps_outcome(mps, vrt_mps_queue_await(queue, n, mps->patience_ns), what, "");
}

int vrt_mps_settle(struct vrt_mps_device *mps, struct vrt_mps_queue *queue, uint64_t *mark,
                   uint64_t n, const char *what)
{
    const uint64_t after = *mark;
    char why[160];
    int r = vrt_mps_await(mps, queue, n, what);

    if (r != 0)
        return r;
    *mark = VRT_MAX(after, n);
    return vrt_mps_outcome(mps, vrt_mps_queue_failure(queue, after, n, why, sizeof(why)), what,
                           why);
}

struct vrt_mps_moment vrt_mps_now(const struct vrt_mps_device *mps)
{
    return (struct vrt_mps_moment){
        mps->compute.n_committed, mps->upload.n_committed, mps->download.n_committed,
    };
}

int vrt_mps_settle_all(struct vrt_mps_device *mps, struct vrt_mps_moment *told,
                       const struct vrt_mps_moment *until)
{
    int r = vrt_mps_settle(mps, &mps->compute, &told->compute, until->compute, "computing");

    if (r != 0 || mps->is_unified)
        return r;
    r = vrt_mps_settle(mps, &mps->upload, &told->upload, until->upload, "copying to it");
    return r != 0 ? r : vrt_mps_settle(mps, &mps->download, &told->download, until->download,
                                       "copying from it");
}

/* Has the GPU do nothing, which one that was taken from this process can't. */
static int try_out(struct vrt_mps_device *mps)
{
    uint64_t mark = 0;
    int r = vrt_mps_commit(mps, &mps->compute, vrt_mps_queue_begin(&mps->compute), "opening it");

    return r != 0 ? r : vrt_mps_settle(mps, &mps->compute, &mark, 1, "opening it");
}

static int start(struct vrt_mps_device *mps)
{
    bool is_well = vrt_mps_queue_init(&mps->compute, mps->device);

    mps->is_unified = VRT_METAL(is_unified, mps->device);
    if (!mps->is_unified) {
        is_well = is_well && vrt_mps_queue_init(&mps->upload, mps->device) &&
                  vrt_mps_queue_init(&mps->download, mps->device);
        mps->progress = VRT_METAL(new_event, mps->device);
        is_well = is_well && mps->progress;
    }
    if (!is_well)
        return VRT_BACKEND_E_NOMEM;
    int r = try_out(mps);
    if (r != 0)
        return r;
    mps->told = vrt_mps_now(mps);
    mps->has_bf16 = vrt_mps_has_bf16(mps->device);
    return vrt_mps_kernels_init(mps);
}

static void stop(struct vrt_mps_device *mps)
{
    vrt_mps_stages_done(mps);
    vrt_mps_kernels_done(&mps->kernels);
    vrt_mps_queue_done(&mps->compute);
    vrt_mps_queue_done(&mps->upload);
    vrt_mps_queue_done(&mps->download);
    vrt_metal_drop(&mps->progress);
    vrt_metal_drop(&mps->device);
}

/* Waits until Metal calls nobody back any more, also of a device that is lost. */
static void quieten(struct vrt_mps_device *mps)
{
    struct vrt_mps_queue *queues[] = { &mps->compute, &mps->upload, &mps->download };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(queues) && !mps->is_stuck; i++)
        vrt_mps_await(mps, queues[i], queues[i]->n_committed, "closing it");
}

static void mps_close(struct vrt_device *device)
{
    struct vrt_mps_device *mps = vrt_mps_device_of(device);

    quieten(mps);
    if (mps->is_stuck) {
        pthread_mutex_lock(&stuck.lock);
        mps->next_stuck = stuck.first;
        stuck.first = mps;
        pthread_mutex_unlock(&stuck.lock);
        return;
    }
    VRT_METAL_POOL;
    stop(mps);
    free(mps);
}

static int mps_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = calloc(1, sizeof(*mps));

    if (!mps)
        return vrt_raise(-ENOMEM);
    mps->base.info = info;
    mps->patience_ns = (uint64_t)info->options[VRT_MPS_OPTION_PATIENCE_S] * VRT_NS_PER_S;
    mps->work_flops = (double)info->options[VRT_MPS_OPTION_WORK_MFLOP] * 1e6;
    mps->device = vrt_mps_find_device(info->card);
    if (!mps->device) {
        vrt_log_warning("%s can't be opened: it isn't there any more", info->name);
        free(mps);
        return VRT_BACKEND_E_LOST;
    }
    int r = start(mps);
    if (r != 0) {
        vrt_log_warning("%s can't be opened: %s", info->name, vrt_backend_strerror(r));
        mps_close(&mps->base);
        return r;
    }
    *ret_device = &mps->base;
    return 0;
}

bool vrt_mps_has_type(const struct vrt_mps_device *mps, enum vrt_dtype dtype)
{
    return dtype != VRT_DTYPE_BF16 || mps->has_bf16;
}

static bool mps_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    return vrt_mps_has_type(vrt_mps_device_of(device), op->weight_dtype) &&
           vrt_kernel_supports(device, op);
}

static int mps_finish(struct vrt_device *device)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);

    const struct vrt_mps_moment now = vrt_mps_now(mps);

    return vrt_mps_settle_all(mps, &mps->told, &now);
}

static int mps_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    VRT_METAL_POOL;
    const struct vrt_mps_device *mps = vrt_mps_device_of(device);
    const int64_t total = device->info->memory_total_bytes;
    const int64_t used = (int64_t)VRT_METAL(allocated_bytes, mps->device);

    *ret_info = (struct vrt_memory_info){ total, used < total ? total - used : 0 };
    return 0;
}

const struct vrt_backend_ops vrt_mps_ops = {
    .enumerate = vrt_mps_enumerate,
    .open = mps_open,
    .close = mps_close,
    .buffer_new = vrt_mps_buffer_new,
    .buffer_free = vrt_mps_buffer_free,
    .buffer_write = vrt_mps_buffer_write,
    .buffer_read = vrt_mps_buffer_read,
    .staging_new = vrt_mps_staging_new,
    .staging_free = vrt_mps_staging_free,
    .staging_push = vrt_mps_staging_push,
    .staging_pull = vrt_mps_staging_pull,
    .staging_wait = vrt_mps_staging_wait,
    .supports = mps_supports,
    .workspace_bytes = vrt_kernel_workspace_bytes,
    .packed_new = vrt_mps_packed_new,
    .packed_fill = vrt_packed_blob_fill,
    .packed_free = vrt_packed_blob_free,
    .replica_begin = vrt_mps_replica_begin,
    .replica_free = vrt_mps_replica_free,
    .replica_fill = vrt_mps_replica_fill,
    .replica_checksum = vrt_mps_replica_checksum,
    .program_new = vrt_mps_program_new,
    .program_free = vrt_mps_program_free,
    .program_submit = vrt_mps_program_submit,
    .finish = mps_finish,
    .memory = mps_memory,
};
