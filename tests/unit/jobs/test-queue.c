/* SPDX-License-Identifier: MIT */
/* daemon/queue, job-report, server: jobs from submission to the end, whatever end. */

#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "msg_event.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/api/server-play.h"

/* Of a job all is told that its pipeline says. */
static void test_life(void)
{
    static const char *const told[] = {
        "\"input_name\":\"run-5\",\"output_name\":\"out.mkv\",\"model\":{\"name\":\"compact-x2\","
        "\"architecture\":\"compact\",\"scale\":2,\"checksum\":\"000000000000feed\"},"
        "\"device\":\"auto\",\"priority\":3,",
        "\"elapsed_s\":1.0,\"fetched_bytes\":null,\"fetch_bytes\":null,\"frames_total\":5,"
        "\"frames_done\":5,\"frames_estimated\":false,\"frames_underway\":null,\"percent\":100.0,"
        "\"segments_done\":1,\"fps\":5.0,\"left_s\":null,\"cancelling\":false,"
        "\"bottleneck\":\"compute\",\"devices\":[{\"name\":\"cpu:0\",\"shards_done\":2,"
        "\"shards_running\":0,\"frames_done\":5,\"frames_underway\":null,\"fps\":12.5,"
        "\"replica_bytes\":400,\"workspace_bytes\":600,\"peak_bytes\":1000}],"
        "\"warnings_total\":1,\"result_bytes\":null,\"error\":null,\"frames_compared\":0,"
        "\"comparison\":null,\"stages\":{\"decode\":0.1,\"upload\":0.2,\"compute\":0.3,"
        "\"download\":0.4,\"encode\":0.5},\"recipe\":{\"clip_frames\":4,\"clip_overlap\":1,"
        "\"tile_width\":64,\"tile_height\":48,\"overlap\":8,\"tiling\":\"official\","
        "\"scene_cuts\":0.5,\"strength\":0.75,\"denoise\":null,\"sigma\":null,"
        "\"precision\":\"f32\",\"codec\":\"h264\",\"quality\":7,\"preset\":\"medium\","
        "\"bitrate\":9,\"target_size_bytes\":null,\"scale\":null,\"pixel_format\":null,"
        "\"encoder_options\":null,\"streams\":null,\"encoder_threads\":2,"
        "\"deinterlace\":\"field\",\"times\":3,\"times_every\":2,\"alpha\":\"drop\","
        "\"tonemap\":\"hable\",\"hwaccel\":\"nvenc\",\"hwdec\":\"vaapi\"},\"video\":{\"width\":64,"
        "\"height\":48,\"output_width\":128,\"output_height\":96,\"fps\":25.0,\"start_s\":1.5,"
        "\"duration_s\":null,\"codec\":\"mpeg4\",\"pixel_format\":\"yuv410p\"},"
        "\"reproducible\":true,\"n_starts\":1,\"frames_repeated\":0,",
        "\"warnings\":[\"this is a fake\"]}",
    };
    struct play play;
    struct vrt_job_info info;
    char *body;

    play_start(&play, "[cpu]\ndevices = 1\n");
    expect_int(play_submit(&play, "run-5", ",\"priority\":3,\"quality\":7"), 1);
    play_wait_for(&play, 1, VRT_JOB_DONE, &info);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(told); i++)
        expect_contains(play_answer, told[i]);
    expect_true(info.created_at <= info.started_at && info.started_at <= info.finished_at);
    vrt_job_info_done(&info);

    expect_int(play_ask(&play, "GET", "/v1/jobs", "", &body), 200);
    expect_contains(body, "{\"jobs\":[{\"id\":1,\"state\":\"done\"");
    expect_int(play_submit(&play, "fail", ""), 2);
    play_expect_state(&play, 2, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"error\":{\"id\":\"device.failed\",\"message\":\"the fake "
                    "failed\",\"field\":null}");
    expect_int(play_ask(&play, "GET", "/v1/status", "", &body), 200);
    expect_contains(body, "\"done\":1,\"failed\":1,\"cancelled\":0");
    play_stop(&play);
}

static void test_refused(void)
{
    struct play play;
    char *body;

    play_start(&play, "[jobs]\nmax_queued = 1\nmax_running = 1\n");
    /* More often than there is room for: refusals give back what they took. */
    for (int i = 0; i < 5; i++) {
        expect_int(play_submit(&play, "refuse", ""), -422);
        expect_contains(play_answer, "the fake was refused");
    }
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"name\":\"n\"}"), -404);
    expect_contains(play_answer, "\"field\":\"model\"");
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"name\":\"../models/x\"}"), -404);
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"fd\":3,\"name\":\"x.pth\"}"), -400);
    expect_contains(play_answer, "\"field\":\"model.fd\"");
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"fd\":1,\"name\":\"x.pth\"}"), -400);
    expect_int(play_submit(&play, "run-1", ",\"frobnicate\":1"), -400);
    expect_int(play_submit(&play, "run-1", ",\"priority\":1000"), -400);
    expect_int(play_ask(&play, "GET", "/v1/jobs", "", &body), 200);
    expect_str(body, "{\"jobs\":[],\"next\":null}");
    play_stop(&play);
}

/* A dry run is answered like a job and leaves nothing, however often it is asked for. */
static void test_dry_run(void)
{
    struct play play;
    char *body;

    play_start(&play, "[jobs]\nmax_queued = 1\nmax_running = 1\n");
    for (int i = 0; i < 5; i++) {
        expect_int(play_submit(&play, "run-10", ",\"dry_run\":true"), -200);
        expect_contains(play_answer, "\"input_name\":\"run-10\",\"output_name\":\"out.mkv\"");
        expect_contains(play_answer, "\"frames_total\":10,\"shards\":3,\"tiles\":6,");
        expect_contains(play_answer, "\"gflop\":20.0,");
        /* 3 shards of 4 frames of 2 GFLOP, at 1 GFLOP/s. */
        expect_contains(play_answer, "\"estimated_s\":24.0,");
        expect_contains(play_answer, "\"peak_bytes\":1000");
        expect_contains(play_answer, "\"seconds_per_shard\":8.0");
        expect_contains(play_answer, "\"warnings\":[\"this is a fake\"]");
    }
    expect_int(play_submit(&play, "hang", ",\"dry_run\":true"), -200);
    expect_contains(play_answer, "\"frames_total\":null,\"shards\":null");
    expect_contains(play_answer, "\"estimated_s\":null");
    expect_int(play_submit(&play, "refuse", ",\"dry_run\":true"), -422);
    expect_contains(play_answer, "the fake was refused");
    /* One whose client goes away before it is answered. */
    for (int i = 0; i < 3; i++)
        close(play_submit_begin(&play, i ? "never" : "run-1", ",\"dry_run\":true"));
    expect_int(play_ask(&play, "GET", "/v1/jobs", "", &body), 200);
    expect_str(body, "{\"jobs\":[],\"next\":null}");

    /* A job that really runs isn't disturbed by one that doesn't. */
    long long id;
    while ((id = play_submit(&play, "run-50", "")) == -503)
        ;
    expect_true(id > 0);
    expect_int(play_submit(&play, "run-4", ",\"dry_run\":true"), -200);
    play_expect_state(&play, id, VRT_JOB_DONE);
    close(play_submit_begin(&play, "never", ",\"dry_run\":true"));
    play_stop(&play);
}

/* Nothing of what is told of a job changes once it is done: not even when the store learns of its
 * last segments afterwards. */
static void test_done_stays(void)
{
    struct play play;

    play_start(&play, "");
    for (int id = 1; id <= 10; id++) {
        expect_int(play_submit(&play, "run-8", ""), id);
        play_expect_state(&play, id, VRT_JOB_DONE);
        expect_contains(play_answer, "\"segments_done\":2,");
    }
    play_restart_with(&play, "SELECT 1");
    play_expect_state(&play, 10, VRT_JOB_DONE);
    expect_contains(play_answer, "\"segments_done\":2,");
    play_stop(&play);
}

/* One at a time, by priority, then by age; never more than max_running of one priority: one of a
 * higher priority goes first, beside those that run. */
static void test_order(void)
{
    static const char *const starts[] = { "hang", "run-4", "run-6", "run-2", "run-3" };
    struct play play;
    char *body;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "hang", ""), 1);
    play_await_frames(&play, 1);
    expect_int(play_submit(&play, "run-2", ""), 2);
    expect_int(play_submit(&play, "run-3", ",\"priority\":-1"), 3);
    expect_int(play_submit(&play, "run-4", ",\"priority\":5"), 4);
    expect_int(play_submit(&play, "run-6", ",\"priority\":5"), 5);
    /* They go beside the first; the others wait for its end. */
    play_expect_state(&play, 4, VRT_JOB_DONE);
    play_expect_state(&play, 5, VRT_JOB_DONE);
    play_expect_state(&play, 2, VRT_JOB_QUEUED);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/1", "", &body), 200);
    play_expect_state(&play, 2, VRT_JOB_DONE);
    play_expect_state(&play, 3, VRT_JOB_DONE);
    play_stop(&play);
    expect_int(fake_flow.n_running_max, 2);
    expect_int(fake_flow.n_starts, VRT_ARRAY_SIZE(starts));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(starts); i++)
        expect_str(fake_flow.starts[i], starts[i]);
}

static void test_cancel(void)
{
    struct play play;
    char *body;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_int(play_submit(&play, "hang", ""), 2);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_expect_state(&play, 2, VRT_JOB_QUEUED);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/2", "", &body), 200);
    expect_contains(body, "\"state\":\"cancelled\"");
    /* Over or not, when the answer comes. */
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/1", "", &body), 200);
    expect_contains(body, "\"id\":1,");
    play_expect_state(&play, 1, VRT_JOB_CANCELLED);
    expect_contains(play_answer, "\"error\":null,");
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/1", "", &body), 409);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/9", "", &body), 404);
    /* A client that goes away before it knows its job's number doesn't want the job. */
    for (int i = 0; i < 3; i++)
        close(play_submit_begin(&play, i ? "never" : "run-1", ""));
    expect_int(play_submit(&play, "run-1", ""), 3);
    play_expect_state(&play, 3, VRT_JOB_DONE);
    play_stop(&play);
}

static void test_queue_full(void)
{
    struct play play;
    char *body;

    /* Four in all, of which one user gets three. */
    play_start(&play, "[jobs]\nmax_running = 1\nmax_queued = 3\n");
    for (int i = 1; i <= 3; i++)
        expect_int(play_submit(&play, "hang", ""), i);
    expect_int(play_submit(&play, "hang", ""), -503);
    expect_contains(play_answer, "job.queue_full\",\"message\":\"as many jobs wait as are allowed "
                    "to one user: ");
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/3", "", &body), 200);
    expect_int(play_submit(&play, "hang", ""), 4);
    /* Nor for one that is tried again. */
    expect_int(play_ask(&play, "POST", "/v1/jobs/3/retry", "Content-Length: 0\r\n", &body), 503);
    play_stop(&play);
}

/* A device that hangs keeps it from ending well, but a second signal ends it all the same. */
static void test_hurry(void)
{
    struct play *play = mmap(NULL, sizeof(*play), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;

    expect_true(play != MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        play_start(play, "");
        expect_int(play_submit(play, "stuck", ""), 1);
        play_await_frames(play, 1);
        kill(getpid(), SIGTERM);
        /* It still answers, and takes nothing more. */
        for (int i = 0; play_submit(play, "run-1", "") != -503; i++)
            expect_true(i < 10000);
        expect_contains(play_answer, "shutting_down");
        kill(getpid(), SIGTERM);
        pthread_join(play->thread, NULL);
        expect_int(play->result, VRT_SERVER_E_HURRIED);
        /* Threads are left where they were, which is no fault: nothing shall look for them. */
        kill(getpid(), SIGKILL);
    }
    expect_int(waitpid(pid, &status, 0), pid);
    expect_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* Now none of those threads takes files away meanwhile. */
    expect_int(play_remove(play), 0);
    munmap(play, sizeof(*play));
}

/* A change is told to all readers, also where a new one asks before the next tick. */
static void test_device_events(void)
{
    struct play play;
    struct vrt_buf first = { .limit_bytes = 0 }, second = { .limit_bytes = 0 };

    play_start(&play, "");
    int old = play_subscribe(&play, "/v1/events");
    for (int i = 0; i < 2; i++)
        expect_int(play_next_event(old, &first), VRT_EVENT_DEVICE);
    expect_contains(play_answer, "\"state\":\"quarantined\"");
    fake_flow.is_mended = true;
    int late = play_subscribe(&play, "/v1/events");
    for (int i = 0; i < 2; i++)
        expect_int(play_next_event(late, &second), VRT_EVENT_DEVICE);
    expect_contains(play_answer, "\"name\":\"cuda:0\"");
    expect_contains(play_answer, "\"state\":\"ready\"");
    expect_int(play_next_event(old, &first), VRT_EVENT_DEVICE);
    expect_contains(play_answer, "\"name\":\"cuda:0\"");
    expect_contains(play_answer, "\"state\":\"ready\"");
    close(old);
    close(late);
    vrt_buf_done(&first);
    vrt_buf_done(&second);
    play_stop(&play);
}

/* A job goes on in the next daemon, behind what is stored of it, as soon as its files are there. */
static void test_restart(void)
{
    struct play play;
    struct vrt_job_info info;
    char path[96], *body;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "run-3", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_int(play_submit(&play, "run-4000", ",\"priority\":4"), 2);
    expect_int(play_submit(&play, "run-5", ""), 3);
    expect_int(play_submit(&play, "fail", ""), 4);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/4", "", &body), 200);
    play_wait_for_segments(&play, 2, 3);
    play_restart(&play);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_contains(play_answer, "\"frames_done\":3,");
    expect_int(play_show(&play, 2, &info), 200);
    expect_int(info.state, VRT_JOB_NEEDS_INPUT);
    expect_int(info.priority, 4);
    expect_true(info.segments_done >= 3);
    expect_int(info.frames_done, info.segments_done * 4);
    expect_int(info.n_starts, 1);
    expect_str(info.model.name, "compact-x2");
    vrt_job_info_done(&info);
    play_expect_state(&play, 3, VRT_JOB_NEEDS_INPUT);
    expect_contains(play_answer, "\"segments_done\":0,");
    expect_contains(play_answer, "\"elapsed_s\":0.0,");
    play_expect_state(&play, 4, VRT_JOB_CANCELLED);
    /* No number is ever used twice. */
    expect_int(play_submit(&play, "run-1", ""), 5);
    play_expect_state(&play, 5, VRT_JOB_DONE);
    /* What is damaged of it is made anew. */
    play_hand_over(&play, 2, "resume", "run-8-cut");
    play_expect_state(&play, 2, VRT_JOB_DONE);
    expect_contains(play_answer, "\"frames_done\":8,");
    expect_contains(play_answer, "\"segments_done\":2,");
    /* Transparency that is gone, too, and all that was to go with it. */
    expect_int(play_submit(&play, "hang-4-alpha", ""), 6);
    expect_int(play_wait_for_segments(&play, 6, 2), 2);
    snprintf(path, sizeof(path), "%s/spool/6/alpha.mkv", play.folder);
    expect_int(unlink(path), 0);
    play_restart(&play);
    play_hand_over(&play, 6, "resume", "run-4-alpha");
    play_expect_state(&play, 6, VRT_JOB_DONE);
    expect_contains(play_answer, "\"n_starts\":4,");
    play_stop(&play);
}

/* What the devices have no memory for is begun anew with a smaller recipe, its transparency too:
 * of what the larger one made nothing is of use. */
static void test_smaller(void)
{
    struct play play;

    play_start(&play, "");
    expect_int(play_submit(&play, "run-4-large-alpha", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_contains(play_answer, "\"frames_done\":4,");
    expect_contains(play_answer, "\"segments_done\":1,");
    expect_contains(play_answer, "\"tile_width\":32,\"tile_height\":48,");
    expect_contains(play_answer, "\"n_starts\":4,");
    play_stop(&play);
    expect_int(fake_flow.n_frames, 4 * 4);
}

/* A segment of the fake has 100 bytes, and is charged twice: by itself, and in the joined file. */
static void test_spool_limit(void)
{
    struct play play;
    struct vrt_job_info info;
    char *body;

    play_start(&play, "[access]\nspool_per_user = 700\n[jobs]\nmax_running = 1\n");
    /* Three segments are within the limit, four aren't. */
    expect_int(play_submit(&play, "run-13", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_DONE);
    expect_int(play_submit(&play, "run-50", ""), 2);
    play_wait_for(&play, 2, VRT_JOB_DONE, &info);
    expect_int(info.state, VRT_JOB_FAILED);
    expect_str(info.error.id, "spool.too_large");
    /* Or more, of which it was told when that was too much. */
    expect_true(info.segments_done >= 4);
    vrt_job_info_done(&info);
    /* What the failed one has stored stays for a retry, and so there is no room for another. */
    expect_int(play_submit(&play, "run-30", ""), 3);
    play_expect_state(&play, 3, VRT_JOB_DISK_FULL);
    expect_contains(play_answer, "\"error\":{\"id\":\"spool.quota\"");
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/3", "", &body), 200);
    play_expect_state(&play, 3, VRT_JOB_CANCELLED);
    /* Nor has one that is tried again more than before. */
    expect_int(play_send(&play, "POST /v1/jobs/2/forget", "", NULL, 0), 200);
    play_hand_over(&play, 3, "retry", "run-50");
    play_expect_state(&play, 3, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"error\":{\"id\":\"spool.too_large\"");
    play_stop(&play);
    /* The first was finished with 100 bytes left, or when not all of it was charged yet. */
    expect_true(fake_flow.size_bytes_max >= 300 + 100 + (4 << 20));
}

/* Where both have a part of what they may have together, and wait, the first goes on with what the
 * second has made; so each is done in the end. */
static void test_spool_shared(void)
{
    struct play play;
    struct vrt_job_info infos[2];
    char path[96], *body;

    /* Of 25 segments each, there is room for those of one. */
    play_start(&play, "[access]\nspool_per_user = 5100\n[jobs]\nmax_running = 2\n");
    expect_int(play_submit(&play, "run-100", ""), 1);
    snprintf(path, sizeof(path), "%s/spool/2", play.folder);
    expect_int(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/spool/2/input", play.folder);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    expect_int(play_submit(&play, "run-100", ""), 2);
    for (int i = 0; i < 2; i++) {
        play_wait_for(&play, i + 1, VRT_JOB_DONE, &infos[i]);
        /* What was uploaded for the second stays until it is over too. */
        bool is_kept = access(path, F_OK) == 0;
        expect_int(play_ask(&play, "GET", "/v1/jobs/2", "", &body), 200);
        expect_true(is_kept || strstr(body, "\"state\":\"done\""));
        expect_int(infos[i].state, VRT_JOB_DONE);
        expect_true(!infos[i].has_error);
    }
    /* The first may just have been through when the second filled the rest. */
    expect_true(infos[0].n_starts + infos[1].n_starts > 2);
    expect_true(infos[0].finished_at < infos[1].finished_at);
    for (int i = 0; i < 2; i++)
        vrt_job_info_done(&infos[i]);
    play_stop(&play);
    expect_true(fake_flow.n_frames > 2 * 100);
}

/* Clients go away, and then the daemon stops, at every point of an admission. */
static void test_gone(void)
{
    struct play play;
    int fds[20];
    char *body;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    for (int i = 0; i < 60; i++) {
        int fd = play_submit_begin(&play, "hang", "");
        usleep((unsigned)i * 200);
        close(fd);
    }
    expect_int(play_ask(&play, "GET", "/v1/status", "", &body), 200);
    play_stop(&play);
    for (int i = 0; i < 4; i++) {
        play_start(&play, "[jobs]\nmax_running = 1\n");
        for (size_t k = 0; k < VRT_ARRAY_SIZE(fds); k++)
            fds[k] = play_submit_begin(&play, "hang", "");
        usleep((unsigned)i * 3000);
        play_stop(&play);
        for (size_t k = 0; k < VRT_ARRAY_SIZE(fds); k++)
            close(fds[k]);
    }
}

/* It is stopped while jobs are being admitted, wait and run, and clients wait and listen. */
static void test_stop(void)
{
    struct play play;
    struct vrt_buf stream = { .limit_bytes = 0 };
    int n_new = 0, n_lost = 0, n_put_back = 0;

    play_start(&play, "[jobs]\nmax_running = 2\n");
    int all = play_subscribe(&play, "/v1/events"), half = http_client_connect(play.socket);
    for (int i = 1; i <= 5; i++)
        expect_int(play_submit(&play, "hang", ""), i);
    expect_int(play_submit(&play, "other", ",\"priority\":1"), 6);
    play_expect_state(&play, 6, VRT_JOB_NEEDS_INPUT);
    int waiting = play_submit_begin(&play, "never", "");
    http_client_send(half, "GET /", 5);
    kill(getpid(), SIGTERM);
    expect_int(http_client_read(waiting, play_answer, sizeof(play_answer)), 503);
    expect_contains(play_answer, "shutting_down");
    while (play_next_event(all, &stream) >= 0) {
        bool is_queued = strstr(play_answer, "\"state\":\"queued\"");
        n_new += is_queued && strstr(play_answer, "\"started_at\":null");
        n_lost += strstr(play_answer, "{\"id\":6,\"state\":\"needs_input\"") != NULL;
        n_put_back += is_queued && !strstr(play_answer, "\"started_at\":null");
    }
    /* Those that start at once may be told of only then. */
    expect_true(n_new >= 3 && n_lost >= 1);
    expect_int(n_put_back, 2);
    play_wait_stopped(&play);
    close(waiting);
    close(all);
    close(half);
    vrt_buf_done(&stream);
}

TEST_MAIN_AFTER(signal(SIGPIPE, SIG_IGN),
    { "hurry", test_hurry },        /* first: ThreadSanitizer forks only before threads */
    { "life", test_life },
    { "refused", test_refused },
    { "dry-run", test_dry_run },
    { "done-stays", test_done_stays },
    { "order", test_order },
    { "cancel", test_cancel },
    { "queue-full", test_queue_full },
    { "device-events", test_device_events },
    { "restart", test_restart },
    { "smaller", test_smaller },
    { "spool-limit", test_spool_limit },
    { "spool-shared", test_spool_shared },
    { "gone", test_gone },
    { "stop", test_stop },
)
