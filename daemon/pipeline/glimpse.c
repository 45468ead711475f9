/* SPDX-License-Identifier: MIT */

#include "daemon/pipeline/glimpse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/pipeline/glimpse-draw.h"
#include "workers/device/shard.h"

#define VRT_LOG_TOPIC "pipeline"

struct vrt_glimpse {
    struct uv_loop_s *loop;
    int64_t wanted_ns, begun_ns;            /* when it was asked for, and begun, last; 0: never */
    int64_t number;
    struct vrt_buf png;
    bool is_drawing, is_dropped;
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_frame *before, *after;
    struct vrt_buf drawn;
    int r;
};

int vrt_glimpse_new(struct uv_loop_s *loop, struct vrt_glimpse **ret_glimpse)
{
    struct vrt_glimpse *glimpse = calloc(1, sizeof(*glimpse));

    if (!glimpse)
        return vrt_raise(-ENOMEM);
    glimpse->loop = loop;
    glimpse->work.data = glimpse;
    *ret_glimpse = glimpse;
    return 0;
}

struct vrt_glimpse *vrt_glimpse_free(struct vrt_glimpse *glimpse)
{
    if (!glimpse)
        return NULL;
    /* Its thread is done with it in a moment. */
    glimpse->is_dropped = true;
    if (glimpse->is_drawing)
        return NULL;
    vrt_buf_done(&glimpse->png);
    vrt_buf_done(&glimpse->drawn);
    free(glimpse);
    return NULL;
}

static void draw(uv_work_t *work)
{
    struct vrt_glimpse *glimpse = work->data;

    glimpse->r = vrt_glimpse_draw(glimpse->before, glimpse->after, &glimpse->drawn);
    glimpse->before = vrt_frame_unref(glimpse->before);
    glimpse->after = vrt_frame_unref(glimpse->after);
}

static void on_drawn(uv_work_t *work, int status)
{
    struct vrt_glimpse *glimpse = work->data;

    (void)status;
    glimpse->is_drawing = false;
    if (glimpse->is_dropped) {
        vrt_glimpse_free(glimpse);
        return;
    }
    if (glimpse->r < 0) {
        vrt_log_debug("no preview of a running job: %s", strerror(-glimpse->r));
        vrt_buf_done(&glimpse->drawn);
        return;
    }
    vrt_buf_done(&glimpse->png);
    glimpse->png = glimpse->drawn;
    glimpse->drawn = (struct vrt_buf){ .limit_bytes = 0 };
    glimpse->number = vrt_clock_now_ns();
}

static bool is_wanted(const struct vrt_glimpse *glimpse, int64_t now_ns)
{
    return glimpse && glimpse->wanted_ns && !glimpse->is_drawing &&
           now_ns - glimpse->wanted_ns < VRT_GLIMPSE_WANTED_S * VRT_NS_PER_S &&
           (!glimpse->begun_ns ||
            now_ns - glimpse->begun_ns >= VRT_GLIMPSE_PERIOD_MS * VRT_NS_PER_MS);
}

void vrt_glimpse_note(struct vrt_glimpse *glimpse, const struct vrt_shard_frames *in,
                      const struct vrt_shard_frames *out)
{
    const int64_t now_ns = vrt_clock_now_ns();
    const bool makes_others = in->times > 1;
    const int middle = in->n / 2;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!is_wanted(glimpse, now_ns))
        return;
    /* Where rates change not every frame is shown: those would be of two moments. */
    if (makes_others && in->first)
        return;
    /* Of frames that are shared by several clips this shard has but a part. */
    for (int i = 0; i < in->n; i++) {
        const int at = makes_others ? 0 : (middle + i) % in->n;
        struct vrt_frame *before = in->in[makes_others ? vrt_shard_at(in) : at];
        if (!before || !out->out[at])
            continue;
        glimpse->before = vrt_frame_ref(before);
        glimpse->after = vrt_frame_ref(out->out[at]);
        glimpse->begun_ns = now_ns;
        glimpse->is_drawing = true;
        int r = uv_queue_work(glimpse->loop, &glimpse->work, draw, on_drawn);
        vrt_assert(r == 0);
        return;
    }
}

bool vrt_glimpse_look(struct vrt_glimpse *glimpse, struct vrt_glimpse_picture *ret_picture)
{
    if (!glimpse)
        return false;
    glimpse->wanted_ns = vrt_clock_now_ns();
    *ret_picture = (struct vrt_glimpse_picture){ &glimpse->png, glimpse->number };
    return glimpse->number > 0;
}
