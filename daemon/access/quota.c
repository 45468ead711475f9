/* SPDX-License-Identifier: MIT */

#include "daemon/access/quota.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

/* One user who holds something: there are few, so that a plain array serves. */
struct user {
    uid_t uid;
    int64_t held[VRT_QUOTA_KIND_COUNT];
};

struct vrt_quota {
    struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];
    int64_t held[VRT_QUOTA_KIND_COUNT];     /* by all */
    struct user *users;
    size_t n_users, capacity;
};

int vrt_quota_new(const struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT],
                  struct vrt_quota **ret_quota)
{
    struct vrt_quota *quota = calloc(1, sizeof(*quota));

    if (!quota)
        return vrt_raise(-ENOMEM);
    vrt_quota_configure(quota, limits);
    *ret_quota = quota;
    return 0;
}

void vrt_quota_configure(struct vrt_quota *quota,
                         const struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT])
{
    for (int i = 0; i < VRT_QUOTA_KIND_COUNT; i++)
        quota->limits[i] = limits[i];
}

struct vrt_quota *vrt_quota_free(struct vrt_quota *quota)
{
    if (!quota)
        return NULL;
    free(quota->users);
    free(quota);
    return NULL;
}

/* The user's entry, or NULL. */
static struct user *find(const struct vrt_quota *quota, uid_t uid)
{
    for (size_t i = 0; i < quota->n_users; i++)
        if (quota->users[i].uid == uid)
            return &quota->users[i];
    return NULL;
}

/* Adds an entry for the user. Return: NULL: no memory. */
static struct user *add(struct vrt_quota *quota, uid_t uid)
{
    if (quota->n_users == quota->capacity) {
        size_t capacity = quota->capacity ? quota->capacity * 2 : 4;
        struct user *users = realloc(quota->users, capacity * sizeof(*users));
        if (!users)
            return NULL;
        quota->users = users;
        quota->capacity = capacity;
    }
    quota->users[quota->n_users] = (struct user){ .uid = uid };
    return &quota->users[quota->n_users++];
}

int vrt_quota_charge(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid,
                     int64_t amount)
{
    struct user *user = find(quota, uid);

    vrt_assert(amount > 0);
    if (!user)
        user = add(quota, uid);
    if (!user)
        return vrt_raise(-ENOMEM);
    user->held[kind] += amount;
    quota->held[kind] += amount;
    return 0;
}

int vrt_quota_take_amount(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid,
                          int64_t amount)
{
    const struct vrt_quota_limit *limit = &quota->limits[kind];

    /* What is held may be over a limit, and subtracting can't overflow. */
    if (amount > limit->per_uid - vrt_quota_held(quota, kind, uid))
        return VRT_QUOTA_E_USER;
    if (amount > limit->all - quota->held[kind])
        return VRT_QUOTA_E_ALL;
    return vrt_fold(vrt_quota_charge(quota, kind, uid, amount));
}

int vrt_quota_take(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid)
{
    return vrt_quota_take_amount(quota, kind, uid, 1);
}

void vrt_quota_give_amount(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid,
                           int64_t amount)
{
    struct user *user = find(quota, uid);

    vrt_assert(user && amount > 0 && user->held[kind] >= amount);
    user->held[kind] -= amount;
    quota->held[kind] -= amount;
    for (int i = 0; i < VRT_QUOTA_KIND_COUNT; i++)
        if (user->held[i] > 0)
            return;
    *user = quota->users[--quota->n_users];
}

void vrt_quota_give(struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid)
{
    vrt_quota_give_amount(quota, kind, uid, 1);
}

int64_t vrt_quota_limit(const struct vrt_quota *quota, enum vrt_quota_kind kind)
{
    return quota->limits[kind].per_uid;
}

int64_t vrt_quota_held(const struct vrt_quota *quota, enum vrt_quota_kind kind, uid_t uid)
{
    const struct user *user = find(quota, uid);

    return user ? user->held[kind] : 0;
}
