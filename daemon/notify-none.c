/* SPDX-License-Identifier: MIT */
/* No service manager is known to this build. */

#include "daemon/notify.h"

int vrt_notify_take_socket(int *ret_fd, struct vrt_error *error)
{
    (void)error;
    *ret_fd = -1;
    return 0;
}

void vrt_notify_ready(void)
{
}

void vrt_notify_stopping(void)
{
}

void vrt_notify_status(const char *text)
{
    (void)text;
}
