/* SPDX-License-Identifier: MIT */
#pragma once

/* One small job, again and again, on devices that a schedule disturbs: its file is to be the same
 * to the bit, whatever becomes of them. */

#include "tests/unit/pipeline/flow-fixture.h"

#define FAULT_FRAMES 64

/* Longer than any job here: devices are given up only where a test wants it. */
#define FAULT_NEVER_S 100000

/* A run; zeros, but the devices and the schedule: as most are. */
struct fault_params {
    int cpu_devices;
    const char *fault;              /* NULL: none */
    double stall_s, silence_s;      /* the pool's; 0: never */
    void (*watch)(struct flow *flow);       /* the flow's; NULL: nobody looks */
};

/* How one run went. */
struct fault_outcome {
    struct flow_job job;
    int64_t shards_failed;
    uint64_t quarantined;
    char sum[64];
};

/* Makes the job's input, and runs it undisturbed. Once, at the start of main(). */
void fault_init(void);

/* The rule by which a call ("cpu:1 submit:22") hangs until the job is over, or is let go. Valid
 * until the next call. */
const char *fault_hang(const char *call);

/* Lets go what hangs in the run. */
void fault_let_go(void);

/* Runs the job, until all threads of its devices have ended. */
void fault_run(const struct fault_params *params, struct fault_outcome *ret_outcome);

/* The job succeeded, and its file is what it is undisturbed. */
void fault_expect_same(const struct fault_outcome *outcome);
