/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/tests/bench.h"

#include <dlfcn.h>

struct bench_api api;

static void find(void *library, const char *name, void *ret_function)
{
    void *found = dlsym(library, name);

    expect_true(found);
    memcpy(ret_function, &found, sizeof(found));
}

void bench_open(struct bench *bench)
{
    void *library = dlopen(getenv("VRT_MPS_LIBRARY"), RTLD_NOW | RTLD_LOCAL);

    if (!library)
        test_fail("%s", dlerror());
    find(library, "objc_msgSend", &api.send);
    find(library, "objc_getClass", &api.get_class);
    find(library, "sel_registerName", &api.selector);
    find(library, "objc_autoreleasePoolPush", &api.push);
    find(library, "objc_autoreleasePoolPop", &api.pop);
    find(library, "MTLCopyAllDevices", &api.copy_all);
    bench->pool = api.push();
    bench->all = api.copy_all();
    bench->n_devices = (unsigned)SEND0(unsigned long, bench->all, "count");
    for (unsigned i = 0; i < bench->n_devices; i++)
        bench->devices[i] = SEND(id, (unsigned long), bench->all, "objectAtIndex:", i);
}

void bench_close(struct bench *bench)
{
    bench_release(bench->all);
    api.pop(bench->pool);
}

id bench_string(const char *text)
{
    return SEND(id, (const char *), api.get_class("NSString"), "stringWithUTF8String:", text);
}

const char *bench_text(id string)
{
    return SEND0(const char *, string, "UTF8String");
}

const char *bench_reason(id error)
{
    return error ? bench_text(SEND0(id, error, "localizedDescription")) : "no error";
}

id bench_buffer(id device, size_t n_bytes, const void *data)
{
    id buffer = SEND(id, (unsigned long, unsigned long), device, "newBufferWithLength:options:",
                     n_bytes, SHARED);

    expect_true(buffer);
    if (data)
        memcpy(bench_contents(buffer), data, n_bytes);
    return buffer;
}

static id new_options(unsigned version)
{
    id options = SEND0(id, SEND0(id, api.get_class("MTLCompileOptions"), "alloc"), "init");

    SEND(void, (bool), options, "setFastMathEnabled:", false);
    SEND(void, (unsigned long), options, "setLanguageVersion:",
         (unsigned long)(version / 100) << 16 | version / 10 % 10);
    return options;
}

id bench_try_library(id device, const char *text, unsigned version, const char **ret_why)
{
    id options = version ? new_options(version) : NULL, error = NULL;
    id library = SEND(id, (id, id, id *), device, "newLibraryWithSource:options:error:",
                      bench_string(text), options, &error);

    bench_release(options);
    *ret_why = library ? "" : bench_reason(error);
    return library;
}

id bench_library(id device, const char *text, unsigned version)
{
    const char *why;
    id library = bench_try_library(device, text, version, &why);

    if (!library)
        test_fail("%s", why);
    return library;
}

id bench_pipeline(id device, const char *text, const char *kernel)
{
    id error = NULL, library = bench_library(device, text, 300);
    id function = SEND(id, (id), library, "newFunctionWithName:", bench_string(kernel));
    id pipeline = SEND(id, (id, id *), device, "newComputePipelineStateWithFunction:error:",
                       function, &error);

    if (!pipeline)
        test_fail("%s", bench_reason(error));
    bench_release(function);
    bench_release(library);
    return pipeline;
}

void bench_encode(id command_buffer, const struct bench_dispatch *dispatch)
{
    id encoder = SEND0(id, command_buffer, "computeCommandEncoder");
    unsigned long n = dispatch->n_buffers;

    SEND(void, (id), encoder, "setComputePipelineState:", dispatch->pipeline);
    for (unsigned long i = 0; i < n; i++)
        SEND(void, (id, unsigned long, unsigned long), encoder, "setBuffer:offset:atIndex:",
             dispatch->buffers[i], 0, i);
    if (dispatch->bytes)
        SEND(void, (const void *, unsigned long, unsigned long), encoder,
             "setBytes:length:atIndex:", dispatch->bytes, dispatch->n_bytes, n);
    SEND(void, (struct size, struct size), encoder, "dispatchThreadgroups:threadsPerThreadgroup:",
         dispatch->groups, dispatch->threads);
    SEND0(void, encoder, "endEncoding");
}

long bench_finish(id command_buffer, const char **ret_why)
{
    SEND0(void, command_buffer, "commit");
    SEND0(void, command_buffer, "waitUntilCompleted");
    id error = SEND0(id, command_buffer, "error");
    if (ret_why)
        *ret_why = bench_reason(error);
    return error ? SEND0(long, error, "code") : 0;
}

long bench_try(id device, const struct bench_dispatch *dispatch, const char **ret_why)
{
    id queue = SEND0(id, device, "newCommandQueue");
    id command_buffer = SEND0(id, queue, "commandBuffer");

    bench_encode(command_buffer, dispatch);
    const long code = bench_finish(command_buffer, ret_why);
    bench_release(queue);
    return code;
}

void bench_dispatch(id device, const struct bench_dispatch *dispatch)
{
    const char *why;

    if (bench_try(device, dispatch, &why) != 0)
        test_fail("%s", why);
}

void bench_copy(id command_buffer, id from, size_t from_offset, id to, size_t to_offset, size_t n)
{
    id encoder = SEND0(id, command_buffer, "blitCommandEncoder");

    SEND(void, (id, unsigned long, id, unsigned long, unsigned long), encoder,
         "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", from, from_offset, to,
         to_offset, n);
    SEND0(void, encoder, "endEncoding");
}
