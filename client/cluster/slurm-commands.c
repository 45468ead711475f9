/* SPDX-License-Identifier: MIT */

/* Slurm's own commands. Their output is asked for field by field: what they print as JSON is
 * another in each of Slurm's versions, and of the jobs of all users. */

#include "client/cluster/slurm-impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "client/program.h"

#define ARGUMENTS_MAX 40
#define OUTPUT_BYTES_MAX (64 << 20)

extern char **environ;

/* A command line; its texts but the first are its own. */
struct command {
    char *argv[ARGUMENTS_MAX + 1];
    int n;
    bool is_out;                    /* of memory */
};

/* Of the environment, what would make of these commands something else than is asked for: jobs
 * that aren't shown, arrays, cards and waiting that nobody wants. What says where jobs run, and who
 * pays for it, is the user's to set. */
static bool is_dropped(const char *variable)
{
    static const char *const beginnings[] = { "SQUEUE_", "SCANCEL_", "SBATCH_" };
    static const char *const kept[] = {
        "SBATCH_ACCOUNT=", "SBATCH_CONSTRAINT=", "SBATCH_MEM_PER_CPU=", "SBATCH_MEM_PER_NODE=",
        "SBATCH_PARTITION=", "SBATCH_QOS=", "SBATCH_RESERVATION=", "SBATCH_TIMELIMIT=",
        "SBATCH_WCKEY=",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(kept); i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return false;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(beginnings); i++)
        if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* What commands see of it. Return: ended by NULL, the caller's to be freed, its texts aren't; NULL:
 * no memory. */
static char **copy_environment(void)
{
    size_t n = 0, k = 0;

    while (environ[n])
        n++;
    char **kept = calloc(n + 1, sizeof(*kept));
    for (size_t i = 0; kept && i < n; i++)
        if (!is_dropped(environ[i]))
            kept[k++] = environ[i];
    return kept;
}

static void command_done(struct command *command)
{
    for (int i = 1; i < command->n; i++)
        free(command->argv[i]);
}

static void command_add(struct command *command, const char *format, ...) VRT_PRINTF(2, 3);

static void command_add(struct command *command, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (command->n == ARGUMENTS_MAX || vasprintf(&text, format, arguments) < 0)
        command->is_out = true;
    else
        command->argv[command->n++] = text;
    va_end(arguments);
}

/* The last line that says something, without the program's name before it. */
static const char *sentence_of(struct vrt_buf *text, char *line, int size)
{
    char *saved = NULL, *last = NULL;

    if (vrt_buf_append(text, "", 1) < 0)
        return "";
    for (char *at = strtok_r(text->data, "\n", &saved); at; at = strtok_r(NULL, "\n", &saved))
        last = at;
    const char *colon = last ? strstr(last, "error: ") : NULL;
    return vrt_printable(colon ? colon + strlen("error: ") : last ? last : "it doesn't say why",
                         line, size);
}

/* Runs it. Return: 0, `out` is what it wrote, ended by a NUL byte; -ENOENT, -errno with `error`. */
static int run(struct command *command, const char *input, struct vrt_buf *out,
               struct vrt_error *error)
{
    struct vrt_buf said = { .limit_bytes = OUTPUT_BYTES_MAX };
    struct vrt_error why = { .id = NULL };
    char line[300];

    VRT_CLEANUP(vrt_freep) char **environment = copy_environment();
    int r = command->is_out || !environment ?
            vrt_refuse_errno(error, vrt_raise(-ENOMEM), command->argv[0]) :
            vrt_program_run(&(struct vrt_program){ command->argv, environment, input }, out, &said,
                            &why);
    if (r == -ENOENT)
        r = vrt_refuse(error, r, "client.slurm", "there is no %s here: --cluster needs Slurm "
                       "(Debian's slurm-client) and a cluster that it leads to", command->argv[0]);
    else if (r < 0)
        r = vrt_refuse(error, r, "client.slurm", "%s", why.message);
    else if (r > 0)
        r = vrt_refuse(error, vrt_raise(-EIO), "client.slurm", "%s: %s", command->argv[0],
                       sentence_of(&said, line, sizeof(line)));
    else
        r = vrt_buf_append(out, "", 1);
    vrt_buf_done(&said);
    command_done(command);
    return r;
}

static void add_wants(struct command *command, const struct vrt_slurm_wants *wants)
{
    if (wants->partition)
        command_add(command, "--partition=%s", wants->partition);
    if (wants->account)
        command_add(command, "--account=%s", wants->account);
    if (wants->time)
        command_add(command, "--time=%s", wants->time);
    if (wants->excluded)
        command_add(command, "--exclude=%s", wants->excluded);
    if (wants->gpus)
        command_add(command, "--gpus-per-node=%" PRId64, wants->gpus);
    if (wants->whole_node)
        command_add(command, "--exclusive");
}

static int submit(const char *url, const struct vrt_slurm_batch *batch, int64_t *ret_id,
                  struct vrt_error *error)
{
    struct vrt_buf path = { .limit_bytes = OUTPUT_BYTES_MAX };
    struct command command = { .argv = { "sbatch" }, .n = 1 };
    struct vrt_buf out = { .limit_bytes = OUTPUT_BYTES_MAX };

    (void)url;
    command_add(&command, "--parsable");
    command_add(&command, "--requeue");
    command_add(&command, "--open-mode=append");
    command_add(&command, "--nodes=1");
    command_add(&command, "--ntasks=1");
    command_add(&command, "--job-name=%s", batch->name);
    command_add(&command, "--comment=%s", batch->comment);
    command_add(&command, "--chdir=%s", batch->folder);
    if (vrt_slurm_output(batch, &path) == 0)
        command_add(&command, "--output=%s", path.data);
    else
        command.is_out = true;
    vrt_buf_done(&path);
    add_wants(&command, &batch->wants);
    if (batch->array)
        command_add(&command, "--array=%s", batch->array);
    if (batch->dependency) {
        command_add(&command, "--dependency=%s", batch->dependency);
        command_add(&command, "--kill-on-invalid-dep=yes");
    }
    int r = run(&command, batch->script, &out, error);
    const int64_t id = r == 0 ? strtoll(out.data, NULL, 10) : 0;
    vrt_buf_done(&out);
    if (r < 0)
        return vrt_fold(r);
    if (id <= 0)
        return vrt_refuse(error, vrt_raise(-EPROTO), "client.slurm", "sbatch's answer names no "
                          "job");
    *ret_id = id;
    return 0;
}

/* Reads a line of squeue. Return: whether it is one of those. */
static bool read_line(char *line, const char *comment, struct vrt_slurm_job *job)
{
    char *fields[6];
    size_t n = 0;

    while (n < VRT_ARRAY_SIZE(fields) && line) {
        char *end = n + 1 < VRT_ARRAY_SIZE(fields) ? strchr(line, '|') : NULL;
        if (end)
            *end++ = '\0';
        fields[n++] = line;
        line = end;
    }
    if (n < VRT_ARRAY_SIZE(fields) || strncmp(fields[4], comment, strlen(comment)) != 0)
        return false;
    *job = (struct vrt_slurm_job){
        .id = strtoll(fields[0], NULL, 10),
        .batch = strtoll(fields[1], NULL, 10),
    };
    vrt_slurm_take_word(fields[2], job->state, sizeof(job->state));
    vrt_slurm_take_word(fields[3], job->reason, sizeof(job->reason));
    snprintf(job->comment, sizeof(job->comment), "%s", fields[4]);
    snprintf(job->folder, sizeof(job->folder), "%s", fields[5]);
    return true;
}

static int list(const char *url, const char *comment, struct vrt_slurm_job **ret_jobs,
                size_t *ret_n, struct vrt_error *error)
{
    struct command command = { .argv = { "squeue" }, .n = 1 };
    struct vrt_buf out = { .limit_bytes = OUTPUT_BYTES_MAX };
    struct vrt_slurm_job *jobs = NULL, job;
    size_t n = 0;
    char *saved = NULL;

    (void)url;
    command_add(&command, "--me");
    command_add(&command, "--noheader");
    command_add(&command, "--array");
    command_add(&command, "--format=%%A|%%F|%%T|%%r|%%k|%%Z");
    int r = run(&command, NULL, &out, error);
    char *line = r == 0 ? strtok_r(out.data, "\n", &saved) : NULL;
    for (; line && r == 0; line = strtok_r(NULL, "\n", &saved))
        if (read_line(line, comment, &job) && vrt_slurm_add(&jobs, &n, &job) < 0)
            r = vrt_refuse_errno(error, vrt_raise(-ENOMEM), "squeue's answer");
    vrt_buf_done(&out);
    if (r < 0) {
        free(jobs);
        return vrt_fold(r);
    }
    *ret_jobs = jobs;
    *ret_n = n;
    return 0;
}

static int order(const char *url, int64_t id, enum vrt_slurm_order what, struct vrt_error *error)
{
    static const struct {
        const char *program, *word;
    } orders[] = {
        [VRT_SLURM_CANCEL] = { "scancel", "--quiet" },
        [VRT_SLURM_HOLD] = { "scontrol", "hold" },
        [VRT_SLURM_RELEASE] = { "scontrol", "release" },
    };
    struct command command = { .argv = { (char *)orders[what].program }, .n = 1 };
    struct vrt_buf out = { .limit_bytes = OUTPUT_BYTES_MAX };

    (void)url;
    command_add(&command, "%s", orders[what].word);
    command_add(&command, "%" PRId64, id);
    int r = run(&command, NULL, &out, error);
    vrt_buf_done(&out);
    return vrt_fold(r);
}

const struct vrt_slurm_ops vrt_slurm_by_commands = {
    .submit = submit,
    .list   = list,
    .order  = order,
};
