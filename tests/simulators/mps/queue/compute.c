/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "tests/simulators/mps/queue/encoder.h"
#include "tests/simulators/mps/metal/limits.h"
#include "tests/simulators/mps/runtime/settings.h"

#define DEVICE_UNIT_BYTES 4u            /* of offsets */
#define CONSTANT_UNIT_BYTES_MAC 256u

/* What is set at an index: a buffer from an offset on, or bytes. */
struct binding {
    struct mtl_buffer *buffer;          /* retained; NULL: none */
    uint64_t offset;
    void *bytes;                        /* NULL: none */
    size_t n_bytes;                     /* that there are, of either */
};

struct compute_encoder {
    struct mtl_encoder encoder;
    struct mtl_pipeline *pipeline;      /* retained; NULL: none is set */
    struct binding bindings[VRT_MSL_BUFFERS];
};

static void set_pipeline(MTL_SELF(compute_encoder), mtl_object handle)
{
    mtl_encoder_expect_open(&self->encoder);
    struct mtl_pipeline *pipeline = mtl_find(handle, &mtl_pipeline_class, "pipeline");
    mtl_device_expect(self->encoder.buffer->queue->device, pipeline->device, "pipeline");
    mtl_release(self->pipeline);
    self->pipeline = mtl_retain(pipeline);
}

static void unbind(struct binding *binding)
{
    mtl_release(binding->buffer);
    free(binding->bytes);
    *binding = (struct binding){ 0 };
}

/* What is at the index, to be set anew. */
static struct binding *binding_at(struct compute_encoder *encoder, uint64_t index)
{
    mtl_encoder_expect_open(&encoder->encoder);
    if (index > MTL_MAX_INDEX)
        mtl_die("index %llu is over %d", (unsigned long long)index, MTL_MAX_INDEX);
    return &encoder->bindings[index];
}

static void set_buffer(MTL_SELF(compute_encoder), mtl_object handle, mtl_u64 offset, mtl_u64 index)
{
    struct binding *binding = binding_at(self, index);
    struct mtl_buffer *buffer = mtl_find_or_nil(handle, &mtl_buffer_class, "buffer");

    if (buffer) {
        mtl_device_expect(self->encoder.buffer->queue->device, buffer->device, "buffer");
        if (offset >= buffer->memory.n_bytes)
            mtl_die("offset %lu of a buffer of %zu bytes", offset, buffer->memory.n_bytes);
        mtl_retain(buffer);
    }
    unbind(binding);
    if (buffer)
        *binding = (struct binding){
            .buffer = buffer,
            .offset = offset,
            .n_bytes = buffer->memory.n_bytes - offset,
        };
}

static void set_bytes(MTL_SELF(compute_encoder), mtl_pointer bytes, mtl_u64 n_bytes, mtl_u64 index)
{
    struct binding *binding = binding_at(self, index);

    if (!n_bytes || n_bytes > MTL_MAX_SET_BYTES)
        mtl_die("%lu bytes: it may be 1 to %u", n_bytes, MTL_MAX_SET_BYTES);
    if (!bytes)
        mtl_die("the bytes are NULL");
    unbind(binding);
    binding->bytes = mtl_allocate(n_bytes);
    binding->n_bytes = n_bytes;
    memcpy(binding->bytes, bytes, n_bytes);
}

static void expect_offset(const char *kernel, const struct vrt_msl_parameter *parameter,
                          uint64_t offset)
{
    const bool is_mac = parameter->space == VRT_MSL_CONSTANT && !mtl_settings_has_family(1001);
    const unsigned unit = is_mac ? CONSTANT_UNIT_BYTES_MAC : DEVICE_UNIT_BYTES;

    if (offset % unit)
        mtl_die("kernel %s: offset %llu of buffer %u isn't a multiple of %u", kernel,
                (unsigned long long)offset, parameter->index, unit);
}

/* A parameter of the kernel has something to be, and that is large enough. */
static void expect_argument(const struct compute_encoder *encoder, const char *kernel,
                            const struct vrt_msl_parameter *parameter)
{
    const struct binding *binding = &encoder->bindings[parameter->index];

    if (!binding->n_bytes)
        mtl_die("kernel %s: buffer %u isn't set", kernel, parameter->index);
    if (binding->n_bytes < parameter->least_bytes)
        mtl_die("kernel %s: buffer %u has %zu bytes, of %lu", kernel, parameter->index,
                binding->n_bytes, parameter->least_bytes);
    if (binding->buffer)
        expect_offset(kernel, parameter, binding->offset);
}

static void expect_size(const struct compute_encoder *encoder, const mtl_size *groups,
                        const mtl_size *threads)
{
    const unsigned limit = encoder->pipeline->max_threads;
    const unsigned long n = threads->width * threads->height * threads->depth;

    if (!groups->width || !groups->height || !groups->depth || !n)
        mtl_die("an empty grid");
    if (threads->width > limit || threads->height > limit || threads->depth > limit || n > limit)
        mtl_die("%lu x %lu x %lu threads in a threadgroup: over %u", threads->width,
                threads->height, threads->depth, limit);
}

/* What the command keeps of what is set. */
static void take(struct mtl_dispatch *dispatch, unsigned index, const struct binding *binding)
{
    struct mtl_span *span = &dispatch->grid.buffers[index];
    const struct mtl_memory *memory;

    if (binding->buffer) {
        dispatch->buffers[index] = mtl_retain(binding->buffer);
        memory = &binding->buffer->memory;
    } else {
        if (!mtl_memory_init(&dispatch->bytes[index], binding->n_bytes))
            mtl_die("no memory");
        memory = &dispatch->bytes[index];
        memcpy(memory->data, binding->bytes, binding->n_bytes);
    }
    *span = (struct mtl_span){
        .data = memory->data + binding->offset,
        .pages = memory->pages,
        .n_page_bytes = memory->n_page_bytes,
    };
}

static void dispatch(MTL_SELF(compute_encoder), mtl_size groups, mtl_size threads)
{
    mtl_encoder_expect_open(&self->encoder);
    if (!self->pipeline)
        mtl_die("no pipeline is set");
    const struct vrt_msl_kernel *kernel = self->pipeline->function->kernel;
    expect_size(self, &groups, &threads);
    for (unsigned i = 0; i < kernel->n_parameters; i++)
        expect_argument(self, kernel->name, &kernel->parameters[i]);
    struct mtl_command *command = mtl_command_new(MTL_COMMAND_DISPATCH);
    command->dispatch.pipeline = mtl_retain(self->pipeline);
    command->dispatch.grid = (struct mtl_grid){
        .kernel = kernel,
        .threadgroups = { (unsigned)groups.width, (unsigned)groups.height, (unsigned)groups.depth },
        .threads = { (unsigned)threads.width, (unsigned)threads.height, (unsigned)threads.depth },
    };
    for (unsigned i = 0; i < kernel->n_parameters; i++) {
        const unsigned index = kernel->parameters[i].index;
        take(&command->dispatch, index, &self->bindings[index]);
    }
    mtl_command_buffer_add(self->encoder.buffer, command);
}

static void end(MTL_SELF(compute_encoder))
{
    mtl_encoder_end(&self->encoder);
}

static void destroy(struct mtl_base *object)
{
    struct compute_encoder *encoder = (struct compute_encoder *)object;

    for (size_t i = 0; i < VRT_MSL_BUFFERS; i++)
        unbind(&encoder->bindings[i]);
    mtl_release(encoder->pipeline);
    mtl_encoder_done(&encoder->encoder);
}

const struct mtl_class mtl_compute_encoder_class = {
    .name = "MTLComputeCommandEncoder",
    .n_bytes = sizeof(struct compute_encoder),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("setComputePipelineState:", set_pipeline, compute_encoder, mtl_void,
                   mtl_object),
        MTL_METHOD("setBuffer:offset:atIndex:", set_buffer, compute_encoder, mtl_void, mtl_object,
                   mtl_u64, mtl_u64),
        MTL_METHOD("setBytes:length:atIndex:", set_bytes, compute_encoder, mtl_void, mtl_pointer,
                   mtl_u64, mtl_u64),
        MTL_METHOD("dispatchThreadgroups:threadsPerThreadgroup:", dispatch, compute_encoder,
                   mtl_void, mtl_size, mtl_size),
        MTL_METHOD("endEncoding", end, compute_encoder, mtl_void),
        { 0 },
    },
    .destroy = destroy,
};
