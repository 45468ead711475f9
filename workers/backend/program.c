/* SPDX-License-Identifier: MIT */

/*
 * Programs: every op is checked once, when it is recorded, against the device, the replica and the
 * arena; what the ops look into of each binding is remembered, and checked at each submission.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/backend.h"
#include "backend/note.h"
#include "backend/op-params.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "program"

/* A refusal of what a caller of ours built. Return: -EINVAL. */
static int refuse_op(const struct vrt_op *op, const char *why)
{
    vrt_log_error("%s: %s", vrt_op_kind_name(op->kind), why);
    return vrt_raise(-EINVAL);
}

static bool param_fits(const struct vrt_replica *replica, const struct vrt_op_param *want)
{
    if (!replica || want->index < 0 || (size_t)want->index >= replica->n_params)
        return false;
    const struct vrt_param *param = &replica->params[want->index];
    return param->n_dims == want->n_dims &&
           (param->n_dims == 1 || vrt_param_use_plain(param->use) == want->use) &&
           memcmp(param->dims, want->dims, (size_t)want->n_dims * sizeof(want->dims[0])) == 0;
}

/* What was planned for weights of one type would be too small, or read wrongly, for another. */
static int check_weights(const struct vrt_op *op, const struct vrt_replica *replica)
{
    struct vrt_op found = *op;
    int indices[VRT_OP_MAX_WEIGHTS];

    if (!replica)
        return 0;
    const char *wrong = vrt_op_find_weights(&found, replica->params, replica->n_params,
                                            replica->dtype);
    if (wrong)
        return refuse_op(op, wrong);
    if (!vrt_op_weights(op, indices))
        return 0;
    if (found.weight_dtype == op->weight_dtype && found.is_exact == op->is_exact)
        return 0;
    vrt_log_error("%s: its weights are %s in the replica, of %s, and not %s as it was built for",
                  vrt_op_kind_name(op->kind), vrt_dtype_name(found.weight_dtype),
                  vrt_dtype_name(replica->dtype), vrt_dtype_name(op->weight_dtype));
    return vrt_raise(-EINVAL);
}

static int check_params(const struct vrt_op *op, const struct vrt_replica *replica)
{
    struct vrt_op_param wants[VRT_OP_MAX_PARAMS];
    const int n = vrt_op_params(op, wants);

    for (int i = 0; i < n; i++)
        if (!param_fits(replica, &wants[i])) {
            vrt_log_error("%s: its %s is no param of the replica, or of another shape or use",
                          vrt_op_kind_name(op->kind), wants[i].name);
            return vrt_raise(-EINVAL);
        }
    return check_weights(op, replica);
}

/* Checks that a tensor lies within the arena, or widens what is required of its binding. */
static int place_tensor(const struct vrt_op *op, const struct vrt_tensor *t,
                        const struct vrt_program_params *params,
                        struct vrt_program_binding *bindings)
{
    const size_t element = vrt_dtype_size(t->dtype);
    const size_t size = (size_t)vrt_tensor_extent(t) * element;

    if (t->slot < VRT_SLOT_ARENA || t->slot > params->n_bindings)
        return refuse_op(op, "a tensor's slot is none of the program's");
    if (t->offset_bytes % element || t->offset_bytes > PTRDIFF_MAX)
        return refuse_op(op, "a tensor's place is not aligned to its elements, or out of range");
    if (t->slot == VRT_SLOT_ARENA) {
        if (t->offset_bytes > params->arena_bytes || size > params->arena_bytes - t->offset_bytes)
            return refuse_op(op, "a tensor lies outside the arena");
        return 0;
    }
    struct vrt_program_binding *binding = &bindings[t->slot - 1];
    binding->size_bytes = VRT_MAX(binding->size_bytes, t->offset_bytes + size);
    binding->align_bytes = VRT_MAX(binding->align_bytes, element);
    return 0;
}

static int check_op(const struct vrt_device *device, const struct vrt_op *op,
                    const struct vrt_program_params *params, struct vrt_program_binding *bindings)
{
    int r = vrt_op_check(op);
    if (r < 0)
        return vrt_fold(r);
    r = check_params(op, params->replica);
    for (int i = 0; r == 0 && i < op->n_in; i++)
        if (vrt_op_in(op, i))
            r = place_tensor(op, vrt_op_in(op, i), params, bindings);
    for (int i = 0; r == 0 && i < vrt_op_n_out(op); i++)
        r = place_tensor(op, vrt_op_out(op, i), params, bindings);
    if (r < 0)
        return vrt_fold(r);
    if (!vrt_device_supports(device, op))
        return refuse_op(op, "the device doesn't support it");

    const size_t workspace_bytes = vrt_device_workspace_bytes(device, op);
    if (workspace_bytes && (op->workspace_offset_bytes > params->arena_bytes ||
                            workspace_bytes > params->arena_bytes - op->workspace_offset_bytes))
        return refuse_op(op, "the workspace lies outside the arena");
    return 0;
}

int vrt_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                    struct vrt_program **ret_program)
{
    VRT_CLEANUP(vrt_freep) struct vrt_program_binding *bindings = NULL;
    VRT_CLEANUP(vrt_freep) struct vrt_op *ops = NULL;
    struct vrt_program *program = NULL;
    int r;

    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (params->n_ops == 0 || params->n_bindings < 0 ||
        (params->arena_bytes > 0 &&
         (!params->arena || params->arena->size_bytes < params->arena_bytes)))
        return vrt_raise(-EINVAL);
    ops = calloc(params->n_ops, sizeof(*ops));
    bindings = calloc((size_t)params->n_bindings + 1, sizeof(*bindings));
    if (!ops || !bindings)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < params->n_ops; i++) {
        r = check_op(device, &params->ops[i], params, bindings);
        if (r != 0)
            return vrt_fold(r);
        ops[i] = params->ops[i];
    }
    r = vrt_device_note(device, device->ops->program_new(device, params, &program));
    if (r != 0)
        return r;
    program->ops = VRT_STEAL(ops);
    program->n_ops = params->n_ops;
    program->n_bindings = params->n_bindings;
    program->bindings = VRT_STEAL(bindings);
    program->replica = params->replica;
    program->arena = params->arena;
    *ret_program = program;
    return 0;
}

struct vrt_program *vrt_program_free(struct vrt_device *device, struct vrt_program *program)
{
    if (!program)
        return NULL;
    struct vrt_op *ops = program->ops;
    struct vrt_program_binding *bindings = program->bindings;
    device->ops->program_free(device, program);
    free(ops);
    free(bindings);
    return NULL;
}

const struct vrt_op *vrt_program_ops(const struct vrt_program *program, size_t *ret_n_ops)
{
    *ret_n_ops = program->n_ops;
    return program->ops;
}

int vrt_program_submit(struct vrt_device *device, struct vrt_program *program,
                       const struct vrt_binding *bindings)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    for (int i = 0; i < program->n_bindings; i++) {
        const struct vrt_program_binding *want = &program->bindings[i];
        const struct vrt_binding *have = &bindings[i];
        if (want->size_bytes == 0)
            continue;
        if (!have->buffer || have->offset_bytes > have->buffer->size_bytes ||
            want->size_bytes > have->buffer->size_bytes - have->offset_bytes ||
            have->offset_bytes % want->align_bytes) {
            vrt_log_error("binding %d is missing, too small or not aligned", i);
            return vrt_raise(-EINVAL);
        }
    }
    return vrt_device_note(device, device->ops->program_submit(device, program, bindings));
}
