/* SPDX-License-Identifier: MIT */

/*
 * A kept file is called by its job's number and a letter: "12i" is the input of job 12. Names are
 * short because systemd hands all of them over in one variable, which the system limits to 128 KiB:
 * past that the daemon couldn't be started any more. What is kept is therefore counted in bytes of
 * names too, and said once when no more is kept.
 *
 * Jobs are kept in the order of their numbers: new ones come last, and a search halves.
 */

#include "daemon/systemd/fd-store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/systemd/notify.h"

#define VRT_LOG_TOPIC "fd-store"

#define KEPT_MAX 20000              /* FileDescriptorStoreMax= in vrtd.service */
#define NAMES_MAX_BYTES 129000      /* with what the socket is called and the variable */
#define NAME_BYTES 24

/* What is kept for a job; perhaps nothing, until it is dropped. */
struct kept {
    int64_t job_id;
    bool is_kept[VRT_FD_STORE_ROLE_COUNT];
    int fds[VRT_FD_STORE_ROLE_COUNT]; /* handed over and not taken yet; -1: none */
};

struct vrt_fd_store {
    struct kept *jobs;              /* by job_id */
    size_t n_jobs, capacity;
    int n_files, files_max;         /* that are kept */
    size_t names_bytes;             /* of their names, each with a colon */
    bool said_full, said_failed;
};

static const char letters[VRT_FD_STORE_ROLE_COUNT] = {
    [VRT_FD_STORE_INPUT] = 'i',
    [VRT_FD_STORE_OUTPUT] = 'o',
    [VRT_FD_STORE_MODEL] = 'm',
    [VRT_FD_STORE_REFERENCE] = 'r',
};

/* Return: its length. */
static size_t print_name(char name[NAME_BYTES], int64_t job_id, enum vrt_fd_store_role role)
{
    return (size_t)snprintf(name, NAME_BYTES, "%" PRId64 "%c", job_id, letters[role]);
}

/* Only what print_name() prints is a name of ours. */
static bool parse_name(const char *name, int64_t *ret_job_id, enum vrt_fd_store_role *ret_role)
{
    char printed[NAME_BYTES];
    char *end;

    errno = 0;
    long long job_id = strtoll(name, &end, 10);
    const char *letter = *end ? memchr(letters, *end, sizeof(letters)) : NULL;
    if (errno || job_id <= 0 || !letter)
        return false;
    *ret_job_id = job_id;
    *ret_role = (enum vrt_fd_store_role)(letter - letters);
    print_name(printed, job_id, *ret_role);
    return strcmp(printed, name) == 0;
}

int vrt_fd_store_new(struct vrt_fd_store **ret_keep)
{
    struct vrt_fd_store *fd_store = calloc(1, sizeof(*fd_store));
    int max = vrt_notify_store_max();

    if (!fd_store)
        return vrt_raise(-ENOMEM);
    fd_store->files_max = max < 0 ? KEPT_MAX : VRT_MIN(max, KEPT_MAX);
    *ret_keep = fd_store;
    return 0;
}

struct vrt_fd_store *vrt_fd_store_free(struct vrt_fd_store *fd_store)
{
    if (!fd_store)
        return NULL;
    for (size_t i = 0; i < fd_store->n_jobs; i++)
        for (int role = 0; role < VRT_FD_STORE_ROLE_COUNT; role++)
            vrt_closep(&fd_store->jobs[i].fds[role]);
    free(fd_store->jobs);
    free(fd_store);
    return NULL;
}

/* Where the job is, or would be. */
static size_t place_of(const struct vrt_fd_store *fd_store, int64_t job_id)
{
    size_t low = 0, high = fd_store->n_jobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fd_store->jobs[middle].job_id < job_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct kept *find(const struct vrt_fd_store *fd_store, int64_t job_id)
{
    size_t i = place_of(fd_store, job_id);

    return i < fd_store->n_jobs && fd_store->jobs[i].job_id == job_id ? &fd_store->jobs[i] : NULL;
}

/* The job's entry, made if need be. NULL: no memory. */
static struct kept *find_or_add(struct vrt_fd_store *fd_store, int64_t job_id)
{
    size_t i = place_of(fd_store, job_id);

    if (i < fd_store->n_jobs && fd_store->jobs[i].job_id == job_id)
        return &fd_store->jobs[i];
    if (fd_store->n_jobs == fd_store->capacity) {
        size_t capacity = fd_store->capacity ? fd_store->capacity * 2 : 16;
        struct kept *jobs = realloc(fd_store->jobs, capacity * sizeof(*jobs));
        if (!jobs)
            return NULL;
        fd_store->jobs = jobs;
        fd_store->capacity = capacity;
    }
    memmove(&fd_store->jobs[i + 1], &fd_store->jobs[i],
            (fd_store->n_jobs - i) * sizeof(*fd_store->jobs));
    fd_store->n_jobs++;
    fd_store->jobs[i] = (struct kept){ .job_id = job_id };
    for (int role = 0; role < VRT_FD_STORE_ROLE_COUNT; role++)
        fd_store->jobs[i].fds[role] = -1;
    return &fd_store->jobs[i];
}

/* Says once that the service manager doesn't hear. */
static void say_failed(struct vrt_fd_store *fd_store, int r)
{
    if (r < 0 && !fd_store->said_failed)
        vrt_log_warning("systemd could not be told which files to keep (%s): after a restart jobs "
                        "may need their files again", strerror(-r));
    fd_store->said_failed |= r < 0;
}

static void count(struct vrt_fd_store *fd_store, struct kept *job, enum vrt_fd_store_role role,
                  bool is_kept)
{
    char name[NAME_BYTES];
    size_t bytes = print_name(name, job->job_id, role) + 1;

    if (job->is_kept[role] == is_kept)
        return;
    job->is_kept[role] = is_kept;
    fd_store->n_files += is_kept ? 1 : -1;
    fd_store->names_bytes = is_kept ? fd_store->names_bytes + bytes : fd_store->names_bytes - bytes;
}

/* Forgets one file of a job, and has it forgotten. */
static void forget(struct vrt_fd_store *fd_store, struct kept *job, enum vrt_fd_store_role role)
{
    char name[NAME_BYTES];

    if (!job->is_kept[role])
        return;
    print_name(name, job->job_id, role);
    say_failed(fd_store, vrt_notify_unstore(name));
    count(fd_store, job, role, false);
    vrt_closep(&job->fds[role]);
    job->fds[role] = -1;
}

/* Whether a descriptor is open for what its role needs. */
static bool fits_role(int fd, enum vrt_fd_store_role role)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    int unfit = role == VRT_FD_STORE_OUTPUT ? O_RDONLY : O_WRONLY;

    return flags >= 0 && (flags & O_ACCMODE) != unfit && fstat(fd, &st) == 0;
}

void vrt_fd_store_adopt(void *ctx, const char *name, int fd)
{
    VRT_CLEANUP(vrt_closep) int file_fd = fd;
    struct vrt_fd_store *fd_store = ctx;
    enum vrt_fd_store_role role;
    char shown[64];
    int64_t job_id;

    bool ours = parse_name(name, &job_id, &role) && fits_role(fd, role);
    struct kept *job = ours ? find_or_add(fd_store, job_id) : NULL;
    if (!job) {
        vrt_log_info("systemd had kept a file called %s, which no job can have: closed",
                     vrt_printable(name, shown, sizeof(shown)));
        say_failed(fd_store, vrt_notify_unstore(name));
        return;
    }
    /* Two of one name: the later one counts, as it does where put() replaces it. */
    vrt_closep(&job->fds[role]);
    job->fds[role] = VRT_STEAL_FD(file_fd);
    count(fd_store, job, role, true);
}

void vrt_fd_store_put(struct vrt_fd_store *fd_store, int64_t job_id, enum vrt_fd_store_role role,
                      int fd)
{
    struct kept *job = find(fd_store, job_id);
    char name[NAME_BYTES];
    size_t bytes = print_name(name, job_id, role) + 1;

    if (job)
        forget(fd_store, job, role);
    if (fd_store->n_files >= fd_store->files_max ||
        fd_store->names_bytes + bytes > NAMES_MAX_BYTES) {
        if (!fd_store->said_full)
            vrt_log_warning("systemd keeps %d files of jobs, which is all it can: after a restart "
                            "further jobs need theirs again", fd_store->n_files);
        fd_store->said_full = true;
        return;
    }
    job = find_or_add(fd_store, job_id);
    int r = job ? vrt_notify_store(name, fd) : -ENOMEM;
    say_failed(fd_store, r);
    if (r == 0)
        count(fd_store, job, role, true);
}

void vrt_fd_store_drop(struct vrt_fd_store *fd_store, int64_t job_id)
{
    struct kept *job = find(fd_store, job_id);

    if (!job)
        return;
    for (int role = 0; role < VRT_FD_STORE_ROLE_COUNT; role++)
        forget(fd_store, job, (enum vrt_fd_store_role)role);
    size_t n_after = (size_t)(&fd_store->jobs[fd_store->n_jobs] - (job + 1));
    memmove(job, job + 1, n_after * sizeof(*job));
    fd_store->n_jobs--;
}

int vrt_fd_store_take(struct vrt_fd_store *fd_store, int64_t job_id, enum vrt_fd_store_role role)
{
    struct kept *job = find(fd_store, job_id);

    return job && job->fds[role] >= 0 ? VRT_STEAL_FD(job->fds[role]) : -ENOENT;
}

void vrt_fd_store_sweep(struct vrt_fd_store *fd_store)
{
    for (size_t i = 0; i < fd_store->n_jobs; i++)
        for (int role = 0; role < VRT_FD_STORE_ROLE_COUNT; role++)
            if (fd_store->jobs[i].fds[role] >= 0)
                forget(fd_store, &fd_store->jobs[i], (enum vrt_fd_store_role)role);
}
