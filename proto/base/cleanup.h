/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Ownership by scope
 *
 *     VRT_CLEANUP(vrt_closep) int fd = -1;         closed when the scope ends, unless
 *     *ret_fd = VRT_STEAL_FD(fd);                  ... it was given away
 *
 * For an object of ours: VRT_DEFINE_CLEANUP(struct vrt_job, vrt_job_free) in its header makes
 * vrt_job_freep(), and `*ret_job = VRT_STEAL(job)` hands it over.
 */

#define VRT_CLEANUP(func) __attribute__((cleanup(func)))

/* The pointer's value; the variable is NULL afterwards. */
#define VRT_STEAL(pointer)                      \
    __extension__({                             \
        __typeof__(pointer) *p_ = &(pointer);   \
        __typeof__(pointer) v_ = *p_;           \
        *p_ = NULL;                             \
        v_;                                     \
    })

/* The descriptor's value; the variable is -1 afterwards. */
#define VRT_STEAL_FD(fd)        \
    __extension__({             \
        int *p_ = &(fd);        \
        int v_ = *p_;           \
        *p_ = -1;               \
        v_;                     \
    })

/* `destructor` takes a pointer, NULL included; its return value is not used. */
#define VRT_DEFINE_CLEANUP(type, destructor)        \
    static inline void destructor##p(type **p)      \
    {                                               \
        destructor(*p);                             \
    }

/* free() of the pointer that `p` points to, of whatever type. */
void vrt_freep(void *p);

/* close() of *fd, keeping errno; a negative one is left alone. */
void vrt_closep(const int *fd);
