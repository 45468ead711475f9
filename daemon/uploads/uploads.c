/* SPDX-License-Identifier: MIT */

/*
 *     COMING      pieces are gathered in one buffer, while a thread writes the other
 *     ENDING      the last one is written, and synced
 *     KEPT        until a job takes it
 *     DROPPED     until the thread is done with it
 */

#include "daemon/uploads/uploads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io/write.h"
#include "base/list.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/quota.h"

#define VRT_LOG_TOPIC "spool"

#define BUFFER_BYTES (256 * 1024)               /* gathered before it is written */
#define STEP_BYTES (INT64_C(16) << 20)          /* charged at a time, where nobody knows the size */
#define SPARE_BYTES (INT64_C(64) << 20)         /* that an upload leaves on the disk */

enum upload_state {
    UPLOAD_COMING,
    UPLOAD_ENDING,
    UPLOAD_KEPT,
    UPLOAD_DROPPED,
};

struct vrt_upload {
    struct vrt_uploads *owner;
    struct vrt_list link;
    struct vrt_upload_events events;
    enum upload_state state;
    int64_t id;
    uid_t uid;
    int fd;
    int64_t size_bytes, charged_bytes;
    int64_t kept_ns;                        /* since when */
    bool is_full;                           /* `more` is waited for */
    bool is_working;                        /* the thread has `written` */
    struct vrt_buf gathered;
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_buf written;
    int64_t offset;                         /* where that goes */
    bool is_last;
    int r;
};

struct vrt_uploads {
    struct vrt_uploads_params params;
    struct vrt_list all;                    /* of struct vrt_upload.link */
    int64_t last_id;
};

static void print_name(int64_t id, char name[VRT_UPLOAD_NAME_BYTES])
{
    snprintf(name, VRT_UPLOAD_NAME_BYTES, "upload-%" PRId64, id);
}

int vrt_uploads_new(const struct vrt_uploads_params *params, struct vrt_uploads **ret_uploads)
{
    struct vrt_uploads *uploads = calloc(1, sizeof(*uploads));

    if (!uploads)
        return vrt_raise(-ENOMEM);
    uploads->params = *params;
    vrt_list_init(&uploads->all);
    *ret_uploads = uploads;
    return 0;
}

void vrt_uploads_set_max(struct vrt_uploads *uploads, int64_t max_bytes)
{
    uploads->params.max_bytes = max_bytes;
}

static void give_back(struct vrt_upload *upload, int64_t bytes)
{
    if (bytes > 0)
        vrt_quota_give_amount(upload->owner->params.quota, VRT_QUOTA_SPOOL_BYTES, upload->uid,
                              bytes);
}

/* Frees it; its file goes, unless it is another's by now. */
static void upload_free(struct vrt_upload *upload, bool removes)
{
    char name[VRT_UPLOAD_NAME_BYTES];

    vrt_assert(!upload->is_working);
    vrt_list_remove(&upload->link);
    print_name(upload->id, name);
    if (removes && unlinkat(upload->owner->params.spool_fd, name, 0) < 0 && errno != ENOENT)
        vrt_log_warning("%s stays in the spool folder: %s, ignoring", name, strerror(errno));
    vrt_closep(&upload->fd);
    give_back(upload, upload->charged_bytes);
    vrt_buf_done(&upload->gathered);
    vrt_buf_done(&upload->written);
    free(upload);
}

struct vrt_uploads *vrt_uploads_free(struct vrt_uploads *uploads)
{
    struct vrt_upload *upload;

    if (!uploads)
        return NULL;
    VRT_LIST_FOREACH(upload, &uploads->all, link)
        upload_free(upload, true);
    free(uploads);
    return NULL;
}

/* Whether so much more may come: of the user, of one upload, of the disk. Charges it. */
static int charge(struct vrt_upload *upload, int64_t bytes, struct vrt_error *error)
{
    const struct vrt_uploads_params *params = &upload->owner->params;

    if (upload->charged_bytes + bytes > params->max_bytes)
        return vrt_refuse(error, vrt_raise(-EFBIG), VRT_E(UPLOAD_TOO_LARGE), "an upload may have "
                          "%" PRId64 " bytes at most ([web] max_upload in vrtd.conf)",
                          params->max_bytes);
    if (bytes + SPARE_BYTES > params->free_bytes(params->spool_fd))
        return vrt_refuse(error, vrt_raise(-ENOSPC), VRT_E(SPOOL_FULL), "the disk of vrtd's state "
                          "folder has no room for it");
    if (bytes == 0)
        return 0;
    int r = vrt_quota_take_amount(params->quota, VRT_QUOTA_SPOOL_BYTES, upload->uid, bytes);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EDQUOT), VRT_E(SPOOL_QUOTA), "your working files take "
                          "as much as you may have (spool_per_user), or would with this one: "
                          "remove jobs from the list whose results you have");
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "uploading");
    upload->charged_bytes += bytes;
    return 0;
}

/* Return: 0; -errno with `error`. */
static int make_file(struct vrt_upload *upload, struct vrt_error *error)
{
    char name[VRT_UPLOAD_NAME_BYTES];

    print_name(upload->id, name);
    upload->fd = openat(upload->owner->params.spool_fd, name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return upload->fd < 0 ? vrt_refuse_errno(error, vrt_raise(-errno), "uploading") : 0;
}

int vrt_upload_begin(struct vrt_uploads *uploads, uid_t uid, int64_t size_bytes,
                     const struct vrt_upload_events *events, struct vrt_upload **ret_upload,
                     struct vrt_error *error)
{
    struct vrt_upload *upload;
    int n = 0;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_uploads_expire(uploads);
    VRT_LIST_FOREACH(upload, &uploads->all, link)
        n += upload->uid == uid;
    if (n >= VRT_API_UPLOADS_PER_UID_MAX)
        return vrt_refuse(error, vrt_raise(-EDQUOT), VRT_E(UPLOAD_TOO_MANY), "%d uploads of yours "
                          "come or wait for their jobs: submit those first, or remove them", n);
    upload = calloc(1, sizeof(*upload));
    if (!upload)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "uploading");
    *upload = (struct vrt_upload){
        .owner = uploads,
        .events = *events,
        .id = ++uploads->last_id,
        .uid = uid,
        .fd = -1,
    };
    upload->work.data = upload;
    vrt_list_append(&uploads->all, &upload->link);
    int r = charge(upload, VRT_MAX(size_bytes, 0), error);
    if (r == 0)
        r = make_file(upload, error);
    if (r < 0) {
        upload_free(upload, upload->fd >= 0);
        return vrt_fold(r);
    }
    *ret_upload = upload;
    return 0;
}

int64_t vrt_upload_id(const struct vrt_upload *upload)
{
    return upload->id;
}

/* On a thread. */
static void write_piece(uv_work_t *work)
{
    struct vrt_upload *upload = work->data;
    const struct vrt_buf *written = &upload->written;

    if (upload->r == 0)
        upload->r = vrt_write_at(upload->fd, written->data, written->size_bytes, upload->offset);
    upload->offset += (int64_t)written->size_bytes;
    if (upload->r == 0 && upload->is_last && fsync(upload->fd) < 0)
        upload->r = -errno;
}

static void on_written(uv_work_t *work, int status);

/* Has the thread write what was gathered, if it has nothing to do. */
static void go_on(struct vrt_upload *upload)
{
    const bool is_last = upload->state == UPLOAD_ENDING;

    if (upload->is_working || (!is_last && upload->gathered.size_bytes < BUFFER_BYTES))
        return;
    const struct vrt_buf empty = upload->written;
    upload->written = upload->gathered;
    upload->gathered = empty;
    upload->is_last = is_last;
    upload->is_working = true;
    int r = uv_queue_work(upload->owner->params.loop, &upload->work, write_piece, on_written);
    vrt_assert(r == 0);
}

static int refuse_unwritten(int r, struct vrt_error *error)
{
    return vrt_refuse(error, r, vrt_is_disk_full(r) ? VRT_E(SPOOL_FULL) : VRT_E(INTERNAL),
                      "what was uploaded can't be written: %s", strerror(-r));
}

/* The last byte is on the disk, or not all could be written. */
static void end(struct vrt_upload *upload)
{
    const struct vrt_upload_events events = upload->events;
    struct vrt_error error = { .id = NULL };
    const int r = upload->r;

    if (r < 0) {
        refuse_unwritten(r, &error);
        upload_free(upload, true);
        events.done(events.ctx, -1, &error);
        return;
    }
    vrt_closep(&upload->fd);
    upload->fd = -1;
    upload->state = UPLOAD_KEPT;
    upload->kept_ns = vrt_clock_now_ns();
    /* No more than it is. */
    give_back(upload, upload->charged_bytes - upload->size_bytes);
    upload->charged_bytes = upload->size_bytes;
    events.done(events.ctx, upload->size_bytes, NULL);
}

static void on_written(uv_work_t *work, int status)
{
    struct vrt_upload *upload = work->data;

    (void)status;
    upload->is_working = false;
    vrt_buf_consume(&upload->written, upload->written.size_bytes);
    if (upload->state == UPLOAD_DROPPED) {
        upload_free(upload, true);
    } else if (upload->is_last || (upload->r < 0 && upload->state == UPLOAD_ENDING)) {
        end(upload);
    } else {
        go_on(upload);
        /* Where it failed, the next piece is refused. */
        if (upload->is_full && upload->state == UPLOAD_COMING) {
            upload->is_full = false;
            upload->events.more(upload->events.ctx);
        }
    }
}

int vrt_upload_write(struct vrt_upload *upload, const void *data, size_t size,
                     struct vrt_error *error)
{
    const int64_t needed = upload->size_bytes + (int64_t)size - upload->charged_bytes;

    vrt_assert(upload->state == UPLOAD_COMING);
    /* While the thread works, `r` is the thread's; a later piece learns of it. */
    if (!upload->is_working && upload->r < 0)
        return refuse_unwritten(upload->r, error);
    int r = needed > 0 ? charge(upload, VRT_MAX(needed, STEP_BYTES), error) : 0;
    /* The last step may be too large where the rest isn't. */
    if (r < 0 && needed < STEP_BYTES) {
        *error = (struct vrt_error){ .id = NULL };
        r = charge(upload, needed, error);
    }
    if (r < 0)
        return vrt_fold(r);
    if (vrt_buf_append(&upload->gathered, data, size) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "uploading");
    upload->size_bytes += (int64_t)size;
    go_on(upload);
    upload->is_full = upload->is_working && upload->gathered.size_bytes >= BUFFER_BYTES;
    return upload->is_full;
}

void vrt_upload_finish(struct vrt_upload *upload)
{
    vrt_assert(upload->state == UPLOAD_COMING);
    upload->state = UPLOAD_ENDING;
    go_on(upload);
}

void vrt_upload_drop(struct vrt_upload *upload)
{
    upload->state = UPLOAD_DROPPED;
    if (!upload->is_working)
        upload_free(upload, true);
}

/* The upload of this number that is kept, or NULL. */
static struct vrt_upload *find(const struct vrt_uploads *uploads, int64_t id)
{
    struct vrt_upload *upload;

    VRT_LIST_FOREACH(upload, &uploads->all, link)
        if (upload->id == id && upload->state == UPLOAD_KEPT)
            return upload;
    return NULL;
}

static int refuse_absent(int64_t id, struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(UPLOAD_NOT_FOUND), "no upload of yours has "
                      "the number %" PRId64 ": a job has taken it, or it came over an hour ago",
                      id);
}

int vrt_uploads_open(const struct vrt_uploads *uploads, int64_t id, uid_t uid, int *ret_fd,
                     struct vrt_error *error)
{
    const struct vrt_upload *upload = find(uploads, id);
    char name[VRT_UPLOAD_NAME_BYTES];

    if (!upload || upload->uid != uid)
        return refuse_absent(id, error);
    print_name(id, name);
    int fd = openat(uploads->params.spool_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "opening what was uploaded");
    *ret_fd = fd;
    return 0;
}

int vrt_uploads_look(const struct vrt_uploads *uploads, int64_t id,
                     char ret_name[VRT_UPLOAD_NAME_BYTES], int64_t *ret_bytes,
                     struct vrt_error *error)
{
    const struct vrt_upload *upload = find(uploads, id);

    if (!upload)
        return refuse_absent(id, error);
    print_name(id, ret_name);
    *ret_bytes = upload->size_bytes;
    return 0;
}

void vrt_uploads_forget(struct vrt_uploads *uploads, int64_t id)
{
    struct vrt_upload *upload = find(uploads, id);

    if (upload)
        upload_free(upload, false);
}

int vrt_uploads_remove(struct vrt_uploads *uploads, int64_t id, uid_t uid)
{
    struct vrt_upload *upload = find(uploads, id);

    if (!upload || upload->uid != uid)
        return vrt_raise(-ENOENT);
    upload_free(upload, true);
    return 0;
}

void vrt_uploads_expire(struct vrt_uploads *uploads)
{
    const int64_t since_ns = vrt_clock_now_ns() - VRT_API_UPLOAD_KEPT_S * VRT_NS_PER_S;
    struct vrt_upload *upload;

    VRT_LIST_FOREACH(upload, &uploads->all, link)
        if (upload->state == UPLOAD_KEPT && upload->kept_ns < since_ns)
            upload_free(upload, true);
}
