/* SPDX-License-Identifier: MIT */

/* Programs of an MPS device: the ops' kernels, encoded anew for each run. */

#include <errno.h>
#include <stdlib.h>

#include "backend/mps/device.h"

/* What an element costs that is read and written, beside a GPU's products. */
#define ELEMENT_FLOPS 64

struct mps_program {
    struct vrt_program base;
    struct vrt_kernel_place *at;    /* what the bindings are, [n_bindings] */
    uint64_t used;                  /* the last command buffer that is of it */
};

static struct mps_program *program_of(struct vrt_program *base)
{
    return vrt_container_of(base, struct mps_program, base);
}

int vrt_mps_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                        struct vrt_program **ret_program)
{
    struct mps_program *program = calloc(1, sizeof(*program));

    (void)device;
    if (!program)
        return vrt_raise(-ENOMEM);
    program->at = calloc((size_t)params->n_bindings + 1, sizeof(program->at[0]));
    if (!program->at) {
        free(program);
        return vrt_raise(-ENOMEM);
    }
    *ret_program = &program->base;
    return 0;
}

void vrt_mps_program_free(struct vrt_device *device, struct vrt_program *base)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct mps_program *program = program_of(base);

    if (!device->lost)
        vrt_mps_await(mps, &mps->compute, program->used, "computing");
    free(program->at);
    free(program);
}

/* Operations, of which moving an element is taken for some. */
static double work_of(const struct vrt_op *op)
{
    int64_t n = 0;

    for (int i = 0; i < vrt_op_n_out(op); i++)
        n += vrt_shape_count(vrt_op_out(op, i)->shape);
    return (double)vrt_op_flops(op) + ELEMENT_FLOPS * (double)n;
}

static int encode_op(struct vrt_mps_encoding *encoding, const struct mps_program *program,
                     const struct vrt_op *op)
{
    const struct vrt_replica *replica = program->base.replica;
    const struct vrt_buffer *arena = program->base.arena;
    const struct vrt_kernel_call call = {
        .target = &vrt_mps_target,
        .ctx = encoding,
        .op = op,
        .params = replica ? vrt_container_of(replica, struct vrt_mps_replica, base)->params : NULL,
        .arena = { arena ? vrt_mps_buffer_of(arena)->memory : NULL, 0 },
        .bindings = program->at,
    };

    encoding->op_flops = work_of(op);
    return vrt_kernel_run(&call);
}

/* Notes what is used until now. */
static void mark(struct vrt_mps_device *mps, struct mps_program *program,
                 const struct vrt_binding *bindings)
{
    const uint64_t n = mps->compute.n_committed;

    program->used = n;
    if (program->base.arena)
        vrt_mps_buffer_of(program->base.arena)->used = n;
    for (int i = 0; i < program->base.n_bindings; i++)
        if (bindings[i].buffer) {
            vrt_mps_buffer_of(bindings[i].buffer)->used = n;
            vrt_mps_buffer_of(bindings[i].buffer)->program = mps->n_programs;
        }
}

static void bind(struct mps_program *program, const struct vrt_binding *bindings)
{
    for (int i = 0; i < program->base.n_bindings; i++)
        program->at[i] = (struct vrt_kernel_place){
            bindings[i].buffer ? vrt_mps_buffer_of(bindings[i].buffer)->memory : NULL,
            bindings[i].offset_bytes,
        };
}

int vrt_mps_program_submit(struct vrt_device *device, struct vrt_program *base,
                           const struct vrt_binding *bindings)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct mps_program *program = program_of(base);
    struct vrt_mps_encoding encoding = {
        .device = mps, .bindings = bindings, .n_bindings = base->n_bindings,
    };
    int r = 0;

    bind(program, bindings);
    for (size_t i = 0; r == 0 && i < base->n_ops; i++)
        r = encode_op(&encoding, program, &base->ops[i]);
    if (r == 0)
        r = vrt_mps_encoding_finish(&encoding);
    else
        vrt_mps_encoding_abandon(&encoding);
    mark(mps, program, bindings);
    return r;
}
