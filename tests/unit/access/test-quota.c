/* SPDX-License-Identifier: MIT */
/* daemon/quota: random takes and gives against a plain count. */

#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/access/quota.h"

#define N_UIDS 20

static const struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT] = {
    [VRT_QUOTA_CONNECTIONS] = { .per_uid = 3, .all = 10 },
    [VRT_QUOTA_JOBS] = { .per_uid = 1, .all = 4 },
};

static void test_limits(void)
{
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;

    expect_int(vrt_quota_new(limits, &quota), 0);
    for (int i = 0; i < 3; i++)
        expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 0), 0);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 0), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 0), 0);
    for (uid_t uid = 1; uid <= 7; uid++)
        expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, uid), 0);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 1), VRT_QUOTA_E_ALL);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_CONNECTIONS, 0), 3);
    vrt_quota_give(quota, VRT_QUOTA_CONNECTIONS, 0);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 1), 0);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_JOBS, 0), 1);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_JOBS, 99), 0);
}

static void test_other_limits(void)
{
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;
    struct vrt_quota_limit other[VRT_QUOTA_KIND_COUNT];

    memcpy(other, limits, sizeof(other));
    expect_int(vrt_quota_new(limits, &quota), 0);
    for (int i = 0; i < 3; i++)
        expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 7), 0);
    other[VRT_QUOTA_CONNECTIONS].per_uid = 2;
    vrt_quota_configure(quota, other);
    /* Nothing is taken away, and nothing more is given until less is held. */
    expect_int(vrt_quota_held(quota, VRT_QUOTA_CONNECTIONS, 7), 3);
    vrt_quota_give(quota, VRT_QUOTA_CONNECTIONS, 7);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 7), VRT_QUOTA_E_USER);
    vrt_quota_give(quota, VRT_QUOTA_CONNECTIONS, 7);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 7), 0);
    other[VRT_QUOTA_CONNECTIONS].all = 2;
    vrt_quota_configure(quota, other);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 8), VRT_QUOTA_E_ALL);
}

static void test_amounts(void)
{
    const struct vrt_quota_limit bytes[VRT_QUOTA_KIND_COUNT] = {
        [VRT_QUOTA_JOBS] = { .per_uid = 2, .all = 3 },
        [VRT_QUOTA_SPOOL_BYTES] = { .per_uid = INT64_C(1) << 40, .all = INT64_MAX },
    };
    const int64_t tera = INT64_C(1) << 40;
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;

    expect_int(vrt_quota_new(bytes, &quota), 0);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, tera - 1), 0);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, 2), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, INT64_MAX),
               VRT_QUOTA_E_USER);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_SPOOL_BYTES, 1), tera - 1);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, 1), 0);
    vrt_quota_give_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, tera);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_SPOOL_BYTES, 1), 0);

    /* What is there already counts, also over the limits, until it is given back. */
    expect_int(vrt_quota_charge(quota, VRT_QUOTA_JOBS, 1, 5), 0);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 1), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 2), VRT_QUOTA_E_ALL);
    vrt_quota_give_amount(quota, VRT_QUOTA_JOBS, 1, 3);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 1), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 2), 0);
    vrt_quota_give_amount(quota, VRT_QUOTA_JOBS, 1, 2);
    vrt_quota_give(quota, VRT_QUOTA_JOBS, 2);
}

static void test_random(void)
{
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;
    int held[VRT_QUOTA_KIND_COUNT][N_UIDS] = { { 0 } }, sums[VRT_QUOTA_KIND_COUNT] = { 0 };
    unsigned random = 1;

    expect_int(vrt_quota_new(limits, &quota), 0);
    for (int i = 0; i < 100000; i++) {
        random = random * 1103515245 + 12345;
        enum vrt_quota_kind kind = random >> 16 & 1 ? VRT_QUOTA_JOBS : VRT_QUOTA_CONNECTIONS;
        unsigned uid = (random >> 17) % N_UIDS;
        if (random >> 30 & 1) {
            int wanted = held[kind][uid] >= limits[kind].per_uid ? VRT_QUOTA_E_USER :
                         sums[kind] >= limits[kind].all ? VRT_QUOTA_E_ALL : VRT_QUOTA_OK;
            expect_int(vrt_quota_take(quota, kind, uid), wanted);
            held[kind][uid] += wanted == VRT_QUOTA_OK;
            sums[kind] += wanted == VRT_QUOTA_OK;
        } else if (held[kind][uid] > 0) {
            vrt_quota_give(quota, kind, uid);
            held[kind][uid]--;
            sums[kind]--;
        }
        expect_int(vrt_quota_held(quota, kind, uid), held[kind][uid]);
    }
}

TEST_MAIN(
    { "limits", test_limits },
    { "other-limits", test_other_limits },
    { "amounts", test_amounts },
    { "random", test_random },
)
