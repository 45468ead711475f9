/* SPDX-License-Identifier: MIT */
/* daemon/room: what a job's working files will take. */

#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/jobs/room.h"

static const struct vrt_segment_record segments[] = {
    { .number = 0, .n_frames = 10, .size_bytes = 1000 },
    { .number = 1, .n_frames = 10, .size_bytes = 3000 },
};

static void test_nothing_is_known(void)
{
    const struct vrt_room room = { .frames_total = -1, .output_bytes = -1 };

    expect_int(vrt_room_stored_bytes(&room), 0);
    expect_int(vrt_room_output_bytes(&room), 0);
    expect_int(vrt_room_spool_bytes(&room), 0);
    expect_int(vrt_room_next_bytes(&room), 0);
}

/* The segments, and all of them joined. */
static void test_estimate(void)
{
    const struct vrt_room room = { .frames_total = 100, .output_bytes = 5000 };

    expect_int(vrt_room_output_bytes(&room), 5000);
    expect_int(vrt_room_spool_bytes(&room), 10000);
    expect_int(vrt_room_next_bytes(&room), 0);
}

/* What is stored says more than the estimate, and has to be joined too. */
static void test_stored(void)
{
    struct vrt_room room = { .frames_total = 100, .output_bytes = 7, .segments = segments,
                             .n_segments = VRT_ARRAY_SIZE(segments) };

    expect_int(vrt_room_stored_bytes(&room), 4000);
    expect_int(vrt_room_output_bytes(&room), 20000);
    expect_int(vrt_room_spool_bytes(&room), 36000);
    expect_int(vrt_room_next_bytes(&room), 6000);
    /* All there is: only the join is left. */
    room.frames_total = 20;
    expect_int(vrt_room_output_bytes(&room), 4000);
    expect_int(vrt_room_spool_bytes(&room), 4000);
    /* The number of frames was wrong, or isn't known. */
    room.frames_total = 3;
    expect_int(vrt_room_output_bytes(&room), 4000);
    room.frames_total = -1;
    room.output_bytes = 9000;
    expect_int(vrt_room_output_bytes(&room), 9000);
    room.output_bytes = -1;
    expect_int(vrt_room_spool_bytes(&room), 4000);
}

/* Numbers that no video has make no negative ones. */
static void test_extremes(void)
{
    static const struct vrt_segment_record odd[] = {
        { .n_frames = 1, .size_bytes = INT64_MAX },
        { .n_frames = INT64_MAX, .size_bytes = INT64_MAX },
        { .n_frames = -5, .size_bytes = -5 },
    };
    static const int64_t numbers[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++)
        for (size_t n = 0; n <= VRT_ARRAY_SIZE(odd); n++) {
            const struct vrt_room room = { .frames_total = numbers[i], .output_bytes = numbers[i],
                                           .segments = odd, .n_segments = n };
            expect_true(vrt_room_stored_bytes(&room) >= 0);
            expect_true(vrt_room_output_bytes(&room) >= vrt_room_stored_bytes(&room));
            expect_true(vrt_room_spool_bytes(&room) >= vrt_room_output_bytes(&room));
            expect_true(vrt_room_next_bytes(&room) >= 0);
        }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "nothing-is-known", test_nothing_is_known },
        { "estimate", test_estimate },
        { "stored", test_stored },
        { "extremes", test_extremes },
    };

    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
