/* SPDX-License-Identifier: MIT */

/*
 * Programs of a CPU device: each op is a step, cut into units by its shapes alone, and each step
 * is one or two tasks of the pool; units of one step may begin before the last one's are all done
 *
 * Memory of a step in the workspace: the scratch of each thread, then what all threads share. Where
 * nothing is shared each thread has its scratch in the same place for all steps: so a thread that
 * is ahead, with a unit of the next step, writes over nobody's scratch but its own.
 *
 * Everything is decided when the program is made: implementations, units, what they wait for. A
 * submission only fills in where the tensors are this time (step.call), and so there is one at a
 * time; submit() returns when it is done. It returns 0 all the same, and a failure is left for
 * finish(), as with devices that compute in the background.
 *
 * Units depend on shapes, never on the number of threads, and so results don't either.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/device.h"
#include "backend/cpu/threads/order.h"

#define ALIGN 64

/* What a unit of the plain ops writes, or reads where that is more: it stays in the cache. */
#define UNIT_BYTES (128 * 1024)

struct step {
    struct vrt_cpu_program *program;
    struct vrt_op op;
    const struct vrt_cpu_kernel *kernel;    /* NULL: a convolution by oneDNN: */
    struct vrt_conv *conv;
    struct vrt_cpu_cut cut;
    int n_tasks;
    size_t scratch_bytes;                   /* that each thread needs */
    size_t scratch_step_bytes;              /* from one thread's to the next one's */
    struct vrt_cpu_call call;               /* of this submission, without scratch */
    char *scratch;
};

struct vrt_cpu_program {
    struct vrt_program base;
    struct step *steps;
    size_t n_steps;
    struct vrt_cpu_task *tasks;
    int n_tasks;
    struct vrt_cpu_span *needs;             /* of all units, task after task */
    atomic_bool *units_done;                /* the same */
    char *arena;
    atomic_int failure;                     /* of this submission: the first */
};

static size_t aligned(size_t size_bytes)
{
    return (size_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* No kernel here knows f16; of bf16 only the convolutions may be missing. */
static bool is_supported_type(const struct vrt_cpu_device *cpu, const struct vrt_op *op,
                              const struct vrt_tensor *t)
{
    if (t->dtype == VRT_DTYPE_F16)
        return false;
    return op->kind != VRT_OP_CONV2D || vrt_dnnl_supports(cpu->dnnl, t->dtype);
}

bool vrt_cpu_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);

    if (!cpu->isa->kernels[op->kind])
        return false;
    if (!vrt_cpu_multiplies(cpu, op->weight_dtype))
        return false;
    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i) && !is_supported_type(cpu, op, vrt_op_in(op, i)))
            return false;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        if (!is_supported_type(cpu, op, vrt_op_out(op, i)))
            return false;
    return true;
}

/* Whether a conv2d is done by Winograd's algorithm. The replica asks the same, and packs for it. */
static bool is_winograd(const struct vrt_op *op)
{
    const int k = op->conv2d.kernel;

    return vrt_winograd_fits((int[4]){ op->out.shape.c, op->in[0].shape.c, k, k },
                             op->in[0].dtype);
}

/* Return: NULL: it is a convolution by oneDNN. */
static const struct vrt_cpu_kernel *kernel_of(const struct vrt_cpu_device *cpu,
                                              const struct vrt_op *op)
{
    const struct vrt_cpu_kernel *kernel = NULL;

    if (op->kind == VRT_OP_CONV2D && !is_winograd(op))
        return NULL;
    if (op->weight_dtype == VRT_DTYPE_BF16)
        kernel = vrt_cpu_bf16_kernel(op->kind);
    else if (op->is_exact)
        kernel = vrt_cpu_split_kernel(op->kind);
    return kernel ? kernel : cpu->isa->kernels[op->kind];
}

static size_t kernel_scratch_bytes(const struct vrt_cpu_kernel *kernel, const struct vrt_op *op)
{
    return kernel->scratch_bytes ? aligned(kernel->scratch_bytes(op)) : 0;
}

static size_t shared_bytes(const struct vrt_cpu_kernel *kernel, const struct vrt_op *op)
{
    return kernel && kernel->shared_bytes ? aligned(kernel->shared_bytes(op)) : 0;
}

size_t vrt_cpu_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);
    const struct vrt_cpu_kernel *kernel = kernel_of(cpu, op);
    size_t scratch = 0;

    if (kernel) {
        scratch = kernel_scratch_bytes(kernel, op);
    } else if (vrt_conv_measure(cpu->dnnl, op, cpu->isa, &scratch)) {
        /* program_new() meets the same failure, and can say so. */
        return 0;
    }
    return scratch * (size_t)cpu->n_threads + shared_bytes(kernel, op);
}

static char *scratch_of(const struct step *step, int thread)
{
    return step->scratch + (size_t)thread * step->scratch_step_bytes;
}

static void run_conv(const void *context, int unit, int thread)
{
    const struct step *step = context;
    struct vrt_cpu_call call = step->call;
    int none = 0;

    /* The copy is this thread's: threads differ in their scratch alone. */
    call.scratch = scratch_of(step, thread);
    int r = vrt_conv_run(step->conv, &call, unit, thread);
    if (r < 0)
        atomic_compare_exchange_strong(&step->program->failure, &none, r);
}

/* The frame and, to rows, the band of a unit of whole rows. */
static int place_unit(const struct vrt_cpu_cut *cut, int unit, int rows[2])
{
    const int bands = vrt_cpu_cut_n_bands(cut);

    rows[0] = unit % bands * cut->rows;
    rows[1] = VRT_MIN(rows[0] + cut->rows, cut->h);
    return unit / bands;
}

static void run_rows(const void *context, int unit, int thread)
{
    const struct step *step = context;
    struct vrt_cpu_call call = step->call;
    int rows[2], d = place_unit(&step->cut, unit, rows);

    call.scratch = scratch_of(step, thread);
    step->kernel->rows(&call, d, rows[0], rows[1]);
}

static void run_join(const void *context, int unit, int thread)
{
    const struct step *step = context;

    (void)thread;
    step->kernel->join(&step->call, unit);
}

static void add_task(struct step *step, int n_units,
                     void (*run)(const void *context, int unit, int thread))
{
    struct vrt_cpu_task *task = &step->program->tasks[step->program->n_tasks++];

    task->n_units = n_units;
    task->run = run;
    task->context = step;
    step->n_tasks++;
}

/* Cuts frames of this shape into units of about unit_bytes, of rows of so many bytes. */
static void cut(struct step *step, struct vrt_shape shape, size_t unit_bytes, size_t bytes,
                int align)
{
    const int rows = (int)VRT_MIN(VRT_MAX(unit_bytes / bytes, 1), (size_t)shape.h);

    step->cut = (struct vrt_cpu_cut){
        .d = shape.d, .h = shape.h, .rows = (rows + align - 1) / align * align, .across = 1,
    };
}

static int plan_conv(struct vrt_cpu_device *cpu, const struct vrt_cpu_replica *replica,
                     struct step *step)
{
    const struct vrt_op_conv2d *attr = &step->op.conv2d;
    const struct vrt_cpu_param *weight = &replica->params[attr->weight];
    const bool has_slopes = attr->activation == VRT_ACTIVATION_PRELU;
    const struct vrt_conv_params params = {
        .op = &step->op,
        .isa = cpu->isa,
        .weights = weight->weights,
        .bias = attr->bias >= 0 ? replica->params[attr->bias].values : NULL,
        .slopes = has_slopes ? replica->params[attr->slopes].values : NULL,
    };
    int r;

    r = vrt_conv_new(cpu->dnnl, &params, &step->conv);
    if (r < 0)
        return vrt_fold(r);
    step->scratch_bytes = vrt_conv_scratch_bytes(step->conv);
    step->cut = vrt_conv_cut(step->conv);
    add_task(step, vrt_cpu_cut_n_units(&step->cut), run_conv);
    return 0;
}

static void plan_rows(struct step *step)
{
    const struct vrt_op *op = &step->op;
    const struct vrt_cpu_kernel *kernel = step->kernel;
    const struct vrt_tensor *what = kernel->cuts_input ? &op->in[0] : &op->out;
    const int align = kernel->align_rows ? kernel->align_rows(op) : 1;

    step->scratch_bytes = kernel_scratch_bytes(kernel, op);
    if (kernel->n_units) {
        step->cut = (struct vrt_cpu_cut){ 1, kernel->n_units(op), 1, 1 };
        add_task(step, vrt_cpu_cut_n_units(&step->cut), run_rows);
        return;
    }
    cut(step, what->shape, UNIT_BYTES,
        kernel->row_bytes ? kernel->row_bytes(op) : vrt_cpu_tensor_row_bytes(what), align);
    add_task(step, vrt_cpu_cut_n_units(&step->cut), run_rows);
    if (kernel->join)
        add_task(step, op->out.shape.d, run_join);
}

static int plan_step(struct vrt_cpu_device *cpu, const struct vrt_program_params *params,
                     struct vrt_cpu_program *program, const struct vrt_op *op)
{
    struct step *step = &program->steps[program->n_steps++];
    const struct vrt_cpu_replica *replica =
        params->replica ? vrt_container_of(params->replica, struct vrt_cpu_replica, base) : NULL;

    step->program = program;
    step->op = *op;
    step->kernel = kernel_of(cpu, op);
    step->call.params = replica ? replica->params : NULL;
    if (!step->kernel)
        return plan_conv(cpu, replica, step);
    plan_rows(step);
    return 0;
}

static struct vrt_cpu_order_step order_step(const struct vrt_cpu_device *cpu,
                                            const struct step *step)
{
    return (struct vrt_cpu_order_step){
        .op = &step->op,
        .cut = step->cut,
        .scratch_step_bytes = step->scratch_step_bytes,
        .workspace_bytes = step->scratch_step_bytes * (size_t)cpu->n_threads +
                           shared_bytes(step->kernel, &step->op),
        .shares = step->kernel && step->kernel->shared_bytes,
    };
}

/* Where nothing is shared there is room for as much as any step needs: its workspace is no larger
 * than the largest. */
static void place_scratch(struct vrt_cpu_program *program)
{
    size_t most = 0;

    for (size_t s = 0; s < program->n_steps; s++)
        most = VRT_MAX(most, program->steps[s].scratch_bytes);
    for (size_t s = 0; s < program->n_steps; s++) {
        struct step *step = &program->steps[s];
        const bool shares = step->kernel && step->kernel->shared_bytes;
        step->scratch_step_bytes = shares ? step->scratch_bytes : most;
    }
}

/* Lets units begin before all of the step before is done, where that is safe. */
static int order_steps(const struct vrt_cpu_device *cpu, struct vrt_cpu_program *program)
{
    size_t n_units = 0, unit = 0;
    int task = 0;

    for (int i = 0; i < program->n_tasks; i++)
        n_units += (size_t)program->tasks[i].n_units;
    program->needs = calloc(n_units + 1, sizeof(*program->needs));
    program->units_done = calloc(n_units + 1, sizeof(*program->units_done));
    if (!program->needs || !program->units_done)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < program->n_tasks; i++) {
        program->tasks[i].unit_done = program->units_done + unit;
        unit += (size_t)program->tasks[i].n_units;
    }
    for (size_t s = 0; s + 1 < program->n_steps; s++) {
        const struct step *steps = &program->steps[s];
        const struct vrt_cpu_order_step before = order_step(cpu, &steps[0]);
        const struct vrt_cpu_order_step after = order_step(cpu, &steps[1]);

        task += steps[0].n_tasks;
        struct vrt_cpu_task *next = &program->tasks[task];
        struct vrt_cpu_span *needs = program->needs + (next->unit_done - program->units_done);
        /* A step of two tasks ends with one that works on frames, not on rows. */
        if (steps[0].n_tasks == 1 && vrt_cpu_order_find(&before, &after, needs))
            next->needs = needs;
    }
    return 0;
}

int vrt_cpu_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                        struct vrt_program **ret_program)
{
    /* Where steps that need no memory have it. */
    static char nowhere[1];
    struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);
    struct vrt_cpu_program *program;
    int r = 0;

    program = calloc(1, sizeof(*program));
    if (!program)
        return vrt_raise(-ENOMEM);
    program->steps = calloc(params->n_ops + 1, sizeof(*program->steps));
    program->tasks = calloc(2 * params->n_ops + 1, sizeof(*program->tasks));
    if (!program->steps || !program->tasks)
        r = vrt_raise(-ENOMEM);
    program->arena = params->arena ?
                     vrt_container_of(params->arena, struct vrt_cpu_buffer, base)->data : nowhere;
    for (size_t i = 0; r == 0 && i < params->n_ops; i++)
        r = plan_step(cpu, params, program, &params->ops[i]);
    place_scratch(program);
    if (r == 0)
        r = order_steps(cpu, program);
    if (r < 0) {
        vrt_cpu_program_free(device, &program->base);
        return vrt_fold(r);
    }
    *ret_program = &program->base;
    return 0;
}

void vrt_cpu_program_free(struct vrt_device *device, struct vrt_program *base)
{
    struct vrt_cpu_program *program = vrt_container_of(base, struct vrt_cpu_program, base);

    (void)device;
    for (size_t i = 0; i < program->n_steps; i++)
        vrt_conv_free(program->steps[i].conv);
    free(program->steps);
    free(program->tasks);
    free(program->needs);
    free(program->units_done);
    free(program);
}

/* Where element (0,0,0,0) of `t` is, this time; NULL: no tensor. */
static void *place(const struct vrt_cpu_program *program, const struct vrt_binding *bindings,
                   const struct vrt_tensor *t)
{
    if (!t)
        return NULL;
    if (t->slot == VRT_SLOT_ARENA)
        return program->arena + t->offset_bytes;

    const struct vrt_binding *b = &bindings[t->slot - 1];
    return vrt_container_of(b->buffer, struct vrt_cpu_buffer, base)->data + b->offset_bytes +
           t->offset_bytes;
}

static void place_step(const struct vrt_cpu_device *cpu, struct step *step,
                       const struct vrt_binding *bindings)
{
    struct vrt_cpu_call *call = &step->call;

    call->op = &step->op;
    for (int i = 0; i < VRT_OP_MAX_IN; i++)
        call->in[i] = place(step->program, bindings, vrt_op_in(&step->op, i));
    call->out = place(step->program, bindings, &step->op.out);
    for (int i = 1; i < vrt_op_n_out(&step->op); i++)
        call->out_more[i - 1] = place(step->program, bindings, vrt_op_out(&step->op, i));

    step->scratch = step->program->arena + step->op.workspace_offset_bytes;
    if (step->kernel && step->kernel->shared_bytes)
        call->shared = step->scratch + step->scratch_step_bytes * (size_t)cpu->n_threads;
}

int vrt_cpu_program_submit(struct vrt_device *device, struct vrt_program *base,
                           const struct vrt_binding *bindings)
{
    struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);
    struct vrt_cpu_program *program = vrt_container_of(base, struct vrt_cpu_program, base);

    for (size_t i = 0; i < program->n_steps; i++)
        place_step(cpu, &program->steps[i], bindings);
    atomic_store(&program->failure, 0);
    vrt_cpu_pool_run(cpu->pool, program->tasks, program->n_tasks);
    /* Later submissions don't hide it: the first since finish() is what finish() tells. */
    if (!cpu->failure && atomic_load(&program->failure))
        cpu->failure = VRT_BACKEND_E_FAILED;
    return 0;
}
