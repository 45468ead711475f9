/* SPDX-License-Identifier: MIT */

#include "base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/macro.h"

/* A thread that blocks these dies of them without a word of those who report crashes. */
static const int own_faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };

static _Thread_local enum vrt_thread_role thread_role = VRT_THREAD_ANY;

static void leave_signals_to_others(void)
{
    sigset_t blocked;

    sigfillset(&blocked);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(own_faults); i++)
        sigdelset(&blocked, own_faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
}

void vrt_thread_set_role(enum vrt_thread_role role, const char *name)
{
    char short_name[16];

    thread_role = role;
    if (role == VRT_THREAD_WORKER || role == VRT_THREAD_POOL)
        leave_signals_to_others();
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
