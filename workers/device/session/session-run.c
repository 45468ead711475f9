/* SPDX-License-Identifier: MIT */

/*
 * Frames' way over a device: planes -> RGB -> network, tile by tile -> RGB -> planes. Everything
 * stays on the device between the two copies of planes; RGB is f32 and whole, so that tiles are
 * views into it and need no copies of their own. Where frames are cut, a tile's result goes through
 * a buffer of its own: from there a copy leaves out its cut, or it is added up with its neighbours'
 * (frames/clips/tile.h). All frames of a clip are on the device at once, but for their planes.
 */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "frames/frame.h"
#include "frames/clips/picture.h"
#include "workers/device/session/evidence.h"
#include "workers/device/session/session-impl.h"

/* Where frame `d` of the slot's side begins. */
static size_t planes_offset(const struct vrt_session *session, int side, int d)
{
    return (size_t)d * session->layout.planes_bytes[side];
}

/* Where frame `d` of the slot's side is on the host. */
static uint8_t *host_of(const struct vrt_session *session, const struct vrt_session_slot *slot,
                        int side, int d)
{
    return vrt_staging_host(slot->planes[side]) + planes_offset(session, side, d);
}

/* The same as a frame, of the planes that `like` has, without gaps between their rows. */
static void view_on_host(const struct vrt_session *session, const struct vrt_session_slot *slot,
                         int side, int d, const struct vrt_frame *like, struct vrt_frame *ret_view)
{
    uint8_t *host = host_of(session, slot, side, d);

    *ret_view = (struct vrt_frame){ .format = like->format };
    for (int p = 0; p < vrt_frame_format_n_planes(&like->format); p++) {
        struct vrt_plane *plane = &ret_view->planes[p];
        *plane = like->planes[p];
        plane->data = host + session->layout.plane_offset[side][p];
        plane->stride_bytes = (size_t)plane->width *
                              (size_t)vrt_frame_format_sample_bytes(&like->format);
    }
}

/* Bindings of a frame's planes. Return: how many. */
static int bind_planes(const struct vrt_session *session, const struct vrt_session_slot *slot,
                       int side, int d, struct vrt_binding *bindings)
{
    const struct vrt_frame_format *format =
        side == VRT_SESSION_IN ? &session->spec->in : &session->spec->out;
    int n = vrt_frame_format_n_planes(format);

    for (int p = 0; p < n; p++)
        bindings[p] = (struct vrt_binding){
            vrt_staging_buffer(slot->planes[side]),
            planes_offset(session, side, d) + session->layout.plane_offset[side][p],
        };
    return n;
}

/* Every submission's way, so that all of them can be timed, and stopped. */
static int submit(struct vrt_session *session, struct vrt_graph_executor *executor,
                  const struct vrt_binding *bindings)
{
    return vrt_graph_executor_submit_watched(executor, bindings, &session->watch);
}

/* Frame `d` of the clip's RGB. */
static struct vrt_binding frame_of(const struct vrt_session *session, int side, int d)
{
    return (struct vrt_binding){ session->rgb[side],
                                (size_t)d * session->layout.frame_bytes[side] };
}

/* Frame `from` of the slot becomes frame `d` of the clip. */
static int submit_to_rgb(struct vrt_session *session, const struct vrt_session_slot *slot, int from,
                         int d)
{
    struct vrt_binding bindings[VRT_FRAME_MAX_PLANES + 1];
    int n = bind_planes(session, slot, VRT_SESSION_IN, from, bindings);

    bindings[n] = frame_of(session, VRT_SESSION_IN, d);
    return submit(session, session->executors[VRT_SESSION_TO_RGB], bindings);
}

static bool is_between(const struct vrt_session *session)
{
    return vrt_clip_is_between(&session->spec->rule);
}

bool vrt_session_makes(const struct vrt_job_spec *spec, int depth, int place)
{
    return place == 0 ? !spec->passes : depth > 0;
}

/* Where result `d` stands between the clip's frame, 0, and the next. Where none are made, all are
 * what that frame becomes. */
static int place_of(const struct vrt_session *session, const struct vrt_session_clip *clip, int d)
{
    return clip->depth ? clip->first + d * VRT_MAX(session->spec->rule.every, 1) : d;
}

/* The first place of those that the network makes. */
static int first_made(const struct vrt_session *session, const struct vrt_session_clip *clip)
{
    return clip->first ? clip->first : VRT_MAX(session->spec->rule.every, 1);
}

/* What becomes of the clip: so many frames. */
static int n_results(const struct vrt_session *session, const struct vrt_session_clip *clip)
{
    return is_between(session) ? clip->n_between : clip->n;
}

/* Which of the clip's frames result `d` is compared with; where it is between two, that and the
 * next. */
static int original(const struct vrt_session *session, const struct vrt_session_clip *clip, int d)
{
    return is_between(session) ? (clip->n - 1) / 2 : d;
}

/* The RGB of result `d`: of those that follow a frame, this is the first. */
static struct vrt_binding result_of(const struct vrt_session *session,
                                    const struct vrt_session_clip *clip, int d)
{
    if (!is_between(session))
        return frame_of(session, VRT_SESSION_OUT, d);
    return place_of(session, clip, d) == 0 ?
               frame_of(session, VRT_SESSION_IN, original(session, clip, 0)) :
               frame_of(session, VRT_SESSION_OUT, d - (clip->first == 0));
}

/* Result `d` of the clip becomes frame `to` of the slot. */
static int submit_to_planes(struct vrt_session *session, const struct vrt_session_slot *slot, int d,
                            int to)
{
    struct vrt_binding bindings[VRT_FRAME_MAX_PLANES + 2] = { result_of(session, &slot->clip, d) };
    int n = 1 + bind_planes(session, slot, VRT_SESSION_OUT, to, bindings + 1);

    bindings[n] = (struct vrt_binding){ vrt_staging_buffer(slot->planes[VRT_SESSION_OUT]),
                                        planes_offset(session, VRT_SESSION_OUT, to) };
    return submit(session, session->executors[VRT_SESSION_TO_PLANES], bindings);
}

/* Bytes from the beginning of an RGB frame of this width to a pixel of it. */
static size_t pixel_offset(int x, int y, int width)
{
    return ((size_t)y * (size_t)width + (size_t)x) * 3 * sizeof(float);
}

/* Leaves out the cut of the tile's n frames on their way to theirs. */
static int submit_copy(struct vrt_session *session, int i, int j, int n)
{
    const struct vrt_job_spec *spec = session->spec;
    int scale = vrt_network_info(spec->network)->scale;
    int cut_x = vrt_tile_cut(&spec->grid.x, i), cut_y = vrt_tile_cut(&spec->grid.y, j);
    int x = vrt_tile_origin(&spec->grid.x, i) + cut_x;
    int y = vrt_tile_origin(&spec->grid.y, j) + cut_y;
    const size_t from = pixel_offset(cut_x * scale, cut_y * scale, spec->grid.x.size * scale);
    const size_t to = pixel_offset(x * scale, y * scale, spec->out.width);
    int variant = (cut_x ? 1 : 0) + (cut_y ? 2 : 0), r = 0;

    for (int d = 0; r == 0 && d < n; d++) {
        struct vrt_binding place = frame_of(session, VRT_SESSION_OUT, d);
        place.offset_bytes += to;
        const struct vrt_binding bindings[2] = {
            { session->tile, (size_t)d * session->layout.tile_frame_bytes + from },
            place,
        };
        r = submit(session, session->executors[VRT_SESSION_COPY + variant], bindings);
    }
    return r;
}

/* Adds the tile's n frames, by its weights, to what its neighbours have made of them. */
static int submit_blend(struct vrt_session *session, int i, int j, int n)
{
    const struct vrt_job_spec *spec = session->spec;
    const struct vrt_tile_axis *x = &spec->grid.x, *y = &spec->grid.y;
    int scale = vrt_network_info(spec->network)->scale;
    size_t row_bytes = (size_t)y->size * (size_t)scale * sizeof(float);
    size_t column_bytes = (size_t)x->size * (size_t)scale * sizeof(float);
    size_t at = pixel_offset(vrt_tile_origin(x, i) * scale, vrt_tile_origin(y, j) * scale,
                             spec->out.width);
    int r = 0;

    for (int d = 0; r == 0 && d < n; d++) {
        struct vrt_binding place = frame_of(session, VRT_SESSION_OUT, d);
        place.offset_bytes += at;
        const struct vrt_binding bindings[] = {
            { session->tile, (size_t)d * session->layout.tile_frame_bytes },
            { session->weights, session->layout.rows_offset + (size_t)j * row_bytes },
            { session->weights, session->layout.columns_offset + (size_t)i * column_bytes },
            place,
            place,
        };
        r = submit(session, session->executors[VRT_SESSION_BLEND], bindings);
    }
    return r;
}

/* Runs the network over the tile in column `i`, row `j` of the grid. */
static int submit_tile(struct vrt_session *session, struct vrt_graph_executor *network, int i,
                       int j)
{
    const struct vrt_job_spec *spec = session->spec;
    int x = vrt_tile_origin(&spec->grid.x, i), y = vrt_tile_origin(&spec->grid.y, j);
    struct vrt_binding in = { session->rgb[VRT_SESSION_IN], pixel_offset(x, y, spec->in.width) };
    /* A whole frame is written where it belongs, without a copy. */
    struct vrt_binding out = { session->tile ? session->tile : session->rgb[VRT_SESSION_OUT], 0 };
    int r = 0;

    /* A gray network restores red, green and blue one after the other. */
    for (int c = 0; r == 0 && c < 3; c += vrt_network_info(spec->network)->in_channels) {
        struct vrt_binding bindings[2] = { in, out };
        bindings[0].offset_bytes += (size_t)c * sizeof(float);
        bindings[1].offset_bytes += (size_t)c * sizeof(float);
        r = submit(session, network, bindings);
    }
    return r;
}

/* Adds the time since *start_ns to *time_ns, and begins anew. */
static void count(int64_t *start_ns, int64_t *time_ns)
{
    int64_t now_ns = vrt_clock_now_ns();

    *time_ns += now_ns - *start_ns;
    *start_ns = now_ns;
}

static int clear(struct vrt_session *session, int n)
{
    int r = 0;

    for (int d = 0; r == 0 && d < n && session->executors[VRT_SESSION_CLEAR]; d++) {
        struct vrt_binding frame = frame_of(session, VRT_SESSION_OUT, d);
        r = submit(session, session->executors[VRT_SESSION_CLEAR], &frame);
    }
    return r;
}

/* Makes sums of tiles their means. */
static int divide(struct vrt_session *session, int n)
{
    int r = 0;

    for (int d = 0; r == 0 && d < n && session->executors[VRT_SESSION_DIVIDE]; d++) {
        struct vrt_binding frame = frame_of(session, VRT_SESSION_OUT, d);
        const struct vrt_binding bindings[] = {
            frame,
            { session->weights, session->layout.totals_offset[0] },
            { session->weights, session->layout.totals_offset[1] },
            frame,
        };
        r = submit(session, session->executors[VRT_SESSION_DIVIDE], bindings);
    }
    return r;
}

/* Takes strength from the network's results. */
static int mix(struct vrt_session *session, int n)
{
    int r = 0;

    for (int d = 0; r == 0 && d < n && session->executors[VRT_SESSION_MIX]; d++) {
        struct vrt_binding frame = frame_of(session, VRT_SESSION_OUT, d);
        const struct vrt_binding bindings[] = {
            frame_of(session, VRT_SESSION_IN, d),
            frame,
            frame,
        };
        r = submit(session, session->executors[VRT_SESSION_MIX], bindings);
    }
    return r;
}

static int submit_network(struct vrt_session *session, const struct vrt_session_clip *clip)
{
    const struct vrt_tile_grid *grid = &session->spec->grid;
    const int n = is_between(session) ? clip->n_between - (clip->first == 0) : clip->n;
    struct vrt_graph_executor *network = NULL;

    if (clip->depth == 0)
        return 0;
    int r = vrt_session_network(session, clip->depth,
                                is_between(session) ? first_made(session, clip) : 1, &network);
    if (r != 0)
        return r;
    r = clear(session, n);
    /* Row by row, left to right: a tile relies on its later neighbours to overwrite its end, and
     * sums depend on their order. */
    for (int j = 0; r == 0 && j < grid->y.n; j++) {
        for (int i = 0; r == 0 && i < grid->x.n; i++) {
            if (!session->watch.go_on(session->watch.ctx))
                return vrt_raise(-ECANCELED);
            r = submit_tile(session, network, i, j);
            if (r == 0 && session->weights)
                r = submit_blend(session, i, j, n);
            else if (r == 0 && session->tile)
                r = submit_copy(session, i, j, n);
        }
    }
    return r != 0 ? r : divide(session, n);
}

/* The network's results, as strong as they are wanted. */
static int submit_results(struct vrt_session *session, const struct vrt_session_clip *clip)
{
    int r = session->spec->recipe.strength > 0 ? submit_network(session, clip) : 0;

    return r != 0 ? r : mix(session, clip->n);
}

static bool is_wanted(const struct vrt_session *session, const struct vrt_session_clip *clip, int d)
{
    return is_between(session) ? vrt_session_makes(session->spec, clip->depth,
                                                   place_of(session, clip, d)) :
                                 clip->out[d] || clip->shared[d];
}

/* All that the device does of a clip, whose planes are on their way. */
static int submit_clip(struct vrt_session *session, struct vrt_session_slot *slot)
{
    const struct vrt_session_clip *clip = &slot->clip;
    int n_wanted = 0, r = 0;

    session->watch = slot->watch;
    for (int d = 0; r == 0 && d < VRT_MAX(clip->depth, 1); d++)
        r = submit_to_rgb(session, slot, vrt_clip_source(clip->n, d), d);
    if (r == 0)
        r = submit_results(session, clip);
    for (int d = 0; r == 0 && d < n_results(session, clip); d++)
        if (is_wanted(session, clip, d))
            r = submit_to_planes(session, slot, d, n_wanted++);
    if (r != 0)
        return r;
    return vrt_staging_pull(session->device, slot->planes[VRT_SESSION_OUT],
                            planes_offset(session, VRT_SESSION_OUT, n_wanted));
}

/* The k-th clip in flight. */
static struct vrt_session_slot *slot_at(struct vrt_session *session, int k)
{
    return &session->slots[(session->first + k) % session->n_slots];
}

/* Clips share the frames of RGB: where pixels of them are wanted, the next one waits for these. */
static void submit_ready(struct vrt_session *session)
{
    bool is_free = true;

    for (int k = 0; k < session->n_begun && is_free; k++) {
        struct vrt_session_slot *slot = slot_at(session, k);
        if (!slot->is_submitted)
            slot->result = submit_clip(session, slot);
        slot->is_submitted = true;
        is_free = !slot->has_pixels || slot->result != 0;
    }
}

static int upload(struct vrt_session *session, const struct vrt_session_slot *slot)
{
    struct vrt_staging *staging = slot->planes[VRT_SESSION_IN];

    for (int i = 0; i < slot->clip.n; i++) {
        struct vrt_frame view;
        view_on_host(session, slot, VRT_SESSION_IN, i, slot->clip.in[i], &view);
        vrt_frame_copy_samples(slot->clip.in[i], &view);
    }
    return vrt_staging_push(session->device, staging,
                            planes_offset(session, VRT_SESSION_IN, slot->clip.n));
}

int vrt_session_depth(const struct vrt_session *session)
{
    return session->depth;
}

int vrt_session_n_begun(const struct vrt_session *session)
{
    return session->n_begun;
}

bool vrt_session_has_room(const struct vrt_session *session)
{
    return session->n_begun < session->n_slots;
}

/* After a failure: what was submitted before must be done with the buffers before they are used
 * again. */
static void come_to_rest(struct vrt_session *session)
{
    int ignored = vrt_device_finish(session->device);

    (void)ignored;
}

int vrt_session_begin(struct vrt_session *session, const struct vrt_session_clip *clip,
                      const struct vrt_graph_executor_watch *watch,
                      struct vrt_session_times *times)
{
    struct vrt_session_slot *slot = slot_at(session, session->n_begun);
    int64_t start_ns = vrt_clock_now_ns();

    vrt_assert(vrt_session_has_room(session));
    slot->clip = *clip;
    slot->watch = *watch;
    slot->is_submitted = slot->has_pixels = false;
    for (int d = 0; d < clip->n; d++)
        slot->has_pixels |= clip->shared[d] != NULL;
    slot->result = upload(session, slot);
    count(&start_ns, &times->upload_ns);
    session->n_begun++;
    if (slot->result == 0)
        submit_ready(session);
    count(&start_ns, &times->compute_ns);
    if (slot->result != 0) {
        session->n_begun--;
        come_to_rest(session);
        return vrt_fold(slot->result);
    }
    return 0;
}

/* What is wrong with result `d`, of which these are the means. Return: 0; -EINVAL. */
static int judge(const struct vrt_session *session, const struct vrt_session_clip *clip, int d,
                 const struct vrt_means means[2], enum vrt_flaw *ret_flaw)
{
    const struct vrt_means *in = &means[0], *out = &means[1];
    struct vrt_means next;

    if (!is_between(session) || place_of(session, clip, d) == 0) {
        *ret_flaw = vrt_means_judge(in, out);
        return 0;
    }
    int r = vrt_means_of_input(clip->in[original(session, clip, d) + 1], &next);
    if (r != 0)
        return vrt_fold(r);
    *ret_flaw = vrt_means_judge_between(in, &next, out);
    return 0;
}

/* What became result `d`, which is frame `from` of the slot: as samples, or as pixels. */
static int download(const struct vrt_session *session, const struct vrt_session_slot *slot, int d,
                    int from, struct vrt_session_evidence *evidence)
{
    const struct vrt_session_clip *clip = &slot->clip;
    struct vrt_frame *frame = clip->out[d], view;
    struct vrt_means means[2], *in = &means[0], *out = &means[1];
    float range[VRT_SESSION_N_RANGE];
    int r = vrt_means_of_input(clip->in[original(session, clip, d)], in);

    if (r != 0)
        return vrt_fold(r);
    memcpy(range, host_of(session, slot, VRT_SESSION_OUT, from), sizeof(range));
    if (frame) {
        view_on_host(session, slot, VRT_SESSION_OUT, from, frame, &view);
        vrt_frame_copy_samples(&view, frame);
        r = vrt_means_of_result(frame, in, out);
    } else {
        vrt_means_of_pixels(clip->shared[d], in, out);
    }
    if (r != 0)
        return vrt_fold(r);
    evidence->min = range[0];
    evidence->max = range[1];
    evidence->n_not_finite = range[2];
    return vrt_fold(judge(session, clip, d, means, &evidence->flaw));
}

static int download_pixels(struct vrt_session *session, const struct vrt_session_clip *clip)
{
    int r = 0;

    for (int d = 0; r == 0 && d < clip->n; d++) {
        const struct vrt_binding frame = frame_of(session, VRT_SESSION_OUT, d);
        if (clip->shared[d])
            r = vrt_buffer_read(session->device, frame.buffer, frame.offset_bytes,
                                clip->shared[d]->rgb, session->layout.frame_bytes[VRT_SESSION_OUT]);
    }
    return r;
}

static int download_all(struct vrt_session *session, const struct vrt_session_slot *slot,
                        struct vrt_session_evidence *evidence)
{
    int n_wanted = 0, r = 0;

    for (int d = 0; r == 0 && d < n_results(session, &slot->clip); d++) {
        evidence[d] = (struct vrt_session_evidence){ 0 };
        if (is_wanted(session, &slot->clip, d))
            r = download(session, slot, d, n_wanted++, &evidence[d]);
    }
    return r;
}

int vrt_session_end(struct vrt_session *session, struct vrt_session_times *times,
                    struct vrt_session_evidence *evidence)
{
    struct vrt_session_slot *slot = slot_at(session, 0);
    int64_t start_ns = vrt_clock_now_ns();

    vrt_assert(session->n_begun > 0);
    int r = slot->result;
    if (r == 0)
        r = vrt_staging_wait(session->device, slot->planes[VRT_SESSION_OUT]);
    count(&start_ns, &times->compute_ns);
    if (r == 0 && evidence && slot->has_pixels)
        r = download_pixels(session, &slot->clip);
    session->first = (session->first + 1) % session->n_slots;
    session->n_begun--;
    if (r != 0)
        come_to_rest(session);
    count(&start_ns, &times->download_ns);
    /* Before the host goes on: the device waits for this. */
    submit_ready(session);
    count(&start_ns, &times->compute_ns);
    if (r == 0 && evidence)
        r = download_all(session, slot, evidence);
    count(&start_ns, &times->download_ns);
    return r != 0 ? vrt_fold(r) : 0;
}
