/* SPDX-License-Identifier: MIT */
/* daemon/jobs/history: it is bounded however long a job runs, and right however often it is halved.
 * And what a start of the daemon knows of jobs. */

#include "tests/unit/test.h"

#include <math.h>
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "daemon/jobs/history/job-history.h"
#include "daemon/systemd/fd-store.h"
#include "history/msg_history.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/api/server-play.h"

static void note(struct vrt_job_history *history, double elapsed_s, double frames, int64_t bytes)
{
    vrt_job_history_note(history, &(struct vrt_job_look){ elapsed_s, frames, bytes });
}

/* As it is told, decoded again; the caller's. */
static struct vrt_job_history told(const struct vrt_job_history *history)
{
    struct vrt_buf text = { .limit_bytes = 0 };
    struct vrt_job_history again = { .n_points = 0 };

    expect_int(vrt_job_history_print(history, &text), 0);
    expect_int(vrt_job_history_read(text.data, &again), 0);
    vrt_buf_done(&text);
    return again;
}

/* A job of a second has a point for each look; the last look is the last point. */
static void test_short(void)
{
    struct vrt_job_history history = { .n_points = 0 };

    for (int i = 1; i <= 5; i++) {
        note(&history, 0.2 * i, i * i, i == 3 ? 700 : 100 * i);
        expect_near(history.period_s, 0.2, 0);
    }
    struct vrt_job_history again = told(&history);
    expect_int(again.n_points, 5);
    for (int i = 1; i <= 5; i++) {
        const struct vrt_history_point *point = &again.points[i - 1];
        expect_near(point->elapsed_s, 0.2 * i, 1e-9);
        expect_near(point->frames, i * i, 1e-9);
        expect_near(point->fps, (2 * i - 1) / 0.2, 1e-3);
        expect_int(point->memory_bytes, i == 3 ? 700 : 100 * i);
    }
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

/* Three days at 5 looks a second, the second half twice as fast, with one peak of memory. */
static void test_days(void)
{
    struct vrt_job_history history = { .n_points = 0 };
    const int n = 3 * 24 * 3600 * 5;
    size_t most = 0;

    for (int i = 1; i <= n; i++) {
        double half_s = n / 5.0 / 2, now_s = i / 5.0;
        note(&history, now_s, now_s + fmax(now_s - half_s, 0), i == n / 3 ? 9000 : 1000);
        most = VRT_MAX(most, history.n_points);
    }
    expect_int(most, VRT_API_HISTORY_POINTS);
    expect_true(history.n_points > VRT_API_HISTORY_POINTS / 2);
    struct vrt_job_history again = told(&history);
    int n_peaks = 0;
    for (size_t i = 0; i < again.n_points; i++) {
        double expected = again.points[i].elapsed_s <= n / 5.0 / 2 ? 1 : 2;
        bool is_between = i > 0 && again.points[i].elapsed_s > n / 5.0 / 2 &&
                          again.points[i - 1].elapsed_s < n / 5.0 / 2;
        if (!is_between)
            expect_near(again.points[i].fps, expected, 2e-3);
        n_peaks += again.points[i].memory_bytes == 9000;
        /* Even distances, but of the last one. */
        if (i + 1 < again.n_points)
            expect_near(again.points[i].elapsed_s - (i > 0 ? again.points[i - 1].elapsed_s : 0),
                        again.period_s, 0.11 * again.period_s);
    }
    expect_int(n_peaks, 1);
    expect_near(again.points[again.n_points - 1].elapsed_s, n / 5.0, 1e-9);
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

/* A job that goes on from a segment, or begins anew, has no other past than that. */
static void test_going_back(void)
{
    struct vrt_job_history history = { .n_points = 0 };

    for (int i = 1; i <= 100; i++)
        note(&history, i, 10 * i, 5);
    note(&history, 50.5, 300, 5);
    expect_int(history.n_points, 31);
    expect_near(history.points[30].elapsed_s, 50.5, 1e-9);
    expect_near(history.points[29].frames, 300, 1e-9);
    /* That it waits adds nothing, nor what is rounded. */
    for (int i = 0; i < 50; i++)
        note(&history, 50.5, 300 + 2.0 / 3, 5);
    expect_true(history.n_points <= 32);
    expect_near(history.points[history.n_points - 1].frames, 300.667, 1e-9);
    note(&history, 20.5, 301, 5);
    expect_int(history.n_points, 21);
    note(&history, 0, 0, -1);
    expect_int(history.n_points, 1);
    struct vrt_job_history again = told(&history);
    expect_true(isnan(again.points[0].fps));
    expect_int(again.points[0].memory_bytes, VRT_UNKNOWN);
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

static void test_texts(void)
{
    const char *const bad[] = {
        "", "[]", "{\"points\":7}", "{\"points\":[{\"elapsed_s\":-1}]}",
        "{\"period_s\":-1,\"points\":[]}",
        "{\"points\":[{\"elapsed_s\":2,\"frames\":1},{\"elapsed_s\":1,\"frames\":1}]}",
        "{\"points\":[{\"elapsed_s\":1,\"frames\":2},{\"elapsed_s\":1,\"frames\":1}]}",
    };
    static const char still[] =
        "{\"points\":[{\"elapsed_s\":1,\"frames\":1},{\"elapsed_s\":1,\"frames\":1}]}";
    struct vrt_job_history history = { .n_points = 0 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(bad); i++) {
        expect_true(vrt_job_history_read(bad[i], &history) < 0);
        expect_int(history.n_points, 0);
    }
    expect_int(vrt_job_history_read(still, &history), 0);
    expect_int(history.n_points, 2);
    vrt_job_history_done(&history);
    expect_int(history.n_points, 0);
    expect_int(vrt_job_history_read("{\"newer\":1}", &history), 0);
    note(&history, 1, 2, 3);
    expect_int(history.n_points, 1);
    vrt_job_history_done(&history);
}

/* What is told of a job's history; the caller's. */
static struct vrt_job_history ask_history(struct play *play, int64_t id)
{
    struct vrt_job_history history = { .n_points = 0 };
    char path[64], *body;

    snprintf(path, sizeof(path), "/v1/jobs/%lld/history", (long long)id);
    expect_int(play_ask(play, "GET", path, "", &body), 200);
    expect_int(vrt_job_history_read(body, &history), 0);
    return history;
}

/* A history is there in the next daemon: of a job that is over all of it. */
static void test_history(void)
{
    struct play play;
    struct vrt_job_info info;
    char *body;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "run-30", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    struct vrt_job_history before = ask_history(&play, 1);
    expect_true(before.n_points >= 1);
    expect_near(before.points[before.n_points - 1].frames, 30, 0);
    expect_int(play_submit(&play, "run-4000", ""), 2);
    play_wait_for_segments(&play, 2, 3);
    play_restart(&play);
    struct vrt_job_history after = ask_history(&play, 1);
    expect_int(after.n_points, before.n_points);
    for (size_t i = 0; i < after.n_points; i++) {
        expect_near(after.points[i].elapsed_s, before.points[i].elapsed_s, 1e-9);
        expect_near(after.points[i].frames, before.points[i].frames, 1e-9);
    }
    vrt_job_history_done(&before);
    vrt_job_history_done(&after);
    after = ask_history(&play, 2);
    expect_true(after.n_points >= 1);
    vrt_job_history_done(&after);
    /* Its time goes on from what was stored; of what it made nothing stays. */
    expect_int(play_show(&play, 2, &info), 200);
    const int n_segments = (int)info.segments_done;
    vrt_job_info_done(&info);
    play_hand_over(&play, 2, "resume", "run-4000");
    play_wait_for_segments(&play, 2, n_segments + 1);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/2", "", &body), 200);
    expect_contains(body, "\"elapsed_s\":2.0,");
    play_expect_state(&play, 2, VRT_JOB_CANCELLED);
    expect_contains(play_answer, "\"segments_done\":0,");
    play_stop(&play);
}

/* How many of jobs' files this process has open. */
static int n_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    char path[64];
    int n = 0;

    while ((entry = readdir(folder))) {
        ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, path, sizeof(path) - 1);
        path[VRT_MAX(bytes, 0)] = '\0';
        n += strncmp(path, "/tmp/vrt-file-", strlen("/tmp/vrt-file-")) == 0;
    }
    closedir(folder);
    return n;
}

/* Adds what the service manager, which is `fd`, was told since: whether it keeps a job's files. */
static void note_kept(int fd, int n_kept[4])
{
    char text[300];

    for (ssize_t n; (n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0;) {
        text[n] = '\0';
        const char *name = strstr(text, "FDNAME=");
        if (name)
            n_kept[name[7] - '0'] += strncmp(text, "FDSTORE=", 8) == 0 ? 1 : -1;
    }
}

/* Files are open, and kept past the daemon's end, as long as their job needs them. */
static void test_kept_files(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/vrt-kept-XXXXXX" };
    static const struct {
        const char *name;
        int state, n;
    } rows[] = {
        { "hang", VRT_JOB_RUNNING, 2 }, { "other", VRT_JOB_NEEDS_INPUT, 0 },
        { "run-1", VRT_JOB_DONE, 0 },
    };
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), n_kept[4] = { 0 };
    struct play play;

    close(mkstemp(address.sun_path));
    unlink(address.sun_path);
    expect_int(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    play_start(&play, "");
    for (int i = 0; i < 3; i++) {
        expect_int(play_submit(&play, rows[i].name, ""), i + 1);
        play_expect_state(&play, i + 1, rows[i].state);
        expect_int(n_open(), 2);
        note_kept(fd, n_kept);
        /* Of one that is over that is told when its end is stored; and some builds know nobody. */
        for (int k = 0; k < 5000 && n_kept[i + 1] != rows[i].n && n_kept[1]; k++) {
            test_sleep_ms(1);
            note_kept(fd, n_kept);
        }
        expect_int(n_kept[i + 1], n_kept[1] ? rows[i].n : 0);
    }
    expect_int(play_submit(&play, "run-1", ",\"dry_run\":true"), -200);
    expect_int(play_submit(&play, "refuse", ""), -422);
    expect_int(n_open(), 2);
    unsetenv("NOTIFY_SOCKET");
    play_stop(&play);
    close(fd);
    unlink(address.sun_path);
}

/* Segments that can't be, and all behind them, are made anew. */
static void test_odd_segments(void)
{
    static const struct {
        const char *change;             /* to the second segment */
        int n_segments, n_frames;       /* that are left */
    } rows[] = {
        { "n_frames = 0", 4, 12 }, { "n_frames = -1", 1, 4 }, { "next_shard = -1", 1, 4 },
        { "size_bytes = 1 << 48", 4, 16 }, { "size_bytes = (1 << 48) + 1", 1, 4 },
        { "ran_ms = -1", 1, 4 }, { "number = 9", 1, 4 },
        { "n_frames = 9223372036854775807, size_bytes = 9223372036854775807", 1, 4 },
    };
    struct play play;
    struct vrt_job_info info;
    char sql[400];

    play_start(&play, "");
    expect_int(play_submit(&play, "fail-18", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_FAILED);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        snprintf(sql, sizeof(sql), "UPDATE jobs SET state = 'paused'; UPDATE segments SET number = "
                 "1 WHERE number = 9; UPDATE segments SET n_frames = 4, next_shard = number + 1, "
                 "size_bytes = 100, ran_ms = 1500; UPDATE segments SET %s WHERE number = 1",
                 rows[i].change);
        play_restart_with(&play, sql);
        expect_int(play_show(&play, 1, &info), 200);
        expect_int(info.segments_done, rows[i].n_segments);
        expect_int(info.frames_done, rows[i].n_frames);
        expect_near(info.elapsed_s, 1.5, 0);
        vrt_job_info_done(&info);
    }
    play_stop(&play);
}

/* Also after a start what was over first is forgotten first; of the same moment, the older. */
static void test_order_of_ends(void)
{
    static const struct {
        const char *time;               /* of the end of job `id` */
        int forgotten;
    } rows[] = {
        { "printf('2020-01-02T03:04:%02d.000Z', 30 - id)", 2 }, { "'2020-01-02T03:04:05.000Z'", 1 },
    };
    struct play play;
    struct vrt_job_info info;
    char sql[200];

    play_start(&play, "[jobs]\nhistory = 2\nhistory_days = 36500\n");
    for (int id = 1; id <= 2; id++) {
        expect_int(play_submit(&play, "run-1", ""), id);
        play_expect_state(&play, id, VRT_JOB_DONE);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof(sql), "UPDATE jobs SET info = json_set(info, '$.finished_at', %s)",
                 rows[i].time);
        play_restart_with(&play, sql);
        expect_int(play_submit(&play, "run-1", ""), 3 + i);
        play_expect_state(&play, 3 + i, VRT_JOB_DONE);
        while (play_show(&play, rows[i].forgotten, &info) != 404) {
            vrt_job_info_done(&info);
            usleep(1000);
        }
    }
    play_expect_state(&play, 3, VRT_JOB_DONE);
    play_stop(&play);
}

/* A row that makes no sense is left out, and keeps its files until somebody mends it; those of no
 * job go. */
static void test_left_out(void)
{
    struct play play;
    struct vrt_job_info info;
    char path[96], orphan[96];

    play_start(&play, "");
    for (int id = 1; id <= 12; id++)
        expect_int(play_submit(&play, "fail-6", ""), id);
    play_expect_state(&play, 12, VRT_JOB_FAILED);
    snprintf(path, sizeof(path), "%s/spool/12", play.folder);
    snprintf(orphan, sizeof(orphan), "%s/spool/99", play.folder);
    expect_int(mkdir(orphan, 0700), 0);
    play_restart_with(&play, "UPDATE jobs SET priority = 1000 WHERE id > 1;"
                      "UPDATE jobs SET info = '{' WHERE id = 1");
    expect_int(play_show(&play, 1, &info), 404);
    expect_int(play_show(&play, 12, &info), 404);
    expect_int(access(path, F_OK), 0);
    expect_int(access(orphan, F_OK), -1);
    expect_int(play_submit(&play, "run-1", ""), 13);
    play_restart_with(&play, "UPDATE jobs SET priority = 3");
    play_expect_state(&play, 12, VRT_JOB_FAILED);
    expect_int(play_wait_for_segments(&play, 12, 1), 1);
    /* Who forgets it wants none of it any more. */
    expect_int(play_send(&play, "POST /v1/jobs/12/forget", "", NULL, 0), 200);
    for (int i = 0; i < 5000 && access(path, F_OK) == 0; i++)
        test_sleep_ms(1);
    expect_int(access(path, F_OK), -1);
    play_restart_with(&play, "SELECT json('not forgotten') FROM jobs WHERE id = 12");
    /* What a newer one wrote isn't for this one to leave out. */
    play_restart_with(&play, "UPDATE jobs SET state = 'teleported' WHERE id = 11");
    pthread_join(play.thread, NULL);
    expect_contains(play.error.message, "job 11 in ");
    close(play.params.spool_fd);
    vrt_fd_store_free(play.fd_store);
    expect_int(play_remove(&play), 0);
}

/* A full disk is looked at again when its user says so, and by the next daemon. */
static void test_full(void)
{
    struct play play;

    play_start(&play, "");
    expect_int(play_submit(&play, "full", ""), 1);
    for (int n = 1; n <= 2; n++) {
        play_expect_state(&play, 1, VRT_JOB_DISK_FULL);
        expect_contains(play_answer, n == 1 ? "\"n_starts\":1," : "\"n_starts\":2,");
        expect_contains(play_answer, "\"error\":{\"id\":\"spool.full\"");
        expect_int(n == 1 ? play_send(&play, "POST /v1/jobs/1/resume", "", NULL, 0) : 200, 200);
    }
    play_restart(&play);
    play_expect_state(&play, 1, VRT_JOB_NEEDS_INPUT);
    play_stop(&play);
}

/* A job that finds a disk full while it is paused has not failed. */
static void test_pause_full(void)
{
    struct play play;

    play_start(&play, "");
    expect_int(play_submit(&play, "fill", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_await_frames(&play, 1);
    expect_int(play_send(&play, "POST /v1/jobs/1/pause", "", NULL, 0), 200);
    usleep(20 * FAKE_FLOW_TICK_MS * 1000);
    play_expect_state(&play, 1, VRT_JOB_PAUSED);
    expect_int(play_send(&play, "POST /v1/jobs/1/resume", "", NULL, 0), 200);
    expect_contains(play_answer, "{\"id\":1,\"state\":\"running\"");
    expect_contains(play_answer, "\"n_starts\":2,");
    play_stop(&play);
}

/* What a job that failed has stored goes when nobody will retry it any more, and all that is known
 * of it later. */
static void test_long_ago(void)
{
    struct play play;
    struct vrt_job_info info;
    char path[96], sql[200];

    play_start(&play, "[jobs]\nfailed_files_days = 1\nhistory_days = 3\n");
    expect_int(play_submit(&play, "run-1", ""), 1);
    expect_int(play_submit(&play, "fail-6", ""), 2);
    snprintf(path, sizeof(path), "%s/spool/2", play.folder);
    play_expect_state(&play, 2, VRT_JOB_FAILED);
    expect_int(play_wait_for_segments(&play, 2, 1), 1);
    expect_int(access(path, F_OK), 0);
    for (int days = 2; days <= 4; days += 2) {
        snprintf(sql, sizeof(sql), "UPDATE jobs SET info = json_set(info, '$.finished_at', "
                 "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now', '-%d days'))", days);
        play_restart_with(&play, sql);
        while (play_show(&play, 2, &info) == 200 && (days == 4 || info.segments_done > 0)) {
            vrt_job_info_done(&info);
            usleep(1000);
        }
        if (days == 2)
            vrt_job_info_done(&info);
        /* A thread removes them. */
        while (access(path, F_OK) == 0)
            usleep(1000);
    }
    play_stop(&play);
}

TEST_MAIN_AFTER(signal(SIGPIPE, SIG_IGN),
    { "short", test_short },
    { "days", test_days },
    { "going-back", test_going_back },
    { "texts", test_texts },
    { "history", test_history },
    { "kept-files", test_kept_files },
    { "odd-segments", test_odd_segments },
    { "order-of-ends", test_order_of_ends },
    { "left-out", test_left_out },
    { "full", test_full },
    { "pause-full", test_pause_full },
    { "long-ago", test_long_ago },
)
