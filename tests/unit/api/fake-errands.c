/* SPDX-License-Identifier: MIT */

#include "tests/unit/api/fake-flow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "daemon/devices/doctor-report.h"
#include "daemon/devices/doctor.h"
#include "daemon/devices/profile.h"
#include "daemon/devices/trimming.h"

/* What a client waits for: it begins with its timer, by which it goes on. */
static void on_errand_closed(uv_handle_t *handle)
{
    free(handle);
}

static void end_errand(uv_timer_t *timer)
{
    fake_flow.n_errands--;
    uv_close((uv_handle_t *)timer, on_errand_closed);
}

/* "cpu:7" is not there. Return: one of `size` bytes; NULL with `error`. */
static void *begin_errand(struct vrt_pool *pool, const char *device, size_t size,
                          uv_timer_cb tick, struct vrt_error *error)
{
    uv_timer_t *timer = strcmp(device, "cpu:7") == 0 ? NULL : calloc(1, size);

    if (!timer) {
        vrt_refuse(error, -ENODEV, VRT_E(DEVICE_UNKNOWN), "the fake has no %s", device);
        return NULL;
    }
    uv_timer_init(pool->loop, timer);
    uv_timer_start(timer, tick, FAKE_FLOW_TICK_MS, FAKE_FLOW_TICK_MS);
    fake_flow.n_errands++;
    return timer;
}

struct vrt_profile {
    uv_timer_t timer;
    struct vrt_profile_params params;
    int n_ticks;
    bool cancelled;
};

static void on_profile_tick(uv_timer_t *timer)
{
    struct vrt_profile *profile = vrt_container_of(timer, struct vrt_profile, timer);
    struct vrt_profile_report report;
    struct vrt_error error = { .id = NULL };

    /* As many ticks as frames are wide. */
    if (!profile->cancelled && ++profile->n_ticks < profile->params.width)
        return;
    vrt_profile_report_init(&report);
    report.width = profile->params.width;
    if (profile->cancelled)
        vrt_refuse(&error, -ECANCELED, "job.cancelled", "the fake was cancelled");
    profile->params.done(profile->params.ctx, profile->cancelled ? NULL : &report,
                         profile->cancelled ? &error : NULL);
    end_errand(timer);
}

int vrt_profile_new(struct vrt_pool *pool, const struct vrt_profile_params *params,
                    struct vrt_profile **ret_profile, struct vrt_error *error)
{
    struct vrt_profile *profile = begin_errand(pool, params->devices, sizeof(*profile),
                                               on_profile_tick, error);

    if (!profile)
        return -ENODEV;
    profile->params = *params;
    *ret_profile = profile;
    atomic_fetch_add(&fake_flow.n_profiles, 1);
    return 0;
}

void vrt_profile_cancel(struct vrt_profile *profile)
{
    profile->cancelled = true;
    fake_flow.n_profiles_cancelled++;
}

struct vrt_doctor {
    uv_timer_t timer;
    struct vrt_doctor_params params;
    bool is_slow, is_cancelled;
};

static void on_doctor_tick(uv_timer_t *timer)
{
    struct vrt_doctor *doctor = vrt_container_of(timer, struct vrt_doctor, timer);

    if (doctor->is_slow && !doctor->is_cancelled)
        return;
    vrt_doctor_report_add(doctor->params.report, &(struct vrt_doctor_line){
        .id = "device.kernel", .subject = "cpu:0", .status = VRT_DOCTOR_WARNING, .cure = "none",
    }, "the fake has no kernels");
    doctor->params.done(doctor->params.ctx);
    end_errand(timer);
}

/* "cpu:9" takes until it is cancelled. */
int vrt_doctor_new(struct vrt_pool *pool, const struct vrt_doctor_params *params,
                   struct vrt_doctor **ret_doctor, struct vrt_error *error)
{
    struct vrt_doctor *doctor = begin_errand(pool, params->device, sizeof(*doctor),
                                             on_doctor_tick, error);

    if (!doctor)
        return -ENODEV;
    doctor->params = *params;
    doctor->is_slow = strcmp(params->device, "cpu:9") == 0;
    *ret_doctor = doctor;
    atomic_fetch_add(&fake_flow.n_doctors, 1);
    return 0;
}

void vrt_doctor_cancel(struct vrt_doctor *doctor)
{
    doctor->is_cancelled = true;
}

bool vrt_doctor_machine_has_gpu(const char *kind)
{
    (void)kind;
    return false;
}

void vrt_doctor_tell_backends(const struct vrt_pool *pool, const char *kind,
                              bool (*has_gpu)(const char *kind),
                              struct vrt_doctor_report *report)
{
    (void)pool;
    (void)kind;
    (void)has_gpu;
    (void)report;
}

struct trimming {
    uv_timer_t timer;
    struct vrt_trimming_params params;
    char device[32];
};

static void on_trimming_tick(uv_timer_t *timer)
{
    const struct trimming *trimming = vrt_container_of(timer, struct trimming, timer);
    const struct vrt_trimmed devices[] = {
        { .is_meant = strcmp(trimming->device, "cuda:0") != 0, .is_done = true,
          .freed_bytes = trimming->params.trim ? 7 : -1,
          .peak_bytes = trimming->params.reset_peak ? 9 : -1 },
        { .is_meant = strcmp(trimming->device, "cpu:0") != 0, .freed_bytes = -1, .peak_bytes = -1,
          .message = "the fake is lost" },
    };

    trimming->params.done(trimming->params.ctx, devices, VRT_ARRAY_SIZE(devices));
    end_errand(timer);
}

/* cpu:0 does it, cuda:0 does not. */
int vrt_trimming_begin(struct vrt_pool *pool, const struct vrt_trimming_params *params,
                       struct vrt_error *error)
{
    struct trimming *trimming = begin_errand(pool, params->device, sizeof(*trimming),
                                             on_trimming_tick, error);

    if (!trimming)
        return -ENODEV;
    trimming->params = *params;
    snprintf(trimming->device, sizeof(trimming->device), "%s", params->device);
    return 0;
}
