/* SPDX-License-Identifier: MIT */

/*
 * What devices answered of late when they were asked about a job
 *
 * A device answers between two shards, which may take seconds: somebody who queues his hundredth
 * video of one kind shall not wait for that. Only jobs that are about to wait themselves are
 * admitted by an old answer. When one starts, with the recipe that it was given then, every device
 * is asked anew.
 */

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/devices/pool-impl.h"

#define FRESH_NS (INT64_C(60) * VRT_NS_PER_S)   /* memory that was free may be taken */

static int print_format(char *text, size_t size, const struct vrt_frame_format *f)
{
    return snprintf(text, size, "%d %d %d %d %d %d %d %d %d;", f->width, f->height, f->depth,
                    (int)f->layout, f->chroma_shift_x, f->chroma_shift_y, (int)f->matrix,
                    f->full_range, (int)f->chroma_location);
}

static int print_axis(char *text, size_t size, const struct vrt_tile_axis *a)
{
    return snprintf(text, size, "%d %d %d %d %d;", a->frame, a->size, a->n, a->step, a->cut);
}

/* Everything that the answer depends on, save the device's memory, as a text. */
static void print_question(size_t d, const struct vrt_survey *survey, char *text, size_t size)
{
    const struct vrt_work *work = survey->work;
    const struct vrt_clip_rule *rule = &work->rule;
    size_t n = 0;

    n += (size_t)snprintf(text, size, "%zu %016llx %d %d %d %d %d %a;", d,
                          (unsigned long long)vrt_network_checksum(work->network),
                          survey->exact_grid, survey->exact_clip, survey->smaller,
                          survey->is_due, (int)survey->precision,
                          (double)work->noise);
    n += (size_t)print_format(text + n, size - n, &work->in);
    n += (size_t)print_format(text + n, size - n, &work->out);
    n += (size_t)print_axis(text + n, size - n, &work->grid.x);
    n += (size_t)print_axis(text + n, size - n, &work->grid.y);
    n += (size_t)snprintf(text + n, size - n, "%d %d %d %d;", (int)work->needs.joint,
                          work->needs.multiple, work->needs.overlap, work->needs.least);
    n += (size_t)snprintf(text + n, size - n, "%d %d %d %d %d %d %d %d", rule->lap.size,
                          rule->lap.overlap, rule->lap.averaged, rule->lap.drop_first,
                          rule->lap.drop_last, rule->temporal, rule->least, rule->multiple);
    vrt_assert(n < size);
}

/* The answer to this question, however old; NULL: there is none. */
static struct vrt_pool_survey *find(struct vrt_pool *pool, const char *question)
{
    for (size_t i = 0; i < VRT_MIN(pool->n_surveys, (size_t)VRT_POOL_SURVEYS_MAX); i++)
        if (strcmp(pool->surveys[i].question, question) == 0)
            return &pool->surveys[i];
    return NULL;
}

void vrt_pool_note_survey(struct vrt_pool *pool, size_t d, const struct vrt_survey *survey)
{
    char question[VRT_POOL_QUESTION_BYTES];

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* As where there was no memory for a trial: whoever asks next has it tried again. */
    if (survey->is_makeshift)
        return;
    print_question(d, survey, question, sizeof(question));
    struct vrt_pool_survey *known = find(pool, question);
    if (!known)
        known = &pool->surveys[pool->n_surveys++ % VRT_POOL_SURVEYS_MAX];
    snprintf(known->question, sizeof(known->question), "%s", question);
    known->noted_ns = vrt_clock_now_ns();
    known->answer = *survey;
    known->answer.work = NULL;
}

bool vrt_pool_recall_survey(struct vrt_pool *pool, size_t d, struct vrt_survey *survey)
{
    char question[VRT_POOL_QUESTION_BYTES];

    vrt_assert_thread(VRT_THREAD_LOOP);
    print_question(d, survey, question, sizeof(question));
    const struct vrt_pool_survey *known = find(pool, question);
    if (!known || vrt_clock_now_ns() - known->noted_ns > FRESH_NS)
        return false;
    survey->size = known->answer.size;
    survey->dtype = known->answer.dtype;
    survey->replica_bytes = known->answer.replica_bytes;
    survey->planned_bytes = known->answer.planned_bytes;
    survey->tile_flops = known->answer.tile_flops;
    survey->allowed_bytes = known->answer.allowed_bytes;
    return true;
}
