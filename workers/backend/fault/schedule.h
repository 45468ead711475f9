/* SPDX-License-Identifier: MIT */
#pragma once

/* What the rules of a schedule (backend/fault.h) say of a call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/fault.h"

struct vrt_device_info;

enum vrt_fault_call {
    VRT_FAULT_OPEN,
    VRT_FAULT_ALLOC,
    VRT_FAULT_WRITE,
    VRT_FAULT_READ,
    VRT_FAULT_PACK,
    VRT_FAULT_REPLICA,
    VRT_FAULT_COPY,
    VRT_FAULT_CHECKSUM,
    VRT_FAULT_PROGRAM,
    VRT_FAULT_SUBMIT,
    VRT_FAULT_FINISH,
    VRT_FAULT_CALL_COUNT,
};

enum vrt_fault_effect {
    VRT_FAULT_NOTHING,
    VRT_FAULT_FAIL,
    VRT_FAULT_NOMEM,
    VRT_FAULT_LOST,
    VRT_FAULT_DELAY,
    VRT_FAULT_TAKES,
    VRT_FAULT_HANG,
    VRT_FAULT_LACKS,
    VRT_FAULT_CORRUPT_NAN,
    VRT_FAULT_CORRUPT_ZEROS,
    VRT_FAULT_CORRUPT_GARBAGE,
    VRT_FAULT_BLACK,
    VRT_FAULT_CORRUPT_COPY,
};

#define VRT_FAULT_NEVER 0               /* of revive */

struct vrt_fault_rule {
    char device[32];                    /* name or kind; "": all */
    enum vrt_fault_call call;
    int64_t first, last;                /* the calls it is about, from 1 */
    int64_t every;                      /* of those, each so many; 1: all */
    enum vrt_fault_effect effect;
    int64_t delay_ns, takes_ns;
    const char *file;                   /* of a hang, in the schedule's text; NULL: none */
    const char *lacks;                  /* the name of an op, likewise */
    int64_t revive;                     /* at which opening; VRT_FAULT_NEVER */
    int64_t above_bytes;                /* only calls that want more; 0: all */
};

struct vrt_fault_schedule {
    struct vrt_fault_rule *rules;
    size_t n_rules;
    char *text;                         /* in pieces */
};

/* What happens at one call. */
struct vrt_fault_event {
    enum vrt_fault_effect effect;       /* no delay and no hang */
    int64_t delay_ns;
    int64_t takes_ns;                   /* beside the host */
    const char *file;                   /* waited for as long as it exists; NULL: none */
    int64_t revive;
    uint64_t seed;                      /* for garbage */
};

/* "open", "submit", ... */
const char *vrt_fault_call_name(enum vrt_fault_call call);

/* One call to a device. */
struct vrt_fault_occasion {
    enum vrt_fault_call call;
    int64_t count;                      /* it is the how many-th such call, from 1 */
    int64_t size_bytes;                 /* that it wants; 0: it isn't asked for memory */
};

/* Whether what the device does takes time, by any rule. Thread: any. */
bool vrt_fault_schedule_takes_time(const struct vrt_fault_schedule *schedule,
                                   const struct vrt_device_info *info);

/* Whether it is to lack this op. Thread: any. */
bool vrt_fault_schedule_lacks(const struct vrt_fault_schedule *schedule,
                              const struct vrt_device_info *info, const char *op);

/* What the schedule says of a call to the device. Thread: any. */
struct vrt_fault_event vrt_fault_schedule_at(const struct vrt_fault_schedule *schedule,
                                             const struct vrt_device_info *info,
                                             const struct vrt_fault_occasion *occasion);
