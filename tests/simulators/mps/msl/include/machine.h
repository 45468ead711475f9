/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a compiled library and the simulator know of each other: nothing else crosses
 *
 * A library has one symbol, vrt_msl_library. The simulator gives it its functions, and calls its
 * kernels for one thread at a time.
 */

#define VRT_MSL_BUFFERS 31                  /* their indices */

/* What threads ask of the machine that runs them. */
struct vrt_msl_machine {
    /* Waits for all threads of the threadgroup, which must come by the same name and line. */
    void (*barrier)(const char *name, unsigned line);
    /* Waits for all threads of the simdgroup that have not ended, likewise; `arg` begins with a
     * struct vrt_msl_meeting, that of one of them is run for all. */
    void (*meet)(const char *name, unsigned line, void *arg);
    unsigned (*lane)(void);
    /* Ends the grid. */
    void (*fail)(const char *why);
};

/* `args[lane]` is what that lane brought; NULL outside of `mask`. */
struct vrt_msl_meeting {
    void (*run)(void *const *args, unsigned mask);
};

struct vrt_msl_place {
    unsigned x, y, z;
};

/* What a kernel is run with, and which thread it is. */
struct vrt_msl_thread {
    void *const *buffers;                   /* by index, their offset added */
    struct vrt_msl_place in_grid, in_threadgroup, threadgroup_in_grid;
    struct vrt_msl_place threads_per_threadgroup, threads_per_grid, threadgroups_per_grid;
    unsigned index_in_threadgroup, index_in_simdgroup, simdgroup, n_simdgroups;
};

enum vrt_msl_space {
    VRT_MSL_DEVICE,
    VRT_MSL_CONSTANT,
};

struct vrt_msl_parameter {
    enum vrt_msl_space space;
    unsigned index;
    unsigned long least_bytes;              /* of one of what it points to */
};

struct vrt_msl_kernel {
    const char *name;
    void (*run)(const struct vrt_msl_thread *thread);
    const struct vrt_msl_parameter *parameters;
    unsigned n_parameters;
    unsigned max_threads;                   /* in a threadgroup, as it says; 0: it doesn't */
    int has_matrices;                       /* simdgroup_matrix is used */
    const unsigned long *static_bytes;      /* of threadgroup memory that it declares */
};

struct vrt_msl_library {
    const struct vrt_msl_machine **machine;
    const struct vrt_msl_kernel *kernels;
    unsigned n_kernels;
};
