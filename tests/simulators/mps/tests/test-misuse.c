/* SPDX-License-Identifier: MIT */
/* What Metal dies of, or leaves undefined, ends the process, and is said. */

#include "tests/simulators/mps/tests/bench.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"

static const char text[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void k(device float *a [[buffer(0)]], constant float4 &b [[buffer(1)]])\n"
    "{\n"
    "    a[0] = b.x;\n"
    "}\n"
    "[[max_total_threads_per_threadgroup(64)]] kernel void few(device float *a [[buffer(0)]])\n"
    "{\n"
    "    a[0] = 0;\n"
    "}\n";

/* A mistake is made with these. */
static struct bench bench;
static id device, queue, buffer, commands, encoder;

static void set_buffer(id what, unsigned long offset, unsigned long index)
{
    SEND(void, (id, unsigned long, unsigned long), encoder, "setBuffer:offset:atIndex:", what,
         offset, index);
}

static void set_bytes(unsigned long n)
{
    static const char bytes[8192];
    SEND(void, (const void *, unsigned long, unsigned long), encoder, "setBytes:length:atIndex:",
         bytes, n, 1);
}

static void set_pipeline(const char *kernel)
{
    SEND(void, (id), encoder, "setComputePipelineState:", bench_pipeline(device, text, kernel));
}

static void dispatch(unsigned long n_groups, unsigned long n_threads)
{
    const struct size groups = { n_groups, 1, 1 }, threads = { n_threads, 1, 1 };
    SEND(void, (struct size, struct size), encoder, "dispatchThreadgroups:threadsPerThreadgroup:",
         groups, threads);
}

/* All that the kernel k needs is set. */
static void set_all(void)
{
    set_pipeline("k");
    set_buffer(buffer, 0, 0);
    set_bytes(16);
}

static void end(void)
{
    SEND0(void, encoder, "endEncoding");
}

static void fork_and_use(void)
{
    int how;
    pid_t child = fork();
    if (child == 0) {
        SEND0(id, device, "name");
        exit(0);
    }
    expect_int(waitpid(child, &how, 0), child);
    expect_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
    abort();
}

static void use_freed(void)
{
    bench_release(buffer);
    bench_contents(buffer);
}

static void release_twice(void)
{
    bench_release(buffer);
    bench_release(buffer);
}

static void pool_freed(void)
{
    void *pool = api.push();
    bench_release(SEND0(id, device, "name"));
    api.pop(pool);
}

static void *use_poolless(void *opaque)
{
    SEND0(id, device, "name");
    return opaque;
}

static void need_pool(void)
{
    pthread_t thread;
    expect_int(pthread_create(&thread, NULL, use_poolless, NULL), 0);
    pthread_join(thread, NULL);
}

static void pop_twice(void)
{
    void *pool = api.push();
    api.pop(pool);
    api.pop(pool);
}

static void send_nonsense(void) { SEND0(void, device, "reticulateSplines"); }
static void send_wrong(void) { SEND(void, (id), encoder, "setComputePipelineState:", buffer); }
static void send_nil(void) { SEND(void, (id), encoder, "setComputePipelineState:", NULL); }
static void send_garbage(void) { SEND0(void, (id)(uintptr_t)0x1234560, "retain"); }
static void go_beyond(void) { SEND(id, (unsigned long), bench.all, "objectAtIndex:", 2); }
static void open_two(void) { SEND0(id, commands, "blitCommandEncoder"); }
static void commit_open(void) { SEND0(void, commands, "commit"); }
static void wait_early(void) { SEND0(void, commands, "waitUntilCompleted"); }

static void use_ended(void)
{
    end();
    set_buffer(buffer, 0, 0);
}

static void end_twice(void)
{
    end();
    end();
}

static void free_open(void)
{
    void *pool = api.push();
    SEND0(id, SEND0(id, queue, "commandBuffer"), "computeCommandEncoder");
    api.pop(pool);
}

static void commit_twice(void)
{
    end();
    SEND0(void, commands, "commit");
    SEND0(void, commands, "commit");
}

static void encode_committed(void)
{
    end();
    SEND0(void, commands, "commit");
    SEND0(id, commands, "computeCommandEncoder");
}

static void signal_inside(void)
{
    SEND(void, (id, uint64_t), commands, "encodeSignalEvent:value:",
         SEND0(id, device, "newEvent"), 1);
}

static void signal_back(void)
{
    id event = SEND0(id, device, "newEvent");
    end();
    for (int i = 0; i < 2; i++)
        SEND(void, (id, uint64_t), commands, "encodeSignalEvent:value:", event, 5);
    bench_finish(commands, NULL);
}

static void handle_by_stack(void)
{
    struct { void *isa; int flags, reserved; } block = { 0 };
    SEND(void, (void *), commands, "addCompletedHandler:", &block);
}

static void forget_pipeline(void) { dispatch(1, 1); }

static void forget_buffer(void)
{
    set_all();
    set_buffer(NULL, 0, 0);
    dispatch(1, 1);
}

static void give_too_little(void)
{
    set_all();
    set_bytes(12);
    dispatch(1, 1);
}

static void misalign(void)
{
    set_all();
    set_buffer(buffer, 2, 0);
    dispatch(1, 1);
}

static void misalign_constant(void)
{
    set_all();
    set_buffer(buffer, 16, 1);
    dispatch(1, 1);
}

static void give_other(void) { set_buffer(bench_buffer(bench.devices[1], 16, NULL), 0, 0); }
static void offset_beyond(void) { set_buffer(buffer, 64, 0); }
static void index_beyond(void) { set_buffer(buffer, 0, 31); }
static void set_no_bytes(void) { set_bytes(0); }
static void set_many_bytes(void) { set_bytes(4097); }

static void many_threads(void)
{
    set_pipeline("few");
    set_buffer(buffer, 0, 0);
    dispatch(1, 65);
}

static void many_threads_at_all(void)
{
    set_all();
    dispatch(1, 1025);
}

static void no_threadgroups(void)
{
    set_all();
    dispatch(0, 1);
}

static void allocate_nothing(void)
{
    SEND(id, (unsigned long, unsigned long), device, "newBufferWithLength:options:", 0, SHARED);
}

static void allocate_memoryless(void)
{
    SEND(id, (unsigned long, unsigned long), device, "newBufferWithLength:options:", 16, 48);
}

static void copy_beyond(void)
{
    end();
    bench_copy(commands, buffer, 32, buffer, 0, 36);
}

static void copy_onto_itself(void)
{
    end();
    bench_copy(commands, buffer, 0, buffer, 16, 32);
}

static void copy_odd(void)
{
    end();
    bench_copy(commands, buffer, 0, buffer, 32, 6);
}

static void cross_devices(void)
{
    id library = bench_library(bench.devices[1], text, 300);
    id function = SEND(id, (id), library, "newFunctionWithName:", bench_string("k"));
    SEND(id, (id, id *), device, "newComputePipelineStateWithFunction:error:", function, NULL);
}

static void (*mistake)(void);

static void make_mistake(void)
{
    bench_open(&bench);
    device = bench.devices[0];
    queue = SEND0(id, device, "newCommandQueue");
    buffer = bench_buffer(device, 64, NULL);
    commands = SEND0(id, queue, "commandBuffer");
    encoder = SEND0(id, commands, "computeCommandEncoder");
    mistake();
}

static void test_mistakes(void)
{
    static const struct {
        void (*make)(void);
        const char *says;
    } mistakes[] = {
        { fork_and_use, "used after fork()" },
        { use_freed, "-[? contents]: the MTLBuffer was freed" },
        { release_twice, "-[? release]: the MTLBuffer was freed" },
        { pool_freed, "objc_autoreleasePoolPop(): the NSString was freed" },
        { need_pool, "-[MTLDevice name]: a NSString is autoreleased on a thread without a pool" },
        { pop_twice, "it is no pool of this thread" },
        { send_nonsense, "-[MTLDevice reticulateSplines]: unrecognized selector" },
        { send_wrong, "the pipeline is a MTLBuffer, not a MTLComputePipelineState" },
        { send_nil, "the pipeline is nil" },
        { send_garbage, "is no object" },
        { go_beyond, "index 2 of 2" },
        { open_two, "another encoder of the command buffer is open" },
        { commit_open, "-[MTLCommandBuffer commit]: an encoder is open" },
        { wait_early, "the command buffer isn't committed" },
        { use_ended, "the encoder has ended" },
        { end_twice, "-[MTLComputeCommandEncoder endEncoding]: the encoder has ended" },
        { free_open, "the encoder is freed before endEncoding" },
        { commit_twice, "the command buffer is committed" },
        { encode_committed, "computeCommandEncoder]: the command buffer is committed" },
        { signal_inside, "an encoder is open" },
        { signal_back, "an event that is at 5 is signaled 5" },
        { handle_by_stack, "the handler is no global block" },
        { forget_pipeline, "no pipeline is set" },
        { forget_buffer, "kernel k: buffer 0 isn't set" },
        { give_too_little, "kernel k: buffer 1 has 12 bytes, of 16" },
        { misalign, "kernel k: offset 2 of buffer 0 isn't a multiple of 4" },
        { give_other, "the buffer is of device 1, not of 0" },
        { offset_beyond, "offset 64 of a buffer of 64 bytes" },
        { index_beyond, "index 31 is over 30" },
        { set_no_bytes, "0 bytes: it may be 1 to 4096" },
        { set_many_bytes, "4097 bytes: it may be 1 to 4096" },
        { many_threads, "65 x 1 x 1 threads in a threadgroup: over 64" },
        { many_threads_at_all, "1025 x 1 x 1 threads in a threadgroup: over 1024" },
        { no_threadgroups, "an empty grid" },
        { allocate_nothing, "a buffer of no bytes" },
        { allocate_memoryless, "the storage is neither shared nor private" },
        { copy_beyond, "36 bytes from byte 32 on of the source: it has 64" },
        { copy_onto_itself, "source and destination overlap" },
        { copy_odd, "not multiples of 4" },
        { cross_devices, "the function is of device 1, not of 0" },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(mistakes); i++) {
        mistake = mistakes[i].make;
        bench_run(make_mistake, (const char *[]){ "VRT_MPS_DEVICES=2", NULL }, BENCH_DEAD,
                  mistakes[i].says);
    }
    mistake = misalign_constant;
    bench_run(make_mistake, (const char *[]){ "VRT_MPS_FAMILY=2002", NULL }, BENCH_DEAD,
              "offset 16 of buffer 1 isn't a multiple of 256");
}

/* What is left at the end is said, and is the process's end. */
static void leak(void)
{
    bench_open(&bench);
    bench_buffer(bench.devices[0], 16, NULL);
    bench_close(&bench);
}

static void leave_pool(void)
{
    bench_open(&bench);
    SEND0(id, bench.devices[0], "name");
}

static void test_leaks(void)
{
    bench_run(leak, (const char *[]){ "VRT_MPS_REPORT=1", NULL }, BENCH_LEAKS,
              "1 of class MTLBuffer were never released");
    bench_run(leave_pool, (const char *[]){ "VRT_MPS_REPORT=1", NULL }, BENCH_LEAKS,
              "1 of class NSString were never released");
    bench_run(leak, NULL, BENCH_WELL, NULL);
}

static void do_nothing(void)
{
    bench_open(&bench);
}

static void test_settings(void)
{
    for (const char *const *s = (const char *const[]){ "VRT_MPS_DEVICES=9", "VRT_MPS_FAMILY=1500",
                                                       "VRT_MPS_SYSTEM=x", "VRT_MPS_UNIFIED=2",
                                                       "VRT_MPS_FAULTS=alloc:0 fail",
                                                       "VRT_MPS_FAULTS=alloc:1 hang", NULL };
         *s; s++)
        bench_run(do_nothing, (const char *[]){ *s, NULL }, BENCH_DEAD, "nonsense");
}

TEST_MAIN(
    { "mistakes", test_mistakes },
    { "leaks", test_leaks },
    { "settings", test_settings },
)
