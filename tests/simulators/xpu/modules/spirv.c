/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/modules/spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define MAGIC 0x07230203u
#define HEADER_WORDS 5
#define MAX_BOUND (1u << 22)            /* of ids, as the specification limits them */
#define MAX_TYPE_BYTES (1u << 24)

enum {
    OP_ENTRY_POINT = 15,
    OP_CAPABILITY = 17,
    OP_EXECUTION_MODE = 16,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_FUNCTION_PARAMETER = 55,
    OP_FUNCTION_END = 56,
    OP_FUNCTION_CALL = 57,
    OP_VARIABLE = 59,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_DECORATE = 71,
    OP_BITCAST = 124,
    OP_ATOMIC_LOAD = 227,
    OP_ATOMIC_XOR = 242,
};

enum {
    MODEL_KERNEL = 6,
    MODE_LOCAL_SIZE = 17,
    MODE_SUBGROUP_SIZE = 35,
    DECORATION_BUILTIN = 11,
    DECORATION_LINKAGE = 41,
    BUILTIN_SUBGROUP_SIZE = 36,
    BUILTIN_SUBGROUP_ITEM = 41,
};

/* Capabilities, from first to last, that are about subgroups; a module that only asks for their
 * size has one between these. */
static const struct {
    uint32_t first, last;
    const char *name;
} subgroup_capabilities[] = {
    { 18, 18, "groups" },
    { 61, 68, "subgroups" },
    { 4423, 4431, "subgroups that vote" },
    { 5568, 5579, "Intel's subgroups" },
    { 6100, 6118, "matrices of subgroups" },
};

enum storage {
    STORAGE_UNIFORM_CONSTANT = 0,
    STORAGE_WORKGROUP = 4,
    STORAGE_CROSS_WORKGROUP = 5,
    STORAGE_FUNCTION = 7,
};

/* What an id is, as far as arguments are concerned. */
struct id {
    uint32_t n_bytes, alignment;        /* of a type; 0: unknown */
    uint32_t pointee;                   /* of a pointer's type: an id; else 0 */
    uint32_t storage;
    uint32_t value;                     /* of a constant */
    uint32_t local_bytes;               /* of a variable in local memory; of a function's all */
    bool is_local;                      /* a variable in local memory that nothing has named yet */
    uint32_t callee;                    /* of a function: the first that it calls */
};

struct module {
    struct id *ids;
    uint32_t bound;
    struct drv_kernel_info *kernels;
    uint32_t n_kernels;
    uint32_t function;                  /* that is being read */
    struct drv_kernel_info *now;        /* whose it is; NULL: no kernel's */
    char missing[64], matrix[64];
};

/* Id 0 is nobody's: what is out of bounds ends there. */
static struct id *get(struct module *module, uint32_t id)
{
    return &module->ids[id < module->bound ? id : 0];
}

static void set_type(struct module *module, uint32_t id, uint64_t n_bytes, uint32_t alignment)
{
    get(module, id)->n_bytes = n_bytes > MAX_TYPE_BYTES ? 0 : (uint32_t)n_bytes;
    get(module, id)->alignment = alignment;
}

static bool read_entry_point(struct module *module, const uint32_t *w, uint32_t n)
{
    if (n < 4 || w[1] != MODEL_KERNEL)
        return n >= 4;
    const char *name = (const char *)&w[3];
    size_t length = strnlen(name, (n - 3) * sizeof(*w));
    struct drv_kernel_info *grown = reallocarray(module->kernels, module->n_kernels + 1,
                                                 sizeof(*grown));
    if (!grown)
        return false;
    module->kernels = grown;
    struct drv_kernel_info *kernel = &grown[module->n_kernels];
    if (length >= sizeof(kernel->name))
        return false;
    memset(kernel, 0, sizeof(*kernel));
    kernel->id = w[2];
    memcpy(kernel->name, name, length);
    module->n_kernels++;
    return true;
}

static struct drv_kernel_info *find_kernel(struct module *module, uint32_t id)
{
    for (uint32_t i = 0; i < module->n_kernels; i++) {
        if (module->kernels[i].id == id)
            return &module->kernels[i];
    }
    return NULL;
}

static void read_capability(struct module *module, uint32_t capability)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(subgroup_capabilities); i++) {
        if (capability >= subgroup_capabilities[i].first &&
            capability <= subgroup_capabilities[i].last)
            snprintf(module->missing, sizeof(module->missing), "%s",
                     subgroup_capabilities[i].name);
    }
}

/* What is imported under this name is one of Intel's own functions: matrix units are reached so. */
static void read_decoration(struct module *module, const uint32_t *w, uint32_t n)
{
    static const char intel[] = "intel_sub_group", matrix[] = "16_matrix_mad_k16";
    const char *name = (const char *)&w[3];
    if (n >= 4 && w[2] == DECORATION_BUILTIN && w[3] >= BUILTIN_SUBGROUP_SIZE &&
        w[3] <= BUILTIN_SUBGROUP_ITEM)
        snprintf(module->missing, sizeof(module->missing), "subgroups");
    if (n < 5 || w[2] != DECORATION_LINKAGE)
        return;
    const size_t length = strnlen(name, (n - 3) * sizeof(*w));
    char *to = memmem(name, length, matrix, strlen(matrix)) ? module->matrix : module->missing;
    if (memmem(name, length, intel, strlen(intel)))
        snprintf(to, sizeof(module->missing), "%.*s", (int)VRT_MIN(length, 60), name);
}

static void read_vector(struct module *module, const uint32_t *w)
{
    const struct id *of = get(module, w[2]);
    uint64_t n = of->n_bytes * (uint64_t)(w[3] == 3 ? 4 : w[3]);
    set_type(module, w[1], n, (uint32_t)VRT_MIN(n, 128));
}

static void read_struct(struct module *module, const uint32_t *w, uint32_t n)
{
    uint64_t n_bytes = 0;
    uint32_t alignment = 1;
    for (uint32_t i = 2; i < n; i++) {
        const struct id *of = get(module, w[i]);
        uint32_t a = VRT_MAX(of->alignment, 1);
        n_bytes = (n_bytes + a - 1) / a * a + of->n_bytes;
        alignment = VRT_MAX(alignment, a);
    }
    set_type(module, w[1], (n_bytes + alignment - 1) / alignment * alignment, alignment);
}

static bool read_parameter(struct module *module, const uint32_t *w)
{
    struct drv_kernel_info *kernel = module->now;
    if (!kernel)
        return true;
    if (kernel->n_arguments == DRV_MAX_ARGUMENTS)
        return false;
    const struct id *type = get(module, w[1]);
    struct drv_argument_info *argument = &kernel->arguments[kernel->n_arguments++];
    argument->n_bytes = type->n_bytes;
    if (!type->pointee)
        argument->kind = DRV_ARGUMENT_VALUE;
    else if (type->storage == STORAGE_CROSS_WORKGROUP || type->storage == STORAGE_UNIFORM_CONSTANT)
        argument->kind = DRV_ARGUMENT_POINTER;
    else if (type->storage == STORAGE_FUNCTION)
        argument->n_bytes = get(module, type->pointee)->n_bytes;    /* a struct by value */
    else
        return false;
    return argument->n_bytes > 0;
}

/* Local memory that a function has: what its instructions name of it, each once. */
static void read_uses(struct module *module, const uint32_t *w, uint32_t n)
{
    const uint32_t op = w[0] & 0xffff;
    struct id *function = get(module, module->function);
    const bool has_pointers = (op >= OP_FUNCTION_CALL && op <= OP_BITCAST) ||
                              (op >= OP_ATOMIC_LOAD && op <= OP_ATOMIC_XOR);
    if (!has_pointers)
        return;
    if (op == OP_FUNCTION_CALL && n > 3 && !function->callee)
        function->callee = w[3];
    /* What follows the pointers of these are numbers. */
    const uint32_t n_ids = op == OP_LOAD || op == OP_STORE ? 4 : 8;
    for (uint32_t i = 1; i < VRT_MIN(n, n_ids); i++) {
        struct id *id = get(module, w[i]);
        if (!id->is_local)
            continue;
        function->local_bytes += id->local_bytes;
        id->is_local = false;
    }
}

/* A kernel's entry point may be a function that only calls its body. */
static void count_local(struct module *module)
{
    for (uint32_t i = 0; i < module->n_kernels; i++) {
        const struct id *entry = get(module, module->kernels[i].id);
        module->kernels[i].local_bytes = entry->local_bytes +
                                         get(module, entry->callee)->local_bytes;
    }
}

/* Whether the instruction has the words that are read of it. */
static bool is_whole(const uint32_t *w, uint32_t n)
{
    static const uint8_t min_words[] = {
        [OP_CAPABILITY] = 2,         [OP_EXECUTION_MODE] = 3, [OP_TYPE_INT] = 4,
        [OP_TYPE_FLOAT] = 3,         [OP_TYPE_VECTOR] = 4,    [OP_TYPE_ARRAY] = 4,
        [OP_TYPE_STRUCT] = 2,        [OP_TYPE_POINTER] = 4,   [OP_CONSTANT] = 4,
        [OP_FUNCTION] = 5,           [OP_FUNCTION_PARAMETER] = 3,
        [OP_VARIABLE] = 4,
    };
    const uint32_t op = w[0] & 0xffff;
    return op >= VRT_ARRAY_SIZE(min_words) || n >= min_words[op];
}

/* Types and constants. Return: false where it is none of these. */
static bool read_declaration(struct module *module, const uint32_t *w, uint32_t n)
{
    switch (w[0] & 0xffff) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
        set_type(module, w[1], w[2] / 8, w[2] / 8);
        return true;
    case OP_TYPE_VECTOR:
        read_vector(module, w);
        return true;
    case OP_TYPE_ARRAY:
        set_type(module, w[1], get(module, w[2])->n_bytes * (uint64_t)get(module, w[3])->value,
                 get(module, w[2])->alignment);
        return true;
    case OP_TYPE_STRUCT:
        read_struct(module, w, n);
        return true;
    case OP_TYPE_POINTER:
        set_type(module, w[1], 8, 8);
        get(module, w[1])->storage = w[2];
        get(module, w[1])->pointee = w[3];
        return true;
    case OP_CONSTANT:
        get(module, w[2])->value = w[3];
        return true;
    default:
        return false;
    }
}

static void read_mode(struct module *module, const uint32_t *w, uint32_t n)
{
    struct drv_kernel_info *kernel = find_kernel(module, w[1]);
    if (kernel && w[2] == MODE_LOCAL_SIZE && n >= 6)
        memcpy(kernel->group_size, &w[3], sizeof(kernel->group_size));
    if (kernel && w[2] == MODE_SUBGROUP_SIZE && n >= 4)
        kernel->subgroup_size = w[3];
}

static void read_variable(struct module *module, const uint32_t *w)
{
    struct id *variable = get(module, w[2]);
    if (w[3] != STORAGE_WORKGROUP)
        return;
    variable->local_bytes = get(module, get(module, w[1])->pointee)->n_bytes;
    variable->is_local = true;
}

/* Return: false where the instruction of `n` words ends too early or says what can't be. */
static bool read_instruction(struct module *module, const uint32_t *w, uint32_t n)
{
    if (!is_whole(w, n))
        return false;
    switch (w[0] & 0xffff) {
    case OP_CAPABILITY:
        read_capability(module, w[1]);
        return true;
    case OP_DECORATE:
        read_decoration(module, w, n);
        return true;
    case OP_ENTRY_POINT:
        return read_entry_point(module, w, n);
    case OP_EXECUTION_MODE:
        read_mode(module, w, n);
        return true;
    case OP_VARIABLE:
        read_variable(module, w);
        return true;
    case OP_FUNCTION:
        module->function = w[2];
        module->now = find_kernel(module, w[2]);
        return true;
    case OP_FUNCTION_PARAMETER:
        return read_parameter(module, w);
    case OP_FUNCTION_END:
        module->now = NULL;
        return true;
    default:
        if (!read_declaration(module, w, n))
            read_uses(module, w, n);
        return true;
    }
}

bool drv_spirv_parse(const void *data, size_t n_bytes, struct drv_spirv *ret_spirv)
{
    const uint32_t *words = data;
    const size_t n_words = n_bytes / sizeof(*words);
    struct module module = { .bound = n_words >= HEADER_WORDS ? words[3] : 0 };
    bool is_right = module.bound > 0 && module.bound <= MAX_BOUND && words[0] == MAGIC &&
                    n_bytes % sizeof(*words) == 0;

    if (!is_right || !(module.ids = calloc(module.bound, sizeof(*module.ids))))
        return false;
    for (size_t i = HEADER_WORDS; is_right && i < n_words;) {
        const uint32_t n = words[i] >> 16;
        is_right = n > 0 && n <= n_words - i && read_instruction(&module, words + i, n);
        i += n;
    }
    count_local(&module);
    free(module.ids);
    if (!is_right) {
        free(module.kernels);
        return false;
    }
    *ret_spirv = (struct drv_spirv){ .kernels = module.kernels, .n_kernels = module.n_kernels };
    memcpy(ret_spirv->missing, module.missing, sizeof(module.missing));
    memcpy(ret_spirv->matrix, module.matrix, sizeof(module.matrix));
    return true;
}
