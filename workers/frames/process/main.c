/* SPDX-License-Identifier: MIT */

/* vrt-media: gives up what it can, then does what vrtd asks until that is gone. */

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "frames/process/sandbox.h"
#include "frames/process/serve.h"

/* A decoder in the midst of a film would go on for minutes after vrtd was ended. */
static void *watch(void *ctx)
{
    struct pollfd peer = { .fd = VRT_SERVE_SOCKET, .events = POLLRDHUP };

    (void)ctx;
    while (poll(&peer, 1, -1) < 0 || !(peer.revents & (POLLRDHUP | POLLHUP | POLLERR)))
        continue;
    _exit(EXIT_SUCCESS);
}

int main(void)
{
    const char *missing = vrt_sandbox_enter();
    pthread_t watcher;

    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        return EXIT_FAILURE;
    return vrt_serve_all(VRT_SERVE_SOCKET, missing) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
