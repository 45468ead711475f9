/* SPDX-License-Identifier: MIT */

/*
 * What devices answered of late when they were asked about a job
 *
 * A device answers between two shards, which may take seconds: somebody who queues his hundredth
 * video of one kind shall not wait for that. Only jobs that are about to wait themselves are
 * admitted by an old answer. When one starts, with the recipe that it was given then, every device
 * is asked anew.
 */

#include "daemon/devices/probe-cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

#define FRESH_NS (INT64_C(60) * VRT_NS_PER_S)   /* memory that was free may be taken */

#define QUESTION_BYTES 424

struct answer {
    char question[QUESTION_BYTES];
    struct vrt_probe probe;             /* without its work */
    int64_t noted_ns;
};

struct vrt_probe_cache {
    struct answer answers[VRT_PROBE_CACHE_MAX]; /* a ring */
    size_t n_answers;                   /* ever begun */
};

struct vrt_probe_cache *vrt_probe_cache_new(void)
{
    return calloc(1, sizeof(struct vrt_probe_cache));
}

struct vrt_probe_cache *vrt_probe_cache_free(struct vrt_probe_cache *cache)
{
    free(cache);
    return NULL;
}

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

    n += (size_t)snprintf(text, size, "%zu %016llx %d %d %d %d %d %d %d %d %a %a;", d,
                          (unsigned long long)vrt_network_checksum(spec->network),
                          spec->recipe.exact_tile, spec->recipe.exact_clip, probe->is_fixed,
                          probe->smaller, probe->is_due, (int)spec->recipe.precision,
                          (int)probe->fastest, probe->wanted_batch, (double)spec->noise,
                          probe->memory_fraction);
    n += (size_t)print_format(text + n, size - n, &spec->in);
    n += (size_t)print_format(text + n, size - n, &spec->out);
    n += (size_t)print_axis(text + n, size - n, &spec->grid.x);
    n += (size_t)print_axis(text + n, size - n, &spec->grid.y);
    n += (size_t)snprintf(text + n, size - n, "%d %d %d %d;", (int)spec->needs.joint,
                          spec->needs.multiple, spec->needs.overlap, spec->needs.least);
    n += (size_t)snprintf(text + n, size - n, "%d %d %d %d %d %d %d %d %d %d", rule->overlap.size,
                          rule->overlap.shared, rule->overlap.averaged, rule->overlap.drop_first,
                          rule->overlap.drop_last, rule->temporal, rule->least, rule->multiple,
                          rule->times, rule->every);
    vrt_assert(n < size);
}

/* The index of the answer to this question, however old; -1: there is none. */
static int find(const struct vrt_probe_cache *cache, const char *question)
{
    for (int i = 0; i < (int)VRT_MIN(cache->n_answers, (size_t)VRT_PROBE_CACHE_MAX); i++)
        if (strcmp(cache->answers[i].question, question) == 0)
            return i;
    return -1;
}

void vrt_probe_cache_put(struct vrt_probe_cache *cache, size_t d, const struct vrt_probe *probe,
                         int64_t now_ns)
{
    char question[QUESTION_BYTES];

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* As where there was no memory to measure: whoever asks next has it tried again. */
    if (probe->is_makeshift)
        return;
    print_question(d, probe, question, sizeof(question));
    int i = find(cache, question);
    if (i < 0)
        i = (int)(cache->n_answers++ % VRT_PROBE_CACHE_MAX);
    struct answer *answer = &cache->answers[i];
    snprintf(answer->question, sizeof(answer->question), "%s", question);
    answer->noted_ns = now_ns;
    answer->probe = *probe;
    answer->probe.spec = NULL;
}

bool vrt_probe_cache_get(const struct vrt_probe_cache *cache, size_t d, struct vrt_probe *probe,
                         int64_t now_ns)
{
    char question[QUESTION_BYTES];

    vrt_assert_thread(VRT_THREAD_LOOP);
    print_question(d, probe, question, sizeof(question));
    int i = find(cache, question);
    if (i < 0 || now_ns - cache->answers[i].noted_ns > FRESH_NS)
        return false;
    const struct vrt_probe *known = &cache->answers[i].probe;
    probe->size = known->size;
    probe->dtype = known->dtype;
    probe->replica_bytes = known->replica_bytes;
    probe->planned_bytes = known->planned_bytes;
    probe->batch = known->batch;
    probe->tile_flops = known->tile_flops;
    probe->allowed_bytes = known->allowed_bytes;
    return true;
}
