/* SPDX-License-Identifier: MIT */
/* daemon/turns: who begins next. */

#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/access/turns.h"

#define N 200

static void test_order(void)
{
    struct vrt_turn flood[N], other[2];
    struct vrt_turns turns;

    vrt_turns_init(&turns, 3, 2);
    expect_true(vrt_turns_next(&turns) == NULL);
    for (int i = 0; i < N; i++)
        vrt_turns_wait(&turns, &flood[i], 1);
    expect_true(vrt_turns_next(&turns) == &flood[0]);
    expect_true(vrt_turns_next(&turns) == &flood[1]);
    /* The last place is another's, though 198 wait for it. */
    expect_true(vrt_turns_next(&turns) == NULL);
    vrt_turns_wait(&turns, &other[0], 2);
    vrt_turns_wait(&turns, &other[1], 2);
    expect_true(vrt_turns_next(&turns) == &other[0]);
    expect_true(vrt_turns_next(&turns) == NULL);
    vrt_turns_leave(&turns, &flood[0]);
    expect_true(!flood[0].is_going && flood[1].is_going);
    /* Both have one: the oldest goes. */
    expect_true(vrt_turns_next(&turns) == &flood[2]);
    vrt_turns_leave(&turns, &other[0]);
    expect_true(vrt_turns_next(&turns) == &other[1]);
    vrt_turns_leave(&turns, &other[1]);
    /* Who gives up while he waits is never begun. */
    vrt_turns_leave(&turns, &flood[3]);
    vrt_turns_leave(&turns, &flood[1]);
    expect_true(vrt_turns_next(&turns) == &flood[4]);
    expect_int(turns.n_going, 2);
}

/* Many users at random: never more than may, and nobody with none going waits for one who has. */
static void test_random(void)
{
    enum { USERS = 9, MAX = 5, EACH = 2 };
    struct vrt_turn all[N];
    bool in[N] = { false };
    struct vrt_turns turns;
    unsigned random = 1;
    int n_begun = 0;

    vrt_turns_init(&turns, MAX, EACH);
    for (int i = 0; i < 100000; i++) {
        random = random * 1103515245 + 12345;
        int k = (int)(random >> 16) % N;
        if (in[k])
            vrt_turns_leave(&turns, &all[k]);
        else
            vrt_turns_wait(&turns, &all[k], (random >> 8) % USERS);
        in[k] = !in[k];
        for (struct vrt_turn *turn; (turn = vrt_turns_next(&turns));)
            n_begun++;
        int going[USERS] = { 0 }, waiting[USERS] = { 0 }, sum = 0;
        for (int j = 0; j < N; j++) {
            if (!in[j])
                continue;
            sum += all[j].is_going;
            going[all[j].uid] += all[j].is_going;
            waiting[all[j].uid] += !all[j].is_going;
        }
        expect_int(turns.n_going, sum);
        expect_true(sum <= MAX);
        for (int user = 0; user < USERS; user++) {
            expect_true(going[user] <= EACH);
            if (sum < MAX)
                expect_true(!waiting[user] || going[user] == EACH);
        }
    }
    expect_true(n_begun > 1000);
}

TEST_MAIN(
    { "order", test_order },
    { "random", test_random },
)
