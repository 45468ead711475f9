/* SPDX-License-Identifier: MIT */

/* Checkups: a device that is well is found to be, and one that isn't is found out. */

#include <errno.h>
#include <math.h>

#include "model/test-picture.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/test.h"
#include "tests/unit/workers/bench-device.h"
#include "workers/device/checkup.h"
#include "workers/device/device-executor.h"

struct bench {
    struct bench_executor base;
    struct vrt_checkup *checkup;
};

/* With a device that fails as `fault` says; NULL: it doesn't. */
static void bench_init(struct bench *bench, const char *device, const char *fault)
{
    bench_executor_init(&bench->base, device, 2, fault, builtin_network());
    vrt_device_executor_free(bench->base.executor);
    expect_int(vrt_device_executor_new(bench->base.device, &(struct vrt_device_executor_params){
        .watch = { bench_go_on, &bench->base },
    }, &bench->base.executor), 0);
    expect_int(vrt_checkup_new(bench->base.network, &bench->checkup), 0);
}

static void bench_done(struct bench *bench)
{
    vrt_checkup_free(bench->checkup);
    bench_executor_done(&bench->base);
}

static void test_well(void)
{
    static const char *const devices[] = { "cpu:0", "ref:0" };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(devices); k++) {
        struct bench bench;
        bench_init(&bench, devices[k], NULL);
        const size_t n = vrt_test_picture_n_out(bench.base.network);
        float *reference = calloc(n, sizeof(float));
        expect_int(vrt_checkup_refer(bench.base.network, false, reference), 0);
        expect_int(vrt_device_executor_checkup(bench.base.executor, bench.checkup), 0);
        expect_int(bench.checkup->kernel_result, 0);
        expect_int(bench.checkup->weights_result, 0);
        expect_int(bench.checkup->n_weights, (long long)bench.checkup->n_runs);
        expect_int(bench.checkup->n_weights_wrong, 0);
        expect_true(bench.checkup->weights_bytes > 0);
        expect_true(k == 0 ? bench.checkup->n_runs >= 1 : bench.checkup->n_runs == 1);
        for (size_t i = 0; i < bench.checkup->n_runs; i++) {
            const struct vrt_checkup_run *run = &bench.checkup->runs[i];
            const double db = vrt_test_picture_psnr(run->out, reference, n);
            expect_int(run->result, 0);
            expect_true(db > (run->dtype == VRT_DTYPE_F32 ? 100 : 40));
            /* They are two devices indeed, or one. */
            expect_int(db < VRT_TEST_PICTURE_EQUAL_DB, k == 0);
            expect_int(vrt_test_picture_max_error(run->out, reference, n) > 0, k == 0);
        }
        free(reference);
        bench_done(&bench);
    }
}

/* What fails doesn't keep the other parts from being tried, unless the device is lost or nobody
 * wants to know any more. */
static void test_unwell(void)
{
    static const struct {
        const char *device, *fault;
        int n_left, r, kernel, weights, run;
    } cases[] = {
        { "cpu:0", "submit:1- corrupt=garbage", -1, 0, VRT_CHECKUP_E_WRONG, 0, 0 },
        { "cpu:0", "submit:1- corrupt=nan", -1, 0, VRT_CHECKUP_E_WRONG, 0, 0 },
        { "cpu:0", "submit:1- corrupt=zeros", -1, 0, VRT_CHECKUP_E_WRONG, 0, 0 },
        { "cpu:0", "submit:1 fail; replica:2 nomem", -1, 0, VRT_BACKEND_E_FAILED,
          VRT_BACKEND_E_NOMEM, 0 },
        { "cpu:0", "write:1 fail", -1, 0, VRT_BACKEND_E_FAILED, 0, 0 },
        { "cpu:0", "finish:1 fail", -1, 0, VRT_BACKEND_E_FAILED, 0, 0 },
        { "cpu:0", "submit:2 lost", -1, VRT_BACKEND_E_LOST, 0, 0, VRT_BACKEND_E_LOST },
        { "cpu:0", NULL, 0, -ECANCELED, 0, VRT_CHECKUP_E_NOT_TRIED, VRT_CHECKUP_E_NOT_TRIED },
        /* Those that come with a wrong checksum twice are not taken; the first copy is the
         * kernel's. */
        { "ref:0", "copy:2-3 corrupt", -1, 0, 0, VRT_BACKEND_E_FAILED, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct bench bench;
        bench_init(&bench, cases[i].device, cases[i].fault);
        bench.base.n_left = cases[i].n_left;
        expect_int(vrt_device_executor_checkup(bench.base.executor, bench.checkup), cases[i].r);
        expect_int(bench.checkup->kernel_result, cases[i].kernel);
        expect_int(bench.checkup->kernel_max_error > 0, cases[i].kernel == VRT_CHECKUP_E_WRONG);
        expect_int(bench.checkup->weights_result, cases[i].weights);
        expect_int(bench.checkup->runs[0].result, cases[i].run);
        if (cases[i].r && bench.checkup->n_runs > 1)
            expect_int(bench.checkup->runs[1].result, VRT_CHECKUP_E_NOT_TRIED);
        bench_done(&bench);
    }
}

/* Weights that came well, and changed later: they are found, go, and come again. */
static void test_changed_weights(void)
{
    const struct vrt_frame_format in = bench_format(24, 16, 8), out = bench_format(48, 32, 8);
    struct vrt_device_executor_usage usage;
    struct bench bench;

    /* The first checksums are of their coming, the next ones of the checkup. */
    bench_init(&bench, "ref:0", "checksum:2 corrupt");
    /* A job's session that uses them goes, too. */
    expect_int(vrt_job_spec_new(bench.base.network, &in, &out, &bench.base.spec), 0);
    expect_int(vrt_device_executor_prepare(bench.base.executor, &(struct vrt_device_executor_order){
        .spec = bench.base.spec }), 0);
    expect_int(vrt_device_executor_checkup(bench.base.executor, bench.checkup), 0);
    expect_int(bench.checkup->weights_result, VRT_CHECKUP_E_WRONG);
    expect_int(bench.checkup->n_weights, 1);
    expect_int(bench.checkup->n_weights_wrong, 1);
    expect_int(bench.checkup->runs[0].result, 0);

    bench.checkup = vrt_checkup_free(bench.checkup);
    expect_int(vrt_checkup_new(bench.base.network, &bench.checkup), 0);
    expect_int(vrt_device_executor_checkup(bench.base.executor, bench.checkup), 0);
    expect_int(bench.checkup->weights_result, 0);
    vrt_device_executor_usage(bench.base.executor, &usage);
    expect_int(usage.n_replicas, 1);
    bench_done(&bench);
}

TEST_MAIN(
    { "well", test_well }, { "unwell", test_unwell }, { "changed-weights", test_changed_weights },
)
