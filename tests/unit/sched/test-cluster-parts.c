/* SPDX-License-Identifier: MIT */
/* daemon/cluster: how a film is cut, what a task finds to do, and how it ends. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/macro.h"
#include "daemon/cluster/task-impl.h"

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

#define SEGMENT(next, prime) \
    "{\"n_frames\": 8, \"next_shard\": " next ", \"prime_shard\": " prime ", \"n_concealed\": 0}"
#define PLAN(version, segments) \
    "{\"version\": " version ", \"span_ns\": 5, \"segments\": [" segments "], \"info\": \"{}\", " \
    "\"work\": \"{}\", \"request\": \"{\\\"input\\\": {\\\"name\\\": \\\"a\\\"}, \\\"output\\\": " \
    "{\\\"name\\\": \\\"b\\\"}}\"}"
#define THREE SEGMENT("2", "1") ", " SEGMENT("4", "3") ", " SEGMENT("6", "6")
#define SENSELESS "plan.json makes no sense to this version of vrtd: all nodes need the same"

struct task {
    const char *name, *made;        /* numbers of segments that are there */
    int starts, result;             /* as noted, and of beginning it */
    const char *fails, *says;       /* fails: with this id; says: why it can't begin */
    bool is_done;                   /* what it finds to do */
    int exit;
    const char *state, *id;         /* noted at the end; */
    int n_starts;
    int64_t first, end;             /* what it finds to do; end 0: nothing */
    const char *plan;               /* NULL: one of three segments */
};

static FILE *open_in(const char *folder, const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    expect_true(file);
    return file;
}

static void remove_folder(const char *folder)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    expect_int(system(command), 0);
}

static void try_task(const char *folder, const struct task *row)
{
    const char *note_name = strcmp(row->name, "0/1") == 0 ? "rest" :
                            strcmp(row->name, "1/3") == 0 ? "1" : row->name;
    struct vrt_error error = { .id = NULL }, fails = { .id = row->fails };
    struct vrt_cluster_folder film;
    struct vrt_cluster_note note;
    struct vrt_task_state *task;
    char name[32];

    expect_int(vrt_cluster_folder_open(folder, &film, &error), 0);
    FILE *file = open_in(folder, "plan.json");
    fputs(row->plan ? row->plan : PLAN("2", THREE), file);
    fclose(file);
    for (const char *made = row->made; *made; made++) {
        snprintf(name, sizeof(name), "segments/0000%c.seg", *made);
        fclose(open_in(folder, name));
    }
    vrt_cluster_note_write(&film, note_name, &(struct vrt_cluster_note){ .starts = row->starts });
    expect_int(vrt_task_begin(folder, row->name, &task, &error), row->result);
    expect_contains(error.message, row->says ? row->says : "");
    expect_int(vrt_task_is_due(task), row->result == -ELOOP || row->end > 0);
    if (row->end > 0 && strcmp(row->name, "join") != 0) {
        expect_int(task->range.first, row->first);
        expect_int(vrt_task_part(task)->end_segment, row->end);
        expect_int(vrt_task_part(task)->prime_shard, row->first ? 2 * row->first - 1 : 0);
    }
    task->is_done = row->is_done;
    /* Its video, or what restores it, is another. */
    if (strcmp(row->id, "input.other") == 0)
        vrt_task_segment_stored(task, NULL, &(struct vrt_segment_record){
            .number = row->first, .n_frames = 8 + row->starts, .next_shard = 3 - row->starts,
        });
    snprintf(fails.message, sizeof(fails.message), "%s", row->fails ? "so it went" : "");
    expect_int(vrt_task_end(task, row->result ? &error : &fails), row->exit);
    vrt_cluster_note_read(&film, note_name, &note);
    expect_str(note.state, row->state);
    expect_str(note.error_id, row->id);
    expect_int(note.starts, row->n_starts);
    /* What is joined goes. */
    expect_int(vrt_cluster_segment_bytes(&film, 0), row->made[0] == '0' &&
               (strcmp(row->name, "join") != 0 || row->exit) ? 0 : -1);
    vrt_cluster_note_done(&note);
    vrt_cluster_folder_done(&film);
}

static void test_names(void)
{
    static const char *const names[] = { "plan", "join", "0/1", "9/10", "", "3", "3/3", "-1/3",
                                         "1/0", "1/2x", "all", "4/4", "/2", "1/2147483648" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++)
        expect_int(vrt_task_is_one(names[i]), i < 4);
}

/* What may be otherwise at another time, or on another node, is tried again, so often. */
static void test_tasks(void)
{
    static const struct task rows[] = {
#define AGAIN VRT_CLUSTER_AGAIN, "interrupted"
        { "0/1", "", 0, 0, NULL, NULL, false, AGAIN, "job.parked", 1, 0, 3 },
        { "0/1", "1", 0, 0, "device.lost", NULL, false, AGAIN, "device.lost", 1, 0, 1 },
        { "0/1", "0", 1, 0, "media.failed", NULL, false, AGAIN, "media.failed", 2, 1, 3 },
        { "0/1", "01", 0, 0, "spool.full", NULL, false, AGAIN, "spool.full", 1, 2, 3 },
        { "1/3", "02", 0, 0, "store.full", NULL, false, AGAIN, "store.full", 1, 1, 2 },
        { "0/1", "", 0, 0, "output.full", NULL, false, AGAIN, "output.full", 1, 0, 3 },
        { "0/1", "", 0, 0, "out_of_memory", NULL, false, AGAIN, "out_of_memory", 1, 0, 3 },
        { "0/1", "", 0, 0, "cluster.folder", NULL, true, AGAIN, "cluster.folder", 1, 0, 3 },
        { "0/1", "", 0, 0, "shutting_down", NULL, false, AGAIN, "shutting_down", 1, 0, 3 },
        { "0/1", "", 0, 0, "output.job", NULL, false, 1, "failed", "output.job", 1, 0, 3 },
        { "0/1", "", 2, 0, "device.lost", NULL, false, 1, "failed", "device.lost", 3, 0, 3 },
        { "0/1", "", 0, 0, NULL, NULL, true, 1, "failed", "input.other", 1, 0, 3 },
        { "0/1", "", 1, 0, NULL, NULL, true, 1, "failed", "input.other", 2, 0, 3 },
        { "0/1", "", 0, 0, NULL, NULL, false, AGAIN, "job.parked", 1, 0, 3, PLAN("1", THREE) },
        { "0/1", "", 3, -ELOOP, NULL, "task rest was begun 3 times and got nothing done; last: its "
          "node or its process ended without a word", false, 1, "failed", "job.crash_loop", 3 },
        { "0/1", "0", 0, 0, NULL, NULL, true, VRT_CLUSTER_MORE, "running", "", 1, 1, 3 },
        { "0/1", "012", 7, 0, NULL, NULL, false, VRT_CLUSTER_DONE, "done", "", 7 },
        { "join", "012", 0, 0, NULL, NULL, true, VRT_CLUSTER_DONE, "done", "", 1, 0, 3 },
        { "join", "01", 0, -ENOENT, NULL, "segment 2 of the result is not there: see what its ",
          false, 1, "failed", "cluster.segment", 0, 0, 3 },
        { "join", "2", 0, -ENOENT, NULL, "segment 0 and others of the result are not there: see ",
          false, 1, "failed", "cluster.segment", 0, 0, 3 },
        { "plan", "", 9, 0, NULL, NULL, false, VRT_CLUSTER_DONE, "done", "", 9 },
#define REFUSED(plan) \
    { "0/1", "", 0, -EINVAL, NULL, SENSELESS, false, 1, "failed", "cluster.folder", 0, 0, 0, plan }
        REFUSED(PLAN("0", THREE)), REFUSED(PLAN("3", THREE)), REFUSED(PLAN("2", "")),
        REFUSED(PLAN("2", SEGMENT("2", "0") ", " SEGMENT("2", "0"))),
        REFUSED(PLAN("2", SEGMENT("2", "3"))),
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        char folder[] = "/tmp/vrt-film-XXXXXX";
        fprintf(stderr, "  %s of %s\n", rows[i].name, rows[i].made);
        expect_true(mkdtemp(folder));
        try_task(folder, &rows[i]);
        remove_folder(folder);
    }
}

/* The plan is what was found, as it was, and what reading took of what making takes. */
static void test_survey(void)
{
    static const struct vrt_segment_plan segments[] = {
        { .n_frames = 1, .next_shard = 1, .prime_shard = 1 },
        { .n_frames = 999, .next_shard = 2 }, { 7000, 9, 4, 3 },
    };
    char folder[] = "/tmp/vrt-film-XXXXXX";
    struct vrt_error error = { .id = NULL };
    struct vrt_cluster_folder film;
    struct vrt_cluster_plan plan;
    struct vrt_task_state *task;

    expect_true(mkdtemp(folder));
    FILE *file = open_in(folder, "request.json");
    fputs("{\"input\": {\"name\": \"a\"}, \"output\": {\"name\": \"b\"}}", file);
    fclose(file);
    expect_int(vrt_task_begin(folder, "plan", &task, &error), 0);
    task->begun_ns = vrt_clock_now_ns() - 1000 * VRT_NS_PER_S;
    task->frames_per_s = 1;
    for (size_t i = 0; i <= VRT_ARRAY_SIZE(segments); i++)
        vrt_task_part(task)->surveyed(task, i < 3 ? &segments[i] : NULL, 77);
    char **const texts[] = { &task->plan.request, &task->plan.info, &task->plan.work };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        *texts[i] = strdup(i == 0 ? "{}" : i == 1 ? "{\"a\": 1}" : "{\"b\": 2}");
    task->is_done = true;
    expect_int(vrt_task_end(task, NULL), VRT_CLUSTER_DONE);
    expect_int(vrt_cluster_folder_open(folder, &film, &error), 0);
    expect_int(vrt_cluster_plan_read(&film, &plan, &error), 0);
    expect_int(plan.span_ns, 77);
    expect_int(plan.read_share, 125);
    expect_int(plan.n_segments, 3);
    for (size_t i = 0; i < plan.n_segments; i++)
        expect_int(memcmp(&plan.segments[i], &segments[i], sizeof(segments[i])), 0);
    expect_str(plan.request, "{}");
    expect_str(plan.info, "{\"a\": 1}");
    expect_str(plan.work, "{\"b\": 2}");
    vrt_cluster_plan_done(&plan);
    vrt_cluster_folder_done(&film);
    remove_folder(folder);
}

TEST_MAIN(
    { "survey", test_survey },
    { "names", test_names },
    { "tasks", test_tasks },
    { "bound", test_bound },
    { "bookmarks", test_bookmarks },
    { "best", test_best },
    { "huge", test_huge },
)
