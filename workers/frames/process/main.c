/* SPDX-License-Identifier: MIT */

/* vrt-media: gives up what it can, then does what vrtd asks until that is gone. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames/hwaccel/hwaccel.h"
#include "frames/process/sandbox.h"
#include "frames/process/serve.h"
#include "frames/process/zygote.h"

/* A decoder in the midst of a film would go on for minutes after vrtd was ended. */
static void *watch(void *ctx)
{
    struct pollfd peer = { .fd = VRT_SERVE_SOCKET, .events = POLLRDHUP };
    int r;

    (void)ctx;
    do
        r = poll(&peer, 1, -1);
    while (r < 0 && errno == EINTR);
    _exit(EXIT_SUCCESS);
}

/* The hardware of that name; OFF: there is none. */
static enum vrt_hwaccel hwaccel_of(const char *name)
{
    for (int i = VRT_HWACCEL_AUTO + 1; i < VRT_HWACCEL_COUNT; i++)
        if (strcmp(vrt_hwaccel_names[i], name) == 0)
            return (enum vrt_hwaccel)i;
    return VRT_HWACCEL_OFF;
}

int main(int argc, char **argv)
{
    pthread_t watcher;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "vrt-media: vrtd starts this program, for each video that it reads\n");
        return 2;
    }
    if (strcmp(argv[1], VRT_VERSION) != 0)
        return VRT_SERVE_STATUS_OTHER;
    if (argc == 3 && strcmp(argv[2], VRT_ZYGOTE) == 0) {
        if (vrt_zygote_run(VRT_SERVE_SOCKET) < 0)
            return EXIT_FAILURE;
        /* For ps. */
        memset(argv[2], 0, strlen(argv[2]));
    }
    const enum vrt_hwaccel hwaccel = argc == 3 ? hwaccel_of(argv[2]) : VRT_HWACCEL_OFF;
    if (hwaccel)
        vrt_hwaccel_prepare(hwaccel);
    const char *missing = vrt_sandbox_enter(hwaccel ? VRT_SANDBOX_DEVICES : VRT_SANDBOX_PLAIN);
    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        return EXIT_FAILURE;
    return vrt_serve_all(VRT_SERVE_SOCKET, missing) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
