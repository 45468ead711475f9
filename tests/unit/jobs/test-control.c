/* SPDX-License-Identifier: MIT */
/* daemon/api_control: what is done to jobs that are there, and in which states it isn't. */

#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "daemon/jobs/queue-context.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/api/server-play.h"

static atomic_int ahead_s;              /* how far all clocks are ahead of the system's */

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    long r = syscall(SYS_clock_gettime, clock, ret_time);

    ret_time->tv_sec += atomic_load(&ahead_s);
    return (int)r;
}

/* A file that holds something, on a file system of its own: none that is gone had its number. */
static int full_file(void)
{
    int fd = memfd_create("full", MFD_CLOEXEC);

    expect_int(write(fd, "precious", 8), 8);
    return fd;
}

/* Sends a body with so many files of its own; the output holds something where it is called
 * full.mkv. Return: the status; play_answer. */
static int send_body(struct play *play, const char *route, const char *body, int n_files)
{
    int fds[3] = { -1, -1, -1 };

    for (int i = 0; i < n_files; i++)
        fds[i] = i != 1 ? play_file("video", O_RDONLY) :
                 strstr(body, "full.mkv") ? full_file() : play_file("", O_RDWR);
    int status = play_send(play, route, body, fds, n_files);
    for (int i = 0; i < n_files; i++)
        close(fds[i]);
    return status;
}

#define FILES "\"input\":{\"fd\":0,\"name\":\"run-30\",\"path\":\"/v/run-30\"}," \
              "\"output\":{\"fd\":1,\"name\":\"x.MKV\"}"

/* One request after the other: what each is answered with. */
struct step {
    const char *route, *body;
    int n_files, status;
    const char *says;
};

static void play_steps(struct play *play, const struct step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int status = send_body(play, steps[i].route, steps[i].body, steps[i].n_files);
        if (status != steps[i].status || !strstr(play_answer, steps[i].says))
            test_fail("step %zu, %s: %s", i, steps[i].route, play_answer);
    }
}

/* Everything that is told of a job until it is over, what comes twice once. */
static void expect_told(int fd, const char *all)
{
    struct vrt_buf stream = { .limit_bytes = 0 };
    char told[512] = "", last[64] = "", now[64], state[32];
    int priority;

    while (play_next_event(fd, &stream) >= 0) {
        sscanf(strstr(play_answer, "\"state\":"), "\"state\":\"%31[a-z_]", state);
        sscanf(strstr(play_answer, "\"priority\":"), "\"priority\":%d", &priority);
        snprintf(now, sizeof(now), "%s %d%s, ", state, priority,
                 strstr(play_answer, "\"cancelling\":true") ? " cancelling" : "");
        if (strcmp(now, last) != 0)
            strncat(told, now, sizeof(told) - strlen(told) - 1);
        memcpy(last, now, sizeof(last));
    }
    expect_str(told, all);
    vrt_buf_done(&stream);
    close(fd);
}

static void test_pause(void)
{
    static const struct step steps[] = {
        { "POST /v1/jobs/1/resume", "", 0, 409, "job 1 is running: it goes on by itself" },
        { "POST /v1/jobs/1/pause", "", 0, 200, "{\"id\":1,\"state\":\"paused\"" },
        { "POST /v1/jobs/1/pause", "{}", 0, 409, "job 1 is paused" },
        { "POST /v1/jobs/1/retry", "", 0, 409, "job 1 is paused: it isn't over" },
        { "PATCH /v1/jobs/1", "{\"priority\":7}", 0, 200, "\"priority\":7" },
    };
    static const struct step others[] = {
        { "POST /v1/jobs/2/pause", "", 0, 200, "{\"id\":2,\"state\":\"paused\"" },
        { "PATCH /v1/jobs/2", "{\"priority\":-3}", 0, 200, "\"priority\":-3" },
        { "POST /v1/jobs/1/resume", "{}", 0, 200, "{\"id\":1,\"state\":\"" },
        { "POST /v1/jobs/2/resume", "", 0, 200, "{\"id\":2,\"state\":\"queued\"" },
        { "DELETE /v1/jobs/2", "", 0, 200, "{\"id\":2,\"state\":\"" },
    };
    static const struct step after[] = {
        { "POST /v1/jobs/2/pause", "", 0, 409, "\"id\":\"job.state\"" },
        { "POST /v1/jobs/2/resume", "", 0, 409, "to do it once more, retry it" },
        { "PATCH /v1/jobs/2", "{\"priority\":7}", 0, 409, "job 2 was cancelled" },
        { "DELETE /v1/jobs/2", "", 0, 409, "job 2 was cancelled already" },
        { "POST /v1/jobs/3/pause", "", 0, 404, "job.not_found" },
        { "POST /v1/jobs/3/resume", "", 0, 404, "job.not_found" },
        { "POST /v1/jobs/3/retry", "", 0, 404, "job.not_found" },
        { "PATCH /v1/jobs/3", "{\"priority\":1}", 0, 404, "job.not_found" },
        { "PATCH /v1/jobs/1", "{\"priority\":101}", 0, 400, "from -100 to 100" },
        { "PATCH /v1/jobs/1", "{\"state\":\"done\"}", 0, 400, "request.field" },
        { "PATCH /v1/jobs/1", "", 0, 400, "request.json" },
        { "PUT /v1/jobs/1/pause", "", 0, 405, "Allow: POST" },
        { "POST /v1/jobs/1/pause?now", "", 0, 400, "request.query" },
        { "GET /v1/status", "", 0, 200, "\"cancelled\":1}" },
    };
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_int(play_submit(&play, "hang", ""), 2);
    int told = play_subscribe(&play, "/v1/events?job=2");
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_steps(&play, steps, VRT_ARRAY_SIZE(steps));
    play_await_frames(&play, 2);
    play_steps(&play, others, VRT_ARRAY_SIZE(others));
    expect_told(told, "queued 0, running 0, paused 0, paused -3, queued -3, "
                "queued -3 cancelling, cancelled -3, ");
    expect_int(fake_flow.priority, -3);
    play_steps(&play, after, VRT_ARRAY_SIZE(after));
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    /* That is stored, of one that waits too. */
    for (int id = 3; id <= 5; id++)
        expect_int(play_submit(&play, "hang", ""), id);
    expect_int(send_body(&play, "POST /v1/jobs/3/pause", "", 0), 200);
    expect_int(send_body(&play, "PATCH /v1/jobs/4", "{\"priority\":-5}", 0), 200);
    expect_int(send_body(&play, "POST /v1/jobs/5/pause", "", 0), 200);
    expect_int(send_body(&play, "POST /v1/jobs/5/resume", "", 0), 200);
    play_restart_with(&play, "SELECT json('not stored') FROM jobs WHERE (id = 3 AND state <> "
                      "'paused') OR (id = 4 AND priority <> -5) OR (id = 5 AND state <> 'queued')");
    play_stop(&play);
}

/* A paused job computes nothing, and is done in the end. */
static void test_pause_holds(void)
{
    struct play play;
    struct vrt_job_info info;

    play_start(&play, "");
    expect_int(play_submit(&play, "run-200", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    expect_int(play_show(&play, 1, &info), 200);
    int64_t before = info.frames_done;
    vrt_job_info_done(&info);
    usleep(100 * FAKE_FLOW_TICK_MS * 1000);
    expect_int(play_show(&play, 1, &info), 200);
    expect_int(info.state, VRT_JOB_PAUSED);
    expect_true(info.frames_done <= before + 1 && info.frames_done < 200);
    vrt_job_info_done(&info);
    expect_int(send_body(&play, "POST /v1/jobs/1/resume", "", 0), 200);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_contains(play_answer, "\"frames_done\":200,");
    play_stop(&play);
}

/* One that was paused when all the rest of it was under way comes to its end, and isn't paused. */
static void test_pause_of_the_last(void)
{
    static const struct step steps[] = {
        { "POST /v1/jobs/1/pause", "", 0, 409, "job 1 is finishing: it is about to be done" },
        { "POST /v1/jobs/1/resume", "", 0, 409, "job 1 is finishing: it goes on by itself" },
        { "GET /v1/status", "", 0, 200, "\"paused\":0" },
    };
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "last", ""), 1);
    play_await_frames(&play, 1);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    do
        expect_int(send_body(&play, "GET /v1/jobs/1", "", 0), 200);
    while (strstr(play_answer, "\"state\":\"paused\""));
    expect_contains(play_answer, "\"state\":\"finishing\"");
    play_steps(&play, steps, VRT_ARRAY_SIZE(steps));
    /* Nor is it among those of which too many are held. */
    expect_int(play_submit(&play, "hang", ",\"priority\":1"), 2);
    play_await_frames(&play, 2);
    expect_int(send_body(&play, "POST /v1/jobs/2/pause", "", 0), 200);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_contains(play_answer, "\"n_starts\":1,");
    /* Or at once to its end. */
    expect_int(play_submit(&play, "last-1", ""), 3);
    play_await_frames(&play, 3);
    expect_int(send_body(&play, "POST /v1/jobs/3/pause", "", 0), 200);
    play_expect_state(&play, 3, VRT_JOB_DONE);
    play_stop(&play);
}

static void test_priority(void)
{
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "hang-1", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    expect_int(play_submit(&play, "hang-2", ""), 2);
    expect_int(play_submit(&play, "run-3", ""), 3);
    /* It doesn't wait for anybody to look. */
    expect_int(send_body(&play, "PATCH /v1/jobs/3", "{\"priority\":1}", 0), 200);
    expect_contains(play_answer, "{\"id\":3,\"state\":\"running\"");
    play_expect_state(&play, 3, VRT_JOB_DONE);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_expect_state(&play, 2, VRT_JOB_QUEUED);
    play_await_frames(&play, 1);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    expect_int(send_body(&play, "GET /v1/jobs/2", "", 0), 200);
    expect_contains(play_answer, "{\"id\":2,\"state\":\"running\"");
    play_stop(&play);
}

/* What a restart took away, and what a failure or a cancellation gave back, comes along again. */
static void test_files(void)
{
    static const struct step lost[] = {
        { "POST /v1/jobs/1/resume", "", 0, 409, "\"id\":\"job.needs_input\"" },
        { "POST /v1/jobs/1/resume", "{\"input\":{\"fd\":0,\"name\":\"a.mp4\"}}", 1, 409,
          "no more: give its files again" },
        { "POST /v1/jobs/1/resume", "{\"input\":{\"fd\":2,\"name\":\"a.mp4\"},"
          "\"output\":{\"fd\":1,\"name\":\"x.mkv\"}}", 2, 400, "request.descriptors" },
        { "POST /v1/jobs/1/resume", "{\"output\":{\"fd\":0,\"name\":\"x.mp4\"}}", 1, 422,
          "job 1 writes .mkv" },
        { "POST /v1/jobs/1/resume", "{\"frobnicate\":1}", 0, 400, "request.field" },
        { "POST /v1/jobs/1/pause", "", 0, 409, "job.state" },
        { "POST /v1/jobs", "{\"input\":{\"url\":\"http://x/a.mp4\",\"name\":\"a.mp4\"},"
          "\"output\":{\"fd\":0,\"name\":\"a.mkv\"}}", 1, 403, "fetches no inputs from elsewhere" },
        { "POST /v1/jobs", "{\"input\":{\"fd\":0,\"name\":\"a.mp4\"},\"output\":{\"fd\":1,"
          "\"name\":\"a\\u001bfull.mkv\"}}", 2, 422, "a?full.mkv exists" },
        { "POST /v1/jobs/1/resume", "{" FILES "}", 2, 200, "{\"id\":1,\"state\":\"" },
    };
    static const struct step over[] = {
        { "POST /v1/jobs/1/retry", "", 0, 409, "job 1 is done: there is nothing to retry" },
        { "POST /v1/jobs/1/resume", "", 0, 409, "job 1 is done: there is nothing to resume" },
        { "POST /v1/jobs/2/retry", "", 0, 409, "job.needs_input" },
        /* Of files one of which doesn't come, none is kept. */
        { "POST /v1/jobs/2/retry", "{\"input\":{\"fd\":0,\"name\":\"a.mp4\"},"
          "\"output\":{\"fd\":1,\"name\":\"x.mkv\"}}", 1, 400, "request.descriptors" },
        { "POST /v1/jobs/2/retry", "{\"output\":{\"fd\":0,\"name\":\"x.mkv\"}}", 1, 409,
          "no more: give its files again" },
        { "POST /v1/jobs/2/retry", "{" FILES "}", 2, 200, "\"finished_at\":null" },
    };
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\nmax_queued = 3\n");
    expect_int(play_submit(&play, "run-30", ""), 1);
    expect_int(play_submit(&play, "fail", ""), 2);
    play_restart(&play);
    play_expect_state(&play, 1, VRT_JOB_NEEDS_INPUT);
    play_steps(&play, lost, VRT_ARRAY_SIZE(lost));
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_contains(play_answer, "\"frames_done\":30,");
    /* What they are called now counts from now on. */
    expect_contains(play_answer, "\"input_path\":\"/v/run-30\"");
    expect_contains(play_answer, "\"output_name\":\"x.MKV\"");
    expect_int(send_body(&play, "DELETE /v1/jobs/2", "", 0), 200);
    play_expect_state(&play, 2, VRT_JOB_CANCELLED);
    /* Not over what somebody else wrote. */
    expect_int(send_body(&play, "POST /v1/jobs/2/retry", "{\"input\":{\"fd\":0,"
                         "\"name\":\"run-30\"},\"output\":{\"fd\":1,\"name\":\"full.mkv\"}}", 2),
               200);
    play_expect_state(&play, 2, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"full.mkv exists and is not empty: let it be overwritten, or "
                    "give another name\"");
    play_steps(&play, over, VRT_ARRAY_SIZE(over));
    play_expect_state(&play, 2, VRT_JOB_DONE);
    expect_contains(play_answer, "\"input_name\":\"run-30\"");
    play_restart(&play);
    play_expect_state(&play, 2, VRT_JOB_DONE);
    expect_contains(play_answer, "\"input_path\":\"/v/run-30\"");
    play_stop(&play);
}

/* Waits until so many jobs are slow to be admitted. */
static void wait_for_slow(int n)
{
    while (atomic_load(&fake_flow.n_slow) < n)
        usleep(1000);
}

/* Paused while it ends, resumed and paused again: it stays paused, and nothing works for it. */
static void test_pause_twice(void)
{
    struct play play;

    play_start(&play, "");
    expect_int(play_submit(&play, "slow", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    /* Not before its pipeline is there: without one it ends at once. */
    wait_for_slow(1);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    expect_int(send_body(&play, "POST /v1/jobs/1/resume", "", 0), 200);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    atomic_store(&fake_flow.n_let, 1);
    usleep(100 * FAKE_FLOW_TICK_MS * 1000);
    expect_int(send_body(&play, "GET /v1/jobs/1", "", 0), 200);
    expect_contains(play_answer, "{\"id\":1,\"state\":\"paused\"");
    expect_contains(play_answer, "\"n_starts\":1,");
    /* Resumed while it ends, it begins anew. */
    expect_int(send_body(&play, "POST /v1/jobs/1/resume", "", 0), 200);
    wait_for_slow(2);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    expect_int(send_body(&play, "POST /v1/jobs/1/resume", "", 0), 200);
    atomic_store(&fake_flow.n_let, 1);
    wait_for_slow(3);
    expect_int(send_body(&play, "POST /v1/jobs/1/pause", "", 0), 200);
    expect_contains(play_answer, "\"n_starts\":3,");
    play_stop(&play);
    expect_int(fake_flow.n_starts, 0);
}

/* Until its devices have put it down, everybody sees that it was cancelled. */
static void test_cancelling(void)
{
    static const struct step asked[] = {
        { "DELETE /v1/jobs/1", "", 0, 200, "\"cancelling\":true" },
        { "GET /v1/jobs", "", 0, 200, "{\"id\":1,\"state\":\"running\"" },
        { "GET /v1/jobs", "", 0, 200, "\"cancelling\":true" },
    };
    struct play play;

    play_start(&play, "");
    expect_int(play_submit(&play, "slow", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    wait_for_slow(1);
    play_steps(&play, asked, VRT_ARRAY_SIZE(asked));
    atomic_store(&fake_flow.n_let, 1);
    play_expect_state(&play, 1, VRT_JOB_CANCELLED);
    /* Nothing was computed: at no speed, not at none. */
    expect_contains(play_answer, "\"fps\":null,\"left_s\":null,\"cancelling\":false,");
    /* Nor does the next daemon see it once the job is retried. */
    play_hand_over(&play, 1, "retry", "hang");
    play_restart(&play);
    play_expect_state(&play, 1, VRT_JOB_NEEDS_INPUT);
    play_stop(&play);
}

/* Another input than the job began with costs nothing but another try. */
static void test_other_input(void)
{
    static const struct step steps[] = {
        { "GET /v1/jobs/1", "", 0, 200, "\"id\":\"input.other\"" },
        { "POST /v1/jobs/1/resume", "", 0, 409, "job.needs_input" },
        { "POST /v1/jobs/1/resume", "{" FILES "}", 2, 200, "{\"id\":1,\"state\":\"queued\"" },
        { "GET /v1/jobs/1", "", 0, 200, "\"error\":null" },
        { "DELETE /v1/jobs/2", "", 0, 200, "{\"id\":2," },
    };
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "other", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_NEEDS_INPUT);
    expect_int(play_submit(&play, "hang", ""), 2);
    play_expect_state(&play, 2, VRT_JOB_RUNNING);
    play_steps(&play, steps, VRT_ARRAY_SIZE(steps));
    play_expect_state(&play, 1, VRT_JOB_DONE);
    play_stop(&play);
}

/* Two jobs with one output: the second is refused while the first isn't over. */
static void test_one_output(void)
{
    static const char body[] = "{\"input\":{\"fd\":0,\"name\":\"hang\"},"
        "\"output\":{\"fd\":1,\"name\":\"x.mkv\"},\"overwrite\":true}";
    struct play play;
    int fds[4] = { play_file("video", O_RDONLY), play_file("", O_RDWR), full_file(),
                   open("/dev/null", O_RDWR) };

    play_start(&play, "");
    expect_int(play_send(&play, "POST /v1/jobs", body, fds, 2), 201);
    expect_int(play_send(&play, "POST /v1/jobs", body, fds, 2), 422);
    expect_contains(play_answer, "job 1 writes to the same output");
    expect_int(send_body(&play, "DELETE /v1/jobs/1", "", 0), 200);
    play_expect_state(&play, 1, VRT_JOB_CANCELLED);
    expect_int(play_send(&play, "POST /v1/jobs", body, fds, 2), 201);
    /* One that is given another is known by that. */
    play_restart(&play);
    play_expect_state(&play, 2, VRT_JOB_NEEDS_INPUT);
    const int others[2] = { fds[0], fds[2] };
    expect_int(play_send(&play, "POST /v1/jobs/2/resume", body, others, 2), 200);
    expect_int(play_send(&play, "POST /v1/jobs", body, others, 2), 422);
    expect_contains(play_answer, "job 2 writes to the same output");
    expect_int(play_send(&play, "POST /v1/jobs", body, fds, 2), 201);
    /* What is no file takes from everybody. */
    for (int i = 0; i < 2; i++)
        expect_int(play_send(&play, "POST /v1/jobs", body, (int[]){ fds[0], fds[3] }, 2), 201);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        close(fds[i]);
    play_stop(&play);
}

/* A job that reads a pipe can't be gone on with, nor one that doesn't with one. */
static void test_pipe(void)
{
    static const char body[] = "{\"input\":{\"fd\":0,\"name\":\"hang\"},"
        "\"output\":{\"fd\":1,\"name\":\"x.mkv\"}}";
    static const struct step steps[] = {
        { "POST /v1/jobs/2/pause", "", 0, 200, "{\"id\":2,\"state\":\"paused\"" },
        { "POST /v1/jobs/2/resume", "{" FILES "}", 2, 422, "let it go on without another input" },
        { "POST /v1/jobs/2/resume", "", 0, 200, "{\"id\":2,\"state\":\"queued\"" },
        { "POST /v1/jobs/1/pause", "", 0, 200, "{\"id\":1,\"state\":\"paused\"" },
    };
    struct play play;
    int fds[2], files[2] = { -1, play_file("", O_RDWR) };

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_int(pipe(fds), 0);
    files[0] = fds[0];
    expect_int(play_send(&play, "POST /v1/jobs", body, files, 2), 201);
    play_steps(&play, steps, VRT_ARRAY_SIZE(steps));
    play_await_frames(&play, 2);
    expect_int(send_body(&play, "POST /v1/jobs/2/pause", "", 0), 422);
    expect_contains(play_answer, "a second time: pause the program that writes into it");
    play_restart(&play);
    play_expect_state(&play, 2, VRT_JOB_FAILED);
    expect_contains(play_answer, "the job was interrupted while it read a pipe");
    expect_int(play_send(&play, "POST /v1/jobs/2/retry", body, files, 2), 422);
    expect_contains(play_answer, "a second time: run the command again");
    expect_int(play_send(&play, "POST /v1/jobs/1/resume", body, files, 2), 422);
    expect_contains(play_answer, "job 1 was begun with a file, and goes on with no pipe");
    for (int i = 0; i < 2; i++)
        close(fds[i]);
    close(files[1]);
    play_stop(&play);
}

/* Two jobs had begun when the daemon died: each is alone until it has stored something. */
static void test_suspects(void)
{
    static const char *const starts[] = { "run-4", "slow", "run-4000", "hang" };
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 4\n");
    expect_int(play_submit(&play, "slow", ""), 1);
    expect_int(play_submit(&play, "slow", ""), 2);
    play_expect_state(&play, 2, VRT_JOB_RUNNING);
    play_restart_with(&play, "UPDATE jobs SET state = 'running', starts = 1");
    /* Suspects that can't start are in nobody's way. */
    expect_int(play_submit(&play, "run-4", ""), 3);
    play_expect_state(&play, 3, VRT_JOB_DONE);
    play_hand_over(&play, 1, "resume", "slow");
    play_hand_over(&play, 2, "resume", "run-4000");
    expect_int(play_submit(&play, "hang", ""), 4);
    wait_for_slow(1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_expect_state(&play, 2, VRT_JOB_QUEUED);
    play_expect_state(&play, 4, VRT_JOB_QUEUED);
    atomic_store(&fake_flow.n_let, 1);
    /* The first one makes room for the second as soon as it is cleared, and comes back. */
    expect_int(play_wait_for_segments(&play, 2, 1), 2);
    expect_int(play_wait_for_segments(&play, 4, 1), 1);
    expect_int(play_wait_for_segments(&play, 1, 1), 3);
    play_expect_state(&play, 2, VRT_JOB_RUNNING);
    play_stop(&play);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(starts); i++)
        expect_str(fake_flow.starts[i], starts[i]);
    expect_true(fake_flow.n_committed >= 3);
}

/* The third time it was alone for sure. One that is paused, or waits, is not to blame. */
static void test_crash_loop(void)
{
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 2\n");
    for (int i = 1; i <= 4; i++)
        expect_int(play_submit(&play, "hang", ""), i);
    play_restart_with(&play, "UPDATE jobs SET state = 'running', starts = 3 WHERE id = 1;"
                      "UPDATE jobs SET state = 'running', starts = 2 WHERE id = 2;"
                      "UPDATE jobs SET state = 'queued', starts = 2 WHERE id = 3;"
                      "UPDATE jobs SET state = 'paused', starts = 3 WHERE id = 4");
    play_expect_state(&play, 1, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"error\":{\"id\":\"job.crash_loop\"");
    play_restart_with(&play, "SELECT json('it runs') FROM jobs WHERE state = 'running'");
    for (int i = 2; i <= 4; i++)
        play_expect_state(&play, i, VRT_JOB_NEEDS_INPUT);
    /* A suspect that comes late puts back what runs, and gives way again. */
    expect_int(play_submit(&play, "hang", ""), 5);
    play_expect_state(&play, 5, VRT_JOB_RUNNING);
    play_hand_over(&play, 2, "resume", "slow");
    play_expect_state(&play, 2, VRT_JOB_RUNNING);
    play_expect_state(&play, 5, VRT_JOB_QUEUED);
    /* They don't wait for ever for one that stores nothing. */
    atomic_store(&ahead_s, 300);
    usleep(2 * VRT_API_EVENT_PERIOD_MS * 1000);
    play_expect_state(&play, 5, VRT_JOB_QUEUED);
    atomic_store(&ahead_s, 601);
    play_expect_state(&play, 5, VRT_JOB_RUNNING);
    expect_int(send_body(&play, "DELETE /v1/jobs/2", "", 0), 200);
    atomic_store(&fake_flow.n_let, 1);
    play_expect_state(&play, 2, VRT_JOB_CANCELLED);
    /* Nor is one suspected any more that somebody tries again. */
    play_hand_over(&play, 1, "retry", "slow");
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_expect_state(&play, 5, VRT_JOB_RUNNING);
    play_stop(&play);
}

/* A crash of vrt-media is forgiven once, and again when more was stored since. */
static void test_media(void)
{
    struct play play;

    play_start(&play, "[access]\nmax_jobs_per_user = 1\n");
    for (int i = 0; i < 2; i++) {
        expect_int(play_submit(&play, i ? "media-3" : "media-6", ""), i + 1);
        play_expect_state(&play, i + 1, i ? VRT_JOB_FAILED : VRT_JOB_DONE);
        expect_contains(play_answer, i ? "\"n_starts\":2," : "\"n_starts\":3,");
        expect_contains(play_answer, i ? "\"frames_done\":3," : "\"frames_done\":12,");
        expect_contains(play_answer, "\"warnings_total\":1,");
        expect_contains(play_answer, "went on from its last segment");
    }
    /* As often as it is retried, which begins without what was told of it. */
    play_hand_over(&play, 2, "retry", "media-3");
    expect_contains(play_answer, "\"frames_done\":0,");
    expect_contains(play_answer, "\"bottleneck\":null,\"devices\":[]");
    play_expect_state(&play, 2, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"n_starts\":4,");
    expect_int(play_submit(&play, "run-1", ",\"codec\":\"ffv1\""), 3);
    play_expect_state(&play, 3, VRT_JOB_DONE);
    expect_contains(play_answer, "\"fps\":1.0,\"left_s\":null,");
    expect_contains(play_answer, "\"preset\":null,");
    /* Nor was it a start of which the daemon died. */
    play_restart_with(&play, "SELECT json('two starts are counted') FROM jobs WHERE starts > 1");
    play_stop(&play);
}

/* Of held pipelines no more stay than may run: the oldest job's goes, and is begun anew. */
static void test_held(void)
{
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "run-1", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    for (int id = 2; id <= 3; id++) {
        expect_int(play_submit(&play, "hang", ""), id);
        play_await_frames(&play, id);
        expect_int(send_body(&play, id == 2 ? "POST /v1/jobs/2/pause" : "POST /v1/jobs/3/pause",
                             "", 0), 200);
    }
    expect_int(send_body(&play, "POST /v1/jobs/3/resume", "", 0), 200);
    expect_int(play_wait_for_segments(&play, 3, 5), 1);
    expect_int(send_body(&play, "DELETE /v1/jobs/3", "", 0), 200);
    expect_int(send_body(&play, "POST /v1/jobs/2/resume", "", 0), 200);
    expect_int(play_wait_for_segments(&play, 2, 5), 2);
    play_stop(&play);
}

TEST_MAIN_AFTER(signal(SIGPIPE, SIG_IGN),
    { "pause", test_pause },
    { "pause-holds", test_pause_holds },
    { "pause-of-the-last", test_pause_of_the_last },
    { "priority", test_priority },
    { "cancelling", test_cancelling },
    { "pause-twice", test_pause_twice },
    { "other-input", test_other_input },
    { "one-output", test_one_output },
    { "pipe", test_pipe },
    { "suspects", test_suspects },
    { "crash-loop", test_crash_loop },
    { "media", test_media },
    { "held", test_held },
    { "files", test_files },
)
