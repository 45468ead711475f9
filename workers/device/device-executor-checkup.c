/* SPDX-License-Identifier: MIT */

/*
 * A checkup of the device that a device executor has: beside what jobs hold, and at nobody's cost
 *
 * Nothing is given up to make room: a device that is full of jobs says so. What it found to be
 * wrong with weights is mended: they go, with the sessions that use them, and whoever needs them
 * next brings them anew.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "model/test-picture.h"
#include "workers/device/checkup.h"
#include "workers/device/device-executor-impl.h"

#define VRT_LOG_TOPIC "executor"

static bool goes_on(struct vrt_device_executor *executor)
{
    const struct vrt_replica_watch *watch = &executor->params.watch;

    return !watch->go_on || watch->go_on(watch->ctx);
}

/* Of every network that it holds. */
static int check_weights(struct vrt_device_executor *executor, struct vrt_checkup *checkup)
{
    struct vrt_held_replica *held;
    bool is_right;

    VRT_LIST_FOREACH(held, &executor->replicas, link) {
        if (!goes_on(executor))
            return -ECANCELED;
        int r = vrt_replica_hold_check(held->hold, &is_right);
        if (r != 0)
            return vrt_fold(r);
        checkup->n_weights++;
        checkup->weights_bytes += (int64_t)vrt_replica_bytes(executor->device, held->replica);
        if (is_right)
            continue;
        vrt_log_error("%s: weights have changed in its memory: they are given up, and brought "
                      "anew", vrt_device_info(executor->device)->name);
        checkup->n_weights_wrong++;
        vrt_device_executor_drop_replica(executor, held);
    }
    return checkup->n_weights_wrong > 0 ? VRT_CHECKUP_E_WRONG : 0;
}

/* Those of the checkup's network come as for any job, if they aren't there. */
static int bring_weights(struct vrt_device_executor *executor, struct vrt_checkup *checkup)
{
    struct vrt_held_replica *held;
    int r = vrt_device_executor_get_replica(executor, checkup->network, VRT_DTYPE_F32, &held);

    for (size_t i = 0; r == 0 && i < checkup->n_runs; i++)
        r = vrt_device_executor_get_replica(executor, checkup->network, checkup->runs[i].dtype,
                                            &held);
    return r;
}

static int run_network(struct vrt_device_executor *executor, const struct vrt_network *network,
                       struct vrt_checkup_run *run)
{
    VRT_CLEANUP(vrt_freep) float *out = calloc(vrt_test_picture_n_out(network), sizeof(float));
    struct vrt_held_replica *held;

    if (!out)
        return vrt_raise(-ENOMEM);
    int r = vrt_device_executor_get_replica(executor, network, run->dtype, &held);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_test_picture_run(executor->device, network, held->replica, run->dtype, out);
    if (r != 0)
        return vrt_fold(r);
    run->out = VRT_STEAL(out);
    return 0;
}

/* Whether the next part may be tried after one that returned `r`. */
static bool may_try(struct vrt_device_executor *executor, int r)
{
    return r != VRT_BACKEND_E_LOST && r != -ECANCELED && goes_on(executor);
}

int vrt_device_executor_checkup(struct vrt_device_executor *executor, struct vrt_checkup *checkup)
{
    const enum vrt_dtype preferred = vrt_device_info(executor->device)->preferred_dtype;
    int r;

    checkup->runs[0] = (struct vrt_checkup_run){ .dtype = VRT_DTYPE_F32 };
    checkup->runs[1] = (struct vrt_checkup_run){ .dtype = preferred };
    checkup->n_runs = preferred == VRT_DTYPE_F32 ? 1 : 2;
    for (size_t i = 0; i < checkup->n_runs; i++)
        checkup->runs[i].result = VRT_CHECKUP_E_NOT_TRIED;

    r = checkup->kernel_result = vrt_checkup_run_kernel(executor->device,
                                                        &checkup->kernel_max_error);
    if (may_try(executor, r)) {
        r = bring_weights(executor, checkup);
        if (r == 0)
            r = check_weights(executor, checkup);
        checkup->weights_result = r;
    }
    for (size_t i = 0; i < checkup->n_runs && may_try(executor, r); i++)
        r = checkup->runs[i].result = run_network(executor, checkup->network, &checkup->runs[i]);
    if (r == VRT_BACKEND_E_LOST || r == -ECANCELED)
        return r;
    return goes_on(executor) ? 0 : -ECANCELED;
}
