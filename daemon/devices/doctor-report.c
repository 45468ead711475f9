/* SPDX-License-Identifier: MIT */

#include "daemon/devices/doctor-report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "doctor_host.h"
#include "model/test-picture.h"
#include "workers/plan/fidelity.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

/* Below this a device can hardly take a job. */
#define SCARCE_BYTES (256 * MIB)

/* What vrtd holds for jobs, rather than for the examination itself. */
#define MUCH_BYTES (64 * MIB)

#define CURE_FAILING "keep jobs away from it (--device), and look after its memory, power and " \
                     "cooling, then its driver"
#define CURE_LOG "vrtd's log says more: journalctl -u vrtd"
#define CURE_NOMEM "stop other programs that use its memory; vrtctl devices shows what vrtd holds"

/*
 * How far from the reference a network's result may be. f32 differs by the order of sums alone;
 * each of the others loses digits in every layer, and a mistake costs far more than these.
 */
static const struct {
    double psnr_db, max_error;
} tolerances[] = {
    [VRT_DTYPE_F32] = { 100, 1e-4 },
    [VRT_DTYPE_F16] = { 70, 5e-3 },
    [VRT_DTYPE_BF16] = { 55, 2e-2 },
};

/* f32 whose factors are short: at least as many digits as f16 has. */
static const double short_f32_psnr_db = 70, short_f32_max_error = 5e-3;

static void tell_finding(const struct vrt_finding *finding, bool is_missed,
                         struct vrt_doctor_report *report)
{
    char id[VRT_API_WORD_BYTES];
    struct vrt_doctor_line line = { .id = id, .subject = finding->backend };

    snprintf(id, sizeof(id), "backend.%s", finding->what);
    if (finding->kind == VRT_FINDING_THERE)
        line.status = VRT_DOCTOR_OK;
    else if (finding->kind == VRT_FINDING_ABSENT && !is_missed)
        line.status = VRT_DOCTOR_NOTE;
    else
        line.status = VRT_DOCTOR_WARNING;
    if (line.status == VRT_DOCTOR_WARNING)
        line.cure = finding->cure;
    vrt_doctor_report_add(report, &line, "%s", finding->text);
}

static bool has_device(const struct vrt_pool *pool, const char *kind)
{
    size_t n;
    const struct vrt_device_info *const *infos = vrt_pool_infos(pool, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(infos[i]->kind, kind) == 0)
            return true;
    return false;
}

void vrt_doctor_tell_backends(const struct vrt_pool *pool, const char *kind,
                              bool (*has_gpu)(const char *kind),
                              struct vrt_doctor_report *report)
{
    const struct vrt_findings *findings = vrt_pool_findings(pool);

    for (size_t i = 0; i < findings->n; i++) {
        const struct vrt_finding *finding = &findings->list[i];
        if (kind && strcmp(kind, finding->backend) != 0)
            continue;
        bool is_missed = !has_device(pool, finding->backend) && (kind || has_gpu(finding->backend));
        tell_finding(finding, is_missed, report);
    }
}

bool vrt_doctor_machine_has_gpu(const char *kind)
{
    return vrt_doctor_has_gpu(&(struct vrt_doctor_host){ .root = "" }, kind);
}

void vrt_doctor_explain(const struct vrt_pool *pool, bool (*has_gpu)(const char *kind),
                        char *buffer, size_t size)
{
    const struct vrt_findings *findings = vrt_pool_findings(pool);

    buffer[0] = '\0';
    for (size_t i = 0; i < findings->n && !buffer[0]; i++) {
        const struct vrt_finding *finding = &findings->list[i];
        if (finding->kind != VRT_FINDING_THERE && !has_device(pool, finding->backend) &&
            has_gpu(finding->backend))
            snprintf(buffer, size, "%s: %s", finding->backend, finding->text);
    }
}

static void tell_state(const struct vrt_device_snapshot *device, struct vrt_doctor_report *report)
{
    struct vrt_doctor_line line = { .id = "device.state", .subject = device->info->name };

    switch (device->state) {
    case VRT_DEVICE_READY:
    case VRT_DEVICE_BUSY:
        vrt_doctor_report_add(report, &line, "%s: %s",
                              vrt_device_state_names[device->state], device->info->description);
        return;
    case VRT_DEVICE_STARTING:
        line.status = VRT_DOCTOR_WARNING;
        line.cure = "ask again in a moment; where it stays so, " CURE_LOG;
        vrt_doctor_report_add(report, &line, "still being opened: %s", device->info->description);
        return;
    case VRT_DEVICE_QUARANTINED:
        line.status = VRT_DOCTOR_FAILED;
        line.cure = "vrtd asks it again by itself; where that doesn't help, " CURE_LOG;
        if (device->retry_in_s < 0)
            vrt_doctor_report_add(report, &line, "in quarantine, and being asked again: %s",
                                  device->last_error);
        else
            vrt_doctor_report_add(report, &line, "in quarantine, and asked again in %.0f s: %s",
                                  device->retry_in_s, device->last_error);
        return;
    default:
        line.status = VRT_DOCTOR_FAILED;
        line.cure = "find out what is wrong with it (dmesg), then restart vrtd: "
                    "systemctl restart vrtd";
        vrt_doctor_report_add(report, &line, "lost, until vrtd is started again: %s",
                              device->last_error);
    }
}

static void tell_memory(const char *name, const struct vrt_device_executor_usage *usage,
                        struct vrt_doctor_report *report)
{
    struct vrt_doctor_line line = { .id = "device.memory", .subject = name };

    if (usage->free_bytes < 0 || usage->total_bytes < 0) {
        line.status = VRT_DOCTOR_NOTE;
        vrt_doctor_report_add(report, &line, "how much is free can't be told; vrtd holds %" PRId64
                              " MiB", usage->used_bytes / MIB);
        return;
    }
    if (usage->free_bytes + usage->used_bytes < SCARCE_BYTES) {
        line.status = VRT_DOCTOR_WARNING;
        line.cure = CURE_NOMEM;
    }
    vrt_doctor_report_add(report, &line, "%.1f of %.1f GiB free, vrtd holds %" PRId64 " MiB",
                          (double)usage->free_bytes / GIB, (double)usage->total_bytes / GIB,
                          usage->used_bytes / MIB);
}

/* What kept a part from being shown; `result` is neither 0 nor E_WRONG. */
static void tell_trouble(const struct vrt_doctor_found *found, const char *id, int result,
                         struct vrt_doctor_report *report)
{
    struct vrt_doctor_line line = {
        .id = id,
        .subject = found->device.info->name,
        .status = VRT_DOCTOR_FAILED,
        .cure = CURE_LOG,
    };

    if (result == VRT_CHECKUP_E_NOT_TRIED || result == -ECANCELED) {
        line.status = VRT_DOCTOR_SKIPPED;
        line.cure = NULL;
        vrt_doctor_report_add(report, &line, "not tried");
    } else if (result == VRT_BACKEND_E_NOMEM && found->usage.used_bytes >= MUCH_BYTES) {
        line.status = VRT_DOCTOR_SKIPPED;
        line.cure = "ask again when jobs are done: vrtd gives up what it keeps warm after a while";
        vrt_doctor_report_add(report, &line, "not tried: its memory is full, of which vrtd holds "
                              "%" PRId64 " MiB", found->usage.used_bytes / MIB);
    } else {
        if (result == VRT_BACKEND_E_NOMEM)
            line.cure = CURE_NOMEM;
        vrt_doctor_report_add(report, &line, "%s", vrt_backend_strerror(result));
    }
}

static void tell_kernel(const struct vrt_doctor_found *found, struct vrt_doctor_report *report)
{
    const struct vrt_checkup *checkup = found->checkup;
    struct vrt_doctor_line line = { .id = "device.kernel", .subject = found->device.info->name };

    if (checkup->kernel_result == 0) {
        vrt_doctor_report_add(report, &line, "a convolution of integers is exact");
    } else if (checkup->kernel_result == VRT_CHECKUP_E_WRONG) {
        line.status = VRT_DOCTOR_FAILED;
        line.cure = CURE_FAILING;
        vrt_doctor_report_add(report, &line, "a convolution of integers, which must be exact, is "
                              "wrong by up to %g", checkup->kernel_max_error);
    } else {
        tell_trouble(found, line.id, checkup->kernel_result, report);
    }
}

static void tell_weights(const struct vrt_doctor_found *found, struct vrt_doctor_report *report)
{
    const struct vrt_checkup *checkup = found->checkup;
    struct vrt_doctor_line line = { .id = "device.weights", .subject = found->device.info->name };

    if (checkup->weights_result == 0) {
        vrt_doctor_report_add(report, &line, "%d in memory, %.1f MiB: its checksums are right",
                              checkup->n_weights, (double)checkup->weights_bytes / MIB);
    } else if (checkup->weights_result == VRT_CHECKUP_E_WRONG) {
        line.status = VRT_DOCTOR_FAILED;
        line.cure = "they are brought anew with the next job; where it happens again, "
                    CURE_FAILING;
        vrt_doctor_report_add(report, &line, "%d of %d had changed in its memory, by the checksums "
                              "that it computes, and were given up", checkup->n_weights_wrong,
                              checkup->n_weights);
    } else if (checkup->weights_result == VRT_BACKEND_E_FAILED) {
        line.status = VRT_DOCTOR_FAILED;
        line.cure = CURE_FAILING "; " CURE_LOG;
        vrt_doctor_report_add(report, &line, "they can't be brought to it, or arrive with a wrong "
                              "checksum");
    } else {
        tell_trouble(found, line.id, checkup->weights_result, report);
    }
}

/* What is right of a result of another network than the built-in one: the deeper it is, the more
 * of a short type's digits go. A mistake leaves nothing of the picture. */
static const double model_psnr_db[] = {
    [VRT_DTYPE_F32] = 60,
    [VRT_DTYPE_F16] = 30,
    [VRT_DTYPE_BF16] = 30,
};

/* The id of a run, in `id` of VRT_API_WORD_BYTES. */
static void name_run(const struct vrt_doctor_wanted *wanted, enum vrt_dtype dtype, char *id)
{
    const bool is_f32 = dtype == VRT_DTYPE_F32;

    snprintf(id, VRT_API_WORD_BYTES, "device.%s%s%s", wanted->model[0] ? "model" : "network",
             is_f32 ? "" : ".", is_f32 ? "" : vrt_dtype_name(dtype));
}

/* A run of a model, whose distance from the right result is db. */
static void tell_model(const struct vrt_doctor_found *found, const struct vrt_checkup_run *run,
                       const char *model, double db, struct vrt_doctor_line *line,
                       struct vrt_doctor_report *report)
{
    const struct vrt_device_info *info = found->device.info;
    const bool is_short = run->dtype == VRT_DTYPE_F32 && info->short_f32[0];
    const double allowed_db = model_psnr_db[is_short ? VRT_DTYPE_F16 : run->dtype];
    const char *then = run->dtype == VRT_DTYPE_F32 ? "" :
                       db >= VRT_FIDELITY_MIN_DB ? ": auto takes it" : ": auto takes f32";

    if (!(db >= allowed_db)) {
        line->status = VRT_DOCTOR_FAILED;
        line->cure = CURE_FAILING;
    }
    vrt_doctor_report_add(report, line, "%s%s%s: %.1f dB of the processor's f32 (>=%.0f)%s", model,
                          is_short ? " in " : "", is_short ? info->short_f32 : "", db, allowed_db,
                          then);
}

static void tell_network(const struct vrt_doctor_found *found, const struct vrt_checkup_run *run,
                         const float *reference, double db, struct vrt_doctor_line *line,
                         struct vrt_doctor_report *report)
{
    const struct vrt_device_info *info = found->device.info;
    const size_t n = vrt_test_picture_n_out(found->checkup->network);
    const bool is_short = run->dtype == VRT_DTYPE_F32 && info->short_f32[0];
    const double allowed_db = is_short ? short_f32_psnr_db : tolerances[run->dtype].psnr_db;
    const double allowed_error = is_short ? short_f32_max_error : tolerances[run->dtype].max_error;
    const double error = vrt_test_picture_max_error(run->out, reference, n);

    if (!(db >= allowed_db && error <= allowed_error)) {
        line->status = VRT_DOCTOR_FAILED;
        line->cure = CURE_FAILING;
    }
    vrt_doctor_report_add(report, line, "%s%s%.1f dB of ref (>=%.0f), error %.0e (<=%.0e)",
                          is_short ? info->short_f32 : "", is_short ? ": " : "", db, allowed_db,
                          error, allowed_error);
}

static void tell_run(const struct vrt_doctor_found *found, const struct vrt_checkup_run *run,
                     const struct vrt_doctor_wanted *wanted, struct vrt_doctor_report *report)
{
    const size_t n = vrt_test_picture_n_out(found->checkup->network);
    char id[VRT_API_WORD_BYTES];
    struct vrt_doctor_line line = { .id = id, .subject = found->device.info->name };

    name_run(wanted, run->dtype, id);
    if (run->result) {
        tell_trouble(found, id, run->result, report);
        return;
    }
    if (!wanted->reference) {
        line.status = VRT_DOCTOR_SKIPPED;
        vrt_doctor_report_add(report, &line, "not compared: the reference device failed");
        return;
    }
    const double db = vrt_test_picture_psnr(run->out, wanted->reference, n);
    if (wanted->model[0])
        tell_model(found, run, wanted->model, db, &line, report);
    else
        tell_network(found, run, wanted->reference, db, &line, report);
}

/* One that was asked and didn't answer, or not yet. */
static void tell_silence(const struct vrt_doctor_found *found, int patience_s,
                         struct vrt_doctor_report *report)
{
    struct vrt_doctor_line line = {
        .id = "device.kernel",
        .subject = found->device.info->name,
        .status = VRT_DOCTOR_FAILED,
        .cure = CURE_LOG,
    };

    if (found->outcome == VRT_DOCTOR_UNANSWERED) {
        vrt_doctor_report_add(report, &line, "%s", found->error.message);
    } else if (found->device.state == VRT_DEVICE_BUSY) {
        line.status = VRT_DOCTOR_SKIPPED;
        line.cure = "ask again when the job is done; vrtctl list shows it";
        vrt_doctor_report_add(report, &line, "busy: not tried, because a piece of a job's work "
                              "took it longer than %d s", patience_s);
    } else {
        line.cure = "vrtd gives up a device that is silent for minutes, and opens it anew; where "
                    "that doesn't help, restart vrtd";
        vrt_doctor_report_add(report, &line, "it has not answered for %d s",
                              patience_s);
    }
}

void vrt_doctor_tell_device(const struct vrt_doctor_found *found,
                            const struct vrt_doctor_wanted *wanted,
                            struct vrt_doctor_report *report)
{
    const struct vrt_checkup *checkup = found->checkup;

    tell_state(&found->device, report);
    if (found->outcome == VRT_DOCTOR_NOT_ASKED)
        return;
    if (found->outcome != VRT_DOCTOR_ANSWERED) {
        tell_silence(found, wanted->patience_s, report);
        return;
    }
    tell_memory(found->device.info->name, &found->usage, report);
    tell_kernel(found, report);
    tell_weights(found, report);
    for (size_t i = 0; i < checkup->n_runs; i++)
        tell_run(found, &checkup->runs[i], wanted, report);
}
