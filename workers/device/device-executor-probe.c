/* SPDX-License-Identifier: MIT */

/* How a device would do a job: in which precision, and in which clips and tiles. Of that nothing is
 * allocated but the replica, and what it takes to try a precision out. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "backend/op/precision.h"
#include "base/log.h"
#include "model/test-picture.h"
#include "workers/device/device-executor-impl.h"
#include "workers/device/session/fit.h"
#include "workers/plan/fidelity.h"

#define VRT_LOG_TOPIC "executor"

#define MEMORY_FRACTION_DEFAULT 0.8

/* A work's network, tried out on a device. */
struct tried {
    struct vrt_device_executor *executor;
    const struct vrt_job_spec *spec;
};

/* See struct vrt_fidelity_params: at the cost of whatever is idle, and so of the weights of the run
 * before, where there is no room for both. */
static int run_test_picture(void *ctx, enum vrt_dtype dtype, float *out)
{
    const struct tried *tried = ctx;
    const struct vrt_network *network = tried->spec->network;
    struct vrt_held_replica *held;
    int r;

    do {
        r = vrt_device_executor_get_replica(tried->executor, network, dtype, &held);
        if (r == 0)
            r = vrt_test_picture_run(tried->executor->device, network, held->replica, dtype, out);
    } while (r == VRT_BACKEND_E_NOMEM &&
             vrt_device_executor_give_up(tried->executor, tried->spec, dtype));
    return r < 0 ? vrt_fold(r) : r;
}

/* Whether the network in `dtype` is close enough to itself in f32; what isn't known is measured. */
static bool is_faithful(struct vrt_device_executor *executor, struct vrt_probe *probe,
                        enum vrt_dtype dtype)
{
    double *db = &probe->fidelity_db[dtype];
    int r = 0;

    if (isnan(*db)) {
        struct tried tried = { executor, probe->spec };
        r = vrt_fidelity_measure(&(struct vrt_fidelity_params){
            .network = probe->spec->network,
            .dtype = dtype,
            .run = run_test_picture,
            .ctx = &tried,
        }, db);
        /* No reason to refuse a job that left the choice to us. The next one measures again. */
        if (r != 0) {
            probe->is_makeshift = true;
            vrt_log_info("%s: how close %s comes to f32 can't be measured, so f32 is used: %s",
                         vrt_device_info(executor->device)->name, vrt_dtype_name(dtype),
                         vrt_backend_strerror(r));
            return false;
        }
        vrt_log_info("%s in %s on %s: %.1f dB of f32",
                     vrt_network_info(probe->spec->network)->description, vrt_dtype_name(dtype),
                     vrt_device_info(executor->device)->name, *db);
    }
    return *db >= VRT_FIDELITY_MIN_DB;
}

/* Whether f32 was found to be no slower than the shorter type. */
static bool is_f32_fastest(const struct vrt_probe *probe)
{
    return probe->fastest == VRT_PRECISION_AUTO ? probe->f32_speedup >= 1 :
           probe->fastest == VRT_PRECISION_F32;
}

/* For `auto` the shorter type that the device prefers, unless f32 was measured to be no slower. */
static enum vrt_dtype resolve_precision(struct vrt_device_executor *executor,
                                        struct vrt_probe *probe)
{
    const enum vrt_precision precision = probe->spec->recipe.precision;
    enum vrt_dtype dtype = vrt_device_info(executor->device)->preferred_dtype;

    if (precision == VRT_PRECISION_AUTO &&
        (is_f32_fastest(probe) || !is_faithful(executor, probe, dtype)))
        dtype = VRT_DTYPE_F32;
    return vrt_precision_dtype(precision, dtype);
}

/* Says that no size fits, and what would help. */
static int refuse_memory(const char *device, const struct vrt_probe *probe,
                         struct vrt_error *error)
{
    const char *cure = ": ask for another device, or see memory_limit in vrtd.conf(5)";
    const struct vrt_recipe *recipe = &probe->spec->recipe;
    const int64_t mib = INT64_C(1) << 20;

    if (recipe->exact_tile && probe->spec->grid.x.n * probe->spec->grid.y.n == 1)
        cure = ": leave tile out, or see memory_fraction in vrtd.conf(5)";
    else if (recipe->exact_tile || probe->is_fixed)
        cure = ": ask for a smaller tile, or for none";
    else if (recipe->exact_clip)
        cure = ": ask for shorter clips, or for none";
    else if (probe->smaller)
        cure = ": stop other programs that use its memory, or ask for another device";
    if (probe->smaller)
        return vrt_refuse(error, -ENOSPC, "device.memory", "%s ran out of memory with the smallest "
                          "clips and tiles that the job may be done in%s", device, cure);
    return vrt_refuse(error, -ENOSPC, "device.memory",
                      "the job needs %" PRId64 " MiB of %s, which has %" PRId64
                      " MiB to give%s", (probe->planned_bytes - 1) / mib + 1, device,
                      probe->allowed_bytes / mib, cure);
}

/* The device lacks an op, in this precision or in any. */
static int refuse_op(struct vrt_device_executor *executor, struct vrt_probe *probe,
                     struct vrt_error *error)
{
    const struct vrt_job_spec_size size = vrt_job_spec_size(probe->spec);

    probe->lacks = vrt_session_lacks(executor->device, probe->spec, &size, probe->dtype);
    return vrt_refuse(error, -EINVAL, "device.unsupported",
                      "%s lacks %s, which this network needs in %s: ask for another precision, for "
                      "auto, or for another device", vrt_device_info(executor->device)->name,
                      probe->lacks ? probe->lacks : "an operation", vrt_dtype_name(probe->dtype));
}

/* The largest clip and tile from the wanted ones on that fit, with what they take. */
static int fit(struct vrt_device_executor *executor, struct vrt_probe *probe,
               struct vrt_error *error)
{
    const char *device = vrt_device_info(executor->device)->name;
    const struct vrt_fit_params params = {
        .spec = probe->spec,
        .dtype = probe->dtype,
        .allowed_bytes = probe->allowed_bytes < 0 ? -1 :
                         VRT_MAX(probe->allowed_bytes - probe->replica_bytes, 0),
        .is_fixed = probe->is_fixed,
        .smaller = probe->smaller,
    };
    struct vrt_fit found;
    int r = vrt_fit_find(executor->device, &params, &found);

    if (r == -EINVAL)
        return refuse_op(executor, probe, error);
    if (r != 0 && r != -ENOSPC)
        return vrt_refuse_errno(error, r, device);
    probe->size = found.size;
    probe->tile_flops = found.plan.tile_flops;
    const bool fits = r == 0;
    struct vrt_load load;
    r = vrt_load_find(executor, probe->spec, probe->dtype, probe->wanted_batch, &found,
                      params.allowed_bytes, &load);
    if (r != 0)
        return vrt_refuse_errno(error, vrt_fold(r), device);
    probe->planned_bytes = probe->replica_bytes + load.bytes;
    probe->batch = load.batch;
    return fits ? 0 : refuse_memory(device, probe, error);
}

int vrt_device_executor_probe(struct vrt_device_executor *executor, struct vrt_probe *probe,
                      struct vrt_error *error)
{
    const char *device = vrt_device_info(executor->device)->name;
    struct vrt_held_replica *replica;
    int r;

    probe->is_makeshift = false;
    probe->lacks = NULL;
    probe->dtype = resolve_precision(executor, probe);
    do {
        r = vrt_device_executor_get_replica(executor, probe->spec->network, probe->dtype, &replica);
    } while (r == VRT_BACKEND_E_NOMEM &&
             vrt_device_executor_give_up(executor, probe->spec, probe->dtype));
    if (r == -EINVAL)
        return vrt_refuse(error, r, "device.unsupported", "%s can't hold this network in %s: "
                          "ask for another precision, or for auto", device,
                          vrt_dtype_name(probe->dtype));
    if (r != 0)
        return vrt_refuse(error, r, r == VRT_BACKEND_E_NOMEM ? "device.memory" : "device.failed",
                          "%s: %s", device, vrt_backend_strerror(r));
    probe->replica_bytes = (int64_t)vrt_replica_bytes(executor->device, replica->replica);
    const int64_t bytes = vrt_device_executor_free_bytes(executor, replica, probe->is_due);
    const double fraction = probe->memory_fraction > 0 ? probe->memory_fraction :
                                                         MEMORY_FRACTION_DEFAULT;
    probe->allowed_bytes = bytes < 0 ? -1 : (int64_t)(fraction * (double)bytes);
    return vrt_fold(fit(executor, probe, error));
}
