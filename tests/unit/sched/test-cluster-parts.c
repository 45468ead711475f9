/* SPDX-License-Identifier: MIT */
/* daemon/cluster: how a film is cut, what a task finds to do, and how it ends. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "daemon/cluster/task-impl.h"
#include "daemon/jobs/job.h"

#define N_MAX 2000
#define W VRT_CLUSTER_READ_WHOLE

struct film {
    struct vrt_segment_plan segments[N_MAX];
    size_t n;
    int64_t n_frames;
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

/* A segment that was made: its file gets its place in the film, if it is as planned. */
static void store_segment(struct vrt_task_state *task, const struct vrt_segment_record *segment)
{
    char name[32];

    snprintf(name, sizeof(name), "%s/0000%d.seg", VRT_TASK_JOB_FOLDER, (int)segment->number);
    expect_int(mkdirat(task->attempt_fd, VRT_TASK_JOB_FOLDER, 0700), 0);
    const int fd = openat(task->attempt_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    expect_int(write(fd, "abc", 3), 3);
    close(fd);
    vrt_task_segment_stored(task, NULL, segment);
    expect_int(vrt_cluster_segment_bytes(&task->folder, segment->number),
               task->error.id ? -1 : 3);
    expect_int(task->is_over, task->error.id != NULL);
}

/* What is told of the job, which began, and is done or failed. */
static void tell_job(struct vrt_task_state *task, const struct task *row)
{
    static char warnings[][VRT_API_TEXT_BYTES] = { "one", "two" };
    struct vrt_job job = {
        .info = { .state = VRT_JOB_RUNNING, .warnings = warnings, .n_warnings = 2 },
        .n_segments = 1,
    };

    vrt_task_job_changed(task, &job);
    expect_true(!task->is_over && !task->note.n_warnings);
    job.info.state = row->is_done ? VRT_JOB_DONE : VRT_JOB_FAILED;
    job.info.has_error = row->fails;
    snprintf(job.info.error.id, sizeof(job.info.error.id), "%s", row->fails ? row->fails : "");
    snprintf(job.info.error.message, sizeof(job.info.error.message), "so it went");
    job.info.has_comparison = row->is_done;
    job.info.comparison.width = 7;
    vrt_task_job_changed(task, &job);
    expect_true(task->is_over);
}

static const char *note_of(const struct task *row)
{
    return strcmp(row->name, "0/1") == 0 ? "rest" : strcmp(row->name, "1/3") == 0 ? "1" : row->name;
}

/* What a task finds: the plan, segments, and notes. */
static void make_film(const char *folder, const struct vrt_cluster_folder *film,
                      const struct task *row)
{
    struct vrt_cluster_note note = { .starts = row->starts, .error_id = "input.codec" };
    char name[64];

    FILE *file = open_in(folder, "plan.json");
    fputs(row->plan ? row->plan : PLAN("2", THREE), file);
    fclose(file);
    snprintf(name, sizeof(name), "%s/plan.json", folder);
    expect_int(row->plan && !row->plan[0] ? unlink(name) : 0, 0);
    for (const char *made = row->made; *made; made++) {
        snprintf(name, sizeof(name), "segments/0000%c.seg", *made);
        fclose(open_in(folder, name));
    }
    /* Of what was told when it began last nothing counts, but that it is done. */
    snprintf(note.error, sizeof(note.error), "%s", row->starts == 3 ? "" : "so it was");
    snprintf(note.state, sizeof(note.state), "%s", row->end ? "failed" : row->state);
    vrt_cluster_note_write(film, note_of(row), &note);
    vrt_cluster_note_write(film, "plan", &note);
}

/* What is noted and there when it is over. */
static void expect_ended(const struct vrt_cluster_folder *film, const struct task *row)
{
    struct vrt_cluster_note note;

    vrt_cluster_note_read(film, note_of(row), &note);
    expect_str(note.state, row->state);
    expect_str(note.error_id, row->id);
    if (row->id[0] && row->fails)
        expect_str(note.error, "so it went");
    expect_int(note.starts, row->n_starts);
    if ((row->is_done || row->fails) && row->exit != VRT_CLUSTER_MORE) {
        expect_int(note.n_warnings, 2);
        expect_str(note.warnings[1], "two");
        expect_int(note.has_comparison, row->is_done);
        expect_int(note.comparison.width, row->is_done ? 7 : 0);
    }
    /* What is joined goes. */
    expect_int(vrt_cluster_segment_bytes(film, 0), row->made[0] == '0' &&
               (strcmp(row->name, "join") != 0 || row->exit) ? 0 : -1);
    vrt_cluster_note_done(&note);
}

static void try_task(const char *folder, const struct task *row)
{
    struct vrt_error error = { .id = NULL }, fails = { .id = row->fails };
    struct vrt_cluster_folder film;
    struct vrt_cluster_note note;
    struct vrt_task_state *task;
    char name[64], state_dir[1024];

    expect_int(vrt_cluster_folder_open(folder, &film, &error), 0);
    make_film(folder, &film, row);
    expect_int(vrt_task_begin(folder, row->name, &task, &error), row->result);
    expect_contains(error.message, row->says ? row->says : "");
    expect_int(vrt_task_is_due(task), row->result == -ELOOP || row->end > 0);
    if (row->end > 0 && strcmp(row->name, "join") != 0) {
        expect_int(task->range.first, row->first);
        expect_int(vrt_task_part(task)->end_segment, row->end);
        expect_int(vrt_task_part(task)->prime_shard, row->first ? 2 * row->first - 1 : 0);
    }
    vrt_cluster_note_read(&film, note_of(row), &note);
    if (row->end && !row->result) {
        expect_str(note.state, "running");
        expect_str(note.error_id, "");
        expect_str(note.error, "");
    }
    vrt_cluster_note_done(&note);
    /* Its video, or what restores it, is another; or a segment is as it was planned. */
    if (strcmp(row->id, "input.other") == 0)
        store_segment(task, &(struct vrt_segment_record){
            .number = row->first, .n_frames = 8 + row->starts, .next_shard = 3 - row->starts,
        });
    else if (row->exit == VRT_CLUSTER_MORE)
        store_segment(task, &(struct vrt_segment_record){
            .number = row->first, .n_frames = 8, .next_shard = 2 + 2 * row->first,
        });
    if (row->is_done || row->fails)
        tell_job(task, row);
    /* Another attempt at it was quicker. */
    if (row->fails && row->exit == VRT_CLUSTER_DONE)
        vrt_cluster_note_write(&film, note_of(row), &(struct vrt_cluster_note){ .state = "done" });
    snprintf(state_dir, sizeof(state_dir), "%s", vrt_task_state_dir(task));
    expect_int(access(state_dir, F_OK) == 0, row->result == 0 && row->end > 0);
    /* What failed beside the job, which is done. */
    snprintf(fails.message, sizeof(fails.message), "%s", row->fails ? "so it went" : "");
    expect_int(vrt_task_end(task, row->result ? &error : row->is_done ? &fails : NULL), row->exit);
    expect_true(access(state_dir, F_OK) < 0);
    snprintf(name, sizeof(name), "%s/attempts", folder);
    expect_int(rmdir(name), 0);
    expect_ended(&film, row);
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
        { "0/1", "1", 0, 0, "device.failed", NULL, false, AGAIN, "device.failed", 1, 0, 1 },
        { "0/1", "0", 1, 0, "media.crashed", NULL, false, AGAIN, "media.crashed", 2, 1, 3 },
        { "0/1", "01", 0, 0, "spool.full", NULL, false, AGAIN, "spool.full", 1, 2, 3 },
        { "1/3", "02", 0, 0, "store.full", NULL, false, AGAIN, "store.full", 1, 1, 2 },
        { "0/1", "", 0, 0, "output.full", NULL, false, AGAIN, "output.full", 1, 0, 3 },
        { "0/1", "", 0, 0, "out_of_memory", NULL, false, AGAIN, "out_of_memory", 1, 0, 3 },
        { "0/1", "", 0, 0, "cluster.folder", NULL, true, AGAIN, "cluster.folder", 1, 0, 3 },
        { "0/1", "", 0, 0, "shutting_down", NULL, false, AGAIN, "shutting_down", 1, 0, 3 },
        { "0/1", "", 0, 0, "output.write", NULL, false, 1, "failed", "output.write", 1, 0, 3 },
        { "0/1", "", 2, 0, "device.failed", NULL, false, 1, "failed", "device.failed", 3, 0, 3 },
        { "0/1", "", 0, 0, NULL, NULL, false, 1, "failed", "input.other", 1, 0, 3 },
        { "0/1", "", 1, 0, NULL, NULL, false, 1, "failed", "input.other", 2, 0, 3 },
        { "0/1", "", 0, 0, NULL, NULL, false, AGAIN, "job.parked", 1, 0, 3, PLAN("1", THREE) },
        { "0/1", "", 3, -ELOOP, NULL, "task rest was begun 3 times and got nothing done; last: its "
          "node or its process ended without a word", false, 1, "failed", "job.crash_loop", 3 },
        { "0/1", "0", 1, 0, NULL, NULL, true, VRT_CLUSTER_MORE, "running", "", 0, 1, 3 },
        { "0/1", "012", 7, 0, NULL, NULL, false, VRT_CLUSTER_DONE, "done", "", 7 },
        { "0/1", "", 2, 0, "device.failed", NULL, false, VRT_CLUSTER_DONE, "done", "", 3, 0, 3 },
        { "join", "", 7, 0, NULL, NULL, false, VRT_CLUSTER_DONE, "done", "", 7 },
        { "0/1", "", 3, -ENOENT, NULL, "the film has no plan: its first task hasn't made it", false,
          1, "failed", "cluster.folder", 3, 0, 0, "" },
        { "join", "", 1, -ENOENT, NULL, "the film has no plan: so it was", false, 1, "failed",
          "input.codec", 1, 0, 0, "" },
        { "join", "012", 0, 0, NULL, NULL, true, VRT_CLUSTER_DONE, "done", "", 1, 0, 3 },
        { "join", "012", 0, 0, "cluster.segment", NULL, false, AGAIN, "cluster.segment", 1, 0, 3 },
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
    task->frames_per_s = 100;
    for (size_t i = 0; i <= VRT_ARRAY_SIZE(segments); i++)
        vrt_task_part(task)->surveyed(task, i < 3 ? &segments[i] : NULL, 77);
    expect_int(task->plan.read_share, W);
    task->frames_per_s = 1;
    vrt_task_part(task)->surveyed(task, NULL, 77);
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
    { "bookmarks", test_bookmarks },
    { "best", test_best },
    { "huge", test_huge },
)
