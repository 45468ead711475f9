/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests of the simulated Mac: a client of it, and processes of their own
 *
 * Each case is a process, since settings are read once, and what is said at its end is part of what
 * is tested. The library is the one that VRT_MPS_LIBRARY names.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simulators/common/child.h"
#include "tests/unit/test.h"

typedef struct objc_object *id;
typedef const struct objc_selector *sel;

struct size {
    unsigned long width, height, depth;
};

/* How a case ends, for bench_run(). */
enum bench_end {
    BENCH_WELL = 0,
    BENCH_LEAKS = 70,
    BENCH_DEAD = -SIGABRT,
};

/* Metal's functions, as bench_open() finds them. */
struct bench_api {
    void (*send)(void);
    id (*get_class)(const char *name);
    sel (*selector)(const char *name);
    void *(*push)(void);
    void (*pop)(void *pool);
    id (*copy_all)(void);
};
extern struct bench_api api;

/* Sends a message: the result's type, those of the arguments behind receiver and selector, then
 * receiver, selector and arguments. */
#define SEND(returns, types, receiver, message, ...)                        \
    (((returns (*)(id, sel BENCH_TYPES types))api.send)(receiver, api.selector(message), \
                                                        ##__VA_ARGS__))
#define BENCH_TYPES(...) , ##__VA_ARGS__
#define SEND0(returns, receiver, message) \
    (((returns (*)(id, sel))api.send)(receiver, api.selector(message)))

/* What most cases begin with: the library, a pool, the devices. */
struct bench {
    id all;
    id devices[8];
    unsigned n_devices;
    void *pool;
};

void bench_open(struct bench *bench);
void bench_close(struct bench *bench);

/* A string of the pool's. */
id bench_string(const char *text);

/* The text of an NSString, or of an NSError. */
const char *bench_text(id string);
const char *bench_reason(id error);

#define SHARED 0

/* Objects to be released: a buffer that has these numbers (NULL: none); a library, precise and of
 * this version (0: as it is without options); a pipeline. All expect to succeed. */
id bench_buffer(id device, size_t n_bytes, const void *data);
id bench_library(id device, const char *text, unsigned version);
id bench_pipeline(id device, const char *text, const char *kernel);

/* Likewise, or NULL and why. */
id bench_try_library(id device, const char *text, unsigned version, const char **ret_why);

/* A dispatch: `n_buffers` at the first indices, bytes at the next one (NULL: none). */
struct bench_dispatch {
    id pipeline;
    id buffers[8];
    unsigned n_buffers;
    const void *bytes;
    size_t n_bytes;
    struct size groups, threads;
};

/* Encodes it, with an encoder of its own. */
void bench_encode(id command_buffer, const struct bench_dispatch *dispatch);

/* Commits, waits, and returns MTLCommandBufferError's number, and why, if that isn't NULL. */
long bench_finish(id command_buffer, const char **ret_why);

/* Encodes and runs it alone in a queue of its own, and expects success. */
void bench_dispatch(id device, const struct bench_dispatch *dispatch);

/* Runs it likewise. Return: as bench_finish(). */
long bench_try(id device, const struct bench_dispatch *dispatch, const char **ret_why);

/* Copies by a blit encoder. */
void bench_copy(id command_buffer, id from, size_t from_offset, id to, size_t to_offset, size_t n);

static inline void *bench_contents(id buffer)
{
    return SEND0(void *, buffer, "contents");
}

static inline void bench_release(id object)
{
    SEND0(void, object, "release");
}
