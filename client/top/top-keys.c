/* SPDX-License-Identifier: MIT */
/* Keys by a table: what each does with the selected job, or with what is shown. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "base/clock.h"
#include "client/control/control.h"
#include "client/conn.h"
#include "client/top/top.h"

void vrt_top_say(struct vrt_top *top, const char *sentence)
{
    vrt_printable(sentence, top->said, sizeof(top->said));
    top->said_ns = vrt_clock_now_ns();
    top->drawn_ns = 0;
}

/* The selected job, or it is said that there is none: NULL. */
static const struct vrt_job_info *selected(struct vrt_top *top)
{
    const size_t i = vrt_top_selected(top);

    if (i < top->n_jobs)
        return top->jobs[i];
    vrt_top_say(top, "no job is selected: none waits or runs");
    return NULL;
}

/* Shows what became of what was asked, which vrt_control_*() returned `r` of, and frees it. */
static void conclude(struct vrt_top *top, int r, struct vrt_said *said,
                     const struct vrt_error *error)
{
    vrt_top_say(top, r == 0 ? said->text : error->message);
    if (r == 0)
        vrt_said_done(said);
}

static void pause_it(struct vrt_top *top)
{
    const struct vrt_job_info *job = selected(top);
    struct vrt_error error = { 0 };
    struct vrt_said said;

    if (job)
        conclude(top, vrt_control_pause(top->cli, job->id, &said, &error), &said, &error);
}

static void resume_it(struct vrt_top *top)
{
    const struct vrt_job_info *job = selected(top);
    struct vrt_error error = { 0 };
    struct vrt_said said;

    if (job)
        conclude(top, vrt_control_resume(top->cli, job->id, NULL, &said, &error), &said, &error);
}

static void ask_to_cancel(struct vrt_top *top)
{
    const struct vrt_job_info *job = selected(top);

    if (!job)
        return;
    top->mode = VRT_TOP_ASKING;
    top->asked_id = job->id;
}

static void cancel_it(struct vrt_top *top)
{
    struct vrt_error error = { 0 };
    struct vrt_said said;

    conclude(top, vrt_control_cancel(top->cli, top->asked_id, &said, &error), &said, &error);
}

static void change_priority(struct vrt_top *top, int by)
{
    const struct vrt_job_info *job = selected(top);
    struct vrt_error error = { 0 };
    struct vrt_said said;
    char sentence[80];

    if (!job)
        return;
    const int64_t priority = job->priority + by;
    if (priority < VRT_API_PRIORITY_MIN || priority > VRT_API_PRIORITY_MAX) {
        snprintf(sentence, sizeof(sentence), "priorities go from %d to %d", VRT_API_PRIORITY_MIN,
                 VRT_API_PRIORITY_MAX);
        vrt_top_say(top, sentence);
        return;
    }
    conclude(top, vrt_control_set_priority(top->cli, job->id, priority, &said, &error), &said,
             &error);
}

static void raise_priority(struct vrt_top *top)
{
    change_priority(top, 1);
}

static void lower_priority(struct vrt_top *top)
{
    change_priority(top, -1);
}

static void sort_otherwise(struct vrt_top *top)
{
    top->sort = (top->sort + 1) % VRT_TOP_SORT_COUNT;
    vrt_top_arrange(top);
}

/* Selects the job that is `by` jobs further down, or the last or first one. */
static void select_further(struct vrt_top *top, long by)
{
    const long last = (long)top->n_jobs - 1, i = (long)vrt_top_selected(top) + by;

    if (top->n_jobs)
        top->selected_id = top->jobs[VRT_MIN(VRT_MAX(i, 0), last)]->id;
}

static void select_next(struct vrt_top *top)
{
    select_further(top, 1);
}

static void select_previous(struct vrt_top *top)
{
    select_further(top, -1);
}

static void page_down(struct vrt_top *top)
{
    select_further(top, (long)top->n_rows);
}

static void page_up(struct vrt_top *top)
{
    select_further(top, -(long)top->n_rows);
}

static void select_first(struct vrt_top *top)
{
    select_further(top, -(long)top->n_jobs);
}

static void select_last(struct vrt_top *top)
{
    select_further(top, (long)top->n_jobs);
}

static void explain(struct vrt_top *top)
{
    top->mode = VRT_TOP_HELP;
}

static void quit(struct vrt_top *top)
{
    top->has_quit = true;
}

static const struct {
    int key;
    void (*act)(struct vrt_top *top);
} actions[] = {
    { 'q', quit }, { VRT_KEY_HANGUP, quit }, { '?', explain }, { 'h', explain },
    { 'p', pause_it }, { 'r', resume_it }, { 'c', ask_to_cancel },
    { '+', raise_priority }, { '=', raise_priority }, { '-', lower_priority },
    { 's', sort_otherwise },
    { 'j', select_next }, { VRT_KEY_DOWN, select_next },
    { 'k', select_previous }, { VRT_KEY_UP, select_previous },
    { VRT_KEY_PAGE_DOWN, page_down }, { VRT_KEY_PAGE_UP, page_up },
    { VRT_KEY_HOME, select_first }, { VRT_KEY_END, select_last },
};

static void take_key(struct vrt_top *top, int key)
{
    const enum vrt_top_mode mode = top->mode;

    /* A question, and the help, end with any key. */
    top->mode = VRT_TOP_JOBS;
    top->has_typed = true;
    top->drawn_ns = 0;
    if (mode == VRT_TOP_ASKING && key == 'y')
        cancel_it(top);
    if (mode != VRT_TOP_JOBS && key != 'q' && key != VRT_KEY_HANGUP)
        return;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(actions); i++)
        if (actions[i].key == key)
            actions[i].act(top);
}

bool vrt_top_take_keys(struct vrt_top *top)
{
    int key;

    while (!top->has_quit && (key = vrt_keys_next(&top->keys)) != VRT_KEY_NONE)
        take_key(top, key);
    return !top->has_quit;
}
