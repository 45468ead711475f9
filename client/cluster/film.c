/* SPDX-License-Identifier: MIT */

#include "client/cluster/film.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/io/write.h"
#include "client/cli.h"
#include "client/cluster/slurm.h"
#include "client/files.h"
#include "msg_job.h"

#define RECORD "slurm.json"
#define SUFFIX ".vrtd"

#define T struct vrt_film
static const struct vrt_field film_fields[] = {
    VRT_FIELD_TEXT(T, tag, VRT_FIELD_REQUIRED),
    VRT_FIELD_TEXT(T, input, VRT_FIELD_REQUIRED),
    VRT_FIELD_TEXT(T, output, VRT_FIELD_REQUIRED),
    VRT_FIELD_INT(T, nodes, VRT_FIELD_REQUIRED, 1, VRT_FILM_NODES_MAX),
    VRT_FIELD_INT(T, gpus, 0, 0, INT32_MAX),
    VRT_FIELD_TEXT(T, partition, 0),
    VRT_FIELD_TEXT(T, account, 0),
    VRT_FIELD_TEXT(T, time, 0),
    VRT_FIELD_INT(T, plan, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, array, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, rest, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, join, 0, 0, INT64_MAX),
    VRT_FIELD_TEXT(T, slurm_url, 0),
    VRT_FIELD_TEXT(T, submitter, 0),
    VRT_FIELD_INT(T, submissions, 0, 0, INT32_MAX),
    VRT_FIELD_BOOL(T, is_cancelled, 0),
    VRT_FIELD_TEXT(T, excluded, 0),
    VRT_FIELDS_END,
};
#undef T

/* What a node runs: parts, one after the other. A signal ends the shell's wait, but not the task,
 * which it is passed on to. SIGTERM comes where somebody cancels, or Slurm takes the node for
 * another job, which it begins anew itself if it does. SIGUSR1 comes 90 seconds before the time
 * limit, from the script itself, which asks when that is, and every ten minutes again: limits may
 * be changed, and what slurmrestd takes has no place for sbatch's --signal=B:. */
static const char task_script[] =
    "#!/bin/sh\n"
    "# A task of a film that Slurm restores: task.sh PART... Made by vrtctl; docs/cluster.md.\n"
    "vrtd=%s\n"
    "folder=%s\n"
    "ended=\n"
    "trap 'kill -TERM \"$pid\" 2>/dev/null' USR1\n"
    "trap 'ended=1; kill -TERM \"$pid\" 2>/dev/null' TERM\n"
    "warn() {\n"
    "    while kill -0 $$ 2>/dev/null; do\n"
    "        end=$(SLURM_TIME_FORMAT=%%s squeue -h -j \"$SLURM_JOB_ID\" -o %%e 2>/dev/null)\n"
    "        left=300\n"
    "        case $end in ''|*[!0-9]*) ;; *) left=$((end - 90 - $(date +%%s))) ;; esac\n"
    "        [ $left -gt 0 ] || { kill -USR1 $$; return; }\n"
    "        [ $left -lt 600 ] || left=600\n"
    "        sleep $left & sleeper=$!\n"
    "        wait $sleeper\n"
    "    done\n"
    "}\n"
    "(trap 'kill \"$sleeper\" 2>/dev/null; exit' TERM; trap - USR1; warn) &\n"
    "warner=$!\n"
    "for part; do\n"
    "    \"$vrtd\" --once \"$folder\" --part \"$part\" &\n"
    "    pid=$!\n"
    "    wait $pid; status=$?\n"
    "    while kill -0 $pid 2>/dev/null; do wait $pid; status=$?; done\n"
    "    [ $status = 0 ] || break\n"
    "done\n"
    "kill $warner 2>/dev/null\n"
    "# Not done: to be begun again, here or elsewhere. vrtd says how often.\n"
    "if [ -z \"$ended\" ] && { [ $status = 75 ] || [ $status -gt 128 ]; }; then\n"
    "    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60\n"
    "fi\n"
    "exit $status\n";

/* Joins a folder and a name in it. Return: 0; -ENAMETOOLONG. */
static int path_of(const char *folder, const char *name, char path[VRT_API_PATH_BYTES])
{
    return snprintf(path, VRT_API_PATH_BYTES, "%s/%s", folder, name) >= VRT_API_PATH_BYTES ?
           vrt_raise(-ENAMETOOLONG) : 0;
}

/* Writes a file of the folder aside, and then under its name. Return: 0; -errno with `error`. */
static int write_file(const char *folder, const char *name, const struct vrt_buf *text,
                      struct vrt_error *error)
{
    char path[VRT_API_PATH_BYTES], aside[VRT_API_PATH_BYTES + 8];
    int r = path_of(folder, name, path);

    if (r < 0)
        return vrt_refuse_errno(error, r, folder);
    snprintf(aside, sizeof(aside), "%s.new", path);
    VRT_CLEANUP(vrt_closep) int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : vrt_write_at(fd, text->data, text->size_bytes, 0);
    if (r == 0 && (fsync(fd) < 0 || rename(aside, path) < 0))
        r = -errno;
    return r < 0 ? vrt_refuse_errno(error, vrt_raise(r), path) : 0;
}

static int write_fields(const char *folder, const char *name, const struct vrt_field *fields,
                        const void *object, struct vrt_error *error)
{
    struct vrt_buf text = { .limit_bytes = VRT_FILM_FILE_BYTES_MAX };
    int r = vrt_fields_print(fields, object, &text);

    r = r < 0 ? vrt_refuse_errno(error, r, name) : write_file(folder, name, &text, error);
    vrt_buf_done(&text);
    return vrt_fold(r);
}

int vrt_film_read(const char *folder, const char *name, json_t **ret_json,
                  struct vrt_error *error)
{
    char path[VRT_API_PATH_BYTES], part[16384];
    struct vrt_buf text = { .limit_bytes = VRT_FILM_FILE_BYTES_MAX };
    ssize_t n = 0;
    int r = path_of(folder, name, path);

    if (r < 0)
        return vrt_refuse_errno(error, r, folder);
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), path);
    while (r == 0 && (n = read(fd, part, sizeof(part))) > 0)
        r = vrt_buf_append(&text, part, (size_t)n);
    if (n < 0)
        r = vrt_raise(-errno);
    if (r == 0)
        r = vrt_json_parse(text.data, text.size_bytes, ret_json, error);
    vrt_buf_done(&text);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), path) : 0;
}

int vrt_film_save(const struct vrt_film *film, struct vrt_error *error)
{
    return vrt_fold(write_fields(film->folder, RECORD, film_fields, film, error));
}

int vrt_film_quote(const char *text, struct vrt_buf *word)
{
    int r = vrt_buf_printf(word, "'");

    for (; r == 0 && *text; text++)
        r = *text == '\'' ? vrt_buf_printf(word, "'\\''") : vrt_buf_append(word, text, 1);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_buf_append(word, "'", sizeof("'")));
}

static int write_script(const struct vrt_film *film, struct vrt_error *error)
{
    struct vrt_buf text = { .limit_bytes = VRT_FILM_FILE_BYTES_MAX };
    struct vrt_buf program = { .limit_bytes = VRT_FILM_FILE_BYTES_MAX }, folder = program;
    char found[VRT_API_PATH_BYTES];

    int r = vrt_film_quote(vrt_folder_of_part("daemon/vrtd", VRT_VRTD_PROGRAM, found,
                                              sizeof(found)), &program);
    if (r == 0)
        r = vrt_film_quote(film->folder, &folder);
    if (r == 0)
        r = vrt_buf_printf(&text, task_script, program.data, folder.data);
    vrt_buf_done(&program);
    vrt_buf_done(&folder);
    r = r < 0 ? vrt_refuse_errno(error, r, "task.sh") :
        write_file(film->folder, "task.sh", &text, error);
    vrt_buf_done(&text);
    return vrt_fold(r);
}

/* What was asked, with paths in the place of open files. */
static int write_request(const struct vrt_film *film, const struct vrt_job_request *request,
                         struct vrt_error *error)
{
    struct vrt_job_request asked = *request;

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        asked.files[i].fd = VRT_UNKNOWN;
    return vrt_fold(write_fields(film->folder, "request.json", vrt_job_request_fields, &asked,
                                 error));
}

/* Takes an option that Slurm understands. Return: 0; -EINVAL with `error`. */
static int take(const char *option, const char *text, char *target, size_t size,
                struct vrt_error *error)
{
    if (!text)
        return 0;
    if (snprintf(target, size, "%s", text) >= (int)size || !text[0])
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.cluster", "--%s: expected from 1 to "
                          "%zu letters", option, size - 1);
    return 0;
}

/* Whether a device that was asked for is a card, which Slurm has to be asked for, too: any kind by
 * its name but processors. */
static bool wants_card(const char *device)
{
    static const char *const others[] = { "auto", "all", "cpu", "ref" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++)
        if (strncmp(device, others[i], strlen(others[i])) == 0)
            return false;
    return device[0];
}

static int fill(const struct vrt_args *args, const struct vrt_job_request *request,
                struct vrt_film *film, struct vrt_error *error)
{
    snprintf(film->input, sizeof(film->input), "%s", request->input.path);
    snprintf(film->output, sizeof(film->output), "%s", request->output.path);
    if (strchr(film->output, '\\'))
        return vrt_refuse(error, vrt_raise(-EINVAL), "client.cluster", "Slurm can't keep a log in "
                          "a folder with a backslash in its path: name the result otherwise");
    if (snprintf(film->folder, sizeof(film->folder), "%s" SUFFIX, film->output) >=
        (int)sizeof(film->folder))
        return vrt_refuse_errno(error, vrt_raise(-ENAMETOOLONG), film->output);
    film->nodes = args->nodes == VRT_UNKNOWN ? 1 : args->nodes;
    film->gpus = args->gpus == VRT_UNKNOWN ? wants_card(request->device) : args->gpus;
    /* No two films of one user have it. */
    snprintf(film->tag, sizeof(film->tag), VRT_FILM_TAG "%" PRIx64 ".%lx", vrt_clock_wall_ns(),
             (unsigned long)getpid());
    int r = vrt_slurm_find(args->slurm_url, film->slurm_url, error);
    if (r < 0)
        return vrt_fold(r);
    r = take("partition", args->partition, film->partition, sizeof(film->partition), error);
    if (r < 0)
        return vrt_fold(r);
    r = take("account", args->account, film->account, sizeof(film->account), error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(take("time", args->time_limit, film->time, sizeof(film->time), error));
}

int vrt_film_make(const struct vrt_args *args, const struct vrt_job_request *request,
                  struct vrt_film *ret_film, struct vrt_error *error)
{
    struct vrt_film film = { .nodes = 1 };
    char logs[VRT_API_PATH_BYTES];
    int r = fill(args, request, &film, error);

    if (r < 0)
        return vrt_fold(r);
    if (mkdir(film.folder, 0700) < 0)
        return errno == EEXIST ?
               vrt_refuse(error, vrt_raise(-EEXIST), "client.cluster", "%s is there already: see "
                          "vrtctl cluster show, or remove it by vrtctl cluster remove",
                          film.folder) :
               vrt_refuse_errno(error, vrt_raise(-errno), film.folder);
    r = path_of(film.folder, "logs", logs);
    if (r == 0 && mkdir(logs, 0700) < 0)
        r = -errno;
    if (r < 0)
        vrt_refuse_errno(error, vrt_raise(r), logs);
    if (r == 0)
        r = write_request(&film, request, error);
    if (r == 0)
        r = write_script(&film, error);
    if (r == 0)
        r = vrt_film_save(&film, error);
    if (r < 0) {
        struct vrt_error ignored = { .id = NULL };
        (void)!vrt_film_remove(&film, &ignored);
        return vrt_fold(r);
    }
    *ret_film = film;
    return 0;
}

int vrt_film_load(struct vrt_film *film, struct vrt_error *error)
{
    json_t *json = NULL;
    int r = vrt_film_read(film->folder, RECORD, &json, error);

    if (r == 0)
        r = vrt_fields_decode(film_fields, json, VRT_FIELDS_LENIENT, film, error);
    json_decref(json);
    if (r < 0)
        return vrt_fold(r);
    return strncmp(film->tag, VRT_FILM_TAG, strlen(VRT_FILM_TAG)) == 0 ? 0 :
           vrt_refuse(error, vrt_raise(-EINVAL), "client.cluster", "its tag is none");
}

int64_t vrt_film_made_ns(const struct vrt_film *film)
{
    return strtoll(film->tag + strlen(VRT_FILM_TAG), NULL, 16);
}

int vrt_film_open(const char *path, struct vrt_film *ret_film, struct vrt_error *error)
{
    struct vrt_film film = { .nodes = 1 };
    struct vrt_error why = { .id = NULL };
    char absolute[VRT_API_PATH_BYTES];
    struct stat st;
    size_t n;

    vrt_file_absolute(path, absolute, sizeof(absolute));
    for (n = strlen(absolute); n > 1 && absolute[n - 1] == '/'; n--)
        absolute[n - 1] = '\0';
    const bool is_folder = n > strlen(SUFFIX) &&
                           strcmp(absolute + n - strlen(SUFFIX), SUFFIX) == 0;
    int r = snprintf(film.folder, sizeof(film.folder), "%s%s", absolute,
                     is_folder ? "" : SUFFIX) >= (int)sizeof(film.folder) ? -ENAMETOOLONG : 0;
    /* Its record says which of our jobs are to be ended. */
    if (r == 0 && stat(film.folder, &st) == 0 && st.st_uid != geteuid())
        return vrt_refuse(error, vrt_raise(-EPERM), "client.cluster", "%s is another user's: a "
                          "film is for whoever submitted it", film.folder);
    if (r == 0)
        r = vrt_film_load(&film, &why);
    if (r == -ENOENT)
        return vrt_refuse(error, r, "client.cluster", "no cluster restores %s: there is no %s/%s",
                          path, film.folder, RECORD);
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), "client.cluster", "%s/%s can't be read: %s",
                          film.folder, RECORD, why.message);
    *ret_film = film;
    return 0;
}

int vrt_film_lock(struct vrt_film *film, int *ret_fd, struct vrt_error *error)
{
    char path[VRT_API_PATH_BYTES];
    int r = path_of(film->folder, "lock", path), fd;

    if (r < 0)
        return vrt_refuse_errno(error, r, film->folder);
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), path);
    while ((r = flock(fd, LOCK_EX)) < 0 && errno == EINTR)
        continue;
    /* There are shared disks without locks: see `submitter`. */
    if (r < 0 && errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP)
        r = vrt_refuse_errno(error, vrt_raise(-errno), path);
    else
        r = vrt_film_load(film, error);
    if (r < 0) {
        close(fd);
        return vrt_fold(r);
    }
    *ret_fd = fd;
    return 0;
}

/* Removes a folder with what is in it, so deep. Return: 0; -errno. */
static int remove_tree(int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!entries)
        return unlinkat(parent, name, 0) < 0 ? -errno : 0;
    while (r == 0 && depth > 0 && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = remove_tree(dirfd(entries), entry->d_name, depth - 1);
    closedir(entries);
    return r < 0 ? r : unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int vrt_film_forget_notes(const struct vrt_film *film, struct vrt_error *error)
{
    char path[VRT_API_PATH_BYTES];
    int r = path_of(film->folder, "tasks", path);

    if (r == 0)
        r = remove_tree(AT_FDCWD, path, 2);
    return r < 0 && r != -ENOENT ? vrt_refuse_errno(error, vrt_raise(r), path) : 0;
}

int vrt_film_remove(const struct vrt_film *film, struct vrt_error *error)
{
    /* attempts/NAME/1/00000.seg */
    int r = remove_tree(AT_FDCWD, film->folder, 5);

    if (r == 0)
        vrt_film_index_drop(film);
    /* When it was made, the empty file for its output was. */
    vrt_file_remove_placeholder(film->output,
                                vrt_film_made_ns(film));
    return r < 0 ? vrt_refuse_errno(error, vrt_raise(r), film->folder) : 0;
}
