/* SPDX-License-Identifier: MIT */
/* client/cluster: what is asked of Slurm, what it answers, films' records, other programs. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "client/cluster/film.h"
#include "client/program.h"
#include "client/cluster/slurm-impl.h"
#include "fields.h"

/* sbatch(1): minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and
 * days-hours:minutes:seconds. */
static void test_time_limits(void)
{
    static const struct {
        const char *text;
        int64_t minutes;
    } rows[] = {
        { "90", 90 }, { "90:01", 91 }, { "1:30:00", 90 }, { "1:30:01", 91 }, { "1:30:60", 91 },
        { "2-12", 3600 }, { "2-12:01", 3601 }, { "2-12:01:30", 3602 }, { "0", 0 },
        { "UNLIMITED", -1 }, { "infinite", -1 }, { "-1", -1 }, { "", -EINVAL }, { "1:", -EINVAL },
        { ":1", -EINVAL }, { "1-2-3", -EINVAL }, { "1:2:3:4", -EINVAL }, { "1:2-3", -EINVAL },
        { "4h", -EINVAL }, { "1 ", -EINVAL }, { "99999999999", -EINVAL }, { "-2", -EINVAL },
        { "1000000-0", -EINVAL }, { "1000000000", 1000000000 }, { "999999999:01", 1000000000 },
        { "1000000000:01", -EINVAL },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++)
        if (vrt_slurm_minutes(rows[i].text) != rows[i].minutes)
            test_fail("\"%s\" is %lld minutes, not %lld", rows[i].text,
                      (long long)vrt_slurm_minutes(rows[i].text), (long long)rows[i].minutes);
}

/* The quotes of `text` are single ones. */
static json_t *parsed(const char *text)
{
    VRT_CLEANUP(vrt_freep) char *copy = strdup(text);
    json_t *json = NULL;

    for (char *at = copy; (at = strchr(at, '\'')); at++)
        *at = '"';
    expect_int(vrt_json_parse(copy, strlen(copy), &json, NULL), 0);
    return json;
}

#define OURS "{'user_name': 'me', 'comment': 'vrtd:1.a', 'job_id': "

/* Slurm 22.05's shape, then 24.11's, of the same jobs. */
static const char *const answers[] = {
    "{'errors': [], 'jobs': ["
    "{'user_name': 'you', 'comment': 'vrtd:1.a', 'job_id': 4, 'job_state': 'RUNNING'},"
    OURS "1, 'array_job_id': 0, 'array_task_id': null, 'job_state': 'RUNNING', 'nodes': 'node1',"
    " 'state_reason': 'None', 'current_working_directory': '/f', 'array_task_string': ''},"
    OURS "9, 'array_job_id': 8, 'array_task_id': 0, 'job_state': 'RUNNING',"
    " 'array_task_string': ''},"
    OURS "8, 'array_job_id': 8, 'array_task_id': null, 'job_state': 'PENDING',"
    " 'state_reason': 'Dependency', 'array_task_string': '10-11,7%2'},"
    OURS "5, 'job_state': 'TIMEOUT'},"
    "{'user_name': 'me', 'comment': 'vrtd:', 'job_id': 3, 'job_state': 'RUNNING'},"
    "{'user_name': 'me', 'comment': null, 'job_id': 2, 'job_state': 'RUNNING'}]}",
    "{'errors': [], 'jobs': ["
    OURS "1, 'array_job_id': {'set': true, 'infinite': false, 'number': 0},"
    " 'array_task_id': {'set': false, 'infinite': false, 'number': 0}, 'job_state': ['RUNNING'],"
    " 'nodes': 'node1', 'state_reason': 'None', 'current_working_directory': '/f',"
    " 'array_task_string': ''},"
    OURS "9, 'array_job_id': {'set': true, 'number': 8}, 'job_state': ['RUNNING'],"
    " 'array_task_id': {'set': true, 'number': 0}},"
    OURS "8, 'array_job_id': {'set': true, 'number': 8}, 'array_task_id': {'set': false},"
    " 'job_state': ['PENDING'], 'state_reason': 'Dependency', 'array_task_string': '10-11,7%2'},"
    OURS "5, 'job_state': ['COMPLETED', 'COMPLETING']},"
    "{'user_name': 'you', 'comment': 'vrtd:1.a', 'job_id': 4, 'job_state': ['RUNNING']}]}",
};

static void test_jobs(void)
{
    static const struct {
        int64_t id, batch;
        const char *state, *reason;
    } wanted[] = {
        { 1, 1, "RUNNING", "" },           { 9, 8, "RUNNING", "" },
        { 8, 8, "PENDING", "Dependency" }, { 8, 8, "PENDING", "Dependency" },
        { 8, 8, "PENDING", "Dependency" },
    };

    for (size_t a = 0; a < VRT_ARRAY_SIZE(answers); a++) {
        struct vrt_error error = { .id = NULL };
        struct vrt_slurm_job *jobs = NULL;
        json_t *json = parsed(answers[a]);
        size_t n = 0;
        expect_int(vrt_slurm_jobs_of_json(json, "me", "vrtd:1.a", &jobs, &n, &error), 0);
        expect_int(n, VRT_ARRAY_SIZE(wanted));
        for (size_t i = 0; i < n; i++) {
            expect_int(jobs[i].id, wanted[i].id);
            expect_int(jobs[i].batch, wanted[i].batch);
            expect_str(jobs[i].state, wanted[i].state);
            expect_str(jobs[i].reason, wanted[i].reason);
            expect_str(jobs[i].comment, "vrtd:1.a");
        }
        expect_str(jobs[0].folder, "/f");
        free(jobs);
        json_decref(json);
    }
    struct vrt_error error = { .id = NULL };
    struct vrt_slurm_job *jobs = NULL;
    json_t *json = parsed("{'jobs': [" OURS "1}, " OURS "2, 'array_task_string': '0-99999'}]}");
    size_t n = 0;
    expect_int(vrt_slurm_jobs_of_json(json, "me", "", &jobs, &n, &error), 0);
    expect_int(n, 1 + 10000);       /* no more of an array are counted */
    free(jobs);
    json_decref(json);
    json = parsed("{'jobs': {}}");
    expect_int(vrt_slurm_jobs_of_json(json, "me", "", &jobs, &n, &error), -EPROTO);
    expect_contains(error.message, "no list of jobs");
    json_decref(json);
}

static void expect_batch(enum vrt_slurm_shape shape, const char *time, const char *wanted)
{
    char *const environment[] = { "A=b=c", "SLURM_JWT=secret", "none", "E=", NULL };
    const struct vrt_slurm_batch batch = {
        .name = "n", .comment = "c", .script = "s", .folder = "/100%", .output = "logs/%x.log",
        .array = "0-3", .dependency = "afterok:12",
        .wants = { "p", "a", time, "n1,n2", 2, true },
    };
    struct vrt_error error = { .id = NULL };
    json_t *json = NULL, *expected = parsed(wanted);

    expect_int(vrt_slurm_json_of_batch(&batch, shape, environment, &json, &error), 0);
    char *text = json_dumps(json, JSON_SORT_KEYS);
    if (!json_equal(json, expected))
        test_fail("it is %s, not %s", text, wanted);
    free(text);
    json_decref(json);
    json_decref(expected);
}

#define TYPED(limit) \
    "{'script': 's', 'job': {'name': 'n', 'comment': 'c', 'current_working_directory': '/100%'," \
    " 'standard_output': '/100%%/logs/%x.log', 'requeue': true, 'tasks': 1, 'array': '0-3'," \
    " 'dependency': 'afterok:12', 'partition': 'p', 'minimum_nodes': 1, 'maximum_nodes': 1," \
    " 'account': 'a', 'open_mode': ['APPEND'], 'excluded_nodes': ['n1', 'n2']," \
    " 'time_limit': {" limit "}, 'tres_per_node': 'gres/gpu:2', 'shared': ['none']," \
    " 'flags': ['KILL_INVALID_DEPENDENCY'], 'environment': ['A=b=c', 'E=']}}"

static void test_batch(void)
{
    expect_batch(VRT_SLURM_PLAIN, "1:30:00",
        "{'script': 's', 'job': {'name': 'n', 'comment': 'c', 'current_working_directory': '/100%',"
        " 'standard_output': '/100%%/logs/%x.log', 'requeue': true, 'tasks': 1, 'array': '0-3',"
        " 'dependency': 'afterok:12', 'partition': 'p', 'nodes': [1, 1], 'open_mode': 'append',"
        " 'time_limit': '1:30:00', 'exclude_nodes': 'n1,n2', 'gpus_per_node': '2',"
        " 'exclusive': 'exclusive', 'kill_on_invalid_dependency': true,"
        " 'account': 'a', 'environment': {'A': 'b=c', 'E': ''}}}");
    expect_batch(VRT_SLURM_TYPED, "1:30:00", TYPED("'set': true, 'infinite': false, 'number': 90"));
    expect_batch(VRT_SLURM_TYPED, "infinite", TYPED("'set': false, 'infinite': true, 'number': 0"));
}

static char folder[] = "/tmp/vrt-test-cluster-XXXXXX";

static void write_text(const char *name, const char *text)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    expect_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_folder(const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    expect_int(mkdir(path, 0700), 0);
}

#define RECORD(tag) \
    "{\"tag\": \"" tag "\", \"input\": \"/i\", \"output\": \"/o\", \"nodes\": 4}"

/* A record's tag says which jobs are ended: one that isn't a film's would be of all jobs. */
static void test_film(void)
{
    struct vrt_error error = { .id = NULL }, other = error;
    struct vrt_film film, again;
    char path[200];
    int fd, second;

    expect_true(mkdtemp(folder));
    make_folder("o.vrtd");
    snprintf(path, sizeof(path), "%s/o", folder);
    write_text("o.vrtd/slurm.json", RECORD(""));
    expect_int(vrt_film_open(path, &film, &error), -EINVAL);
    expect_contains(error.message, "its tag is none");
    write_text("o.vrtd/slurm.json", RECORD("vrtd:1.a"));
    expect_int(vrt_film_open(path, &film, &other), 0);

    /* Nodes whose own fault it was; node1 is none of node10's. */
    make_folder("o.vrtd/tasks");
    write_text("o.vrtd/tasks/0.json", "{\"node\": \"node10\", \"error_id\": \"store.full\"}");
    write_text("o.vrtd/tasks/1.json", "{\"node\": \"node1\", \"error_id\": \"device.failed\"}");
    write_text("o.vrtd/tasks/2.json", "{\"node\": \"node2\", \"error_id\": \"spool.full\"}");
    write_text("o.vrtd/tasks/3.json", "{\"node\": \"node10\", \"error_id\": \"store.full\"}");
    vrt_film_exclude(&film);
    expect_str(film.excluded, "node10,node1");
    vrt_film_exclude(&film);
    expect_str(film.excluded, "node10,node1");

    /* The lock: the record is read anew, and nobody else has it. */
    write_text("o.vrtd/slurm.json", RECORD("vrtd:2.b"));
    expect_int(vrt_film_lock(&film, &fd, &other), 0);
    expect_str(film.tag, "vrtd:2.b");
    again = film;
    snprintf(path, sizeof(path), "%s/o.vrtd/lock", folder);
    second = open(path, O_RDWR | O_CLOEXEC);
    expect_true(flock(second, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
    close(second);
    close(fd);
    expect_int(vrt_film_lock(&again, &second, &other), 0);
    close(second);
    expect_int(vrt_film_remove(&film, &other), 0);
    rmdir(folder);
}

static volatile sig_atomic_t n_signals;

static void interrupted(int number)
{
    (void)number;
    n_signals++;
}

/* A signal may end any wait for what a program writes. */
static void test_program(void)
{
    char *const argv[] = { "sh", "-c", "read x; sleep 0.05; echo \"$x $A\"; echo no >&2; exit 3",
                           NULL };
    char *const environment[] = { "A=b", "PATH=/usr/bin:/bin", NULL };
    const struct sigaction action = { .sa_handler = interrupted };
    const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct vrt_buf out = { .limit_bytes = 0 }, err = out;
    struct vrt_error error = { .id = NULL };

    expect_int(sigaction(SIGALRM, &action, NULL), 0);
    expect_int(setitimer(ITIMER_REAL, &often, NULL), 0);
    expect_int(vrt_program_run(&(struct vrt_program){ argv, environment, "in\n" }, &out, &err,
                               &error), 3);
    expect_int(setitimer(ITIMER_REAL, &never, NULL), 0);
    expect_str(out.data, "in b\n");
    expect_str(err.data, "no\n");
    expect_int(vrt_program_run(&(struct vrt_program){ (char *[]){ "sh", "-c", "kill -9 $$", NULL },
                                                      environment }, &out, &err, &error), 128 + 9);
    expect_int(vrt_program_run(&(struct vrt_program){ (char *[]){ "sleep", "600", NULL },
                                                      environment, .interrupt = &n_signals },
                               &out, &err, &error), -EINTR);
    vrt_buf_done(&out);
    vrt_buf_done(&err);
    expect_int(vrt_program_run(&(struct vrt_program){ (char *[]){ "/no/such", NULL }, environment },
                               &out, &err, &error), -ENOENT);
}

static void test_addresses(void)
{
    char url[VRT_SLURM_URL_BYTES];
    struct vrt_error error = { .id = NULL };

    unsetenv(VRT_SLURM_URL_VARIABLE);
    expect_int(vrt_slurm_find(NULL, url, &error), 0);
    expect_str(url, "");
    setenv(VRT_SLURM_URL_VARIABLE, "https://a:1", 1);
    expect_int(vrt_slurm_find(NULL, url, &error), 0);
    expect_str(url, "https://a:1");
    expect_int(vrt_slurm_find("", url, &error), 0);
    expect_str(url, "");
    expect_int(vrt_slurm_find("unix:/s", url, &error), 0);
    expect_int(vrt_slurm_find("unix:/", url, &error), -EINVAL);
    expect_int(vrt_slurm_find("a:6820", url, &error), -EINVAL);
}

TEST_MAIN(
    { "time_limits", test_time_limits },
    { "jobs", test_jobs },
    { "batch", test_batch },
    { "film", test_film },
    { "program", test_program },
    { "addresses", test_addresses },
)
