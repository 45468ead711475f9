/* SPDX-License-Identifier: MIT */

/*
 * Every device gets one task, and what it brought is told when the last has come back, or when
 * patience ends. Who is told then is gone from here: what still is with a device is only waited for
 * in order to free it.
 */

#include "daemon/devices/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kind.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/devices/doctor-report.h"
#include "daemon/devices/pool-job.h"

#define VRT_LOG_TOPIC "doctor"

struct examined {
    struct vrt_doctor_found found;
    bool is_meant;                  /* it is to be told of */
    struct vrt_worker_task *task;   /* that is out; NULL: none */
};

struct vrt_doctor {
    struct vrt_pool *pool;
    struct vrt_pool_job job;        /* has nothing to be handed out; listed until the end */
    char device[VRT_API_DEVICE_BYTES];
    struct vrt_network *network;    /* a reference */
    const float *reference;
    char model[VRT_API_NAME_BYTES];
    int patience_s;
    struct vrt_doctor_report *report;       /* NULL: it was handed over */
    void (*done)(void *ctx);
    void *ctx;
    int64_t began_ns;
    bool is_over;                   /* nothing more is waited for */
    size_t n_devices;
    struct examined devices[];
};

/* Whether the request means this device: by its name, its kind's, or that of the card it is on. */
static bool is_meant(const struct vrt_device_info *info, const char *device)
{
    const size_t n = strlen(device);

    return !n || strcmp(device, "auto") == 0 || strcmp(device, info->name) == 0 ||
           strcmp(device, info->kind) == 0 ||
           (strncmp(device, info->name, n) == 0 && info->name[n] == '.');
}

/* Whether it is such a name as devices have: of a kind, whether there is one or not. */
static bool is_kind(const char *device)
{
    return vrt_device_kind_find(device, strcspn(device, ":"));
}

static struct vrt_doctor *doctor_of(struct vrt_pool_job *job)
{
    return vrt_container_of(job, struct vrt_doctor, job);
}

static struct vrt_doctor *doctor_free(struct vrt_doctor *doctor)
{
    if (!doctor)
        return NULL;
    for (size_t d = 0; d < doctor->n_devices; d++)
        vrt_checkup_free(doctor->devices[d].found.checkup);
    vrt_network_unref(doctor->network);
    free(doctor);
    return NULL;
}

static bool is_out(const struct vrt_doctor *doctor)
{
    for (size_t d = 0; d < doctor->n_devices; d++)
        if (doctor->devices[d].task)
            return true;
    return false;
}

/* There is none of the kind that is meant. Why, the checks of its backend have said, if any did. */
static void tell_none(const struct vrt_doctor *doctor)
{
    struct vrt_doctor_report *report = doctor->report;
    bool is_told = false;

    for (size_t i = 0; i < report->n_checks; i++)
        is_told |= strcmp(report->checks[i].subject, doctor->device) == 0 &&
                   report->checks[i].cure[0];
    vrt_doctor_report_add(report, &(struct vrt_doctor_line){
        .id = "device.state",
        .subject = doctor->device,
        .status = VRT_DOCTOR_FAILED,
        .cure = is_told ? "see what is said of it above" :
                          "vrtctl devices lists those that there are",
    }, "vrtd has no device of this kind");
}

/* Tells what was found, and hands the report over. */
static void tell(struct vrt_doctor *doctor)
{
    struct vrt_doctor_report *report = doctor->report;
    bool any = false;

    for (size_t d = 0; d < doctor->n_devices; d++) {
        if (!doctor->devices[d].is_meant)
            continue;
        any = true;
        vrt_doctor_tell_device(&doctor->devices[d].found, &(struct vrt_doctor_wanted){
            .reference = doctor->reference,
            .model = doctor->model,
            .patience_s = doctor->patience_s,
        }, report);
        if (doctor->devices[d].task)
            atomic_store(&doctor->devices[d].task->task.cancel, true);
    }
    if (!any)
        tell_none(doctor);
    doctor->report = NULL;
    doctor->done(doctor->ctx);
}

/* Takes the next step. The examination may be gone afterwards. */
static void step(struct vrt_doctor *doctor)
{
    const bool is_late = vrt_clock_now_ns() - doctor->began_ns >
                         doctor->patience_s * VRT_NS_PER_S;
    const bool waits = is_out(doctor);

    if (doctor->report && (!waits || is_late || doctor->is_over))
        tell(doctor);
    if (waits)
        return;
    vrt_pool_job_remove(doctor->pool, &doctor->job);
    doctor_free(doctor);
}

/* A device's task came back. */
static void returned(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_doctor *doctor = ctx;
    struct examined *examined = &doctor->devices[d];
    struct vrt_doctor_found *found = &examined->found;
    struct vrt_worker_checkup *checkup = vrt_container_of(task, struct vrt_worker_checkup, base);

    examined->task = NULL;
    found->outcome = VRT_DOCTOR_UNANSWERED;
    if (task->task.outcome == VRT_TASK_LOST) {
        vrt_refuse(&found->error, -EIO, "device.failed", "it gave no sign of life, and was given "
                   "up");
    } else if (task->task.outcome == VRT_TASK_FAILED &&
               checkup->checkup->kernel_result == VRT_CHECKUP_E_NOT_TRIED) {
        /* It was lost at what it did before. */
        found->error = task->error;
    } else {
        found->outcome = VRT_DOCTOR_ANSWERED;
        found->usage = task->usage;
        found->checkup = VRT_STEAL(checkup->checkup);
    }
    step(doctor);
}

static void ask(struct vrt_doctor *doctor, size_t d)
{
    struct examined *examined = &doctor->devices[d];
    VRT_CLEANUP(vrt_checkup_freep) struct vrt_checkup *checkup = NULL;
    struct vrt_worker_checkup *task = NULL;
    int r = vrt_checkup_new(doctor->network, &checkup);

    if (r == 0)
        task = vrt_worker_checkup_new(checkup);
    if (r == 0 && !task)
        r = vrt_raise(-ENOMEM);
    if (r == 0) {
        checkup = NULL;
        examined->task = &task->base;
        examined->found.outcome = VRT_DOCTOR_WAITS;
        r = vrt_pool_submit(doctor->pool, d, &task->base, returned, doctor);
    }
    if (r < 0) {
        examined->task = NULL;
        examined->found.outcome = VRT_DOCTOR_UNANSWERED;
        vrt_refuse_errno(&examined->found.error, r, "asking it");
    }
}

static void on_tick(struct vrt_pool_job *job)
{
    step(doctor_of(job));
}

static void on_stop(struct vrt_pool_job *job)
{
    doctor_of(job)->is_over = true;
}

static const struct vrt_pool_job_ops job_ops = {
    .tick = on_tick,
    .stop = on_stop,
};

/* Which devices are meant, and how they are. Return: 0; -ENODEV: there is no such device. */
static int look(struct vrt_doctor *doctor, struct vrt_error *error)
{
    char printable[VRT_API_DEVICE_BYTES];
    bool any = false;

    for (size_t d = 0; d < doctor->n_devices; d++) {
        struct examined *examined = &doctor->devices[d];
        vrt_pool_device(doctor->pool, d, &examined->found.device);
        examined->is_meant = is_meant(examined->found.device.info, doctor->device);
        any |= examined->is_meant;
    }
    if (any || is_kind(doctor->device))
        return 0;
    vrt_error_set_field(error, "device");
    return vrt_refuse(error, -ENODEV, "device.unknown", "there is no device %s: vrtctl devices "
                      "lists those there are",
                      vrt_printable(doctor->device, printable, sizeof(printable)));
}

int vrt_doctor_new(struct vrt_pool *pool, const struct vrt_doctor_params *params,
                   struct vrt_doctor **ret_doctor, struct vrt_error *error)
{
    const size_t n = vrt_pool_n_devices(pool);
    struct vrt_doctor *doctor;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_pool_is_stopping(pool))
        return vrt_refuse(error, -ESHUTDOWN, "shutting_down", "the daemon is about to stop");
    doctor = calloc(1, sizeof(*doctor) + n * sizeof(doctor->devices[0]));
    if (!doctor)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the examination");
    doctor->pool = pool;
    doctor->job.ops = &job_ops;
    snprintf(doctor->device, sizeof(doctor->device), "%s", params->device);
    doctor->network = vrt_network_ref(params->network);
    doctor->reference = params->reference;
    snprintf(doctor->model, sizeof(doctor->model), "%s", params->model);
    doctor->patience_s = params->patience_s;
    doctor->report = params->report;
    doctor->done = params->done;
    doctor->ctx = params->ctx;
    doctor->began_ns = vrt_clock_now_ns();
    doctor->n_devices = n;
    int r = look(doctor, error);
    if (r < 0) {
        doctor_free(doctor);
        return r;
    }
    vrt_pool_job_add(pool, &doctor->job);
    const uint64_t ready = vrt_pool_devices(pool).ready;
    for (size_t d = 0; d < n; d++)
        if (doctor->devices[d].is_meant && (ready & UINT64_C(1) << d))
            ask(doctor, d);
    vrt_log_info("an examination of %s begins", doctor->device[0] ? doctor->device : "all devices");
    *ret_doctor = doctor;
    return 0;
}

void vrt_doctor_cancel(struct vrt_doctor *doctor)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    doctor->is_over = true;
}
