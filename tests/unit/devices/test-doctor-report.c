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

static void test_states(void)
{
    static const struct {
        enum vrt_device_state state;
        enum vrt_doctor_status status;
        const char *says;
    } cases[] = {
        { VRT_DEVICE_READY, VRT_DOCTOR_OK, "ready: A card" },
        { VRT_DEVICE_BUSY, VRT_DOCTOR_OK, "busy: A card" },
        { VRT_DEVICE_STARTING, VRT_DOCTOR_WARNING, "still being opened" },
        { VRT_DEVICE_QUARANTINED, VRT_DOCTOR_FAILED, "asked again in 7 s: it fell off the bus" },
        { VRT_DEVICE_LOST, VRT_DOCTOR_FAILED, "lost, until vrtd is started again: it fell off" },
    };
    struct bench bench;

    bench_init(&bench);
    bench.found.outcome = VRT_DOCTOR_NOT_ASKED;
    bench.found.device.retry_in_s = 7;
    snprintf(bench.found.device.last_error, sizeof(bench.found.device.last_error),
             "it fell off the bus");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        bench.found.device.state = cases[i].state;
        const struct vrt_doctor_check *check = told(&bench, "device.state");
        expect_int(check->status, cases[i].status);
        expect_contains(check->result, cases[i].says);
        expect_int(bench.report.n_checks, 1);
    }
    bench.found.device.state = VRT_DEVICE_QUARANTINED;
    bench.found.device.retry_in_s = 0;
    expect_contains(told(&bench, "device.state")->result, "asked again in 0 s");
    bench.found.device.retry_in_s = -1;
    expect_contains(told(&bench, "device.state")->result, "being asked again: it fell");
    bench_done(&bench);
}

static void test_silence(void)
{
    struct bench bench;

    bench_init(&bench);
    bench.found.outcome = VRT_DOCTOR_WAITS;
    const struct vrt_doctor_check *check = told(&bench, "device.kernel");
    expect_int(check->status, VRT_DOCTOR_FAILED);
    expect_contains(check->result, "has not answered for 60 s");
    bench.found.device.state = VRT_DEVICE_BUSY;
    check = told(&bench, "device.kernel");
    expect_int(check->status, VRT_DOCTOR_SKIPPED);
    expect_contains(check->result, "busy: not tried");
    bench.found.outcome = VRT_DOCTOR_UNANSWERED;
    snprintf(bench.found.error.message, sizeof(bench.found.error.message), "it went away");
    check = told(&bench, "device.kernel");
    expect_int(check->status, VRT_DOCTOR_FAILED);
    expect_str(check->result, "it went away");
    expect_int(bench.report.n_checks, 2);
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

static void test_trouble(void)
{
    struct bench bench;
    struct vrt_checkup *checkup;

    bench_init(&bench);
    checkup = bench.found.checkup;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_OK);
    checkup->kernel_result = VRT_CHECKUP_E_WRONG;
    checkup->kernel_max_error = 2.5;
    expect_contains(told(&bench, "device.kernel")->result, "wrong by up to 2.5");
    checkup->kernel_result = VRT_BACKEND_E_NOMEM;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_FAILED);
    expect_contains(told(&bench, "device.kernel")->cure, "stop other programs");
    bench.found.usage.used_bytes = (64 << 20) - 1;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_FAILED);
    bench.found.usage.used_bytes = 64 << 20;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_SKIPPED);
    bench.found.usage.used_bytes = INT64_C(5) << 30;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_SKIPPED);
    expect_contains(told(&bench, "device.kernel")->result, "of which vrtd holds 5120 MiB");
    checkup->kernel_result = VRT_CHECKUP_E_NOT_TRIED;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_SKIPPED);
    checkup->kernel_result = -EIO;
    expect_int(told(&bench, "device.kernel")->status, VRT_DOCTOR_FAILED);

    expect_str(told(&bench, "device.weights")->result,
               "3 in memory, 1.5 MiB: its checksums are right");
    checkup->weights_result = VRT_CHECKUP_E_WRONG;
    checkup->n_weights_wrong = 2;
    expect_contains(told(&bench, "device.weights")->result, "2 of 3 had changed");
    checkup->weights_result = VRT_BACKEND_E_FAILED;
    expect_contains(told(&bench, "device.weights")->result, "wrong checksum");
    checkup->weights_result = VRT_BACKEND_E_LOST;
    expect_int(told(&bench, "device.weights")->status, VRT_DOCTOR_FAILED);

    free(bench.reference);
    bench.reference = NULL;
    expect_int(told(&bench, "device.network")->status, VRT_DOCTOR_SKIPPED);
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
    { "states", test_states },
    { "silence", test_silence },
    { "memory", test_memory },
    { "trouble", test_trouble },
    { "tolerances", test_tolerances },
    { "model", test_model },
    { "profile", test_profile },
)
