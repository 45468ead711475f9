/* SPDX-License-Identifier: MIT */

/* What is said of a device, for everything that can become of its examination, and of what a
 * profile found. */

#include <errno.h>

#include "base/clock.h"
#include "daemon/devices/doctor-report.h"
#include "daemon/devices/profile-report.h"
#include "fields.h"
#include "model/test-picture.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/test.h"
#include "workers/device/speed.h"

static const struct vrt_device_info info = {
    .kind = "cuda",
    .name = "cuda:0",
    .description = "A card",
};

static const struct vrt_device_info tf32_info = {
    .kind = "cuda",
    .name = "cuda:0",
    .description = "A card",
    .short_f32 = "TF32",
};

struct bench {
    struct vrt_network *network;
    float *reference;
    const char *model;
    size_t n;
    struct vrt_doctor_found found;
    struct vrt_doctor_report report;
};

/* A device that was examined, and is well. */
static void bench_init(struct bench *bench)
{
    struct vrt_checkup *checkup;

    *bench = (struct bench){ .model = "", .found = {
        .device = { .info = &info, .state = VRT_DEVICE_READY, .retry_in_s = -1 },
        .outcome = VRT_DOCTOR_ANSWERED,
        .usage = { .total_bytes = INT64_C(8) << 30, .free_bytes = INT64_C(6) << 30 },
    } };
    vrt_doctor_report_init(&bench->report);
    bench->network = builtin_network();
    bench->n = vrt_test_picture_n_out(bench->network);
    bench->reference = calloc(bench->n, sizeof(float));
    expect_int(vrt_checkup_new(bench->network, &checkup), 0);
    checkup->kernel_result = checkup->weights_result = 0;
    checkup->n_weights = 3;
    checkup->weights_bytes = 3 << 19;
    checkup->n_runs = 1;
    checkup->runs[0] = (struct vrt_checkup_run){ .dtype = VRT_DTYPE_F32 };
    checkup->runs[0].out = calloc(bench->n, sizeof(float));
    bench->found.checkup = checkup;
}

static void bench_done(struct bench *bench)
{
    vrt_doctor_report_done(&bench->report);
    vrt_checkup_free(bench->found.checkup);
    vrt_network_unref(bench->network);
    free(bench->reference);
}

/* Tells, and returns the check of this id. */
static const struct vrt_doctor_check *told(struct bench *bench, const char *id)
{
    vrt_doctor_report_done(&bench->report);
    vrt_doctor_report_init(&bench->report);
    const struct vrt_doctor_wanted wanted = { bench->reference, bench->model, 60 };

    vrt_doctor_tell_device(&bench->found, &wanted, &bench->report);
    for (size_t i = 0; i < bench->report.n_checks; i++) {
        const struct vrt_doctor_check *check = &bench->report.checks[i];
        expect_str(check->subject, "cuda:0");
        expect_true(check->result[0] != '\0');
        expect_true(check->cure[0] || check->status < VRT_DOCTOR_WARNING ||
                    check->status == VRT_DOCTOR_SKIPPED);
        if (strcmp(check->id, id) == 0)
            return check;
    }
    test_fail("nothing is said of %s", id);
}

/* What is said of a device, whatever became of it and its examination. */
static void test_told(void)
{
    static const struct {
        enum vrt_device_state state;
        enum vrt_doctor_outcome outcome;
        int retry_s, kernel, weights;
        int64_t used_bytes;
        enum vrt_doctor_status status;
        const char *id, *says;
        size_t n_checks;
    } rows[] = {
#define IS(state) VRT_DEVICE_##state, VRT_DOCTOR_NOT_ASKED
        { IS(READY), 7, 0, 0, 0, VRT_DOCTOR_OK, "state", "ready: A card", 1 },
        { IS(BUSY), 7, 0, 0, 0, VRT_DOCTOR_OK, "state", "busy: A card", 1 },
        { IS(STARTING), 7, 0, 0, 0, VRT_DOCTOR_WARNING, "state", "still being opened: A card", 1 },
        { IS(QUARANTINED), 7, 0, 0, 0, VRT_DOCTOR_FAILED, "state",
          "in quarantine, and asked again in 7 s: it is hot", 1 },
        { IS(QUARANTINED), 0, 0, 0, 0, VRT_DOCTOR_FAILED, "state",
          "in quarantine, and asked again in 0 s: it is hot", 1 },
        { IS(QUARANTINED), -1, 0, 0, 0, VRT_DOCTOR_FAILED, "state",
          "in quarantine, and being asked again: it is hot", 1 },
        { IS(LOST), 7, 0, 0, 0, VRT_DOCTOR_FAILED, "state",
          "lost, until vrtd is started again: it is hot", 1 },
#undef IS
        { VRT_DEVICE_READY, VRT_DOCTOR_WAITS, -1, 0, 0, 0, VRT_DOCTOR_FAILED, "kernel",
          "it has not answered for 60 s", 2 },
        { VRT_DEVICE_BUSY, VRT_DOCTOR_WAITS, -1, 0, 0, 0, VRT_DOCTOR_SKIPPED, "kernel",
          "busy: not tried, because a piece of a job's work took it longer than 60 s", 2 },
        { VRT_DEVICE_READY, VRT_DOCTOR_UNANSWERED, -1, 0, 0, 0, VRT_DOCTOR_FAILED, "kernel",
          "it went away", 2 },
#define FOUND VRT_DEVICE_READY, VRT_DOCTOR_ANSWERED, -1
        { FOUND, 0, 0, 0, VRT_DOCTOR_OK, "kernel", "a convolution of integers is exact", 5 },
        { FOUND, VRT_CHECKUP_E_WRONG, 0, 0, VRT_DOCTOR_FAILED, "kernel",
          "a convolution of integers, which must be exact, is wrong by up to 2.5", 5 },
        { FOUND, VRT_BACKEND_E_NOMEM, 0, (64 << 20) - 1, VRT_DOCTOR_FAILED, "kernel",
          "out of device memory", 5 },
        { FOUND, VRT_BACKEND_E_NOMEM, 0, 64 << 20, VRT_DOCTOR_SKIPPED, "kernel",
          "not tried: its memory is full, of which vrtd holds 64 MiB", 5 },
        { FOUND, VRT_CHECKUP_E_NOT_TRIED, 0, 0, VRT_DOCTOR_SKIPPED, "kernel", "not tried", 5 },
        { FOUND, -EIO, 0, 0, VRT_DOCTOR_FAILED, "kernel", "Input/output error", 5 },
        { FOUND, 0, 0, 0, VRT_DOCTOR_OK, "weights",
          "3 in memory, 1.5 MiB: its checksums are right", 5 },
        { FOUND, 0, VRT_CHECKUP_E_WRONG, 0, VRT_DOCTOR_FAILED, "weights", "2 of 3 had changed in "
          "its memory, by the checksums that it computes, and were given up", 5 },
        { FOUND, 0, VRT_BACKEND_E_FAILED, 0, VRT_DOCTOR_FAILED, "weights",
          "they can't be brought to it, or arrive with a wrong checksum", 5 },
        { FOUND, 0, VRT_BACKEND_E_LOST, 0, VRT_DOCTOR_FAILED, "weights", "the device is lost", 5 },
#undef FOUND
    };
    struct bench bench;

    bench_init(&bench);
    struct vrt_doctor_found *found = &bench.found;
    snprintf(found->device.last_error, sizeof(found->device.last_error), "it is hot");
    snprintf(found->error.message, sizeof(found->error.message), "it went away");
    found->checkup->kernel_max_error = 2.5;
    found->checkup->n_weights_wrong = 2;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        char id[VRT_API_WORD_BYTES];
        found->device.state = rows[i].state;
        found->device.retry_in_s = rows[i].retry_s;
        found->outcome = rows[i].outcome;
        found->usage.used_bytes = rows[i].used_bytes;
        found->checkup->kernel_result = rows[i].kernel;
        found->checkup->weights_result = rows[i].weights;
        snprintf(id, sizeof(id), "device.%s", rows[i].id);
        const struct vrt_doctor_check *check = told(&bench, id);
        expect_str(check->result, rows[i].says);
        expect_int(check->status, rows[i].status);
        expect_int(bench.report.n_checks, rows[i].n_checks);
    }
    free(bench.reference);
    bench.reference = NULL;
    expect_int(told(&bench, "device.network")->status, VRT_DOCTOR_SKIPPED);
    bench_done(&bench);
}

/* What vrtd itself holds is no reason to worry. */
static void test_memory(void)
{
    static const struct {
        int64_t total_mib, free_mib, used_mib;
        enum vrt_doctor_status status;
        const char *says;
    } rows[] = {
        { 8192, 6144, 0, VRT_DOCTOR_OK, "6.0 of 8.0 GiB free, vrtd holds 0 MiB" },
        { 8192, 255, 0, VRT_DOCTOR_WARNING, "0.2 of 8.0 GiB free, vrtd holds 0 MiB" },
        { 8192, 256, 0, VRT_DOCTOR_OK, "0.2 of 8.0 GiB free, vrtd holds 0 MiB" },
        { 8192, 100, 5120, VRT_DOCTOR_OK, "0.1 of 8.0 GiB free, vrtd holds 5120 MiB" },
        { 8192, -1, 5, VRT_DOCTOR_NOTE, "how much is free can't be told; vrtd holds 5 MiB" },
        { -1, 0, 5, VRT_DOCTOR_NOTE, "how much is free can't be told; vrtd holds 5 MiB" },
    };
    struct bench bench;

    bench_init(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        bench.found.usage = (struct vrt_device_executor_usage){
            .total_bytes = rows[i].total_mib * (1 << 20),
            .free_bytes = rows[i].free_mib * (1 << 20),
            .used_bytes = rows[i].used_mib << 20,
        };
        expect_int(told(&bench, "device.memory")->status, rows[i].status);
        expect_str(told(&bench, "device.memory")->result, rows[i].says);
    }
    bench_done(&bench);
}

/* One pixel that is off by as much as is allowed, and by more, in every precision. */
static void test_tolerances(void)
{
    static const struct {
        const struct vrt_device_info *info;
        enum vrt_dtype dtype;
        double allowed;
        const char *id;
    } cases[] = {
        { &info, VRT_DTYPE_F32, 1e-4, "device.network" },
        { &tf32_info, VRT_DTYPE_F32, 5e-3, "device.network" },
        { &info, VRT_DTYPE_F16, 5e-3, "device.network.f16" },
        { &info, VRT_DTYPE_BF16, 2e-2, "device.network.bf16" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct bench bench;
        bench_init(&bench);
        struct vrt_checkup_run *run = &bench.found.checkup->runs[0];
        bench.found.device.info = cases[i].info;
        run->dtype = cases[i].dtype;
        expect_contains(told(&bench, cases[i].id)->result, "200.0 dB of ref");
        run->out[7] = (float)(0.99 * cases[i].allowed);
        expect_int(told(&bench, cases[i].id)->status, VRT_DOCTOR_OK);
        run->out[7] = (float)(1.01 * cases[i].allowed);
        expect_int(told(&bench, cases[i].id)->status, VRT_DOCTOR_FAILED);
        run->out[7] = NAN;
        expect_int(told(&bench, cases[i].id)->status, VRT_DOCTOR_FAILED);
        /* All pixels a little off is as bad. */
        for (size_t k = 0; k < bench.n; k++)
            run->out[k] = (float)(0.9 * cases[i].allowed);
        expect_int(told(&bench, cases[i].id)->status, VRT_DOCTOR_FAILED);
        run->result = VRT_BACKEND_E_FAILED;
        expect_int(told(&bench, cases[i].id)->status, VRT_DOCTOR_FAILED);
        bench_done(&bench);
    }
}

/* Of a model: what a short type loses is told, and no failure while there is a picture. */
static void test_model(void)
{
    static const struct {
        const struct vrt_device_info *info;
        enum vrt_dtype dtype;
        float off;
        enum vrt_doctor_status status;
        const char *id, *result;
    } cases[] = {
        { &info, VRT_DTYPE_F32, 0, VRT_DOCTOR_OK, "device.model", "x4: 200.0 dB of the" },
        { &info, VRT_DTYPE_F32, 0.0009f, VRT_DOCTOR_OK, "device.model", "60.9 dB" },
        { &info, VRT_DTYPE_F32, 0.002f, VRT_DOCTOR_FAILED, "device.model", "(>=60)" },
        { &tf32_info, VRT_DTYPE_F32, 0.002f, VRT_DOCTOR_OK, "device.model", "x4 in TF32: " },
        { &info, VRT_DTYPE_BF16, 0.002f, VRT_DOCTOR_OK, "device.model.bf16", "auto takes it" },
        { &info, VRT_DTYPE_BF16, 0.02f, VRT_DOCTOR_OK, "device.model.bf16", "auto takes f32" },
        { &info, VRT_DTYPE_F16, 0.2f, VRT_DOCTOR_FAILED, "device.model.f16", "auto takes f32" },
        { &info, VRT_DTYPE_F16, NAN, VRT_DOCTOR_FAILED, "device.model.f16", "0.0 dB" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct bench bench;
        bench_init(&bench);
        bench.model = "x4";
        bench.found.device.info = cases[i].info;
        struct vrt_checkup_run *run = &bench.found.checkup->runs[0];
        run->dtype = cases[i].dtype;
        for (size_t k = 0; k < bench.n; k++)
            run->out[k] += cases[i].off;
        expect_int(told(&bench, cases[i].id)->status, cases[i].status);
        expect_contains(told(&bench, cases[i].id)->result, cases[i].result);
        bench_done(&bench);
    }
}

/* All that a profile tells: of 100 frames, the slowest first, which came two at a time. */
static void test_profile(void)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = builtin_network();
    struct vrt_profile_found found = {
        .model_name = "x2",
        .info = &info,
        .recipe = { .clip_frames = 5, .clip_overlap = 1, .overlap = 16 },
        .probe = { .dtype = VRT_DTYPE_F16, .batch = 3, .tile_flops = 1500000000,
                   .replica_bytes = 100, .allowed_bytes = 900, .fidelity_db = { 1, 66, 2 } },
        .op_times = { .ns = { 3000000000, 0, 0, 1000000000 }, .flops = { 6000000000, 7 },
                      .n_ops = { 9, 2, 0, 4 } },
        .job_bytes = 350,
        .had_company = true,
        .choice = { .n_warnings = 1, .warnings = { "it is chosen" } },
        .doubt = { .message = "black" },
    };
    struct vrt_profile_report report;
    struct vrt_job_spec *spec;
    struct vrt_buf text = { .limit_bytes = 4096 };
    char wanted[2048];
    FILE *file = fopen(PROFILE_JSON, "re");

    expect_true(file && fgets(wanted, sizeof(wanted), file) && fclose(file) == 0);
    wanted[strcspn(wanted, "\n")] = '\0';
    expect_int(vrt_speed_spec_new(network, 64, 48, &spec), 0);
    for (int k = 50; k > 0; k--)
        expect_int(vrt_profile_found_add(&found, &(struct vrt_session_times){
            .upload_ns = VRT_NS_PER_S, .compute_ns = (2 * k - 1) * VRT_NS_PER_S * 3 / 2,
            .download_ns = (2 * k - 1) * VRT_NS_PER_S / 2 }, 2), 0);
    vrt_profile_report_fill(&found, spec, &report);
    expect_int(vrt_fields_print(vrt_profile_fields, &report, &text), 0);
    expect_str(text.data, wanted);
    vrt_buf_done(&text);
    /* Of f32, in which nothing was lost, and of what was held nobody knows; ops took no time. */
    found.probe.dtype = VRT_DTYPE_F32;
    found.job_bytes = -1;
    found.op_times = (struct vrt_op_times){ .n_ops = { 1 } };
    found.doubt.message[0] = '\0';
    vrt_profile_report_fill(&found, spec, &report);
    expect_true(isnan(report.fidelity_db) && isnan(report.ops[0].share));
    expect_int(report.workspace_bytes, VRT_UNKNOWN);
    expect_int(report.n_warnings, 2);
    vrt_profile_found_done(&found);
    vrt_job_spec_unref(spec);
}

TEST_MAIN(
    { "told", test_told },
    { "memory", test_memory },
    { "tolerances", test_tolerances },
    { "model", test_model },
    { "profile", test_profile },
)
