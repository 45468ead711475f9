/* SPDX-License-Identifier: MIT */

/* The index of a user's films, and what vrtctl list shows by it. Slurm is never asked here: where
 * slurmctld is gone, its commands may take minutes to say so. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/folder.h"
#include "base/io/write.h"
#include "client/cli.h"
#include "client/cluster/cluster.h"
#include "client/cluster/film.h"
#include "client/folders.h"
#include "client/terminal/format.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"

/* Return: 0; -ENOENT: nobody says where; -ENAMETOOLONG. */
static int find_index(char path[VRT_API_PATH_BYTES])
{
    static const char name[] = "/films";
    int r = vrt_folder_of_state(path, VRT_API_PATH_BYTES - sizeof(name));

    if (r < 0)
        return vrt_raise(r);
    memcpy(path + strlen(path), name, sizeof(name));
    return 0;
}

/* Where the entry of that name is. Return: likewise; -EINVAL: none is called so. */
static int find_entry(const char *name, char path[VRT_API_PATH_BYTES])
{
    char folder[VRT_API_PATH_BYTES];
    int r = strchr(name, '/') ? vrt_raise(-EINVAL) : find_index(folder);

    if (r < 0)
        return vrt_fold(r);
    return snprintf(path, VRT_API_PATH_BYTES, "%s/%s", folder, name) >= VRT_API_PATH_BYTES ?
           vrt_raise(-ENAMETOOLONG) : 0;
}

int vrt_film_index_add(const struct vrt_film *film, struct vrt_error *error)
{
    char folder[VRT_API_PATH_BYTES], path[VRT_API_PATH_BYTES];
    int r = find_index(folder);

    if (r == 0)
        r = find_entry(film->tag, path);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the folder of the user's state");
    r = vrt_folder_make(folder, 0700, 0700);
    if (r < 0)
        return vrt_refuse_errno(error, r, folder);
    return symlink(film->folder, path) < 0 ? vrt_refuse_errno(error, vrt_raise(-errno), path) : 0;
}

void vrt_film_index_drop(const struct vrt_film *film)
{
    char path[VRT_API_PATH_BYTES];

    if (find_entry(film->tag, path) == 0)
        unlink(path);
}

/* Opens the film that an entry leads to; one that leads to none, or to another film by now, goes.
 * Return: 0; -ENOENT: it is gone; -errno with `error`. */
static int open_entry(const char *name, struct vrt_film *ret_film, struct vrt_error *error)
{
    char path[VRT_API_PATH_BYTES], folder[VRT_API_PATH_BYTES];
    int r = find_entry(name, path);

    if (r < 0)
        return vrt_refuse_errno(error, r, name);
    const ssize_t n = readlink(path, folder, sizeof(folder) - 1);
    if (n < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), path);
    folder[n] = '\0';
    r = vrt_film_open(folder, ret_film, error);
    if (r == 0 && strcmp(ret_film->tag, name) != 0)
        r = -ENOENT;
    if (r == -ENOENT)
        unlink(path);
    return vrt_fold(r);
}

static int is_film(const struct dirent *entry)
{
    return strncmp(entry->d_name, VRT_FILM_TAG, strlen(VRT_FILM_TAG)) == 0;
}

int vrt_film_index_read(struct vrt_film **ret_films, size_t *ret_n, struct vrt_error *error)
{
    char folder[VRT_API_PATH_BYTES];
    struct dirent **entries = NULL;
    size_t n = 0;
    int has_error = 0;

    *ret_films = NULL;
    *ret_n = 0;
    if (find_index(folder) < 0)
        return 0;
    /* Tags begin with the time, so this is the order in which they were made. */
    const int n_entries = scandir(folder, &entries, is_film, alphasort);
    if (n_entries < 0)
        return errno == ENOENT ? 0 : vrt_refuse_errno(error, vrt_raise(-errno), folder);
    struct vrt_film *films = calloc((size_t)n_entries + 1, sizeof(*films));
    for (int i = 0; i < n_entries; i++) {
        struct vrt_error why = { .id = NULL };
        const int r = films ? open_entry(entries[i]->d_name, &films[n], &why) : 0;
        n += r == 0;
        if (r < 0 && r != -ENOENT) {
            *error = why;
            has_error = 1;
        }
        free(entries[i]);
    }
    free(entries);
    if (!films)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "listing films");
    *ret_films = films;
    *ret_n = n;
    return has_error;
}

static const struct vrt_column columns[] = {
    { "STATE", VRT_ALIGN_LEFT },
    { "DONE", VRT_ALIGN_RIGHT, .rank = 1 },
    { "SEGMENTS", VRT_ALIGN_RIGHT, .rank = 2 },
    { "SUBMITTED", VRT_ALIGN_LEFT, .rank = 3 },
    { "FILM", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

/* The states of jobs that those of films are to --state. */
static const int job_states[] = {
    [VRT_FILM_WAITING] = VRT_JOB_QUEUED,
    [VRT_FILM_PLANNING] = VRT_JOB_RUNNING,
    [VRT_FILM_RESTORING] = VRT_JOB_RUNNING,
    [VRT_FILM_JOINING] = VRT_JOB_FINISHING,
    [VRT_FILM_HELD] = VRT_JOB_PAUSED,
    [VRT_FILM_LOST] = VRT_JOB_FAILED,
    [VRT_FILM_DONE] = VRT_JOB_DONE,
    [VRT_FILM_FAILED] = VRT_JOB_FAILED,
    [VRT_FILM_CANCELLED] = VRT_JOB_CANCELLED,
};

static int add_row(struct vrt_table *table, const struct vrt_film *film,
                   const struct vrt_film_look *look)
{
    char done[16], segments[64] = "-", date[32], output[VRT_API_PATH_BYTES];
    char error[VRT_API_TEXT_BYTES], text[sizeof(output) + sizeof(error)];

    if (look->segments_total != VRT_UNKNOWN)
        snprintf(segments, sizeof(segments), "%" PRId64 "/%" PRId64, look->segments_done,
                 look->segments_total);
    snprintf(text, sizeof(text), "%s%s%s", vrt_printable(film->output, output, sizeof(output)),
             look->error[0] ? ": " : "", vrt_printable(look->error, error, sizeof(error)));
    const char *const cells[] = {
        vrt_film_state_names[look->state],
        vrt_format_percent((double)look->frames_done, (double)look->frames_total, done,
                           sizeof(done)),
        segments,
        vrt_format_time(vrt_film_made_ns(film), date, sizeof(date)),
        text,
    };

    return vrt_table_add(table, cells);
}

/* Prints it at once, with --json, or adds its row. Return: 0; -errno. */
static int take(const struct vrt_cli *cli, struct vrt_table *table, const struct vrt_film *film,
                const struct vrt_film_look *look)
{
    if (!cli->args.json)
        return vrt_fold(add_row(table, film, look));
    json_t *json = vrt_film_report(film, look);
    const bool is_printed = json && vrt_cli_print_json(json) == VRT_EXIT_OK;
    json_decref(json);
    return is_printed ? 0 : vrt_raise(-ENOMEM);
}

bool vrt_cluster_list(const struct vrt_cli *cli, unsigned states, bool is_below)
{
    VRT_CLEANUP(vrt_freep) struct vrt_film *films = NULL;
    struct vrt_error error = { .id = NULL };
    struct vrt_table table;
    bool any = false;
    size_t n = 0;
    int r = vrt_film_index_read(&films, &n, &error);

    if (r != 0)
        vrt_cli_complain(cli, NULL, &error);
    vrt_table_init(&table, columns);
    r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct vrt_film *film = &films[cli->args.reverse ? n - 1 - i : i];
        struct vrt_film_look look;
        vrt_film_glance(film, &look);
        if (!(states & 1U << job_states[look.state]))
            continue;
        r = take(cli, &table, film, &look);
        any = true;
    }
    if (r == 0 && any && !cli->args.json) {
        printf("%s", is_below ? "\n" : "");
        r = vrt_screen_print_table(&table);
    }
    vrt_table_done(&table);
    if (r < 0) {
        vrt_refuse_errno(&error, r, "listing films");
        vrt_cli_complain(cli, NULL, &error);
    }
    return any;
}
