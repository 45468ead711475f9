/* SPDX-License-Identifier: MIT */
/* Who is at the other end, what he is called, and what he sees and may do. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "daemon/access/access.h"
#include "daemon/access/accounts.h"
#include "daemon/access/peer.h"
#include "msg_event.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/api/server-play.h"

#define ANNA 61001
#define BERT 61002
#define ADMINS 61100
#define HURRIED 61200
#define OWN 61300         /* who vrtd would run as */

static void write_file(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    expect_true(fd >= 0);
    expect_int(write(fd, text, size), size);
    close(fd);
}

static void test_accounts(void)
{
    static const char text[] = "root:x:0:0:root:/root:/bin/sh\n"
        "\n:x:5:\nnobody\nnopassword:\nnonumber:x\nnegative:x:-1:\nhuge:x:4294967295:\n"
        "junk:x:12junk:\nblank:x: 7:\nanna:x:61001:1::\nagain:x:61001:1::\n"
        "odd\x1b[2J:x:61003:\nlast:*:61002";
    char path[] = "/tmp/vrt-accounts-XXXXXX", name[64], small[6];
    struct vrt_accounts *accounts = NULL;
    uint32_t id = 7;

    close(mkostemp(path, O_CLOEXEC));
    write_file(path, text, sizeof(text) - 1);
    expect_int(vrt_accounts_new(path, &accounts), 0);
    expect_str(vrt_accounts_name(accounts, 0, name, sizeof(name)), "root");
    expect_str(vrt_accounts_name(accounts, ANNA, name, sizeof(name)), "anna");
    expect_str(vrt_accounts_name(accounts, BERT, name, sizeof(name)), "last");
    expect_str(vrt_accounts_name(accounts, 61003, name, sizeof(name)), "odd?[2J");
    expect_str(vrt_accounts_name(accounts, 12, name, sizeof(name)), "12");
    expect_str(vrt_accounts_name(accounts, 7, name, sizeof(name)), "7");
    expect_str(vrt_accounts_name(accounts, UINT32_MAX, name, sizeof(name)), "4294967295");
    expect_str(vrt_accounts_name(accounts, 61003, small, sizeof(small)), "od...");
    expect_int(vrt_accounts_id(accounts, "again", &id), 0);
    expect_int(id, ANNA);
    expect_int(vrt_accounts_id(accounts, "4711", &id), 0);
    expect_int(id, 4711);
    id = 7;
    expect_int(vrt_accounts_id(accounts, "junk", &id), -ENOENT);
    expect_int(vrt_accounts_id(accounts, "-1", &id), -ENOENT);
    expect_int(vrt_accounts_id(accounts, "4294967295", &id), -ENOENT);
    expect_int(vrt_accounts_id(accounts, "", &id), -ENOENT);
    expect_int(id, 7);

    /* A change is noticed, and so is that the file is gone. */
    write_file(path, "bert:x:61002:\n", 14);
    expect_str(vrt_accounts_name(accounts, BERT, name, sizeof(name)), "bert");
    expect_str(vrt_accounts_name(accounts, ANNA, name, sizeof(name)), "61001");
    expect_int(vrt_accounts_id(accounts, "bert", &id), 0);
    /* Of a file that is too large nothing is taken. */
    expect_int(truncate(path, (16 << 20) + 1), 0);
    expect_str(vrt_accounts_name(accounts, BERT, name, sizeof(name)), "61002");
    write_file(path, "bert:x:61002:\n", 14);
    expect_str(vrt_accounts_name(accounts, BERT, name, sizeof(name)), "bert");
    unlink(path);
    expect_str(vrt_accounts_name(accounts, BERT, name, sizeof(name)), "61002");
    expect_true(vrt_accounts_free(accounts) == NULL);
}

/* What the kernel tells of this process are the groups that it has. */
static void test_peer(void)
{
    struct vrt_peer peer, copy;
    gid_t gids[1024];
    int fds[2];

    int n = getgroups(VRT_ARRAY_SIZE(gids), gids);
    expect_true(n >= 0);
    expect_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    expect_int(vrt_peer_init(fds[0], &peer), 0);
    expect_int(peer.uid, geteuid());
    expect_true(vrt_peer_in_group(&peer, getegid()));
    expect_int(peer.n_gids, n + 1);
    for (int i = 0; i < n; i++)
        expect_true(vrt_peer_in_group(&peer, gids[i]));
    expect_true(!vrt_peer_in_group(&peer, ADMINS));
    gids[0] = ADMINS;
    expect_int(vrt_peer_copy(&(struct vrt_peer){ .gids = gids, .n_gids = 1 }, &copy), 0);
    expect_int(copy.n_gids, 1);
    expect_true(vrt_peer_in_group(&copy, ADMINS));
    vrt_peer_done(&copy);
    vrt_peer_done(&peer);
    close(fds[0]);
    close(fds[1]);
    expect_int(vrt_peer_init(fds[0], &peer), -EBADF);
}

/* What each may who is somebody, or in a group. */
static void test_rights(void)
{
    static gid_t admins[] = { 5, ADMINS, 0 }, hurried[] = { HURRIED };
    const uid_t self = geteuid(), own = self ? self : OWN;
    const struct {
        struct vrt_peer peer;
        bool is_admin, may_hurry, controls_annas, sees_berts;
    } rows[] = {
        { { .uid = ANNA, .gids = admins, .n_gids = 1 }, false, false, true, true },
        { { .uid = BERT, .gids = admins, .n_gids = 3 }, true, true, true, true },
        { { .uid = BERT, .gids = hurried, .n_gids = 1 }, false, true, false, true },
        { { .uid = 0 }, true, true, true, true },
        { { .uid = own }, true, true, true, true },
        { { .uid = own + 1 }, false, false, false, true },
        { { .uid = VRT_WEB_UID + 1 }, false, false, false, false },
        { { .uid = VRT_WEB_UID + 1, .is_admin = true }, true, true, true, true },
    };
    struct vrt_accounts *accounts = NULL;
    struct vrt_access *access = NULL;

    vrt_log_set_level(VRT_LOG_ERROR);
    expect_int(vrt_accounts_new("/nonexistent", &accounts), 0);
    expect_int(seteuid(own), 0);
    expect_int(vrt_access_new(accounts, &access), 0);
    expect_int(seteuid(self), 0);
    expect_true(!vrt_access_may_hwaccel(access));
    vrt_access_set_hwaccel(access, true);
    expect_true(vrt_access_may_hwaccel(access));
    /* A group that there isn't takes the right away from the one before. */
    static const char *const groups[] = { "", "61100", "nobody's group", "61100", "" };
    for (size_t g = 0; g < VRT_ARRAY_SIZE(groups); g++) {
        const bool is_there = groups[g][0] == '6';
        vrt_access_set_admin_group(access, groups[g]);
        vrt_access_set_priority_group(access, is_there ? "61200" : groups[g]);
        for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
            const struct vrt_peer *peer = &rows[i].peer;
            const bool is_same = is_there || !peer->gids;
            expect_int(vrt_access_is_admin(access, peer), is_same && rows[i].is_admin);
            expect_int(vrt_access_may_hurry(access, peer), is_same && rows[i].may_hurry);
            expect_int(vrt_access_may_control(access, peer, ANNA),
                       (is_same || peer->uid == ANNA) && rows[i].controls_annas);
            expect_int(vrt_access_may_see(access, peer, BERT), rows[i].sees_berts);
        }
    }
    vrt_access_free(access);
    vrt_accounts_free(accounts);
}

/* A server that other users can reach. */
static void start(struct play *play, const char *conf)
{
    if (geteuid() != 0)
        test_skip("only root can be several users");
    play_start(play, conf);
    play_open_to_all(play);
}

/* A job of Anna's, as the thread's user sees it everywhere. */
static void expect_seen(struct play *play, bool with_names)
{
    static const char *const paths[] = { "/v1/jobs", "/v1/jobs/1" };
    struct vrt_buf stream = { .limit_bytes = 0 };
    char *body;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(paths); i++) {
        expect_int(play_ask(play, "GET", paths[i], "", &body), 200);
        expect_contains(body, "\"id\":1,");
        expect_contains(body, "\"owner\":\"61001\"");
        expect_true(!strstr(body, "hang") == !with_names);
        expect_true(!strstr(body, "out.mkv") == !with_names);
    }
    int fd = play_subscribe(play, "/v1/events?job=1");
    expect_int(play_next_event(fd, &stream), VRT_EVENT_JOB);
    expect_true(!strstr(play_answer, "hang") == !with_names);
    close(fd);
    vrt_buf_done(&stream);
    fd = play_subscribe(play, "/v1/events");
    while (play_next_event(fd, &stream) != VRT_EVENT_JOB)
        ;
    expect_true(!strstr(play_answer, "hang") == !with_names);
    close(fd);
    vrt_buf_done(&stream);
    expect_int(play_ask(play, "GET", "/v1/status", "", &body), 200);
    expect_true(!strstr(body, "hang"));
}

static void test_users(void)
{
    static const char trim[] = "{\"trim\":true}";
    struct play play;
    struct vrt_buf stream = { .limit_bytes = 0 };
    char *body;

    start(&play, "[access]\nadmin_group = 61100\n");
    play_become(BERT, BERT);
    int reader = play_subscribe(&play, "/v1/events");
    play_become(ANNA, ANNA);
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_seen(&play, true);

    expect_int(play_ask(&play, "GET", "/v1/jobs?mine=true", "", &body), 200);
    expect_contains(body, "\"id\":1,");
    play_become(BERT, BERT);
    expect_int(play_ask(&play, "GET", "/v1/jobs?mine=true", "", &body), 200);
    expect_str(body, "{\"jobs\":[],\"next\":null}");
    expect_seen(&play, false);
    while (play_next_event(reader, &stream) != VRT_EVENT_JOB)
        ;
    expect_true(!strstr(play_answer, "hang") && strstr(play_answer, "\"id\":1,"));
    close(reader);
    vrt_buf_done(&stream);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/1", "", &body), 403);
    expect_contains(body, "job.forbidden");
    expect_true(!strstr(body, "hang"));
    /* What is everybody's, and no job: administrators ask it of devices, as of models. */
    expect_int(play_send(&play, "POST /v1/devices", trim, NULL, 0), 403);
    expect_contains(play_answer, "by administrators only: root, the user that vrtd runs as, and");
    expect_int(play_ask(&play, "GET", "/v1/devices", "", &body), 200);

    /* Whose number is a token's gets no answer. */
    play_become(VRT_WEB_UID + 1, BERT);
    expect_int(play_ask(&play, "GET", "/v1/status", "", &body), 0);
    play_become(0, 0);
    expect_seen(&play, true);
    expect_int(play_send(&play, "POST /v1/devices", trim, NULL, 0), 200);
    play_become(BERT, ADMINS);
    expect_seen(&play, true);
    expect_int(play_send(&play, "POST /v1/devices", trim, NULL, 0), 200);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/1", "", &body), 200);
    expect_contains(body, "hang");
    play_become(0, 0);
    play_stop(&play);
}

/* Gives job 1 a priority. Return: the HTTP status. */
static int hurry(struct play *play, int priority)
{
    char body[32];

    snprintf(body, sizeof(body), "{\"priority\":%d}", priority);
    return play_send(play, "PATCH /v1/jobs/1", body, NULL, 0);
}

static void test_priorities(void)
{
    struct play play;

    start(&play, "[access]\nadmin_group = 61100\npriority_group = 61200\n");
    play_become(ANNA, ANNA);
    expect_int(play_submit(&play, "hang", ",\"priority\":1"), -403);
    expect_contains(play_answer, "job.priority");
    expect_contains(play_answer, "\"field\":\"priority\"");
    expect_int(play_submit(&play, "hang", ",\"priority\":-5"), 1);
    expect_int(hurry(&play, 0), 200);
    expect_int(hurry(&play, 7), 403);
    expect_contains(play_answer, "job.priority");
    play_become(ANNA, HURRIED);
    expect_int(hurry(&play, 7), 200);
    /* What he was given he may lower, and not raise again. */
    play_become(ANNA, ANNA);
    expect_int(hurry(&play, 5), 200);
    expect_int(hurry(&play, 6), 403);
    play_become(BERT, ADMINS);
    expect_int(play_submit(&play, "run-1", ",\"priority\":100"), 2);
    play_become(0, 0);
    play_stop(&play);
}

/* One job of each before a second of anybody's; then they take turns. */
static void test_turns(void)
{
    struct play play;

    start(&play, "[jobs]\nmax_running = 2\nturn_s = 3600\n");
    play_become(ANNA, ANNA);
    for (long long id = 1; id <= 3; id++)
        expect_int(play_submit(&play, "hang", ""), id);
    play_expect_state(&play, 2, VRT_JOB_RUNNING);
    play_become(BERT, BERT);
    expect_int(play_submit(&play, "run-4", ""), 4);
    play_expect_state(&play, 4, VRT_JOB_DONE);
    play_become(0, 0);
    play_stop(&play);

    start(&play, "[jobs]\nmax_running = 1\nturn_s = 1\n");
    play_become(ANNA, ANNA);
    expect_int(play_submit(&play, "hang", ""), 1);
    play_become(BERT, BERT);
    expect_int(play_submit(&play, "run-4", ""), 2);
    play_expect_state(&play, 2, VRT_JOB_DONE);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    play_become(0, 0);
    play_stop(&play);
}

#define N_USERS 20
#define N_JOBS 100

/* Which of the users the start was of. */
static int starter(int i)
{
    const char *of = strstr(fake_flow.starts[i], "of ");

    expect_true(of != NULL);
    return (int)strtol(of + 3, NULL, 10);
}

static int count_done(struct play *play)
{
    char *body, *done;

    expect_int(play_ask(play, "GET", "/v1/status", "", &body), 200);
    done = strstr(body, "\"done\":");
    expect_true(done != NULL);
    return (int)strtol(done + strlen("\"done\":"), NULL, 10);
}

/* A job each of these users, all at a time. */
static void submit_each(struct play *play, int first_user, int end_user)
{
    int fds[N_USERS];
    char name[32];

    for (int user = first_user; user < end_user; user++) {
        play_become((unsigned)(ANNA + user), ANNA);
        snprintf(name, sizeof(name), "run-1 of %d", user);
        fds[user - first_user] = play_submit_begin(play, name, "");
    }
    play_become(0, 0);
    for (int i = 0; i < end_user - first_user; i++) {
        expect_int(http_client_read(fds[i], play_answer, sizeof(play_answer)), 201);
        close(fds[i]);
    }
}

/* Twenty users with a hundred jobs each, then one with one, while another job holds the place: the
 * first jobs of all are started before a second of anybody's, and so on. */
static void test_many_users(void)
{
    bool has_begun[N_USERS + 1] = { false };
    struct play play;
    char *body;

    start(&play, "[jobs]\nmax_running = 1\nmax_queued = 3000\n");
    expect_int(play_submit(&play, "hang", ",\"priority\":100"), 1);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    for (int i = 0; i < N_JOBS; i++)
        submit_each(&play, 0, N_USERS);
    submit_each(&play, N_USERS, N_USERS + 1);
    expect_int(play_ask(&play, "DELETE", "/v1/jobs/1", "", &body), 200);
    while (count_done(&play) < FAKE_FLOW_STARTS_MAX)
        test_sleep_ms(2);
    play_stop(&play);
    expect_int(fake_flow.n_starts, FAKE_FLOW_STARTS_MAX);
    for (int i = 1; i <= N_USERS + 1; i++) {
        expect_true(!has_begun[starter(i)]);
        has_begun[starter(i)] = true;
    }
    /* Who came last, and has no second one. */
    expect_int(starter(N_USERS + 1), N_USERS);
    for (int i = N_USERS + 2; i < FAKE_FLOW_STARTS_MAX; i++)
        expect_int(starter(i), starter(i - N_USERS - (i <= 2 * N_USERS + 1)));
}

/* The files that are named by their paths; not in the daemon's own folder. */
struct disk {
    struct play play;
    char folder[64];
};

/* Submits files of the disk by their paths. Return: the status. */
static int submit_paths(struct disk *disk, const char *name, const char *input, const char *output)
{
    char body[1024];

    snprintf(body, sizeof(body), "{\"input\":{\"name\":\"%s\",\"path\":\"%s/%s\"},"
             "\"output\":{\"name\":\"out.mkv\",\"path\":\"%s/%s\"}}", name, disk->folder,
             input, disk->folder, output);
    return play_send(&disk->play, "POST /v1/jobs", body, NULL, 0);
}

static void run_shell(const struct disk *disk, const char *command)
{
    char line[512];

    snprintf(line, sizeof(line), "cd %s/media && %s", disk->folder, command);
    expect_int(system(line), 0);
}

static bool exists(const struct disk *disk, const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", disk->folder, name);
    return access(path, F_OK) == 0;
}

static void wait_until_gone(const struct disk *disk, const char *name)
{
    while (exists(disk, name))
        usleep(1000);
}

/* Submits a job by paths, and cancels it. */
static void submit_and_cancel(struct disk *disk, const char *output)
{
    char *body, route[64];

    expect_int(submit_paths(disk, "hang", "media/a", output), 201);
    expect_true(exists(disk, output));
    const char *id = strstr(play_answer, "\"id\":") + strlen("\"id\":");
    snprintf(route, sizeof(route), "/v1/jobs/%ld", strtol(id, NULL, 10));
    expect_int(play_ask(&disk->play, "DELETE", route, "", &body), 200);
}

/* A job that comes to nothing takes with it the empty file that was made for it, no other. */
static void try_ends(struct disk *disk)
{
    submit_and_cancel(disk, "media/out4");
    wait_until_gone(disk, "media/out4");
    expect_int(submit_paths(disk, "fail", "media/a", "media/out5"), 201);
    wait_until_gone(disk, "media/out5");
    run_shell(disk, "touch mine && chown 61002:61002 mine");
    submit_and_cancel(disk, "media/mine");
    usleep(100 * 1000);
    expect_true(exists(disk, "media/mine"));
}

/* Nobody reads or overwrites by its path what he could not open himself. */
static void test_paths(void)
{
    struct disk disk = { .folder = "/tmp/vrt-paths-XXXXXX" };
    char conf[200], media[80];

    if (geteuid() != 0)
        test_skip("only root can be several users");
    expect_true(mkdtemp(disk.folder) != NULL);
    expect_int(chmod(disk.folder, 0755), 0);
    snprintf(media, sizeof(media), "%s/media", disk.folder);
    expect_int(mkdir(media, 0777), 0);
    snprintf(conf, sizeof(conf), "[access]\nmedia_roots = %s\n", media);
    play_start(&disk.play, conf);
    play_open_to_all(&disk.play);
    run_shell(&disk, "chmod 1777 . && echo video >a && echo secret >b && echo old >c && "
              "mkdir d && echo video >d/a && chown -R 61001:61001 . && chmod 644 a && "
              "chmod 600 b c && chmod 700 d");

    play_become(BERT, BERT);
    expect_int(submit_paths(&disk, "run-3", "media/b", "media/out1"), 403);
    expect_contains(play_answer, "path.forbidden");
    expect_contains(play_answer, "input.path");
    expect_int(submit_paths(&disk, "run-3", "media/none", "media/out1"), 404);
    expect_int(submit_paths(&disk, "run-3", "media/a", "media/c"), 403);
    expect_contains(play_answer, "output.path");
    expect_int(submit_paths(&disk, "run-3", "media/a", "media/d/out"), 403);
    expect_true(!exists(&disk, "media/out1"));

    /* What he may is done; what a refused job made is gone again. */
    expect_int(submit_paths(&disk, "run-3", "media/a", "media/out1"), 201);
    expect_true(exists(&disk, "media/out1"));
    expect_true(submit_paths(&disk, "refuse", "media/a", "media/out2") >= 400);
    wait_until_gone(&disk, "media/out2");
    try_ends(&disk);
    play_become(ANNA, ANNA);
    expect_int(submit_paths(&disk, "run-3", "media/b", "media/d/out"), 201);
    expect_int(submit_paths(&disk, "hang", "media/b", "media/d/hang"), 201);
    play_become(0, 0);
    /* Root is asked like others: his own files only. */
    expect_int(submit_paths(&disk, "run-3", "media/b", "media/out3"), 403);
    run_shell(&disk, "[ $(stat -c %u out1) = 61002 ] && [ $(stat -c %u d/out) = 61001 ]");
    /* The next daemon opens them again by itself, for whom they are. */
    play_restart(&disk.play);
    play_await_frames(&disk.play, 6);
    play_stop(&disk.play);
    run_shell(&disk, "rm -r $(dirname $PWD)");
}

TEST_MAIN(
    { "accounts", test_accounts },
    { "peer", test_peer },
    { "rights", test_rights },
    { "users", test_users },
    { "priorities", test_priorities },
    { "turns", test_turns },
    { "many users", test_many_users },
    { "paths", test_paths },
)
