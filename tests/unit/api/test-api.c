/* SPDX-License-Identifier: MIT */
/* daemon/api, events, models: every route, what it takes and what it refuses. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "daemon/models/models.h"
#include "msg_event.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/api/server-play.h"

#define HOST "Host: x\r\n"

/* Of everything: the devices, and a job's states to its end. */
static void expect_all_events(struct play *play)
{
    struct vrt_buf stream = { .limit_bytes = 0 };
    bool seen[VRT_JOB_STATE_COUNT] = { false };
    int all = play_subscribe(play, "/v1/events");

    expect_int(play_next_event(all, &stream), VRT_EVENT_DEVICE);
    expect_contains(play_answer, "\"name\":\"cpu:0\"");
    expect_int(play_next_event(all, &stream), VRT_EVENT_DEVICE);
    expect_contains(play_answer, "\"state\":\"quarantined\"");
    expect_int(play_submit(play, "run-300", ""), 1);
    while (!seen[VRT_JOB_DONE]) {
        expect_int(play_next_event(all, &stream), VRT_EVENT_JOB);
        for (int state = 0; state < VRT_JOB_STATE_COUNT; state++) {
            char wanted[64];
            snprintf(wanted, sizeof(wanted), "\"state\":\"%s\"", vrt_job_state_names[state]);
            seen[state] |= strstr(play_answer, wanted) != NULL;
        }
    }
    expect_true(seen[VRT_JOB_QUEUED] && seen[VRT_JOB_RUNNING]);
    close(all);
    vrt_buf_done(&stream);
}

/* Of one job, the second: what it is now, its end, and the end. */
static void expect_job_events(struct play *play)
{
    struct vrt_buf stream = { .limit_bytes = 0 };
    int kind, n_events = 0;
    char *body;

    expect_int(play_submit(play, "hang", ""), 2);
    int one = play_subscribe(play, "/v1/events?job=2");
    expect_int(play_next_event(one, &stream), VRT_EVENT_JOB);
    expect_true(!strstr(play_answer, "\"state\":\"cancelled\""));
    expect_int(play_ask(play, "DELETE", "/v1/jobs/2", "", &body), 200);
    for (; (kind = play_next_event(one, &stream)) >= 0; n_events++) {
        expect_int(kind, VRT_EVENT_JOB);
        expect_contains(play_answer, "{\"id\":2,");
    }
    expect_true(n_events >= 1);
    expect_contains(play_answer, "\"state\":\"cancelled\"");
    close(one);
    one = play_subscribe(play, "/v1/events?job=1");
    expect_int(play_next_event(one, &stream), VRT_EVENT_JOB);
    expect_int(play_next_event(one, &stream), -1);
    close(one);
    vrt_buf_done(&stream);
}

static void test_events(void)
{
    static const char head[] = "HEAD /v1/events HTTP/1.1\r\n" HOST "\r\n";
    struct play play;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_all_events(&play);
    expect_job_events(&play);
    int one = http_client_connect(play.socket);
    http_client_send(one, head, sizeof(head) - 1);
    expect_int(http_client_read(one, play_answer, sizeof(play_answer)), 200);
    expect_true(http_client_is_closed(one));
    close(one);
    play_stop(&play);
}

/* A request with JSON, to the end. Return: the status. */
static int ask(struct play *play, const char *method, const char *path, const char *body)
{
    char route[300];

    snprintf(route, sizeof(route), "%s %s", method, path);
    return play_send(play, route, body, NULL, 0);
}

/* Whether an answer is the one that is wanted, where "*" is whatever comes before what follows it,
 * and a line that begins with a space goes on with the one before. */
static bool is_answer(const char *answer, const char *wanted)
{
    for (; *wanted; wanted++) {
        answer += *answer == '\r';
        if (*wanted == '*')
            answer += strcspn(answer, (const char[]){ wanted[1], '\0' });
        else if (wanted[0] == '\n' && wanted[1] == ' ')
            wanted += strspn(wanted + 1, " ");
        else if (*wanted != *answer++)
            return false;
    }
    return *answer == '\0';
}

/* Asks what answers.txt asks, in its order, and looks for its answers. */
static void expect_answers(struct play *play)
{
    static char text[1 << 17];
    char method[16], path[256], body[512];
    FILE *file = fopen(ANSWERS_PATH, "r");

    expect_true(file && fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    for (char *at = strstr(text, "\n> "), *next; at; at = next) {
        next = strstr(at + 1, "\n> ");
        if (next)
            *next = '\0';
        body[0] = '\0';
        expect_true(sscanf(at + 1, "> %15s %255s%*[ ]%511[^\n]", method, path, body) >= 2);
        ask(play, method, path, body);
        if (!is_answer(play_answer, strchr(at + 1, '\n') + 1))
            test_fail("%s\n%s", at + 1, play_answer);
    }
}

/* Whole answers of a server that did one job, failed one, refused one, and looks at another. */
static void test_answers(void)
{
    struct play play;
    struct rlimit limit;

    vrt_log_keep(500);
    play_start(&play, "[jobs]\nmax_running = 1\n");
    vrt_log_set_level(VRT_LOG_INFO);
    expect_int(play_submit(&play, "run-4", ""), 1);
    expect_int(play_submit(&play, "fail", ""), 2);
    expect_int(play_submit(&play, "refuse", ""), -422);
    play_expect_state(&play, 2, VRT_JOB_FAILED);
    int fd = play_submit_begin(&play, "never", "");
    do
        expect_int(ask(&play, "GET", "/metrics", ""), 200);
    while (!strstr(play_answer, "\nvrtd_admissions 1\n"));
    expect_answers(&play);
    atomic_store(&fake_flow.is_mended, true);
    expect_int(ask(&play, "GET", "/v1/devices", ""), 200);
    expect_contains(play_answer, "\"auto\":{\"devices\":[\"cuda:0\"],\"reason\":\"accelerators go "
                    "before the CPU\"}");
    atomic_store(&fake_flow.is_mended, false);
    close(fd);
    /* Whose disk is full, as nothing may be written any more, is given no token. */
    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1, limit.rlim_max });
    expect_int(ask(&play, "POST", "/v1/tokens", "{\"name\":\"full\"}"), 507);
    expect_contains(play_answer, "\"store.full\"");
    expect_int(ask(&play, "POST", "/v1/uploads", "video"), 500);
    expect_contains(play_answer, "what was uploaded can't be written: File too large");
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_int(ask(&play, "POST", "/v1/tokens", "{\"name\":\"full\"}"), 200);
    /* Who goes away while devices are trimmed holds nobody up. */
    close(play_send_begin(&play, "POST /v1/devices", "{\"trim\":true}", NULL, 0));
    expect_int(ask(&play, "POST", "/v1/devices", "{\"trim\":true}"), 200);
    play_stop(&play);
}

static void test_profile(void)
{
    struct play play;

    play_start(&play, "");
    expect_int(ask(&play, "GET", "/healthz", ""), 200);
    /* One at a time; who goes away makes room. */
    int n_before = atomic_load(&fake_flow.n_profiles);
    int fd = play_send_begin(&play, "POST /v1/profile", "{\"width\":16000}", NULL, 0);
    while (atomic_load(&fake_flow.n_profiles) == n_before)
        usleep(1000);
    expect_true(ask(&play, "POST", "/v1/profile", "{\"width\":8}") != 200);
    expect_contains(play_answer, "profile.busy");
    close(fd);
    while (ask(&play, "POST", "/v1/profile", "{\"width\":8}") != 200)
        usleep(1000);
    play_stop(&play);
    expect_int(fake_flow.n_profiles_cancelled, 1);
}

static void test_doctor(void)
{
    struct play play;

    play_start(&play, "");
    /* At once, as what the reference device computes for an answer takes sanitizers seconds. */
    expect_int(ask(&play, "POST", "/v1/doctor", "{\"device\":null}"), 200);
    expect_contains(play_answer, "\"id\":\"device.kernel\",\"subject\":\"cpu:0\",\"status\":"
                    "\"warning\",\"by\":\"vrtd\",\"result\":\"the fake has no kernels\","
                    "\"cure\":\"none\"}");
    expect_contains(play_answer, "\"id\":\"folder.spool\"");
    expect_contains(play_answer, "\"id\":\"environment\"");
    expect_contains(play_answer, "\"version\":\"" VRT_VERSION "\"");
    expect_contains(play_answer, "\"id\":\"gpu.hardware\"");
    expect_int(ask(&play, "POST", "/v1/doctor", "{\"device\":\"cuda\"}"), 200);
    expect_contains(play_answer, "\"failed\":0");
    /* One at a time; who goes away makes room. */
    int n_before = atomic_load(&fake_flow.n_doctors);
    int fd = play_send_begin(&play, "POST /v1/doctor", "{\"device\":\"cpu:9\"}", NULL, 0);
    while (atomic_load(&fake_flow.n_doctors) == n_before)
        usleep(1000);
    expect_int(ask(&play, "POST", "/v1/doctor", "{}"), 503);
    expect_contains(play_answer, "doctor.busy");
    close(fd);
    while (ask(&play, "POST", "/v1/doctor", "{}") != 200)
        usleep(1000);
    /* The end waits for what devices are at, and who asks meanwhile is told so. */
    n_before = atomic_load(&fake_flow.n_doctors);
    fd = play_send_begin(&play, "POST /v1/doctor", "{\"device\":\"cpu:9\"}", NULL, 0);
    while (atomic_load(&fake_flow.n_doctors) == n_before)
        usleep(1000);
    kill(getpid(), SIGTERM);
    while (ask(&play, "GET", "/v1/jobs", "") != 503)
        usleep(1000);
    expect_contains(play_answer, "\"shutting_down\",\"message\":\"vrtd is about to end\"");
    close(fd);
    play_wait_stopped(&play);
}

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    expect_true(in && out);
    while ((n = fread(play_answer, 1, sizeof(play_answer), in)) > 0)
        expect_int(fwrite(play_answer, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* Files put into the folder while it runs are known at once, by name. */
static void test_models(void)
{
    /* A model whose network is the built-in one: name, source, what else is known of it. */
    static const char model[] = "{\"name\":\"%s\",\"state\":\"ready\",\"architecture\":\"compact\","
        "\"scale\":2,\"parameters\":45156,\"source\":\"%s\",\"checksum\":\"d8bdd6e23a34f850\",%s"
        "\"url\":null,\"sha256\":null,\"verified\":false,\"size_bytes\":183184,"
        "\"done_bytes\":null,\"error\":null}";
    struct play play;
    char path[160], wanted[600], *body;

    play_start(&play, "[jobs]\nmodel = mine\n");
    expect_int(play_ask(&play, "GET", "/v1/models", "", &body), 200);
    snprintf(wanted, sizeof(wanted), model, "compact-x2", "built-in", "\"is_default\":false,"
             "\"description\":\"small and fast: twice the size of any video\","
             "\"license\":\"MIT\",");
    expect_contains(body, wanted);
    expect_contains(body, "\"error\":null}],\"replicas\":[{\"device\":\"cpu:0\",\"model\":null,"
                          "\"checksum\":\"000000000000feed\",\"precision\":\"bf16\","
                          "\"bytes\":4096,\"state\":\"packing\"},{\"device\":\"cuda:1\","
                          "\"model\":\"compact-x2\",\"checksum\":\"d8bdd6e23a34f850\","
                          "\"precision\":\"f32\",\"bytes\":1,\"state\":\"in_use\"}]}");
    expect_int(play_submit(&play, "run-1", ""), -404);
    /* What is none, or of another type, is no request. */
    expect_int(play_ask(&play, "POST", "/v1/jobs", "Content-Type: text/plain\r\n", &body), 415);
    expect_contains(body, "Content-Type: application/json");
    expect_int(play_ask(&play, "GET", "/v1/no\x1bthing", "", &body), 400);
    expect_contains(body, "http.malformed");
    expect_int(play_ask(&play, "GET", "/v1/status", "", &body), 200);
    expect_contains(body, "\"requests\":4,\"connections\":1");
    expect_int(mkdir(play.models, 0700), 0);
    snprintf(path, sizeof(path), "%s/mine.safetensors", play.models);
    copy_file(MODEL_PATH, path);
    snprintf(path, sizeof(path), "%s/broken.pth", play.models);
    copy_file("/proc/self/status", path);
    snprintf(path, sizeof(path), "%s/fifo.pth", play.models);
    expect_int(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/folder.pth", play.models);
    expect_int(mkdir(path, 0700), 0);
    expect_int(play_ask(&play, "GET", "/v1/models", "", &body), 200);
    expect_contains(body, "{\"name\":\"broken\",\"state\":\"ready\",\"architecture\":null,"
                          "\"scale\":null,\"parameters\":null,");
    expect_contains(body, "\"error\":\"broken.pth is neither");
    snprintf(path, sizeof(path), "%s/mine.safetensors", play.models);
    snprintf(wanted, sizeof(wanted), model, "mine", path,
             "\"is_default\":true,\"description\":null,\"license\":null,");
    expect_contains(body, wanted);
    expect_true(!strstr(body, "fifo") && !strstr(body, "\"folder") &&
                !strstr(body, "\"name\":\"\""));
    expect_int(play_submit(&play, "run-1", ""), 1);
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"name\":\"mine.safetensors\"}"), 2);
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"name\":\"broken\"}"), -422);
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"name\":\"fifo\"}"), -422);
    expect_int(play_submit(&play, "run-1", ",\"model\":{\"name\":\"folder\"}"), -422);
    play_stop(&play);
}

/* Every part takes what it follows of a configuration that changes; one that is wrong changes
 * nothing, and of several that come at once the last counts. */
static void test_reload(void)
{
    static const char url[] = "{\"input\":{\"url\":\"http://x.invalid/a.mp4\",\"name\":\"a.mp4\"},"
        "\"output\":{\"name\":\"a.mkv\"},\"dry_run\":true}";
    struct play play;
    char path[160];

    play_start(&play, "[jobs]\nmax_running = 1\nmax_queued = 1\n[log]\nlevel = error\n");
    expect_int(mkdir(play.models, 0700), 0);
    snprintf(path, sizeof(path), "%s/mine.safetensors", play.models);
    copy_file(MODEL_PATH, path);
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_int(play_submit(&play, "hang", ""), 2);
    expect_int(play_submit(&play, "hang", ""), -503);
    expect_int(ask(&play, "POST", "/v1/jobs", url), 403);
    atomic_store(&play.is_reading_held, true);
    play_reload(&play, "[jobs]\nmax_running = 0\n");
    while (atomic_load(&play.n_reread) < 1)
        usleep(1000);
    play_reload(&play, "[jobs]\nmax_running = 2\nmax_queued = 4\nmodel = mine\ndevice = cpu:7\n"
                "[devices]\nmemory_fraction = 0.5, cuda:0=0.25\n[remote]\ninputs = on\n"
                "[web]\nmax_upload = 4\n[log]\nlevel = error\n");
    /* That one waits for the other. */
    play_expect_state(&play, 2, VRT_JOB_QUEUED);
    expect_int(play_submit(&play, "hang", ""), -503);
    expect_int(atomic_load(&play.n_reread), 1);
    atomic_store(&play.is_reading_held, false);
    play_expect_state(&play, 2, VRT_JOB_RUNNING);
    expect_int(atomic_load(&play.n_reread), 2);
    expect_int(play_submit(&play, "hang", ""), 3);
    expect_contains(play_answer, "\"model\":{\"name\":\"mine\"");
    expect_contains(play_answer, "\"device\":\"cpu:7\"");
    expect_int(ask(&play, "POST", "/v1/profile", "{}"), 422);
    expect_int(ask(&play, "POST", "/v1/jobs", url), 400);
    expect_contains(play_answer, "input.url");
    expect_int(ask(&play, "POST", "/v1/uploads", "video"), 413);
    play_stop(&play);
    expect_near(fake_flow.memory_fractions[0], 0.5, 0);
    expect_near(fake_flow.memory_fractions[1], 0.25, 0);
}

/* Models of a folder, and what they are like: a to d, of which e is a copy of the last. */
struct shelf {
    char folder[64];
    struct vrt_models *models;
    struct vrt_network *seen[32];       /* references, so that none's place is another's */
    int n_seen;
};

static void shelf_init(struct shelf *shelf, int64_t kept_bytes)
{
    char path[80];

    *shelf = (struct shelf){ .folder = "/tmp/vrt-models-XXXXXX" };
    expect_true(mkdtemp(shelf->folder) != NULL);
    for (char name = 'a'; name <= 'e'; name++) {
        snprintf(path, sizeof(path), "%s/%c.safetensors", shelf->folder, name);
        copy_file(MODEL_PATH, path);
        FILE *file = fopen(path, "r+b");
        expect_true(file && fseek(file, -2, SEEK_END) == 0);
        fputc(VRT_MIN(name, 'd'), file);
        fclose(file);
    }
    expect_int(vrt_models_new(&(struct vrt_models_params){
        .folder = shelf->folder, .default_name = "", .kept_bytes = kept_bytes,
    }, &shelf->models), 0);
}

static void shelf_done(struct shelf *shelf)
{
    char command[80];

    for (int i = 0; i < shelf->n_seen; i++)
        vrt_network_unref(shelf->seen[i]);
    vrt_models_free(shelf->models);
    snprintf(command, sizeof(command), "rm -r %s", shelf->folder);
    expect_int(system(command), 0);
}

/* The network of a file, as a user's; 0: by its name, as nobody's. */
static struct vrt_network *read_model(struct shelf *shelf, char name, uid_t uid)
{
    struct vrt_network **network = &shelf->seen[shelf->n_seen++];
    struct vrt_error error = { .id = NULL };
    char path[80];

    snprintf(path, sizeof(path), "%s/%c.safetensors", shelf->folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    expect_int(uid ? vrt_models_read(shelf->models, &(struct vrt_models_file){ fd, path, uid },
                                     network, &error) :
                     vrt_models_find(shelf->models, strrchr(path, '/') + 1, network, &error), 0);
    close(fd);
    return *network;
}

/* Of what is kept that goes first which was not used for the longest time, of who has most. */
static void test_models_kept(void)
{
    struct shelf shelf;

    shelf_init(&shelf, 0);
    const int64_t one = 4 * vrt_network_info(read_model(&shelf, 'a', 0))->n_parameters;
    shelf_done(&shelf);

    shelf_init(&shelf, 2 * one);
    const struct vrt_network *a = read_model(&shelf, 'a', 0), *b = read_model(&shelf, 'b', 0);
    expect_true(a != b && read_model(&shelf, 'a', 0) == a);
    const struct vrt_network *c = read_model(&shelf, 'c', 0);
    expect_true(read_model(&shelf, 'c', 0) == c && read_model(&shelf, 'a', 0) == a);
    expect_true(read_model(&shelf, 'b', 0) != b);
    expect_true(read_model(&shelf, 'a', 0) == a && read_model(&shelf, 'c', 0) != c);
    shelf_done(&shelf);

    shelf_init(&shelf, 3 * one);
    a = read_model(&shelf, 'a', 1);
    b = read_model(&shelf, 'b', 2);
    c = read_model(&shelf, 'c', 2);
    const struct vrt_network *d = read_model(&shelf, 'd', 2);
    expect_true(read_model(&shelf, 'a', 1) == a && read_model(&shelf, 'c', 2) == c);
    /* Once more what the same user has already: it is that. */
    expect_true(read_model(&shelf, 'e', 2) == d);
    expect_true(read_model(&shelf, 'a', 1) == a && read_model(&shelf, 'c', 2) == c);
    expect_true(read_model(&shelf, 'b', 2) != b);
    shelf_done(&shelf);

    /* The one that is asked for is kept, however large. */
    shelf_init(&shelf, 1);
    a = read_model(&shelf, 'a', 1);
    expect_true(read_model(&shelf, 'a', 1) == a);
    /* Nor is another user's taken over. */
    d = read_model(&shelf, 'd', 1);
    expect_true(read_model(&shelf, 'e', 2) != d);
    shelf_done(&shelf);

    /* Of so many files as are known at a time, that are none, those that nobody uses go first. */
    shelf_init(&shelf, 0);
    char path[80];
    snprintf(path, sizeof(path), "%s/none.pth", shelf.folder);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    for (int i = 0; i < 1040; i++) {
        struct vrt_network *none = NULL;
        a = i == 1023 ? read_model(&shelf, 'a', 1) : a;
        expect_int(write(fd, "none", 4), 4);
        expect_int(vrt_models_read(shelf.models, &(struct vrt_models_file){ fd, "none.pth", 1 },
                                   &none, NULL), -EINVAL);
    }
    expect_true(read_model(&shelf, 'a', 1) == a);
    close(fd);
    shelf_done(&shelf);
}

/* More jobs than are told at a time, also to one who reads late; then a change of the first. */
static void test_long_start(void)
{
    enum { N = 300 };
    struct play play;
    struct vrt_buf stream = { .limit_bytes = 0 };
    char wanted[32], *body;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    for (int i = 1; i <= N; i++)
        expect_int(play_submit(&play, "hang", ""), i);
    int fd = play_subscribe(&play, "/v1/events");
    expect_int(play_next_event(fd, &stream), VRT_EVENT_DEVICE);
    expect_int(play_next_event(fd, &stream), VRT_EVENT_DEVICE);
    for (int i = 1; i <= N; i++) {
        /* Beside them the first may be told of again, which goes on. */
        do
            expect_int(play_next_event(fd, &stream), VRT_EVENT_JOB);
        while (i > 1 && strstr(play_answer, "{\"id\":1,"));
        snprintf(wanted, sizeof(wanted), "{\"id\":%d,", i);
        expect_contains(play_answer, wanted);
    }
    snprintf(wanted, sizeof(wanted), "/v1/jobs/%d", N);
    expect_int(play_ask(&play, "DELETE", wanted, "", &body), 200);
    snprintf(wanted, sizeof(wanted), "{\"id\":%d,", N);
    do
        expect_int(play_next_event(fd, &stream), VRT_EVENT_JOB);
    while (!strstr(play_answer, wanted));
    expect_contains(play_answer, "\"state\":\"cancelled\"");
    close(fd);
    vrt_buf_done(&stream);
    play_stop(&play);
}

/* One user gets so many streams, and another one's aren't fewer for it. */
static void test_streams_limit(void)
{
    struct play play;
    int fds[VRT_API_STREAMS_PER_UID_MAX];
    char *body;

    play_start(&play, "");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        fds[i] = play_subscribe(&play, "/v1/events");
    expect_int(play_ask(&play, "GET", "/v1/events", "", &body), 503);
    expect_contains(body, "http.too_many");
    expect_contains(body, " to one user: ");
    expect_int(play_ask(&play, "GET", "/v1/jobs", "", &body), 200);
    close(fds[0]);
    /* The daemon notices the end by the loop. */
    while (play_ask(&play, "HEAD", "/v1/events", "", &body) == 503)
        usleep(1000);
    fds[0] = play_subscribe(&play, "/v1/events");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        close(fds[i]);
    play_stop(&play);
}

TEST_MAIN_AFTER((signal(SIGPIPE, SIG_IGN), signal(SIGXFSZ, SIG_IGN)),
    { "answers", test_answers },
    { "long-start", test_long_start },
    { "streams-limit", test_streams_limit },
    { "events", test_events },
    { "profile", test_profile },
    { "doctor", test_doctor },
    { "models", test_models },
    { "models-kept", test_models_kept },
    { "reload", test_reload },
)
