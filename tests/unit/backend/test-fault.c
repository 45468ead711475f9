/* SPDX-License-Identifier: MIT */
/* workers/backend/fault: what is a schedule and what isn't, and what a device does under one. */

#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/fault.h"
#include "backend/fault/schedule.h"
#include "backend/op/half.h"
#include "backend/staging.h"
#include "base/buf.h"
#include "base/clock.h"

static void test_good_schedules(void)
{
    static const struct {
        const char *text;
        const char *device;
        enum vrt_fault_call call;
        int first, last, every;         /* last 0: no end */
        enum vrt_fault_effect effect;
        int64_t delay_ns, revive;
    } goods[] = {
        { "cpu:1 submit:3-5 fail", "cpu:1", VRT_FAULT_SUBMIT, 3, 5, 1, VRT_FAULT_FAIL, 0, 1 },
        { "submit:7 corrupt=nan", "", VRT_FAULT_SUBMIT, 7, 7, 1, VRT_FAULT_CORRUPT_NAN, 0, 1 },
        { " cpu  submit:every=4\tdelay=50ms ;", "cpu", VRT_FAULT_SUBMIT, 4, 0, 4, VRT_FAULT_DELAY,
          50000000, 1 },
        { "cuda:0.1 submit:2 fail", "cuda:0.1", VRT_FAULT_SUBMIT, 2, 2, 1, VRT_FAULT_FAIL, 0, 1 },
        { "cpu:1 after=10 lost", "cpu:1", VRT_FAULT_SUBMIT, 11, 0, 1, VRT_FAULT_LOST, 0, 1 },
        { "ref:0 after=1 lost revive=3", "ref:0", VRT_FAULT_SUBMIT, 2, 0, 1, VRT_FAULT_LOST, 0,
          3 },
        { "finish:2 lost revive=never", "", VRT_FAULT_FINISH, 2, 2, 1, VRT_FAULT_LOST, 0,
          VRT_FAULT_NEVER },
        { "alloc:5 nomem", "", VRT_FAULT_ALLOC, 5, 5, 1, VRT_FAULT_NOMEM, 0, 1 },
        { "open:1- nomem", "", VRT_FAULT_OPEN, 1, 0, 1, VRT_FAULT_NOMEM, 0, 1 },
        { "cuda:12 read:1 fail", "cuda:12", VRT_FAULT_READ, 1, 1, 1, VRT_FAULT_FAIL, 0, 1 },
        { "submit:1 black", "", VRT_FAULT_SUBMIT, 1, 1, 1, VRT_FAULT_BLACK, 0, 1 },
        { "write:1 delay=3600s", "", VRT_FAULT_WRITE, 1, 1, 1, VRT_FAULT_DELAY, 3600000000000,
          1 },
        { "cpu copy:2 corrupt", "cpu", VRT_FAULT_COPY, 2, 2, 1, VRT_FAULT_CORRUPT_COPY, 0, 1 },
        { "checksum:4 corrupt", "", VRT_FAULT_CHECKSUM, 4, 4, 1, VRT_FAULT_CORRUPT_COPY, 0, 1 },
        { "pack:1 nomem", "", VRT_FAULT_PACK, 1, 1, 1, VRT_FAULT_NOMEM, 0, 1 },
        { "checksum:1 fail", "", VRT_FAULT_CHECKSUM, 1, 1, 1, VRT_FAULT_FAIL, 0, 1 },
        { "ref submit:2- hang=/a/b", "ref", VRT_FAULT_SUBMIT, 2, 0, 1, VRT_FAULT_HANG, 0, 1 },
        { "program:1 delay=7us", "", VRT_FAULT_PROGRAM, 1, 1, 1, VRT_FAULT_DELAY, 7000, 1 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(goods); i++) {
        VRT_CLEANUP(vrt_fault_schedule_freep) struct vrt_fault_schedule *schedule = NULL;
        struct vrt_error error = { 0 };
        if (vrt_fault_schedule_new(goods[i].text, &schedule, &error))
            test_fail("\"%s\": %s", goods[i].text, error.message);
        expect_int(schedule->n_rules, 1);
        const struct vrt_fault_rule *rule = &schedule->rules[0];
        expect_str(rule->device, goods[i].device);
        expect_int(rule->call, goods[i].call);
        expect_int(rule->first, goods[i].first);
        expect_int(rule->last, goods[i].last ? goods[i].last : INT64_MAX);
        expect_int(rule->every, goods[i].every);
        expect_int(rule->effect, goods[i].effect);
        expect_int(rule->delay_ns, goods[i].delay_ns);
        expect_int(rule->revive, goods[i].revive);
    }
}

/* What is no schedule, by a part of the sentence that says so. */
static const struct {
    const char *part, *texts[16];
} bads[] = {
    { "begins with a device", { "explode", "cpu:x submit:1 fail", "cpu: submit:1 fail",
      "cpu:1x submit:1 fail", "cpu:01 submit:1 fail", "cuda:00.1 submit:1 fail",
      "cuda:0.01 submit:1 fail", "cuda:1. submit:1 fail", "cuda:.1 submit:1 fail",
      "cuda:0.1.2 submit:1 fail", "gpu:1 submit:1 fail",
      "cpu:00000000000000000000000000000001 submit:1 fail" } },
    { "a call like submit:3 is missing", { "cpu:1" } },
    { "calls are open", { "cpu:1 cpu:1 submit:1 fail", "cpu:1 compute:1 fail", "after lost" } },
    { "which calls is said like", { "submit fail", "submit: fail", "submit:0 fail",
      "submit:-1 fail", "submit:5-3 fail", "submit:3-x fail", "submit:3+ fail",
      "submit:every=0 fail", "submit:every= fail", "submit:99999999999999999999 fail" } },
    { "a number of submissions", { "after=x lost" } },
    { "an effect like fail is missing", { "submit:1" } },
    { "effects are fail", { "submit:1 succeed", "submit:1 corrupt=red", "submit:1 hang" } },
    { "a time is like", { "submit:1 delay=5", "submit:1 delay=5h", "submit:1 delay=3601s",
      "submit:1 delay=0ms", "submit:1 takes=5" } },
    { "stands a file", { "submit:1 hang=" } },
    { "nothing is expected here", { "submit:1 hang=/a b", "submit:1 fail revive=1",
      "submit:1 lost revive", "submit:1 lost revive=2 now", "alloc:1- nomem>12 revive=2",
      "cpu:1 submit:1 lost revive=2 now" } },
    { "doesn't go with this call", { "submit:1 nomem", "alloc:1 corrupt=nan", "read:1 black",
      "finish:1 takes=5ms", "program:1- nomem>12" } },
    { "stands a number, or never", { "submit:1 lost revive=0" } },
    { "stands a number of bytes", { "alloc:1- nomem>", "alloc:1- nomem>0", "alloc:1- nomem>12x" } },
    { "stands an op", { "open:1- lacks=", "open:1- lacks=conv9d", "submit:1- lacks=conv2d" } },
    { "rule 2", { "submit:1 fail; submit:2 \x01\x02" } },
};

static void test_bad_schedules(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bads); i++)
        for (size_t k = 0; k < VRT_ARRAY_SIZE(bads[i].texts) && bads[i].texts[k]; k++) {
            struct vrt_fault_schedule *schedule = NULL;
            struct vrt_error error = { 0 };
            if (vrt_fault_schedule_new(bads[i].texts[k], &schedule, &error) != -EINVAL)
                test_fail("\"%s\" was taken for a schedule", bads[i].texts[k]);
            expect_true(schedule == NULL);
            expect_contains(error.message, bads[i].part);
            expect_true(!strpbrk(error.message, "\x01\x02"));
        }
}

static void test_limits(void)
{
    struct vrt_fault_schedule *schedule = NULL;
    struct vrt_error error = { 0 };
    char text[6000];

    for (int i = 0; i < 65; i++)
        memcpy(text + 12 * i, "read:1 fail;", 13);
    expect_int(vrt_fault_schedule_new(text, &schedule, &error), -EINVAL);
    expect_contains(error.message, "64 rules at most");
    memset(text, ' ', sizeof(text) - 1);
    error = (struct vrt_error){ 0 };
    expect_int(vrt_fault_schedule_new(text, &schedule, &error), -EINVAL);
    expect_contains(error.message, "longer than");
    text[4096] = '\0';
    expect_int(vrt_fault_schedule_new(text, &schedule, &error), 0);
    expect_int(schedule->n_rules, 0);
    vrt_fault_schedule_free(schedule);
}

static const struct vrt_device_info cpu1 = { .kind = "cpu", .index = 1, .name = "cpu:1" };

static struct vrt_fault_event at(const struct vrt_fault_schedule *schedule,
                                 const struct vrt_device_info *info, enum vrt_fault_call call,
                                 int64_t count)
{
    return vrt_fault_schedule_at(schedule, info, &(struct vrt_fault_occasion){
        .call = call,
        .count = count,
    });
}

static void test_when(void)
{
    const struct vrt_device_info ref0 = { .kind = "ref", .name = "ref:0" };
    VRT_CLEANUP(vrt_fault_schedule_freep) struct vrt_fault_schedule *schedule = NULL;
    char seen[16] = "";

    expect_int(vrt_fault_schedule_new("cpu:1 submit:2-3 fail; ; cpu submit:every=4 lost;"
                                      "cpu:1 submit:1-8 delay=1us; submit:4 delay=1us; "
                                      "submit:9- black", &schedule, NULL), 0);
    for (int count = 1; count <= 10; count++) {
        struct vrt_fault_event event = at(schedule, &cpu1, VRT_FAULT_SUBMIT, count);
        static const char letters[] = {
            [VRT_FAULT_NOTHING] = '-', [VRT_FAULT_FAIL] = 'f', [VRT_FAULT_LOST] = 'l',
            [VRT_FAULT_BLACK] = 'b',
        };
        seen[count - 1] = letters[event.effect];
        expect_int(event.delay_ns, count == 4 ? 2000 : count <= 8 ? 1000 : 0);
        event = at(schedule, &ref0, VRT_FAULT_SUBMIT, count);
        expect_int(event.effect, count >= 9 ? VRT_FAULT_BLACK : VRT_FAULT_NOTHING);
        event = at(schedule, &cpu1, VRT_FAULT_READ, count);
        expect_int(event.effect, VRT_FAULT_NOTHING);
    }
    expect_str(seen, "-ffl---lbb");
}

static void test_above(void)
{
    VRT_CLEANUP(vrt_fault_schedule_freep) struct vrt_fault_schedule *schedule = NULL;

    expect_int(vrt_fault_schedule_new("alloc:3- nomem>4096", &schedule, NULL), 0);
    for (int count = 1; count <= 4; count++)
        for (int64_t size_bytes = 4095; size_bytes <= 4097; size_bytes++) {
            struct vrt_fault_event event =
                vrt_fault_schedule_at(schedule, &cpu1, &(struct vrt_fault_occasion){
                    .call = VRT_FAULT_ALLOC,
                    .count = count,
                    .size_bytes = size_bytes,
                });
            expect_int(event.effect, count >= 3 && size_bytes > 4096 ? VRT_FAULT_NOMEM :
                                                                       VRT_FAULT_NOTHING);
        }
}

static void test_lacks(void)
{
    const struct vrt_device_info cpu0 = { .kind = "cpu", .name = "cpu:0" };
    VRT_CLEANUP(vrt_fault_schedule_freep) struct vrt_fault_schedule *schedule = NULL;

    expect_int(vrt_fault_schedule_new("cpu:1 open:1- lacks=warp; submit:1 fail", &schedule, NULL),
               0);
    expect_true(vrt_fault_schedule_lacks(schedule, &cpu1, "warp"));
    expect_true(!vrt_fault_schedule_lacks(schedule, &cpu1, "copy"));
    expect_true(!vrt_fault_schedule_lacks(schedule, &cpu0, "warp"));
    const struct vrt_fault_occasion open = { .call = VRT_FAULT_OPEN, .count = 1 };
    expect_int(vrt_fault_schedule_at(schedule, &cpu1, &open).effect, VRT_FAULT_NOTHING);
}

/* A device under a schedule, with a program that copies its one input to its output. */
struct setting {
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_buffer *buffer;
    struct vrt_program *program;
};

#define N_FLOATS 24

static struct vrt_op copy_op(void)
{
    const struct vrt_shape shape = { 1, 2, 3, 4 };
    struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1 };

    op.in[0] = vrt_tensor_dense(VRT_DTYPE_F32, shape);
    op.in[0].storage = 0;
    op.in[0].slot = 1;
    op.out = vrt_tensor_dense(VRT_DTYPE_F32, shape);
    op.out.storage = 1;
    op.out.slot = 2;
    return op;
}

static void set_up(struct setting *s, const char *schedule)
{
    const struct vrt_registry_params params = { .fault = schedule };
    float data[2 * N_FLOATS];

    *s = (struct setting){ 0 };
    expect_int(vrt_registry_new(&params, &s->registry, NULL), 0);
    expect_int(vrt_device_open(s->registry, vrt_registry_find(s->registry, "ref:0"), &s->device),
               0);
    expect_int(vrt_buffer_new(s->device, sizeof(data), &s->buffer), 0);
    for (int i = 0; i < 2 * N_FLOATS; i++)
        data[i] = (float)i;
    expect_int(vrt_buffer_write(s->device, s->buffer, 0, data, sizeof(data)), 0);
}

static void record(struct setting *s, const struct vrt_op *ops, size_t n_ops)
{
    const struct vrt_program_params params = { .ops = ops, .n_ops = n_ops, .n_bindings = 2 };

    expect_int(vrt_program_new(s->device, &params, &s->program), 0);
}

static int submit(struct setting *s)
{
    const struct vrt_binding bindings[] = { { s->buffer, 0 }, { s->buffer, N_FLOATS * 4 } };

    return vrt_program_submit(s->device, s->program, bindings);
}

static void close_device(struct setting *s)
{
    s->program = vrt_program_free(s->device, s->program);
    s->buffer = vrt_buffer_free(s->device, s->buffer);
    s->device = vrt_device_close(s->device);
}

static void tear_down(struct setting *s)
{
    if (s->device)
        close_device(s);
    vrt_registry_free(s->registry);
}

static void test_outcomes(void)
{
    const struct vrt_op op = copy_op();
    struct vrt_buffer *buffer = NULL;
    struct setting s;
    float data[N_FLOATS];

    set_up(&s, "ref:0 submit:2-3 fail; alloc:3 nomem; finish:2 fail; cpu submit:1- fail");
    record(&s, &op, 1);
    expect_int(vrt_device_info(s.device)->n_in_flight, 1);
    expect_int(submit(&s), 0);
    expect_int(vrt_device_finish(s.device), 0);
    expect_int(vrt_buffer_read(s.device, s.buffer, N_FLOATS * 4, data, sizeof(data)), 0);
    expect_near(data[5], 5, 0);
    expect_int(submit(&s), VRT_BACKEND_E_FAILED);
    expect_int(submit(&s), VRT_BACKEND_E_FAILED);
    expect_int(submit(&s), 0);
    expect_int(vrt_device_finish(s.device), VRT_BACKEND_E_FAILED);
    expect_int(vrt_device_finish(s.device), 0);
    expect_int(vrt_buffer_new(s.device, 64, &buffer), 0);
    vrt_buffer_free(s.device, buffer);
    buffer = NULL;
    expect_int(vrt_buffer_new(s.device, 64, &buffer), VRT_BACKEND_E_NOMEM);
    expect_true(buffer == NULL);
    expect_int(vrt_device_used_bytes(s.device), 2 * N_FLOATS * 4);
    expect_int(vrt_buffer_new(s.device, 64, &buffer), 0);
    vrt_buffer_free(s.device, buffer);
    tear_down(&s);
}

static void test_lost(void)
{
    static const struct {
        const char *schedule;
        int revived_at;                 /* opening; 0: never */
    } schedules[] = {
        { "submit:2 lost", 1 },
        { "submit:2 lost revive=3", 3 },
        { "submit:2 lost revive=never", 0 },
    };
    const struct vrt_op op = copy_op();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(schedules); i++) {
        struct setting s;
        struct vrt_memory_info memory;
        char byte;
        set_up(&s, schedules[i].schedule);
        const struct vrt_device_info *info = vrt_device_info(s.device);
        record(&s, &op, 1);
        expect_int(submit(&s), 0);
        expect_int(submit(&s), VRT_BACKEND_E_LOST);
        expect_int(submit(&s), VRT_BACKEND_E_LOST);
        expect_int(vrt_device_finish(s.device), VRT_BACKEND_E_LOST);
        expect_int(vrt_device_memory(s.device, &memory), VRT_BACKEND_E_LOST);
        expect_int(vrt_buffer_read(s.device, s.buffer, 0, &byte, 1), VRT_BACKEND_E_LOST);
        close_device(&s);
        for (int n = 1; n <= 5 && !s.device; n++) {
            int r = vrt_device_open(s.registry, info, &s.device);
            expect_int(r, n == schedules[i].revived_at ? 0 : VRT_BACKEND_E_LOST);
        }
        expect_int(s.device != NULL, schedules[i].revived_at > 0);
        if (s.device)
            expect_int(vrt_device_finish(s.device), 0);
        tear_down(&s);
    }
}

/* What is exchanged with the host: each call fails when it shall, and what it takes adds up, as do
 * delays. */
static void test_staging(void)
{
    const struct vrt_op op = copy_op();
    struct vrt_staging *staging = NULL;
    struct setting s;
    float data[N_FLOATS];

    set_up(&s, "alloc:2 nomem; write:2 fail; read:1 fail; finish:1 fail; write:3- takes=20ms; "
           "submit:1- takes=10ms; read:2- takes=5ms; cpu write:3- takes=9s; read:3 delay=30ms");
    record(&s, &op, 1);
    expect_int(vrt_device_info(s.device)->n_in_flight, VRT_DEVICE_IN_FLIGHT);
    expect_int(vrt_staging_new(s.device, 0, &staging), -EINVAL);
    expect_int(vrt_staging_new(s.device, sizeof(data), &staging), VRT_BACKEND_E_NOMEM);
    expect_int(vrt_staging_new(s.device, sizeof(data), &staging), 0);
    expect_int(vrt_device_used_bytes(s.device), 3 * sizeof(data));
    for (size_t i = 0; i < sizeof(data); i++)
        vrt_staging_host(staging)[i] = (uint8_t)(i % 64);
    expect_int(vrt_staging_push(s.device, staging, sizeof(data) + 1), -EINVAL);
    expect_int(vrt_staging_push(s.device, staging, sizeof(data)), VRT_BACKEND_E_FAILED);
    expect_int(vrt_staging_pull(s.device, staging, sizeof(data)), VRT_BACKEND_E_FAILED);
    expect_int(vrt_staging_wait(s.device, staging), VRT_BACKEND_E_FAILED);
    const int64_t start_ns = vrt_clock_now_ns();
    expect_int(vrt_staging_push(s.device, staging, sizeof(data)), 0);
    expect_int(submit(&s), 0);
    expect_int(vrt_staging_pull(s.device, staging, sizeof(data)), 0);
    expect_int(vrt_staging_push(s.device, staging, sizeof(data)), 0);
    expect_int(vrt_staging_wait(s.device, staging), 0);
    expect_true(vrt_clock_now_ns() - start_ns >= 35 * VRT_NS_PER_MS);
    expect_int(vrt_device_finish(s.device), 0);
    expect_true(vrt_clock_now_ns() - start_ns >= 40 * VRT_NS_PER_MS);
    expect_int(vrt_buffer_read(s.device, vrt_staging_buffer(staging), 0, data, sizeof(data)), 0);
    expect_true(vrt_clock_now_ns() - start_ns >= 70 * VRT_NS_PER_MS);
    expect_int(memcmp(data, vrt_staging_host(staging), sizeof(data)), 0);
    expect_true(!vrt_staging_free(s.device, staging) && !vrt_staging_free(s.device, NULL));
    expect_int(vrt_device_used_bytes(s.device), 2 * sizeof(data));
    tear_down(&s);
}

static atomic_bool was_let_go;

static void *let_go(void *path)
{
    usleep(20000);              /* a call that doesn't hang is over by then */
    atomic_store(&was_let_go, true);
    unlink(path);
    return NULL;
}

static void test_hang(void)
{
    const struct vrt_op op = copy_op();
    char path[] = "/tmp/vrt-fault-XXXXXX", schedule[64];
    pthread_t thread;
    struct setting s;
    int fd = mkstemp(path);

    expect_true(fd >= 0);
    close(fd);
    snprintf(schedule, sizeof(schedule), "submit:2- hang=%s", path);
    set_up(&s, schedule);
    record(&s, &op, 1);
    expect_int(submit(&s), 0);
    expect_int(pthread_create(&thread, NULL, let_go, path), 0);
    expect_int(submit(&s), 0);
    expect_true(atomic_load(&was_let_go));
    pthread_join(thread, NULL);
    /* Without the file nothing hangs. */
    expect_int(submit(&s), 0);
    tear_down(&s);
}

/* The output of a corrupted copy into every second pixel's first three channels. */
static void corrupt_view(const char *schedule, float data[2 * N_FLOATS])
{
    struct vrt_op op = copy_op();
    struct setting s;

    op.in[0] = vrt_tensor_crop(&op.in[0], 0, 0, 2, 2);
    op.in[0] = vrt_tensor_channels(&op.in[0], 0, 3);
    op.out = vrt_tensor_crop(&op.out, 0, 1, 2, 2);
    op.out = vrt_tensor_channels(&op.out, 1, 3);
    set_up(&s, schedule);
    record(&s, &op, 1);
    expect_int(submit(&s), 0);
    expect_int(vrt_device_finish(s.device), 0);
    expect_int(vrt_buffer_read(s.device, s.buffer, 0, data, 2 * N_FLOATS * 4), 0);
    tear_down(&s);
}

static void test_corruption(void)
{
    float nan[2 * N_FLOATS], zeros[2 * N_FLOATS], garbage[2 * N_FLOATS], again[2 * N_FLOATS];
    float black[2 * N_FLOATS];
    int n_written = 0;

    corrupt_view("submit:1 corrupt=nan", nan);
    corrupt_view("submit:1 corrupt=zeros", zeros);
    corrupt_view("submit:1 black", black);
    expect_int(memcmp(black, zeros, sizeof(black)), 0);
    corrupt_view("submit:1 corrupt=garbage", garbage);
    corrupt_view("submit:1 corrupt=garbage", again);
    expect_int(memcmp(garbage, again, sizeof(garbage)), 0);
    for (int i = 0; i < 2 * N_FLOATS; i++) {
        const int k = i - N_FLOATS, channel = k % 4, column = k / 4 % 3;
        const bool written = k >= 0 && column >= 1 && channel >= 1;
        expect_int(isnan(nan[i]), written);
        expect_near(zeros[i], written ? 0 : i, 0);
        expect_true(written ? isfinite(garbage[i]) && fabsf(garbage[i]) > 0.01f
                            : garbage[i] == (float)i);
        n_written += written;
    }
    expect_int(n_written, 12);
}

/* A gray picture to 4:2:0 planes of 10 bits, and its range, under a schedule. */
static void corrupt_planes(const char *schedule, uint16_t planes[6], float range[4])
{
    const struct vrt_shape luma = { 1, 2, 2, 1 }, chroma = { 1, 1, 1, 1 };
    struct vrt_op ops[2] = {
        { .kind = VRT_OP_RGB_TO_YUV, .n_in = 1,
          .colour = { .layout = VRT_PLANES_YUV, .depth = 10, .shift_x = 1, .shift_y = 1 } },
        { .kind = VRT_OP_RANGE, .n_in = 1 },
    };
    struct vrt_tensor *outs[] = { &ops[0].out, &ops[0].out_more[0], &ops[0].out_more[1],
                                  &ops[1].out };
    struct setting s;

    ops[0].in[0] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 2, 2, 3 });
    ops[0].in[0].slot = 1;
    ops[0].in[0].storage = 0;
    ops[1].in[0] = ops[0].in[0];
    *outs[0] = vrt_tensor_dense(VRT_DTYPE_U16, luma);
    *outs[1] = *outs[2] = vrt_tensor_dense(VRT_DTYPE_U16, chroma);
    *outs[3] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, 1, 4 });
    const size_t offsets[] = { 0, 8, 10, 12 };
    for (int i = 0; i < 4; i++) {
        outs[i]->slot = 2;
        outs[i]->storage = 1 + i;
        outs[i]->offset_bytes = offsets[i];
    }
    set_up(&s, schedule);
    record(&s, ops, 2);
    expect_int(submit(&s), 0);
    expect_int(vrt_device_finish(s.device), 0);
    expect_int(vrt_buffer_read(s.device, s.buffer, N_FLOATS * 4, planes, 12), 0);
    expect_int(vrt_buffer_read(s.device, s.buffer, N_FLOATS * 4 + 12, range, 16), 0);
    tear_down(&s);
}

static void test_black(void)
{
    uint16_t planes[6];
    float range[4];

    corrupt_planes("", planes, range);
    expect_int(planes[0], 778);         /* 64 + 876 * 0.815: red 0, green 1, blue 2 */
    expect_near(range[1], 11, 0);
    corrupt_planes("submit:1 black", planes, range);
    expect_int(memcmp(planes, (uint16_t[]){ 64, 64, 64, 64, 512, 512 }, sizeof(planes)), 0);
    expect_int(memcmp(range, (float[]){ 0, 0, 0, 12 }, sizeof(range)), 0);
    corrupt_planes("submit:1 corrupt=nan", planes, range);
    expect_int(planes[0], 1023);
    expect_int(planes[5], 1023);
    expect_near(range[2], 12, 0);
    corrupt_planes("submit:1 corrupt=garbage", planes, range);
    expect_true(range[0] < -1000 && range[1] > 1000);
    for (int i = 0; i < 6; i++)
        expect_true(planes[i] <= 1023);
}

static void test_open(void)
{
    const struct vrt_registry_params params = { .fault = "open:1 fail; open:2 nomem" };
    const struct vrt_registry_params wrong = { .fault = "submit:1 succeed" };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    struct vrt_device *device = NULL;
    struct vrt_error error = { 0 };

    expect_int(vrt_registry_new(&wrong, &registry, &error), -EINVAL);
    expect_true(registry == NULL);
    expect_contains(error.message, "rule 1 of the fault schedule");
    expect_int(vrt_registry_new(&params, &registry, NULL), 0);
    const struct vrt_device_info *info = vrt_registry_find(registry, "ref:0");
    expect_int(vrt_device_open(registry, info, &device), VRT_BACKEND_E_FAILED);
    expect_int(vrt_device_open(registry, info, &device), VRT_BACKEND_E_NOMEM);
    expect_true(device == NULL);
    expect_int(vrt_device_open(registry, info, &device), 0);
    vrt_device_close(device);
}

TEST_MAIN(
    { "good-schedules", test_good_schedules }, { "bad-schedules", test_bad_schedules },
    { "limits", test_limits },                 { "when", test_when },
    { "above", test_above },                   { "lacks", test_lacks },
    { "outcomes", test_outcomes },             { "lost", test_lost },
    { "staging", test_staging },               { "hang", test_hang },
    { "corruption", test_corruption },         { "black", test_black },
    { "open", test_open },
)
