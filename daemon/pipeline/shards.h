/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's shards between decoder and encoder: the pool hands them to devices, and brings them back
 *
 * They are restored in any order, and given to the encoder by index. Thread: the loop's.
 */

#include "daemon/devices/pool-job.h"
#include "daemon/pipeline/patience.h"
#include "daemon/pipeline/progress.h"
#include "workers/device/shard.h"
#include "workers/plan/job-spec.h"

struct vrt_glimpse;

/* What it points to must outlive the object. */
struct vrt_shards_params {
    struct vrt_pool *pool;
    struct vrt_progress *progress;      /* is told of each shard's way, and warned */
    const char *job_id;
    int priority;
    uid_t uid;
    struct vrt_glimpse *glimpse;        /* is told of what comes back; NULL: nobody is */
    void (*changed)(void *ctx);         /* a shard came back, or time has passed */
    void (*stopped)(void *ctx);         /* the pool stops */
    void *ctx;
};

/* What devices are to do. */
struct vrt_shards_work {
    struct vrt_job_spec *spec;          /* a reference is taken */
    uint64_t devices;                   /* probed: progress has their types */
    int64_t tile_flops;                 /* as of struct vrt_pool_job */
    bool reproducible;                  /* the devices are alike */
};

struct vrt_shards {
    struct vrt_shards_params params;
    struct vrt_pool_job job;            /* listed from init to vrt_shards_leave() */
    struct vrt_patience patience;
    struct vrt_shards_work work;        /* spec NULL: none yet */

    struct vrt_list ready;              /* of struct shard.link, by index: for the devices */
    struct vrt_list restored;           /* of struct shard.link, by index: for the encoder */
    struct vrt_list running;            /* of struct shard.link: with a device */
    int n_ready, n_running;             /* shards; tries */
    int n_shards;                       /* in all three lists */
    int live_max;                       /* that may be between decoder and encoder */
    int64_t next_index;                 /* of the next shard decoded */
    int64_t next_encode;                /* index of the next shard for the encoder */
    int64_t n_handed;                   /* shards that a device got for the first time */

    uint64_t devices;                   /* that still take part */
    uint64_t absent;                    /* of these: lost or in quarantine, as last seen */
    uint64_t holding;                   /* devices that must be told to forget the job */
    int n_nomem[VRT_DEVICES_MAX];       /* shards in a row that a device had no memory for */

    bool at_end;                        /* every frame is decoded */
    int n_elsewhere;                    /* tasks with the decode and the encode thread */
    bool accepts_odd;                   /* pictures that the network is known to mean */
    bool is_held;                       /* nothing is given to devices */
    bool is_closed;
};

/* No shards, and no work; listed in the pool at once. */
void vrt_shards_init(struct vrt_shards *shards, const struct vrt_shards_params *params);

/* What is to be done with the shards that will come. */
void vrt_shards_begin(struct vrt_shards *shards, const struct vrt_shards_work *work);

/* The shards from `first` on are still to be restored. Before any was added. */
void vrt_shards_skip(struct vrt_shards *shards, int64_t first);

/* Takes the frames over, as the next shard for the devices. Return: 0; -ENOMEM: they are still the
 * caller's. */
int vrt_shards_add(struct vrt_shards *shards, struct vrt_shard_frames *frames);

/* How many may be with the decoder now, where so many are with the encoder. */
int vrt_shards_room(const struct vrt_shards *shards, int n_encoding);

/* Whether the encoder's next shard is there. */
bool vrt_shards_next_is_restored(const struct vrt_shards *shards);

/* Takes it out, where it is there: its frames go to *ret_frames. Return: its index. */
int64_t vrt_shards_take_restored(struct vrt_shards *shards, struct vrt_shard_frames *ret_frames);

/* Lets the devices that have nothing of the job make ready what they will need. */
void vrt_shards_prepare_devices(struct vrt_shards *shards);

/* Lets the devices forget the job. */
void vrt_shards_release_devices(struct vrt_shards *shards);

/* Held, the devices forget the job when nothing of it runs; afterwards they are made ready. */
void vrt_shards_keep_held(struct vrt_shards *shards);

/* Says which devices are lost or in quarantine. Return: 0; -EIO with `error`: no device is left for
 * the next shard, or has been for too long. */
int vrt_shards_check_devices(struct vrt_shards *shards, struct vrt_error *error);

/* Tells the pool what is to be handed out, after anything has changed. */
void vrt_shards_describe(struct vrt_shards *shards);

/* Nothing more is given to devices, and what isn't with one is dropped; the running tries are told
 * to break off where `cancel` says so. May be called again. */
void vrt_shards_close(struct vrt_shards *shards, bool cancel);

/* Leaves the pool, once nothing runs; releases the work. May be called again. */
void vrt_shards_leave(struct vrt_shards *shards);
