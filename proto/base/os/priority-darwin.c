/* SPDX-License-Identifier: MIT */

/* What a thread is wanted for, on macOS, which has classes of service for it in place of nice. */

#include <pthread/qos.h>

#include "base/thread.h"

void vrt_thread_set_background(int nice)
{
    (void)nice;
    (void)pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
}

void vrt_thread_set_responsive(void)
{
    (void)pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0);
}

void vrt_thread_share_priority(pid_t process)
{
    /* Another process's threads have classes of their own. */
    (void)process;
}
