/* SPDX-License-Identifier: MIT */

/* The order of the scheduler's jobs: by priority, then by the turns of users, then by their own. */

#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/sched-impl.h"

/* Puts `turn` where it belongs. Who had a turn goes last; who has something ready again after a
 * while mostly goes first. */
static void insert_by_turn(struct vrt_list *list, struct vrt_sched_turn *turn)
{
    struct vrt_list *at = list;

    if (!vrt_list_is_empty(list) &&
        vrt_container_of(list->previous, struct vrt_sched_turn, link)->number > turn->number)
        do
            at = at->next;
        while (vrt_container_of(at, struct vrt_sched_turn, link)->number < turn->number);
    vrt_list_insert_before(at, &turn->link);
}

static struct vrt_sched_level *level_of(struct vrt_sched *sched, const struct vrt_sched_job *job)
{
    vrt_assert(job->priority >= VRT_API_PRIORITY_MIN && job->priority <= VRT_API_PRIORITY_MAX);
    return &sched->levels[VRT_API_PRIORITY_MAX - job->priority];
}

static void note_busy(struct vrt_sched *sched, const struct vrt_sched_level *level)
{
    vrt_sched_set_put(&sched->busy_levels, (size_t)(level - sched->levels),
                      !vrt_list_is_empty(&level->users) || !vrt_list_is_empty(&level->held_up));
}

static struct vrt_sched_user *find_user_in(struct vrt_list *list, uid_t uid)
{
    struct vrt_sched_user *user;

    VRT_LIST_FOREACH(user, list, turn.link)
        if (user->uid == uid)
            return user;
    return NULL;
}

static struct vrt_sched_lane *find_lane_in(struct vrt_list *list, const struct vrt_sched_kind *kind)
{
    struct vrt_sched_lane *lane;

    VRT_LIST_FOREACH(lane, list, turn.link)
        if (lane->kind == kind)
            return lane;
    return NULL;
}

/* The user's place in the level: his old one, or a spare that becomes his, whose turn is last. */
static struct vrt_sched_user *find_user(struct vrt_sched *sched, struct vrt_sched_level *level,
                                        uid_t uid)
{
    struct vrt_sched_user *user = find_user_in(&level->users, uid);

    if (!user)
        user = find_user_in(&level->idle_users, uid);
    if (user)
        return user;
    user = VRT_LIST_FIRST(&sched->spare_users, struct vrt_sched_user, turn.link);
    vrt_list_remove(&user->turn.link);
    *user = (struct vrt_sched_user){ .level = level, .uid = uid,
                                     .turn.number = ++sched->n_turns };
    vrt_list_init(&user->lanes);
    vrt_list_init(&user->idle_lanes);
    vrt_list_append(&level->idle_users, &user->turn.link);
    return user;
}

/* Gives the job a lane: of its priority, user and kind. */
static void enter_lane(struct vrt_sched *sched, struct vrt_sched_job *job)
{
    struct vrt_sched_user *user = find_user(sched, level_of(sched, job), job->uid);
    struct vrt_sched_lane *lane = find_lane_in(&user->lanes, job->kind);

    if (!lane)
        lane = find_lane_in(&user->idle_lanes, job->kind);
    if (!lane) {
        lane = VRT_LIST_FIRST(&sched->spare_lanes, struct vrt_sched_lane, turn.link);
        vrt_list_remove(&lane->turn.link);
        *lane = (struct vrt_sched_lane){ .user = user, .kind = job->kind };
        vrt_list_init(&lane->jobs);
        vrt_list_append(&user->idle_lanes, &lane->turn.link);
        user->n_lanes++;
    }
    lane->n_jobs++;
    job->lane = lane;
}

/* Takes the job, which is in no list, out of its lane. */
static void leave_lane(struct vrt_sched *sched, struct vrt_sched_job *job)
{
    struct vrt_sched_lane *lane = VRT_STEAL(job->lane);
    struct vrt_sched_user *user = lane->user;

    if (--lane->n_jobs > 0)
        return;
    vrt_list_remove(&lane->turn.link);
    vrt_list_append(&sched->spare_lanes, &lane->turn.link);
    if (--user->n_lanes > 0)
        return;
    vrt_list_remove(&user->turn.link);
    vrt_list_append(&sched->spare_users, &user->turn.link);
}

/* Says whether the lane has anything ready. */
static void note_ready(struct vrt_sched *sched, struct vrt_sched_lane *lane, bool is_ready)
{
    struct vrt_sched_kind *kind = lane->kind;

    if (is_ready == lane->is_ready)
        return;
    lane->is_ready = is_ready;
    kind->n_ready_lanes += is_ready ? 1 : -1;
    if (kind->n_ready_lanes == 0)
        vrt_list_remove(&kind->link);
    else if (is_ready && kind->n_ready_lanes == 1)
        vrt_list_append(&sched->ready_kinds, &kind->link);
}

/* After a lane's first job changed: the lane, and its user, go where they belong. */
static void place_lane(struct vrt_sched *sched, struct vrt_sched_lane *lane)
{
    struct vrt_sched_user *user = lane->user;
    const struct vrt_sched_job *first =
        VRT_LIST_FIRST(&lane->jobs, const struct vrt_sched_job, turn.link);
    bool was_idle = vrt_list_is_empty(&user->lanes);

    note_ready(sched, lane, first != NULL);
    vrt_list_remove(&lane->turn.link);
    if (first) {
        lane->turn.number = first->turn.number;
        insert_by_turn(&user->lanes, &lane->turn);
    } else {
        vrt_list_append(&user->idle_lanes, &lane->turn.link);
    }
    bool is_idle = vrt_list_is_empty(&user->lanes);
    if (is_idle == was_idle)
        return;
    vrt_list_remove(&user->turn.link);
    if (is_idle)
        vrt_list_append(&user->level->idle_users, &user->turn.link);
    else
        insert_by_turn(&user->level->users, &user->turn);
    note_busy(sched, user->level);
}

/* Says how many shards the job adds to what its level has to be handed out. */
static void count(struct vrt_sched_job *job, int n)
{
    job->lane->user->level->n_shards += n - job->n_counted;
    job->n_counted = n;
}

/* Moves the job to `list`: its lane's, its level's of those held up, or none. */
static void move(struct vrt_sched *sched, struct vrt_sched_job *job, struct vrt_list *list)
{
    struct vrt_sched_lane *lane = job->lane;
    bool was_first = lane->jobs.next == &job->turn.link;

    vrt_list_remove(&job->turn.link);
    job->list = list;
    if (list == &lane->jobs)
        insert_by_turn(list, &job->turn);
    else if (list)
        vrt_list_append(list, &job->turn.link);
    if (was_first || lane->jobs.next == &job->turn.link)
        place_lane(sched, lane);
    note_busy(sched, lane->user->level);
}

void vrt_sched_job_update(struct vrt_sched *sched, struct vrt_sched_job *job)
{
    struct vrt_sched_level *level = level_of(sched, job);
    struct vrt_list *list = NULL;

    if (job->lane->user->level != level) {
        move(sched, job, NULL);
        count(job, 0);
        leave_lane(sched, job);
        enter_lane(sched, job);
    }
    if (job->n_ready > 0)
        list = &job->lane->jobs;
    else if (job->is_held_up)
        list = &level->held_up;
    if (list != job->list)
        move(sched, job, list);
    count(job, job->n_ready > 0 ? VRT_MIN(job->n_left, job->n_window) : 0);
}

void vrt_sched_job_end_turn(struct vrt_sched *sched, struct vrt_sched_job *job)
{
    struct vrt_sched_user *user = job->lane->user;

    job->turn.number = user->turn.number = ++sched->n_turns;
    move(sched, job, job->list);
    if (vrt_list_is_empty(&user->lanes))
        return;
    vrt_list_remove(&user->turn.link);
    insert_by_turn(&user->level->users, &user->turn);
}

int vrt_sched_job_add(struct vrt_sched *sched, struct vrt_sched_job *job)
{
    VRT_CLEANUP(vrt_freep) struct vrt_sched_user *user = malloc(sizeof(*user));
    VRT_CLEANUP(vrt_freep) struct vrt_sched_lane *lane = malloc(sizeof(*lane));

    if (!user || !lane)
        return vrt_raise(-ENOMEM);
    vrt_list_append(&sched->spare_users, &VRT_STEAL(user)->turn.link);
    vrt_list_append(&sched->spare_lanes, &VRT_STEAL(lane)->turn.link);
    vrt_list_init(&job->turn.link);
    vrt_list_init(&job->runs);
    job->turn.number = ++sched->n_turns;
    job->list = NULL;
    job->n_counted = 0;
    enter_lane(sched, job);
    vrt_sched_job_update(sched, job);
    return 0;
}

void vrt_sched_job_remove(struct vrt_sched *sched, struct vrt_sched_job *job)
{
    struct vrt_sched_user *user;
    struct vrt_sched_lane *lane;

    vrt_assert(vrt_list_is_empty(&job->runs));
    move(sched, job, NULL);
    count(job, 0);
    leave_lane(sched, job);
    user = VRT_LIST_FIRST(&sched->spare_users, struct vrt_sched_user, turn.link);
    lane = VRT_LIST_FIRST(&sched->spare_lanes, struct vrt_sched_lane, turn.link);
    vrt_list_remove(&user->turn.link);
    vrt_list_remove(&lane->turn.link);
    free(user);
    free(lane);
}
