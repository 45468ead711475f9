/* SPDX-License-Identifier: MIT */
/* daemon/server, api, queue, events, models: the whole server above fakes that compute nothing. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "config/conf.h"
#include "daemon/claim.h"
#include "daemon/server.h"
#include "msg_event.h"
#include "msg_job.h"
#include "tests/unit/fake-flow.h"
#include "tests/unit/http-client.h"

#define HOST "Host: x\r\n"

static char buffer[1 << 20];

struct play {
    struct vrt_conf conf;
    char folder[64], socket[80], models[80];
    struct vrt_server_params params;
    pthread_t thread;
    struct vrt_error error;
    int result;
};

static void *run(void *ctx)
{
    struct play *play = ctx;

    play->result = vrt_server_run(&play->params, &play->error);
    return NULL;
}

/* The server with its configuration changed by `text`. */
static void start(struct play *play, const char *text)
{
    struct vrt_error error = { .id = NULL };
    int folder_fd = -1;

    memset(play, 0, sizeof(*play));
    vrt_log_set_level(VRT_LOG_ERROR);
    if (vrt_conf_parse(text, "test", &play->conf, &error) < 0)
        test_fail("%s", error.message);
    snprintf(play->folder, sizeof(play->folder), "/tmp/vrt-api-XXXXXX");
    expect_true(mkdtemp(play->folder) != NULL);
    snprintf(play->socket, sizeof(play->socket), "%s/s", play->folder);
    snprintf(play->models, sizeof(play->models), "%s/models", play->folder);
    expect_int(vrt_claim_folder(play->folder, &folder_fd, &error), 0);
    play->params.conf = &play->conf;
    play->params.models_dir = play->models;
    expect_int(vrt_claim_empty_folder(folder_fd, "spool", &play->params.spool_fd, &error), 0);
    expect_int(vrt_claim_listen(play->socket, &play->params.listen_fd, &error), 0);
    close(folder_fd);
    expect_int(pthread_create(&play->thread, NULL, run, play), 0);
}

static void wait_stopped(struct play *play)
{
    char command[160];

    pthread_join(play->thread, NULL);
    expect_str(play->error.message, "");
    expect_int(play->result, 0);
    expect_int(fake_flow.n_alive, 0);
    expect_int(fake_flow.n_running, 0);
    close(play->params.spool_fd);
    snprintf(command, sizeof(command), "rm -r %s", play->folder);
    expect_int(system(command), 0);
}

static void stop(struct play *play)
{
    /* One answer, so that its signals are being waited for. */
    int fd = http_client_connect(play->socket);
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";

    http_client_send(fd, request, sizeof(request) - 1);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    close(fd);
    kill(getpid(), SIGTERM);
    wait_stopped(play);
}

/* One request on a connection of its own; the answer's body is at *ret_body. */
static int ask(struct play *play, const char *method, const char *path, const char *more,
               char **ret_body)
{
    char request[2048];
    int fd = http_client_connect(play->socket);
    int n = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n" HOST "%s\r\n", method, path,
                     more);

    http_client_send(fd, request, (size_t)n);
    int status = http_client_read(fd, buffer, sizeof(buffer));
    char *body = strstr(buffer, "\r\n\r\n");
    *ret_body = body ? body + 4 : buffer;
    close(fd);
    return status;
}

static int temporary_file(const char *text, int flags)
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

/* Sends POST /v1/jobs for an input called `name`; `more` is more JSON, with a comma before. */
static int submit_begin(struct play *play, const char *name, const char *more)
{
    char body[1024], head[256];
    int fds[2] = { temporary_file("video", O_RDONLY), temporary_file("", O_RDWR) };
    int fd = http_client_connect(play->socket);
    int n = snprintf(body, sizeof(body), "{\"input\":{\"fd\":0,\"name\":\"%s\"},"
                     "\"output\":{\"fd\":1,\"name\":\"out.mkv\"}%s}", name, more);

    http_client_send_files(fd, "\r\n", fds, 2);
    close(fds[0]);
    close(fds[1]);
    snprintf(head, sizeof(head), "POST /v1/jobs HTTP/1.1\r\n" HOST
             "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", n);
    http_client_send(fd, head, strlen(head));
    http_client_send(fd, body, (size_t)n);
    return fd;
}

/* The same, to the end. Return: the job's number, or the status where it is refused, negative. */
static long long submit(struct play *play, const char *name, const char *more)
{
    int fd = submit_begin(play, name, more);
    int status = http_client_read(fd, buffer, sizeof(buffer));
    const char *id = strstr(buffer, "Location: /v1/jobs/");

    close(fd);
    if (status != 201)
        return -status;
    expect_true(id != NULL);
    return strtoll(id + strlen("Location: /v1/jobs/"), NULL, 10);
}

/* The job as GET shows it; to be freed by vrt_job_info_done(). Return: the HTTP status. */
static int show(struct play *play, long long id, struct vrt_job_info *ret_info)
{
    struct vrt_error error = { .id = NULL };
    char path[64], *body;
    json_t *json = NULL;

    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    int status = ask(play, "GET", path, "", &body);
    if (status != 200)
        return status;
    expect_int(vrt_json_parse(body, strlen(body), &json, &error), 0);
    expect_int(vrt_job_info_decode(json, ret_info, &error), 0);
    json_decref(json);
    return status;
}

/* Waits until the job's state is at least `state`, in the order of the enum. */
static void wait_for(struct play *play, long long id, int state, struct vrt_job_info *ret_info)
{
    for (int i = 0; i < 2000; i++) {
        expect_int(show(play, id, ret_info), 200);
        if (ret_info->state >= state)
            return;
        vrt_job_info_done(ret_info);
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    }
    test_fail("job %lld never was %s", id, vrt_job_state_names[state]);
}

static void expect_state(struct play *play, long long id, int state)
{
    struct vrt_job_info info;

    wait_for(play, id, state, &info);
    expect_int(info.state, state);
    vrt_job_info_done(&info);
}

static void test_life(void)
{
    struct play play;
    struct vrt_job_info info;
    char *body;

    start(&play, "[cpu]\ndevices = 1\n");
    long long id = submit(&play, "run-5", ",\"priority\":3,\"quality\":7");
    expect_int(id, 1);
    wait_for(&play, id, VRT_JOB_DONE, &info);
    expect_int(info.state, VRT_JOB_DONE);
    expect_int(info.frames_done, 5);
    expect_int(info.frames_total, 5);
    expect_int(info.priority, 3);
    expect_str(info.input_name, "run-5");
    expect_str(info.model.name, "compact-x2");
    expect_int(info.model.scale, 2);
    expect_int(info.recipe.quality, 7);
    expect_int(info.recipe.codec, VRT_JOB_CODEC_H264);
    expect_int(info.recipe.precision, VRT_JOB_PRECISION_F32);
    expect_str(info.recipe.preset, "medium");
    expect_int(info.n_warnings, 1);
    expect_str(info.warnings[0], "this is a fake");
    expect_int(info.n_devices, 1);
    expect_int(info.devices[0].peak_bytes, 1000);
    expect_true(info.created_at <= info.started_at && info.started_at <= info.finished_at);
    expect_true(!info.has_error && isnan(info.eta_s));
    vrt_job_info_done(&info);

    expect_int(ask(&play, "DELETE", "/v1/jobs/1", "", &body), 409);
    expect_contains(body, "job.state");
    expect_int(ask(&play, "GET", "/v1/jobs", "", &body), 200);
    expect_contains(body, "{\"jobs\":[{\"id\":1,\"state\":\"done\"");
    expect_int(submit(&play, "fail", ""), 2);
    wait_for(&play, 2, VRT_JOB_DONE, &info);
    expect_int(info.state, VRT_JOB_FAILED);
    expect_str(info.error.id, "device.failed");
    expect_str(info.error.message, "the fake failed");
    vrt_job_info_done(&info);
    expect_int(ask(&play, "GET", "/v1/status", "", &body), 200);
    expect_contains(body, "\"done\":1,\"failed\":1,\"cancelled\":0");
    stop(&play);
}

static void test_refused(void)
{
    struct play play;
    struct vrt_job_info info;
    char *body;

    start(&play, "[jobs]\nmax_queued = 1\nmax_running = 1\n");
    /* More often than there is room for: refusals give back what they took. */
    for (int i = 0; i < 5; i++) {
        expect_int(submit(&play, "refuse", ""), -422);
        expect_contains(buffer, "the fake was refused");
    }
    expect_int(submit(&play, "run-1", ",\"model\":{\"name\":\"nothing\"}"), -404);
    expect_contains(buffer, "\"field\":\"model\"");
    expect_int(submit(&play, "run-1", ",\"model\":{\"name\":\"../models/x\"}"), -404);
    expect_int(submit(&play, "run-1", ",\"model\":{\"fd\":3,\"name\":\"x.pth\"}"), -400);
    expect_contains(buffer, "\"field\":\"model.fd\"");
    expect_int(submit(&play, "run-1", ",\"model\":{\"fd\":1,\"name\":\"x.pth\"}"), -400);
    expect_int(submit(&play, "run-1", ",\"frobnicate\":1"), -400);
    expect_int(submit(&play, "run-1", ",\"priority\":1000"), -400);
    expect_int(ask(&play, "GET", "/v1/jobs", "", &body), 200);
    expect_str(body, "{\"jobs\":[]}");
    expect_int(show(&play, 1, &info), 404);
    stop(&play);
}

static void test_overwrite(void)
{
    static const char body[] = "{\"input\":{\"fd\":0,\"name\":\"run-1\"},"
        "\"output\":{\"fd\":1,\"name\":\"a\\u001bb.mkv\"}}";
    struct play play;
    char head[256];
    int fds[2] = { temporary_file("video", O_RDONLY), temporary_file("precious", O_RDWR) };

    start(&play, "");
    int fd = http_client_connect(play.socket);
    snprintf(head, sizeof(head), "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n",
             sizeof(body) - 1);
    http_client_send_files(fd, "\r\n", fds, 2);
    http_client_send(fd, head, strlen(head));
    http_client_send(fd, body, sizeof(body) - 1);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 422);
    expect_contains(buffer, "a?b.mkv exists");
    close(fd);
    close(fds[0]);
    close(fds[1]);
    stop(&play);
}

/* One at a time, by priority, then by age; never more than max_running. */
static void test_order(void)
{
    struct play play;

    start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(submit(&play, "run-40", ""), 1);
    expect_int(submit(&play, "run-2", ""), 2);
    expect_int(submit(&play, "run-3", ",\"priority\":-1"), 3);
    expect_int(submit(&play, "run-4", ",\"priority\":5"), 4);
    expect_int(submit(&play, "run-6", ",\"priority\":5"), 5);
    for (long long id = 1; id <= 5; id++)
        expect_state(&play, id, VRT_JOB_DONE);
    stop(&play);
    expect_int(fake_flow.n_running_max, 1);
    expect_int(fake_flow.n_starts, 5);
    expect_str(fake_flow.starts[1], "run-4");
    expect_str(fake_flow.starts[2], "run-6");
    expect_str(fake_flow.starts[3], "run-2");
    expect_str(fake_flow.starts[4], "run-3");

    start(&play, "[jobs]\nmax_running = 3\n");
    for (int i = 0; i < 12; i++)
        expect_int(submit(&play, "run-9", ""), i + 1);
    for (long long id = 1; id <= 12; id++)
        expect_state(&play, id, VRT_JOB_DONE);
    stop(&play);
    expect_int(fake_flow.n_running_max, 3);
}

static void test_cancel(void)
{
    struct play play;
    struct vrt_job_info info;
    char *body;

    start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(submit(&play, "hang", ""), 1);
    expect_int(submit(&play, "hang", ""), 2);
    expect_state(&play, 1, VRT_JOB_RUNNING);
    expect_state(&play, 2, VRT_JOB_QUEUED);
    expect_int(ask(&play, "DELETE", "/v1/jobs/2", "", &body), 200);
    expect_contains(body, "\"state\":\"cancelled\"");
    expect_int(ask(&play, "DELETE", "/v1/jobs/1", "", &body), 200);
    expect_contains(body, "\"state\":\"running\"");
    wait_for(&play, 1, VRT_JOB_DONE, &info);
    expect_int(info.state, VRT_JOB_CANCELLED);
    expect_true(!info.has_error);
    vrt_job_info_done(&info);
    expect_int(ask(&play, "DELETE", "/v1/jobs/1", "", &body), 409);
    expect_int(ask(&play, "DELETE", "/v1/jobs/9", "", &body), 404);
    /* A client that goes away before it knows its job's number doesn't want the job. */
    for (int i = 0; i < 3; i++)
        close(submit_begin(&play, i ? "never" : "run-1", ""));
    expect_int(submit(&play, "run-1", ""), 6);
    expect_state(&play, 6, VRT_JOB_DONE);
    stop(&play);
}

static void test_queue_full(void)
{
    struct play play;
    char *body;

    /* Four in all, of which one user gets three. */
    start(&play, "[jobs]\nmax_running = 1\nmax_queued = 3\n");
    for (int i = 1; i <= 3; i++)
        expect_int(submit(&play, "hang", ""), i);
    expect_int(submit(&play, "hang", ""), -503);
    expect_contains(buffer, "job.queue_full");
    expect_int(ask(&play, "DELETE", "/v1/jobs/3", "", &body), 200);
    expect_int(submit(&play, "hang", ""), 4);
    stop(&play);
}

static void test_history(void)
{
    struct play play;
    struct vrt_job_info info;
    char *body;

    start(&play, "[jobs]\nhistory = 2\n");
    for (int i = 1; i <= 5; i++) {
        expect_int(submit(&play, "run-1", ""), i);
        expect_state(&play, i, VRT_JOB_DONE);
    }
    for (int i = 1; i <= 3; i++)
        expect_int(show(&play, i, &info), 404);
    expect_int(ask(&play, "GET", "/v1/status", "", &body), 200);
    expect_contains(body, "\"done\":2");
    stop(&play);
}

/* Opens a stream and reads past its header. */
static int subscribe(struct play *play, const char *path)
{
    char request[128];
    int fd = http_client_connect(play->socket);

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
    http_client_send(fd, request, strlen(request));
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    expect_contains(buffer, "text/event-stream");
    return fd;
}

/* Reads the next event's data into `buffer`. Return: its kind, -1 at the end of the stream. */
static int next_event(int fd, struct vrt_buf *stream)
{
    struct vrt_buf data = { .limit_bytes = 0 };
    enum vrt_event_kind kind;
    char piece[4096];

    for (;;) {
        int r = vrt_event_take(stream, &data, &kind);
        expect_true(r >= 0);
        if (r == 1)
            break;
        ssize_t n = recv(fd, piece, sizeof(piece), 0);
        expect_true(n >= 0);
        if (n == 0)
            return -1;
        expect_int(vrt_buf_append(stream, piece, (size_t)n), 0);
    }
    snprintf(buffer, sizeof(buffer), "%s", data.data);
    vrt_buf_done(&data);
    return (int)kind;
}

static void test_events(void)
{
    struct play play;
    struct vrt_buf stream = { .limit_bytes = 0 };
    char *body;
    bool seen[VRT_JOB_STATE_COUNT] = { false };

    start(&play, "[jobs]\nmax_running = 1\n");
    int all = subscribe(&play, "/v1/events");
    expect_int(next_event(all, &stream), VRT_EVENT_DEVICE);
    expect_contains(buffer, "\"name\":\"cpu:0\"");
    expect_int(next_event(all, &stream), VRT_EVENT_DEVICE);
    expect_contains(buffer, "\"state\":\"quarantined\"");
    expect_int(submit(&play, "run-300", ""), 1);
    while (!seen[VRT_JOB_DONE]) {
        expect_int(next_event(all, &stream), VRT_EVENT_JOB);
        for (int state = 0; state < VRT_JOB_STATE_COUNT; state++) {
            char wanted[64];
            snprintf(wanted, sizeof(wanted), "\"state\":\"%s\"", vrt_job_state_names[state]);
            seen[state] |= strstr(buffer, wanted) != NULL;
        }
    }
    expect_true(seen[VRT_JOB_QUEUED] && seen[VRT_JOB_RUNNING]);
    close(all);
    vrt_buf_done(&stream);

    /* Of one job: what it is now, its end, and the end. */
    expect_int(submit(&play, "run-20", ""), 2);
    int one = subscribe(&play, "/v1/events?job=2");
    int kind, n_events = 0;
    while ((kind = next_event(one, &stream)) >= 0) {
        expect_int(kind, VRT_EVENT_JOB);
        expect_contains(buffer, "{\"id\":2,");
        n_events++;
    }
    expect_true(n_events >= 2);
    expect_contains(buffer, "\"state\":\"done\"");
    close(one);
    one = subscribe(&play, "/v1/events?job=1");
    expect_int(next_event(one, &stream), VRT_EVENT_JOB);
    expect_int(next_event(one, &stream), -1);
    close(one);
    vrt_buf_done(&stream);

    static const struct {
        const char *path;
        int status;
    } wrong[] = {
        { "/v1/events?job=3", 404 },
        { "/v1/events?job=99999999999999999999999", 404 },
        { "/v1/events?job=", 400 },
        { "/v1/events?job=1x", 400 },
        { "/v1/events?job=-1", 400 },
        { "/v1/events?jobs=1", 400 },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(wrong); i++)
        expect_int(ask(&play, "GET", wrong[i].path, "", &body), wrong[i].status);
    one = http_client_connect(play.socket);
    static const char head[] = "HEAD /v1/events HTTP/1.1\r\n" HOST "\r\n";
    http_client_send(one, head, sizeof(head) - 1);
    expect_int(http_client_read(one, buffer, sizeof(buffer)), 200);
    expect_true(http_client_is_closed(one));
    close(one);
    stop(&play);
}

static void test_routes(void)
{
    static const struct {
        const char *method, *path, *more;
        int status;
        const char *says;           /* somewhere in the whole answer */
    } cases[] = {
        { "GET", "/healthz", "", 200, "text/plain" },
        { "GET", "/v1/devices", "", 200, "\"description\":\"a fake\"" },
        { "GET", "/v1/devices", "", 200, "\"total_bytes\":null" },
        { "OPTIONS", "/v1/jobs", "", 204, "Allow: POST, GET" },
        { "OPTIONS", "/nothing", "", 404, "route.not_found" },
        { "PUT", "/v1/jobs", "", 405, "Allow: POST, GET" },
        { "DELETE", "/v1/status", "", 405, "route.method" },
        { "GET", "/v1/status?x", "", 400, "request.query" },
        { "GET", "/v1/jobs/0", "", 404, "" },
        { "GET", "/v1/jobs/1/", "", 404, "" },
        { "GET", "/v1/no\x1bthing", "", 400, "http.malformed" },
        { "GET", "//", "", 404, "" },
        { "POST", "/v1/jobs", "Content-Type: text/plain\r\nContent-Length: 0\r\n", 415,
          "Content-Type: application/json" },
        { "POST", "/v1/jobs", "Content-Length: 0\r\n", 400, "request.json" },
    };
    struct play play;
    char *body;

    start(&play, "");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        int status = ask(&play, cases[i].method, cases[i].path, cases[i].more, &body);
        if (status != cases[i].status || !strstr(buffer, cases[i].says))
            test_fail("case %zu: %s", i, buffer);
    }
    stop(&play);
}

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    expect_true(in && out);
    while ((n = fread(buffer, 1, sizeof(buffer), in)) > 0)
        expect_int(fwrite(buffer, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* Files put into the folder while it runs are known at once, by name. */
static void test_models(void)
{
    struct play play;
    char path[160], *body;

    start(&play, "[jobs]\nmodel = mine\n");
    expect_int(ask(&play, "GET", "/v1/models", "", &body), 200);
    expect_contains(body, "{\"models\":[{\"name\":\"compact-x2\",\"architecture\":\"compact\"");
    expect_contains(body, "\"is_default\":false");
    expect_int(submit(&play, "run-1", ""), -404);
    expect_int(mkdir(play.models, 0700), 0);
    snprintf(path, sizeof(path), "%s/mine.safetensors", play.models);
    copy_file(MODEL_PATH, path);
    snprintf(path, sizeof(path), "%s/broken.pth", play.models);
    copy_file("/proc/self/status", path);
    snprintf(path, sizeof(path), "%s/fifo.pth", play.models);
    expect_int(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/folder.pth", play.models);
    expect_int(mkdir(path, 0700), 0);
    expect_int(ask(&play, "GET", "/v1/models", "", &body), 200);
    expect_contains(body, "{\"name\":\"broken\",\"architecture\":null");
    expect_contains(body, "{\"name\":\"mine\",\"architecture\":\"compact\"");
    expect_contains(body, "\"is_default\":true");
    expect_true(!strstr(body, "fifo") && !strstr(body, "\"folder"));
    expect_int(submit(&play, "run-1", ""), 2);
    expect_int(submit(&play, "run-1", ",\"model\":{\"name\":\"mine.safetensors\"}"), 3);
    expect_int(submit(&play, "run-1", ",\"model\":{\"name\":\"broken\"}"), -422);
    expect_int(submit(&play, "run-1", ",\"model\":{\"name\":\"fifo\"}"), -422);
    expect_int(submit(&play, "run-1", ",\"model\":{\"name\":\"folder\"}"), -422);
    stop(&play);
}

/* It is stopped while jobs are being admitted, wait and run, and clients wait and listen. */
static void test_stop(void)
{
    struct play play;
    struct vrt_buf stream = { .limit_bytes = 0 };
    int n_cancelled = 0;

    start(&play, "[jobs]\nmax_running = 2\n");
    for (int i = 1; i <= 5; i++)
        expect_int(submit(&play, "hang", ""), i);
    int waiting = submit_begin(&play, "never", "");
    int all = subscribe(&play, "/v1/events"), half = http_client_connect(play.socket);
    http_client_send(half, "GET /", 5);
    kill(getpid(), SIGTERM);
    expect_int(http_client_read(waiting, buffer, sizeof(buffer)), 503);
    expect_contains(buffer, "job.interrupted");
    while (next_event(all, &stream) >= 0)
        n_cancelled += strstr(buffer, "\"state\":\"cancelled\"") &&
                       strstr(buffer, "job.interrupted");
    expect_int(n_cancelled, 5);
    wait_stopped(&play);
    close(waiting);
    close(all);
    close(half);
    vrt_buf_done(&stream);

    for (int i = 0; i < 5; i++) {
        start(&play, "");
        stop(&play);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "life", test_life },
        { "refused", test_refused },
        { "overwrite", test_overwrite },
        { "order", test_order },
        { "cancel", test_cancel },
        { "queue-full", test_queue_full },
        { "history", test_history },
        { "events", test_events },
        { "routes", test_routes },
        { "models", test_models },
        { "stop", test_stop },
    };

    signal(SIGPIPE, SIG_IGN);
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
