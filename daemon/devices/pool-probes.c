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
static void print_question(size_t d, const struct vrt_probe *probe, char *text, size_t size)
{
    const struct vrt_job_spec *spec = probe->spec;
    const struct vrt_clip_rule *rule = &spec->rule;
    size_t n = 0;

    n += (size_t)snprintf(text, size, "%zu %016llx %d %d %d %d %d %a;", d,
                          (unsigned long long)vrt_network_checksum(spec->network),
                          probe->exact_grid, probe->exact_clip, probe->smaller,
                          probe->is_due, (int)probe->precision,
                          (double)spec->noise);
    n += (size_t)print_format(text + n, size - n, &spec->in);
    n += (size_t)print_format(text + n, size - n, &spec->out);
    n += (size_t)print_axis(text + n, size - n, &spec->grid.x);
    n += (size_t)print_axis(text + n, size - n, &spec->grid.y);
    n += (size_t)snprintf(text + n, size - n, "%d %d %d %d;", (int)spec->needs.joint,
                          spec->needs.multiple, spec->needs.overlap, spec->needs.least);
    n += (size_t)snprintf(text + n, size - n, "%d %d %d %d %d %d %d %d", rule->overlap.size,
                          rule->overlap.shared, rule->overlap.averaged, rule->overlap.drop_first,
                          rule->overlap.drop_last, rule->temporal, rule->least, rule->multiple);
    vrt_assert(n < size);
}

/* The answer to this question, however old; NULL: there is none. */
static struct vrt_pool_probe *find(struct vrt_pool *pool, const char *question)
{
    for (size_t i = 0; i < VRT_MIN(pool->n_probes, (size_t)VRT_POOL_PROBES_MAX); i++)
        if (strcmp(pool->probes[i].question, question) == 0)
            return &pool->probes[i];
    return NULL;
}

void vrt_pool_note_probe(struct vrt_pool *pool, size_t d, const struct vrt_probe *probe)
{
    char question[VRT_POOL_QUESTION_BYTES];

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* As where there was no memory to measure: whoever asks next has it tried again. */
    if (probe->is_makeshift)
        return;
    print_question(d, probe, question, sizeof(question));
    struct vrt_pool_probe *known = find(pool, question);
    if (!known)
        known = &pool->probes[pool->n_probes++ % VRT_POOL_PROBES_MAX];
    snprintf(known->question, sizeof(known->question), "%s", question);
    known->noted_ns = vrt_clock_now_ns();
    known->answer = *probe;
    known->answer.spec = NULL;
}

bool vrt_pool_recall_probe(struct vrt_pool *pool, size_t d, struct vrt_probe *probe)
{
    char question[VRT_POOL_QUESTION_BYTES];

    vrt_assert_thread(VRT_THREAD_LOOP);
    print_question(d, probe, question, sizeof(question));
    const struct vrt_pool_probe *known = find(pool, question);
    if (!known || vrt_clock_now_ns() - known->noted_ns > FRESH_NS)
        return false;
    probe->size = known->answer.size;
    probe->dtype = known->answer.dtype;
    probe->replica_bytes = known->answer.replica_bytes;
    probe->planned_bytes = known->answer.planned_bytes;
    probe->tile_flops = known->answer.tile_flops;
    probe->allowed_bytes = known->answer.allowed_bytes;
    return true;
}
