/* SPDX-License-Identifier: MIT */

#include "tests/unit/pipeline/fault-run.h"

#include <stdio.h>
#include <unistd.h>

#include "base/thread.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"

static char input[160], wanted[64];

/*
 * In the place of what puts threads behind all others: on a machine that has much else to do these
 * would be silent for seconds, and taken for threads that hang.
 */
void vrt_thread_set_background(int nice)
{
    (void)nice;
}

void vrt_thread_set_responsive(void)
{
}

void vrt_thread_share_priority(pid_t process)
{
    (void)process;
}

const char *fault_hang(const char *call)
{
    static char rule[300];

    snprintf(rule, sizeof(rule), "%s hang=%s", call, fixture_path("hang"));
    return rule;
}

void fault_let_go(void)
{
    unlink(fixture_path("hang"));
}

void fault_run(const struct fault_params *params, struct fault_outcome *ret_outcome)
{
    struct fault_outcome *outcome = ret_outcome;
    const struct vrt_pool_params pool = {
        .registry = {
            .values = TEST_CPUS(params->cpu_devices, 1),
            .fault = params->fault,
        },
        .retry_s = 0.05,
        .stall_s = params->stall_s > 0 ? params->stall_s : FAULT_NEVER_S,
        .silence_s = params->silence_s > 0 ? params->silence_s : FAULT_NEVER_S,
    };
    const struct vrt_pipeline_params job = flow_exact_params(input);
    struct flow flow;

    fprintf(stderr, "  %d devices, %s\n", params->cpu_devices,
            params->fault ? params->fault : "undisturbed");
    *outcome = (struct fault_outcome){ .job = { .cancel_at = -1 } };
    fixture_write("hang", "", 0);
    flow_init(&flow, fixture_path(""), pool);
    flow.watch = params->watch;
    flow_submit(&flow, &outcome->job, job, fixture_path("out.mkv"));
    flow_run(&flow);
    fault_let_go();
    for (size_t i = 0; i < outcome->job.last.n_devices; i++)
        outcome->shards_failed += outcome->job.last.devices[i].shards_failed;
    snprintf(outcome->sum, sizeof(outcome->sum), "%s", fixture_run("md5sum < out.mkv"));
    outcome->quarantined = flow.quarantined;
    if (outcome->job.error.message[0])
        expect_str(fixture_run("ls job0"), "");
    flow_done(&flow);
    flow_wait_for_threads();
}

void fault_expect_same(const struct fault_outcome *outcome)
{
    expect_str(outcome->job.error.message, "");
    expect_int(outcome->job.last.frames_done, FAULT_FRAMES);
    expect_str(outcome->sum, wanted);
}

void fault_init(void)
{
    struct fault_outcome outcome;

    fixture_init();
    /* Each frame is another: what repeats is computed once. */
    snprintf(input, sizeof(input), "%s",
             fixture_make("in.mp4", "-f lavfi -i testsrc2=s=32x16:r=25,noise=alls=20:allf=t "
                          "-frames:v %d -pix_fmt yuv420p", FAULT_FRAMES));
    fault_run(&(struct fault_params){ .cpu_devices = 1 }, &outcome);
    expect_str(outcome.job.error.message, "");
    snprintf(wanted, sizeof(wanted), "%s", outcome.sum);
}
