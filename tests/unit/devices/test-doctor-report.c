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
    FILE *wanted;
};

/* A device that was examined, and is well. */
static void bench_init(struct bench *bench)
{
    struct vrt_checkup *checkup;

    *bench = (struct bench){ .model = "", .found = {
        .device = { .info = &info, .last_error = "it is hot" },
        .error = { .message = "it went away" },
        .usage = { .total_bytes = INT64_C(8) << 30, .free_bytes = INT64_C(6) << 30 },
    } };
    vrt_doctor_report_init(&bench->report);
    bench->network = builtin_network();
    bench->n = vrt_test_picture_n_out(bench->network);
    bench->reference = calloc(bench->n, sizeof(float));
    expect_int(vrt_checkup_new(bench->network, &checkup), 0);
    checkup->kernel_result = checkup->weights_result = 0;
    checkup->kernel_max_error = 2.5;
    checkup->n_weights = 3;
    checkup->n_weights_wrong = 2;
    checkup->weights_bytes = 3 << 19;
    checkup->n_runs = 1;
    checkup->runs[0] = (struct vrt_checkup_run){ .dtype = VRT_DTYPE_F32 };
    checkup->runs[0].out = calloc(bench->n, sizeof(float));
    bench->found.checkup = checkup;
    bench->wanted = fopen(DOCTOR_JSON, "re");
    expect_true(bench->wanted);
}

static void bench_done(struct bench *bench)
{
    vrt_doctor_report_done(&bench->report);
    vrt_checkup_free(bench->found.checkup);
    vrt_network_unref(bench->network);
    free(bench->reference);
    fclose(bench->wanted);
}

/* Tells, and compares all that is said with the next line of the file; or only the last of it. */
static void expect_told(struct bench *bench, bool all)
{
    const struct vrt_doctor_wanted wanted = { bench->reference, bench->model, 60 };
    struct vrt_buf text = { .limit_bytes = 1 << 16 };
    char line[4096];

    vrt_doctor_report_done(&bench->report);
    vrt_doctor_report_init(&bench->report);
    vrt_doctor_tell_device(&bench->found, &wanted, &bench->report);
    struct vrt_doctor_report said = bench->report;
    if (!all) {
        said.checks += said.n_checks - 1;
        said.n_checks = 1;
    }
    expect_int(vrt_fields_print(vrt_doctor_fields, &said, &text), 0);
    expect_true(fgets(line, sizeof(line), bench->wanted));
    line[strcspn(line, "\n")] = '\0';
    expect_str(text.data, line);
    vrt_buf_done(&text);
}

/* Of a device in each state, and whatever became of its examination. */
static void tell_states(struct bench *bench)
{
    static const int retries_s[] = { -1, 0, 7 };
    struct vrt_doctor_found *found = &bench->found;

    for (int outcome = VRT_DOCTOR_NOT_ASKED; outcome <= VRT_DOCTOR_UNANSWERED; outcome++)
        for (int state = 0; state < VRT_DEVICE_STATE_COUNT; state++)
            for (size_t i = 0; i < (outcome ? 1 : VRT_ARRAY_SIZE(retries_s)); i++) {
                found->outcome = (enum vrt_doctor_outcome)outcome;
                found->device.state = (enum vrt_device_state)state;
                found->device.retry_in_s = retries_s[i];
                expect_told(bench, true);
            }
    found->outcome = VRT_DOCTOR_ANSWERED;
    found->device.state = VRT_DEVICE_READY;
}

/* Of its memory, of which what vrtd itself holds is no reason to worry, and of what its kernel and
 * weights came to. */
static void tell_parts(struct bench *bench)
{
    static const int results[] = { VRT_CHECKUP_E_WRONG, VRT_CHECKUP_E_NOT_TRIED,
                                   VRT_BACKEND_E_NOMEM, VRT_BACKEND_E_FAILED, VRT_BACKEND_E_LOST,
                                   -ECANCELED, -EIO };
    static const int64_t memory[][3] = {        /* in all, free, held by vrtd */
        { -1, 0, 5 << 20 }, { INT64_C(8) << 30, -1, 0 }, { INT64_C(8) << 30, 255 << 20, 0 },
        { INT64_C(8) << 30, 256 << 20, 0 }, { INT64_C(8) << 30, 100 << 20, 156 << 20 },
        { INT64_C(8) << 30, INT64_C(6) << 30, (64 << 20) - 1 },
        { INT64_C(8) << 30, INT64_C(6) << 30, 64 << 20 },
    };
    struct vrt_checkup *checkup = bench->found.checkup;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(memory); i++) {
        bench->found.usage = (struct vrt_device_executor_usage){
            .total_bytes = memory[i][0], .free_bytes = memory[i][1], .used_bytes = memory[i][2],
        };
        checkup->kernel_result = checkup->runs[0].result = VRT_BACKEND_E_NOMEM;
        expect_told(bench, true);
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(results); i++) {
        checkup->kernel_result = checkup->weights_result = checkup->runs[0].result = results[i];
        expect_told(bench, true);
    }
    checkup->runs[0].result = 0;
}

/* Of its results, in every precision: with one pixel that is off by as much as is allowed, and by
 * more, and with all. What a short type loses of a model is no failure while there is a picture. */
static void tell_runs(struct bench *bench)
{
    static const enum vrt_dtype dtypes[] = { VRT_DTYPE_F32, VRT_DTYPE_F16, VRT_DTYPE_BF16 };
    static const struct vrt_device_info *const infos[] = { &info, &tf32_info };
    static const double off[][2] = {        /* one, all */
        { 0, 0 }, { 0.99e-4, 0 }, { 1.01e-4, 0 }, { 4.95e-3, 0 }, { 5.05e-3, 0 }, { 1.98e-2, 0 },
        { 2.02e-2, 0 }, { NAN, 0 }, { 0, 9e-5 }, { 0, 0.0009 }, { 0, 0.002 }, { 0, 0.004 },
        { 0, 0.02 }, { 0, 0.2 }, { 0, NAN },
    };
    struct vrt_checkup_run *run = &bench->found.checkup->runs[0];

    for (int k = 0; k < 2 * 2 * 3; k++)
        for (size_t i = 0; i < VRT_ARRAY_SIZE(off); i++) {
            run->dtype = dtypes[k / 4];
            bench->found.device.info = infos[k / 2 % 2];
            bench->model = k % 2 ? "x4" : "";
            for (size_t at = 0; at < bench->n; at++)
                run->out[at] = (float)(off[i][1] + (at == 7 ? off[i][0] : 0));
            expect_told(bench, false);
        }
    free(bench->reference);
    bench->reference = NULL;
    expect_told(bench, false);
}

static void test_told(void)
{
    struct bench bench;

    bench_init(&bench);
    tell_states(&bench);
    tell_parts(&bench);
    tell_runs(&bench);
    expect_true(!fgets((char[2]){ 0 }, 2, bench.wanted));
    bench_done(&bench);
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
    { "profile", test_profile },
)
