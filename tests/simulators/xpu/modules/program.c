/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/modules/program.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/xpu/modules/translate.h"

#define LOG_BYTES 65536
#define MATRIX_LANES 8                  /* of a subgroup whose matrix units matrix.c emulates */

/* Work of more items in a row is none that PoCL has a variant of a kernel for. */
#define LARGE ((uint32_t)UINT16_MAX + 1)

/* What is compiled of a kernel: PoCL makes one for each of these. */
struct drv_prepared {
    const struct drv_kernel_info *kernel;
    uint32_t group_size[3];
    struct drv_prepared *next;
};

/* One lock for all that is built: PoCL's compiler is no place for several threads either. */
static struct {
    pthread_mutex_t lock;
    cl_context context;                 /* NULL: not looked for, or not there */
    cl_device_id device;
    cl_command_queue queue;             /* that nothing is ever run on */
    cl_event never;                     /* since it waits for this */
    struct drv_program *programs;
} pocl = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local cl_command_queue thread_queue;

static bool open_platform(cl_platform_id platform)
{
    char name[128] = "";
    cl_int error;
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    if (strcmp(name, "Portable Computing Language") != 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &pocl.device, NULL) != CL_SUCCESS)
        return false;
    pocl.context = clCreateContext(NULL, 1, &pocl.device, NULL, NULL, &error);
    return pocl.context != NULL;
}

static bool open_pocl(void)
{
    cl_platform_id platforms[8];
    cl_uint n = 0;
    if (pocl.context)
        return true;
    if (clGetPlatformIDs(VRT_ARRAY_SIZE(platforms), platforms, &n) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < VRT_MIN(n, VRT_ARRAY_SIZE(platforms)); i++) {
        if (open_platform(platforms[i]))
            return true;
    }
    return false;
}

/* What PoCL says of a program that it doesn't build. */
static char *build_log(cl_program program)
{
    char *log = calloc(1, LOG_BYTES);
    if (log)
        clGetProgramBuildInfo(program, pocl.device, CL_PROGRAM_BUILD_LOG, LOG_BYTES - 1, log, NULL);
    return log;
}

/* PoCL 3 takes LLVM's form only. Later ones take SPIR-V, and of LLVM's form what was compiled for
 * the processor alone. */
static enum drv_form form_for_pocl(void)
{
    char versions[256] = "";
    clGetDeviceInfo(pocl.device, CL_DEVICE_IL_VERSION, sizeof(versions) - 1, versions, NULL);
    return strstr(versions, "SPIR-V") ? DRV_FORM_SPIRV : DRV_FORM_BITCODE;
}

static cl_program create(enum drv_form form, const unsigned char *bytes, size_t n,
                         cl_int *ret_error)
{
    cl_int state;
    if (form == DRV_FORM_SPIRV)
        return clCreateProgramWithIL(pocl.context, bytes, n, ret_error);
    return clCreateProgramWithBinary(pocl.context, 1, &pocl.device, &n, &bytes, &state, ret_error);
}

static cl_program build(const struct drv_program *of, char **ret_log)
{
    VRT_CLEANUP(vrt_freep) uint8_t *bytes = NULL;
    size_t n = 0;
    cl_int error;

    if (!open_pocl()) {
        *ret_log = strdup("there is no PoCL: install pocl-opencl-icd");
        return NULL;
    }
    const struct drv_wish wish = {
        .form = form_for_pocl(),
        .matrix_kernel = of->module.matrix[0] ? of->module.kernels[0].name : NULL,
    };
    bytes = drv_translate(of->spirv, of->n_bytes, &wish, &n, ret_log);
    if (!bytes)
        return NULL;
    cl_program program = create(wish.form, bytes, n, &error);
    if (error != CL_SUCCESS) {
        *ret_log = strdup(wish.form == DRV_FORM_SPIRV ? "PoCL doesn't take this SPIR-V"
                                                      : "PoCL takes no program of this LLVM");
        return NULL;
    }
    if (clBuildProgram(program, 1, &pocl.device, "", NULL, NULL) == CL_SUCCESS)
        return program;
    *ret_log = build_log(program);
    clReleaseProgram(program);
    return NULL;
}

/* What the module can't be executed for; "": nothing. */
static const char *missing_of(const struct drv_spirv *module, bool has_matrices)
{
    if (module->missing[0] || !module->matrix[0])
        return module->missing;
    if (!has_matrices)
        return module->matrix;
    /* The emulation's local memory is one kernel's. */
    if (module->n_kernels != 1)
        return "matrix units in a module of several kernels";
    const struct drv_kernel_info *kernel = &module->kernels[0];
    if (kernel->subgroup_size != MATRIX_LANES)
        return "matrix units in subgroups that aren't of 8";
    if (kernel->group_size[0] * kernel->group_size[1] * kernel->group_size[2] % MATRIX_LANES != 0)
        return "matrix units in subgroups that aren't whole";
    return "";
}

static struct drv_program *make(const void *spirv, size_t n_bytes, bool has_matrices,
                                char **ret_log)
{
    struct drv_program *program = calloc(1, sizeof(*program) + n_bytes);
    if (!program)
        return NULL;
    memcpy(program->spirv, spirv, n_bytes);
    program->n_bytes = n_bytes;
    if (!drv_spirv_parse(program->spirv, n_bytes, &program->module))
        *ret_log = strdup("this is no SPIR-V");
    else if (*missing_of(&program->module, has_matrices)) {
        if (asprintf(ret_log, "there is nothing on a CPU for %s",
                     missing_of(&program->module, has_matrices)) < 0)
            *ret_log = NULL;
    } else if ((program->built = build(program, ret_log)) != NULL)
        return program;
    free(program->module.kernels);
    free(program);
    return NULL;
}

/* LLVM gives the thread that it compiles on another stack for signals: the thread gets its own
 * back, which whoever made it (a sanitizer) frees with the thread. */
static void begin_compiling(stack_t *ret_stack)
{
    sim_cache_lock();
    sigaltstack(NULL, ret_stack);
}

static void end_compiling(const stack_t *stack)
{
    sigaltstack(stack, NULL);
    sim_cache_unlock();
}

struct drv_program *drv_program_get(const void *spirv, size_t n_bytes, bool has_matrices,
                                    char **ret_log)
{
    *ret_log = NULL;
    pthread_mutex_lock(&pocl.lock);
    struct drv_program *program = pocl.programs;
    while (program &&
           (program->n_bytes != n_bytes || memcmp(program->spirv, spirv, n_bytes) != 0))
        program = program->next;
    if (!program) {
        stack_t stack;
        begin_compiling(&stack);
        program = make(spirv, n_bytes, has_matrices, ret_log);
        end_compiling(&stack);
        if (program) {
            program->next = pocl.programs;
            pocl.programs = program;
        }
    }
    pthread_mutex_unlock(&pocl.lock);
    return program;
}

const struct drv_kernel_info *drv_program_kernel(const struct drv_program *program,
                                                 const char *name)
{
    for (uint32_t i = 0; i < program->module.n_kernels; i++) {
        if (strcmp(program->module.kernels[i].name, name) == 0)
            return &program->module.kernels[i];
    }
    return NULL;
}

static cl_int set_arguments(cl_kernel kernel, const struct drv_launch *launch)
{
    cl_int error = CL_SUCCESS;
    for (uint32_t i = 0; error == CL_SUCCESS && i < launch->kernel->n_arguments; i++) {
        const struct drv_argument *argument = &launch->arguments[i];
        /* Of the CPU's memory PoCL takes any pointer. */
        error = launch->kernel->arguments[i].kind == DRV_ARGUMENT_POINTER
                    ? clSetKernelArgSVMPointer(kernel, i, argument->pointer)
                    : clSetKernelArg(kernel, i, argument->n_bytes, argument->bytes);
    }
    return error;
}

/* Return: the kernel with its arguments, NULL: *ret_error says why not. */
static cl_kernel make_kernel(const struct drv_launch *launch, cl_int *ret_error)
{
    cl_kernel kernel = clCreateKernel(launch->program->built, launch->kernel->name, ret_error);
    if (*ret_error != CL_SUCCESS)
        return NULL;
    *ret_error = set_arguments(kernel, launch);
    if (*ret_error == CL_SUCCESS)
        return kernel;
    clReleaseKernel(kernel);
    return NULL;
}

/* One that has an event, ret_never, waits for what never comes. */
static cl_int enqueue(cl_kernel kernel, const uint32_t *group_size, const uint32_t *n_groups,
                      cl_command_queue queue, cl_event *ret_never)
{
    size_t local[3], global[3];
    for (int i = 0; i < 3; i++) {
        local[i] = group_size[i];
        global[i] = local[i] * n_groups[i];
    }
    return clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, ret_never ? 1 : 0,
                                  ret_never ? &pocl.never : NULL, ret_never);
}

/* Whether it is compiled already; from now on it is. Under the lock. */
static bool remember(struct drv_program *program, const struct drv_prepared *wanted)
{
    for (struct drv_prepared *p = program->prepared; p; p = p->next) {
        if (p->kernel == wanted->kernel &&
            memcmp(p->group_size, wanted->group_size, sizeof(p->group_size)) == 0)
            return true;
    }
    struct drv_prepared *made = malloc(sizeof(*made));
    if (made) {
        *made = *wanted;
        made->next = program->prepared;
        program->prepared = made;
    }
    return false;
}

/*
 * PoCL compiles as a command is enqueued: this one waits for what never comes, and is left behind
 * (it doesn't survive that what it waits for fails). It is a large one. For small ones PoCL makes a
 * variant unless it finds this, and with both at hand it counts the uses of the one on the other:
 * it ends the process when two threads do that at a time.
 */
static void compile(const struct drv_launch *launch)
{
    static const uint32_t n_groups[3] = { LARGE, 1, 1 };
    cl_int error = CL_SUCCESS;
    cl_event command;
    if (!pocl.queue)
        pocl.queue = clCreateCommandQueueWithProperties(pocl.context, pocl.device, NULL, &error);
    if (error == CL_SUCCESS && !pocl.never)
        pocl.never = clCreateUserEvent(pocl.context, &error);
    cl_kernel kernel = error == CL_SUCCESS ? make_kernel(launch, &error) : NULL;
    if (kernel)
        enqueue(kernel, launch->group_size, n_groups, pocl.queue, &command);
}

void drv_launch_prepare(const struct drv_launch *launch)
{
    struct drv_prepared wanted = { .kernel = launch->kernel };
    memcpy(wanted.group_size, launch->group_size, sizeof(wanted.group_size));
    pthread_mutex_lock(&pocl.lock);
    if (!remember(launch->program, &wanted)) {
        stack_t stack;
        begin_compiling(&stack);
        compile(launch);
        end_compiling(&stack);
    }
    pthread_mutex_unlock(&pocl.lock);
}

int drv_launch_run(const struct drv_launch *launch)
{
    cl_int error = CL_SUCCESS;
    if (!thread_queue)
        thread_queue = clCreateCommandQueueWithProperties(pocl.context, pocl.device, NULL, &error);
    cl_kernel kernel = error == CL_SUCCESS ? make_kernel(launch, &error) : NULL;
    if (!kernel)
        return error;
    error = enqueue(kernel, launch->group_size, launch->n_groups, thread_queue, NULL);
    if (error == CL_SUCCESS)
        error = clFinish(thread_queue);
    clReleaseKernel(kernel);
    return error;
}
