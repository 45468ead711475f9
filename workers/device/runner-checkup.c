/* SPDX-License-Identifier: MIT */

/*
 * A checkup of the device that a runner has: beside what jobs hold, and at nobody's cost
 *
 * Nothing is given up to make room: a device that is full of jobs says so. What it found to be
 * wrong with weights is mended: they go, with the kits that use them, and whoever needs them next
 * brings them anew.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "workers/device/checkup.h"
#include "workers/device/runner-impl.h"
#include "workers/plan/trial.h"

#define VRT_LOG_TOPIC "runner"

static bool goes_on(struct vrt_runner *runner)
{
    const struct vrt_replica_watch *watch = &runner->params.watch;

    return !watch->go_on || watch->go_on(watch->ctx);
}

/* Of every network that it holds. */
static int check_weights(struct vrt_runner *runner, struct vrt_checkup *checkup)
{
    struct vrt_held_replica *held;
    bool is_right;

    VRT_LIST_FOREACH(held, &runner->replicas, link) {
        if (!goes_on(runner))
            return -ECANCELED;
        int r = vrt_replica_hold_check(held->hold, &is_right);
        if (r)
            return vrt_fold(r);
        checkup->n_weights++;
        checkup->weights_bytes += (int64_t)vrt_replica_bytes(runner->device, held->replica);
        if (is_right)
            continue;
        vrt_log_error("%s: weights have changed in its memory: they are given up, and brought "
                      "anew", vrt_device_info(runner->device)->name);
        checkup->n_weights_wrong++;
        vrt_runner_drop_replica(runner, held);
    }
    return checkup->n_weights_wrong > 0 ? VRT_CHECKUP_E_WRONG : 0;
}

/* Those of the checkup's network come as for any job, if they aren't there. */
static int bring_weights(struct vrt_runner *runner, struct vrt_checkup *checkup)
{
    struct vrt_held_replica *held;
    int r = vrt_runner_get_replica(runner, checkup->network, VRT_DTYPE_F32, &held);

    for (size_t i = 0; !r && i < checkup->n_runs; i++)
        r = vrt_runner_get_replica(runner, checkup->network, checkup->runs[i].dtype, &held);
    return r;
}

static int run_network(struct vrt_runner *runner, const struct vrt_network *network,
                       struct vrt_checkup_run *run)
{
    VRT_CLEANUP(vrt_freep) float *out = calloc(vrt_trial_n_out(network), sizeof(float));
    struct vrt_held_replica *held;

    if (!out)
        return vrt_raise(-ENOMEM);
    int r = vrt_runner_get_replica(runner, network, run->dtype, &held);
    if (!r)
        r = vrt_trial_run(runner->device, network, held->replica, run->dtype, out);
    if (r)
        return vrt_fold(r);
    run->out = VRT_STEAL(out);
    return 0;
}

/* Whether the next part may be tried after one that returned `r`. */
static bool may_try(struct vrt_runner *runner, int r)
{
    return r != VRT_BACKEND_E_LOST && r != -ECANCELED && goes_on(runner);
}

int vrt_runner_checkup(struct vrt_runner *runner, struct vrt_checkup *checkup)
{
    const enum vrt_dtype preferred = vrt_device_info(runner->device)->preferred_dtype;
    int r;

    checkup->runs[0] = (struct vrt_checkup_run){ .dtype = VRT_DTYPE_F32 };
    checkup->runs[1] = (struct vrt_checkup_run){ .dtype = preferred };
    checkup->n_runs = preferred == VRT_DTYPE_F32 ? 1 : 2;
    for (size_t i = 0; i < checkup->n_runs; i++)
        checkup->runs[i].result = VRT_CHECKUP_E_NOT_TRIED;

    r = checkup->kernel_result = vrt_checkup_run_kernel(runner->device,
                                                        &checkup->kernel_max_error);
    if (may_try(runner, r)) {
        r = bring_weights(runner, checkup);
        if (!r)
            r = check_weights(runner, checkup);
        checkup->weights_result = r;
    }
    for (size_t i = 0; i < checkup->n_runs && may_try(runner, r); i++)
        r = checkup->runs[i].result = run_network(runner, checkup->network, &checkup->runs[i]);
    if (r == VRT_BACKEND_E_LOST || r == -ECANCELED)
        return r;
    return goes_on(runner) ? 0 : -ECANCELED;
}
