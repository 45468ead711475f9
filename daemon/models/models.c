/* SPDX-License-Identifier: MIT */

/*
 * What was read is kept by the file's identity, not by its name: a checkpoint that was replaced or
 * written to is another one, and a file that several names or descriptors lead to is read once.
 *
 * Two things are kept of a file, for unlike times. The network, which is large, is there for
 * VRT_MODELS_KEPT files; jobs have references of their own, so that giving one up here
 * frees nothing that is in use. The report is small and stays longer: a list of
 * models shall not read every file of the folder each time. That a file holds no model is known by
 * a report without a network, and isn't found out again either.
 *
 * One lock for everything, held while a file is read. Only threads of libuv's pool wait for it,
 * never the loop.
 */

#include "daemon/models/models.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "base/log.h"
#include "base/thread.h"
#include "engine/checkpoint.h"
#include "models/builtin.h"

#define VRT_LOG_TOPIC "models"

#define LISTED_MAX 1000         /* files of the folder; more are not looked at */

/* Which file it was: the same identity is the same content. The time of change is there because
 * that of modification can be set back by the file's owner. */
struct identity {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
    const struct vrt_builtin_model *builtin;    /* instead of a file */
};

/* What is known of a file that was read. */
struct entry {
    struct identity identity;
    struct vrt_network *network;    /* NULL: no longer kept, or the file holds none */
    struct vrt_model_report report; /* as far as the content goes */
    unsigned used;                  /* when it last was, in turns */
};

/* A model's name; those that were the default's before it live on, for whoever still reads one. */
struct name {
    struct name *former;
    char text[];
};

struct vrt_models {
    char *folder;                   /* immutable */
    pthread_mutex_t name_lock;      /* never held while anything is waited for */
    struct name *default_name;      /* under name_lock */
    pthread_mutex_t lock;           /* held while a file is read: reading two would help nobody */
    struct entry *entries;          /* under lock, like all that follows */
    size_t n_entries, capacity;
    unsigned turn;
};

/* In the order in which a name without ending is tried. */
static const char *const endings[] = { ".safetensors", ".pth" };

int vrt_models_new(const char *folder, const char *default_name, struct vrt_models **ret_models)
{
    VRT_CLEANUP(vrt_models_freep) struct vrt_models *models = calloc(1, sizeof(*models));

    if (!models)
        return vrt_raise(-ENOMEM);
    pthread_mutex_init(&models->lock, NULL);
    pthread_mutex_init(&models->name_lock, NULL);
    models->folder = strdup(folder);
    int r = models->folder ? vrt_models_set_default(models, default_name) : vrt_raise(-ENOMEM);
    if (r < 0)
        return vrt_fold(r);
    *ret_models = VRT_STEAL(models);
    return 0;
}

struct vrt_models *vrt_models_free(struct vrt_models *models)
{
    if (!models)
        return NULL;
    for (size_t i = 0; i < models->n_entries; i++)
        vrt_network_unref(models->entries[i].network);
    free(models->entries);
    free(models->folder);
    for (struct name *name = models->default_name, *former; name; name = former) {
        former = name->former;
        free(name);
    }
    pthread_mutex_destroy(&models->name_lock);
    pthread_mutex_destroy(&models->lock);
    free(models);
    return NULL;
}

int vrt_models_set_default(struct vrt_models *models, const char *name)
{
    const struct vrt_builtin_model *first = vrt_builtin_model_at(0);
    const char *text = name[0] ? name : first ? first->name : "";

    if (models->default_name && strcmp(vrt_models_default(models), text) == 0)
        return 0;
    struct name *made = malloc(sizeof(*made) + strlen(text) + 1);
    if (!made)
        return vrt_raise(-ENOMEM);
    memcpy(made->text, text, strlen(text) + 1);
    pthread_mutex_lock(&models->name_lock);
    made->former = models->default_name;
    models->default_name = made;
    pthread_mutex_unlock(&models->name_lock);
    return 0;
}

const char *vrt_models_default(struct vrt_models *models)
{
    pthread_mutex_lock(&models->name_lock);
    const char *text = models->default_name->text;
    pthread_mutex_unlock(&models->name_lock);
    return text;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
    return a->builtin == b->builtin && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && is_same_time(&a->modified, &b->modified) &&
           is_same_time(&a->changed, &b->changed);
}

/* What is kept of a file is for those alone who could read it themselves: a descriptor that was
 * opened as a path, or for writing, is no proof of that. */
static int identify(int fd, const char *name, struct identity *ret_identity,
                    struct vrt_error *error)
{
    char shown[VRT_API_NAME_BYTES], byte;
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, &byte, 1, 0) < 0)
        return vrt_refuse(error, vrt_raise(-EACCES), VRT_E(MODEL_INVALID),
                          "the model %s can't be read by the descriptor that came with it: open it "
                          "for reading", vrt_printable(name, shown, sizeof(shown)));
    if (fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "looking at a model");
    if (!S_ISREG(st.st_mode))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(MODEL_INVALID),
                          "the model %s is not a file but a folder or device",
                          vrt_printable(name, shown, sizeof(shown)));
    *ret_identity = (struct identity){
        .device = st.st_dev,
        .inode = st.st_ino,
        .size = st.st_size,
        .modified = st.st_mtim,
        .changed = st.st_ctim,
    };
    return 0;
}

static void describe(const struct vrt_network *network, struct vrt_model_report *report)
{
    const struct vrt_network_info *info = vrt_network_info(network);

    snprintf(report->architecture, sizeof(report->architecture), "%s", info->architecture);
    snprintf(report->checksum, sizeof(report->checksum), "%016" PRIx64,
             vrt_network_checksum(network));
    report->scale = info->scale;
    report->parameters = info->n_parameters;
}

/* Reads a file or a built-in model. */
static int load(const struct identity *identity, int fd, const char *name,
                struct vrt_network **ret_network, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    const struct vrt_builtin_model *builtin = identity->builtin;

    if (!builtin)
        return vrt_fold(vrt_network_read(fd, name, ret_network, error));
    int r = vrt_checkpoint_open_memory(builtin->data, builtin->size_bytes, name, &checkpoint,
                                       error);
    if (r != 0)
        return vrt_fold(r);
    return vrt_fold(vrt_network_new(checkpoint, name, ret_network, error));
}

/* Drops the network that was not used for the longest time, where more than enough are kept. Ages
 * are compared, not turns, so that the count of turns may begin anew. */
static void trim(struct vrt_models *models)
{
    for (;;) {
        struct entry *oldest = NULL;
        int n_kept = 0;
        for (size_t i = 0; i < models->n_entries; i++) {
            struct entry *entry = &models->entries[i];
            if (!entry->network)
                continue;
            n_kept++;
            if (!oldest || models->turn - entry->used > models->turn - oldest->used)
                oldest = entry;
        }
        if (n_kept <= VRT_MODELS_KEPT)
            return;
        oldest->network = vrt_network_unref(oldest->network);
    }
}

static struct entry *find_entry(struct vrt_models *models, const struct identity *identity)
{
    for (size_t i = 0; i < models->n_entries; i++)
        if (is_same(&models->entries[i].identity, identity))
            return &models->entries[i];
    return NULL;
}

/* An entry for a new identity: a free one, or that which was not used for the longest time. */
static int add_entry(struct vrt_models *models, struct entry **ret_entry)
{
    struct entry *oldest = NULL;

    if (models->n_entries == models->capacity && models->capacity < LISTED_MAX) {
        size_t capacity = models->capacity ? models->capacity * 2 : 8;
        struct entry *entries = realloc(models->entries, capacity * sizeof(*entries));
        if (!entries)
            return vrt_raise(-ENOMEM);
        models->entries = entries;
        models->capacity = capacity;
    }
    if (models->n_entries < models->capacity) {
        *ret_entry = &models->entries[models->n_entries++];
        (*ret_entry)->network = NULL;
        return 0;
    }
    for (size_t i = 0; i < models->n_entries; i++)
        if (!oldest || models->turn - models->entries[i].used > models->turn - oldest->used)
            oldest = &models->entries[i];
    oldest->network = vrt_network_unref(oldest->network);
    *ret_entry = oldest;
    return 0;
}

/*
 * The network of an identity, from memory or the file. With ret_report instead of ret_network
 * only what is to be told of it, which is known even where the network isn't kept any more.
 */
static int get(struct vrt_models *models, const struct identity *identity, int fd,
               const char *name, struct vrt_network **ret_network,
               struct vrt_model_report *ret_report, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = NULL;
    struct entry *entry = find_entry(models, identity);

    models->turn++;
    if (!entry || (ret_network && !entry->network)) {
        struct vrt_model_report report;
        vrt_model_report_init(&report);
        int r = load(identity, fd, name, &network, error);
        /* -EINVAL is about the content, and as lasting as that: worth keeping, for a list. */
        if (r < 0 && (ret_network || r != -EINVAL))
            return vrt_fold(r);
        if (network)
            describe(network, &report);
        r = entry ? 0 : add_entry(models, &entry);
        if (r < 0)
            return vrt_refuse_errno(error, vrt_fold(r), "keeping a model");
        *entry = (struct entry){
            .identity = *identity,
            .network = VRT_STEAL(network),
            .report = report,
        };
    }
    entry->used = models->turn;
    if (ret_network)
        *ret_network = vrt_network_ref(entry->network);
    if (ret_report)
        *ret_report = entry->report;
    trim(models);
    return 0;
}

/* Opens a file of the folder. `name` holds no slash. Return: fd, -errno. */
static int open_in_folder(const struct vrt_models *models, const char *name)
{
    VRT_CLEANUP(vrt_closep) int folder = open(models->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return -errno;
    /* Never waits: what lies there may be a pipe. */
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Whether the name is that of a checkpoint; *ret_length is its length without the ending. */
static bool has_ending(const char *name, size_t *ret_length)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(endings); i++) {
        size_t m = strlen(endings[i]);
        if (n <= m || strcasecmp(name + n - m, endings[i]) != 0)
            continue;
        *ret_length = n - m;
        return true;
    }
    return false;
}

bool vrt_models_name_of(const char *file, char *buffer, size_t size)
{
    size_t length;

    if (file[0] == '.' || strchr(file, '/') || !has_ending(file, &length) || length >= size)
        return false;
    snprintf(buffer, size, "%.*s", (int)length, file);
    return true;
}

/* Opens the file that `name` stands for, with or without ending. Return: fd, -errno. */
static int open_named(const struct vrt_models *models, const char *name)
{
    char path[VRT_API_NAME_BYTES + 16];
    size_t length;
    int fd = -ENOENT;

    /* The daemon may read more than its client: a name must not lead out of the folder. */
    if (name[0] == '.' || strchr(name, '/'))
        return -ENOENT;
    if (has_ending(name, &length))
        return open_in_folder(models, name);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(endings) && fd == -ENOENT; i++) {
        snprintf(path, sizeof(path), "%s%s", name, endings[i]);
        fd = open_in_folder(models, path);
    }
    return fd;
}

int vrt_models_read(struct vrt_models *models, int fd, const char *name,
                    struct vrt_network **ret_network, struct vrt_error *error)
{
    struct identity identity;

    int r = identify(fd, name, &identity, error);
    if (r < 0)
        return vrt_fold(r);
    pthread_mutex_lock(&models->lock);
    r = get(models, &identity, fd, name, ret_network, NULL, error);
    pthread_mutex_unlock(&models->lock);
    return vrt_fold(r);
}

int vrt_models_find(struct vrt_models *models, const char *name,
                    struct vrt_network **ret_network, struct vrt_error *error)
{
    const struct vrt_builtin_model *builtin = vrt_builtin_model_find(name);
    VRT_CLEANUP(vrt_closep) int fd = -1;
    char shown[VRT_API_NAME_BYTES];

    vrt_assert(vrt_thread_role() != VRT_THREAD_LOOP);
    if (!builtin) {
        fd = open_named(models, name);
        if (fd == -ENOENT || fd == -ENOTDIR)
            return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(MODEL_NOT_FOUND),
                              "no model is called %s: see vrtctl models, or give a file",
                              vrt_printable(name, shown, sizeof(shown)));
        if (fd < 0)
            return vrt_refuse_errno(error, vrt_raise(fd),
                                    vrt_printable(name, shown, sizeof(shown)));
        return vrt_fold(vrt_models_read(models, fd, name, ret_network, error));
    }
    const struct identity identity = { .builtin = builtin };
    pthread_mutex_lock(&models->lock);
    int r = get(models, &identity, -1, name, ret_network, NULL, error);
    pthread_mutex_unlock(&models->lock);
    return vrt_fold(r);
}

static int compare_names(const void *a, const void *b)
{
    const struct vrt_model_report *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* What is to be told of one file of the folder. The lock is taken for this file alone: a job that
 * needs a model doesn't wait for all of the folder. Return: whether anything. */
static bool report_file(struct vrt_models *models, const char *file,
                        struct vrt_model_report *ret_report)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_error error = { .id = NULL };
    struct identity identity;
    char name[sizeof(ret_report->name)];

    if (!vrt_models_name_of(file, name, sizeof(name)))
        return false;
    fd = open_in_folder(models, file);
    int r = fd < 0 ? fd : identify(fd, file, &identity, &error);
    if (r == 0) {
        pthread_mutex_lock(&models->lock);
        r = get(models, &identity, fd, file, NULL, ret_report, &error);
        pthread_mutex_unlock(&models->lock);
    }
    if (error.message[0])
        vrt_log_info("%s", error.message);
    if (r < 0)
        return false;
    snprintf(ret_report->name, sizeof(ret_report->name), "%s", name);
    snprintf(ret_report->source, sizeof(ret_report->source), "%s/%s", models->folder, file);
    return true;
}

/* Appends what the folder holds, sorted. Return: how many there are then. */
static size_t report_folder(struct vrt_models *models, struct vrt_model_report *reports, size_t n)
{
    DIR *folder = opendir(models->folder);
    size_t n_before = n;
    const struct dirent *file;

    if (!folder)
        return n;
    while (n < LISTED_MAX && (file = readdir(folder)))
        n += report_file(models, file->d_name, &reports[n]);
    closedir(folder);
    qsort(reports + n_before, n - n_before, sizeof(*reports), compare_names);
    return n;
}

int vrt_models_list(struct vrt_models *models, struct vrt_model_report **ret_reports,
                    size_t *ret_n_reports)
{
    VRT_CLEANUP(vrt_freep) struct vrt_model_report *reports = calloc(LISTED_MAX, sizeof(*reports));
    const struct vrt_builtin_model *builtin;
    size_t n = 0;

    vrt_assert(vrt_thread_role() != VRT_THREAD_LOOP);
    if (!reports)
        return vrt_raise(-ENOMEM);
    for (; n < LISTED_MAX && (builtin = vrt_builtin_model_at(n)); n++) {
        const struct identity identity = { .builtin = builtin };
        pthread_mutex_lock(&models->lock);
        int r = get(models, &identity, -1, builtin->name, NULL, &reports[n], NULL);
        pthread_mutex_unlock(&models->lock);
        if (r < 0)
            return vrt_fold(r);
        snprintf(reports[n].name, sizeof(reports[n].name), "%s", builtin->name);
        snprintf(reports[n].source, sizeof(reports[n].source), "built-in");
    }
    n = report_folder(models, reports, n);
    for (size_t i = 0; i < n; i++)
        reports[i].is_default = strcmp(reports[i].name, vrt_models_default(models)) == 0;
    *ret_reports = VRT_STEAL(reports);
    *ret_n_reports = n;
    return 0;
}
