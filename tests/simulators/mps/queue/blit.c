/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/encoder.h"

#define UNIT_BYTES 4u                   /* macOS copies no less */

static void expect_range(const struct mtl_buffer *buffer, uint64_t offset, uint64_t n_bytes,
                         const char *what)
{
    const uint64_t length = buffer->memory.n_bytes;

    if (offset > length || n_bytes > length - offset)
        mtl_die("%llu bytes from byte %llu on of the %s: it has %llu", (unsigned long long)n_bytes,
                (unsigned long long)offset, what, (unsigned long long)length);
    if (offset % UNIT_BYTES || n_bytes % UNIT_BYTES)
        mtl_die("%llu bytes from byte %llu on of the %s: not multiples of %u",
                (unsigned long long)n_bytes, (unsigned long long)offset, what, UNIT_BYTES);
}

static void copy(MTL_SELF(mtl_encoder), mtl_object source, mtl_u64 source_offset,
                 mtl_object destination, mtl_u64 destination_offset, mtl_u64 n_bytes)
{
    mtl_encoder_expect_open(self);
    struct mtl_buffer *from = mtl_find(source, &mtl_buffer_class, "source");
    struct mtl_buffer *to = mtl_find(destination, &mtl_buffer_class, "destination");
    const struct mtl_device *device = self->buffer->queue->device;

    mtl_device_expect(device, from->device, "source");
    mtl_device_expect(device, to->device, "destination");
    if (!n_bytes)
        mtl_die("a copy of no bytes");
    expect_range(from, source_offset, n_bytes, "source");
    expect_range(to, destination_offset, n_bytes, "destination");
    if (from == to && source_offset < destination_offset + n_bytes &&
        destination_offset < source_offset + n_bytes)
        mtl_die("source and destination overlap");
    struct mtl_command *command = mtl_command_new(MTL_COMMAND_COPY);
    command->copy = (struct mtl_copy){
        .from = mtl_retain(from),
        .to = mtl_retain(to),
        .from_offset = source_offset,
        .to_offset = destination_offset,
        .n_bytes = n_bytes,
    };
    mtl_command_buffer_add(self->buffer, command);
}

static void end(MTL_SELF(mtl_encoder))
{
    mtl_encoder_end(self);
}

static void destroy(struct mtl_base *object)
{
    mtl_encoder_done((struct mtl_encoder *)object);
}

const struct mtl_class mtl_blit_encoder_class = {
    .name = "MTLBlitCommandEncoder",
    .n_bytes = sizeof(struct mtl_encoder),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy,
                   mtl_encoder, mtl_void, mtl_object, mtl_u64, mtl_object, mtl_u64, mtl_u64),
        MTL_METHOD("endEncoding", end, mtl_encoder, mtl_void),
        { 0 },
    },
    .destroy = destroy,
};
