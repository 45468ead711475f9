/* SPDX-License-Identifier: MIT */
/* daemon/devices/trimming, doctor, profile: who is asked, who isn't, and who doesn't come to it in
 * time. */

#include "tests/unit/test.h"

#include <errno.h>
#include <unistd.h>

#include "backend/kind.h"
#include "daemon/devices/doctor-report.h"
#include "daemon/devices/doctor.h"
#include "daemon/devices/pool-job.h"
#include "daemon/devices/profile.h"
#include "daemon/devices/trimming.h"
#include "tests/unit/environment.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/pipeline/flow-fixture.h"

struct bench {
    struct flow flow;
    struct vrt_trimmed devices[2];
    struct vrt_doctor_report report;
    struct vrt_doctor *doctor;
    int n_told;
    bool ends_hang;                 /* who is told has the device that hangs go on */
    bool is_opened;                 /* the device that hung */
};

static void note_told(void *ctx)
{
    struct bench *bench = ctx;

    bench->n_told++;
    if (bench->ends_hang)
        expect_int(unlink(fixture_path("hang")), 0);
}

static void on_done(void *ctx, const struct vrt_trimmed *devices, size_t n_devices)
{
    struct bench *bench = ctx;

    expect_int(n_devices, VRT_ARRAY_SIZE(bench->devices));
    memcpy(bench->devices, devices, sizeof(bench->devices));
    note_told(bench);
}

static void begin(struct bench *bench, const char *device, double patience_s)
{
    struct vrt_error error = { .id = NULL };

    bench->n_told = 0;
    expect_int(vrt_trimming_begin(bench->flow.pool, &(struct vrt_trimming_params){
        .device = device,
        .trim = true,
        .reset_peak = true,
        .patience_s = patience_s,
        .done = on_done,
        .ctx = bench,
    }, &error), 0);
    expect_int(bench->n_told, 0);
}

static void wait_for_answer(struct bench *bench)
{
    while (!bench->n_told)
        uv_run(&bench->flow.loop, UV_RUN_ONCE);
    expect_int(bench->n_told, 1);
}

static void ask(struct bench *bench, const char *device, double patience_s)
{
    begin(bench, device, patience_s);
    wait_for_answer(bench);
}

/* Two devices, of which cpu:1 hangs the second time that it is tried out, while there is the file
 * "hang". */
static void bench_init(struct bench *bench)
{
    static char fault[300];

    *bench = (struct bench){ .n_told = 0 };
    vrt_doctor_report_init(&bench->report);
    snprintf(fault, sizeof(fault), "cpu:1 write:2 hang=%s", fixture_write("hang", "", 0));
    flow_init(&bench->flow, fixture_path(""), (struct vrt_pool_params){
        .registry = { .values = TEST_CPUS(2, 1), .leave_out = 1u << VRT_DEVICE_REFERENCE,
                      .fault = fault },
        .silence_s = 0.001,
    });
}

static void wait_until_ready(struct bench *bench)
{
    while (vrt_pool_devices(bench->flow.pool).ready != 3)
        uv_run(&bench->flow.loop, UV_RUN_ONCE);
}

static void on_opened(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct bench *bench = ctx;

    (void)task;
    expect_int(d, 1);
    bench->is_opened = true;
}

/* Has cpu:1 hang, as at a long shard: until it does, what is asked of it may still overtake. */
static void hang(struct bench *bench)
{
    expect_int(vrt_pool_submit(bench->flow.pool, 1, vrt_worker_open_new(), on_opened, bench), 0);
    while (!(vrt_pool_silent_devices(bench->flow.pool) & 2))
        uv_run(&bench->flow.loop, UV_RUN_ONCE);
}

static void test_ready(void)
{
    static const struct {
        const char *device;
        bool is_meant[2];
    } cases[] = {
        { "", { true, true } }, { "cpu:1", { false, true } }, { "cpu", { true, true } },
        { "cpu:1,cpu:0", { true, true } },
    };
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        ask(&bench, cases[i].device, 100);
        for (int d = 0; d < 2; d++) {
            const struct vrt_trimmed *device = &bench.devices[d];
            expect_int(device->is_meant, cases[i].is_meant[d]);
            expect_int(device->is_done, cases[i].is_meant[d]);
            expect_int(device->freed_bytes, cases[i].is_meant[d] ? 0 : -1);
            expect_int(device->peak_bytes, cases[i].is_meant[d] ? 0 : -1);
            expect_str(device->message, "");
        }
    }
    struct vrt_error error = { .id = NULL };
    const struct vrt_trimming_params absent = { .device = "cpu:7", .trim = true };
    expect_int(vrt_trimming_begin(bench.flow.pool, &absent, &error), -ENODEV);
    expect_contains(error.message, "there is no device cpu:7");
    expect_str(error.field, "device");
    flow_done(&bench.flow);
}

/* One that is being opened, or in quarantine, isn't asked, and says why. */
static void test_not_ready(void)
{
    struct bench bench;

    bench_init(&bench);
    ask(&bench, "", 100);
    for (int d = 0; d < 2; d++) {
        expect_true(!bench.devices[d].is_done);
        expect_str(bench.devices[d].message, "it is being opened: ask again in a moment");
    }
    wait_until_ready(&bench);
    vrt_pool_blame(bench.flow.pool, 1, "it lies");
    ask(&bench, "", 100);
    expect_true(bench.devices[0].is_done && !bench.devices[1].is_done);
    expect_str(bench.devices[1].message, "it is in quarantine: ask again when vrtctl devices says "
                                         "that it is ready (it lies)");
    flow_done(&bench.flow);
}

/* One that is at something else for longer does it after that; nobody waits so long. */
static void test_late(void)
{
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    hang(&bench);
    ask(&bench, "", 0.01);
    expect_true(!bench.is_opened);
    expect_true(bench.devices[0].is_done && !bench.devices[1].is_done);
    expect_str(bench.devices[1].message, "it is at a job's work, and does it when that is done");
    expect_int(unlink(fixture_path("hang")), 0);
    while (!bench.is_opened)
        uv_run(&bench.flow.loop, UV_RUN_ONCE);
    ask(&bench, "", 100);
    expect_true(bench.devices[0].is_done && bench.devices[1].is_done);
    flow_done(&bench.flow);
}

/* The pool stops while a device has its task: whoever waits is told. */
static void test_stopped(void)
{
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    hang(&bench);
    begin(&bench, "cpu:1", 100);
    flow_run_for(&bench.flow, 20);
    expect_int(bench.n_told, 0);
    bench.ends_hang = true;
    flow_done(&bench.flow);
    expect_int(bench.n_told, 1);
    expect_str(bench.devices[1].message, "it is at a job's work, and does it when that is done");
}

/* Return: as vrt_doctor_new(). The report may have checks already. */
static int examine(struct bench *bench, const char *device, int patience_s,
                   struct vrt_error *ret_error)
{
    bench->n_told = 0;
    *ret_error = (struct vrt_error){ .id = NULL };
    return vrt_doctor_new(bench->flow.pool, &(struct vrt_doctor_params){
        .device = device,
        .network = bench->flow.network,
        .model = "",
        .patience_s = patience_s,
        .report = &bench->report,
        .done = note_told,
        .ctx = bench,
    }, &bench->doctor, ret_error);
}

/* What is said of that, which must be this; NULL: nothing. */
static void expect_check(const struct bench *bench, const char *id, const char *subject,
                         enum vrt_doctor_status status, const char *says)
{
    const struct vrt_doctor_check *check = NULL;

    for (size_t i = 0; i < bench->report.n_checks; i++)
        if (strcmp(bench->report.checks[i].id, id) == 0 &&
            strcmp(bench->report.checks[i].subject, subject) == 0)
            check = &bench->report.checks[i];
    expect_int(check != NULL, says != NULL);
    if (!check)
        return;
    expect_int(check->status, status);
    expect_contains(check->result[0] && check->cure[0] ? check->cure : check->result, says);
}

static void forget_report(struct bench *bench)
{
    vrt_doctor_report_done(&bench->report);
    vrt_doctor_report_init(&bench->report);
}

static void test_examined(void)
{
    static const struct {
        const char *device;
        bool is_meant[2];
    } cases[] = {
        { "", { true, true } }, { "auto", { true, true } }, { "cpu", { true, true } },
        { "cpu:1", { false, true } },
    };
    struct vrt_error error;
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    expect_int(unlink(fixture_path("hang")), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        expect_int(examine(&bench, cases[i].device, 100, &error), 0);
        wait_for_answer(&bench);
        for (int d = 0; d < 2; d++) {
            const char *name = d ? "cpu:1" : "cpu:0";
            const bool is_meant = cases[i].is_meant[d];
            expect_check(&bench, "device.state", name, VRT_DOCTOR_OK, is_meant ? "ready" : NULL);
            expect_check(&bench, "device.kernel", name, VRT_DOCTOR_OK, is_meant ? "exact" : NULL);
            expect_check(&bench, "device.network", name, VRT_DOCTOR_SKIPPED,
                         is_meant ? "the reference device failed" : NULL);
        }
        forget_report(&bench);
    }
    /* Of a kind that there is none of; what was said of it before, with a cure, is pointed at. */
    vrt_doctor_report_add(&bench.report, &(struct vrt_doctor_line){
        .id = "backend.library", .subject = "cuda" }, "there");
    for (int i = 0; i < 2; i++) {
        expect_int(examine(&bench, "cuda", 100, &error), 0);
        wait_for_answer(&bench);
        expect_int(bench.report.n_checks, 2);
        expect_check(&bench, "device.state", "cuda", VRT_DOCTOR_FAILED,
                     i ? "see what is said of it above" : "vrtctl devices lists");
        forget_report(&bench);
        vrt_doctor_report_add(&bench.report, &(struct vrt_doctor_line){
            .id = "backend.library", .subject = "cuda", .cure = "install it" }, "none");
    }
    expect_int(examine(&bench, "moon", 100, &error), -ENODEV);
    expect_str(error.field, "device");
    expect_contains(error.message, "no device moon");
    vrt_doctor_report_done(&bench.report);
    flow_done(&bench.flow);
}

/* One that doesn't come to it: in time, before its client goes away, before the pool stops. */
static void test_not_examined(void)
{
    static const struct {
        int patience_s;
        bool cancels, stops;
    } cases[] = { { 0, false, false }, { 100, true, false }, { 100, false, true } };
    struct vrt_error error;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct bench bench;
        bench_init(&bench);
        wait_until_ready(&bench);
        hang(&bench);
        expect_int(examine(&bench, "cpu:1", cases[i].patience_s, &error), 0);
        if (cases[i].cancels)
            vrt_doctor_cancel(bench.doctor);
        bench.ends_hang = true;
        if (!cases[i].stops)
            wait_for_answer(&bench);
        flow_done(&bench.flow);
        expect_int(bench.n_told, 1);
        expect_check(&bench, "device.state", "cpu:1", VRT_DOCTOR_OK, "ready");
        expect_check(&bench, "device.kernel", "cpu:1", VRT_DOCTOR_FAILED, "gives up a device");
        vrt_doctor_report_done(&bench.report);
    }
}

static bool has_any(const char *kind)
{
    (void)kind;
    return true;
}

static bool has_none(const char *kind)
{
    (void)kind;
    return false;
}

/* What keeps a kind of devices from being there is a warning where it is missed: by who asks for
 * that kind, or as the machine has such a card. */
static void test_backends(void)
{
    struct bench bench;
    char why[256];

    bench_init(&bench);
    const struct vrt_findings *findings = vrt_pool_findings(bench.flow.pool);
    size_t n_absent = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct vrt_finding *finding = &findings->list[i];
        n_absent += finding->kind != VRT_FINDING_THERE;
        for (int k = 0; k < 4; k++) {
            vrt_doctor_tell_backends(bench.flow.pool, k & 1 ? finding->backend : NULL,
                                     k & 2 ? has_any : has_none, &bench.report);
            for (size_t c = 0; c < bench.report.n_checks && k & 1; c++)
                expect_str(bench.report.checks[c].subject, finding->backend);
            char id[VRT_API_WORD_BYTES];
            snprintf(id, sizeof(id), "backend.%s", finding->what);
            if (finding->kind == VRT_FINDING_THERE)
                expect_check(&bench, id, finding->backend, VRT_DOCTOR_OK, finding->text);
            else if (finding->kind == VRT_FINDING_ABSENT && k > 0)
                expect_check(&bench, id, finding->backend, VRT_DOCTOR_WARNING, finding->cure);
            else if (finding->kind == VRT_FINDING_ABSENT)
                expect_check(&bench, id, finding->backend, VRT_DOCTOR_NOTE, finding->text);
            forget_report(&bench);
        }
    }
    vrt_doctor_explain(bench.flow.pool, has_none, why, sizeof(why));
    expect_str(why, "");
    vrt_doctor_explain(bench.flow.pool, has_any, why, sizeof(why));
    expect_int(why[0] != '\0', n_absent > 0);
    wait_until_ready(&bench);
    flow_done(&bench.flow);
}

/* What becomes of a profile of frames of 200 x 100, at the end or where it is begun. */
struct profiled {
    const char *fault, *device, *says;  /* says: in its error, or its only warning; NULL: neither */
    const char *used;               /* the device; NULL: there is no report */
    int result, tile, batch, frames;
    int64_t n_frames, n_tiles;      /* of the report */
    bool is_cancelled, is_stopped;
    int n_told;
};

static void on_profiled(void *ctx, const struct vrt_profile_report *report,
                        const struct vrt_error *error)
{
    struct profiled *row = ctx;

    row->n_told++;
    expect_int(report != NULL, row->used != NULL);
    if (!report) {
        expect_contains(error->message, row->says);
        return;
    }
    expect_true(!error);
    expect_str(report->device, row->used);
    expect_str(report->model.name, "m");
    expect_int(report->precision, VRT_PRECISION_F32);
    expect_int(report->output_height, 200);
    expect_int(report->tiles, row->n_tiles);
    expect_int(report->batch, VRT_MAX(row->batch, 1));
    expect_int(report->frames, row->n_frames);
    expect_true(report->compute_s > 0 && report->gflop_per_s > 0);
    expect_true(report->workspace_bytes > 0 && report->allowed_bytes > report->peak_bytes);
    expect_str(report->ops[0].kind, "conv2d");
    expect_int(report->ops[0].count, 10 * row->n_tiles);
    expect_int(report->n_warnings, row->says != NULL);
    if (row->says)
        expect_contains(report->warnings[0], row->says);
}

static void profile(struct flow *flow, struct profiled *row)
{
    const uid_t uid = 7;
    const size_t d = row->used && strcmp(row->used, "cpu:1") == 0;
    const uint64_t checksum = vrt_network_checksum(flow->network);
    struct vrt_measurements *measurements = vrt_pool_measurements(flow->pool);
    struct vrt_error error = { .id = NULL };
    struct vrt_measured_cut cut = { .tile = -1 };
    struct vrt_job_settings settings;
    struct vrt_device_snapshot device;
    struct vrt_profile *profile;

    vrt_job_settings_init(&settings);
    settings.precision = VRT_PRECISION_F32;
    settings.tile = row->tile ? row->tile : VRT_UNKNOWN;
    expect_int(vrt_profile_new(flow->pool, &(struct vrt_profile_params){
        .network = flow->network, .model_name = "m", .devices = row->device,
        .settings = &settings, .width = 200, .height = 100, .batch = row->batch,
        .frames = row->frames, .keeps_for = row->batch ? &uid : NULL, .done = on_profiled,
        .ctx = row,
    }, &profile, &error), row->result);
    expect_int(row->n_told, 0);
    if (row->result < 0)
        expect_contains(error.message, row->says);
    if (row->is_cancelled)
        vrt_profile_cancel(profile);
    if (row->result || row->is_stopped)
        return;
    while (!row->n_told)
        uv_run(&flow->loop, UV_RUN_ONCE);
    const bool is_kept = row->used && row->batch;
    expect_int(vrt_measurements_cut(measurements, checksum, d, uid, 200, 100, &cut), is_kept);
    expect_int(cut.tile, is_kept ? row->tile : -1);
    if (row->used && !row->says)
        expect_true(vrt_measurements_speed(measurements, checksum, d)[VRT_DTYPE_F32] > 0);
    /* The device forgets the work. */
    do {
        uv_run(&flow->loop, UV_RUN_ONCE);
        vrt_pool_device(flow->pool, d, &device);
    } while (device.workspace_bytes > 0);
}

/* As a job on such frames would be done; what fails is tried once more. */
static void test_profiled(void)
{
    struct profiled rows[] = {
        { NULL, "cpu", NULL, "cpu:0", 0, 0, 0, 2, 2, 1 },
        { NULL, "cpu:1", NULL, "cpu:1", 0, 64, 3, 4, 6, 10 },
        { "cpu:0 submit:4 fail", "cpu:0", NULL, "cpu:0", 0, 0, 0, 1, 1, 1 },
        { "cpu submit:4-5 fail", "cpu", "the device failed", NULL, 0, 0, 1, 1 },
        { "cpu submit:4-5 corrupt=nan", "cpu", "wrong: 240000 values of the result are not finite",
          "cpu:0", 0, 0, 0, 1, 1, 1 },
        { "cpu:0 open:1- fail", "auto", NULL, "cpu:1", 0, 0, 0, 1, 1, 1 },
        { "cpu:0 open:1- fail", "cpu:0", "cpu:0 doesn't work: the device failed" },
        { NULL, "cpu", "the profile was cancelled", .batch = 1, .is_cancelled = true },
        { NULL, "cpu", "the daemon was stopped before the profile's end", .is_stopped = true },
        { NULL, "cpu:7", "there is no device cpu:7", .result = -ENODEV },
        { NULL, "cpu", "tile", .result = -EINVAL, .tile = 7 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct flow flow;
        flow_init(&flow, fixture_path(""), (struct vrt_pool_params){
            .registry = { .values = TEST_CPUS(2, 1), .leave_out = 1u << VRT_DEVICE_REFERENCE,
                          .fault = rows[i].fault },
            .has_gpu = has_none, .retry_s = 0.005,
        });
        /* One begins while its device is being opened. */
        while (strcmp(rows[i].device, "cpu:1") != 0 && vrt_pool_devices(flow.pool).starting)
            uv_run(&flow.loop, UV_RUN_ONCE);
        profile(&flow, &rows[i]);
        flow_done(&flow);
        expect_int(rows[i].n_told, !rows[i].result);
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "ready", test_ready },
    { "not ready", test_not_ready },
    { "late", test_late },
    { "stopped", test_stopped },
    { "examined", test_examined },
    { "not examined", test_not_examined },
    { "backends", test_backends },
    { "profiled", test_profiled },
)
