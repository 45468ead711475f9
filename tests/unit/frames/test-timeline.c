/* SPDX-License-Identifier: MIT */

/* One clock for inputs whose own jumps: by hand, and thousands of made-up recordings. */

#include "base/macro.h"
#include "frames/decode/packets.h"
#include "frames/decode/timeline.h"
#include "tests/unit/test.h"

#define MS 1000
#define N_STREAMS 3

enum { VIDEO, SOUND, TEXT };

static const int64_t lasts_us[N_STREAMS] = { 40 * MS, 24 * MS, 500 * MS };

struct play {
    struct vrt_timeline timeline;
    struct vrt_timeline_stream streams[N_STREAMS];
    int64_t held[64];               /* times, by the file's clock */
    int held_of[64], n_held;
    int64_t last_us[N_STREAMS];     /* by the new clock; INT64_MIN: none */
    int64_t shown_us[N_STREAMS][4096];
    int n_shown[N_STREAMS];
};

static void begin(struct play *play)
{
    *play = (struct play){ .streams[TEXT].is_sparse = true };
    for (int s = 0; s < N_STREAMS; s++)
        play->last_us[s] = INT64_MIN;
}

static void take(struct play *play, int stream, int64_t time_us)
{
    expect_true(play->n_shown[stream] < 4096);
    play->shown_us[stream][play->n_shown[stream]++] = time_us;
    play->last_us[stream] = time_us;
}

static void settle(struct play *play)
{
    int64_t offset_us = vrt_timeline_settle(&play->timeline, play->streams, N_STREAMS);

    for (int i = 0; i < play->n_held; i++)
        take(play, play->held_of[i], play->held[i] + offset_us);
    play->n_held = 0;
}

/* As packets.c does. */
static void show(struct play *play, int stream, int64_t time_us)
{
    int64_t offset_us = 0;
    int r = vrt_timeline_show(&play->timeline, &play->streams[stream], time_us, lasts_us[stream],
                              &offset_us);

    if (r == VRT_TIMELINE_AGAIN) {
        settle(play);
        show(play, stream, time_us);
        return;
    }
    if (r == 0) {
        take(play, stream, time_us + offset_us);
        return;
    }
    expect_int(r, VRT_TIMELINE_HELD);
    expect_true(play->n_held < 64);
    play->held_of[play->n_held] = stream;
    play->held[play->n_held++] = time_us;
    if (vrt_timeline_is_complete(&play->timeline, play->streams, N_STREAMS))
        settle(play);
}

/* A recording: video and sound from these times on, in the order of time, `lead` packets of the
 * video ahead. */
static void record(struct play *play, int64_t video_us, int64_t sound_us, int64_t length_us,
                   int lead)
{
    int64_t end_us = VRT_MAX(video_us, sound_us) + length_us;
    int ahead = 0;

    while (video_us < end_us || sound_us < end_us) {
        bool is_video = video_us < end_us &&
                        (sound_us >= end_us || ahead < lead || video_us <= sound_us);
        ahead += is_video;
        show(play, is_video ? VIDEO : SOUND, is_video ? video_us : sound_us);
        if (is_video)
            video_us += lasts_us[VIDEO];
        else
            sound_us += lasts_us[SOUND];
    }
}

/* Each stream goes on where it was, or later; never back, and by no more than `gap_us` later. */
static void expect_smooth(const struct play *play, int stream, int64_t gap_us)
{
    for (int i = 1; i < play->n_shown[stream]; i++) {
        int64_t step_us = play->shown_us[stream][i] - play->shown_us[stream][i - 1];
        expect_true(step_us >= lasts_us[stream] && step_us <= lasts_us[stream] + gap_us);
    }
}

/* What never jumps stays as it is: gaps of seconds, and times that go back a little, too. */
static void test_untouched(void)
{
    struct play play;

    begin(&play);
    for (int i = 0; i < 100; i++) {
        int64_t time_us = 5000 * MS + (i + (i >= 50 ? 200 : 0)) * lasts_us[VIDEO] -
                          (i % 7 == 3 ? 60 * MS : 0);
        show(&play, VIDEO, time_us);
        expect_int(play.last_us[VIDEO], time_us);
        if (i % 40 == 0) {
            show(&play, TEXT, time_us * 3);
            expect_int(play.last_us[TEXT], time_us * 3);
        }
    }
    expect_int(play.timeline.n_jumps, 0);
}

/* Two recordings, the second of which begins as the first did: sound and picture stay together. */
static void test_joined(void)
{
    struct play play;

    for (int lead = 0; lead < 10; lead++) {
        begin(&play);
        record(&play, 1400 * MS, 1390 * MS, 6000 * MS, lead);
        int n = play.n_shown[VIDEO], m = play.n_shown[SOUND];
        record(&play, 1400 * MS, 1390 * MS, 6000 * MS, lead);
        expect_int(play.timeline.n_jumps, 1);
        expect_smooth(&play, VIDEO, 100 * MS);
        expect_smooth(&play, SOUND, 100 * MS);
        /* As far apart as in the file. */
        expect_int(play.shown_us[VIDEO][n] - play.shown_us[SOUND][m], 10 * MS);
    }
}

/* A stream that has ended isn't waited for, and a text goes to the side that it is of. */
static void test_one_ends(void)
{
    struct play play;

    begin(&play);
    record(&play, 0, 0, 2000 * MS, 0);
    for (int i = 0; i < 100; i++)
        show(&play, VIDEO, 2000 * MS + i * lasts_us[VIDEO]);
    show(&play, VIDEO, 0);
    expect_int(play.n_held, 0);
    expect_int(play.timeline.n_jumps, 1);
    expect_int(play.last_us[VIDEO], 6000 * MS);
    show(&play, TEXT, 40 * MS);
    expect_int(play.last_us[TEXT], 6040 * MS);
    show(&play, SOUND, 48 * MS);
    expect_int(play.last_us[SOUND], 6048 * MS);
}

/* Recordings of any lengths from any times on: no stream overlaps itself, and each recording's
 * picture and sound are as far apart as they were. */
static void test_any(void)
{
    static struct play play;
    uint64_t random = 7;

    for (int round = 0; round < 2000; round++) {
        int jumps = 0;
        int64_t starts[5], skews[5], n[5][2];
        begin(&play);
        for (int part = 0; part < 5; part++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            int64_t before_us = part ? starts[part - 1] + 20000 * MS : 0;
            starts[part] = (int64_t)(random >> 40) * MS;
            if (part && starts[part] > starts[part - 1] && starts[part] < before_us)
                starts[part] = before_us;
            skews[part] = (int64_t)(random >> 20 & 511) * MS - 256 * MS;
            n[part][VIDEO] = play.n_shown[VIDEO];
            n[part][SOUND] = play.n_shown[SOUND];
            record(&play, starts[part], starts[part] + skews[part],
                   (int64_t)(1000 + (random >> 32 & 2047)) * MS, (int)(random >> 60));
            jumps += part > 0;
            expect_int(play.n_held, 0);
        }
        expect_int(play.timeline.n_jumps, jumps);
        expect_smooth(&play, VIDEO, 1500 * MS);
        expect_smooth(&play, SOUND, 1500 * MS);
        for (int part = 0; part < 5; part++)
            expect_int(play.shown_us[SOUND][n[part][SOUND]] -
                       play.shown_us[VIDEO][n[part][VIDEO]], skews[part]);
    }
}

/* What no packet's time is is none. */
static void test_times(void)
{
    static const struct {
        int64_t time;
        AVRational time_base;
        bool is_one;
    } rows[] = {
        { 0, { 1, 1000 }, true }, { -5, { 1, 1000 }, true }, { AV_NOPTS_VALUE, { 1, 1 }, false },
        { 1732712400, { 1, 1 }, true }, { INT64_C(1) << 32, { 1, 1 }, false },
        { INT64_C(1) << 61, { 1, INT32_MAX }, true }, { INT64_MAX, { 1, INT32_MAX }, false },
        { -(INT64_C(1) << 61) - 1, { 1, INT32_MAX }, false }, { INT64_MAX, { 1, 1000 }, false },
        { INT64_MIN + 1, { 1001, 30000 }, false }, { 1, { INT32_MAX, 1 }, true },
        { 2, { INT32_MAX, 1 }, false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++)
        expect_int(vrt_packets_time(rows[i].time, rows[i].time_base),
                   rows[i].is_one ? rows[i].time : AV_NOPTS_VALUE);
}

TEST_MAIN(
    { "times", test_times },
    { "untouched", test_untouched },
    { "joined", test_joined },
    { "one-ends", test_one_ends },
    { "any", test_any },
)
