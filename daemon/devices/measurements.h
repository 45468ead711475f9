/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What was measured of networks on the devices: what each precision costs in fidelity, and how fast
 * it is. Devices of one class share their figures; with a store they outlive the daemon.
 *
 * Devices are numbered as in `infos`. Figures are [VRT_DTYPE_COUNT], NAN where nobody measured;
 * they may move with the next call.
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "workers/device/worker.h"

struct vrt_measurements;
struct vrt_store;

/* What earlier starts left in `store` (NULL: none; it goes after these) is known at once. `infos`
 * stay where they are. Return: 0; -errno, and `error` says why. */
int vrt_measurements_new(const struct vrt_device_info *const *infos, size_t n_infos,
                         struct vrt_store *store, struct vrt_measurements **ret_measurements,
                         struct vrt_error *error) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_measurements *vrt_measurements_free(struct vrt_measurements *measurements);

/* Equal numbers: devices of one class, the number of the first of them. */
int vrt_measurements_class(const struct vrt_measurements *measurements, size_t d);

/* What a network loses in each precision on devices of d's class, in dB. */
const double *vrt_measurements_fidelity(struct vrt_measurements *measurements,
                                        uint64_t network_checksum, size_t d);

/* How fast such devices run a network in each precision, in operations of vrt_op_flops() a second
 * of whole shards. */
const double *vrt_measurements_speed(struct vrt_measurements *measurements,
                                     uint64_t network_checksum, size_t d);

/* How many times as fast as in the precision that they prefer such devices run a network in f32, as
 * measured once, side by side; NAN: never. */
double vrt_measurements_f32_speedup(struct vrt_measurements *measurements,
                                    uint64_t network_checksum, size_t d);

/* Takes over what a probe measured, which is no NAN: its fidelity, from now on and at the next
 * start; its speed, which is that on small frames, until shards tell more. */
void vrt_measurements_note_probe(struct vrt_measurements *measurements, uint64_t network_checksum,
                                 size_t d, const struct vrt_probe *probe);

/* Takes the time of a shard that device `d` returned into account there. */
void vrt_measurements_note_run(struct vrt_measurements *measurements, size_t d,
                               const struct vrt_worker_run *run);

/* What jobs on frames of one size are done in, where nobody asks for anything else. */
struct vrt_measured_cut {
    int tile;                       /* edge in pixels of the input; 0: as memory allows */
    int clip;                       /* frames; 0: by the network */
    enum vrt_precision precision;   /* that `auto` becomes on such devices; AUTO: as usual */
    int batch;                      /* frames at a time on such devices; 0: as suits them */
};

/* Everybody, who has none of his own. */
#define VRT_MEASURED_FOR_ALL ((uid_t)-1)

/* From now on, and at the next start, this is what is fastest for him. Of each user the last few
 * are kept. Sides go up to VRT_API_PROFILE_SIDE_MAX. */
void vrt_measurements_keep_cut(struct vrt_measurements *measurements, uint64_t network_checksum,
                               size_t d, uid_t uid, int width, int height,
                               const struct vrt_measured_cut *cut);

/* Return: whether there is one, his own or everybody's. */
bool vrt_measurements_cut(struct vrt_measurements *measurements, uint64_t network_checksum,
                          size_t d, uid_t uid, int width, int height,
                          struct vrt_measured_cut *ret_cut);

VRT_DEFINE_CLEANUP(struct vrt_measurements, vrt_measurements_free)
