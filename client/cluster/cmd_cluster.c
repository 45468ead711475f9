/* SPDX-License-Identifier: MIT */
/*
 * vrtctl cluster: films that Slurm's machines restore (submit --cluster). No daemon takes part:
 * what there is to know is in the film's folder, and with Slurm.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/cli.h"
#include "client/cluster/cluster.h"
#include "client/cluster/film.h"
#include "client/cluster/slurm.h"
#include "client/files.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"
#include "msg_job.h"

/* Between two looks at a film that is followed. */
#define LOOK_MS 1000

/* Submissions of a film that Slurm lost, with the first. */
#define SUBMISSIONS_MAX 2

/* The name of a film, for a person. */
static const char *shown(const struct vrt_film *film, char *buffer, int size)
{
    return vrt_file_name(film->output, buffer, size);
}

/* One line, or with --json an object. */
static int tell(const struct vrt_cli *cli, const struct vrt_film *film,
                const struct vrt_film_look *look)
{
    char name[VRT_API_NAME_BYTES], done[16], error[VRT_API_TEXT_BYTES], quality[128];

    if (cli->args.json) {
        json_t *json = vrt_film_report(film, look);
        const int exit = json ? vrt_cli_print_json(json) : VRT_EXIT_FAILED;
        json_decref(json);
        return exit;
    }
    printf("%s: %s, %s of it done", shown(film, name, sizeof(name)),
           vrt_film_state_names[look->state],
           vrt_format_percent((double)look->frames_done, (double)look->frames_total, done,
                              sizeof(done)));
    if (look->tasks_running || look->tasks_waiting)
        printf("; tasks: %" PRId64 " running, %" PRId64 " waiting", look->tasks_running,
               look->tasks_waiting);
    if (look->reason[0])
        printf(" (%s)", look->reason);
    if (look->error[0])
        printf("; %s", vrt_printable(look->error, error, sizeof(error)));
    if (look->has_comparison)
        printf("%s", vrt_progress_comparison(&look->comparison, quality, sizeof(quality)));
    printf("\n");
    fflush(stdout);
    return VRT_EXIT_OK;
}

int vrt_cluster_check(const struct vrt_cli *cli)
{
    const struct vrt_args *args = &cli->args;
    const bool has_wants = args->nodes != VRT_UNKNOWN || args->gpus != VRT_UNKNOWN ||
                           args->partition || args->account || args->time_limit ||
                           args->slurm_url;

    if (!args->cluster && has_wants)
        return vrt_cli_misused(cli, "--nodes, --gpus, --partition, --account, --time and "
                               "--slurm-url are for Slurm: say --cluster too");
    if (!args->cluster)
        return VRT_EXIT_OK;
    if (args->dry_run)
        return vrt_cli_misused(cli, "--dry-run is about this machine's devices: leave it out, or "
                               "--cluster");
    if (args->webhook || args->preview || args->priority)
        return vrt_cli_misused(cli, "--%s is for jobs of a vrtd, and no daemon takes part in "
                               "--cluster: leave it out", args->webhook ? "webhook" :
                               args->preview ? "preview" : "priority");
    if (args->settings.target_size_bytes != VRT_UNKNOWN)
        return vrt_cli_misused(cli, "--target-size needs one segment after the other, on one "
                               "machine: leave --cluster out, or ask for a --bitrate");
    if (args->settings.alpha == VRT_ALPHA_NETWORK)
        return vrt_cli_misused(cli, "--alpha network restores the film twice, on one machine: "
                               "leave --cluster out, or choose --alpha resize");
    return VRT_EXIT_OK;
}

int vrt_cluster_submit(const struct vrt_cli *cli, const struct vrt_job_request *request,
                       struct vrt_error *error)
{
    struct vrt_film film;
    struct stat st;
    char name[VRT_API_NAME_BYTES];

    if ((stat(request->input.path, &st) == 0 && S_ISDIR(st.st_mode)) ||
        (stat(request->output.path, &st) == 0 && S_ISDIR(st.st_mode)))
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.cluster", "folders of pictures are "
                          "restored on one machine: leave --cluster out");
    if (request->input.url[0] || !request->input.path[0] || !request->output.path[0])
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.cluster", "--cluster takes files that "
                          "all nodes can open by their paths, in UTF-8: no URL, and no pipe");
    int r = vrt_film_make(&cli->args, request, &film, error);
    if (r < 0)
        return vrt_fold(r);
    struct vrt_error unlisted = { .id = NULL };
    if (vrt_film_index_add(&film, &unlisted) < 0) {
        char why[1][VRT_API_TEXT_BYTES];
        snprintf(why[0], sizeof(why[0]), "vrtctl list won't show it: %.400s", unlisted.message);
        vrt_cli_warn(cli, shown(&film, name, sizeof(name)), why, 1);
    }
    r = vrt_film_submit(&film, error);
    if (r < 0) {
        struct vrt_error ignored = { .id = NULL };
        (void)!vrt_film_remove(&film, &ignored);
        return vrt_fold(r);
    }
    if (!cli->args.follow && !cli->args.json)
        printf("%s: submitted as Slurm's jobs %" PRId64 " (plan), %" PRId64 " (%" PRId64
               " part%s), %" PRId64 " (what these leave) and %" PRId64 " (join); vrtctl cluster "
               "follow %s shows how it gets on\n", shown(&film, name, sizeof(name)), film.plan,
               film.array, film.nodes, film.nodes == 1 ? "" : "s", film.rest, film.join,
               film.output);
    else if (!cli->args.follow)
        (void)tell(cli, &film, &(struct vrt_film_look){ .frames_total = VRT_UNKNOWN,
                                                         .segments_total = VRT_UNKNOWN });
    return 0;
}

/* Submits once more what is lost, or has failed by a node. Under the lock. Return: 0; -errno with
 * `error`. */
static int submit_locked(const struct vrt_cli *cli, struct vrt_film *film,
                         const struct vrt_film_look *look, struct vrt_error *error)
{
    const bool has_failed = look->state == VRT_FILM_FAILED;
    char name[VRT_API_NAME_BYTES];

    if (film->submissions >= SUBMISSIONS_MAX)
        return vrt_refuse(error, vrt_raise(-EIO), "client.cluster", "Slurm has ended or lost its "
                          "jobs twice, and it isn't done%s%.300s; vrtctl cluster retry goes on "
                          "behind what is made", look->error[0] ? ": " : "", look->error);
    vrt_film_exclude(film);
    if (!cli->args.json)
        printf("%s: %s: submitted again%s%s\n", shown(film, name, sizeof(name)),
               has_failed ? "it failed by a node" : "Slurm has no jobs of it any more",
               film->excluded[0] ? ", without " : "", film->excluded);
    int r = has_failed ? vrt_film_forget_notes(film, error) : 0;
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_film_submit(film, error));
}

/* Likewise, unless somebody else has, or has cancelled it, since it was looked at. */
static int submit_again(const struct vrt_cli *cli, struct vrt_film *film,
                        const struct vrt_film_look *look, struct vrt_error *error)
{
    const struct vrt_film seen = *film;
    int fd, r = vrt_film_lock(film, &fd, error);

    if (r < 0)
        return vrt_fold(r);
    if (strcmp(film->submitter, seen.submitter) == 0 && film->submissions == seen.submissions &&
        film->is_cancelled == seen.is_cancelled)
        r = submit_locked(cli, film, look, error);
    close(fd);
    return vrt_fold(r);
}

static void wait_a_while(void)
{
    const struct timespec moment = { LOOK_MS / 1000, LOOK_MS % 1000 * 1000000L };

    nanosleep(&moment, NULL);
}

/* Whether a look says something that the one before didn't. */
static bool is_news(const struct vrt_film_look *before, const struct vrt_film_look *look)
{
    return before->state != look->state || before->segments_done != look->segments_done ||
           before->tasks_running != look->tasks_running || strcmp(before->error, look->error) != 0;
}

/* Says what of a film that is done went otherwise than asked. */
static void warn(const struct vrt_cli *cli, const struct vrt_film *film, const char *name)
{
    struct vrt_error ignored = { .id = NULL };
    char text[1][VRT_API_TEXT_BYTES];
    const json_t *warning;
    json_t *json = NULL;
    size_t i;

    if (vrt_film_read(film->folder, "tasks/join.json", &json, &ignored) < 0)
        return;
    json_array_foreach(json_object_get(json, "warnings"), i, warning) {
        const char *said = json_string_value(warning);
        snprintf(text[0], sizeof(text[0]), "%s", said ? said : "");
        vrt_cli_warn(cli, name, text, 1);
    }
    json_decref(json);
}

/* Its end. Return: enum vrt_exit. */
static int conclude(const struct vrt_cli *cli, const struct vrt_film *film,
                    const struct vrt_film_look *look)
{
    struct vrt_error error = { .id = NULL };
    char name[VRT_API_NAME_BYTES];

    shown(film, name, sizeof(name));
    if (look->state == VRT_FILM_DONE) {
        warn(cli, film, name);
        if (vrt_film_remove(film, &error) < 0)
            vrt_cli_complain(cli, name, &error);
        return VRT_EXIT_OK;
    }
    if (look->state == VRT_FILM_CANCELLED)
        vrt_refuse(&error, -ECANCELED, "client.cluster", "it was cancelled; vrtctl cluster retry "
                   "goes on behind what is made");
    else
        vrt_refuse(&error, -EIO, "client.cluster", "%s", look->error);
    vrt_cli_complain(cli, name, &error);
    return VRT_EXIT_FAILED;
}

/* Whether the film, which was there, is done: whoever else follows it has removed its folder. */
static bool was_concluded(const struct vrt_film *film)
{
    struct stat st;

    return access(film->folder, F_OK) < 0 && errno == ENOENT && stat(film->output, &st) == 0 &&
           st.st_size > 0 && st.st_mtime >= vrt_film_made_ns(film) / VRT_NS_PER_S;
}

/* That it is, where it was as in `before` when it was last looked at. Return: enum vrt_exit. */
static int tell_concluded(const struct vrt_cli *cli, const struct vrt_film *film,
                          const struct vrt_film_look *before)
{
    char name[VRT_API_NAME_BYTES];

    if (cli->args.json)
        return tell(cli, film, &(struct vrt_film_look){
            .state = VRT_FILM_DONE,
            .frames_done = VRT_MAX(before->frames_total, 0), .frames_total = before->frames_total,
            .segments_done = VRT_MAX(before->segments_total, 0),
            .segments_total = before->segments_total,
        });
    printf("%s: done; another vrtctl that followed it has removed its folder\n",
           shown(film, name, sizeof(name)));
    return VRT_EXIT_OK;
}

static int follow(const struct vrt_cli *cli, struct vrt_film *film, bool quiet)
{
    struct vrt_film_look look, before = {
        .state = -1, .frames_total = VRT_UNKNOWN, .segments_total = VRT_UNKNOWN,
    };
    bool is_silent = false, was_lost = false;
    char name[VRT_API_NAME_BYTES];

    for (shown(film, name, sizeof(name));; wait_a_while()) {
        struct vrt_error error = { .id = NULL };
        /* Its record again: another vrtctl may have cancelled it since, or submitted it. */
        if (vrt_film_open(film->folder, film, &error) < 0) {
            if (was_concluded(film))
                return tell_concluded(cli, film, &before);
            vrt_cli_complain(cli, name, &error);
            return VRT_EXIT_FAILED;
        }
        if (vrt_film_look(film, &look, &error) < 0) {
            /* It may be begun anew, and what runs goes on meanwhile. */
            if (!is_silent)
                vrt_cli_complain(cli, name, &error);
            is_silent = true;
            continue;
        }
        is_silent = false;
        const bool may_try = look.state == VRT_FILM_FAILED && look.may_help &&
                             film->submissions < SUBMISSIONS_MAX;
        if (is_news(&before, &look) && (!quiet || look.state == VRT_FILM_DONE))
            (void)tell(cli, film, &look);
        before = look;
        if (look.state > VRT_FILM_LOST && !may_try)
            return conclude(cli, film, &look);
        /* Not at the first look: it may be between two states. */
        if ((may_try || (look.state == VRT_FILM_LOST && was_lost)) &&
            submit_again(cli, film, &look, &error) < 0) {
            vrt_cli_complain(cli, name, &error);
            return VRT_EXIT_FAILED;
        }
        was_lost = look.state == VRT_FILM_LOST && !was_lost;
    }
}

int vrt_cluster_follow(const struct vrt_cli *cli, const char *path, bool quiet)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_film film;

    if (vrt_film_open(path, &film, &error) == 0)
        return follow(cli, &film, quiet);
    vrt_cli_complain(cli, NULL, &error);
    return VRT_EXIT_FAILED;
}

/* What is done to one film, by a word of the command line. Return: 0; -errno with `error`. */

static int show(const struct vrt_cli *cli, const struct vrt_film *film, struct vrt_error *error)
{
    struct vrt_film_look look;
    int r = vrt_film_look(film, &look, error);

    return r < 0 ? vrt_fold(r) : tell(cli, film, &look) == VRT_EXIT_OK ? 0 : -EIO;
}

static int hold(struct vrt_film *film, struct vrt_error *error)
{
    return vrt_fold(vrt_film_order(film, VRT_SLURM_HOLD, error));
}

static int release(struct vrt_film *film, struct vrt_error *error)
{
    return vrt_fold(vrt_film_order(film, VRT_SLURM_RELEASE, error));
}

static int retry(struct vrt_film *film, struct vrt_error *error)
{
    struct vrt_film_look look;
    int r = vrt_film_look(film, &look, error);

    if (r < 0)
        return vrt_fold(r);
    if (look.state < VRT_FILM_LOST || look.state == VRT_FILM_DONE)
        return vrt_refuse(error, -EBUSY, "client.cluster", "it is %s: there is nothing to try "
                          "again", vrt_film_state_names[look.state]);
    film->submissions = 0;
    film->excluded[0] = '\0';
    vrt_film_exclude(film);
    r = vrt_film_forget_notes(film, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_film_submit(film, error));
}

static int remove_film(struct vrt_film *film, struct vrt_error *error)
{
    int r = vrt_film_cancel(film, error);

    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_film_remove(film, error));
}

static const struct {
    const char *name;
    int (*change)(struct vrt_film *film, struct vrt_error *error);      /* under the lock; NULL:
                                                                         * it is only looked at */
    const char *said;               /* of what became of it, as of jobs */
} verbs[] = {
    { "cancel", vrt_film_cancel, "was cancelled" },
    { "hold", hold, "is paused: tasks that run go on" },
    { "release", release, "goes on" },
    { "retry", retry, "is tried again" },
    { "remove", remove_film, "was removed" },
    /* To its end, by vrt_cluster_follow(). */
    { .name = "follow" }, { .name = "wait" },
    { .name = "show" },
};

/* All films of the user's that Slurm has jobs of. Return: enum vrt_exit. */
static int list(const struct vrt_cli *cli)
{
    VRT_CLEANUP(vrt_freep) struct vrt_slurm_job *jobs = NULL;
    struct vrt_error error = { .id = NULL };
    char url[VRT_SLURM_URL_BYTES];
    size_t n = 0;

    if (vrt_slurm_find(cli->args.slurm_url, url, &error) < 0 ||
        vrt_slurm_list(url, VRT_FILM_TAG, &jobs, &n, &error) < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++) {
        struct vrt_error why = { .id = NULL };
        struct vrt_film film;
        size_t k = 0;
        while (strcmp(jobs[k].comment, jobs[i].comment) != 0)
            k++;
        /* Each once; one whose folder was removed has nothing to tell. */
        if (k == i && vrt_film_open(jobs[i].folder, &film, &why) == 0)
            (void)show(cli, &film, &why);
        if (why.message[0])
            vrt_cli_complain(cli, NULL, &why);
    }
    return VRT_EXIT_OK;
}

/* Does to the film called so what the word says. Return: enum vrt_exit; all was said. */
static int run_one(const struct vrt_cli *cli, size_t verb, const char *path)
{
    const char *word = verbs[verb].name;
    struct vrt_error error = { .id = NULL };
    char name[VRT_API_NAME_BYTES];
    struct vrt_film film;

    if (strcmp(word, "follow") == 0 || strcmp(word, "wait") == 0)
        return vrt_cluster_follow(cli, path, strcmp(word, "wait") == 0);
    int fd = -1, r = vrt_film_open(path, &film, &error);
    if (r == 0 && verbs[verb].change)
        r = vrt_film_lock(&film, &fd, &error);
    if (r == 0 && verbs[verb].change)
        r = verbs[verb].change(&film, &error);
    vrt_closep(&fd);
    if (r == 0 && verbs[verb].change && !cli->args.json)
        printf("%s %s\n", shown(&film, name, sizeof(name)), verbs[verb].said);
    else if (r == 0 && strcmp(word, "remove") != 0)
        r = show(cli, &film, &error);
    if (r < 0)
        vrt_cli_complain(cli, vrt_printable(path, name, sizeof(name)), &error);
    return r < 0 ? VRT_EXIT_FAILED : VRT_EXIT_OK;
}

/* The verb that the word is; VRT_ARRAY_SIZE(verbs): none. */
static size_t find_verb(const char *word)
{
    size_t verb = 0;

    while (verb < VRT_ARRAY_SIZE(verbs) && strcmp(word, verbs[verb].name) != 0)
        verb++;
    return verb;
}

bool vrt_cluster_is_path(const char *operand)
{
    return operand[strspn(operand, "0123456789")] || !operand[0];
}

/* What the command line gets wrong about the film called so. Return: enum vrt_exit. */
static int check_film(const struct vrt_cli *cli, const char *path)
{
    const struct vrt_args *args = &cli->args;
    struct vrt_error ignored = { .id = NULL };
    char printable[VRT_API_NAME_BYTES];
    struct vrt_film film;

    if (vrt_film_open(path, &film, &ignored) == -ENOENT)
        return vrt_cli_misused(cli, "\"%s\" is not a job's number, nor the result of a film that a "
                               "cluster restores; vrtctl list shows both",
                               vrt_printable(path, printable, sizeof(printable)));
    if (args->output || args->model || args->reference || args->overwrite || args->history)
        return vrt_cli_misused(cli, "%s is a cluster's film: --output, --model, --reference, "
                               "--overwrite and --history are for jobs of a vrtd",
                               vrt_printable(path, printable, sizeof(printable)));
    return VRT_EXIT_OK;
}

bool vrt_cluster_take(struct vrt_cli *cli, const char *word, int *ret_exit)
{
    struct vrt_args *args = &cli->args;
    const size_t verb = find_verb(word);
    int n = 0, exit = VRT_EXIT_OK;

    for (int i = 0; i < args->n_operands && exit == VRT_EXIT_OK; i++)
        if (vrt_cluster_is_path(args->operands[i]))
            exit = check_film(cli, args->operands[i]);
    *ret_exit = exit;
    if (exit != VRT_EXIT_OK)
        return false;
    for (int i = 0; i < args->n_operands; i++) {
        if (!vrt_cluster_is_path(args->operands[i])) {
            args->operands[n++] = args->operands[i];
            continue;
        }
        const int one = run_one(cli, verb, args->operands[i]);
        *ret_exit = one != VRT_EXIT_OK ? one : *ret_exit;
    }
    const bool was_all = n == 0 && args->n_operands > 0 && !args->all;
    args->n_operands = n;
    return !was_all;
}

static int run(struct vrt_cli *cli)
{
    const struct vrt_args *args = &cli->args;
    const char *word = args->n_operands ? args->operands[0] : "list";
    const size_t verb = find_verb(word);
    int exit = VRT_EXIT_OK;

    if (strcmp(word, "list") == 0)
        return args->n_operands > 1 ? vrt_cli_misused(cli, "list names no film: show does") :
               list(cli);
    if (verb == VRT_ARRAY_SIZE(verbs))
        return vrt_cli_misused(cli, "cluster: expected list, show, follow, wait, cancel, hold, "
                               "release, retry or remove");
    if (args->n_operands < 2)
        return vrt_cli_misused(cli, "cluster %s: which film? Name its result", word);
    for (int i = 1; i < args->n_operands; i++) {
        const int one = run_one(cli, verb, args->operands[i]);
        exit = one != VRT_EXIT_OK ? one : exit;
    }
    return exit;
}

static const struct vrt_option options[] = {
    { "slurm-url", 0, VRT_OPTION_TEXT, offsetof(struct vrt_args, slurm_url), .argument = "URL",
      .help = "list by a slurmrestd, unix:/PATH or http://HOST:PORT (default: by squeue)" },
    { .name = NULL },
};

const struct vrt_command vrt_command_cluster = {
    .name = "cluster",
    .operands = "[list | show|follow|wait|cancel|hold|release|retry|remove FILM...]",
    .summary = "films that the machines of a Slurm cluster restore",
    .options = options,
    .max_operands = 10000,
    .run = run,
};
