/* SPDX-License-Identifier: MIT */

/*
 * A pipeline's life: made, admitted, started, ended. Its parts do the work, each with a struct and
 * a header of its own; they call back here, and none of them knows another but progress:
 *
 *     decoding        the thread that looks at the files, then reads them ahead
 *     feasibility     which devices can do the job, and in what sizes
 *     shards          what the pool hands out to devices, between decoder and encoder
 *     encoding        the thread that makes segments, and the file
 *     progress        what is told of it all
 *
 * Before anything flows the encode thread says which of the segments that were given can be gone on
 * from. What the decoder reads of what is in them, to begin where it must, never gets here.
 * Whoever finishes something comes to step(), which does what is due then, and gives each stage
 * what it has room for: so a slow encoder stops the devices, and those the decoder.
 *
 * A failure only marks the pipeline as closing; it has ended when the last of what it had under way
 * has come back, and so nothing ever comes back to a pipeline that is gone. Success goes the same
 * way: the finished file marks the pipeline as closing, without an error.
 *
 * Under way are at most the decode and encode threads, and shards with devices: end() comes when
 * there is none of these. Nobody waits for any of them. The threads look at `cancel`, a device
 * between tiles at its task's own flag; one that hangs is abandoned by the pool, which returns its
 * shards as lost. What comes back late finds its part stopped, and is dropped.
 *
 * fail() takes no step: its callers go on to use the pipeline, which a step may free. If nothing
 * comes back to the pipeline after it, the pool's tick steps it.
 */

#include "daemon/pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/pipeline/asked.h"
#include "daemon/pipeline/decoding.h"
#include "daemon/pipeline/encoding.h"
#include "daemon/pipeline/feasibility.h"
#include "daemon/pipeline/shards.h"

struct vrt_pipeline {
    struct vrt_pool *pool;
    enum vrt_pipeline_phase phase;

    struct vrt_asked asked;
    void (*admitted)(void *ctx, const struct vrt_error *error);
    void (*done)(void *ctx, const struct vrt_error *error);
    void (*segment_done)(void *ctx, const struct vrt_segment_record *segment);
    void (*segments_cut)(void *ctx, int64_t first_number);
    int64_t (*size_bytes_max)(void *ctx);
    void *ctx;

    struct vrt_job_check check;     /* of the files: run by the decode thread */
    struct vrt_pipeline_info info;
    struct vrt_feasibility feasibility;
    struct vrt_decoding decoding;
    struct vrt_shards shards;
    struct vrt_encoding encoding;
    struct vrt_progress progress;

    atomic_bool cancel;                 /* read by both threads */
    int64_t parked_ns;                  /* when told to end with the segment in work; 0: not */
    bool is_closing;                    /* nothing new is begun */
    struct vrt_error error;             /* message "": none */
};

/* Some videos are made for an encoder to dawdle over: who waits for a segment's end waits so long
 * for what it has in hand; longer where the run has stored none, for it must get on. */
#define DAWDLING_NS(n_made) (((n_made) ? 120 : 600) * VRT_NS_PER_S)

/* Nothing new is begun, and what is under way is told to stop. Calls nobody back. It is done at
 * each step of the end: success has set is_closing alone, and once more does no harm. The flags are
 * for failures: a pipeline that has succeeded has nothing under way that should break off. */
static void close_down(struct vrt_pipeline *pipeline)
{
    const bool has_failed = pipeline->error.message[0];

    pipeline->is_closing = true;
    if (has_failed)
        atomic_store(&pipeline->cancel, true);
    vrt_shards_close(&pipeline->shards, has_failed);
    vrt_decoding_stop(&pipeline->decoding);
    vrt_encoding_stop(&pipeline->encoding);
    vrt_feasibility_forsake(&pipeline->feasibility);
}

/* Ends it with `error` (the first one counts), as soon as nothing is out any more. */
static void fail(struct vrt_pipeline *pipeline, const struct vrt_error *error)
{
    if (pipeline->phase == VRT_PIPELINE_ENDED || pipeline->is_closing)
        return;
    pipeline->error = *error;
    /* Nothing is under way: there is no thread, and no device knows of it. */
    if (pipeline->phase == VRT_PIPELINE_ADMITTED) {
        pipeline->phase = VRT_PIPELINE_ENDED;
        vrt_shards_leave(&pipeline->shards);
        return;
    }
    close_down(pipeline);
}

/* Likewise, by what a part of it says. */
static void on_failed(void *ctx, int r, const struct vrt_error *why)
{
    struct vrt_error error = *why;

    r = vrt_refuse_errno(&error, r, "the job");
    (void)r;
    fail(ctx, &error);
}

/* The last step: nothing of the pipeline is under way any more. The callback may free it. */
static void end(struct vrt_pipeline *pipeline)
{
    bool was_admitting = pipeline->phase == VRT_PIPELINE_ADMITTING;
    const struct vrt_error *error = pipeline->error.message[0] ? &pipeline->error : NULL;

    pipeline->phase = VRT_PIPELINE_ENDED;
    pipeline->progress.ended_ns = vrt_clock_now_ns();
    vrt_shards_release_devices(&pipeline->shards);
    vrt_shards_leave(&pipeline->shards);
    (was_admitting ? pipeline->admitted : pipeline->done)(pipeline->ctx, error);
}

/* Phase 1: the files were found good. The devices are asked. */
static void on_admitted(void *ctx, int r, const struct vrt_error *why)
{
    struct vrt_pipeline *pipeline = ctx;
    struct vrt_job_check *check = &pipeline->check;
    struct vrt_error error = *why;

    if (r == 0 && pipeline->is_closing)
        return;
    if (r == 0) {
        /* A queue of jobs with one model holds it once. */
        check->network = vrt_pool_share_network(pipeline->pool, check->network);
        pipeline->shards.job.network = check->network;
        r = vrt_feasibility_begin(&pipeline->feasibility, check, &error);
    }
    if (r < 0)
        on_failed(pipeline, r, &error);
    else
        vrt_progress_warn_all(&pipeline->progress, &check->warnings);
}

/* Asks the devices, and ends the admission when all have answered. `admitted` may free the
 * pipeline, which a thread that is still ending would come back to. */
static void admit_step(struct vrt_pipeline *pipeline)
{
    struct vrt_error error = { .id = NULL };
    int r = vrt_feasibility_step(&pipeline->feasibility, &error);

    if (r == VRT_FEASIBILITY_ASKING || pipeline->decoding.thread)
        return;
    if (r < 0) {
        on_failed(pipeline, r, &error);
        end(pipeline);
        return;
    }
    vrt_feasibility_tell(&pipeline->feasibility, &pipeline->check, &pipeline->info);
    pipeline->progress.told.frames_total = pipeline->info.frames_total;
    pipeline->progress.told.is_estimated = pipeline->info.is_estimated;
    pipeline->progress.clip_frames = pipeline->info.recipe.clip_frames;
    pipeline->progress.admitted = pipeline->info.devices;
    pipeline->phase = VRT_PIPELINE_ADMITTED;
    pipeline->admitted(pipeline->ctx, NULL);
}

/* Has the video decoded for the shards from this one on, or surveyed. */
static void start_decoding(struct vrt_pipeline *pipeline, int64_t first_shard)
{
    const bool is_survey = pipeline->asked.part.kind == VRT_PIPELINE_SURVEY;
    const struct vrt_cutter_params cutter = {
        .rule = pipeline->feasibility.spec->rule,
        .scene_threshold = pipeline->info.recipe.scene_threshold,
    };
    int r = vrt_decoding_start(&pipeline->decoding, &cutter, first_shard,
                               &pipeline->encoding.behind,
                               is_survey ? pipeline->info.recipe.segment_frames : 0);

    if (r < 0)
        on_failed(pipeline, r, &(struct vrt_error){ .id = NULL });
}

static void on_resumed(void *ctx, int64_t n_good, bool is_joined)
{
    struct vrt_pipeline *pipeline = ctx;
    const struct vrt_pipeline_part *part = &pipeline->asked.part;
    const int64_t first_shard = pipeline->encoding.next_shard;
    const bool has_all = part->kind == VRT_PIPELINE_JOIN &&
                         n_good == (int64_t)pipeline->encoding.params.n_segments;

    if (n_good < (int64_t)pipeline->encoding.params.n_segments && pipeline->segments_cut)
        pipeline->segments_cut(pipeline->ctx, n_good);
    vrt_shards_skip(&pipeline->shards, first_shard);
    /* The finished file is there, or all it is made of: no frame is left to restore. */
    if (is_joined || has_all)
        vrt_decoding_skip(&pipeline->decoding, is_joined ? -1 : part->span_ns);
    if (is_joined || has_all || pipeline->is_closing)
        return;
    if (part->kind == VRT_PIPELINE_JOIN) {
        fail(pipeline, &(struct vrt_error){
            .id = "cluster.segment",
            .message = "a segment of the result is damaged or missing: it has to be made again",
        });
        return;
    }
    start_decoding(pipeline, first_shard);
    if (!first_shard && !pipeline->shards.is_held && !pipeline->is_closing)
        vrt_shards_prepare_devices(&pipeline->shards);
}

static int on_decoded(void *ctx, struct vrt_shard_frames *frames)
{
    struct vrt_pipeline *pipeline = ctx;

    return vrt_shards_add(&pipeline->shards, frames);
}

/* Ends a pipeline that is to be parked. */
static void end_parked(struct vrt_pipeline *pipeline)
{
    const struct vrt_error parked = {
        .id = "job.parked",
        .message = "the job was put by: it goes on later where it is now",
    };

    fail(pipeline, &parked);
}

static void on_finished(void *ctx)
{
    struct vrt_pipeline *pipeline = ctx;

    /* Who cancels comes too late: the file is there, and is said to be. */
    pipeline->error = (struct vrt_error){ .id = NULL };
    pipeline->is_closing = true;
}

static void on_surveyed(void *ctx, const struct vrt_segment_plan *segment)
{
    struct vrt_pipeline *pipeline = ctx;
    const struct vrt_pipeline_part *part = &pipeline->asked.part;

    if (pipeline->is_closing)
        return;
    if (segment)
        pipeline->progress.told.frames_done += segment->n_frames;
    part->surveyed(part->ctx, segment, pipeline->decoding.span_ns);
    if (!segment)
        on_finished(pipeline);
}

static void on_segment_done(void *ctx, const struct vrt_segment_record *segment)
{
    struct vrt_pipeline *pipeline = ctx;

    if (pipeline->segment_done)
        pipeline->segment_done(pipeline->ctx, segment);
    if (pipeline->asked.part.kind == VRT_PIPELINE_RANGE &&
        segment->number + 1 >= pipeline->asked.part.end_segment) {
        on_finished(pipeline);
        return;
    }
    /* The encoder may have begun the next one: less is lost than by waiting for its end. */
    if (pipeline->parked_ns && pipeline->phase == VRT_PIPELINE_RUNNING)
        end_parked(pipeline);
}

/* Ends a pipeline that is to be parked where nothing is lost. */
static void park(struct vrt_pipeline *pipeline)
{
    const struct vrt_encoding *encoding = &pipeline->encoding;
    const struct vrt_shards *shards = &pipeline->shards;
    bool is_between = encoding->n_open == 0 && encoding->n_tasks == 0;
    /* Nobody knows when a device will be there that could complete the segment. */
    bool is_stuck = !shards->n_running &&
                    !(shards->devices & vrt_pool_devices(pipeline->pool).ready);
    bool is_dawdling = encoding->n_tasks > 0 &&
                       vrt_clock_now_ns() - VRT_MAX(encoding->moved_ns, pipeline->parked_ns) >
                       DAWDLING_NS(encoding->n_made);

    if (pipeline->parked_ns && pipeline->phase == VRT_PIPELINE_RUNNING &&
        (is_between || is_stuck || is_dawdling || shards->is_held || encoding->is_resuming))
        end_parked(pipeline);
}

static void feed_encoder(struct vrt_pipeline *pipeline)
{
    while (vrt_encoding_has_room(&pipeline->encoding) &&
           vrt_shards_next_is_restored(&pipeline->shards)) {
        struct vrt_shard_frames frames;
        int64_t shard = vrt_shards_take_restored(&pipeline->shards, &frames);
        vrt_encoding_add(&pipeline->encoding, shard, &frames);
    }
}

/* Once every frame is encoded: completes the last segment, then makes the file. */
static void finish(struct vrt_pipeline *pipeline)
{
    const struct vrt_decoding *decoding = &pipeline->decoding;
    struct vrt_encoding *encoding = &pipeline->encoding;

    if (!decoding->at_end || pipeline->shards.next_encode < pipeline->shards.next_index ||
        encoding->n_tasks > 0 || decoding->n_tasks > 0 || encoding->is_finishing)
        return;
    pipeline->phase = VRT_PIPELINE_FINISHING;
    vrt_encoding_finish(encoding, pipeline->progress.frames_decoded, decoding->span_ns,
                        pipeline->size_bytes_max ? pipeline->size_bytes_max(pipeline->ctx) : 0);
}

/* Tells the pool, and those who watch, how it stands. */
static void describe(struct vrt_pipeline *pipeline)
{
    struct vrt_shards *shards = &pipeline->shards;

    shards->at_end = pipeline->decoding.at_end;
    shards->n_elsewhere = pipeline->decoding.n_tasks + pipeline->encoding.n_tasks;
    vrt_progress_note_idle(&pipeline->progress, shards->is_held && !shards->n_running &&
                                                !shards->n_elsewhere);
    vrt_shards_describe(shards);
    if (shards->n_ready > 0 || shards->job.is_held_up)
        vrt_pool_wake(pipeline->pool);
}

/* Phase 2: keeps decoder, devices and encoder busy. Each of them may close the pipeline. */
static void flow(struct vrt_pipeline *pipeline)
{
    struct vrt_error error = { .id = NULL };

    park(pipeline);
    if (!pipeline->is_closing)
        vrt_shards_keep_held(&pipeline->shards);
    feed_encoder(pipeline);
    vrt_decoding_feed(&pipeline->decoding,
                      vrt_shards_room(&pipeline->shards, pipeline->encoding.n_tasks));
    if (!pipeline->is_closing && !pipeline->encoding.is_resuming)
        finish(pipeline);
    if (!pipeline->is_closing && pipeline->phase == VRT_PIPELINE_RUNNING &&
        vrt_shards_check_devices(&pipeline->shards, &error) < 0)
        fail(pipeline, &error);
    if (!pipeline->is_closing)
        describe(pipeline);
}

static bool is_flowing(const struct vrt_pipeline *pipeline)
{
    return pipeline->phase == VRT_PIPELINE_RUNNING || pipeline->phase == VRT_PIPELINE_FINISHING;
}

/* Takes the next step that is due: in any phase, after anything happened. It may call back, and
 * the callback may free the pipeline: nothing of it may be touched afterwards. */
static void step(void *ctx)
{
    struct vrt_pipeline *pipeline = ctx;

    if (!pipeline->is_closing) {
        if (pipeline->phase == VRT_PIPELINE_ADMITTING)
            admit_step(pipeline);
        else if (is_flowing(pipeline))
            flow(pipeline);
        return;
    }
    close_down(pipeline);
    if (pipeline->phase != VRT_PIPELINE_ENDED && !pipeline->decoding.thread &&
        !pipeline->encoding.thread && !pipeline->shards.n_running)
        end(pipeline);
}

/* As step(), but it never calls back. */
static void go_on(struct vrt_pipeline *pipeline)
{
    if (is_flowing(pipeline) && !pipeline->is_closing)
        flow(pipeline);
}

/* The queue cancels its jobs before the pool stops; this is for those that nobody cancelled. */
static void on_stopped(void *ctx)
{
    const struct vrt_error error = {
        .id = "job.interrupted",
        .message = "the daemon was stopped before the job's end",
    };

    fail(ctx, &error);
}

static void fill_admission(struct vrt_pipeline *pipeline, const struct vrt_pipeline_params *params)
{
    pipeline->check = (struct vrt_job_check){
        .files = {
            .input_fd = pipeline->asked.input_fd, .output_fd = pipeline->asked.output_fd,
            .pipe_fd = pipeline->asked.pipe_fd, .is_piped = pipeline->asked.pipe_fd >= 0,
            .input_name = pipeline->asked.input_name, .output_name = pipeline->asked.output_name,
            .reference_fd = pipeline->asked.reference_fd,
            .reference_name = pipeline->asked.reference_name,
            .access = params->access, .may_replace = params->may_replace,
        },
        .model_fd = pipeline->asked.model_fd, .spool_fd = pipeline->asked.spool_fd,
        .model_name = pipeline->asked.model_name,
        .settings = &pipeline->asked.settings,
        .has_recipe = params->recipe,
        .has_fingerprint = params->fingerprint,
        .network_checksum = params->network_checksum,
        .cancel = &pipeline->cancel, .is_alpha_pass = params->is_alpha_pass,
        .network = params->network ? vrt_network_ref(params->network) : NULL,
    };
    if (params->recipe)
        pipeline->check.recipe = *params->recipe;
    if (params->fingerprint)
        pipeline->check.fingerprint = *params->fingerprint;
}

/* The parts, all of them idle; of those that were not made init is what done expects. */
static int init_parts(struct vrt_pipeline *pipeline, const struct vrt_pipeline_params *params)
{
    struct vrt_pool *pool = pipeline->pool;
    struct vrt_progress *progress = &pipeline->progress;

    vrt_progress_init(progress, pool, pipeline->asked.job_id, params->totals);
    vrt_feasibility_init(&pipeline->feasibility, &(struct vrt_feasibility_params){
        .pool = pool, .progress = progress, .job_id = pipeline->asked.job_id,
        .request = pipeline->asked.request, .fallback = params->fallback, .uid = params->uid,
        .has_recipe = params->recipe, .wants_smaller = params->wants_smaller,
        .needs_none = pipeline->asked.part.kind == VRT_PIPELINE_JOIN,
        .wants_speed = params->wants_speed, .answered = step, .ctx = pipeline,
    });
    pipeline->decoding.params = (struct vrt_decoding_params){
        .outbox = vrt_pool_outbox(pool), .progress = progress,
        .job_id = pipeline->asked.job_id,
        .check = &pipeline->check, .cancel = &pipeline->cancel,
        .admitted = on_admitted, .decoded = on_decoded, .surveyed = on_surveyed,
        .failed = on_failed, .changed = step, .ctx = pipeline,
    };
    vrt_shards_init(&pipeline->shards, &(struct vrt_shards_params){
        .pool = pool, .progress = progress, .job_id = pipeline->asked.job_id,
        .priority = params->priority, .uid = params->uid, .glimpse = params->glimpse,
        .changed = step, .stopped = on_stopped, .ctx = pipeline,
    });
    return vrt_encoding_init(&pipeline->encoding, &(struct vrt_encoding_params){
        .outbox = vrt_pool_outbox(pool), .progress = progress, .job_id = pipeline->asked.job_id,
        .check = &pipeline->check, .cancel = &pipeline->cancel,
        .segments = params->segments, .n_segments = params->n_segments,
        .part = &pipeline->asked.part, .resumed = on_resumed, .segment_done = on_segment_done,
        .finished = on_finished, .failed = on_failed, .changed = step, .ctx = pipeline,
    });
}

int vrt_pipeline_new(struct vrt_pool *pool, const struct vrt_pipeline_params *params,
                     struct vrt_pipeline **ret_pipeline, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_pipeline_freep) struct vrt_pipeline *pipeline = NULL;
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_pool_is_stopping(pool))
        return vrt_refuse(error, -ESHUTDOWN, "shutting_down", "the daemon is about to stop");
    pipeline = calloc(1, sizeof(*pipeline));
    if (!pipeline)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the job");
    pipeline->pool = pool;
    atomic_init(&pipeline->cancel, false);
    pipeline->admitted = params->admitted;
    pipeline->done = params->done;
    pipeline->segment_done = params->segment_done;
    pipeline->segments_cut = params->segments_cut;
    pipeline->size_bytes_max = params->size_bytes_max;
    pipeline->ctx = params->ctx;
    r = vrt_asked_init(&pipeline->asked, params);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the job's files");
    r = init_parts(pipeline, params);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the job");
    fill_admission(pipeline, params);
    r = vrt_decoding_admit(&pipeline->decoding);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the job's thread");
    *ret_pipeline = VRT_STEAL(pipeline);
    return 0;
}

void vrt_pipeline_start(struct vrt_pipeline *pipeline)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (pipeline->phase == VRT_PIPELINE_ENDED)
        return;
    vrt_assert(pipeline->phase == VRT_PIPELINE_ADMITTED &&
               (pipeline->asked.output_fd >= 0 || pipeline->check.is_alpha_pass));
    pipeline->phase = VRT_PIPELINE_RUNNING;
    pipeline->progress.started_ns = vrt_clock_now_ns();
    vrt_shards_begin(&pipeline->shards, &(struct vrt_shards_work){
        .spec = pipeline->feasibility.spec,
        .devices = pipeline->info.devices,
        .tile_flops = pipeline->feasibility.tile_flops,
        .reproducible = pipeline->info.reproducible,
    });
    if (pipeline->asked.part.kind == VRT_PIPELINE_SURVEY) {
        start_decoding(pipeline, 0);
        return;
    }
    int r = vrt_encoding_start(&pipeline->encoding, pipeline->asked.spool_fd,
                               pipeline->info.recipe.segment_frames);
    if (r < 0) {
        struct vrt_error error = { .id = NULL };
        r = vrt_refuse_errno(&error, r, "the job's threads");
        (void)r;
        fail(pipeline, &error);
    }
}

void vrt_pipeline_stop(struct vrt_pipeline *pipeline, const struct vrt_error *reason)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    fail(pipeline, reason);
}

void vrt_pipeline_cancel(struct vrt_pipeline *pipeline)
{
    const struct vrt_error error = { .id = "job.cancelled", .message = "the job was cancelled" };

    vrt_pipeline_stop(pipeline, &error);
}

void vrt_pipeline_park(struct vrt_pipeline *pipeline)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!pipeline->parked_ns)
        pipeline->parked_ns = vrt_clock_now_ns();
    if (pipeline->phase <= VRT_PIPELINE_ADMITTED)
        end_parked(pipeline);
    go_on(pipeline);
}

void vrt_pipeline_hold(struct vrt_pipeline *pipeline, bool held)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pipeline->shards.is_held = held;
    go_on(pipeline);
}

void vrt_pipeline_committed(struct vrt_pipeline *pipeline, int64_t number)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_encoding_committed(&pipeline->encoding, number);
}

void vrt_pipeline_set_priority(struct vrt_pipeline *pipeline, int priority)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    pipeline->shards.job.priority = priority;
    vrt_pool_wake(pipeline->pool);
}

struct vrt_pipeline *vrt_pipeline_free(struct vrt_pipeline *pipeline)
{
    if (!pipeline)
        return NULL;
    vrt_assert(!pipeline->decoding.thread && !pipeline->encoding.thread &&
               !pipeline->shards.n_running && !pipeline->shards.n_shards);
    vrt_shards_leave(&pipeline->shards);
    vrt_encoding_done(&pipeline->encoding);
    vrt_feasibility_done(&pipeline->feasibility);
    vrt_job_check_done(&pipeline->check);
    vrt_progress_done(&pipeline->progress);

    vrt_asked_done(&pipeline->asked);
    free(pipeline);
    return NULL;
}

const struct vrt_pipeline_info *vrt_pipeline_info(const struct vrt_pipeline *pipeline)
{
    return &pipeline->info;
}

void vrt_pipeline_snapshot(const struct vrt_pipeline *pipeline,
                           struct vrt_pipeline_snapshot *ret_snapshot)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_progress_snapshot(&pipeline->progress, pipeline->phase, ret_snapshot);
    ret_snapshot->frames_compared = atomic_load(&pipeline->encoding.compared);
}

const char *vrt_pipeline_warning(const struct vrt_pipeline *pipeline, size_t i)
{
    return pipeline->progress.warnings[i];
}
