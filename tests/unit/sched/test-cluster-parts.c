/* SPDX-License-Identifier: MIT */
/* daemon/cluster/parts: how a film is cut; prints how far from the fluid bound that is. */

#include "tests/unit/test.h"

#include <stdbool.h>

#include "base/macro.h"
#include "daemon/cluster/parts.h"

#define N_MAX 2000
#define W VRT_CLUSTER_READ_WHOLE

struct film {
    struct vrt_segment_plan segments[N_MAX];
    size_t n;
    int64_t n_frames, largest;
    int64_t read_share;
};

static uint64_t random_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/* Segments of up to `most` frames, half as many at least, as scene cuts make them. */
static struct film film_of(int64_t n_frames, int64_t most, int64_t read_share, uint64_t state)
{
    struct film film = { .read_share = read_share };

    while (film.n_frames < n_frames) {
        int64_t n = most - (int64_t)(random_bits(&state) % (uint64_t)(most / 2 + 1));
        n = VRT_MIN(n, n_frames - film.n_frames);
        expect_true(film.n < N_MAX);
        film.segments[film.n++].n_frames = n;
        film.n_frames += n;
        film.largest = VRT_MAX(film.largest, n);
    }
    return film;
}

static struct vrt_cluster_range part_of(const struct film *film, int64_t i, int64_t n)
{
    return vrt_cluster_part(film->segments, film->n, film->read_share, i, n);
}

/* When the last of n tasks ends, each on a node of its own, in thousandths of a frame's making. */
static double played(const struct film *film, int64_t n)
{
    int64_t at = 0, frame = 0;
    double end = 0;

    for (int64_t i = 0; i < n; i++) {
        const struct vrt_cluster_range part = part_of(film, i, n);
        const int64_t first = frame;
        expect_int(part.first, at);
        expect_true(part.end >= part.first);
        for (; at < part.end; at++)
            frame += film->segments[at].n_frames;
        if (frame > first)
            end = VRT_MAX(end, (double)(film->read_share * first + W * (frame - first)));
    }
    expect_int(at, film->n);
    return end;
}

/* The same, if frames could be divided: nothing is shorter. */
static double fluid(const struct film *film, int64_t n)
{
    double less = 0, enough = (double)film->n_frames * (W + (double)film->read_share);

    for (int step = 0; step < 200; step++) {
        const double middle = (less + enough) / 2;
        double frame = 0;
        for (int64_t i = 0; i < n; i++)
            frame += VRT_MAX(0, (middle - (double)film->read_share * frame) / W);
        if (frame >= (double)film->n_frames)
            enough = middle;
        else
            less = middle;
    }
    return enough;
}

/* All parts together are the film, in order, and none is longer than whole segments make it. */
static void test_bound(void)
{
    static const int64_t shares[] = { 0, 1, 20, 80, 300, 1000 };

    for (uint64_t seed = 0; seed < 40; seed++)
        for (size_t s = 0; s < VRT_ARRAY_SIZE(shares); s++) {
            const struct film film = film_of(1 + 97 * (int64_t)seed, 30, shares[s], seed);
            for (int64_t n = 1; n < 80; n += 1 + n / 4) {
                const double bound = fluid(&film, n) + (double)(W * film.largest);
                const double end = played(&film, n);
                if (end > bound)
                    test_fail("%lld parts of %lld frames take %.0f, not %.0f", (long long)n,
                              (long long)film.n_frames, end, bound);
            }
        }
}

/* Where the plan knows how to begin to read at each part, reading counts nothing; where it does up
 * to somewhere, all of the film is in a part still. */
static void test_bookmarks(void)
{
    for (uint64_t seed = 0; seed < 40; seed++)
        for (int64_t n = 1; n < 80; n += 1 + n / 4) {
            struct film film = film_of(1 + 97 * (int64_t)seed, 30, 0, seed);
            const struct film unread = film;
            const double without = played(&unread, n);
            film.read_share = 300;
            for (size_t k = 0; k < film.n; k++)
                film.segments[k].prime.first = 1;
            for (int64_t i = 0; i < n; i++) {
                expect_int(part_of(&film, i, n).first, part_of(&unread, i, n).first);
                expect_int(part_of(&film, i, n).end, part_of(&unread, i, n).end);
            }
            for (size_t k = film.n / 2; k < film.n; k++)
                film.segments[k].prime.first = 0;
            expect_true(played(&film, n) >= without);
        }
}

/* Two hours of film, whose segments have as many frames as a network of 0.1 s a frame is given. */
static void test_fluid(void)
{
    static const int64_t shares[] = { 0, 20, 80 };

    printf("nodes  reading: of making  times the fluid bound\n");
    for (size_t s = 0; s < VRT_ARRAY_SIZE(shares); s++) {
        const struct film film = film_of(172800, 128, shares[s], 7);
        for (int64_t n = 1; n <= 64; n *= 2) {
            const double ratio = played(&film, n) / fluid(&film, n);
            printf("%5lld  %19.3f  %.4f\n", (long long)n, (double)shares[s] / W, ratio);
            expect_true(ratio >= 1 - 1e-9 && ratio <= 1.05);
        }
    }
}

/* The longest task is as short as any cut into whole segments lets it be: of few, all cuts. */
static void test_best(void)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct film film = film_of(60, 14, seed % 3 * 200, seed);
        double best = 1e18;
        for (size_t a = 0; a <= film.n; a++)
            for (size_t b = a; b <= film.n; b++) {
                const size_t ends[] = { a, b, film.n };
                int64_t frame = 0;
                double end = 0;
                for (size_t i = 0, at = 0; i < VRT_ARRAY_SIZE(ends); i++) {
                    const int64_t first = frame;
                    for (; at < ends[i]; at++)
                        frame += film.segments[at].n_frames;
                    if (frame > first)
                        end = VRT_MAX(end, (double)(film.read_share * first + W * (frame - first)));
                }
                best = VRT_MIN(best, end);
            }
        expect_near(played(&film, 3), best, 0.5);
    }
}

/* More frames than there are, and nothing overflows. */
static void test_huge(void)
{
    struct film film = { .n = 3, .n_frames = 3 * (INT64_MAX / 4), .read_share = W };

    for (size_t i = 0; i < film.n; i++)
        film.segments[i].n_frames = INT64_MAX / 4;
    for (int64_t i = 0; i < 3; i++)
        expect_int(part_of(&film, i, 3).first, i);
    expect_int(part_of(&film, 2, 3).end, 3);
}

TEST_MAIN(
    { "bound", test_bound },
    { "fluid", test_fluid },
    { "bookmarks", test_bookmarks },
    { "best", test_best },
    { "huge", test_huge },
)
