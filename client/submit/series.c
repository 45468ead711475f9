/* SPDX-License-Identifier: MIT */

#include "client/submit/series.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/codecs.h"
#include "base/macro.h"
#include "client/commands/jobs.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/folders.h"

/* Endings of videos, for who names no others. */
static const char *const endings[] = {
    "3gp", "asf", "avi", "divx", "dv", "f4v", "flv", "m1v", "m2ts", "m2v", "m4v", "mkv", "mov",
    "mp4", "mpeg", "mpg", "mts", "mxf", "nut", "ogm", "ogv", "rm", "rmvb", "ts", "vob", "webm",
    "wmv", "y4m",
};

/* What the daemon has made, makes or was to make. */
struct vrt_series_job {
    int64_t id;
    enum vrt_job_state state;
    char *name;                 /* of its output */
};

int vrt_series_check(const struct vrt_cli *cli)
{
    const struct vrt_args *args = &cli->args;
    const char *alone = args->output_dir ? "output-dir" : args->match ? "match" :
                        args->skip_done ? "skip-done" : args->settled_s ? "settled" : NULL;

    if (!args->recursive && alone)
        return vrt_cli_misused(cli, "--%s goes with --recursive, which takes what is in a folder, "
                               "and below it", alone);
    if (!args->recursive)
        return VRT_EXIT_OK;
    if (args->n_operands != 1 || !vrt_file_is_folder(args->operands[0]))
        return vrt_cli_misused(cli, "--recursive takes one folder, and what is below it; name "
                               "files without it");
    if (args->output)
        return vrt_cli_misused(cli, "--output names one result: with --recursive say "
                               "--output-dir, below which results have the same folders");
    if (!args->output_dir || !args->output_dir[0])
        return vrt_cli_misused(cli, "--recursive needs --output-dir, a folder for the results");
    return VRT_EXIT_OK;
}

/* Room for one more in an array. Return: the array; NULL: no memory, and it is as it was. */
static void *grow(void *array, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return array;
    void *grown = realloc(array, (*capacity * 2 + 64) * size);
    if (grown)
        *capacity = *capacity * 2 + 64;
    return grown;
}

static bool is_wanted(const struct vrt_args *args, const char *name)
{
    const char *dot = strrchr(name, '.');

    if (args->match)
        return fnmatch(args->match, name, 0) == 0;
    for (size_t i = 0; dot && i < VRT_ARRAY_SIZE(endings); i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

/* `base` without the slashes at its end, and the folders between `root` and the file at `path`. */
static char *folder_below(const char *base, const char *root, const char *path)
{
    const char *rest = path + strlen(root), *slash = strrchr(rest, '/');
    char *made = NULL;

    while (*rest == '/')
        rest++;
    const int n = slash && slash > rest ? (int)(slash - rest) : 0;
    return asprintf(&made, "%s%s%.*s", base, n ? "/" : "", n, rest) < 0 ? NULL : made;
}

static int add(struct vrt_series *series, const char *base, const char *path)
{
    size_t capacity = series->capacity;

    void *inputs = grow(series->inputs, series->n, &capacity, sizeof(*series->inputs));
    if (!inputs)
        return vrt_raise(-ENOMEM);
    series->inputs = inputs;
    void *folders = grow(series->folders, series->n, &series->capacity, sizeof(*series->folders));
    if (!folders)
        return vrt_raise(-ENOMEM);
    series->folders = folders;
    series->inputs[series->n] = strdup(path);
    series->folders[series->n] = folder_below(base, series->root, path);
    series->n++;
    return series->inputs[series->n - 1] && series->folders[series->n - 1] ? 0 : vrt_raise(-ENOMEM);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void say_unreadable(const struct vrt_cli *cli, struct vrt_series *series, const FTSENT *e)
{
    struct vrt_error error = { 0 };

    vrt_refuse_errno(&error, -e->fts_errno, e->fts_path);
    vrt_cli_complain(cli, NULL, &error);
    series->has_failed = true;
}

/* What becomes of an entry. `out`: the folder of results, if it is there. Return: 0; -ENOMEM. */
static int take(const struct vrt_cli *cli, struct vrt_series *series, FTS *walk, FTSENT *e,
                const struct stat *out, const char *base)
{
    const struct stat *st = e->fts_statp;
    struct stat target;

    if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
        say_unreadable(cli, series, e);
    if (e->fts_level > 0 && e->fts_name[0] == '.') {
        fts_set(walk, e, FTS_SKIP);
        return 0;
    }
    /* Results are no inputs. */
    if (e->fts_info == FTS_D && e->fts_level > 0 && st->st_dev == out->st_dev &&
        st->st_ino == out->st_ino)
        fts_set(walk, e, FTS_SKIP);
    if (e->fts_info == FTS_SL && stat(e->fts_path, &target) == 0)
        st = &target;
    else if (e->fts_info != FTS_F)
        return 0;
    if (!S_ISREG(st->st_mode) || !is_wanted(&cli->args, e->fts_name))
        return 0;
    /* Of a file that is copied with its times only the status shows that it isn't old. */
    if (cli->args.settled_s > 0 && time(NULL) - st->st_ctime < cli->args.settled_s) {
        series->n_unsettled++;
        return 0;
    }
    return vrt_fold(add(series, base, e->fts_path));
}

/* Return: 0; -errno with `error`. */
static int walk(const struct vrt_cli *cli, struct vrt_series *series, struct vrt_error *error)
{
    char *const roots[] = { cli->args.operands[0], NULL };
    struct stat out = { 0 }, root;
    FTSENT *e;
    int r = cli->args.dry_run ? 0 : vrt_folder_make_output(cli->args.output_dir, error);

    if (r < 0)
        return r;
    /* From the root on, by which the same result is known from any folder. */
    VRT_CLEANUP(vrt_freep) char *found = realpath(cli->args.output_dir, NULL);
    const char *base = found ? found : cli->args.output_dir;
    if (stat(base, &out) < 0)
        out = (struct stat){ 0 };
    if (stat(roots[0], &root) == 0 && out.st_dev == root.st_dev && out.st_ino == root.st_ino)
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.file", "--output-dir is the folder of "
                          "the inputs: name another, which may be one in it");
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!walk)
        return vrt_refuse_errno(error, vrt_raise(-errno), roots[0]);
    while (r == 0 && (e = fts_read(walk)))
        r = take(cli, series, walk, e, &out, base);
    /* At the end errno is 0: what can't be read of single entries was said. */
    if (r == 0 && errno != 0)
        r = vrt_raise(-errno);
    fts_close(walk);
    return r < 0 ? vrt_refuse_errno(error, r, roots[0]) : 0;
}

static int take_job(void *ctx, struct json_t *json, const struct vrt_job_info *job)
{
    struct vrt_series *series = ctx;

    (void)json;
    void *jobs = grow(series->jobs, series->n_jobs, &series->n_jobs_capacity,
                      sizeof(*series->jobs));
    if (!jobs)
        return vrt_raise(-ENOMEM);
    series->jobs = jobs;
    series->jobs[series->n_jobs] = (struct vrt_series_job){
        .id = job->id, .state = job->state, .name = strdup(job->output_name),
    };
    return series->jobs[series->n_jobs++].name ? 0 : vrt_raise(-ENOMEM);
}

int vrt_series_find(struct vrt_cli *cli, struct vrt_series *series)
{
    struct vrt_error error = { 0 };

    series->root = cli->args.operands[0];
    int r = walk(cli, series, &error);
    if (r == 0 && cli->args.skip_done)
        r = vrt_jobs_each(cli, VRT_JOBS_ANY, take_job, series, &error);
    return r == 0 ? VRT_EXIT_OK : vrt_cli_fail(cli, NULL, r, &error);
}

void vrt_series_done(struct vrt_series *series)
{
    for (size_t i = 0; i < series->n; i++) {
        free(series->inputs[i]);
        free(series->folders[i]);
    }
    for (size_t i = 0; i < series->n_jobs; i++)
        free(series->jobs[i].name);
    free(series->inputs);
    free(series->folders);
    free(series->jobs);
}

char *vrt_series_output(const struct vrt_series *series, size_t i, int codec)
{
    const char *slash = strrchr(series->inputs[i], '/');
    const char *name = slash ? slash + 1 : series->inputs[i], *dot = strrchr(name, '.');
    VRT_CLEANUP(vrt_freep) char *usual = vrt_file_default_output(name, NULL, "restored", 0, codec);
    const char *ending = usual ? strrchr(usual, '.') : NULL;
    char *path = NULL;

    if (!ending)
        return NULL;
    if (dot && strcasecmp(dot, ending) == 0)
        ending = "";
    return asprintf(&path, "%s/%s%s", series->folders[i], name, ending) < 0 ? NULL : path;
}

static void say(const struct vrt_cli *cli, const char *what, const char *format, ...)
    VRT_PRINTF(3, 4);

static void say(const struct vrt_cli *cli, const char *what, const char *format, ...)
{
    char text[1][VRT_API_TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text[0], sizeof(text[0]), format, arguments);
    va_end(arguments);
    vrt_cli_warn(cli, what, text, 1);
}

/* Whether this job's output has that path: the list has names only. A job that is gone has none. */
static bool writes_to(const struct vrt_cli *cli, const struct vrt_series_job *job, const char *path)
{
    struct vrt_error error = { 0 };
    struct vrt_job_info info;
    json_t *json = NULL;
    bool is_same = false;

    if (vrt_conn_get(cli->conn, &json, &error, "/v1/jobs/%" PRId64, job->id) == 0 &&
        vrt_job_info_decode(json, &info, &error) == 0) {
        is_same = strcmp(info.output_path, path) == 0;
        vrt_job_info_done(&info);
    }
    json_decref(json);
    return is_same;
}

/* Whether a result is there, and holds something. */
static bool is_made(const char *output)
{
    struct stat st;

    return stat(output, &st) == 0 &&
           (S_ISDIR(st.st_mode) ? !vrt_folder_is_empty(output) : st.st_size > 0);
}

/* The newest job that writes, or wrote, there; NULL: none. */
static const struct vrt_series_job *find_job(const struct vrt_cli *cli,
                                             const struct vrt_series *series, const char *output)
{
    char name[VRT_API_NAME_BYTES], path[VRT_API_PATH_BYTES];

    vrt_file_name(output, name, sizeof(name));
    vrt_file_absolute(output, path, sizeof(path));
    for (size_t i = series->n_jobs; i-- > 0;)
        if (strcmp(series->jobs[i].name, name) == 0 && writes_to(cli, &series->jobs[i], path))
            return &series->jobs[i];
    return NULL;
}

bool vrt_series_leaves_out(const struct vrt_cli *cli, struct vrt_series *series, const char *input,
                           const char *output)
{
    const struct vrt_series_job *job = find_job(cli, series, output);
    char name[VRT_API_NAME_BYTES];

    if (job && !(VRT_JOBS_OVER & 1U << job->state))
        series->n_underway++;
    else if (job ? job->state == VRT_JOB_DONE : is_made(output))
        series->n_done++;
    else if (job)
        say(cli, vrt_file_name(input, name, sizeof(name)), "left out, since job %" PRId64 " %s: "
            "vrtctl retry %" PRId64 " tries it again, vrtctl clean %" PRId64 " forgets it", job->id,
            job->state == VRT_JOB_FAILED ? "failed" : "was cancelled", job->id, job->id);
    else
        return false;
    return true;
}

int vrt_series_make_folder(const char *output, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) char *folder = strndup(output, (size_t)(strrchr(output, '/') - output));

    return folder ? vrt_fold(vrt_folder_make_output(folder, error)) :
           vrt_refuse_errno(error, vrt_raise(-ENOMEM), "submitting");
}

int vrt_series_say(const struct vrt_cli *cli, const struct vrt_series *series)
{
    if (series->n_unsettled)
        say(cli, NULL, "%zu of the files changed less than %" PRId64 " s ago: they are left out "
            "until they rest", series->n_unsettled, cli->args.settled_s);
    if (series->n_done || series->n_underway)
        say(cli, NULL, "of %zu videos %zu %s done and %zu %s a job: they are left out", series->n,
            series->n_done, series->n_done == 1 ? "is" : "are", series->n_underway,
            series->n_underway == 1 ? "has" : "have");
    if (!series->n && !series->n_unsettled && !series->has_failed)
        say(cli, series->root, "nothing in it, or below it, is called as %s",
            cli->args.match ? cli->args.match : "videos are; name files by --match");
    return series->has_failed ? VRT_EXIT_FAILED : VRT_EXIT_OK;
}
