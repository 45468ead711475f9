/* SPDX-License-Identifier: MIT */
/* backend/replica.h: weights packed by chunks, shared by several CPU devices; their checksum. */

#include "tests/unit/test.h"

#include <errno.h>

#include "backend/checksum.h"
#include "backend/fault.h"
#include "backend/replica.h"
#include "base/macro.h"
#include "tests/unit/environment.h"

enum { N_PARAMS = 5 };

struct bench {
    struct vrt_registry *registry;
    struct vrt_device *devices[3];
    float numbers[48 * 48 * 9];
    struct vrt_param params[N_PARAMS];
    struct vrt_pack pack;
};

static void setup(struct bench *bench, const char *kind, int n_devices, const char *fault)
{
    struct vrt_error error = { 0 };
    char name[16];

    *bench = (struct bench){ .registry = NULL };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bench->numbers); i++)
        bench->numbers[i] = (float)((int)(i * 37 % 101) - 50) / 64;
    const struct vrt_param params[N_PARAMS] = {
        { "a", 4, { 48, 48, 3, 3 }, bench->numbers, VRT_PARAM_WEIGHT },
        { "b", 1, { 7 }, bench->numbers, VRT_PARAM_TABLE },
        { "c", 2, { 15, 13 }, bench->numbers, VRT_PARAM_WEIGHT },
        { "d", 4, { 8, 3, 3, 3 }, bench->numbers, VRT_PARAM_WEIGHT_DEFORM },
        { "e", 4, { 24, 6, 3, 3 }, bench->numbers, VRT_PARAM_WEIGHT },
    };
    memcpy(bench->params, params, sizeof(params));
    bench->pack = (struct vrt_pack){ bench->params, N_PARAMS, VRT_DTYPE_F32 };
    if (vrt_registry_new(&(struct vrt_registry_params){ .values = TEST_CPUS(3, 1),
                                                        .fault = fault },
                         &bench->registry, &error))
        test_fail("%s", error.message);
    for (int i = 0; i < n_devices; i++) {
        snprintf(name, sizeof(name), "%s:%d", kind, i);
        const struct vrt_device_info *info = vrt_registry_find(bench->registry, name);
        if (!info)
            test_skip("no such device in this build");
        expect_int(vrt_device_open(bench->registry, info, &bench->devices[i]), 0);
    }
}

static void teardown(struct bench *bench)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bench->devices); i++)
        vrt_device_close(bench->devices[i]);
    vrt_registry_free(bench->registry);
}

static void test_checksum(void)
{
    unsigned char bytes[40] = { 1, 2, 3, [16] = 9, [33] = 7 };
    const uint64_t all = vrt_checksum_bytes(bytes, 0, sizeof(bytes));
    uint64_t sum = 0;

    /* Parts in any order, and gaps of zeros left out. */
    sum += vrt_checksum_bytes(bytes + 32, 32, 2);
    sum += vrt_checksum_bytes(bytes + 16, 16, 8);
    sum += vrt_checksum_bytes(bytes, 0, 3);
    expect_true(sum == all);
    bytes[33] = 6;
    expect_true(vrt_checksum_bytes(bytes, 0, sizeof(bytes)) != all);
    bytes[33] = 7;
    /* The same words in other places. */
    bytes[16] = 0, bytes[24] = 9;
    expect_true(vrt_checksum_bytes(bytes, 0, sizeof(bytes)) != all);
}

/* Packed by chunks or at once, the bytes are the same; a chunk is as large as asked for. */
static void fill_by_chunks(const char *kind)
{
    struct bench bench;
    struct vrt_packed *whole, *chunked;
    struct vrt_replica *replica;
    size_t ready = 0, last = 0;
    uint64_t checksum;
    int n_chunks = 0;

    setup(&bench, kind, 1, NULL);
    expect_int(vrt_packed_new(bench.devices[0], &bench.pack, &whole), 0);
    expect_int(vrt_packed_fill(whole, &bench.pack, SIZE_MAX, &ready), 0);
    expect_int(ready, vrt_packed_bytes(whole));
    expect_true(vrt_packed_checksum(whole) != 0);

    expect_int(vrt_packed_new(bench.devices[0], &bench.pack, &chunked), 0);
    expect_int(vrt_packed_bytes(chunked), vrt_packed_bytes(whole));
    expect_int(vrt_replica_begin(bench.devices[0], chunked, &replica), 0);
    expect_int(vrt_device_used_bytes(bench.devices[0]), vrt_packed_bytes(whole));
    for (ready = 0; ready < vrt_packed_bytes(chunked); n_chunks++) {
        last = ready;
        expect_int(vrt_packed_fill(chunked, &bench.pack, 512, &ready), 0);
        expect_true(ready >= last + 512 || ready == vrt_packed_bytes(chunked));
        expect_int(vrt_replica_fill(bench.devices[0], replica, chunked,
                                    (size_t[2]){ last, ready }), 0);
    }
    expect_true(n_chunks > 1);
    expect_true(vrt_packed_checksum(chunked) == vrt_packed_checksum(whole));
    expect_int(vrt_replica_checksum(bench.devices[0], replica, &checksum), 0);
    expect_true(checksum == vrt_packed_checksum(whole));
    /* Nothing is left to do. */
    expect_int(vrt_packed_fill(chunked, &bench.pack, 512, &ready), 0);
    expect_int(ready, vrt_packed_bytes(chunked));
    vrt_replica_free(bench.devices[0], replica);
    vrt_packed_unref(chunked);
    vrt_packed_unref(whole);
    expect_true(!vrt_packed_unref(NULL) && !vrt_replica_free(bench.devices[0], NULL));
    teardown(&bench);
}

static void test_chunks(void)
{
    fill_by_chunks("ref");
    fill_by_chunks("cpu");
}

/* What the first device packed serves the others, and outlives the device. */
static void test_shared(void)
{
    struct bench bench;
    struct vrt_packed *packed;
    struct vrt_replica *replicas[3];
    uint64_t checksum;
    size_t ready;

    setup(&bench, "cpu", 3, NULL);
    expect_int(vrt_packed_new(bench.devices[0], &bench.pack, &packed), 0);
    expect_int(vrt_packed_fill(packed, &bench.pack, SIZE_MAX, &ready), 0);
    for (int i = 0; i < 3; i++) {
        expect_int(vrt_replica_begin(bench.devices[i], packed, &replicas[i]), 0);
        expect_true(vrt_replica_packed(replicas[i]) == packed);
        expect_int(vrt_replica_bytes(bench.devices[i], replicas[i]), vrt_packed_bytes(packed));
        expect_int(vrt_replica_can_receive(bench.devices[i]), 0);
        expect_int(vrt_group_is_possible(bench.devices[i]), 0);
    }
    vrt_packed_unref(packed);
    vrt_replica_free(bench.devices[0], replicas[0]);
    bench.devices[0] = vrt_device_close(bench.devices[0]);
    for (int i = 1; i < 3; i++) {
        expect_int(vrt_replica_checksum(bench.devices[i], replicas[i], &checksum), 0);
        expect_true(checksum == vrt_packed_checksum(vrt_replica_packed(replicas[i])));
        vrt_replica_free(bench.devices[i], replicas[i]);
    }
    teardown(&bench);
}

static void test_bad_params(void)
{
    const float data[6] = { 0 };
    const struct vrt_param bads[] = {
        { "no dims", 0, { 0 }, data },           { "five dims", 5, { 1, 1, 1, 1 }, data },
        { "no data", 1, { 1 }, NULL },           { "a zero", 2, { 2, 0 }, data },
        { "large", 3, { 1 << 20, 1 << 20, 1 << 20 }, data },
        { "of no use", 1, { 1 }, data, VRT_PARAM_USE_COUNT },
    };
    struct vrt_replica *replica = NULL;
    struct bench bench;

    setup(&bench, "ref", 1, NULL);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bads); i++)
        expect_int(vrt_replica_new(bench.devices[0], &bads[i], 1, VRT_DTYPE_F32, &replica),
                   -EINVAL);
    expect_int(vrt_device_used_bytes(bench.devices[0]), 0);
    teardown(&bench);
}

static void test_refused(void)
{
    struct bench bench;
    struct vrt_packed *packed;
    struct vrt_replica *replica = NULL;
    struct vrt_device *ref = NULL;
    struct vrt_group_key key;
    size_t ready;

    setup(&bench, "cpu", 1, NULL);
    expect_int(vrt_device_open(bench.registry, vrt_registry_find(bench.registry, "ref:0"), &ref),
               0);
    struct vrt_pack bad = bench.pack;
    expect_int(vrt_packed_new(bench.devices[0], &bench.pack, &packed), 0);
    bad.n_params--;
    expect_int(vrt_packed_fill(packed, &bad, 1, &ready), -EINVAL);
    /* Another kind of device, too little memory, bytes that there aren't, a group of none. */
    expect_int(vrt_replica_begin(ref, packed, &replica), -EINVAL);
    vrt_device_limit_memory(bench.devices[0], (int64_t)vrt_packed_bytes(packed) - 1);
    expect_int(vrt_replica_begin(bench.devices[0], packed, &replica), VRT_BACKEND_E_NOMEM);
    vrt_device_limit_memory(bench.devices[0], 0);
    expect_int(vrt_replica_begin(bench.devices[0], packed, &replica), 0);
    expect_int(vrt_replica_fill(bench.devices[0], replica, packed,
                                (size_t[2]){ 0, vrt_packed_bytes(packed) + 1 }), -EINVAL);
    expect_int(vrt_replica_receive(bench.devices[0], replica, replica), -EINVAL);
    expect_int(vrt_group_key_new(bench.devices[0], &key), -EINVAL);
    vrt_replica_free(bench.devices[0], replica);
    vrt_packed_unref(packed);
    vrt_device_close(ref);
    teardown(&bench);
}

static void test_faults(void)
{
    struct bench bench;
    struct vrt_packed *packed;
    struct vrt_replica *replica, *other;
    uint64_t checksum;
    size_t range[2] = { 0, 0 };

    setup(&bench, "cpu", 2, "cpu:0 pack:1 nomem; cpu:0 replica:1 fail; cpu:0 copy:2 corrupt; "
                            "cpu:0 checksum:3 lost; cpu:1 copy:1 lost");
    expect_int(vrt_packed_new(bench.devices[0], &bench.pack, &packed), VRT_BACKEND_E_NOMEM);
    expect_int(vrt_packed_new(bench.devices[0], &bench.pack, &packed), 0);
    expect_int(vrt_packed_fill(packed, &bench.pack, SIZE_MAX, &range[1]), 0);
    expect_int(vrt_replica_begin(bench.devices[0], packed, &replica), VRT_BACKEND_E_FAILED);
    expect_int(vrt_replica_begin(bench.devices[0], packed, &replica), 0);
    expect_int(vrt_replica_fill(bench.devices[0], replica, packed, (size_t[2]){ 0, 8 }), 0);
    expect_int(vrt_replica_fill(bench.devices[0], replica, packed,
                                (size_t[2]){ 8, range[1] }), 0);
    /* Another one that goes makes nothing good. */
    expect_int(vrt_replica_begin(bench.devices[0], packed, &other), 0);
    vrt_replica_free(bench.devices[0], other);
    expect_int(vrt_replica_checksum(bench.devices[0], replica, &checksum), 0);
    expect_true(checksum != vrt_packed_checksum(packed));
    expect_int(vrt_replica_fill(bench.devices[0], replica, packed, range), 0);
    expect_int(vrt_replica_checksum(bench.devices[0], replica, &checksum), 0);
    expect_true(checksum == vrt_packed_checksum(packed));
    expect_int(vrt_replica_checksum(bench.devices[0], replica, &checksum), VRT_BACKEND_E_LOST);
    vrt_replica_free(bench.devices[0], replica);

    expect_int(vrt_replica_begin(bench.devices[1], packed, &replica), 0);
    expect_int(vrt_replica_fill(bench.devices[1], replica, packed, range), VRT_BACKEND_E_LOST);
    expect_int(vrt_replica_checksum(bench.devices[1], replica, &checksum), VRT_BACKEND_E_LOST);
    vrt_replica_free(bench.devices[1], replica);
    vrt_packed_unref(packed);
    teardown(&bench);
}

TEST_MAIN(
    { "checksum", test_checksum },     { "chunks", test_chunks },
    { "bad-params", test_bad_params }, { "refused", test_refused },
    { "shared", test_shared },         { "faults", test_faults },
)
