/* SPDX-License-Identifier: MIT */

/*
 * A pull's way, each step on a thread but the fetching:
 *
 *     prepare    the folder is made, and looked whether something stands there already
 *     fetch      NAME.part, gone on with
 *     place      it is read as jobs would read it; then linked to its name, which fails where
 *                something got there first, and NAME.part goes
 *
 * What becomes of it is told by the list of models: clients look there.
 */

#include "daemon/remote/pulls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text/digest.h"
#include "base/thread.h"
#include "daemon/remote/catalogue.h"
#include "daemon/remote/fetch.h"
#include "daemon/models/models.h"
#include "daemon/remote/url.h"

#define VRT_LOG_TOPIC "pulls"

struct vrt_pulls {
    struct vrt_pulls_params params;
    char *folder;
    struct vrt_list pulls;              /* of struct pull.link, the newest last */
    int n_active, n_ended;
    uv_timer_t ending;                  /* only for its closing */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

struct pull {
    struct vrt_pulls *pulls;
    struct vrt_list link;
    struct vrt_model_report report;     /* what is told of it */
    char file[VRT_API_NAME_BYTES];      /* its name in the folder */
    char part[VRT_API_NAME_BYTES + 8];
    char sha256[VRT_API_SHA256_BYTES];  /* that it must have; "": any */
    struct vrt_fetch *fetch;
    uv_work_t work;
    /* by the work's thread, then the loop's */
    int folder_fd;                      /* -1: not open */
    bool is_there;                      /* the very file, already */
    char digest[VRT_API_SHA256_BYTES];  /* of what is there */
    int64_t size_bytes;
    int result;
    struct vrt_error error;
};

static struct pull *pull_free(struct pull *pull)
{
    vrt_list_remove(&pull->link);
    vrt_closep(&pull->folder_fd);
    free(pull);
    return NULL;
}

int vrt_pulls_new(const struct vrt_pulls_params *params, struct vrt_pulls **ret_pulls)
{
    struct vrt_pulls *pulls = calloc(1, sizeof(*pulls));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!pulls)
        return vrt_raise(-ENOMEM);
    pulls->params = *params;
    pulls->folder = strdup(params->folder);
    if (!pulls->folder) {
        free(pulls);
        return vrt_raise(-ENOMEM);
    }
    pulls->params.folder = pulls->folder;
    vrt_list_init(&pulls->pulls);
    uv_timer_init(params->loop, &pulls->ending);
    pulls->ending.data = pulls;
    *ret_pulls = pulls;
    return 0;
}

static void on_ending_closed(uv_handle_t *handle)
{
    struct vrt_pulls *pulls = handle->data;
    void (*stopped)(void *ctx) = pulls->stopped;
    void *ctx = pulls->stopped_ctx;
    struct pull *pull;

    VRT_LIST_FOREACH(pull, &pulls->pulls, link)
        pull_free(pull);
    free(pulls->folder);
    free(pulls);
    stopped(ctx);
}

static void end_if_stopped(struct vrt_pulls *pulls)
{
    if (pulls->stopped && pulls->n_active == 0 && !uv_is_closing((uv_handle_t *)&pulls->ending))
        uv_close((uv_handle_t *)&pulls->ending, on_ending_closed);
}

/* A pull is over: well, or with an error. It is told of until others push it out. */
static void end_pull(struct pull *pull, const struct vrt_error *error)
{
    struct vrt_pulls *pulls = pull->pulls;
    struct pull *other;

    pull->report.state = error ? VRT_MODEL_FAILED : VRT_MODEL_READY;
    if (error) {
        snprintf(pull->report.error, sizeof(pull->report.error), "%s", error->message);
        vrt_log_warning("the model %s could not be pulled: %s", pull->report.name,
                        error->message);
    } else {
        vrt_log_info("the model %s is there, %s: SHA-256 %s", pull->report.name,
                     pull->report.verified ? "verified" : "not verified", pull->report.sha256);
    }
    vrt_closep(&pull->folder_fd);
    pull->folder_fd = -1;
    pulls->n_active--;
    pulls->n_ended++;
    /* It is the last to be forgotten, whenever it began. */
    vrt_list_remove(&pull->link);
    vrt_list_append(&pulls->pulls, &pull->link);
    VRT_LIST_FOREACH(other, &pulls->pulls, link) {
        if (pulls->n_ended <= VRT_PULLS_KEPT)
            break;
        if (other->report.state != VRT_MODEL_PULLING) {
            pull_free(other);
            pulls->n_ended--;
        }
    }
    end_if_stopped(pulls);
}

/* Begins one of the steps that a thread does. */
static void work(struct pull *pull, uv_work_cb step, uv_after_work_cb stepped)
{
    pull->work.data = pull;
    pull->error = (struct vrt_error){ .id = NULL };
    int r = uv_queue_work(pull->pulls->params.loop, &pull->work, step, stepped);
    vrt_assert(r == 0);
}

/* The network is read as a job would read it; only then has it a name. */
static int place_file(struct pull *pull)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = NULL;
    VRT_CLEANUP(vrt_closep) int fd = openat(pull->folder_fd, pull->part,
                                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return vrt_refuse_errno(&pull->error, vrt_raise(-errno), pull->report.name);
    int r = vrt_models_read(pull->pulls->params.models, &(struct vrt_models_file){
        .fd = fd,
        .name = pull->file,
        .uid = VRT_MODELS_NOBODY,
    }, &network, &pull->error);
    if (r < 0) {
        /* It is complete and of no use: the next pull would only find it again. */
        unlinkat(pull->folder_fd, pull->part, 0);
        return vrt_fold(r);
    }
    if (linkat(pull->folder_fd, pull->part, pull->folder_fd, pull->file, 0) < 0) {
        r = -errno;
        if (r == -EEXIST)
            return vrt_refuse(&pull->error, vrt_raise(r), VRT_E(MODEL_EXISTS),
                              "another file called %s appeared in the folder of models meanwhile",
                              pull->file);
        return vrt_refuse_errno(&pull->error, vrt_raise(r), "giving a model its name");
    }
    unlinkat(pull->folder_fd, pull->part, 0);
    if (fsync(pull->folder_fd) < 0)
        return vrt_refuse_errno(&pull->error, vrt_raise(-errno), "giving a model its name");
    return 0;
}

static void place(uv_work_t *work)
{
    struct pull *pull = work->data;

    pull->result = place_file(pull);
}

static void on_placed(uv_work_t *work, int status)
{
    struct pull *pull = work->data;

    (void)status;
    if (pull->result < 0)
        vrt_refuse_errno(&pull->error, pull->result, "pulling a model");
    end_pull(pull, pull->result < 0 ? &pull->error : NULL);
}

static void on_progress(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
    struct pull *pull = ctx;

    pull->report.done_bytes = done_bytes;
    pull->report.error[0] = '\0';
    if (total_bytes >= 0)
        pull->report.size_bytes = total_bytes;
}

static void on_retrying(void *ctx, const char *why)
{
    struct pull *pull = ctx;

    snprintf(pull->report.error, sizeof(pull->report.error), "%s: trying again", why);
}

/* What the other machine, or the way to it, is to blame for can be gone round. */
static void refuse_fetch(struct pull *pull, const struct vrt_error *why)
{
    pull->error = (struct vrt_error){ .id = NULL };
    if (vrt_error_is(why, VRT_E(REMOTE_FAILED)))
        vrt_refuse(&pull->error, -EIO, why->id, "%s; a file that is put into %s by hand is a "
                   "model, too", why->message, pull->pulls->folder);
    else
        pull->error = *why;
}

static void on_fetched(void *ctx, const struct vrt_fetch_result *result,
                       const struct vrt_error *error)
{
    struct pull *pull = ctx;

    pull->fetch = NULL;
    if (error) {
        /* There is nothing to go on with. */
        if (pull->report.done_bytes == 0)
            unlinkat(pull->folder_fd, pull->part, 0);
        refuse_fetch(pull, error);
        end_pull(pull, &pull->error);
        return;
    }
    pull->report.error[0] = '\0';
    pull->report.size_bytes = pull->report.done_bytes = result->size_bytes;
    pull->report.verified = pull->sha256[0];
    snprintf(pull->report.sha256, sizeof(pull->report.sha256), "%s", result->sha256);
    work(pull, place, on_placed);
}

/* The SHA-256 of an open file. */
static int digest_file(int fd, char digest[VRT_API_SHA256_BYTES])
{
    uint8_t bytes[SHA256_DIGEST_SIZE];
    VRT_CLEANUP(vrt_freep) uint8_t *buffer = malloc(1 << 20);
    struct sha256_ctx sha256;
    ssize_t n;

    if (!buffer)
        return vrt_raise(-ENOMEM);
    sha256_init(&sha256);
    while ((n = read(fd, buffer, 1 << 20)) > 0)
        sha256_update(&sha256, (size_t)n, buffer);
    if (n < 0)
        return vrt_raise(-errno);
    sha256_digest(&sha256, sizeof(bytes), bytes);
    vrt_digest_print(bytes, digest);
    return 0;
}

/* Whether what stands there already is the very file; anything else isn't touched. */
static int look_at_file(struct pull *pull)
{
    VRT_CLEANUP(vrt_closep) int fd = openat(pull->folder_fd, pull->file,
                                            O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? 0 :
            vrt_refuse_errno(&pull->error, vrt_raise(-errno), pull->report.name);
    if (pull->sha256[0] && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        int r = digest_file(fd, pull->digest);
        if (r < 0)
            return vrt_refuse_errno(&pull->error, vrt_fold(r), pull->report.name);
        pull->is_there = strcmp(pull->digest, pull->sha256) == 0;
        pull->size_bytes = st.st_size;
    }
    if (pull->is_there)
        return 0;
    return vrt_refuse(&pull->error, vrt_raise(-EEXIST), VRT_E(MODEL_EXISTS),
                      "%s is in the folder of models already%s: remove it first", pull->file,
                      pull->sha256[0] ? ", and is another file" : "");
}

static int prepare_folder(struct pull *pull)
{
    const char *folder = pull->pulls->folder;

    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return vrt_refuse_errno(&pull->error, vrt_raise(-errno), "making the folder of models");
    pull->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (pull->folder_fd < 0)
        return vrt_refuse_errno(&pull->error, vrt_raise(-errno), "the folder of models");
    return vrt_fold(look_at_file(pull));
}

static void prepare(uv_work_t *work)
{
    struct pull *pull = work->data;

    pull->result = prepare_folder(pull);
}

static void on_prepared(uv_work_t *work, int status)
{
    struct pull *pull = work->data;
    const struct vrt_pulls_params *params = &pull->pulls->params;
    int r = pull->result;

    (void)status;
    if (r == 0 && pull->is_there) {
        pull->report.verified = true;
        pull->report.size_bytes = pull->report.done_bytes = pull->size_bytes;
        memcpy(pull->report.sha256, pull->digest, sizeof(pull->report.sha256));
        end_pull(pull, NULL);
        return;
    }
    if (r == 0 && pull->pulls->stopped)
        r = vrt_refuse(&pull->error, -ECANCELED, VRT_E(SHUTTING_DOWN), "vrtd is about to end");
    if (r == 0)
        r = vrt_fetch_start(&(struct vrt_fetch_params){
            .loop = params->loop,
            .web = params->web,
            .url = pull->report.url,
            .folder_fd = pull->folder_fd,
            .name = pull->part,
            .mode = 0644,
            .limit_bytes = params->limit_bytes,
            .wants_digest = true,
            .sha256 = pull->sha256,
            .progress = on_progress,
            .retrying = on_retrying,
            .done = on_fetched,
            .ctx = pull,
        }, &pull->fetch);
    if (r < 0) {
        vrt_refuse_errno(&pull->error, r, "pulling a model");
        end_pull(pull, &pull->error);
    }
}

/* The catalogue's entry of this name. */
static int find_entry(const struct vrt_pulls *pulls, const char *name,
                      const struct vrt_catalogue_entry **ret_entry, struct vrt_error *error)
{
    const struct vrt_pulls_params *params = &pulls->params;
    char shown[128];

    if (!params->catalogue)
        return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(MODEL_NOT_FOUND),
                          "this vrtd has no catalogue to find %s in: there is none at %s that can "
                          "be read; vrtctl models pull URL --sha256 HEX needs none",
                          vrt_printable(name, shown, sizeof(shown)), params->catalogue_path);
    *ret_entry = vrt_catalogue_find(params->catalogue, name);
    if (*ret_entry)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(MODEL_NOT_FOUND),
                      "the catalogue has no model called %s: see vrtctl models, or give its "
                      "address", vrt_printable(name, shown, sizeof(shown)));
}

/* What the request means: names, addresses, what is known of it before. */
static int settle(const struct vrt_pulls *pulls, const struct vrt_model_request *request,
                  struct pull *pull, struct vrt_error *error)
{
    const struct vrt_catalogue_entry *entry = NULL;
    struct vrt_model_report *report = &pull->report;
    int r = 0;

    vrt_model_report_init(report);
    report->state = VRT_MODEL_PULLING;
    if (request->name[0])
        r = find_entry(pulls, request->name, &entry, error);
    const char *url = entry ? entry->url : request->url;
    if (r < 0)
        return vrt_fold(r);
    r = vrt_url_check(url, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_url_file_name(url, pull->file, sizeof(pull->file));
    if (!vrt_models_name_of(pull->file, report->name, sizeof(report->name)))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REMOTE_URL),
                          "the address must end in the name of a checkpoint, with .pth, "
                          ".safetensors, .onnx or the like");
    snprintf(pull->part, sizeof(pull->part), "%s.part", pull->file);
    snprintf(report->url, sizeof(report->url), "%s", url);
    snprintf(pull->sha256, sizeof(pull->sha256), "%s",
             request->sha256[0] ? request->sha256 : entry ? entry->sha256 : "");
    report->done_bytes = 0;
    if (entry) {
        report->size_bytes = entry->size_bytes;
        report->scale = entry->scale;
        snprintf(report->architecture, sizeof(report->architecture), "%s", entry->architecture);
        snprintf(report->description, sizeof(report->description), "%s", entry->description);
    }
    return 0;
}

/* Of this file, or NULL. */
static struct pull *find_pull(const struct vrt_pulls *pulls, const char *file)
{
    struct pull *pull;

    VRT_LIST_FOREACH(pull, &pulls->pulls, link)
        if (strcmp(pull->file, file) == 0)
            return pull;
    return NULL;
}

/* Makes room for a pull of this file. Return: 0; 1: it goes on already; -EBUSY. */
static int make_room(struct vrt_pulls *pulls, const struct pull *wanted, struct pull **ret_earlier,
                     struct vrt_error *error)
{
    struct pull *earlier = find_pull(pulls, wanted->file);

    if (earlier && earlier->report.state == VRT_MODEL_PULLING) {
        *ret_earlier = earlier;
        if (strcmp(earlier->report.url, wanted->report.url) == 0 &&
            strcmp(earlier->sha256, wanted->sha256) == 0)
            return 1;
        return vrt_refuse(error, vrt_raise(-EBUSY), VRT_E(MODEL_BUSY),
                          "%s is being pulled from elsewhere, or with another SHA-256",
                          wanted->file);
    }
    if (pulls->n_active >= VRT_PULLS_MAX)
        return vrt_refuse(error, vrt_raise(-EBUSY), VRT_E(MODEL_BUSY),
                          "%d models are being pulled, which is as many as are allowed: try again "
                          "when one of them is there", pulls->n_active);
    if (earlier) {
        pull_free(earlier);
        pulls->n_ended--;
    }
    return 0;
}

int vrt_pulls_start(struct vrt_pulls *pulls, const struct vrt_model_request *request,
                    struct vrt_model_report *ret_report, struct vrt_error *error)
{
    struct pull *pull = calloc(1, sizeof(*pull)), *earlier = NULL;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!pull)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "pulling a model");
    vrt_list_init(&pull->link);
    pull->pulls = pulls;
    pull->folder_fd = -1;
    int r = settle(pulls, request, pull, error);
    if (r == 0)
        r = make_room(pulls, pull, &earlier, error);
    if (r != 0) {
        if (r > 0)
            *ret_report = earlier->report;
        pull_free(pull);
        return r > 0 ? 0 : vrt_fold(r);
    }
    vrt_list_append(&pulls->pulls, &pull->link);
    pulls->n_active++;
    vrt_log_info("the model %s is pulled", pull->report.name);
    *ret_report = pull->report;
    work(pull, prepare, on_prepared);
    return 0;
}

static struct vrt_model_report *find_report(struct vrt_model_report *reports, size_t n,
                                            const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(reports[i].name, name) == 0)
            return &reports[i];
    return NULL;
}

/* What a pull adds to what is known of a model. */
static void merge(const struct vrt_model_report *pulled, struct vrt_model_report *report)
{
    memcpy(report->url, pulled->url, sizeof(report->url));
    if (pulled->error[0])
        memcpy(report->error, pulled->error, sizeof(report->error));
    report->done_bytes = pulled->done_bytes;
    if (pulled->size_bytes >= 0)
        report->size_bytes = pulled->size_bytes;
    if (pulled->state == VRT_MODEL_FAILED && report->state == VRT_MODEL_READY)
        return;
    report->state = pulled->state;
    report->verified = pulled->verified;
    if (pulled->sha256[0])
        memcpy(report->sha256, pulled->sha256, sizeof(report->sha256));
}

/* What the catalogue says of a model. */
static void describe(const struct vrt_catalogue_entry *entry, struct vrt_model_report *report)
{
    snprintf(report->description, sizeof(report->description), "%s", entry->description);
    snprintf(report->license, sizeof(report->license), "%s", entry->license);
    snprintf(report->url, sizeof(report->url), "%s", entry->url);
    if (report->state == VRT_MODEL_READY)
        return;
    snprintf(report->name, sizeof(report->name), "%s", entry->name);
    snprintf(report->architecture, sizeof(report->architecture), "%s", entry->architecture);
    snprintf(report->sha256, sizeof(report->sha256), "%s", entry->sha256);
    report->scale = entry->scale;
    report->size_bytes = entry->size_bytes;
}

int vrt_pulls_report(const struct vrt_pulls *pulls, struct vrt_model_report **reports,
                     size_t *n_reports)
{
    const struct vrt_catalogue *catalogue = pulls->params.catalogue;
    size_t n = *n_reports, n_more = catalogue ? catalogue->n_models : 0;
    struct vrt_model_report *all, *report;
    const struct pull *pull;

    all = realloc(*reports, (n + n_more + VRT_PULLS_MAX + VRT_PULLS_KEPT) * sizeof(*all));
    if (!all)
        return vrt_raise(-ENOMEM);
    *reports = all;
    for (size_t i = 0; i < n_more; i++) {
        report = find_report(all, n, catalogue->models[i].name);
        if (!report) {
            report = &all[n++];
            vrt_model_report_init(report);
            report->state = VRT_MODEL_AVAILABLE;
        }
        describe(&catalogue->models[i], report);
    }
    VRT_LIST_FOREACH(pull, &pulls->pulls, link) {
        report = find_report(all, n, pull->report.name);
        /* One that was there, and that somebody took away again, isn't told of. */
        bool is_gone = pull->report.state == VRT_MODEL_READY &&
                       (!report || report->state != VRT_MODEL_READY);
        if (report && !is_gone)
            merge(&pull->report, report);
        else if (!is_gone)
            all[n++] = pull->report;
    }
    *n_reports = n;
    return 0;
}

void vrt_pulls_stop(struct vrt_pulls *pulls, void (*stopped)(void *ctx), void *ctx)
{
    struct pull *pull;

    vrt_assert_thread(VRT_THREAD_LOOP);
    pulls->stopped = stopped;
    pulls->stopped_ctx = ctx;
    VRT_LIST_FOREACH(pull, &pulls->pulls, link)
        if (pull->fetch)
            vrt_fetch_cancel(pull->fetch);
    end_if_stopped(pulls);
}
