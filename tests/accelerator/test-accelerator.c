/* SPDX-License-Identifier: MIT */

/*
 * usage: test-accelerator KIND SCENARIO
 *
 * Devices of software, which reads its settings once a process: each scenario, with the settings
 * that it needs (meson.build of xpu/ and mps/), is one of its own.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/replica.h"
#include "backend/staging.h"
#include "base/log.h"
#include "tests/accelerator/machine.h"
#include "tests/unit/environment.h"

const char *kind;

struct machine look(const struct vrt_registry_params *params)
{
    struct machine m = { 0 };
    size_t n;

    expect_int(vrt_registry_new(params, &m.registry, NULL), 0);
    const struct vrt_device_info *const *infos = vrt_registry_devices(m.registry, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(infos[i]->kind, kind) == 0 && m.n < MAX_DEVICES)
            m.infos[m.n++] = infos[i];
    return m;
}

int open_device(struct machine *m, int i)
{
    expect_true(i < m->n);
    return vrt_device_open(m->registry, m->infos[i], &m->devices[i]);
}

void leave(struct machine *m)
{
    for (int i = 0; i < m->n; i++)
        vrt_device_close(m->devices[i]);
    vrt_registry_free(m->registry);
}

struct machine open_first(void)
{
    struct machine m = look(&(struct vrt_registry_params){ .values = PATIENCE_S(2) });

    expect_int(open_device(&m, 0), 0);
    return m;
}

/* What is written and read that isn't of whole words, as Metal copies them. */
static void test_words(void)
{
    struct machine m = open_first();
    struct vrt_buffer *buffer;
    char there[64], back[64];

    for (int i = 0; i < 64; i++)
        there[i] = (char)(3 * i + 1);
    expect_int(vrt_buffer_new(m.devices[0], sizeof(there), &buffer), 0);
    expect_int(vrt_buffer_write(m.devices[0], buffer, 0, there, sizeof(there)), 0);
    for (size_t at = 0; at < 7; at++)
        for (size_t n = 1; n < 12; n++) {
            for (size_t i = 0; i < n; i++)
                there[at + i]++;
            expect_int(vrt_buffer_write(m.devices[0], buffer, at, there + at, n), 0);
            expect_int(vrt_buffer_read(m.devices[0], buffer, at, back, n), 0);
            expect_true(memcmp(there + at, back, n) == 0);
        }
    expect_int(vrt_buffer_read(m.devices[0], buffer, 0, back, sizeof(back)), 0);
    expect_true(memcmp(there, back, sizeof(back)) == 0);
    vrt_buffer_free(m.devices[0], buffer);
    leave(&m);
}

static void test_sensors(void)
{
    struct machine m = open_first();
    struct vrt_device_sensors sensors;
    struct vrt_memory_info memory;

    expect_int(vrt_device_memory(m.devices[0], &memory), 0);
    expect_int(memory.total_bytes, 16384ll << 20);
    expect_true(memory.free_bytes > 0 && memory.free_bytes <= memory.total_bytes);
    vrt_device_sensors(m.devices[0], &sensors);
    expect_true(sensors.are_known);
    expect_true(sensors.temperature_celsius > 0);
    leave(&m);
}

/* Nobody knows, and says so. */
static void test_no_sensors(void)
{
    struct machine m = open_first();
    struct vrt_device_sensors sensors;
    struct vrt_memory_info memory;

    expect_int(vrt_device_memory(m.devices[0], &memory), 0);
    expect_int(memory.total_bytes, 16384ll << 20);
    expect_int(memory.free_bytes, -1);
    vrt_device_sensors(m.devices[0], &sensors);
    expect_true(!sensors.are_known);
    expect_true(isnan(sensors.temperature_celsius));
    leave(&m);
}

/* More than 4 GiB in one piece, and more than there is. */
static void test_large(void)
{
    const size_t gib = (size_t)1 << 30, n = (size_t)9 << 20;
    struct machine m = open_first();
    struct vrt_buffer *large = NULL, *more = NULL;
    unsigned char *there = malloc(n), *back = malloc(n);

    expect_true(there && back);
    for (size_t i = 0; i < n; i++)
        there[i] = (unsigned char)(i * 7 + i / 251);
    expect_int(vrt_buffer_new(m.devices[0], 5 * gib, &large), 0);
    expect_int(vrt_buffer_new(m.devices[0], 5 * gib, &more), VRT_BACKEND_E_NOMEM);
    expect_int(vrt_device_used_bytes(m.devices[0]), (long long)(5 * gib));
    expect_int(vrt_buffer_write(m.devices[0], large, 5 * gib - n, there, n), 0);
    expect_int(vrt_buffer_read(m.devices[0], large, 5 * gib - n, back, n), 0);
    expect_true(memcmp(there, back, n) == 0);
    large = vrt_buffer_free(m.devices[0], large);
    expect_int(vrt_buffer_new(m.devices[0], 6 * gib, &large), 0);
    vrt_buffer_free(m.devices[0], large);
    free(there);
    free(back);
    leave(&m);
}

#define N_FLOATS 1000

static struct vrt_tensor bound(int slot)
{
    struct vrt_tensor t = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, N_FLOATS, 1 });

    t.storage = slot;
    t.slot = slot;
    return t;
}

/* out = in + 1, by way of the arena. */
static int make_increment(struct vrt_device *device, struct vrt_buffer *arena,
                          struct vrt_program **ret_program)
{
    static struct vrt_op ops[3];
    const struct vrt_program_params params = {
        .ops = ops,
        .n_ops = 3,
        .arena = arena,
        .arena_bytes = N_FLOATS * sizeof(float),
        .n_bindings = 2,
    };

    ops[0] = (struct vrt_op){ .kind = VRT_OP_COPY, .n_in = 1, .in = { bound(1) }, .out = bound(0) };
    ops[1] = (struct vrt_op){ .kind = VRT_OP_AFFINE, .n_in = 1, .in = { bound(0) },
                              .out = bound(2), .affine = { .scale = { 1 }, .shift = { 1 } } };
    ops[2] = (struct vrt_op){ .kind = VRT_OP_FILL, .out = bound(0) };
    return vrt_program_new(device, &params, ret_program);
}

/* A value goes round four buffers, twice, every time by other bindings than the last two. */
static int go_round(struct vrt_device *device)
{
    float values[N_FLOATS] = { 0 };
    struct vrt_buffer *buffers[4] = { NULL }, *arena = NULL;
    struct vrt_program *program = NULL;
    int r = vrt_buffer_new(device, sizeof(values), &arena);

    for (int i = 0; !r && i < 4; i++)
        r = vrt_buffer_new(device, sizeof(values), &buffers[i]);
    if (!r)
        r = vrt_buffer_write(device, buffers[0], 0, values, sizeof(values));
    if (!r)
        r = make_increment(device, arena, &program);
    for (int i = 0; !r && i < 8; i++)
        r = vrt_program_submit(device, program, (struct vrt_binding[]){
            { buffers[i % 4], 0 }, { buffers[(i + 1) % 4], 0 } });
    if (!r)
        r = vrt_buffer_read(device, buffers[0], 0, values, sizeof(values));
    for (int i = 0; !r && i < N_FLOATS && test_looks_at_results(); i++)
        expect_true(values[i] == 8);
    vrt_program_free(device, program);
    for (int i = 0; i < 4; i++)
        vrt_buffer_free(device, buffers[i]);
    vrt_buffer_free(device, arena);
    return r;
}

static void count_life(void *ctx)
{
    ++*(int *)ctx;
}

/* With what an earlier run has left in the folder of kernels: kept.py, which reads the log. */
static void test_kept(void)
{
    vrt_log_set_level(VRT_LOG_DEBUG);
    struct machine m = look(&(struct vrt_registry_params){
        .values = PATIENCE_S(2),
        .cache_dir = test_cache_dir(),
    });
    int n_signs = 0;
    expect_int(open_device(&m, 0), 0);
    vrt_device_watch(m.devices[0], count_life, &n_signs);
    expect_int(go_round(m.devices[0]), 0);
    fprintf(stderr, "%d signs of life\n", n_signs);
    leave(&m);
}

/* Opened and closed several times, the registry too: the driver is started once a process. */
static void test_again(void)
{
    for (int i = 0; i < 3; i++) {
        struct machine m = look(&(struct vrt_registry_params){ .cache_dir = test_cache_dir() });
        for (int k = 0; k < 2; k++) {
            expect_int(open_device(&m, 0), 0);
            expect_int(go_round(m.devices[0]), 0);
            m.devices[0] = vrt_device_close(m.devices[0]);
        }
        leave(&m);
    }
}

static void test_bindings(void)
{
    struct machine m = open_first();

    expect_int(go_round(m.devices[0]), 0);
    expect_int(vrt_device_used_bytes(m.devices[0]), 0);
    leave(&m);
}

/* What is written into a buffer that a program still reads comes after it. */
static void test_order(void)
{
    struct machine m = open_first();
    struct vrt_device *device = m.devices[0];
    float values[N_FLOATS] = { 0 };
    struct vrt_buffer *arena, *from, *to[4];
    struct vrt_program *program;

    expect_int(vrt_buffer_new(device, sizeof(values), &arena), 0);
    expect_int(vrt_buffer_new(device, sizeof(values), &from), 0);
    expect_int(make_increment(device, arena, &program), 0);
    for (int i = 0; i < 4; i++) {
        expect_int(vrt_buffer_new(device, sizeof(values), &to[i]), 0);
        values[N_FLOATS - 1] = (float)(10 * i);
        expect_int(vrt_buffer_write(device, from, 0, values, sizeof(values)), 0);
        expect_int(vrt_program_submit(device, program, (struct vrt_binding[]){
            { from, 0 }, { to[i], 0 } }), 0);
    }
    for (int i = 0; i < 4; i++) {
        expect_int(vrt_buffer_read(device, to[i], 0, values, sizeof(values)), 0);
        expect_true(values[0] == 1 && values[N_FLOATS - 1] == (float)(10 * i + 1));
        vrt_buffer_free(device, to[i]);
    }
    vrt_program_free(device, program);
    vrt_buffer_free(device, from);
    vrt_buffer_free(device, arena);
    leave(&m);
}

static float weights[40 * 24 * 9];

/* A replica on device 0, whole. */
static struct vrt_packed *pack(struct vrt_device *device, struct vrt_replica **ret_replica)
{
    static const struct vrt_param params[] = {
        { "w", 4, { 40, 24, 3, 3 }, weights, VRT_PARAM_WEIGHT },
        { "b", 1, { 40 }, weights, VRT_PARAM_TABLE },
    };
    const struct vrt_pack pack = { params, 2, VRT_DTYPE_F16 };
    struct vrt_packed *packed;
    size_t ready;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(weights); i++)
        weights[i] = (float)(i % 101) - 50;
    expect_int(vrt_packed_new(device, &pack, &packed), 0);
    expect_int(vrt_replica_begin(device, packed, ret_replica), 0);
    expect_int(vrt_packed_fill(packed, &pack, SIZE_MAX, &ready), 0);
    expect_int(vrt_replica_fill(device, *ret_replica, packed, (size_t[2]){ 0, ready }), 0);
    return packed;
}

/* Weights go from card to card; each adds up what it has. */
static void test_peers(void)
{
    struct machine m = open_first();
    struct vrt_replica *replicas[2];
    uint64_t sum;

    expect_int(open_device(&m, 1), 0);
    struct vrt_packed *packed = pack(m.devices[0], &replicas[0]);
    expect_true(vrt_replica_can_receive(m.devices[1]));
    expect_int(vrt_replica_checksum(m.devices[0], replicas[0], &sum), 0);
    expect_true(sum == vrt_packed_checksum(packed) || !test_looks_at_results());
    expect_int(vrt_replica_begin(m.devices[1], packed, &replicas[1]), 0);
    expect_int(vrt_replica_receive(m.devices[1], replicas[1], replicas[0]), 0);
    expect_int(vrt_replica_checksum(m.devices[1], replicas[1], &sum), 0);
    expect_true(sum == vrt_packed_checksum(packed) || !test_looks_at_results());
    vrt_packed_unref(packed);
    for (int i = 0; i < 2; i++)
        vrt_replica_free(m.devices[i], replicas[i]);
    leave(&m);
}

static void test_no_peers(void)
{
    struct machine m = open_first();

    expect_int(open_device(&m, 1), 0);
    expect_true(!vrt_replica_can_receive(m.devices[0]));
    leave(&m);
}

/* Computes until it fails, at most 50 times. Return: how it failed. */
static int compute_until_failure(struct vrt_device *device)
{
    int r = 0;

    for (int i = 0; !r && i < 50; i++)
        r = go_round(device);
    return r;
}

/* Full for a moment: nothing else is wrong with it. */
static void test_full(void)
{
    struct machine m = open_first();

    expect_int(compute_until_failure(m.devices[0]), VRT_BACKEND_E_NOMEM);
    expect_int(vrt_device_used_bytes(m.devices[0]), 0);
    expect_int(go_round(m.devices[0]), 0);
    leave(&m);
}

/* Lost for a while: whoever opens it again has it back. */
static void test_lost(void)
{
    struct machine m = open_first();

    expect_int(compute_until_failure(m.devices[0]), VRT_BACKEND_E_LOST);
    expect_int(go_round(m.devices[0]), VRT_BACKEND_E_LOST);
    expect_int(vrt_device_used_bytes(m.devices[0]), 0);
    m.devices[0] = vrt_device_close(m.devices[0]);
    int r = VRT_BACKEND_E_LOST;
    for (int i = 0; r && i < 100; i++) {
        usleep(20000);
        r = open_device(&m, 0);
    }
    expect_int(r, 0);
    expect_int(go_round(m.devices[0]), 0);
    leave(&m);
}

/* A piece of its work fails, and the next does not. */
static void test_failed(void)
{
    struct machine m = open_first();

    expect_int(compute_until_failure(m.devices[0]), VRT_BACKEND_E_FAILED);
    expect_int(go_round(m.devices[0]), 0);
    leave(&m);
}

/* in -> out, which is pulled. */
static int start_exchange(struct vrt_device *device, struct vrt_program *program,
                          struct vrt_staging *in, struct vrt_staging *out)
{
    int r = vrt_staging_push(device, in, N_FLOATS * sizeof(float));

    if (!r)
        r = vrt_program_submit(device, program, (struct vrt_binding[]){
            { vrt_staging_buffer(in), 0 }, { vrt_staging_buffer(out), 0 } });
    return r ? r : vrt_staging_pull(device, out, N_FLOATS * sizeof(float));
}

/* Of two that are under way the first fails: it is the first that is told so, whoever else waited
 * meanwhile, and what comes later is right. */
static void test_blame(void)
{
    struct machine m = open_first();
    struct vrt_device *device = m.devices[0];
    const size_t n = N_FLOATS * sizeof(float);
    struct vrt_staging *in[2], *out[2];
    struct vrt_buffer *arena, *other;
    struct vrt_program *program;

    expect_int(vrt_buffer_new(device, n, &arena), 0);
    expect_int(make_increment(device, arena, &program), 0);
    for (int i = 0; i < 2; i++) {
        expect_int(vrt_staging_new(device, n, &in[i]), 0);
        expect_int(vrt_staging_new(device, n, &out[i]), 0);
        memset(vrt_staging_host(in[i]), 0, n);
    }
    expect_int(vrt_buffer_new(device, n, &other), 0);
    for (int i = 0; i < 2; i++)
        expect_int(start_exchange(device, program, in[i], out[i]), 0);
    vrt_buffer_free(device, other);
    expect_int(vrt_staging_push(device, in[1], n), 0);
    vrt_staging_wait(device, out[1]);
    expect_int(vrt_staging_wait(device, out[0]), VRT_BACKEND_E_FAILED);
    for (int i = 0; i < 2; i++) {
        expect_int(start_exchange(device, program, in[i], out[i]), 0);
        expect_int(vrt_staging_wait(device, out[i]), 0);
        expect_true(((float *)vrt_staging_host(out[i]))[N_FLOATS - 1] == 1);
        vrt_staging_free(device, in[i]);
        vrt_staging_free(device, out[i]);
    }
    vrt_program_free(device, program);
    vrt_buffer_free(device, arena);
    expect_int(vrt_device_finish(device), VRT_BACKEND_E_FAILED);
    expect_int(vrt_device_finish(device), 0);
    leave(&m);
}

/* It is taken away, and stays away. */
static void test_gone(void)
{
    struct machine m = open_first();

    expect_int(compute_until_failure(m.devices[0]), VRT_BACKEND_E_LOST);
    expect_int(go_round(m.devices[0]), VRT_BACKEND_E_LOST);
    expect_int(vrt_device_used_bytes(m.devices[0]), 0);
    leave(&m);
}

/* It never answers: it is given up in time, with what it may still use. */
static void test_stuck(void)
{
    struct machine m = open_first();

    expect_int(compute_until_failure(m.devices[0]), VRT_BACKEND_E_LOST);
    expect_int(vrt_device_used_bytes(m.devices[0]), 0);
    leave(&m);
}

static const struct scenario scenarios[] = {
    { "words", test_words },
    { "sensors", test_sensors },
    { "no-sensors", test_no_sensors },
    { "large", test_large },
    { "kept", test_kept },
    { "again", test_again },
    { "bindings", test_bindings },
    { "order", test_order },
    { "peers", test_peers },
    { "no-peers", test_no_peers },
    { "full", test_full },
    { "lost", test_lost },
    { "failed", test_failed },
    { "blame", test_blame },
    { "gone", test_gone },
    { "stuck", test_stuck },
    { NULL, NULL },
};

/* Runs a scenario of these. Return: whether it is one. */
static bool run(const struct scenario *all, const char *name)
{
    for (; all->name; all++)
        if (strcmp(all->name, name) == 0) {
            all->run();
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    kind = argc == 3 ? argv[1] : "";
    if (argc != 3 || (!run(scenarios, argv[2]) && !run(presence_scenarios, argv[2])))
        test_fail("usage: test-accelerator KIND SCENARIO");
    return 0;
}
