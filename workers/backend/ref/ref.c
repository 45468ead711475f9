/* SPDX-License-Identifier: MIT */

/*
 * The oracle: what it computes is what an op means, and every other device is compared with it. So
 * it is as plain as can be: one thread, one loop for each op (ops.h), sums in double, and a program
 * that is no more than the list of its ops. Everything happens within submit(); finish() has
 * nothing to wait for. The time that takes is of no interest here: it is no device for videos, and
 * the daemon lists it only where the configuration asks for it.
 *
 * Reduced precision is not computed with but imitated: weights are rounded to the type when the
 * replica is made, and each op's result when it is written, which is what a device with fast f16 or
 * bf16 units does. What is multiplied with such weights is rounded likewise. Biases, slopes and
 * tables are left alone, as the other devices keep them in f32.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/ref/ops.h"
#include "backend/ref/parts.h"
#include "backend/ref/run.h"

#define BUFFER_ALIGN_BYTES 64

struct ref_buffer {
    struct vrt_buffer base;
    char *data;
};

struct ref_packed {
    struct vrt_packed base;
    size_t n_arrays;
    float **arrays;             /* one a param */
};

struct vrt_ref_replica {
    struct vrt_replica base;
    float *const *arrays;       /* of what is packed */
};

struct ref_program {
    struct vrt_program base;
    struct vrt_ref_replica *replica;
    struct ref_buffer *arena;
    struct vrt_op *ops;
    size_t n_ops;
};

static const struct {
    void (*run)(const struct vrt_ref_run *run);
    size_t (*workspace_bytes)(const struct vrt_op *op);     /* NULL: none */
} table[] = {
    [VRT_OP_CONV2D] = { vrt_ref_conv2d, vrt_ref_conv2d_workspace_bytes },
    [VRT_OP_LINEAR] = { vrt_ref_linear, vrt_ref_linear_workspace_bytes },
    [VRT_OP_LAYERNORM] = { vrt_ref_layernorm, vrt_ref_layernorm_workspace_bytes },
    [VRT_OP_WINDOW_ATTENTION] = { vrt_ref_window_attention,
                                  vrt_ref_window_attention_workspace_bytes },
    [VRT_OP_GEGLU] = { vrt_ref_geglu, vrt_ref_geglu_workspace_bytes },
    [VRT_OP_DEFORM_CONV2D] = { vrt_ref_deform_conv2d, vrt_ref_deform_conv2d_workspace_bytes },
    [VRT_OP_FLOW_OFFSETS] = { vrt_ref_flow_offsets, NULL },
    [VRT_OP_WARP] = { vrt_ref_warp, vrt_ref_warp_workspace_bytes },
    [VRT_OP_DEPTH_TO_SPACE] = { vrt_ref_depth_to_space, NULL },
    [VRT_OP_SPACE_TO_DEPTH] = { vrt_ref_space_to_depth, NULL },
    [VRT_OP_RESIZE] = { vrt_ref_resize, NULL },
    [VRT_OP_AVGPOOL2] = { vrt_ref_avgpool2, NULL },
    [VRT_OP_CONCAT] = { vrt_ref_concat, NULL },
    [VRT_OP_ADD] = { vrt_ref_add, NULL },
    [VRT_OP_AFFINE] = { vrt_ref_affine, NULL },
    [VRT_OP_GATE] = { vrt_ref_gate, NULL },
    [VRT_OP_BLEND] = { vrt_ref_blend, NULL },
    [VRT_OP_MEAN] = { vrt_ref_mean, NULL },
    [VRT_OP_FILL] = { vrt_ref_fill, NULL },
    [VRT_OP_COPY] = { vrt_ref_copy, NULL },
    [VRT_OP_PAD] = { vrt_ref_pad, NULL },
    [VRT_OP_YUV_TO_RGB] = { vrt_ref_yuv_to_rgb, NULL },
    [VRT_OP_RGB_TO_YUV] = { vrt_ref_rgb_to_yuv, NULL },
    [VRT_OP_RANGE] = { vrt_ref_range, NULL },
};

_Static_assert(VRT_ARRAY_SIZE(table) == VRT_OP_KIND_COUNT, "the oracle knows every op");

static int ref_enumerate(const struct vrt_registry_params *params,
                         struct vrt_device_info **ret_infos,
                     size_t *ret_n_infos)
{
    struct vrt_device_info *info = calloc(1, sizeof(*info));

    (void)params;
    if (!info)
        return vrt_raise(-ENOMEM);
    *info = (struct vrt_device_info){
        .name = "ref:0",
        .description = "reference loops, 1 thread",
        .class_id = "ref",
        .packing_id = "ref",
        .n_threads = 1,
        .n_in_flight = 1,
        .memory_total_bytes = -1,
    };
    *ret_infos = info;
    *ret_n_infos = 1;
    return 0;
}

static int ref_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    struct vrt_device *device = calloc(1, sizeof(*device));

    (void)info;
    if (!device)
        return vrt_raise(-ENOMEM);
    *ret_device = device;
    return 0;
}

static void ref_close(struct vrt_device *device)
{
    free(device);
}

static int ref_buffer_new(struct vrt_device *device, size_t size_bytes,
                          struct vrt_buffer **ret_buffer)
{
    struct ref_buffer *buffer = calloc(1, sizeof(*buffer));
    void *data;

    (void)device;
    if (!buffer)
        return vrt_raise(-ENOMEM);
    /* Unlike -ENOMEM an outcome that the device executor knows a cure for: it gives up what is
     * idle. */
    if (posix_memalign(&data, BUFFER_ALIGN_BYTES, size_bytes) != 0) {
        free(buffer);
        return VRT_BACKEND_E_NOMEM;
    }
    buffer->data = data;
    *ret_buffer = &buffer->base;
    return 0;
}

static struct ref_buffer *ref_buffer_of(struct vrt_buffer *buffer)
{
    return vrt_container_of(buffer, struct ref_buffer, base);
}

static void ref_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer)
{
    (void)device;
    free(ref_buffer_of(buffer)->data);
    free(ref_buffer_of(buffer));
}

static int ref_buffer_write(struct vrt_device *device, struct vrt_buffer *dst,
                            size_t offset_bytes, const void *src, size_t size_bytes)
{
    (void)device;
    memcpy(ref_buffer_of(dst)->data + offset_bytes, src, size_bytes);
    return 0;
}

static int ref_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                           size_t offset_bytes, void *dst, size_t size_bytes)
{
    const struct ref_buffer *buffer = (const struct ref_buffer *)src;

    (void)device;
    memcpy(dst, buffer->data + offset_bytes, size_bytes);
    return 0;
}

static uint8_t *ref_buffer_host(const struct vrt_buffer *buffer)
{
    return (uint8_t *)((const struct ref_buffer *)buffer)->data;
}

static bool ref_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    return op->kind < VRT_OP_KIND_COUNT;
}

static size_t ref_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    return table[op->kind].workspace_bytes ? table[op->kind].workspace_bytes(op) : 0;
}

/* Whether it is multiplied with sums over its second dimension to follow. */
static bool is_weight(const struct vrt_param *param)
{
    return param->n_dims > 1 && param->use != VRT_PARAM_TABLE;
}

/* [O,I,..] to [..,I,O], so that the innermost loop of a layer runs over outputs. */
static void pack_weight(float *dst, const struct vrt_param *param, enum vrt_dtype dtype)
{
    const int n_o = param->dims[0], n_i = param->dims[1];
    int n_k = 1;

    for (int i = 2; i < param->n_dims; i++)
        n_k *= param->dims[i];
    for (int o = 0; o < n_o; o++)
    for (int i = 0; i < n_i; i++)
    for (int k = 0; k < n_k; k++)
        dst[((int64_t)k * n_i + i) * n_o + o] =
            (float)vrt_ref_rounded((double)param->data[((int64_t)o * n_i + i) * n_k + k], dtype);
}

static size_t n_elements(const struct vrt_param *param)
{
    size_t n = 1;

    for (int k = 0; k < param->n_dims; k++)
        n *= (size_t)param->dims[k];
    return n;
}

static void ref_packed_free(struct vrt_packed *base)
{
    struct ref_packed *packed = vrt_container_of(base, struct ref_packed, base);

    for (size_t i = 0; packed->arrays && i < packed->n_arrays; i++)
        free(packed->arrays[i]);
    free(packed->arrays);
    free(packed);
}

static int ref_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                          struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct ref_packed *packed = calloc(1, sizeof(*packed));
    size_t offset = 0;

    (void)device;
    if (!packed)
        return vrt_raise(-ENOMEM);
    packed->base.is_shared = true;
    packed->n_arrays = pack->n_params;
    packed->arrays = calloc(pack->n_params + 1, sizeof(packed->arrays[0]));
    if (!packed->arrays) {
        ref_packed_free(&packed->base);
        return vrt_raise(-ENOMEM);
    }
    for (size_t i = 0; i < pack->n_params; i++) {
        places[i].offset_bytes = offset;
        places[i].size_bytes = n_elements(&pack->params[i]) * sizeof(float);
        offset += (places[i].size_bytes + 7) / 8 * 8;
    }
    *ret_packed = &packed->base;
    return 0;
}

static int ref_packed_fill(struct vrt_packed *base, const struct vrt_pack *pack, size_t i)
{
    struct ref_packed *packed = vrt_container_of(base, struct ref_packed, base);
    const struct vrt_param *param = &pack->params[i];

    packed->arrays[i] = malloc(base->places[i].size_bytes);
    if (!packed->arrays[i])
        return vrt_raise(-ENOMEM);
    if (is_weight(param))
        pack_weight(packed->arrays[i], param, vrt_param_dtype(param, pack->dtype));
    else
        memcpy(packed->arrays[i], param->data, base->places[i].size_bytes);
    base->places[i].data = packed->arrays[i];
    return 0;
}

static int ref_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                             struct vrt_replica **ret_replica)
{
    struct vrt_ref_replica *replica = calloc(1, sizeof(*replica));

    (void)device;
    if (!replica)
        return vrt_raise(-ENOMEM);
    replica->arrays = vrt_container_of(packed, struct ref_packed, base)->arrays;
    *ret_replica = &replica->base;
    return 0;
}

static void ref_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    (void)device;
    free(vrt_container_of(base, struct vrt_ref_replica, base));
}

const float *vrt_ref_param(const struct vrt_ref_replica *replica, int index)
{
    return index < 0 ? NULL : replica->arrays[index];
}

enum vrt_dtype vrt_ref_param_dtype(const struct vrt_ref_replica *replica, int index)
{
    return vrt_param_dtype(&replica->base.params[index], replica->base.dtype);
}

static void ref_program_free(struct vrt_device *device, struct vrt_program *base)
{
    struct ref_program *program = vrt_container_of(base, struct ref_program, base);

    (void)device;
    free(program->ops);
    free(program);
}

static int ref_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                           struct vrt_program **ret_program)
{
    struct ref_program *program = calloc(1, sizeof(*program));

    if (!program)
        return vrt_raise(-ENOMEM);
    program->ops = calloc(params->n_ops, sizeof(*program->ops));
    if (!program->ops) {
        ref_program_free(device, &program->base);
        return vrt_raise(-ENOMEM);
    }
    memcpy(program->ops, params->ops, params->n_ops * sizeof(*program->ops));
    program->n_ops = params->n_ops;
    program->replica = (struct vrt_ref_replica *)params->replica;
    program->arena = (struct ref_buffer *)params->arena;
    *ret_program = &program->base;
    return 0;
}

/* Where a tensor is, this time: buffers that are bound may be others at each submission. Slot 0 is
 * the arena, so the bindings begin at slot 1. */
static struct vrt_ref_view view_of(const struct ref_program *program, const struct vrt_tensor *t,
                                   const struct vrt_binding *bindings)
{
    if (!t)
        return (struct vrt_ref_view){ .tensor = NULL };

    char *base;
    if (t->slot == VRT_SLOT_ARENA)
        base = program->arena->data;
    else
        base = ref_buffer_of(bindings[t->slot - 1].buffer)->data +
               bindings[t->slot - 1].offset_bytes;
    return (struct vrt_ref_view){ .tensor = t, .base = base + t->offset_bytes };
}

static int ref_program_submit(struct vrt_device *device, struct vrt_program *base,
                              const struct vrt_binding *bindings)
{
    const struct ref_program *program = vrt_container_of(base, struct ref_program, base);

    (void)device;
    for (size_t i = 0; i < program->n_ops; i++) {
        const struct vrt_op *op = &program->ops[i];
        struct vrt_ref_run run = { .op = op, .replica = program->replica };
        for (int k = 0; k < op->n_in; k++)
            run.in[k] = view_of(program, vrt_op_in(op, k), bindings);
        for (int k = 0; k < vrt_op_n_out(op); k++)
            run.out[k] = view_of(program, vrt_op_out(op, k), bindings);
        if (table[op->kind].workspace_bytes)
            run.workspace = program->arena->data + op->workspace_offset_bytes;
        table[op->kind].run(&run);
    }
    return 0;
}

static int ref_finish(struct vrt_device *device)
{
    (void)device;
    return 0;
}

static const struct vrt_backend_ops ref_ops = {
    .enumerate = ref_enumerate,
    .open = ref_open,
    .close = ref_close,
    .buffer_new = ref_buffer_new,
    .buffer_free = ref_buffer_free,
    .buffer_write = ref_buffer_write,
    .buffer_read = ref_buffer_read,
    .buffer_host = ref_buffer_host,
    .supports = ref_supports,
    .workspace_bytes = ref_workspace_bytes,
    .packed_new = ref_packed_new,
    .packed_fill = ref_packed_fill,
    .packed_free = ref_packed_free,
    .replica_begin = ref_replica_begin,
    .replica_free = ref_replica_free,
    .program_new = ref_program_new,
    .program_free = ref_program_free,
    .program_submit = ref_program_submit,
    .finish = ref_finish,
};

const struct vrt_backend vrt_backend_ref = {
    .kind = { "ref", VRT_DEVICE_REFERENCE, .has_parts = false },
    .ops = &ref_ops,
};
