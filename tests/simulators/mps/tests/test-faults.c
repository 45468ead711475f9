/* SPDX-License-Identifier: MIT */
/* What fails on demand, and how. */

#include "tests/simulators/mps/tests/bench.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

static const char text[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    a[i] = 1.0f;\n"
    "}\n";

static struct bench bench;

static id new_buffer(id device)
{
    return SEND(id, (unsigned long, unsigned long), device, "newBufferWithLength:options:", 64,
                SHARED);
}

/* The second is refused, of device 1 only. */
static void run_out(void)
{
    bench_open(&bench);
    for (int i = 0; i < 3; i++) {
        expect_true(new_buffer(bench.devices[0]));
        expect_true((new_buffer(bench.devices[1]) == NULL) == (i == 1));
    }
}

static void fail_to_compile(void)
{
    const char *why;
    bench_open(&bench);
    expect_true(bench_try_library(bench.devices[0], text, 300, &why));
    expect_true(!bench_try_library(bench.devices[0], text, 300, &why));
    expect_contains(why, "VRT_MPS_FAULTS");
}

static id try_pipeline(id library, const char *kernel, id *ret_error)
{
    id function = SEND(id, (id), library, "newFunctionWithName:", bench_string(kernel));
    return SEND(id, (id, id *), bench.devices[0], "newComputePipelineStateWithFunction:error:",
                function, ret_error);
}

static void fail_to_make(void)
{
    id error = NULL;
    bench_open(&bench);
    id library = bench_library(bench.devices[0], text, 300);
    expect_true(!try_pipeline(library, "k", &error));
    expect_contains(bench_reason(error), "VRT_MPS_FAULTS");
    expect_true(try_pipeline(library, "k", &error));
    expect_true(!SEND(id, (id), library, "newFunctionWithName:", bench_string("none")));
}

/* What a device can't do. */
static void lack_matrices(void)
{
    id error = NULL;
    bench_open(&bench);
    id library = bench_library(bench.devices[0],
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "void store(device float *a) { simdgroup_float8x8 m(1.0f); simdgroup_store(m, a); }\n"
        "kernel void matrices(device float *a [[buffer(0)]]) { store(a); }\n"
        "kernel void plain(device float *a [[buffer(0)]]) { a[0] = 0; }\n"
        "kernel void large(device float *a [[buffer(0)]])\n"
        "{ threadgroup float t[8193]; t[0] = 1; a[0] = t[0]; }\n", 300);
    expect_true((try_pipeline(library, "matrices", &error) == NULL) ==
                (getenv("VRT_MPS_FAMILY") != NULL));
    if (getenv("VRT_MPS_FAMILY"))
        expect_contains(bench_reason(error), "simdgroup_matrix is not supported");
    expect_true(try_pipeline(library, "plain", &error));
    expect_true(!try_pipeline(library, "large", &error));
    expect_contains(bench_reason(error), "threadgroup memory exceeds");
}

static void test_making(void)
{
    bench_run(run_out, (const char *[]){ "VRT_MPS_DEVICES=2", "VRT_MPS_FAULTS=1 alloc:2 fail",
                                         NULL }, BENCH_WELL, NULL);
    bench_run(fail_to_compile, (const char *[]){ "VRT_MPS_FAULTS=library:2 fail", NULL },
              BENCH_WELL, NULL);
    bench_run(fail_to_make, (const char *[]){ "VRT_MPS_FAULTS=pipeline:1 fail", NULL }, BENCH_WELL,
              NULL);
    bench_run(lack_matrices, NULL, BENCH_WELL, NULL);
    bench_run(lack_matrices, (const char *[]){ "VRT_MPS_FAMILY=1005", NULL }, BENCH_WELL, NULL);
    bench_run(lack_matrices, (const char *[]){ "VRT_MPS_FAMILY=2002", NULL }, BENCH_WELL, NULL);
}

/* Sixteen numbers become 1. Return: how it ended. */
static long run_once(id device, id queue, id buffer, const char **ret_why)
{
    id commands = SEND0(id, queue, "commandBuffer"), pipeline = bench_pipeline(device, text, "k");
    memset(bench_contents(buffer), 0, 64);
    bench_encode(commands, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { buffer }, .n_buffers = 1, .groups = { 1, 1, 1 },
        .threads = { 16, 1, 1 } });
    bench_release(pipeline);
    return bench_finish(commands, ret_why);
}

/* The second of three command buffers fails, and of a device that is gone the third as well. */
static void fail_to_run(void)
{
    const int wanted = (int)strtol(getenv("WANTED"), NULL, 10);
    const bool is_gone = wanted == 4 || wanted == 11;
    const char *why;
    bench_open(&bench);
    id device = bench.devices[0], queue = SEND0(id, device, "newCommandQueue");
    id buffer = bench_buffer(device, 64, NULL);
    const float *got = bench_contents(buffer);
    expect_int(run_once(device, queue, buffer, &why), 0);
    expect_near(got[0], 1, 0);
    expect_int(run_once(device, queue, buffer, &why), wanted);
    expect_contains(why, getenv("SAYS"));
    expect_near(got[0], 0, 0);
    expect_int(run_once(device, queue, buffer, &why), is_gone ? wanted : 0);
    id other = SEND0(id, bench.devices[1], "newCommandQueue");
    expect_int(run_once(bench.devices[1], other, bench_buffer(bench.devices[1], 64, NULL), &why),
               0);
}

static void test_errors(void)
{
    static const struct {
        int code;
        const char *says;
    } errors[] = {
        { 1, "Internal" }, { 2, "kIOGPUCommandBufferCallbackErrorTimeout" }, { 3, "PageFault" },
        { 4, "SubmissionsIgnored" }, { 8, "Insufficient Memory" }, { 9, "Invalid Resource" },
        { 11, "Removed" },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(errors); i++) {
        char faults[64], wanted[32], says[64];
        snprintf(faults, sizeof(faults), "VRT_MPS_FAULTS=0 commit:2 error=%d", errors[i].code);
        snprintf(wanted, sizeof(wanted), "WANTED=%d", errors[i].code);
        snprintf(says, sizeof(says), "SAYS=%s", errors[i].says);
        bench_run(fail_to_run, (const char *[]){ "VRT_MPS_DEVICES=2", faults, wanted, says, NULL },
                  BENCH_WELL, NULL);
    }
}

/* What waits for an event of a command buffer that failed goes on. */
static void signal_after_failure(void)
{
    bench_open(&bench);
    id device = bench.devices[0], queue = SEND0(id, device, "newCommandQueue");
    id event = SEND0(id, device, "newSharedEvent"), commands = SEND0(id, queue, "commandBuffer");
    SEND(void, (id, uint64_t), commands, "encodeSignalEvent:value:", event, 1);
    expect_int(bench_finish(commands, NULL), 8);
    expect_true(SEND(bool, (uint64_t, uint64_t), event, "waitUntilSignaledValue:timeoutMS:", 1,
                     10000));
}

/* One command buffer never ends; another queue goes on, and the process ends in spite of it. */
static void hang(void)
{
    bench_open(&bench);
    id device = bench.devices[0], queue = SEND0(id, device, "newCommandQueue");
    id other = SEND0(id, device, "newCommandQueue"), commands = SEND0(id, queue, "commandBuffer");
    SEND0(void, commands, "commit");
    test_sleep_ms(50);
    expect_int(SEND0(unsigned long, commands, "status"), 3);
    expect_int(run_once(device, other, bench_buffer(device, 64, NULL), NULL), 0);
    expect_int(SEND0(unsigned long, commands, "status"), 3);
}

/* The same, where there is a time by which it has to be over. */
static void time_out(void)
{
    const char *why;
    bench_open(&bench);
    id device = bench.devices[0], queue = SEND0(id, device, "newCommandQueue");
    expect_int(run_once(device, queue, bench_buffer(device, 64, NULL), &why), 2);
    expect_contains(why, "GPU Timeout");
    id commands = SEND0(id, queue, "commandBuffer");
    id event = SEND0(id, device, "newEvent");
    SEND(void, (id, uint64_t), commands, "encodeWaitForEvent:value:", event, 1);
    expect_int(bench_finish(commands, &why), 2);
}

/* A kernel that takes longer than it may, of whose threadgroups not all run. */
static void run_long(void)
{
    static const char endless[] =
        "kernel void k(device uint *a [[buffer(0)]])\n"
        "{\n"
        "    uint value = a[0];\n"
        "    for (uint i = 0; i < 100000; i++)\n"
        "        value = value * 1664525u + 1013904223u;\n"
        "    a[0] = value;\n"
        "}\n";
    const char *why;
    bench_open(&bench);
    id device = bench.devices[0], buffer = bench_buffer(device, 64, NULL);
    expect_int(bench_try(device, &(struct bench_dispatch){
        .pipeline = bench_pipeline(device, endless, "k"), .buffers = { buffer }, .n_buffers = 1,
        .groups = { 1000000, 1000, 1 }, .threads = { 1, 1, 1 } }, &why), 2);
    expect_contains(why, "VRT_MPS_TIMEOUT_MS");
}

static void test_hang(void)
{
    bench_run(signal_after_failure, (const char *[]){ "VRT_MPS_FAULTS=commit:1 error=8", NULL },
              BENCH_WELL, NULL);
    bench_run(hang, (const char *[]){ "VRT_MPS_FAULTS=commit:1 hang", NULL }, BENCH_WELL, NULL);
    bench_run(time_out, (const char *[]){ "VRT_MPS_FAULTS=commit:1 hang",
                                          "VRT_MPS_TIMEOUT_MS=300", NULL }, BENCH_WELL, NULL);
    bench_run(run_long, (const char *[]){ "VRT_MPS_TIMEOUT_MS=100", NULL }, BENCH_WELL,
              "takes longer");
}

/* Of three dispatches and three copies each the second one is wrong by a bit. */
static void flip(void)
{
    bench_open(&bench);
    id device = bench.devices[0], queue = SEND0(id, device, "newCommandQueue");
    id buffer = bench_buffer(device, 64, NULL), copy = bench_buffer(device, 64, NULL);
    const float *got = bench_contents(buffer);
    for (int i = 0; i < 3; i++) {
        expect_int(run_once(device, queue, buffer, NULL), 0);
        expect_true((got[0] == 1) == (i != 1));
        expect_near(got[1], 1, 0);
        id commands = SEND0(id, queue, "commandBuffer");
        bench_copy(commands, buffer, 0, copy, 0, 64);
        expect_int(bench_finish(commands, NULL), 0);
        expect_true((memcmp(got, bench_contents(copy), 64) == 0) == (i != 1));
    }
}

static void test_flip(void)
{
    bench_run(flip, (const char *[]){ "VRT_MPS_FAULTS=run:2 flip; copy:2 flip", NULL }, BENCH_WELL,
              NULL);
}

TEST_MAIN(
    { "making", test_making },
    { "errors", test_errors },
    { "hang", test_hang },
    { "flip", test_flip },
)
