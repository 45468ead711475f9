/* SPDX-License-Identifier: MIT */

#include "daemon/service/reload.h"

#include <stdlib.h>
#include <uv.h>

#include "base/log.h"
#include "base/thread.h"
#include "daemon/systemd/notify.h"

#define VRT_LOG_TOPIC "reload"

struct vrt_reload {
    struct vrt_reload_params params;
    uv_work_t work;
    bool is_reading, again, stopped;
    /* by the work's thread, then the loop's */
    struct vrt_conf next;
    struct vrt_error error;
    int result;
};

static void read_again(uv_work_t *work)
{
    struct vrt_reload *reload = work->data;

    reload->result = reload->params.read(reload->params.read_ctx, &reload->next, &reload->error);
}

static void tell_option(void *ctx, const struct vrt_conf_option *option)
{
    (void)ctx;
    if (option->flags & VRT_CONF_LIVE)
        vrt_log_info("[%s] %s has changed", option->section, option->key);
    else
        vrt_log_warning("[%s] %s has changed, which waits for the next start", option->section,
                        option->key);
}

static void begin(struct vrt_reload *reload);

static void on_read(uv_work_t *work, int status)
{
    struct vrt_reload *reload = work->data;
    int r = reload->result;

    (void)status;
    reload->is_reading = false;
    if (reload->stopped)
        return;
    if (r == 0) {
        size_t n = vrt_conf_apply(reload->params.conf, &reload->next, tell_option, NULL);
        vrt_log_info("the configuration was read again: %zu options differ", n);
        reload->params.changed(reload->params.ctx);
        vrt_notify_ready();
    } else {
        vrt_refuse_errno(&reload->error, r, "reading the configuration");
        vrt_log_error("the configuration stays as it was: %s", reload->error.message);
        vrt_notify_ready();
        vrt_notify_status("The configuration was changed and is wrong: see the log");
    }
    if (reload->again)
        begin(reload);
}

static void begin(struct vrt_reload *reload)
{
    const struct vrt_reload_params *params = &reload->params;

    vrt_notify_reloading();
    reload->again = false;
    reload->error = (struct vrt_error){ .id = NULL };
    reload->work.data = reload;
    int r = uv_queue_work(params->loop, &reload->work, read_again, on_read);
    vrt_assert(r == 0);
    reload->is_reading = true;
}

void vrt_reload_begin(struct vrt_reload *reload)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    if (reload->stopped)
        return;
    /* What is being read may be the former file: it may have been read before it was changed. */
    if (reload->is_reading)
        reload->again = true;
    else
        begin(reload);
}

void vrt_reload_stop(struct vrt_reload *reload)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    reload->stopped = true;
}

int vrt_reload_new(const struct vrt_reload_params *params, struct vrt_reload **ret_reload)
{
    struct vrt_reload *reload = calloc(1, sizeof(*reload));

    if (!reload)
        return vrt_raise(-ENOMEM);
    reload->params = *params;
    *ret_reload = reload;
    return 0;
}

struct vrt_reload *vrt_reload_free(struct vrt_reload *reload)
{
    vrt_assert(!reload || !reload->is_reading);
    free(reload);
    return NULL;
}
