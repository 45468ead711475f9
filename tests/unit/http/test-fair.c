/* SPDX-License-Identifier: MIT */
/* daemon/fair: who may have how much of a turn. */

#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/http/fair.h"

#define LIMIT 1000

static void test_turns(void)
{
    struct vrt_fair fair = { .n_users = 0 };

    expect_true(vrt_fair_may(&fair, 1, 7, LIMIT));
    vrt_fair_spend(&fair, 1, 7, LIMIT - 1);
    expect_true(vrt_fair_may(&fair, 1, 7, LIMIT));
    vrt_fair_spend(&fair, 1, 7, 1);
    expect_true(!vrt_fair_may(&fair, 1, 7, LIMIT));
    expect_true(vrt_fair_may(&fair, 1, 8, LIMIT));
    vrt_fair_spend(&fair, 1, 8, LIMIT - 1);
    vrt_fair_spend(&fair, 1, 8, 1);
    expect_true(!vrt_fair_may(&fair, 1, 7, LIMIT) && !vrt_fair_may(&fair, 1, 8, LIMIT));
    /* The next turn begins anew for everybody, also before anybody spent anything in it. */
    expect_true(vrt_fair_may(&fair, 2, 7, LIMIT) && vrt_fair_may(&fair, 2, 8, LIMIT));
    vrt_fair_spend(&fair, 2, 8, LIMIT);
    expect_true(vrt_fair_may(&fair, 2, 7, LIMIT) && !vrt_fair_may(&fair, 2, 8, LIMIT));
}

/* More users than are counted: those counted are still held back, and nothing is written past. */
static void test_many(void)
{
    struct {
        struct vrt_fair fair;
        char guard[64];
    } room = { .guard = "guard" };

    for (uid_t uid = 0; uid < 3 * VRT_FAIR_USERS_MAX; uid++)
        vrt_fair_spend(&room.fair, 1, uid, LIMIT);
    for (uid_t uid = 0; uid < 3 * VRT_FAIR_USERS_MAX; uid++)
        expect_int(vrt_fair_may(&room.fair, 1, uid, LIMIT), uid >= VRT_FAIR_USERS_MAX);
    expect_str(room.guard, "guard");
}

TEST_MAIN(
    { "turns", test_turns },
    { "many", test_many },
)
