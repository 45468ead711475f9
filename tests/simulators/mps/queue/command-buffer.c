/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/command-buffer.h"

#include <stdio.h>

#include "tests/simulators/mps/queue/encoder.h"
#include "tests/simulators/mps/metal/limits.h"
#include "tests/simulators/mps/runtime/faults.h"
#include "tests/simulators/mps/runtime/runtime.h"

#define BLOCK_IS_GLOBAL (1 << 28)

/* A block as compilers lay it out. */
struct mtl_block {
    void *isa;
    int flags, reserved;
    void (*invoke)(struct mtl_block *block, mtl_object argument);
};

/* What Metal says of an error. */
static const char *describe(int code)
{
    static const struct {
        int code;
        const char *text;
    } texts[] = {
        { MTL_CODE_INTERNAL,
          "Internal Error (00000001:kIOGPUCommandBufferCallbackErrorInternal)" },
        { MTL_CODE_TIMEOUT,
          "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)" },
        { MTL_CODE_PAGE_FAULT,
          "Caused GPU Address Fault Error (00000003:kIOGPUCommandBufferCallbackErrorPageFault)" },
        { MTL_CODE_ACCESS_REVOKED,
          "Ignored (for causing prior/excessive GPU errors) "
          "(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)" },
        { MTL_CODE_OUT_OF_MEMORY,
          "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)" },
        { MTL_CODE_INVALID_RESOURCE,
          "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)" },
        { MTL_CODE_DEVICE_REMOVED,
          "Device Removed (0000000b:kIOGPUCommandBufferCallbackErrorDeviceRemoved)" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++) {
        if (texts[i].code == code)
            return texts[i].text;
    }
    return "Unknown Error";
}

struct mtl_command_buffer *mtl_command_buffer_new(struct mtl_queue *queue)
{
    struct mtl_command_buffer *buffer = mtl_new(&mtl_command_buffer_class);

    buffer->queue = mtl_retain(queue);
    buffer->last = &buffer->first;
    return buffer;
}

static enum mtl_status status_of(const struct mtl_command_buffer *buffer)
{
    mtl_lock();
    const enum mtl_status status = buffer->status;
    mtl_unlock();
    return status;
}

void mtl_command_buffer_expect_open(const struct mtl_command_buffer *buffer)
{
    if (status_of(buffer) != MTL_STATUS_NOT_ENQUEUED)
        mtl_die("the command buffer is committed");
}

void mtl_command_buffer_add(struct mtl_command_buffer *buffer, struct mtl_command *command)
{
    *buffer->last = command;
    buffer->last = &command->next;
}

/* What the command buffer ends with before any of its commands; 0: they can run. */
static int fail_early(struct mtl_device *device)
{
    const struct mtl_fault fault = mtl_faults_count(device->index, MTL_AT_COMMIT);

    mtl_lock();
    int code = device->gone ? device->gone : fault.error;
    while (!code && fault.hangs) {
        mtl_wait(INT64_MAX);
        code = device->gone;
    }
    mtl_unlock();
    return code;
}

/* Runs the commands; after a failure only events are signaled, which others wait for. */
static void run_commands(struct mtl_command_buffer *buffer, struct mtl_outcome *outcome)
{
    struct mtl_device *device = buffer->queue->device;

    *outcome = (struct mtl_outcome){ .code = fail_early(device) };
    for (const struct mtl_command *c = buffer->first; c; c = c->next) {
        struct mtl_outcome ignored;
        if (!outcome->code)
            mtl_command_run(c, device, outcome);
        else if (c->kind == MTL_COMMAND_SIGNAL)
            mtl_command_run(c, device, &ignored);
    }
}

static void complete(struct mtl_command_buffer *buffer, const struct mtl_outcome *outcome)
{
    struct mtl_device *device = buffer->queue->device;
    struct mtl_error *error = NULL;
    char text[768];

    if (outcome->code) {
        snprintf(text, sizeof(text), "%s%s%s", describe(outcome->code), outcome->why[0] ? ": " : "",
                 outcome->why);
        error = mtl_error_new(outcome->code, text);
    }
    mtl_lock();
    buffer->error = error;
    buffer->status = error ? MTL_STATUS_ERROR : MTL_STATUS_COMPLETED;
    if (outcome->code == MTL_CODE_ACCESS_REVOKED || outcome->code == MTL_CODE_DEVICE_REMOVED)
        device->gone = outcome->code;
    mtl_changed();
    mtl_unlock();
}

static void call_handlers(struct mtl_command_buffer *buffer)
{
    void *pool = objc_autoreleasePoolPush();

    for (unsigned i = 0; i < buffer->n_handlers; i++)
        buffer->handlers[i]->invoke(buffer->handlers[i], mtl_handle(buffer));
    objc_autoreleasePoolPop(pool);
    mtl_lock();
    buffer->is_done = true;
    buffer->queue->n_open--;
    mtl_changed();
    mtl_unlock();
}

void mtl_command_buffer_run(struct mtl_command_buffer *buffer)
{
    struct mtl_outcome outcome;

    mtl_begin("MTLCommandBuffer", "(running)");
    mtl_lock();
    buffer->status = MTL_STATUS_SCHEDULED;
    mtl_unlock();
    run_commands(buffer, &outcome);
    complete(buffer, &outcome);
    call_handlers(buffer);
    mtl_release(buffer);
}

static mtl_object compute_encoder(MTL_SELF(mtl_command_buffer))
{
    return mtl_autorelease(mtl_encoder_new(&mtl_compute_encoder_class, self));
}

static mtl_object blit_encoder(MTL_SELF(mtl_command_buffer))
{
    return mtl_autorelease(mtl_encoder_new(&mtl_blit_encoder_class, self));
}

static void encode_event(struct mtl_command_buffer *buffer, enum mtl_command_kind kind,
                         mtl_object event, uint64_t value)
{
    mtl_command_buffer_expect_open(buffer);
    if (buffer->has_encoder)
        mtl_die("an encoder is open");
    struct mtl_event *found = mtl_event_find(event, buffer->queue->device);
    struct mtl_command *command = mtl_command_new(kind);
    command->event.event = mtl_retain(found);
    command->event.value = value;
    mtl_command_buffer_add(buffer, command);
}

static void encode_signal(MTL_SELF(mtl_command_buffer), mtl_object event, mtl_u64 value)
{
    encode_event(self, MTL_COMMAND_SIGNAL, event, value);
}

static void encode_wait(MTL_SELF(mtl_command_buffer), mtl_object event, mtl_u64 value)
{
    encode_event(self, MTL_COMMAND_WAIT, event, value);
}

static void add_handler(MTL_SELF(mtl_command_buffer), mtl_pointer pointer)
{
    struct mtl_block *block = (struct mtl_block *)(uintptr_t)pointer;

    mtl_command_buffer_expect_open(self);
    if (!block || block->isa != _NSConcreteGlobalBlock || !(block->flags & BLOCK_IS_GLOBAL))
        mtl_die("the handler is no global block");
    if (self->n_handlers == VRT_ARRAY_SIZE(self->handlers))
        mtl_die("more than %u handlers aren't simulated", self->n_handlers);
    self->handlers[self->n_handlers++] = block;
}

static void commit(MTL_SELF(mtl_command_buffer))
{
    mtl_command_buffer_expect_open(self);
    if (self->has_encoder)
        mtl_die("an encoder is open");
    mtl_lock();
    self->status = MTL_STATUS_COMMITTED;
    mtl_unlock();
    mtl_queue_commit(self->queue, self);
}

static void wait_until_completed(MTL_SELF(mtl_command_buffer))
{
    mtl_lock();
    if (self->status == MTL_STATUS_NOT_ENQUEUED)
        mtl_die("the command buffer isn't committed");
    while (!self->is_done)
        mtl_wait(INT64_MAX);
    mtl_unlock();
}

static mtl_u64 status(MTL_SELF(mtl_command_buffer))
{
    return status_of(self);
}

static mtl_object error(MTL_SELF(mtl_command_buffer))
{
    mtl_lock();
    struct mtl_error *found = self->error;
    mtl_unlock();
    return mtl_handle(found);
}

static void destroy(struct mtl_base *object)
{
    struct mtl_command_buffer *buffer = (struct mtl_command_buffer *)object;
    struct mtl_command *next;

    for (struct mtl_command *command = buffer->first; command; command = next) {
        next = command->next;
        mtl_command_free(command);
    }
    mtl_lock();
    if (buffer->status == MTL_STATUS_NOT_ENQUEUED) {
        buffer->queue->n_open--;
        mtl_changed();
    }
    mtl_unlock();
    mtl_release(buffer->error);
    mtl_release(buffer->queue);
}

const struct mtl_class mtl_command_buffer_class = {
    .name = "MTLCommandBuffer",
    .n_bytes = sizeof(struct mtl_command_buffer),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("computeCommandEncoder", compute_encoder, mtl_command_buffer, mtl_object),
        MTL_METHOD("blitCommandEncoder", blit_encoder, mtl_command_buffer, mtl_object),
        MTL_METHOD("encodeSignalEvent:value:", encode_signal, mtl_command_buffer, mtl_void,
                   mtl_object, mtl_u64),
        MTL_METHOD("encodeWaitForEvent:value:", encode_wait, mtl_command_buffer, mtl_void,
                   mtl_object, mtl_u64),
        MTL_METHOD("addCompletedHandler:", add_handler, mtl_command_buffer, mtl_void, mtl_pointer),
        MTL_METHOD("commit", commit, mtl_command_buffer, mtl_void),
        MTL_METHOD("waitUntilCompleted", wait_until_completed, mtl_command_buffer, mtl_void),
        MTL_METHOD("status", status, mtl_command_buffer, mtl_u64),
        MTL_METHOD("error", error, mtl_command_buffer, mtl_object),
        { 0 },
    },
    .destroy = destroy,
};
