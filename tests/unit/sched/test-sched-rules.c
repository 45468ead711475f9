/* SPDX-License-Identifier: MIT */
/*
 * daemon/sched against its rules, written down as plainly as possible: whatever happens to jobs and
 * devices in whatever order, each choice is the one that a look at everything finds.
 */

#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/sched/sched-impl.h"

#define N_DEVICES 4
#define N_JOBS 7
#define N_USERS 3
#define N_LEVELS 3              /* priorities 0 to 2 */
#define N_RUNS (N_DEVICES * VRT_SCHED_IN_FLIGHT)
#define N_STEPS 400
#define N_ROUNDS 300

struct job {
    struct vrt_sched_job sched;
    bool is_listed;
    uint64_t turn;
    double measured_s[N_DEVICES];
    bool may[N_DEVICES];
};

/* A place with a device: the oldest of a device's come first in order of `number`. */
struct run {
    struct vrt_sched_run sched;
    struct job *job;
    struct run *twin;           /* its copy, or what it is a copy of */
    bool is_out, is_dropped, may_copy[N_DEVICES];
    size_t device;
    uint64_t number;
    double expected_s;
};

struct world {
    uint64_t random;
    struct vrt_sched *sched;
    struct job jobs[N_JOBS];
    struct run runs[N_RUNS];
    int classes[N_DEVICES];
    bool ready[N_DEVICES];
    int in_flight_max[N_DEVICES];
    double began_s[N_DEVICES], now_s;
    uint64_t user_turns[N_LEVELS][N_USERS];     /* 0: he has no job there */
    uint64_t n_turns, n_runs;
    int n_copies, n_shards;
};

/* What the plain rules say. */
struct verdict {
    struct job *job;            /* NULL: nothing; for copies: anything that copy_is_right() */
    size_t device;
    bool is_copy;
};

static int draw(struct world *w, int n)
{
    w->random = w->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((w->random >> 33) % (unsigned)n);
}

static int n_held(const struct world *w, size_t d)
{
    int n = 0;

    for (size_t i = 0; i < N_RUNS; i++)
        n += w->runs[i].is_out && w->runs[i].device == d;
    return n;
}

static double free_in_s(const struct world *w, size_t d)
{
    double expected_s = 0;

    for (size_t i = 0; i < N_RUNS; i++)
        if (w->runs[i].is_out && w->runs[i].device == d)
            expected_s += w->runs[i].expected_s;
    return n_held(w, d) ? vrt_sched_free_in_s(expected_s, w->now_s - w->began_s[d]) : 0;
}

static bool is_known(const struct world *w, const struct job *job, size_t d)
{
    for (size_t e = 0; e < N_DEVICES; e++)
        if (job->measured_s[e] > 0 && w->classes[e] == w->classes[d])
            return true;
    return false;
}

static double expected_s(const struct world *w, const struct job *job, size_t d)
{
    double best_s = INFINITY;

    if (job->measured_s[d] > 0)
        return job->measured_s[d];
    for (size_t e = 0; e < N_DEVICES; e++)
        if (job->measured_s[e] > 0 &&
            (!is_known(w, job, d) || w->classes[e] == w->classes[d]))
            best_s = fmin(best_s, job->measured_s[e]);
    return isfinite(best_s) ? best_s : 1;
}

static bool has_room(const struct world *w, const struct job *job, size_t d)
{
    if (!w->ready[d] || !job->may[d] || n_held(w, d) >= w->in_flight_max[d])
        return false;
    if (n_held(w, d) == 0 || is_known(w, job, d))
        return true;
    for (size_t e = 0; e < N_DEVICES; e++)
        for (size_t f = 0; f < N_DEVICES; f++)
            if (w->ready[e] && w->ready[f] && job->may[e] && job->may[f] &&
                w->classes[e] != w->classes[f])
                return false;
    return true;
}

static bool any_room(const struct world *w, const struct job *job)
{
    for (size_t d = 0; d < N_DEVICES; d++)
        if (has_room(w, job, d))
            return true;
    return false;
}

/* Rules 2 and 3 for one job. Return: whether a device takes its shard. */
static bool judge(const struct world *w, struct job *job, double *load, struct verdict *ret)
{
    size_t best = N_DEVICES;
    double best_s = INFINITY, n_others = 0;

    for (size_t d = 0; d < N_DEVICES; d++) {
        double done_s = free_in_s(w, d) + expected_s(w, job, d);
        if (has_room(w, job, d) && done_s < best_s) {
            best = d;
            best_s = done_s;
        }
    }
    if (best == N_DEVICES)
        return false;
    for (size_t e = 0; e < N_DEVICES; e++) {
        double n = floor((best_s * (1 - 1e-9) - free_in_s(w, e)) / expected_s(w, job, e));
        if (e != best && w->ready[e] && job->may[e])
            n_others += fmax(n, 0);
    }
    *load += fmin(job->sched.n_left, job->sched.n_window) / n_others;
    if (*load <= 1 + 1e-9)
        return false;
    *ret = (struct verdict){ .job = job, .device = best };
    return true;
}

/* The user's job of the level that has its turn after `turn`, of those that a device has room for;
 * NULL: there is none. */
static struct job *job_after(struct world *w, int level, int user, uint64_t turn)
{
    struct job *next = NULL;

    for (size_t j = 0; j < N_JOBS; j++) {
        struct job *job = &w->jobs[j];
        if (job->is_listed && job->sched.priority == level && job->sched.uid == (uid_t)user &&
            job->sched.n_ready > 0 && any_room(w, job) && job->turn > turn &&
            (!next || job->turn < next->turn))
            next = job;
    }
    return next;
}

/* The user of the level who has his turn after `turn`; N_USERS: there is none. */
static int user_after(const struct world *w, int level, uint64_t turn)
{
    int next = N_USERS;

    for (int u = 0; u < N_USERS; u++)
        if (w->user_turns[level][u] > turn &&
            (next == N_USERS || w->user_turns[level][u] < w->user_turns[level][next]))
            next = u;
    return next;
}

/* The job of the level whose turn is the `nth`: one of each user, and again. */
static struct job *nth_job(struct world *w, int level, int nth)
{
    uint64_t job_turns[N_USERS] = { 0 }, user_turn;

    for (int round = 0; round < N_JOBS; round++) {
        user_turn = 0;
        for (int u; (u = user_after(w, level, user_turn)) < N_USERS;) {
            struct job *job = job_after(w, level, u, job_turns[u]);
            user_turn = w->user_turns[level][u];
            if (job && nth-- == 0)
                return job;
            job_turns[u] = job ? job->turn : job_turns[u];
        }
    }
    return NULL;
}

/* The run that the device began before this one and still holds; NULL: this is the oldest. */
static const struct run *before(const struct world *w, const struct run *run)
{
    const struct run *last = NULL;

    for (size_t i = 0; i < N_RUNS; i++)
        if (w->runs[i].is_out && w->runs[i].device == run->device &&
            w->runs[i].number < run->number && (!last || w->runs[i].number > last->number))
            last = &w->runs[i];
    return last;
}

/* Seconds until the run ends. */
static double left_s(const struct world *w, const struct run *run)
{
    const struct run *ahead = before(w, run);
    bool is_measured = !run->is_dropped && run->job->measured_s[run->device] > 0;
    double elapsed_s = ahead ? 0 : w->now_s - w->began_s[run->device];

    return (ahead ? left_s(w, ahead) : 0) +
           vrt_sched_left_s(run->expected_s, elapsed_s, is_measured);
}

static bool may_be_copied(const struct run *run)
{
    for (size_t d = 0; d < N_DEVICES; d++)
        if (run->may_copy[d])
            return run->is_out && !run->is_dropped && !run->twin;
    return false;
}

/* Rule 4: which of the job's runs is a straggler; of equals the first to begin; NULL: none. */
static struct run *straggler_of(struct world *w, const struct job *job)
{
    struct run *last = NULL;

    for (size_t i = 0; i < N_RUNS; i++) {
        struct run *run = &w->runs[i];
        if (run->job != job || !may_be_copied(run) || left_s(w, run) <= 0)
            continue;
        double more_s = last ? left_s(w, run) - left_s(w, last) : 1;
        if (more_s > 0 || (more_s == 0 && run->number < last->number))
            last = run;
    }
    return last;
}

static bool is_any_ready(const struct world *w)
{
    for (size_t j = 0; j < N_JOBS; j++)
        if (w->jobs[j].is_listed && w->jobs[j].sched.n_ready > 0)
            return true;
    return false;
}

/* Whether a device that is busy would be done with a copy before `best_s`. */
static bool is_left_to_others(const struct world *w, const struct run *run, double best_s)
{
    for (size_t d = 0; d < N_DEVICES && !is_any_ready(w); d++)
        if (w->ready[d] && n_held(w, d) && run->may_copy[d] && is_known(w, run->job, d) &&
            free_in_s(w, d) + expected_s(w, run->job, d) < best_s)
            return true;
    return false;
}

/* The device that should run it too; N_DEVICES: none. */
static size_t copier_of(struct world *w, const struct run *run)
{
    double best_s = fmin(left_s(w, run) / 1.5, left_s(w, run) - 0.1);
    size_t best = N_DEVICES;

    for (size_t d = 0; d < N_DEVICES; d++) {
        if (!w->ready[d] || n_held(w, d) || !run->may_copy[d] || !is_known(w, run->job, d) ||
            expected_s(w, run->job, d) >= best_s)
            continue;
        best = d;
        best_s = expected_s(w, run->job, d);
    }
    return is_left_to_others(w, run, best_s) ? N_DEVICES : best;
}

static bool is_held_up(const struct job *job, int level)
{
    return job->is_listed && job->sched.priority == level && job->sched.n_ready <= 0 &&
           job->sched.is_held_up;
}

static struct verdict decide(struct world *w)
{
    struct verdict verdict = { .job = NULL };
    double load = 0;

    for (int level = N_LEVELS - 1; level >= 0; level--) {
        for (int nth = 0; nth < N_JOBS; nth++) {
            struct job *job = nth_job(w, level, nth);
            if (job && judge(w, job, &load, &verdict))
                return verdict;
        }
        for (size_t j = 0; j < N_JOBS; j++) {
            struct run *run = is_held_up(&w->jobs[j], level) ? straggler_of(w, &w->jobs[j]) : NULL;
            if (run && copier_of(w, run) < N_DEVICES)
                return (struct verdict){ .job = &w->jobs[j], .device = copier_of(w, run),
                                         .is_copy = true };
        }
    }
    return verdict;
}

/* Among those held up any may be first. */
static bool copy_is_right(struct world *w, const struct vrt_sched_choice *choice, int level)
{
    struct job *job = vrt_container_of(choice->job, struct job, sched);
    struct run *run = is_held_up(job, level) ? straggler_of(w, job) : NULL;

    return run && choice->straggler == &run->sched && copier_of(w, run) == choice->device;
}

/* More jobs than are looked at one by one: the choice needn't be that of the plain rules. */
static bool is_crowded(const struct world *w)
{
    int counts[N_LEVELS] = { 0 };

    for (size_t j = 0; j < N_JOBS; j++)
        if (w->jobs[j].is_listed && w->jobs[j].sched.n_ready > 0)
            counts[w->jobs[j].sched.priority]++;
    for (int i = 0; i < N_LEVELS; i++)
        if (counts[i] > 3)
            return true;
    return false;
}

static void begin(struct world *w, const struct vrt_sched_choice *choice)
{
    struct job *job = vrt_container_of(choice->job, struct job, sched);
    size_t i = 0;

    while (w->runs[i].is_out)
        i++;
    struct run *run = &w->runs[i];
    if (n_held(w, choice->device) == 0)
        w->began_s[choice->device] = w->now_s;
    *run = (struct run){ .job = job, .is_out = true, .device = choice->device,
                         .number = ++w->n_runs % 1000000, .expected_s = choice->expected_s };
    for (size_t d = 0; d < N_DEVICES && !choice->straggler; d++) {
        run->may_copy[d] = d != choice->device && draw(w, 3) > 0;
        vrt_sched_set_put(&run->sched.copiers, d, run->may_copy[d]);
    }
    if (choice->straggler) {
        run->twin = vrt_container_of(choice->straggler, struct run, sched);
        run->twin->twin = run;
        memcpy(run->may_copy, run->twin->may_copy, sizeof(run->may_copy));
        run->may_copy[run->twin->device] = true;
        run->may_copy[run->device] = false;
    }
    vrt_sched_run_begin(w->sched, &run->sched, choice, w->now_s);
    job->turn = w->user_turns[job->sched.priority][job->sched.uid] = ++w->n_turns;
    *(choice->straggler ? &w->n_copies : &w->n_shards) += 1;
}

/* The other of two runs of a shard is alone. */
static void part(struct run *run)
{
    if (run->twin)
        run->twin->twin = NULL;
    run->twin = NULL;
}

static void end(struct world *w, struct run *run)
{
    part(run);
    if (!before(w, run))
        w->began_s[run->device] = w->now_s;
    run->is_out = false;
    vrt_sched_run_end(w->sched, &run->sched, w->now_s);
}

/* Who has no job of that priority any more is forgotten; who comes is last. */
static void note_users(struct world *w)
{
    for (int level = 0; level < N_LEVELS; level++) {
        for (int u = 0; u < N_USERS; u++) {
            bool any = false;
            for (size_t j = 0; j < N_JOBS; j++)
                any |= w->jobs[j].is_listed && w->jobs[j].sched.priority == level &&
                       w->jobs[j].sched.uid == (uid_t)u;
            if (!any)
                w->user_turns[level][u] = 0;
            else if (!w->user_turns[level][u])
                w->user_turns[level][u] = ++w->n_turns;
        }
    }
}

static void change_job(struct world *w, struct job *job)
{
    job->sched.n_ready = VRT_MAX(draw(w, 5) - 1, 0);
    job->sched.n_left = job->sched.n_ready + draw(w, 8);
    job->sched.n_window = 1 + draw(w, 9);
    job->sched.is_held_up = draw(w, 2);
}

static void add(struct world *w, struct job *job)
{
    *job = (struct job){ .is_listed = true, .turn = ++w->n_turns };
    job->sched.uid = (uid_t)draw(w, N_USERS);
    job->sched.priority = draw(w, N_LEVELS);
    change_job(w, job);
    expect_int(vrt_sched_kind_new(w->sched, &job->sched.kind), 0);
    for (size_t d = 0; d < N_DEVICES; d++)
        job->may[d] = true;
    expect_int(vrt_sched_job_add(w->sched, &job->sched), 0);
}

static void remove_job(struct world *w, struct job *job)
{
    for (size_t i = 0; i < N_RUNS; i++) {
        struct run *run = &w->runs[i];
        if (run->is_out && !run->is_dropped && run->job == job) {
            run->is_dropped = true;
            part(run);
            vrt_sched_run_drop(&run->sched);
        }
    }
    job->is_listed = false;
    vrt_sched_job_remove(w->sched, &job->sched);
    vrt_sched_kind_free(job->sched.kind);
}

/* Something happens to a job. */
static void disturb_job(struct world *w, struct job *job)
{
    struct vrt_sched_set may = { { 0 } };
    size_t d = (size_t)draw(w, N_DEVICES);

    if (!job->is_listed) {
        add(w, job);
        note_users(w);
        return;
    }
    switch (draw(w, 6)) {
    case 0:
        remove_job(w, job);
        break;
    case 1:
        job->sched.priority = draw(w, N_LEVELS);
        vrt_sched_job_update(w->sched, &job->sched);
        break;
    case 2:
        job->may[d] = !job->may[d];
        for (size_t e = 0; e < N_DEVICES; e++)
            vrt_sched_set_put(&may, e, job->may[e]);
        vrt_sched_kind_set_devices(job->sched.kind, &may);
        break;
    case 3: {
        double sample_s = 0.1 + draw(w, 1000) / 200.;
        job->measured_s[d] = vrt_sched_measure(job->measured_s[d], sample_s);
        vrt_sched_kind_measure(job->sched.kind, d, sample_s);
        break;
    }
    default:
        change_job(w, job);
        vrt_sched_job_update(w->sched, &job->sched);
    }
    note_users(w);
}

static void disturb(struct world *w)
{
    size_t d = (size_t)draw(w, N_DEVICES);
    struct run *run = &w->runs[draw(w, N_RUNS)];

    w->now_s += draw(w, 300) / 100.;
    switch (draw(w, 8)) {
    case 0:
        w->ready[d] = draw(w, 4) > 0;
        w->in_flight_max[d] = 1 + draw(w, 2);
        vrt_sched_set_device(w->sched, d, w->ready[d], w->in_flight_max[d]);
        break;
    case 1:
    case 2:
    case 3:
        if (run->is_out)
            end(w, run);
        break;
    default:
        disturb_job(w, &w->jobs[draw(w, N_JOBS)]);
    }
}

/* What is kept of each level is what is there. */
static void check_levels(const struct world *w)
{
    for (int i = 0; i < N_LEVELS; i++) {
        const struct vrt_sched_level *level = &w->sched->levels[VRT_API_PRIORITY_MAX - i];
        int64_t n_shards = 0;
        bool is_busy = false;
        for (size_t j = 0; j < N_JOBS; j++) {
            const struct vrt_sched_job *job = &w->jobs[j].sched;
            if (!w->jobs[j].is_listed || job->priority != i)
                continue;
            n_shards += job->n_ready > 0 ? VRT_MIN(job->n_left, job->n_window) : 0;
            is_busy |= job->n_ready > 0 || job->is_held_up;
        }
        expect_int(level->n_shards, n_shards);
        expect_int(vrt_sched_set_has(&w->sched->busy_levels,
                                     (size_t)(level - w->sched->levels)), is_busy);
    }
}

static void check(struct world *w)
{
    struct vrt_sched_choice choice = { .job = NULL };
    struct verdict verdict = decide(w);
    bool found = vrt_sched_pick(w->sched, w->now_s, &choice);

    check_levels(w);
    if (!is_crowded(w)) {
        if (found != (verdict.job != NULL))
            test_fail("%s is handed out", found ? "something" : "nothing");
        if (found && (choice.straggler != NULL) != verdict.is_copy)
            test_fail("%s copy", verdict.is_copy ? "no" : "a");
        if (found && verdict.is_copy)
            expect_true(copy_is_right(w, &choice, verdict.job->sched.priority));
        if (found && !verdict.is_copy) {
            expect_true(choice.job == &verdict.job->sched);
            expect_int(choice.device, verdict.device);
        }
    }
    if (!found || draw(w, 8) == 0)
        return;
    struct job *job = vrt_container_of(choice.job, struct job, sched);
    expect_near(choice.expected_s, expected_s(w, job, choice.device), 1e-12);
    begin(w, &choice);
    if (!choice.straggler) {
        job->sched.n_ready--;
        job->sched.n_left--;
        vrt_sched_job_update(w->sched, choice.job);
    }
}

static void test_rules(void)
{
    static struct world w;
    int n_copies = 0, n_shards = 0;

    for (unsigned round = 0; round < N_ROUNDS; round++) {
        w = (struct world){ .random = round };
        for (size_t d = 0; d < N_DEVICES; d++) {
            w.classes[d] = draw(&w, 3);
            w.ready[d] = true;
            w.in_flight_max[d] = VRT_SCHED_IN_FLIGHT;
        }
        expect_int(vrt_sched_new(N_DEVICES, w.classes, &w.sched), 0);
        for (size_t d = 0; d < N_DEVICES; d++)
            vrt_sched_set_device(w.sched, d, true, VRT_SCHED_IN_FLIGHT);
        for (int step = 0; step < N_STEPS; step++) {
            disturb(&w);
            check(&w);
        }
        for (size_t i = 0; i < N_RUNS; i++)
            if (w.runs[i].is_out)
                end(&w, &w.runs[i]);
        for (size_t j = 0; j < N_JOBS; j++)
            if (w.jobs[j].is_listed)
                remove_job(&w, &w.jobs[j]);
        vrt_sched_free(w.sched);
        n_copies += w.n_copies;
        n_shards += w.n_shards;
    }
    fprintf(stderr, "  %d shards, %d copies\n", n_shards, n_copies);
    expect_true(n_shards > 1000 && n_copies > 100);
}

TEST_MAIN(
    { "rules", test_rules },
)
