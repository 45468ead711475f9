/* SPDX-License-Identifier: MIT */
/* No service manager that is told anything: none at all, or launchd. */

#include "daemon/systemd/notify.h"

int vrt_notify_store_max(void)
{
    return -1;
}

int vrt_notify_store(const char *name, int fd)
{
    (void)name;
    (void)fd;
    return VRT_NOTIFY_E_NOBODY;
}

int vrt_notify_unstore(const char *name)
{
    (void)name;
    return VRT_NOTIFY_E_NOBODY;
}

void vrt_notify_ready(void)
{
}

void vrt_notify_reloading(void)
{
}

void vrt_notify_stopping(void)
{
}

void vrt_notify_extend(int seconds)
{
    (void)seconds;
}

void vrt_notify_status(const char *text)
{
    (void)text;
}

int64_t vrt_notify_watchdog_ms(void)
{
    return 0;
}

void vrt_notify_alive(void)
{
}
