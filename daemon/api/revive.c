/* SPDX-License-Identifier: MIT */
/*
 * Resume and retry, which may bring a job's files along. An input is looked at first, on a thread:
 * a wrong one is refused, and the job is as it was, with the place of the right one.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/log.h"
#include "daemon/access/peer.h"
#include "daemon/api/job-routes.h"
#include "daemon/jobs/control.h"
#include "daemon/jobs/job-store.h"
#include "daemon/jobs/queue.h"

#define VRT_LOG_TOPIC "api"

/* What distinguishes the two. */
struct revival {
    int (*call)(struct vrt_control *control, struct vrt_job *job,
                const struct vrt_handover *handover, struct vrt_error *error);
    unsigned states;                        /* that it leads out of: 1U << enum vrt_job_state */
    const char *done;
};

static const struct revival resume = {
    vrt_control_resume,
    1U << VRT_JOB_PAUSED | 1U << VRT_JOB_NEEDS_INPUT | 1U << VRT_JOB_DISK_FULL, "resumed",
};

static const struct revival retry = {
    vrt_control_retry, 1U << VRT_JOB_FAILED | 1U << VRT_JOB_CANCELLED, "tried again",
};

/* A request, from when it came until it is answered. */
struct asking {
    struct vrt_turn turn;                   /* to have its input looked at */
    struct vrt_api *api;
    const struct revival *revival;
    int64_t job_id;                         /* the job itself may be forgotten meanwhile */
    uid_t uid;                              /* of who asks */
    struct vrt_job_files_request request;
    struct vrt_peer_files files;
    struct vrt_conn_watch watch;
    struct vrt_job_wait wait;               /* for the store, when it was done */
    bool is_waiting;                        /* for its turn */
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_fingerprint expected;
    int r;
    struct vrt_error error;                 /* why it is refused */
};

static void begin_looks(struct vrt_api *api);

static void asking_free(struct asking *asking)
{
    vrt_turns_leave(&asking->api->looks, &asking->turn);
    vrt_peer_files_done(&asking->files);
    free(asking);
}

/* "": none that says what a file is, as of folders. */
static const char *ending_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    enum vrt_container container;

    return dot && vrt_container_find(dot + 1, &container) ? dot : "";
}

/* The container was chosen when the job was admitted, and what is stored is written for it. */
static int check_ending(const struct vrt_job *job, const struct vrt_file_ref *output,
                        struct vrt_error *error)
{
    const char *ending = ending_of(job->info.output_name);

    if (!output->name[0] || strcasecmp(ending_of(output->name), ending) == 0)
        return 0;
    vrt_error_set_field(error, "output.name");
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(OUTPUT_CONTAINER),
                      "job %" PRId64 " writes %s: give its output a name that ends so",
                      job->info.id, ending);
}

static void refuse(struct asking *asking, int r)
{
    vrt_refuse_errno(&asking->error, r, "controlling the job");
    if (asking->watch.conn)
        vrt_conn_refuse(asking->watch.conn, &asking->error);
    asking_free(asking);
}

static void on_stored(struct vrt_job_wait *wait, struct vrt_job *job)
{
    struct asking *asking = vrt_container_of(wait, struct asking, wait);

    if (asking->watch.conn)
        vrt_api_reply_job(asking->watch.conn, job, VRT_JOB_VIEW_FULL);
    asking_free(asking);
}

/* Nothing is wrong with the input, or none came. */
static void revive(struct asking *asking, struct vrt_job *job)
{
    int r = asking->revival->call(vrt_queue_control(asking->api->queue), job,
                                  &(struct vrt_handover){
        .request = &asking->request,
        .files = &asking->files,
    }, &asking->error);

    if (r < 0) {
        refuse(asking, r);
        return;
    }
    vrt_log_info("job %" PRId64 ": %s by uid %u", asking->job_id, asking->revival->done,
                 (unsigned)asking->uid);
    asking->wait.stored = on_stored;
    vrt_job_store_await(job, &asking->wait);
}

/* On a thread of libuv's. */
static void look(uv_work_t *work)
{
    struct asking *asking = work->data;
    const struct vrt_file_ref *input = &asking->request.input;

    asking->r = vrt_fingerprint_check(asking->files.fds[input->fd], input->name,
                                      &asking->expected, &asking->error);
}

static void on_looked(uv_work_t *work, int status)
{
    struct asking *asking = work->data;
    struct vrt_api *api = asking->api;
    struct vrt_job *job = NULL;
    int r = asking->r;

    (void)status;
    vrt_turns_leave(&api->looks, &asking->turn);
    if (r == 0 && !api->queue)
        r = vrt_refuse(&asking->error, -ESHUTDOWN, VRT_E(SHUTTING_DOWN), "vrtd is about to end");
    else if (r == 0 && !(job = vrt_jobs_find(vrt_queue_jobs(api->queue), asking->job_id)))
        r = vrt_refuse(&asking->error, -ENOENT, VRT_E(JOB_NOT_FOUND), "no job has the number "
                       "%" PRId64, asking->job_id);
    if (!asking->watch.conn)
        asking_free(asking);
    else if (r < 0)
        refuse(asking, r);
    else
        revive(asking, job);
    begin_looks(api);
}

/* Before it was looked at nothing was done, and nothing will be; afterwards it was. */
static void on_gone(struct vrt_conn_watch *watch)
{
    struct asking *asking = vrt_container_of(watch, struct asking, watch);

    if (asking->is_waiting)
        asking_free(asking);
}

static void begin_looks(struct vrt_api *api)
{
    struct vrt_turn *turn;

    while ((turn = vrt_turns_next(&api->looks))) {
        struct asking *asking = vrt_container_of(turn, struct asking, turn);
        asking->is_waiting = false;
        int r = uv_queue_work(api->loop, &asking->work, look, on_looked);
        vrt_assert(r == 0);
    }
}

/* Whether there is an input to look at, of a job that it matters to. What is in a folder is looked
 * at when the job starts, as its owner may open it. */
static bool needs_look(const struct asking *asking, const struct vrt_job *job)
{
    int64_t fd = asking->request.input.fd;
    struct stat st;

    if (fd != VRT_UNKNOWN && fd < asking->files.n && fstat(asking->files.fds[fd], &st) == 0 &&
        S_ISDIR(st.st_mode))
        return false;
    return (asking->revival->states & 1U << job->info.state) &&
           job->decision->fingerprint.size_bytes && fd != VRT_UNKNOWN && fd < asking->files.n;
}

static void ask(const struct vrt_call *call, const struct revival *revival)
{
    const struct vrt_request *request = call->request;
    struct vrt_job *job = vrt_api_find_own_job(call);
    struct asking *asking = job ? calloc(1, sizeof(*asking)) : NULL;
    struct vrt_error error = { .id = NULL };

    if (!job)
        return;
    if (!asking) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "controlling the job");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    *asking = (struct asking){ .api = call->api, .revival = revival, .job_id = job->info.id,
                               .uid = request->peer->uid, .files = *request->files };
    request->files->n = 0;
    vrt_list_init(&asking->turn.link);
    asking->work.data = asking;
    asking->watch.gone = on_gone;
    vrt_conn_watch(call->conn, &asking->watch);
    int r = vrt_job_files_request_parse(request->body, request->body_bytes, &asking->request,
                                        &asking->error);
    if (r == 0)
        r = vrt_api_check_web_files(request->peer, asking->request.files, &asking->error);
    if (r == 0)
        r = check_ending(job, &asking->request.output, &asking->error);
    if (r < 0) {
        refuse(asking, r);
    } else if (!needs_look(asking, job)) {
        revive(asking, job);
    } else {
        asking->expected = job->decision->fingerprint;
        asking->is_waiting = true;
        vrt_turns_wait(&call->api->looks, &asking->turn, asking->uid);
        begin_looks(call->api);
    }
}

void vrt_api_job_resume(const struct vrt_call *call)
{
    ask(call, &resume);
}

void vrt_api_job_retry(const struct vrt_call *call)
{
    ask(call, &retry);
}
