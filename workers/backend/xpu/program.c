/* SPDX-License-Identifier: MIT */

/*
 * Programs of an XPU device: the ops' kernels recorded in command lists, and replayed
 *
 * A kernel's addresses are part of the recording. So the ops are split in runs that work in the
 * arena alone, nearly all of a network, and runs that touch what is bound, which are recorded anew
 * where the bindings are others. A list can't be given to the queue again before it is done:
 * several recordings, or takes, of a program are kept, so that one is prepared while another runs,
 * and one that gets its own bindings again, as two shards in turns do, is replayed as it is.
 */

#include <errno.h>
#include <stdlib.h>

#include "backend/xpu/device.h"
#include "backend/xpu/staging.h"

#define N_TAKES 3

/* A run of ops that touch what is bound, or that don't. */
struct segment {
    size_t first, n;
    bool is_bound;
};

/* One recording of the whole program. */
struct take {
    ze_command_list_handle_t *lists;        /* by segment; NULL: it wasn't recorded yet */
    struct vrt_kernel_place *at;    /* what the bindings were, [n_bindings] */
    uint64_t submission;            /* the last that ran it as it is; 0: none */
    uint64_t used;                  /* counts up: when it was wanted last */
};

struct xpu_program {
    struct vrt_program base;
    const struct vrt_op *ops;       /* whose they are when it is made, then base.ops */
    size_t n_ops;
    int n_bindings;
    const struct vrt_kernel_param *params;
    char *arena;
    struct segment *segments;
    size_t n_segments;
    struct take takes[N_TAKES];
    uint64_t n_used;
};

static struct xpu_program *program_of(struct vrt_program *base)
{
    return vrt_container_of(base, struct xpu_program, base);
}

static struct vrt_xpu_buffer *buffer_of(struct vrt_buffer *base)
{
    return base ? vrt_container_of(base, struct vrt_xpu_buffer, base) : NULL;
}

static bool touches_bindings(const struct vrt_op *op)
{
    bool touches = false;

    for (int i = 0; i < op->n_in; i++)
        touches = touches || (vrt_op_in(op, i) && vrt_op_in(op, i)->slot != VRT_SLOT_ARENA);
    for (int i = 0; i < vrt_op_n_out(op); i++)
        touches = touches || vrt_op_out(op, i)->slot != VRT_SLOT_ARENA;
    return touches;
}

static void split(struct xpu_program *program)
{
    for (size_t i = 0; i < program->n_ops; i++) {
        const bool is_bound = touches_bindings(&program->ops[i]);
        if (i == 0 || program->segments[program->n_segments - 1].is_bound != is_bound)
            program->segments[program->n_segments++] = (struct segment){ i, 0, is_bound };
        program->segments[program->n_segments - 1].n++;
    }
}

/* Fills an open, empty list with the ops of a segment, and closes it. */
static ze_result_t record(struct vrt_xpu_device *xpu, const struct xpu_program *program,
                          const struct segment *segment, const struct vrt_kernel_place *at,
                          ze_command_list_handle_t list)
{
    struct vrt_xpu_recording recording = { xpu, list };
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (size_t i = segment->first; r == 0 && i < segment->first + segment->n; i++) {
        const struct vrt_kernel_call call = {
            .target = &vrt_xpu_target,
            .ctx = &recording,
            .op = &program->ops[i],
            .params = program->params,
            .arena = { program->arena, 0 },
            .bindings = at,
        };
        r = (ze_result_t)vrt_kernel_run(&call);
    }
    return r != 0 ? r : xpu->ze->zeCommandListClose(list);
}

/* Records what was never recorded and, for bindings that changed, what is bound. */
static ze_result_t record_take(struct vrt_xpu_device *xpu, const struct xpu_program *program,
                               struct take *take, bool has_bindings)
{
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (size_t i = 0; r == 0 && i < program->n_segments; i++) {
        const struct segment *segment = &program->segments[i];
        if (segment->is_bound ? !has_bindings : take->lists[i] != NULL)
            continue;
        r = take->lists[i] ? xpu->ze->zeCommandListReset(take->lists[i])
                           : vrt_xpu_list_new(xpu, &take->lists[i]);
        if (r == 0)
            r = record(xpu, program, segment, take->at, take->lists[i]);
        if (r != 0 && take->lists[i]) {
            vrt_xpu_list_free(xpu, take->lists[i]);
            take->lists[i] = NULL;
        }
    }
    return r;
}

static bool make_takes(struct xpu_program *program)
{
    for (int i = 0; i < N_TAKES; i++) {
        program->takes[i].lists = calloc(program->n_segments, sizeof(program->takes[i].lists[0]));
        program->takes[i].at = calloc((size_t)program->n_bindings + 1,
                                      sizeof(program->takes[i].at[0]));
        if (!program->takes[i].lists || !program->takes[i].at)
            return false;
    }
    return true;
}

static struct xpu_program *new_program(const struct vrt_program_params *params)
{
    struct xpu_program *program = calloc(1, sizeof(*program));

    if (!program)
        return NULL;
    program->n_ops = params->n_ops;
    program->n_bindings = params->n_bindings;
    program->ops = params->ops;
    program->segments = calloc(params->n_ops, sizeof(program->segments[0]));
    if (params->replica)
        program->params =
            vrt_container_of(params->replica, struct vrt_xpu_replica, base)->params;
    if (params->arena)
        program->arena = buffer_of(params->arena)->data;
    if (program->segments)
        split(program);
    return program;
}

int vrt_xpu_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                        struct vrt_program **ret_program)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct xpu_program *program = new_program(params);
    int r;

    if (!program)
        return vrt_raise(-ENOMEM);
    if (!program->segments || !make_takes(program))
        r = vrt_raise(-ENOMEM);
    else
        r = vrt_xpu_outcome(xpu, record_take(xpu, program, &program->takes[0], false),
                            "recording a program");
    if (r != 0) {
        vrt_xpu_program_free(device, &program->base);
        return r;
    }
    *ret_program = &program->base;
    return 0;
}

/* The last submission that ran it, in whichever recording. */
static uint64_t last_submission(const struct xpu_program *program)
{
    uint64_t last = 0;

    for (int i = 0; i < N_TAKES; i++)
        last = VRT_MAX(last, program->takes[i].submission);
    return last;
}

static void free_take(struct vrt_xpu_device *xpu, const struct xpu_program *program,
                      struct take *take)
{
    for (size_t i = 0; take->lists && i < program->n_segments; i++)
        vrt_xpu_list_free(xpu, take->lists[i]);
    free(take->lists);
    free(take->at);
}

void vrt_xpu_program_free(struct vrt_device *device, struct vrt_program *base)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct xpu_program *program = program_of(base);

    if (!device->lost)
        vrt_xpu_outcome(xpu, vrt_xpu_await(xpu, last_submission(program)), "computing");
    for (int i = 0; i < N_TAKES; i++)
        free_take(xpu, program, &program->takes[i]);
    free(program->segments);
    free(program);
}

static struct vrt_kernel_place place_of(const struct vrt_binding *binding)
{
    if (!binding->buffer)
        return (struct vrt_kernel_place){ NULL, 0 };
    return (struct vrt_kernel_place){ buffer_of(binding->buffer)->data, binding->offset_bytes };
}

static bool is_same(struct vrt_kernel_place a, struct vrt_kernel_place b)
{
    return a.memory == b.memory && a.offset_bytes == b.offset_bytes;
}

/* The take that was recorded with these bindings, or the one that wasn't wanted for longest. */
static struct take *find_take(struct xpu_program *program, const struct vrt_binding *bindings,
                              bool *ret_found)
{
    struct take *oldest = &program->takes[0];

    for (int i = 0; i < N_TAKES; i++) {
        struct take *take = &program->takes[i];
        bool same = take->submission > 0;
        for (int k = 0; same && k < program->n_bindings; k++)
            same = is_same(take->at[k], place_of(&bindings[k]));
        *ret_found = same;
        if (same)
            return take;
        if (take->used < oldest->used)
            oldest = take;
    }
    return oldest;
}

/* A take of these bindings that isn't under way. */
static ze_result_t prepare(struct vrt_xpu_device *xpu, struct xpu_program *program,
                           const struct vrt_binding *bindings, struct take **ret_take)
{
    bool found;
    struct take *take = find_take(program, bindings, &found);
    ze_result_t r = vrt_xpu_await(xpu, take->submission);

    *ret_take = take;
    if (r != 0 || found)
        return r;
    take->submission = 0;
    program->ops = program->base.ops;
    for (int i = 0; i < program->n_bindings; i++)
        take->at[i] = place_of(&bindings[i]);
    return record_take(xpu, program, take, true);
}

static ze_result_t submit(struct vrt_xpu_device *xpu, struct xpu_program *program,
                          const struct vrt_binding *bindings)
{
    struct take *take;
    ze_result_t r = prepare(xpu, program, bindings, &take);

    for (int i = 0; r == 0 && i < program->n_bindings; i++)
        if (bindings[i].buffer)
            r = vrt_xpu_staging_await(xpu, buffer_of(bindings[i].buffer)->staging);
    if (r != 0)
        return r;
    r = vrt_xpu_submit(xpu, take->lists, (uint32_t)program->n_segments);
    if (r != 0)
        return r;
    take->submission = xpu->n_submitted;
    take->used = ++program->n_used;
    if (program->base.arena)
        buffer_of(program->base.arena)->used = xpu->n_submitted;
    for (int i = 0; i < program->n_bindings; i++)
        if (bindings[i].buffer)
            buffer_of(bindings[i].buffer)->used = xpu->n_submitted;
    return ZE_RESULT_SUCCESS;
}

int vrt_xpu_program_submit(struct vrt_device *device, struct vrt_program *program,
                           const struct vrt_binding *bindings)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);

    return vrt_xpu_outcome(xpu, submit(xpu, program_of(program), bindings),
                           "starting a program");
}
