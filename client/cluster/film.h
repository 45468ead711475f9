/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A film that a cluster restores, as vrtctl knows it: the folder OUTPUT.vrtd that its tasks share
 * (docs/cluster.md), in which it keeps what it submitted
 *
 *     slurm.json      struct vrt_film, but for its folder
 *     task.sh         what a node runs
 *
 *     lock            who changes something of it holds this one
 *
 * There are four batch jobs: the plan, an array whose tasks make a part each, the rest, which only
 * begins where one of these has failed, and makes what they left undone, and the join, which needs
 * no card. All have the film's tag as their comment: Slurm may lose what it has acknowledged, and
 * vrtctl may end before it has noted it.
 *
 * Several vrtctls may follow one film, on several machines. What changes its jobs holds the lock,
 * reads the record anew and then acts. Where the file system has no locks that count for all
 * machines, whoever wrote its name into the record last has submitted the jobs, and others take
 * theirs back.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "base/error.h"
#include "base/macro.h"
#include "client/cluster/slurm.h"
#include "msg_job.h"

struct vrt_args;

#define VRT_FILM_NODES_MAX 1000

/* What comments of all films' jobs begin with. */
#define VRT_FILM_TAG "vrtd:"

struct vrt_film {
    char folder[VRT_API_PATH_BYTES];
    char tag[40];
    char input[VRT_API_PATH_BYTES], output[VRT_API_PATH_BYTES];
    int64_t nodes, gpus;            /* tasks of the array; cards of each task, 0: none */
    char partition[64], account[64], time[32];      /* "": as Slurm has it */
    char slurm_url[VRT_SLURM_URL_BYTES];    /* by which Slurm is asked, as slurm.h has it */
    int64_t plan, array, rest, join;        /* Slurm's numbers; 0: not submitted */
    char submitter[80];             /* who submitted these: a text that nobody else has */
    int64_t submissions;
    bool is_cancelled;
    char excluded[512];             /* nodes, with commas between, on which tasks failed by what is
                                     * the node's own; "": none */
};

enum vrt_film_state {
    VRT_FILM_WAITING,               /* for a node */
    VRT_FILM_PLANNING,
    VRT_FILM_RESTORING,
    VRT_FILM_JOINING,
    VRT_FILM_HELD,
    VRT_FILM_LOST,                  /* Slurm has no job of it, and it isn't done */
    VRT_FILM_DONE,
    VRT_FILM_FAILED,
    VRT_FILM_CANCELLED,
    VRT_FILM_STATE_COUNT,
};

extern const char *const vrt_film_state_names[];

/* How a film stands. */
struct vrt_film_look {
    int state;                      /* enum vrt_film_state */
    int64_t frames_done, frames_total;      /* total VRT_UNKNOWN: there is no plan yet */
    int64_t segments_done, segments_total;
    int64_t tasks_running, tasks_waiting;
    char reason[64];                /* why tasks wait, in Slurm's words; "": none does */
    char error[VRT_API_TEXT_BYTES];         /* what last went wrong; "": nothing */
    bool has_comparison;
    struct vrt_compare_report comparison;   /* of the result with its reference */
    bool may_help;                  /* to submit it again: it is a matter of the node, such as its
                                     * disk, or a segment was damaged, and is removed */
};

/* Makes the folder of a film for what is asked; nothing is submitted yet. Return: 0; -EEXIST: it
 * is there already; -errno with `error`. */
int vrt_film_make(const struct vrt_args *args, const struct vrt_job_request *request,
                  struct vrt_film *ret_film, struct vrt_error *error) VRT_MUST_CHECK;

/* Opens the film whose result, or folder, is called so. Return: 0; -ENOENT, -errno with `error`. */
int vrt_film_open(const char *path, struct vrt_film *ret_film,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* Waits until nobody else changes something of the film, and reads its record anew. Return: 0,
 * *ret_fd is to be closed; -errno with `error`. */
int vrt_film_lock(struct vrt_film *film, int *ret_fd, struct vrt_error *error) VRT_MUST_CHECK;

/* Submits its jobs, and notes them; what Slurm has of it goes. Under the lock, unless the film is
 * new. Return: 0; -errno with `error`. */
int vrt_film_submit(struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;

/* How it stands. Return: 0; -errno with `error`: Slurm doesn't answer. */
int vrt_film_look(const struct vrt_film *film, struct vrt_film_look *ret_look,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* How it stands as far as its own folder tells, without a word to Slurm, which may not answer: that
 * it is held or lost is not known so, nor how many of its tasks wait (VRT_UNKNOWN). */
void vrt_film_glance(const struct vrt_film *film, struct vrt_film_look *ret_look);

/* What --json says of it, whose "kind" is "film". Return: the caller's; NULL: no memory. */
struct json_t;
struct json_t *vrt_film_report(const struct vrt_film *film, const struct vrt_film_look *look)
    VRT_MUST_CHECK;

/* Reads a file of the folder. Return: 0, *ret_json is the caller's; -ENOENT, -EINVAL, -errno with
 * `error`. */
int vrt_film_read(const char *folder, const char *name, struct json_t **ret_json,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* When it was made, since 1970. */
int64_t vrt_film_made_ns(const struct vrt_film *film);

/*
 * The index of the user's films: films/TAG in his state folder (base/folder.h) is a link to a
 * film's folder. It only says where to look: a film without an entry is as good as any.
 */

/* Return: 0; -errno with `error`. */
int vrt_film_index_add(const struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;

void vrt_film_index_drop(const struct vrt_film *film);

/* The films in it, in the order in which they were made; entries without a film go. Return: 0,
 * *ret_films is the caller's, to be freed; 1: likewise, but one can't be read, as `error` says;
 * -errno with `error`. */
int vrt_film_index_read(struct vrt_film **ret_films, size_t *ret_n,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* Ends its jobs. What was made stays, and vrt_film_submit() goes on with it. Under the lock.
 * Return: 0; -errno with `error`. */
int vrt_film_cancel(struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;

/* Does that to whatever Slurm has of it, also what was never noted. Return: 0; -errno with
 * `error`. */
int vrt_film_order(const struct vrt_film *film, enum vrt_slurm_order order,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* From now on its tasks have none of the nodes whose own fault it is that a task got nowhere. */
void vrt_film_exclude(struct vrt_film *film);

/* Forgets what tasks said, and so how often they have begun. Return: 0; -errno with `error`. */
int vrt_film_forget_notes(const struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;

/* Removes its folder, with all that was made, and its output, if that is still the empty file that
 * submitting it made. Return: 0; -errno with `error`. */
int vrt_film_remove(const struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;

/* For film*.c. */

/* Of a file of the folder. */
#define VRT_FILM_FILE_BYTES_MAX (64 << 20)

/* Its record, by its folder. Return: 0; -errno with `error`. */
int vrt_film_load(struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;
int vrt_film_save(const struct vrt_film *film, struct vrt_error *error) VRT_MUST_CHECK;

/* Appends a text as a shell's word: in its quotes nothing needs escaping but a quote. Return: 0;
 * -errno. */
struct vrt_buf;
int vrt_film_quote(const char *text, struct vrt_buf *word) VRT_MUST_CHECK;
