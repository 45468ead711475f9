/* SPDX-License-Identifier: MIT */
/* What works: devices, memory, kernels, queues beside each other, archives. */

#include "tests/simulators/mps/tests/bench.h"

#include <unistd.h>

#include "base/macro.h"
#include "tests/simulators/mps/tests/kernels.h"

static void list_devices(void)
{
    struct bench bench;
    bench_open(&bench);
    expect_int(bench.n_devices, strtol(getenv("VRT_MPS_DEVICES"), NULL, 10));
    id first = api.default_device();
    expect_true((first == NULL) == (bench.n_devices == 0));
    for (unsigned i = 0; i < bench.n_devices; i++) {
        id device = bench.devices[i];
        expect_contains(bench_text(SEND0(id, device, "name")), "Simulated");
        expect_int(SEND0(uint64_t, device, "registryID"),
                   SEND0(uint64_t, first, "registryID") + i);
        expect_int(SEND0(uint64_t, device, "recommendedMaxWorkingSetSize"), 64 << 20);
        expect_int(SEND0(unsigned long, device, "maxThreadgroupMemoryLength"), 32768);
    }
    bench_release(first);
    bench_close(&bench);
}

static void test_devices(void)
{
    for (const char *const *n = (const char *const[]){ "0", "1", "2", "8", NULL }; *n; n++) {
        char setting[32];
        snprintf(setting, sizeof(setting), "VRT_MPS_DEVICES=%s", *n);
        bench_run(list_devices, (const char *[]){ setting, "VRT_MPS_MEMORY_MB=64",
                                                  "VRT_MPS_REPORT=1", NULL }, BENCH_WELL, NULL);
    }
}

/* What the runtime answers by itself: nil takes any message, and a class is asked for by name. */
static void send_messages(void)
{
    struct bench bench;
    bench_open(&bench);
    id device = bench.devices[0];
    expect_true(SEND(bool, (sel), device, "respondsToSelector:", api.selector("registryID")));
    expect_true(!SEND(bool, (sel), device, "respondsToSelector:", api.selector("fly")));
    expect_true(!SEND0(id, NULL, "name"));
    expect_near(SEND0(double, NULL, "GPUStartTime"), 0, 0);
    expect_true(SEND0(id, device, "retain") == device);
    bench_release(device);
    expect_true(api.get_class("NSString") == api.get_class("NSString"));
    expect_true(!api.get_class("NSUnicorn") && !api.get_class("MTLBuffer"));
    expect_true(api.selector("name") == api.selector("name"));
    expect_str(bench_text(bench_string("a string")), "a string");
    bench_close(&bench);
}

static void test_messages(void)
{
    bench_run(send_messages, (const char *[]){ "VRT_MPS_REPORT=1", NULL }, BENCH_WELL, NULL);
}

/* What a device says of itself, in the order of `families`. */
static void expect_families(const char *wanted)
{
    static const long families[] = { 1001, 1005, 1007, 1008, 2002, 3003, 5001, 4242 };
    char got[VRT_ARRAY_SIZE(families) + 1] = "";
    struct bench bench;

    bench_open(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(families); i++)
        got[i] = SEND(bool, (long), bench.devices[0], "supportsFamily:", families[i]) ? '1' : '0';
    expect_str(got, wanted);
    bench_close(&bench);
}

static void be_apple(void) { expect_families("11101110"); }
static void be_old(void) { expect_families("11000100"); }
static void be_mac(void) { expect_families("00001110"); }

static void test_families(void)
{
    bench_run(be_apple, NULL, BENCH_WELL, NULL);
    bench_run(be_old, (const char *[]){ "VRT_MPS_FAMILY=1005", NULL }, BENCH_WELL, NULL);
    bench_run(be_mac, (const char *[]){ "VRT_MPS_FAMILY=2002", NULL }, BENCH_WELL, NULL);
}

/* Memory: what is in use is counted, what the host doesn't see has no address. */
static void allocate(void)
{
    struct bench bench;
    bench_open(&bench);
    id device = bench.devices[0];
    const bool is_unified = SEND0(bool, device, "hasUnifiedMemory");
    expect_int(is_unified, getenv("VRT_MPS_UNIFIED") == NULL);
    id shared = bench_buffer(device, 1000, NULL);
    id private = SEND(id, (unsigned long, unsigned long), device, "newBufferWithLength:options:",
                      24, PRIVATE);
    expect_true(!bench_contents(private));
    expect_int(SEND0(unsigned long, shared, "length"), 1000);
    expect_int(SEND0(unsigned long, device, "currentAllocatedSize"), 1024);
    expect_true(isnan(*(float *)bench_contents(shared)));
    expect_true(!SEND(id, (unsigned long, unsigned long), device, "newBufferWithLength:options:",
                      63ul << 20, SHARED));
    bench_release(shared);
    bench_release(private);
    expect_int(SEND0(unsigned long, device, "currentAllocatedSize"), 0);
    bench_close(&bench);
}

static void test_memory(void)
{
    bench_run(allocate, (const char *[]){ "VRT_MPS_MEMORY_MB=64", "VRT_MPS_REPORT=1", NULL },
              BENCH_WELL, NULL);
    bench_run(allocate, (const char *[]){ "VRT_MPS_MEMORY_MB=64", "VRT_MPS_UNIFIED=0",
                                          "VRT_MPS_REPORT=1", NULL }, BENCH_WELL, NULL);
}

static void run_kernels(void)
{
    struct bench bench;
    bench_open(&bench);
    for (unsigned i = 0; i < bench.n_devices; i++)
        kernels_check(bench.devices[i], 0);
    bench_close(&bench);
}

static void test_kernels(void)
{
    for (const char *const *order = (const char *const[]){ "forward", "reverse", "random:7", NULL };
         *order; order++) {
        char setting[32];
        snprintf(setting, sizeof(setting), "VRT_MPS_ORDER=%s", *order);
        bench_run(run_kernels, (const char *[]){ setting, "VRT_MPS_DEVICES=2", "VRT_MPS_REPORT=1",
                                                 NULL }, BENCH_WELL, NULL);
    }
}

/* A kernel that takes long in one queue, and copies in another: neither waits, but for events. */
struct race {
    id device, event, work, copies;
    id from, to;                        /* private */
};

static void race_begin(struct race *race, id device)
{
    *race = (struct race){
        .device = device,
        .event = SEND0(id, device, "newEvent"),
        .work = SEND0(id, device, "newCommandQueue"),
        .copies = SEND0(id, device, "newCommandQueue"),
        .from = bench_buffer(device, 64, NULL),
        .to = bench_buffer(device, 64, NULL),
    };
}

static void race_end(const struct race *race)
{
    bench_release(race->event);
    bench_release(race->work);
    bench_release(race->copies);
    bench_release(race->from);
    bench_release(race->to);
}

/* The copy is committed before what it waits for, which another queue does. */
static void order_by_event(void)
{
    struct bench bench;
    struct race race;
    const uint32_t n = 20000000;
    uint32_t value = 5;
    bench_open(&bench);
    race_begin(&race, bench.devices[0]);
    *(uint32_t *)bench_contents(race.from) = value;
    id pipeline = bench_pipeline(race.device, kernels_text(0), "step_on");
    id copy = SEND0(id, race.copies, "commandBuffer"), work = SEND0(id, race.work, "commandBuffer");
    SEND(void, (id, uint64_t), copy, "encodeWaitForEvent:value:", race.event, 3);
    bench_copy(copy, race.from, 0, race.to, 32, 4);
    SEND0(void, copy, "commit");
    bench_encode(work, &(struct bench_dispatch){ .pipeline = pipeline, .buffers = { race.from },
                                                 .n_buffers = 1, .bytes = &n, .n_bytes = 4,
                                                 .groups = { 1, 1, 1 }, .threads = { 1, 1, 1 } });
    SEND(void, (id, uint64_t), work, "encodeSignalEvent:value:", race.event, 3);
    expect_int(bench_finish(work, NULL), 0);
    SEND0(void, copy, "waitUntilCompleted");
    for (uint32_t i = 0; i < n; i++)
        value = value * 1664525u + 1013904223u;
    expect_int(((uint32_t *)bench_contents(race.to))[8], value);
    expect_true(SEND0(double, work, "GPUEndTime") > SEND0(double, work, "GPUStartTime"));
    expect_true(SEND0(double, copy, "GPUEndTime") >= SEND0(double, work, "GPUStartTime"));
    bench_release(pipeline);
    race_end(&race);
    bench_close(&bench);
}

/* What waits for the host in one queue holds up nothing in another. */
static void run_beside(void)
{
    struct bench bench;
    struct race race;
    bench_open(&bench);
    race_begin(&race, bench.devices[0]);
    id gate = SEND0(id, race.device, "newSharedEvent");
    id first = SEND0(id, race.work, "commandBuffer");
    id second = SEND0(id, race.work, "commandBuffer");
    id other = SEND0(id, race.copies, "commandBuffer");
    SEND(void, (id, uint64_t), first, "encodeWaitForEvent:value:", gate, 1);
    SEND(void, (id, uint64_t), second, "encodeSignalEvent:value:", gate, 9);
    SEND0(void, first, "commit");
    SEND0(void, second, "commit");
    bench_copy(other, race.from, 0, race.to, 0, 64);
    expect_int(bench_finish(other, NULL), 0);
    expect_int(SEND(bool, (uint64_t, uint64_t), gate, "waitUntilSignaledValue:timeoutMS:", 9, 20),
               false);
    expect_true(SEND0(unsigned long, second, "status") < 4);
    SEND(void, (uint64_t), gate, "setSignaledValue:", 1);
    expect_int(SEND(bool, (uint64_t, uint64_t), gate, "waitUntilSignaledValue:timeoutMS:", 9,
                    UINT64_MAX), true);
    SEND0(void, second, "waitUntilCompleted");
    expect_int(SEND0(uint64_t, gate, "signaledValue"), 9);
    bench_release(gate);
    race_end(&race);
    bench_close(&bench);
}

static int n_completed;

static void on_completed(void *block, id command_buffer)
{
    (void)block;
    expect_int(SEND0(unsigned long, command_buffer, "status"), 4);
    __atomic_fetch_add(&n_completed, 1, __ATOMIC_SEQ_CST);
}

/* Handlers have run when the wait is over; of 200 command buffers never more than 64 are open. */
static void complete_many(void)
{
    struct {
        void *isa;
        int flags, reserved;
        void (*invoke)(void *block, id command_buffer);
        const void *descriptor;
    } block = { .flags = 1 << 28, .invoke = on_completed };
    struct bench bench;
    bench_open(&bench);
    block.isa = api.global_block;
    id queue = SEND0(id, bench.devices[0], "newCommandQueue");
    for (int i = 0; i < 200; i++) {
        void *pool = api.push();
        id command_buffer = SEND0(id, queue, "commandBuffer");
        SEND(void, (void *), command_buffer, "addCompletedHandler:", &block);
        SEND0(void, command_buffer, "commit");
        if (i == 199) {
            SEND0(void, command_buffer, "waitUntilCompleted");
            expect_int(n_completed, 200);
        }
        api.pop(pool);
    }
    bench_release(queue);
    bench_close(&bench);
}

static void test_queues(void)
{
    const char *const report[] = { "VRT_MPS_REPORT=1", NULL };
    bench_run(order_by_event, report, BENCH_WELL, NULL);
    bench_run(run_beside, report, BENCH_WELL, NULL);
    bench_run(complete_many, report, BENCH_WELL, NULL);
}

/* A pipeline by a descriptor, from the archive in the file `path` if `path`. */
static id archived_pipeline(id device, id library, id archive, unsigned long options)
{
    id descriptor = SEND0(id, SEND0(id, api.get_class("MTLComputePipelineDescriptor"), "alloc"),
                          "init");
    id function = SEND(id, (id), library, "newFunctionWithName:", bench_string("axpy"));
    id array = SEND(id, (const id *, unsigned long), api.get_class("NSArray"),
                    "arrayWithObjects:count:", &archive, 1);
    SEND(void, (id), descriptor, "setComputeFunction:", function);
    SEND(void, (id), descriptor, "setBinaryArchives:", array);
    id pipeline = SEND(id, (id, unsigned long, void *, id *), device,
                       "newComputePipelineStateWithDescriptor:options:reflection:error:",
                       descriptor, options, NULL, NULL);
    if (!pipeline)
        expect_true(SEND(bool, (id, id *), archive,
                         "addComputePipelineFunctionsWithDescriptor:error:", descriptor, NULL));
    bench_release(function);
    bench_release(descriptor);
    return pipeline;
}

static id open_archive(id device, const char *path, id *ret_error)
{
    id descriptor = SEND0(id, SEND0(id, api.get_class("MTLBinaryArchiveDescriptor"), "alloc"),
                          "init");
    if (path) {
        id url = SEND(id, (id), api.get_class("NSURL"), "fileURLWithPath:", bench_string(path));
        SEND(void, (id), descriptor, "setUrl:", url);
    }
    id archive = SEND(id, (id, id *), device, "newBinaryArchiveWithDescriptor:error:", descriptor,
                      ret_error);
    bench_release(descriptor);
    return archive;
}

static char archive_path[] = "/tmp/test-mps-sim.XXXXXX";

static void write_archive(void)
{
    struct bench bench;
    bench_open(&bench);
    id device = bench.devices[0], error = NULL, archive = open_archive(device, NULL, NULL);
    id library = bench_library(device, kernels_text(0), 300);
    expect_true(!archived_pipeline(device, library, archive, 4));
    id url = SEND(id, (id), api.get_class("NSURL"), "fileURLWithPath:", bench_string(archive_path));
    expect_true(SEND(bool, (id, id *), archive, "serializeToURL:error:", url, &error));
    bench_release(archive);
    archive = open_archive(device, archive_path, &error);
    expect_true(archive && !error);
    id pipeline = archived_pipeline(device, library, archive, 4);
    expect_int(SEND0(unsigned long, pipeline, "threadExecutionWidth"), 32);
    bench_release(pipeline);
    bench_release(archive);
    bench_release(library);
    bench_close(&bench);
}

static void refuse_archive(void)
{
    struct bench bench;
    id error = NULL;
    bench_open(&bench);
    expect_true(!open_archive(bench.devices[0], archive_path, &error));
    expect_contains(bench_reason(error), "damaged");
    bench_close(&bench);
}

static void test_archives(void)
{
    const char *const report[] = { "VRT_MPS_REPORT=1", NULL };
    int fd = mkstemp(archive_path);
    expect_true(fd >= 0);
    bench_run(refuse_archive, report, BENCH_WELL, NULL);
    bench_run(write_archive, report, BENCH_WELL, NULL);
    bench_run(refuse_archive, (const char *[]){ "VRT_MPS_FAMILY=2002", NULL }, BENCH_WELL, NULL);
    expect_int(pwrite(fd, "x", 1, 40), 1);
    bench_run(refuse_archive, report, BENCH_WELL, NULL);
    close(fd);
    unlink(archive_path);
}

TEST_MAIN(
    { "devices", test_devices },
    { "messages", test_messages },
    { "families", test_families },
    { "memory", test_memory },
    { "kernels", test_kernels },
    { "queues", test_queues },
    { "archives", test_archives },
)
