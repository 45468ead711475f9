/* SPDX-License-Identifier: MIT */

/*
 * What was read is kept by the file's identity, not by its name: a checkpoint that was replaced or
 * written to is another one, and a file that several names or descriptors lead to is read once.
 *
 * Two things are kept of a file, for unlike times. The network, which is large, is there while
 * there is room; jobs have references of their own, so that giving one up here frees nothing that
 * is in use. The report is small and stays longer: a list of models shall not read every file of
 * the folder each time. That a file holds no model is known by a report without a network, and
 * isn't found out again either.
 *
 * One lock for everything, never held while a file is read: an entry says that it is being read,
 * and whoever wants it waits. Only threads of libuv's pool do, never the loop.
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
#include "base/heap.h"
#include "base/io/model-file.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/models/folder.h"
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
    ino_t other_inode;              /* of a model that is two files: of the second */
    struct timespec other_changed;
    const struct vrt_builtin_model *builtin;    /* instead of a file */
};

/* What is known of a file that was read. */
struct entry {
    struct identity identity;
    struct vrt_network *network;    /* NULL: no longer kept, or the file holds none */
    struct vrt_model_report report; /* as far as the content goes */
    uid_t uid;                      /* who had it read */
    int64_t bytes;                  /* of the network */
    unsigned used;                  /* when it last was, in turns */
    bool is_being_read;
};

/* A model's name; those that were the default's before it live on, for whoever still reads one. */
struct name {
    struct name *former;
    char text[];
};

struct vrt_models {
    char *folder;                   /* immutable, as the next one */
    int64_t kept_bytes;
    pthread_mutex_t name_lock;      /* never held while anything is waited for */
    struct name *default_name;      /* under name_lock */
    pthread_mutex_t lock;
    pthread_cond_t was_read;        /* an entry, or there is room to read another */
    struct entry *entries;          /* under lock, like all that follows */
    size_t n_entries, capacity;
    int64_t reading_bytes;          /* of files that are being read */
    unsigned turn;
};

int vrt_models_new(const struct vrt_models_params *params, struct vrt_models **ret_models)
{
    VRT_CLEANUP(vrt_models_freep) struct vrt_models *models = calloc(1, sizeof(*models));

    if (!models)
        return vrt_raise(-ENOMEM);
    pthread_mutex_init(&models->lock, NULL);
    pthread_cond_init(&models->was_read, NULL);
    pthread_mutex_init(&models->name_lock, NULL);
    models->kept_bytes = params->kept_bytes ? params->kept_bytes : VRT_MODELS_KEPT_BYTES;
    models->folder = strdup(params->folder);
    int r = models->folder ? vrt_models_set_default(models, params->default_name) :
            vrt_raise(-ENOMEM);
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
    pthread_cond_destroy(&models->was_read);
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
           is_same_time(&a->changed, &b->changed) && a->other_inode == b->other_inode &&
           is_same_time(&a->other_changed, &b->other_changed);
}

/* What is kept of a file is for those alone who could read it themselves: a descriptor that was
 * opened as a path, or for writing, is no proof of that. */
static int identify(int fd, const char *name, struct identity *ret_identity,
                    struct vrt_error *error)
{
    char shown[VRT_API_NAME_BYTES], byte;
    struct stat st;

    vrt_printable(name, shown, sizeof(shown));
    if (fstat(fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), shown);
    if (!S_ISREG(st.st_mode))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(MODEL_INVALID),
                          "the model %s is not a file but a folder or device", shown);
    const ssize_t n = pread(fd, &byte, 1, 0);
    if (n < 0 && errno == EBADF)
        return vrt_refuse(error, vrt_raise(-EACCES), VRT_E(MODEL_INVALID),
                          "the model %s can't be read by the descriptor that came with it: open it "
                          "for reading", shown);
    if (n < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), shown);
    *ret_identity = (struct identity){
        .device = st.st_dev,
        .inode = st.st_ino,
        .size = st.st_size,
        .modified = st.st_mtim,
        .changed = st.st_ctim,
    };
    return 0;
}

/* What is asked for: of a file, or of a built-in model. */
struct question {
    struct identity identity;
    struct vrt_models_file file;        /* fd -1: built in */
    bool is_pair;                       /* one of the folder that is two files: the first */
    bool wants_network;                 /* else only what is told of it */
};

static void describe(const struct vrt_network *network, struct vrt_model_report *report)
{
    const struct vrt_network_info *info = vrt_network_info(network);

    snprintf(report->architecture, sizeof(report->architecture), "%s", info->architecture);
    snprintf(report->checksum, sizeof(report->checksum), "%016" PRIx64,
             vrt_network_checksum(network));
    report->scale = info->scale;
    report->error[0] = '\0';
    report->parameters = info->n_parameters;
}

/* Of a model of the folder that is two files: what tells the second from another. It may be
 * missing, which whoever reads it says. */
static void identify_other(int folder, const char *name, struct identity *identity)
{
    VRT_CLEANUP(vrt_freep) char *other = vrt_model_file_other(name);
    struct stat st;

    if (!other || fstatat(folder, other, &st, 0) < 0)
        return;
    identity->size += st.st_size;
    identity->other_inode = st.st_ino;
    identity->other_changed = st.st_ctim;
}

/* Reads both files of such a model. */
static int load_pair(const struct vrt_models *models, const char *name,
                     struct vrt_network **ret_network, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int folder = open(models->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    VRT_CLEANUP(vrt_closep) int joined = -1;

    if (folder < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), name);
    int r = vrt_model_file_join(folder, name, &joined, error);
    /* That one is missing lasts until it is there, and then it is another model. */
    if (r < 0)
        return r == -ENOENT ? vrt_raise(-EINVAL) : vrt_fold(r);
    return vrt_fold(vrt_network_read(joined, name, ret_network, error));
}

/* Reads a file or a built-in model. */
static int load(const struct vrt_models *models, const struct question *question,
                struct vrt_network **ret_network, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    const struct vrt_builtin_model *builtin = question->identity.builtin;
    const char *name = question->file.name;

    if (question->is_pair)
        return vrt_fold(load_pair(models, name, ret_network, error));
    if (!builtin)
        return vrt_fold(vrt_network_read(question->file.fd, name, ret_network, error));
    int r = vrt_checkpoint_open_memory(builtin->data, builtin->size_bytes, name, &checkpoint,
                                       error);
    if (r != 0)
        return vrt_fold(r);
    return vrt_fold(vrt_network_new(checkpoint, name, ret_network, error));
}

/* Bytes of networks that are kept of what one user had read, or, of VRT_MODELS_NOBODY, all. */
static int64_t kept_bytes(const struct vrt_models *models, uid_t uid)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < models->n_entries; i++)
        if (models->entries[i].network && (uid == VRT_MODELS_NOBODY ||
                                           models->entries[i].uid == uid))
            bytes += models->entries[i].bytes;
    return bytes;
}

/* Drops networks while there are too many: of the user who has most, the one that was not used for
 * the longest time, but never the last one used. Ages are compared, not turns, so that the count of
 * turns may begin anew. */
static void trim(struct vrt_models *models)
{
    while (kept_bytes(models, VRT_MODELS_NOBODY) > models->kept_bytes) {
        struct entry *oldest = NULL;
        int64_t most_bytes = 0;
        for (size_t i = 0; i < models->n_entries; i++) {
            struct entry *entry = &models->entries[i];
            int64_t bytes = entry->network ? kept_bytes(models, entry->uid) : 0;
            if (!entry->network || entry->used == models->turn || bytes < most_bytes)
                continue;
            if (bytes > most_bytes || models->turn - entry->used > models->turn - oldest->used)
                oldest = entry;
            most_bytes = bytes;
        }
        if (!oldest)
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
        if (!models->entries[i].is_being_read &&
            (!oldest || models->turn - models->entries[i].used > models->turn - oldest->used))
            oldest = &models->entries[i];
    /* Each thread reads one at a time, and threads are few. */
    vrt_assert(oldest);
    oldest->network = vrt_network_unref(oldest->network);
    *ret_entry = oldest;
    return 0;
}

/* Waits while somebody else reads the entry. Return: it, or NULL: there is none. */
static struct entry *await_entry(struct vrt_models *models, const struct identity *identity)
{
    struct entry *entry;

    while ((entry = find_entry(models, identity)) && entry->is_being_read)
        pthread_cond_wait(&models->was_read, &models->lock);
    return entry;
}

/* Waits until there is room for what is being read. */
static void begin_reading(struct vrt_models *models, int64_t bytes)
{
    while (models->reading_bytes > 0 &&
           models->reading_bytes + bytes > VRT_MODELS_READING_BYTES)
        pthread_cond_wait(&models->was_read, &models->lock);
    models->reading_bytes += bytes;
}

/* Where the same user had the same network read from another file, it is that one, once: what
 * vrtctl joins of two files is a new file each time. */
static void take_over(struct vrt_models *models, uid_t uid, struct vrt_network **network)
{
    const struct vrt_network_info *info = vrt_network_info(*network);

    for (size_t i = 0; i < models->n_entries; i++) {
        struct entry *entry = &models->entries[i];
        if (!entry->network || entry->uid != uid ||
            vrt_network_checksum(entry->network) != vrt_network_checksum(*network) ||
            strcmp(vrt_network_info(entry->network)->architecture, info->architecture) != 0 ||
            vrt_network_info(entry->network)->n_parameters != info->n_parameters)
            continue;
        vrt_network_unref(*network);
        *network = VRT_STEAL(entry->network);
        return;
    }
}

/* An entry that is known to be read by nobody but us from now on. Return: 0, -ENOMEM. */
static int claim_entry(struct vrt_models *models, const struct question *question)
{
    struct entry *entry = find_entry(models, &question->identity);

    if (!entry) {
        int r = add_entry(models, &entry);
        if (r < 0)
            return vrt_fold(r);
        *entry = (struct entry){ .identity = question->identity, .uid = question->file.uid };
        vrt_model_report_init(&entry->report);
    }
    entry->is_being_read = true;
    return 0;
}

/* Reads the file into its entry. The lock is held, but not meanwhile. Return: 0: the entry tells
 * what the file holds; -errno: there is none any more, where there was none before. */
static int read_entry(struct vrt_models *models, const struct question *question,
                      struct vrt_error *error)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = NULL;
    const int64_t bytes = question->identity.size;

    int r = claim_entry(models, question);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "keeping a model");
    begin_reading(models, bytes);
    pthread_mutex_unlock(&models->lock);
    r = load(models, question, &network, error);
    vrt_heap_give_back();
    pthread_mutex_lock(&models->lock);
    models->reading_bytes -= bytes;

    /* It may have moved, but is there: nobody drops what is being read. */
    struct entry *entry = find_entry(models, &question->identity);
    entry->is_being_read = false;
    pthread_cond_broadcast(&models->was_read);
    if (network) {
        take_over(models, question->file.uid, &network);
        describe(network, &entry->report);
        entry->bytes = vrt_network_info(network)->n_parameters * (int64_t)sizeof(float);
        entry->network = VRT_STEAL(network);
    } else if (!entry->report.architecture[0] && r != -EINVAL) {
        /* -EINVAL is about the content, and as lasting as that: worth keeping, for a list. */
        *entry = models->entries[--models->n_entries];
    } else if (error) {
        snprintf(entry->report.error, sizeof(entry->report.error), "%s", error->message);
    }
    return vrt_fold(r);
}

/* The network, from memory or the file, as a reference; or, where that isn't wanted, what is to be
 * told of it, which is known even where the network isn't kept any more. */
static int get(struct vrt_models *models, const struct question *question,
               struct vrt_network **ret_network, struct vrt_model_report *ret_report,
               struct vrt_error *error)
{
    pthread_mutex_lock(&models->lock);
    struct entry *entry = await_entry(models, &question->identity);
    int r = 0;

    if (!entry || (question->wants_network && !entry->network))
        r = read_entry(models, question, error);
    entry = find_entry(models, &question->identity);
    if (entry && (r == 0 || (r == -EINVAL && !question->wants_network))) {
        r = 0;
        entry->used = ++models->turn;
        if (ret_network)
            *ret_network = vrt_network_ref(entry->network);
        if (ret_report)
            *ret_report = entry->report;
    }
    trim(models);
    pthread_mutex_unlock(&models->lock);
    return vrt_fold(r);
}

/* What is asked for, of an open file of the folder. */
static int ask_of_folder(const struct vrt_models *models, struct question *question,
                         struct vrt_error *error)
{
    const char *name = question->file.name;

    int r = identify(question->file.fd, name, &question->identity, error);
    if (r < 0 || !vrt_model_file_is_pair(name))
        return vrt_fold(r);
    VRT_CLEANUP(vrt_closep) int folder = open(models->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    question->is_pair = true;
    identify_other(folder, name, &question->identity);
    return 0;
}

int vrt_models_read(struct vrt_models *models, const struct vrt_models_file *file,
                    struct vrt_network **ret_network, struct vrt_error *error)
{
    struct question question = { .file = *file, .wants_network = true };

    int r = identify(file->fd, file->name, &question.identity, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(get(models, &question, ret_network, NULL, error));
}

int vrt_models_find(struct vrt_models *models, const char *name,
                    struct vrt_network **ret_network, struct vrt_error *error)
{
    const struct vrt_builtin_model *builtin = vrt_builtin_model_find(name);
    VRT_CLEANUP(vrt_closep) int fd = -1;
    char shown[VRT_API_NAME_BYTES], file[VRT_MODELS_FILE_BYTES];

    vrt_assert(vrt_thread_role() != VRT_THREAD_LOOP);
    if (builtin)
        return vrt_fold(get(models, &(struct question){
            .identity.builtin = builtin,
            .file = { .fd = -1, .name = name, .uid = VRT_MODELS_NOBODY },
            .wants_network = true,
        }, ret_network, NULL, error));
    struct question question = { .wants_network = true };
    fd = vrt_models_folder_open_model(models->folder, name, file);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(MODEL_NOT_FOUND),
                          "no model is called %s: see vrtctl models, or give a file",
                          vrt_printable(name, shown, sizeof(shown)));
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(fd), vrt_printable(name, shown, sizeof(shown)));
    question.file = (struct vrt_models_file){ .fd = fd, .name = file, .uid = VRT_MODELS_NOBODY };
    int r = ask_of_folder(models, &question, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(get(models, &question, ret_network, NULL, error));
}

static int compare_names(const void *a, const void *b)
{
    const struct vrt_model_report *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* What is to be told of one file of the folder. Return: whether anything. */
static bool report_file(struct vrt_models *models, const char *file,
                        struct vrt_model_report *ret_report)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct vrt_error error = { .id = NULL };
    struct question question = { .file.uid = VRT_MODELS_NOBODY };
    char name[sizeof(ret_report->name)];

    if (!vrt_models_name_of(file, name, sizeof(name)))
        return false;
    fd = vrt_models_folder_open(models->folder, file);
    question.file.fd = fd;
    question.file.name = file;
    int r = fd < 0 ? fd : ask_of_folder(models, &question, &error);
    if (r == 0)
        r = get(models, &question, NULL, ret_report, &error);
    if (error.message[0])
        vrt_log_info("%s", error.message);
    if (r < 0)
        return false;
    snprintf(ret_report->name, sizeof(ret_report->name), "%s", name);
    ret_report->size_bytes = question.identity.size;
    snprintf(ret_report->source, sizeof(ret_report->source), "%s/%s", models->folder, file);
    return true;
}

/* Appends what the folder holds, if it is there and may be read, sorted. Return: 0; -errno. */
static int report_folder(struct vrt_models *models, struct vrt_model_report *reports,
                         size_t *inout_n)
{
    DIR *folder = opendir(models->folder);
    const size_t n_before = *inout_n;
    size_t n = n_before;
    const struct dirent *file;

    if (!folder && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (!folder) {
        const int r = -errno;
        vrt_log_warning("the models in %s can't be listed: %s", models->folder, strerror(errno));
        return r == -EACCES ? 0 : vrt_raise(r);
    }
    while (n < LISTED_MAX && (file = readdir(folder)))
        n += report_file(models, file->d_name, &reports[n]);
    closedir(folder);
    qsort(reports + n_before, n - n_before, sizeof(*reports), compare_names);
    *inout_n = n;
    return 0;
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
        int r = get(models, &(struct question){
            .identity.builtin = builtin,
            .file = { .fd = -1, .name = builtin->name, .uid = VRT_MODELS_NOBODY },
        }, NULL, &reports[n], NULL);
        if (r < 0)
            return vrt_fold(r);
        snprintf(reports[n].name, sizeof(reports[n].name), "%s", builtin->name);
        snprintf(reports[n].license, sizeof(reports[n].license), "MIT");
        reports[n].size_bytes = (int64_t)builtin->size_bytes;
        snprintf(reports[n].source, sizeof(reports[n].source), "built-in");
        snprintf(reports[n].description, sizeof(reports[n].description), "%s",
                 "small and fast: twice the size of any video");
    }
    const int r = report_folder(models, reports, &n);
    if (r < 0)
        return vrt_fold(r);
    for (size_t i = 0; i < n; i++)
        reports[i].is_default = strcmp(reports[i].name, vrt_models_default(models)) == 0;
    *ret_reports = VRT_STEAL(reports);
    *ret_n_reports = n;
    return 0;
}
