/* SPDX-License-Identifier: MIT */

/*
 * What was measured of networks on the devices, and is kept for the next start
 *
 * A figure is known by the network's checksum, the class of devices and the precision. For the
 * store the class is spelled out with all that a figure depends on: devices, drivers and libraries
 * are in the backend's name for it; threads and our own version are added here. Figures of devices
 * that aren't there now are left to the store.
 *
 * Speed changes a little with each shard: the store is told when it has moved by a tenth.
 */

#include "daemon/devices/measurements.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/clock.h"
#include "base/thread.h"
#include "daemon/sched/sched.h"
#include "daemon/store/store.h"
#include "workers/device/speed.h"

#define WORTH_TELLING 0.1          /* relative: less is noise, and the store is a disk */

/* What the store calls them: these, and ".f16", say. */
#define FIDELITY "fidelity_of_leaves_db"
#define SPEED "flops_per_s"
#define F32_SPEEDUP "f32_speedup"
#define CUT "cut_of_%u.%d.%d"           /* the user, which of his, the batch */

#define CLASS_BYTES 256

/* Networks, each on a class of devices, that are remembered. */
#define ENTRIES_MAX 64

/* Ways that are kept, and of them one user's, and everybody's. */
#define CUTS_MAX 256
#define CUTS_OF_USER 16
#define CUTS_OF_ALL 128

/* What was measured of a network on a class of devices, in each precision; NAN: nothing yet. */
struct entry {
    uint64_t network_checksum;
    int speed_class;
    double fidelity_db[VRT_DTYPE_COUNT];
    double flops_per_s[VRT_DTYPE_COUNT];
    double kept_flops_per_s[VRT_DTYPE_COUNT];       /* as the store has it */
    double f32_speedup;
};

/* What is fastest for jobs of a user on frames of a size. */
struct cut {
    uint64_t network_checksum;
    int speed_class;
    uid_t uid;
    int width, height;
    int slot;                           /* which of his: the store knows it by that */
    unsigned noted;                     /* in which order they were */
    struct vrt_measured_cut cut;
};

struct vrt_measurements {
    const struct vrt_device_info *const *infos;
    size_t n_infos;
    struct vrt_store *store;            /* NULL: none */
    struct entry entries[ENTRIES_MAX];  /* a ring */
    size_t n_entries;                   /* ever begun */
    struct cut cuts[CUTS_MAX];
    size_t n_cuts;
    unsigned n_noted;
};

static void print_class(const struct vrt_device_info *info, char text[CLASS_BYTES])
{
    snprintf(text, CLASS_BYTES, "vrtd %s; %s; %d threads", VRT_VERSION, info->class_id,
             info->n_threads);
}

int vrt_measurements_class(const struct vrt_measurements *measurements, size_t d)
{
    int first = 0;

    while (strcmp(measurements->infos[first]->class_id, measurements->infos[d]->class_id) != 0)
        first++;
    return first;
}

static struct entry *find(struct vrt_measurements *measurements, uint64_t network_checksum,
                          size_t d)
{
    size_t n = VRT_MIN(measurements->n_entries, ENTRIES_MAX);
    int speed_class = vrt_measurements_class(measurements, d);
    struct entry *entry;

    for (size_t i = 0; i < n; i++)
        if (measurements->entries[i].network_checksum == network_checksum &&
            measurements->entries[i].speed_class == speed_class)
            return &measurements->entries[i];
    entry = &measurements->entries[measurements->n_entries++ % ENTRIES_MAX];
    entry->network_checksum = network_checksum;
    entry->speed_class = speed_class;
    for (int i = 0; i < VRT_DTYPE_COUNT; i++)
        entry->fidelity_db[i] = entry->flops_per_s[i] = entry->kept_flops_per_s[i] = NAN;
    entry->f32_speedup = NAN;
    return entry;
}

const double *vrt_measurements_fidelity(struct vrt_measurements *measurements,
                                        uint64_t network_checksum, size_t d)
{
    return find(measurements, network_checksum, d)->fidelity_db;
}

const double *vrt_measurements_speed(struct vrt_measurements *measurements,
                                     uint64_t network_checksum, size_t d)
{
    return find(measurements, network_checksum, d)->flops_per_s;
}

double vrt_measurements_f32_speedup(struct vrt_measurements *measurements,
                                    uint64_t network_checksum, size_t d)
{
    return find(measurements, network_checksum, d)->f32_speedup;
}

/* Gives a figure to the store. */
static void keep(const struct vrt_measurements *measurements, uint64_t network_checksum, size_t d,
                 const char *what, double value)
{
    char network[17], class[CLASS_BYTES];

    if (!measurements->store)
        return;
    snprintf(network, sizeof(network), "%016" PRIx64, network_checksum);
    print_class(measurements->infos[d], class);
    vrt_store_put_measure(measurements->store, &(struct vrt_store_measure){
        .network = network,
        .device_class = class,
        .what = what,
        .value = value,
    });
}

static void note_fidelity(struct vrt_measurements *measurements, uint64_t network_checksum,
                          size_t d, const double fidelity_db[VRT_DTYPE_COUNT])
{
    double *known = find(measurements, network_checksum, d)->fidelity_db;
    char what[32];

    for (int i = 0; i < VRT_DTYPE_COUNT; i++) {
        if (isnan(fidelity_db[i]) || fidelity_db[i] == known[i])
            continue;
        known[i] = fidelity_db[i];
        snprintf(what, sizeof(what), FIDELITY ".%s", vrt_dtype_name((enum vrt_dtype)i));
        keep(measurements, network_checksum, d, what, known[i]);
    }
}

/* Takes over what a network's speed is now. */
static void set_speed(struct vrt_measurements *measurements, uint64_t network_checksum, size_t d,
                      enum vrt_dtype dtype, double flops_per_s)
{
    struct entry *entry = find(measurements, network_checksum, d);
    double kept = entry->kept_flops_per_s[dtype];
    char what[32];

    entry->flops_per_s[dtype] = flops_per_s;
    /* False where none is kept, which is a NAN. */
    if (fabs(flops_per_s - kept) <= WORTH_TELLING * kept)
        return;
    entry->kept_flops_per_s[dtype] = flops_per_s;
    snprintf(what, sizeof(what), SPEED ".%s", vrt_dtype_name(dtype));
    keep(measurements, network_checksum, d, what, flops_per_s);
}

void vrt_measurements_note_probe(struct vrt_measurements *measurements, uint64_t network_checksum,
                                 size_t d, const struct vrt_probe *probe)
{
    const enum vrt_dtype dtype = probe->dtype;

    vrt_assert_thread(VRT_THREAD_LOOP);
    note_fidelity(measurements, network_checksum, d, probe->fidelity_db);
    struct entry *entry = find(measurements, network_checksum, d);
    if (isnan(entry->f32_speedup) && !isnan(probe->f32_speedup)) {
        entry->f32_speedup = probe->f32_speedup;
        keep(measurements, network_checksum, d, F32_SPEEDUP, entry->f32_speedup);
    }
    if (probe->flops_per_s[dtype] > 0 &&
        isnan(vrt_measurements_speed(measurements, network_checksum, d)[dtype]))
        set_speed(measurements, network_checksum, d, dtype, probe->flops_per_s[dtype]);
}

void vrt_measurements_note_run(struct vrt_measurements *measurements, size_t d,
                               const struct vrt_worker_run *run)
{
    const struct vrt_session_times *times = &run->times;
    int64_t ns = times->upload_ns + times->compute_ns + times->download_ns;
    uint64_t checksum;
    double flops, known;

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* Op by op it is slower, and what was cut short says nothing. */
    if (run->base.task.outcome != VRT_TASK_DONE || run->by_ops || ns <= 0 || run->tile_flops <= 0)
        return;
    checksum = vrt_network_checksum(run->spec->network);
    flops = vrt_speed_shard_flops(run->spec, run->tile_flops, &run->frames);
    /* Nor does what was only passed on. */
    if (flops <= 0)
        return;
    known = vrt_measurements_speed(measurements, checksum, d)[run->dtype];
    set_speed(measurements, checksum, d, run->dtype,
              vrt_sched_measure(known > 0 ? known : 0, flops * VRT_NS_PER_S / (double)ns));
}

/* The same cut of another time; NULL: there is none. */
static struct cut *find_cut(struct vrt_measurements *measurements, const struct cut *like)
{
    for (size_t i = 0; i < measurements->n_cuts; i++) {
        struct cut *cut = &measurements->cuts[i];
        if (cut->network_checksum == like->network_checksum &&
            cut->speed_class == like->speed_class && cut->uid == like->uid &&
            cut->width == like->width && cut->height == like->height)
            return cut;
    }
    return NULL;
}

/* The oldest of a user; of FOR_ALL: of anybody but that. */
static struct cut *oldest_cut(struct vrt_measurements *measurements, uid_t uid, bool is_his)
{
    struct cut *oldest = NULL;

    for (size_t i = 0; i < measurements->n_cuts; i++) {
        struct cut *cut = &measurements->cuts[i];
        if ((cut->uid == uid) == is_his && (!oldest || cut->noted < oldest->noted))
            oldest = cut;
    }
    return oldest;
}

/* The one in a place of a user's; NULL: there is none. */
static struct cut *cut_in(struct vrt_measurements *measurements, uid_t uid, int slot)
{
    for (size_t i = 0; i < measurements->n_cuts; i++)
        if (measurements->cuts[i].uid == uid && measurements->cuts[i].slot == slot)
            return &measurements->cuts[i];
    return NULL;
}

static int slots_of(uid_t uid)
{
    return uid == VRT_MEASURED_FOR_ALL ? CUTS_OF_ALL : CUTS_OF_USER;
}

/* A place for a new one. Nobody takes those that everybody has from them, and none has more than
 * his part: then his own oldest goes. */
static struct cut *new_cut(struct vrt_measurements *measurements, uid_t uid)
{
    const int most = slots_of(uid);
    struct cut *cut;
    int slot = 0;

    while (slot < most && cut_in(measurements, uid, slot))
        slot++;
    if (slot == most) {
        cut = oldest_cut(measurements, uid, true);
        slot = cut->slot;
    } else if (measurements->n_cuts < CUTS_MAX) {
        cut = &measurements->cuts[measurements->n_cuts++];
    } else {
        cut = oldest_cut(measurements, VRT_MEASURED_FOR_ALL, false);
    }
    *cut = (struct cut){ .slot = slot };
    return cut;
}

/* Of whom and what a cut is. */
static struct cut describe_cut(const struct vrt_measurements *measurements,
                               uint64_t network_checksum, size_t d, uid_t uid, int width,
                               int height)
{
    return (struct cut){
        .network_checksum = network_checksum,
        .speed_class = vrt_measurements_class(measurements, d),
        .uid = uid,
        .width = width,
        .height = height,
    };
}

static struct cut *note_cut(struct vrt_measurements *measurements, const struct cut *like,
                            const struct vrt_measured_cut *value)
{
    struct cut *cut = find_cut(measurements, like);

    if (!cut) {
        cut = new_cut(measurements, like->uid);
        const int slot = cut->slot;
        *cut = *like;
        cut->slot = slot;
    }
    cut->noted = ++measurements->n_noted;
    cut->cut = *value;
    return cut;
}

/* All of a cut but for the batch in one figure, 53 bits: as many as a double has. */
static double figure_of(const struct cut *cut)
{
    uint64_t bits = (uint64_t)(cut->width - 1);

    bits = bits << 14 | (uint64_t)(cut->height - 1);
    bits = bits << 15 | (uint64_t)cut->cut.tile;
    bits = bits << 8 | (uint64_t)cut->cut.clip;
    return (double)(bits << 2 | (uint64_t)cut->cut.precision);
}

void vrt_measurements_keep_cut(struct vrt_measurements *measurements, uint64_t network_checksum,
                               size_t d, uid_t uid, int width, int height,
                               const struct vrt_measured_cut *cut)
{
    const struct cut like = describe_cut(measurements, network_checksum, d, uid, width, height);
    char what[32];

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(width <= VRT_API_PROFILE_SIDE_MAX && height <= VRT_API_PROFILE_SIDE_MAX &&
               cut->tile <= VRT_API_TILE_MAX && cut->clip <= VRT_API_CLIP_MAX);
    const struct cut *kept = note_cut(measurements, &like, cut);
    snprintf(what, sizeof(what), CUT, (unsigned)uid, kept->slot, cut->batch);
    keep(measurements, network_checksum, d, what, figure_of(kept));
}

bool vrt_measurements_cut(struct vrt_measurements *measurements, uint64_t network_checksum,
                          size_t d, uid_t uid, int width, int height,
                          struct vrt_measured_cut *ret_cut)
{
    struct cut like = describe_cut(measurements, network_checksum, d, uid, width, height);
    const struct cut *cut = find_cut(measurements, &like);

    like.uid = VRT_MEASURED_FOR_ALL;
    if (!cut)
        cut = find_cut(measurements, &like);
    if (cut)
        *ret_cut = cut->cut;
    return cut;
}

/* A cut that an earlier start left, in the place that the store knows it by: what was there before
 * is of no matter any more. Return: whether it is one. */
static bool learn_cut(struct vrt_measurements *measurements, uint64_t network_checksum, size_t d,
                      const struct vrt_store_measure *measure)
{
    unsigned uid;
    int slot, batch = 0;

    /* Before there were batches the figure had no third part. */
    if (sscanf(measure->what, CUT, &uid, &slot, &batch) < 2 ||
        slot < 0 || slot >= slots_of((uid_t)uid) || batch < 0 || batch > VRT_API_BATCH_MAX ||
        !(measure->value >= 0 && measure->value < (double)(UINT64_C(1) << 53)))
        return false;
    const uint64_t bits = (uint64_t)measure->value;
    const struct cut like = describe_cut(measurements, network_checksum, d, (uid_t)uid,
                                         (int)(bits >> 39 & 0x3fff) + 1,
                                         (int)(bits >> 25 & 0x3fff) + 1);
    const struct vrt_measured_cut value = {
        .tile = (int)(bits >> 10 & 0x7fff),
        .clip = (int)(bits >> 2 & 0xff),
        .precision = (enum vrt_precision)(bits & 3),
        .batch = batch,
    };
    struct cut *before = cut_in(measurements, like.uid, slot);
    if (before)
        *before = measurements->cuts[--measurements->n_cuts];
    note_cut(measurements, &like, &value)->slot = slot;
    return true;
}

/* The precision that `what` is of, if it begins with `quantity`; or VRT_DTYPE_COUNT. */
static int find_dtype(const char *what, const char *quantity)
{
    size_t n = strlen(quantity);
    int i = 0;

    if (strncmp(what, quantity, n) != 0 || what[n] != '.')
        return VRT_DTYPE_COUNT;
    while (i < VRT_DTYPE_COUNT && strcmp(vrt_dtype_name((enum vrt_dtype)i), what + n + 1) != 0)
        i++;
    return i;
}

/* A figure that an earlier start left; what nobody asks for any more is passed over. */
static void learn(void *ctx, const struct vrt_store_measure *measure)
{
    struct vrt_measurements *measurements = ctx;
    int of_fidelity = find_dtype(measure->what, FIDELITY);
    int of_speed = find_dtype(measure->what, SPEED);
    char *end, class[CLASS_BYTES] = "";
    uint64_t checksum = strtoull(measure->network, &end, 16);
    struct entry *entry;
    size_t d = 0;

    for (; d < measurements->n_infos; d++) {
        print_class(measurements->infos[d], class);
        if (strcmp(class, measure->device_class) == 0)
            break;
    }
    if (d == measurements->n_infos || *end || learn_cut(measurements, checksum, d, measure))
        return;
    entry = find(measurements, checksum, d);
    if (of_fidelity < VRT_DTYPE_COUNT && !isnan(measure->value))
        entry->fidelity_db[of_fidelity] = measure->value;
    else if (strcmp(measure->what, F32_SPEEDUP) == 0 && measure->value > 0)
        entry->f32_speedup = measure->value;
    else if (of_speed < VRT_DTYPE_COUNT && measure->value > 0 && isfinite(measure->value))
        entry->flops_per_s[of_speed] = entry->kept_flops_per_s[of_speed] = measure->value;
}

int vrt_measurements_new(const struct vrt_device_info *const *infos, size_t n_infos,
                         struct vrt_store *store, struct vrt_measurements **ret_measurements,
                         struct vrt_error *error)
{
    VRT_CLEANUP(vrt_measurements_freep) struct vrt_measurements *measurements =
        calloc(1, sizeof(*measurements));
    int r = 0;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!measurements)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the devices");
    measurements->infos = infos;
    measurements->n_infos = n_infos;
    measurements->store = store;
    if (store)
        r = vrt_store_load_measures(store, learn, measurements, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_measurements = VRT_STEAL(measurements);
    return 0;
}

struct vrt_measurements *vrt_measurements_free(struct vrt_measurements *measurements)
{
    free(measurements);
    return NULL;
}
