/* SPDX-License-Identifier: MIT */

/*
 * Programs of a CUDA device: the ops' kernels captured in a graph, once, and replayed
 *
 * What changes from one replay to the next is where the bound tensors are. Kernels look that up in
 * a small table in the device's memory, which a kernel of its own writes ahead of each replay.
 */

#include <errno.h>
#include <stdlib.h>

#include "backend/cuda/card.h"
#include "backend/cuda/device.h"
#include "backend/cuda/libraries/libraries.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

struct vrt_cuda_program {
    struct vrt_program base;
    cudaGraphExec_t graph;
    char **slots;                   /* in the device's memory */
    int n_bindings;
};

static struct vrt_cuda_program *program_of(struct vrt_program *base)
{
    return vrt_container_of(base, struct vrt_cuda_program, base);
}

static char *data_of(const struct vrt_buffer *buffer)
{
    return buffer ? vrt_container_of(buffer, struct vrt_cuda_buffer, base)->data : NULL;
}

/* Goes through the ops, and enqueues them, or, with *ret_n_by_library, only readies libraries, and
 * counts what they will do. */
static int do_all(struct vrt_cuda_device *cuda, const struct vrt_cuda_program *program,
                  const struct vrt_program_params *params, size_t *ret_n_by_library)
{
    const struct vrt_cuda_replica *replica = params->replica ?
        vrt_container_of(params->replica, struct vrt_cuda_replica, base) : NULL;
    char *arena = data_of(params->arena);
    int r = 0;

    for (size_t i = 0; !r && i < params->n_ops; i++) {
        const struct vrt_op *op = &params->ops[i];
        const struct vrt_cuda_call call = {
            .stream = cuda->compute,
            .limits = &cuda->limits,
            .op = op,
            .params = replica ? replica->params : NULL,
            .arena = arena,
            .slots = program->slots,
            .workspace = arena ? arena + op->workspace_offset_bytes : NULL,
            .workspace_bytes = vrt_cuda_workspace_bytes(&cuda->base, op),
            .tf32 = cuda->tf32,
            .f32 = cuda->f32,
        };
        bool by_library;
        r = vrt_cuda_libraries_can(cuda->libraries, &call, &by_library);
        if (ret_n_by_library)
            *ret_n_by_library += by_library;
        else if (!r)
            r = by_library ? vrt_cuda_libraries_launch(cuda->libraries, &call)
                           : vrt_cuda_launch(&call);
        /* A library may plan for seconds, a driver compile. */
        vrt_device_alive(&cuda->base);
    }
    return r;
}

/* Return: cudaError_t. */
static int capture(struct vrt_cuda_device *cuda, struct vrt_cuda_program *program,
                   const struct vrt_program_params *params)
{
    cudaGraph_t graph = NULL;
    /* Nobody else uses this stream, and what a kernel's first launch allocates is no part of it. */
    int r = (int)cudaStreamBeginCapture(cuda->compute, cudaStreamCaptureModeRelaxed), ended;

    if (r)
        return r;
    r = do_all(cuda, program, params, NULL);
    ended = (int)cudaStreamEndCapture(cuda->compute, &graph);
    if (!r)
        r = ended;
    if (!r)
        r = (int)cudaGraphInstantiate(&program->graph, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return r;
}

/* With libraries, and without them if that fails: one may also do what can't be recorded, and say
 * nothing of it. Return: cudaError_t. */
static int record(struct vrt_cuda_device *cuda, struct vrt_cuda_program *program,
                  const struct vrt_program_params *params)
{
    size_t n_by_library = 0;
    int r;

    vrt_cuda_card_lock(cuda->card);
    if (cuda->n_programs == 1)
        vrt_cuda_libraries_renew(cuda->libraries);
    r = do_all(cuda, program, params, &n_by_library);
    if (!r)
        r = capture(cuda, program, params);
    if (!r && n_by_library)
        vrt_log_debug("%s: libraries of NVIDIA's compute %zu of a program's %zu ops",
                      cuda->base.info->name, n_by_library, params->n_ops);
    if (r && r != (int)cudaErrorMemoryAllocation && n_by_library) {
        cudaGetLastError();
        vrt_cuda_libraries_give_up(cuda->libraries);
        r = capture(cuda, program, params);
    }
    vrt_cuda_card_unlock(cuda->card);
    return r;
}

int vrt_cuda_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                         struct vrt_program **ret_program)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_program *program;
    int r;

    if (params->n_bindings >= VRT_CUDA_MAX_SLOTS) {
        vrt_log_error("a program with %d bound buffers: at most %d are possible",
                      params->n_bindings, VRT_CUDA_MAX_SLOTS - 1);
        return vrt_raise(-EINVAL);
    }
    program = calloc(1, sizeof(*program));
    if (!program)
        return vrt_raise(-ENOMEM);
    program->n_bindings = params->n_bindings;
    cuda->n_programs++;
    r = (int)cudaMalloc((void **)&program->slots, sizeof(struct vrt_cuda_slots));
    if (!r)
        r = record(cuda, program, params);
    r = vrt_cuda_outcome(cuda, r, "recording a program");
    if (r) {
        vrt_cuda_program_free(device, &program->base);
        return r;
    }
    *ret_program = &program->base;
    return 0;
}

void vrt_cuda_program_free(struct vrt_device *device, struct vrt_program *base)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_program *program = program_of(base);

    cudaStreamSynchronize(cuda->compute);
    if (program->graph)
        cudaGraphExecDestroy(program->graph);
    cudaFree(program->slots);
    free(program);
    cuda->n_programs--;
}

static struct vrt_cuda_buffer *buffer_of(struct vrt_buffer *base)
{
    return base ? vrt_container_of(base, struct vrt_cuda_buffer, base) : NULL;
}

/* What a program computes with waits for what is on its way there. Return: cudaError_t. */
static int await_written(struct vrt_cuda_device *cuda, const struct vrt_cuda_buffer *buffer)
{
    return buffer && buffer->is_written ?
           (int)cudaStreamWaitEvent(cuda->compute, buffer->written, 0) : 0;
}

/* Who copies to or from the buffer later waits for the program. Return: cudaError_t. */
static int mark_used(struct vrt_cuda_device *cuda, struct vrt_cuda_buffer *buffer)
{
    if (!buffer)
        return 0;
    buffer->is_used = true;
    return (int)cudaEventRecord(buffer->used, cuda->compute);
}

static int submit(struct vrt_cuda_device *cuda, struct vrt_cuda_program *program,
                  const struct vrt_binding *bindings)
{
    struct vrt_cuda_buffer *arena = buffer_of(program->base.arena);
    struct vrt_cuda_slots slots = { 0 };
    int r = await_written(cuda, arena);

    for (int i = 0; !r && i < program->n_bindings; i++) {
        const struct vrt_cuda_buffer *buffer = buffer_of(bindings[i].buffer);
        slots.at[1 + i] = buffer->data + bindings[i].offset_bytes;
        r = await_written(cuda, buffer);
    }
    if (!r)
        r = vrt_cuda_bind(cuda->compute, &slots, program->slots);
    if (!r)
        r = (int)cudaGraphLaunch(program->graph, cuda->compute);
    if (!r)
        r = mark_used(cuda, arena);
    for (int i = 0; !r && i < program->n_bindings; i++)
        r = mark_used(cuda, buffer_of(bindings[i].buffer));
    return r;
}

int vrt_cuda_program_submit(struct vrt_device *device, struct vrt_program *program,
                            const struct vrt_binding *bindings)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);

    return vrt_cuda_outcome(cuda, submit(cuda, program_of(program), bindings),
                            "starting a program");
}
