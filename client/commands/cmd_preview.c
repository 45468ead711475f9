/* SPDX-License-Identifier: MIT */
/*
 * vrtctl preview: before and after, side by side in a PNG. The user's own rights open the job's
 * files again, where they were when it was submitted; the daemon decodes them and writes the
 * picture.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/commands/jobs.h"
#include "client/conn.h"
#include "client/files.h"
#include "msg_preview.h"

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "at", 0, VRT_OPTION_TIME, offsetof(A, time_s), 0, VRT_API_TIME_MAX_S, .argument = "TIME",
      .help = "of the result: seconds, or 1:30 (default: its middle)" },
    { "output", 'o', VRT_OPTION_TEXT, offsetof(A, output), .argument = "FILE",
      .help = "the picture (default: beside the result, as .png)" },
    { "overwrite", 0, VRT_OPTION_FLAG, offsetof(A, overwrite), .help = "replace the picture" },
    { .name = NULL },
};
#undef A

enum {
    BEFORE,
    AFTER,
    PICTURE,
    N_FILES,
};

/* "film.part.mkv" as "film.part.png". Return: to free; NULL: no memory. */
static char *name_picture(const char *result)
{
    const char *slash = strrchr(result, '/'), *dot = strrchr(result, '.');
    const bool has_ending = dot && (!slash || dot > slash);
    char *path;

    return asprintf(&path, "%.*s.png", has_ending ? (int)(dot - result) : -1, result) < 0 ?
           NULL : path;
}

/* Only a job that is done has a result to look at, and only one of the user's own has paths. */
static int check_job(const struct vrt_job_info *job, struct vrt_error *error)
{
    if (job->state != VRT_JOB_DONE)
        return vrt_refuse(error, vrt_raise(-EAGAIN), "client.preview",
                          "job %" PRId64 " is %s: a preview is of a job that is done", job->id,
                          vrt_name_of(vrt_job_state_names, job->state));
    if (job->input_path[0] != '/' || job->output_path[0] != '/')
        return vrt_refuse(error, vrt_raise(-ENOENT), "client.preview",
                          "vrtd doesn't know where %s of job %" PRId64 " is",
                          job->input_path[0] != '/' ? "the input" : "the result", job->id);
    return 0;
}

static int open_files(const struct vrt_cli *cli, const struct vrt_job_info *job,
                      const char *picture, struct vrt_file *files, struct vrt_error *error)
{
    int r = vrt_file_open_input(job->input_path, &files[BEFORE], error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_file_open_input(job->output_path, &files[AFTER], error);
    if (r < 0)
        return vrt_fold(r);
    if (!cli->args.overwrite)
        return vrt_fold(vrt_file_open_output(picture, false, &files[BEFORE], &files[PICTURE],
                                             error));
    /* The result holds something, so only then it could be taken for the picture. */
    r = vrt_file_check_output(picture, true, &files[AFTER], error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_file_open_output(picture, true, &files[BEFORE], &files[PICTURE], error));
}

/* Asks for the picture. Return: 0; VRT_CONN_E_*. */
static int ask(struct vrt_cli *cli, const struct vrt_job_info *job, const char *picture,
               const struct vrt_file *files, json_t **ret_json, struct vrt_error *error)
{
    struct vrt_preview_request q = {
        .before.fd = BEFORE,
        .after.fd = AFTER,
        .picture.fd = PICTURE,
        .start_s = job->video.start_s,
        .time_s = cli->args.time_s,
    };
    const int fds[N_FILES] = { files[BEFORE].fd, files[AFTER].fd, files[PICTURE].fd };

    snprintf(q.streams, sizeof(q.streams), "%s", job->recipe.streams);
    vrt_file_name(job->input_path, q.before.name, sizeof(q.before.name));
    vrt_file_name(job->output_path, q.after.name, sizeof(q.after.name));
    vrt_file_name(picture, q.picture.name, sizeof(q.picture.name));
    return vrt_fold(vrt_conn_post(cli->conn, &(struct vrt_request){
        .path = "/v1/preview",
        .fds = fds,
        .n_fds = N_FILES,
        .takes_long = true,
    }, vrt_preview_request_fields, &q, ret_json, error));
}

static int print_answer(const struct vrt_cli *cli, const json_t *json, const char *picture,
                        struct vrt_error *error)
{
    struct vrt_preview_report report = { 0 };
    char path[VRT_API_PATH_BYTES];

    if (cli->args.json)
        return vrt_cli_print_json(json);
    if (vrt_fields_decode(vrt_preview_fields, json, VRT_FIELDS_LENIENT, &report, error) < 0)
        return vrt_cli_fail(cli, NULL, VRT_CONN_E_BROKEN, error);
    printf("%s: before and after at %.2f s, %" PRId64 "x%" PRId64 "\n",
           vrt_printable(picture, path, sizeof(path)), report.time_s, report.width,
           report.height);
    return VRT_EXIT_OK;
}

/* Of a job that is done. Return: enum vrt_exit. */
static int save(struct vrt_cli *cli, const struct vrt_job_info *job, const char *path)
{
    struct vrt_file files[N_FILES] = { VRT_FILE_NONE, VRT_FILE_NONE, VRT_FILE_NONE };
    VRT_CLEANUP(vrt_freep) char *named = path ? strdup(path) : name_picture(job->output_path);
    struct vrt_error error = { 0 };
    json_t *json = NULL;

    int r = named ? check_job(job, &error) : vrt_refuse_errno(&error, -ENOMEM, "the picture");
    if (r == 0)
        r = open_files(cli, job, named, files, &error);
    if (r == 0)
        r = ask(cli, job, named, files, &json, &error);
    for (int i = 0; i < N_FILES; i++)
        vrt_file_close(&files[i]);
    if (r != 0 && named)
        vrt_file_remove_created(named, &files[PICTURE]);
    int exit = r != 0 ? vrt_cli_fail(cli, NULL, r, &error) :
               print_answer(cli, json, named, &error);
    json_decref(json);
    return exit;
}

int vrt_jobs_check_preview(const struct vrt_cli *cli, const char *output, struct vrt_error *error)
{
    const struct vrt_file none = VRT_FILE_NONE;
    VRT_CLEANUP(vrt_freep) char *picture = name_picture(output);
    char name[VRT_API_PATH_BYTES];

    if (!picture)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the picture");
    if (cli->args.overwrite || access(picture, F_OK) < 0)
        return vrt_fold(vrt_file_check_output(picture, cli->args.overwrite, &none, error));
    return vrt_refuse(error, vrt_raise(-EEXIST), "client.preview",
                      "%s: the picture of --preview exists; replace it with --overwrite, or make "
                      "it later: vrtctl preview -o FILE ID",
                      vrt_printable(picture, name, sizeof(name)));
}

int vrt_jobs_preview(struct vrt_cli *cli, long long id, const char *path)
{
    struct vrt_job_info job;
    struct vrt_error error = { 0 };

    int r = vrt_conn_get_job(cli->conn, id, &job, NULL, &error);
    if (r != 0)
        return vrt_cli_fail(cli, NULL, r, &error);
    int exit = save(cli, &job, path);
    vrt_job_info_done(&job);
    return exit;
}

static int run(struct vrt_cli *cli)
{
    long long id = vrt_cli_job_id(cli, 0);

    return id ? vrt_jobs_preview(cli, id, cli->args.output) : VRT_EXIT_USAGE;
}

const struct vrt_command vrt_command_preview = {
    .name = "preview",
    .operands = "ID",
    .summary = "make a picture of before and after",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
