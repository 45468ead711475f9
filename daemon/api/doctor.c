/* SPDX-License-Identifier: MIT */

/*
 * POST /v1/doctor: what can be looked at without a device is, on a thread, which also computes what
 * the reference device makes of a picture; then the devices show what they make of it. One at a
 * time: a client that goes away ends it.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/access/accounts.h"
#include "daemon/access/descriptors.h"
#include "daemon/api/web-routes.h"
#include "daemon/devices/doctor-report.h"
#include "daemon/devices/doctor.h"
#include "daemon/models/models.h"
#include "daemon/jobs/spool.h"
#include "doctor_host.h"
#include "frames/process/child.h"
#include "host/vendors.h"
#include "model/test-picture.h"
#include "models/builtin.h"
#include "workers/device/checkup.h"

#define VRT_LOG_TOPIC "api"

#define GIB ((double)(INT64_C(1) << 30))

/* A folder with less room is warned of: a job's working files soon take that. */
#define SCARCE_BYTES (INT64_C(2) << 30)

/* A client that waits for an examination. */
struct vrt_doctoring {
    struct vrt_api *api;
    struct vrt_doctor_request request;
    struct vrt_conn_watch watch;
    uv_work_t work;
    struct vrt_doctor *doctor;              /* NULL: the thread looks around */
    bool is_gone;
    int model_fd;                           /* -1: none */
    uid_t uid;
    /* by the work's thread, then the loop's */
    struct vrt_network *network;
    float *reference;                       /* NULL: it could not be computed */
    struct vrt_doctor_report report;
    struct vrt_error error;
};

static void doctoring_free(struct vrt_doctoring *doctoring)
{
    if (doctoring->api->doctoring == doctoring)
        doctoring->api->doctoring = NULL;
    vrt_network_unref(doctoring->network);
    vrt_doctor_report_done(&doctoring->report);
    vrt_closep(&doctoring->model_fd);
    free(doctoring->reference);
    free(doctoring);
}

static void refuse(struct vrt_doctoring *doctoring, const struct vrt_error *error)
{
    if (doctoring->watch.conn)
        vrt_conn_refuse(doctoring->watch.conn, error);
    doctoring_free(doctoring);
}

static void on_done(void *ctx)
{
    struct vrt_doctoring *doctoring = ctx;
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    if (doctoring->watch.conn) {
        int r = doctoring->report.is_short ? vrt_raise(-ENOMEM) :
                vrt_fields_print(vrt_doctor_fields, &doctoring->report, &body);
        vrt_api_reply(doctoring->watch.conn, r, &body, "printing the examination");
    }
    doctoring_free(doctoring);
}

static void on_gone(struct vrt_conn_watch *watch)
{
    struct vrt_doctoring *doctoring = vrt_container_of(watch, struct vrt_doctoring, watch);

    vrt_log_info("an examination is stopped: its client went away");
    doctoring->is_gone = true;
    if (doctoring->doctor)
        vrt_doctor_cancel(doctoring->doctor);
}

static void look_at_folder(const char *id, const char *path, int fd,
                           struct vrt_doctor_report *report)
{
    struct vrt_doctor_line line = { .id = id, .subject = path };
    const int64_t bytes = vrt_spool_free_bytes(fd);

    if (bytes == INT64_MAX) {
        line.status = VRT_DOCTOR_NOTE;
        vrt_doctor_report_add(report, &line, "how much room %s has can't be told", path);
        return;
    }
    if (bytes < SCARCE_BYTES) {
        line.status = bytes > 0 ? VRT_DOCTOR_WARNING : VRT_DOCTOR_FAILED;
        line.cure = "make room on its disk, or give vrtd a folder on another (state_dir in "
                    "vrtd.conf); jobs wait as disk_full where it is full";
    }
    vrt_doctor_report_add(report, &line, "%.1f GiB free in %s", (double)bytes / GIB, path);
}

static void look_at_folders(const struct vrt_api *api, struct vrt_doctor_report *report)
{
    VRT_CLEANUP(vrt_closep) int fd = open(api->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char path[VRT_API_PATH_BYTES];

    look_at_folder("folder.state", api->state_dir, fd, report);
    snprintf(path, sizeof(path), "%s/spool", api->state_dir);
    look_at_folder("folder.spool", path, api->spool_fd, report);
}

/* What keeps videos from all else. */
static void look_at_media(struct vrt_doctor_report *report)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_doctor_line line = { .id = "media.sandbox", .subject = "vrt-media" };
    struct vrt_error error = { .id = NULL };

    const char *missing = vrt_child_new(NULL, &child, &error) == 0 ?
                          vrt_child_missing(child, &error) : NULL;
    if (!missing) {
        line.status = VRT_DOCTOR_FAILED;
        line.cure = "install vrtd again, whole, and start it again";
        vrt_doctor_report_add(report, &line, "no video can be read or written: %s",
                              error.message);
        return;
    }
    if (missing[0]) {
        line.status = VRT_DOCTOR_WARNING;
        line.cure = "Linux 5.13 or later with landlock and seccomp, and a vrtd built with "
                    "libseccomp, lock it in: until then take videos from those you trust alone";
    }
    vrt_doctor_report_add(report, &line, missing[0] ? "videos are decoded with %s" :
                          "videos are decoded where no file, network or process is in "
                          "reach%s", missing);
}

static void name_user(char *name, size_t size)
{
    VRT_CLEANUP(vrt_accounts_freep) struct vrt_accounts *accounts = NULL;

    snprintf(name, size, "%u", (unsigned)geteuid());
    if (vrt_accounts_new(VRT_ACCOUNTS_USERS, &accounts) == 0)
        vrt_accounts_name(accounts, geteuid(), name, size);
}

/* What the process has to do with, beside its devices. */
static void look_around(struct vrt_doctoring *doctoring)
{
    struct vrt_doctor_report *report = &doctoring->report;
    char buffer[VRT_API_DEVICE_BYTES];
    const char *kind = vrt_doctor_kind_of(doctoring->request.device, buffer, sizeof(buffer));
    struct vrt_doctor_host host = {
        .by = VRT_DOCTOR_BY_VRTD,
        .user = report->user,
        .root = "",
        .only = kind,
        .has_backend = vrt_registry_has_backend,
    };

    snprintf(report->version, sizeof(report->version), "%s", VRT_VERSION);
    report->pid = getpid();
    name_user(report->user, sizeof(report->user));
    vrt_doctor_look_at_environment(&host, report);
    if (!kind || vrt_vendor_of_kind(kind))
        vrt_doctor_look_at_gpus(&host, report);
    vrt_doctor_tell_backends(doctoring->api->pool, kind, vrt_doctor_machine_has_gpu, report);
    if (!kind && doctoring->api->state_dir)
        look_at_folders(doctoring->api, report);
    if (!kind)
        look_at_media(report);
}

/* What devices are to make of a picture. That there is no reference is no reason to stop. */
static void refer(struct vrt_doctoring *doctoring)
{
    float *reference = calloc(vrt_test_picture_n_out(doctoring->network), sizeof(float));
    bool by_processor = doctoring->request.model.name[0];
    int r = reference ? vrt_checkup_refer(doctoring->network, by_processor, reference) :
            vrt_raise(-ENOMEM);

    if (r == 0) {
        doctoring->reference = reference;
        return;
    }
    free(reference);
    vrt_log_warning("the reference device failed (%s), ignoring", vrt_backend_strerror(r));
}

/* What devices are to compute. Return: 0; -errno. */
static int find_network(struct vrt_doctoring *doctoring)
{
    struct vrt_models *models = doctoring->api->models;
    const char *name = doctoring->request.model.name;

    if (!name[0])
        return vrt_fold(vrt_models_find(models, vrt_builtin_model_at(0)->name,
                                        &doctoring->network, &doctoring->error));
    int r = doctoring->model_fd >= 0 ?
        vrt_models_read(models, &(struct vrt_models_file){ doctoring->model_fd, name,
                                                           doctoring->uid },
                        &doctoring->network, &doctoring->error) :
        vrt_models_find(models, name, &doctoring->network, &doctoring->error);
    if (r < 0)
        vrt_error_set_field(&doctoring->error, "model");
    return vrt_fold(r);
}

static void on_thread(uv_work_t *work)
{
    struct vrt_doctoring *doctoring = work->data;

    if (find_network(doctoring) < 0)
        return;
    look_around(doctoring);
    refer(doctoring);
}

static void on_looked(uv_work_t *work, int status)
{
    struct vrt_doctoring *doctoring = work->data;
    struct vrt_error error = doctoring->error;
    int r = doctoring->network ? 0 : -ENOENT;

    (void)status;
    if (r == 0 && doctoring->is_gone)
        r = -ECANCELED;
    if (r == 0)
        r = vrt_doctor_new(doctoring->api->pool, &(struct vrt_doctor_params){
            .device = doctoring->request.device,
            .network = doctoring->network,
            .reference = doctoring->reference,
            .model = doctoring->request.model.name,
            .patience_s = doctoring->request.model.name[0] ? VRT_API_DOCTOR_MODEL_PATIENCE_S :
                          VRT_API_DOCTOR_PATIENCE_S,
            .report = &doctoring->report,
            .done = on_done,
            .ctx = doctoring,
        }, &doctoring->doctor, &error);
    if (r < 0)
        refuse(doctoring, &error);
}

void vrt_api_doctor(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct vrt_error error = { .id = NULL };
    struct vrt_doctoring *doctoring;
    int r;

    if (vrt_api_refuse_web_user(call))
        return;
    if (call->api->doctoring) {
        vrt_refuse(&error, -EBUSY, VRT_E(DOCTOR_BUSY), "another examination goes on: try again "
                   "when that is done");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    doctoring = calloc(1, sizeof(*doctoring));
    if (!doctoring) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "examining");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    doctoring->api = call->api;
    doctoring->model_fd = -1;
    doctoring->uid = request->peer->uid;
    doctoring->work.data = doctoring;
    doctoring->watch.gone = on_gone;
    vrt_doctor_report_init(&doctoring->report);
    r = vrt_doctor_request_parse(request->body, request->body_bytes, &doctoring->request, &error);
    if (r == 0)
        r = vrt_descriptors_take(request->files, doctoring->request.model.fd, "model.fd",
                                 &doctoring->model_fd, &error);
    if (r < 0) {
        vrt_refuse_errno(&error, r, "examining");
        vrt_conn_refuse(call->conn, &error);
        doctoring_free(doctoring);
        return;
    }
    call->api->doctoring = doctoring;
    r = uv_queue_work(call->api->loop, &doctoring->work, on_thread, on_looked);
    vrt_assert(r == 0);
    vrt_conn_watch(call->conn, &doctoring->watch);
}
