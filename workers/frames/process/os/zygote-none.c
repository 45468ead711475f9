/* SPDX-License-Identifier: MIT */

/* Where nobody asks for it: a new process would not be vrtd's to wait for. */

#include "frames/process/zygote.h"

#include <errno.h>

#include "base/error.h"

int vrt_zygote_run(int socket)
{
    (void)socket;
    return vrt_raise(-ENOSYS);
}
