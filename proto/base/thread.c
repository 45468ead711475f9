/* SPDX-License-Identifier: MIT */

#include "base/thread.h"

#include <pthread.h>
#include <stdio.h>

static _Thread_local enum vrt_thread_role thread_role = VRT_THREAD_ANY;

void vrt_thread_set_role(enum vrt_thread_role role, const char *name)
{
    char short_name[16];

    thread_role = role;
    snprintf(short_name, sizeof(short_name), "%s", name);
#ifdef __APPLE__
    pthread_setname_np(short_name);
#else
    pthread_setname_np(pthread_self(), short_name);
#endif
}

enum vrt_thread_role vrt_thread_role(void)
{
    return thread_role;
}
