/* SPDX-License-Identifier: MIT */

#include "tests/unit/api/server-play.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/kind.h"
#include "base/log.h"
#include "daemon/service/claim.h"
#include "daemon/systemd/fd-store.h"
#include "msg_event.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/test.h"

#define HOST "Host: x\r\n"

char play_answer[PLAY_ANSWER_BYTES];

static void *run(void *ctx)
{
    struct play *play = ctx;

    play->result = vrt_server_run(&play->params, &play->error);
    return NULL;
}

static int reread(void *ctx, struct vrt_conf *ret_conf, struct vrt_error *error)
{
    struct play *play = ctx;
    const char *text = atomic_load(&play->reread);

    atomic_fetch_add(&play->n_reread, 1);
    while (atomic_load(&play->is_reading_held))
        usleep(1000);
    return vrt_conf_parse(text, "test", vrt_backend_section_at, ret_conf, error);
}

/* Starts the server in its folder. */
static void begin(struct play *play)
{
    struct vrt_error error = { .id = NULL };
    int folder_fd = -1;

    expect_int(vrt_fd_store_new(&play->fd_store), 0);
    expect_int(vrt_claim_folder(play->folder, &folder_fd, &error), 0);
    play->params.conf = &play->conf;
    play->params.reread = reread;
    play->params.reread_ctx = play;
    play->params.state_dir = play->folder;
    play->params.fd_store = play->fd_store;
    play->params.models_dir = play->models;
    play->params.listen_name = play->socket;
    expect_int(vrt_claim_folder_in(folder_fd, "spool", &play->params.spool_fd, &error), 0);
    expect_int(vrt_claim_listen(play->socket, &play->params.listen_fd, &error), 0);
    close(folder_fd);
    expect_int(pthread_create(&play->thread, NULL, run, play), 0);
}

void play_start(struct play *play, const char *text)
{
    struct vrt_error error = { .id = NULL };

    memset(play, 0, sizeof(*play));
    vrt_log_set_level(VRT_LOG_ERROR);
    if (vrt_conf_parse(text, "test", vrt_backend_section_at, &play->conf, &error) < 0)
        test_fail("%s", error.message);
    snprintf(play->folder, sizeof(play->folder), "/tmp/vrt-api-XXXXXX");
    expect_true(mkdtemp(play->folder) != NULL);
    snprintf(play->socket, sizeof(play->socket), "%s/s", play->folder);
    snprintf(play->models, sizeof(play->models), "%s/models", play->folder);
    begin(play);
}

int play_remove(const struct play *play)
{
    char command[160];

    snprintf(command, sizeof(command), "rm -r %s", play->folder);
    return system(command);
}

/* Waits for the server's end, and leaves its folder. */
static void wait_ended(struct play *play)
{
    pthread_join(play->thread, NULL);
    expect_str(play->error.message, "");
    expect_int(play->result, 0);
    expect_int(fake_flow.n_alive, 0);
    expect_int(fake_flow.n_running, 0);
    close(play->params.spool_fd);
    play->fd_store = vrt_fd_store_free(play->fd_store);
}

void play_wait_stopped(struct play *play)
{
    wait_ended(play);
    expect_int(play_remove(play), 0);
}

/* Sends it when the server waits for signals: once it answers. */
static void send_signal(struct play *play, int number)
{
    int fd = http_client_connect(play->socket);
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";

    http_client_send(fd, request, sizeof(request) - 1);
    expect_int(http_client_read(fd, play_answer, sizeof(play_answer)), 200);
    close(fd);
    kill(getpid(), number);
}

void play_reload(struct play *play, const char *text)
{
    atomic_store(&play->reread, text);
    send_signal(play, SIGHUP);
}

void play_stop(struct play *play)
{
    send_signal(play, SIGTERM);
    play_wait_stopped(play);
}

void play_restart_with(struct play *play, const char *sql)
{
    char path[96];
    sqlite3 *db;

    send_signal(play, SIGTERM);
    wait_ended(play);
    snprintf(path, sizeof(path), "%s/vrtd.db", play->folder);
    expect_int(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        test_fail("%s: %s", sql, sqlite3_errmsg(db));
    expect_int(sqlite3_close(db), SQLITE_OK);
    begin(play);
}

void play_restart(struct play *play)
{
    /* What ends well begins well: no start of a job that isn't over is held against it. */
    play_restart_with(play, "SELECT json('a start is counted') FROM jobs WHERE starts > 0 AND "
                      "state NOT IN ('done', 'failed', 'cancelled')");
}

void play_open_to_all(struct play *play)
{
    expect_int(chmod(play->folder, 0711), 0);
    expect_int(chmod(play->socket, 0666), 0);
}

/* By the system's own calls: those of the C library change every thread. */
void play_become(unsigned uid, unsigned gid)
{
    const gid_t groups[] = { gid };

    expect_int(syscall(SYS_setresuid, -1, 0, -1), 0);
    expect_int(syscall(SYS_setgroups, 1, groups), 0);
    expect_int(syscall(SYS_setresgid, -1, gid, -1), 0);
    expect_int(syscall(SYS_setresuid, -1, uid, -1), 0);
}

/* One request on a connection of its own; the answer's body is at *ret_body. */
int play_ask(struct play *play, const char *method, const char *path, const char *more,
               char **ret_body)
{
    char request[2048];
    int fd = http_client_connect(play->socket);
    int n = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n" HOST "%s\r\n", method, path,
                     more);

    http_client_send(fd, request, (size_t)n);
    int status = http_client_read(fd, play_answer, sizeof(play_answer));
    char *body = strstr(play_answer, "\r\n\r\n");
    *ret_body = body ? body + 4 : play_answer;
    close(fd);
    return status;
}

int play_file(const char *text, int flags)
{
    char path[] = "/tmp/vrt-file-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    expect_true(fd >= 0);
    expect_int(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    fd = open(path, flags | O_CLOEXEC);
    expect_true(fd >= 0);
    unlink(path);
    return fd;
}

int play_send_begin(struct play *play, const char *route, const char *body, const int *fds,
                    int n_fds)
{
    char request[2048];
    const char *space = strchr(route, ' ');
    int fd = http_client_connect(play->socket);

    if (n_fds)
        http_client_send_files(fd, "\r\n", fds, n_fds);
    int n = snprintf(request, sizeof(request), "%.*s %s HTTP/1.1\r\n" HOST "Content-Type: "
                     "application/json\r\nContent-Length: %zu\r\n\r\n%s", (int)(space - route),
                     route, space + 1, strlen(body), body);
    http_client_send(fd, request, (size_t)n);
    return fd;
}

int play_send(struct play *play, const char *route, const char *body, const int *fds, int n_fds)
{
    int fd = play_send_begin(play, route, body, fds, n_fds);
    int status = http_client_read(fd, play_answer, sizeof(play_answer));

    close(fd);
    return status;
}

/* Sends an input called `name`, and an output. Return: the connection. */
static int send_files(struct play *play, const char *route, const char *name, const char *more)
{
    char body[1024];
    int fds[2] = { play_file("video", O_RDONLY), play_file("", O_RDWR) };

    snprintf(body, sizeof(body), "{\"input\":{\"fd\":0,\"name\":\"%s\"},"
             "\"output\":{\"fd\":1,\"name\":\"out.mkv\"}%s}", name, more);
    int fd = play_send_begin(play, route, body, fds, 2);
    close(fds[0]);
    close(fds[1]);
    return fd;
}

int play_submit_begin(struct play *play, const char *name, const char *more)
{
    return send_files(play, "POST /v1/jobs", name, more);
}

void play_hand_over(struct play *play, long long id, const char *why, const char *name)
{
    char route[64];

    snprintf(route, sizeof(route), "POST /v1/jobs/%lld/%s", id, why);
    int fd = send_files(play, route, name, "");
    expect_int(http_client_read(fd, play_answer, sizeof(play_answer)), 200);
    close(fd);
}

long long play_submit(struct play *play, const char *name, const char *more)
{
    int fd = play_submit_begin(play, name, more);
    int status = http_client_read(fd, play_answer, sizeof(play_answer));
    const char *id = strstr(play_answer, "Location: /v1/jobs/");

    close(fd);
    if (status != 201)
        return -status;
    expect_true(id != NULL);
    return strtoll(id + strlen("Location: /v1/jobs/"), NULL, 10);
}

int play_show(struct play *play, long long id, struct vrt_job_info *ret_info)
{
    struct vrt_error error = { .id = NULL };
    char path[64], *body;
    json_t *json = NULL;

    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    int status = play_ask(play, "GET", path, "", &body);
    if (status != 200)
        return status;
    expect_int(vrt_json_parse(body, strlen(body), &json, &error), 0);
    expect_int(vrt_job_info_decode(json, ret_info, &error), 0);
    json_decref(json);
    return status;
}

void play_wait_for(struct play *play, long long id, int state, struct vrt_job_info *ret_info)
{
    for (int i = 0; i < 20000; i++) {
        expect_int(play_show(play, id, ret_info), 200);
        if (ret_info->state >= state)
            return;
        vrt_job_info_done(ret_info);
        test_sleep_ms(2);
    }
    test_fail("job %lld never was %s", id, vrt_job_state_names[state]);
}

void play_expect_state(struct play *play, long long id, int state)
{
    struct vrt_job_info info;

    play_wait_for(play, id, state, &info);
    expect_int(info.state, state);
    vrt_job_info_done(&info);
}

void play_await_frames(struct play *play, long long id)
{
    struct vrt_job_info info = { .frames_done = 0 };

    for (int i = 0; info.frames_done == 0 && i < 5000; i++) {
        test_sleep_ms(2);
        expect_int(play_show(play, id, &info), 200);
        vrt_job_info_done(&info);
    }
    expect_true(info.frames_done > 0);
}

int64_t play_wait_for_segments(struct play *play, long long id, int n)
{
    struct vrt_job_info info;

    do
        expect_int(play_show(play, id, &info), 200);
    while (info.segments_done < n && (vrt_job_info_done(&info), true));
    int64_t n_starts = info.n_starts;
    vrt_job_info_done(&info);
    return n_starts;
}

int play_subscribe(struct play *play, const char *path)
{
    char request[128];
    int fd = http_client_connect(play->socket);

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
    http_client_send_text(fd, request);
    expect_int(http_client_read(fd, play_answer, sizeof(play_answer)), 200);
    expect_contains(play_answer, "text/event-stream");
    return fd;
}

int play_next_event(int fd, struct vrt_buf *stream)
{
    struct vrt_buf data = { .limit_bytes = 0 };
    enum vrt_event_kind kind;
    char piece[4096];

    for (;;) {
        int r = vrt_event_take(stream, &data, &kind);
        expect_true(r >= 0);
        if (r == 1)
            break;
        ssize_t n = http_client_receive(fd, piece, sizeof(piece));
        expect_true(n >= 0);
        if (n == 0)
            return -1;
        expect_int(vrt_buf_append(stream, piece, (size_t)n), 0);
    }
    snprintf(play_answer, sizeof(play_answer), "%s", data.data);
    vrt_buf_done(&data);
    return (int)kind;
}
