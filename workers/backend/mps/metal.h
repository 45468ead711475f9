/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Metal from C: messages to objects of Objective-C's runtime, both found when the program runs
 *
 * VRT_METAL_MESSAGES lists what is ever sent; Apple's headers give the types. An object of a
 * function whose name begins with new, alloc or copy is owned, and given back by release; others
 * live until the calling thread's pool ends, which each function of this backend that sends
 * messages has around it (VRT_METAL_POOL). Metal dies in a child that goes on as a copy of its
 * parent: vrtd starts programs of their own.
 *
 * Thread: vrt_metal_load() once, before any other; then any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

typedef void *vrt_metal_id;         /* an object */
typedef const void *vrt_metal_selector;

/* MTLSize. */
struct vrt_metal_size {
    unsigned long width, height, depth;
};

/* X(name here, selector, type returned, types of arguments behind the object and the selector) */
#define VRT_METAL_MESSAGES(X)                                                                     \
    X(retain, "retain", vrt_metal_id)                                                             \
    X(release, "release", void)                                                                   \
    X(alloc, "alloc", vrt_metal_id)                                                               \
    X(init, "init", vrt_metal_id)                                                                 \
    X(string_of, "stringWithUTF8String:", vrt_metal_id, const char *)                             \
    X(text, "UTF8String", const char *)                                                           \
    X(description, "localizedDescription", vrt_metal_id)                                          \
    X(code, "code", long)                                                                         \
    X(count, "count", unsigned long)                                                              \
    X(at, "objectAtIndex:", vrt_metal_id, unsigned long)                                          \
    X(array_of, "arrayWithObjects:count:", vrt_metal_id, const vrt_metal_id *, unsigned long)     \
    X(url_of, "fileURLWithPath:", vrt_metal_id, vrt_metal_id)                                     \
    X(process, "processInfo", vrt_metal_id)                                                       \
    X(system_version, "operatingSystemVersionString", vrt_metal_id)                               \
    X(name, "name", vrt_metal_id)                                                                 \
    X(registry_id, "registryID", uint64_t)                                                        \
    X(working_set_bytes, "recommendedMaxWorkingSetSize", uint64_t)                                \
    X(allocated_bytes, "currentAllocatedSize", unsigned long)                                     \
    X(max_buffer_bytes, "maxBufferLength", unsigned long)                                         \
    X(is_unified, "hasUnifiedMemory", bool)                                                       \
    X(supports_family, "supportsFamily:", bool, long)                                             \
    X(new_buffer, "newBufferWithLength:options:", vrt_metal_id, unsigned long, unsigned long)     \
    X(contents, "contents", void *)                                                               \
    X(new_library, "newLibraryWithSource:options:error:", vrt_metal_id, vrt_metal_id,             \
      vrt_metal_id, vrt_metal_id *)                                                               \
    X(set_fast_math, "setFastMathEnabled:", void, bool)                                           \
    X(set_language, "setLanguageVersion:", void, unsigned long)                                   \
    X(new_function, "newFunctionWithName:", vrt_metal_id, vrt_metal_id)                           \
    X(set_function, "setComputeFunction:", void, vrt_metal_id)                                    \
    X(set_archives, "setBinaryArchives:", void, vrt_metal_id)                                     \
    X(new_pipeline, "newComputePipelineStateWithDescriptor:options:reflection:error:",            \
      vrt_metal_id, vrt_metal_id, unsigned long, void *, vrt_metal_id *)                          \
    X(max_threads, "maxTotalThreadsPerThreadgroup", unsigned long)                                \
    X(set_url, "setUrl:", void, vrt_metal_id)                                                     \
    X(new_archive, "newBinaryArchiveWithDescriptor:error:", vrt_metal_id, vrt_metal_id,           \
      vrt_metal_id *)                                                                             \
    X(archive_pipeline, "addComputePipelineFunctionsWithDescriptor:error:", bool, vrt_metal_id,   \
      vrt_metal_id *)                                                                             \
    X(write_archive, "serializeToURL:error:", bool, vrt_metal_id, vrt_metal_id *)                 \
    X(new_queue, "newCommandQueue", vrt_metal_id)                                                 \
    X(new_event, "newEvent", vrt_metal_id)                                                        \
    X(commands, "commandBuffer", vrt_metal_id)                                                    \
    X(signal, "encodeSignalEvent:value:", void, vrt_metal_id, uint64_t)                           \
    X(wait_for, "encodeWaitForEvent:value:", void, vrt_metal_id, uint64_t)                        \
    X(when_completed, "addCompletedHandler:", void, const void *)                                 \
    X(commit, "commit", void)                                                                     \
    X(status, "status", unsigned long)                                                            \
    X(error, "error", vrt_metal_id)                                                               \
    X(compute_encoder, "computeCommandEncoder", vrt_metal_id)                                     \
    X(copy_encoder, "blitCommandEncoder", vrt_metal_id)                                           \
    X(end, "endEncoding", void)                                                                   \
    X(set_pipeline, "setComputePipelineState:", void, vrt_metal_id)                               \
    X(set_buffer, "setBuffer:offset:atIndex:", void, vrt_metal_id, unsigned long, unsigned long)  \
    X(set_bytes, "setBytes:length:atIndex:", void, const void *, unsigned long, unsigned long)    \
    X(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:", void, struct vrt_metal_size,       \
      struct vrt_metal_size)                                                                      \
    X(copy, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", void, vrt_metal_id,   \
      unsigned long, vrt_metal_id, unsigned long, unsigned long)

#define VRT_METAL_MEMBER(member, selector_name, type, ...)                                        \
    struct {                                                                                      \
        type (*send)(vrt_metal_id, vrt_metal_selector __VA_OPT__(,) __VA_ARGS__);                 \
        vrt_metal_selector name;                                                                  \
    } member;

/* What was loaded. */
struct vrt_metal {
    VRT_METAL_MESSAGES(VRT_METAL_MEMBER)

    vrt_metal_id (*class_of)(const char *name);     /* NULL: there is none */
    void *(*begin_pool)(void);
    void (*end_pool)(void *pool);
    vrt_metal_id (*copy_devices)(void);
    vrt_metal_id (*new_default_device)(void);
    const void *block_class;        /* of blocks that live for ever */
};

extern struct vrt_metal vrt_metal;

/* Sends an object a message, `member` of struct vrt_metal; NULL as an object answers 0. */
#define VRT_METAL(member, object, ...)                                                            \
    (vrt_metal.member.send((object), vrt_metal.member.name __VA_OPT__(,) __VA_ARGS__))

/* Until the end of the block, what isn't owned is kept by a pool of its own. */
#define VRT_METAL_POOL \
    VRT_CLEANUP(vrt_metal_end_poolp) void *metal_pool = vrt_metal.begin_pool(); \
    (void)metal_pool

static inline void vrt_metal_end_poolp(void **pool)
{
    vrt_metal.end_pool(*pool);
}

/* Of MTLGPUFamily: Apple's own from the M1 on, which have simdgroup_matrix. */
#define VRT_METAL_APPLE7 1007

/* Of MTLResourceOptions. */
#define VRT_METAL_SHARED 0UL        /* host and GPU reach it */
#define VRT_METAL_PRIVATE (2UL << 4)        /* the GPU alone */

/* Of MTLCommandBufferStatus. */
#define VRT_METAL_COMPLETED 4

/* Of MTLCommandBufferError. */
#define VRT_METAL_INTERNAL 1
#define VRT_METAL_ACCESS_REVOKED 4
#define VRT_METAL_OUT_OF_MEMORY 8
#define VRT_METAL_DEVICE_REMOVED 11

/* Of MTLLanguageVersion: of macOS 13 and 14. */
#define VRT_METAL_LANGUAGE_3_0 (3UL << 16)
#define VRT_METAL_LANGUAGE_3_1 ((3UL << 16) + 1)

/*
 * Finds the libraries, and what the above is. Return: 0; -ENOENT: there is no Metal here; -ENOSYS:
 * it lacks something; a message is in `ret_why`. Nothing is undone: a second call returns the same.
 */
int vrt_metal_load(char *ret_why, size_t size);

/* A string, until the pool ends. */
vrt_metal_id vrt_metal_string(const char *text);

/* A new object of a class that there is; owned. */
vrt_metal_id vrt_metal_new(const char *class_name);

/* What an NSError says, in one line, into a buffer; NULL: that nothing was said. Return: the
 * buffer. */
const char *vrt_metal_why(vrt_metal_id error, char *text, size_t size);

/* Gives an object back, and forgets it; NULL is fine. */
void vrt_metal_drop(vrt_metal_id *object);
