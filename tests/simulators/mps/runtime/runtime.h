/* SPDX-License-Identifier: MIT */
#pragma once

/* The Objective-C runtime's own functions, as a client finds them by name. */

#include "tests/simulators/mps/runtime/object.h"

/* Sends a message: looks the method up, and jumps to it with the arguments that it was given; 0
 * where the receiver is nil. In send-*.S. */
void objc_msgSend(void);

/* The selector of this name: always the same. */
mtl_selector sel_registerName(const char *name);

/* A class by its name; nil where there is none. */
mtl_object objc_getClass(const char *name);

/* A pool for what the calling thread autoreleases from now on; and its end, with that of all pools
 * that were pushed after it. */
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);

/* What blocks that capture nothing are of: the first member of their literals points here. */
extern void *_NSConcreteGlobalBlock[32];

/* The methods that all objects have. */
extern const struct mtl_class mtl_root_class;
