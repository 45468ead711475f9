/* SPDX-License-Identifier: MIT */

#include "daemon/service/service.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <uv.h>

#include "base/error.h"
#include "base/thread.h"
#include "daemon/systemd/notify.h"

#define EXTEND_EACH_MS 5000
#define EXTEND_BY_S 20          /* three notices may be lost */
#define DEVICES_S 300           /* a large frame on a slow device takes its time */

struct vrt_service {
    uv_timer_t timer;           /* runs where the watchdog wants it, and at the end */
    int64_t watchdog_ms;        /* 0: there is none */
    bool stopping;
    uint64_t patient_until_ms;
};

static void on_timer(uv_timer_t *timer)
{
    struct vrt_service *service = timer->data;

    if (service->watchdog_ms > 0)
        vrt_notify_alive();
    if (service->stopping && uv_now(timer->loop) < service->patient_until_ms)
        vrt_notify_extend(EXTEND_BY_S);
}

/* Twice within the time that the watchdog grants. */
static uint64_t period_ms(const struct vrt_service *service)
{
    int64_t watchdog_ms = VRT_MAX(service->watchdog_ms / 2, 1);

    if (service->watchdog_ms == 0)
        return EXTEND_EACH_MS;
    return (uint64_t)(service->stopping ? VRT_MIN(watchdog_ms, EXTEND_EACH_MS) : watchdog_ms);
}

int vrt_service_new(struct uv_loop_s *loop, struct vrt_service **ret_service)
{
    struct vrt_service *service = calloc(1, sizeof(*service));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!service)
        return vrt_raise(-ENOMEM);
    uv_timer_init(loop, &service->timer);
    service->timer.data = service;
    service->watchdog_ms = vrt_notify_watchdog_ms();
    *ret_service = service;
    return 0;
}

void vrt_service_ready(struct vrt_service *service)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_notify_ready();
    if (service->watchdog_ms > 0)
        uv_timer_start(&service->timer, on_timer, 0, period_ms(service));
}

void vrt_service_stopping(struct vrt_service *service, int64_t jobs_s)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    service->stopping = true;
    service->patient_until_ms = uv_now(service->timer.loop) +
                                (uint64_t)(jobs_s + DEVICES_S) * 1000;
    vrt_notify_stopping();
    uv_timer_start(&service->timer, on_timer, 0, period_ms(service));
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void vrt_service_close(struct vrt_service *service)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    uv_close((uv_handle_t *)&service->timer, on_closed);
}
