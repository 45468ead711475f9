/* SPDX-License-Identifier: MIT */
#pragma once

/* What Metal limits: the same on all devices. */

#define MTL_MAX_INDEX 30                        /* of a buffer */
#define MTL_MAX_THREADS 1024u                   /* of a threadgroup */
#define MTL_MAX_GROUP_BYTES 32768u              /* of threadgroup memory */
#define MTL_MAX_SET_BYTES 4096u
#define MTL_MAX_COMMAND_BUFFERS 64              /* of a queue, that aren't completed */
