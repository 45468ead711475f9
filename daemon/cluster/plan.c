/* SPDX-License-Identifier: MIT */

#include "daemon/cluster/plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/cluster/folder.h"
#include "daemon/store/store.h"
#include "fields.h"

/* Of the file. One of version 1 has no bookmarks, and its parts are cut as that version cut them:
 * its tasks go on. Others are not read. */
#define VERSION 2

#define SEGMENTS_MAX 1000000
#define TEXT_BYTES_MAX (1 << 20)

struct plan_text {
    int64_t version, span_ns, read_share;
    struct vrt_segment_plan *segments;
    size_t n_segments;
};

#define T struct vrt_segment_plan
static const struct vrt_field segment_fields[] = {
    VRT_FIELD_INT(T, n_frames, VRT_FIELD_REQUIRED, 1, INT64_MAX / SEGMENTS_MAX),
    VRT_FIELD_INT(T, next_shard, VRT_FIELD_REQUIRED, 1, INT64_MAX),
    VRT_FIELD_INT(T, prime_shard, VRT_FIELD_REQUIRED, 0, INT64_MAX),
    VRT_FIELD_INT(T, n_concealed, VRT_FIELD_REQUIRED, 0, INT64_MAX),
    VRT_FIELD_OBJECT(T, prime, 0, vrt_bookmark_fields),
    VRT_FIELDS_END,
};
#undef T

#define T struct plan_text
static const struct vrt_field plan_fields[] = {
    VRT_FIELD_INT(T, version, VRT_FIELD_REQUIRED, 0, INT64_MAX),
    VRT_FIELD_INT(T, span_ns, VRT_FIELD_REQUIRED, -1, INT64_MAX),
    VRT_FIELD_INT(T, read_share, 0, 0, VRT_CLUSTER_READ_WHOLE),
    VRT_FIELD_ARRAY(T, segments, n_segments, SEGMENTS_MAX, segment_fields),
    VRT_FIELDS_END,
};
#undef T

void vrt_cluster_plan_done(struct vrt_cluster_plan *plan)
{
    free(plan->request);
    free(plan->info);
    free(plan->work);
    free(plan->segments);
    *plan = (struct vrt_cluster_plan){ .request = NULL };
}

int vrt_cluster_plan_add(struct vrt_cluster_plan *plan, const struct vrt_segment_plan *segment)
{
    struct vrt_segment_plan *segments = plan->segments;

    if (plan->n_segments == SEGMENTS_MAX)
        return vrt_raise(-E2BIG);
    /* Powers of two. */
    if ((plan->n_segments & (plan->n_segments - 1)) == 0)
        segments = realloc(segments, 2 * VRT_MAX(plan->n_segments, 1) * sizeof(*segments));
    if (!segments)
        return vrt_raise(-ENOMEM);
    plan->segments = segments;
    segments[plan->n_segments++] = *segment;
    return 0;
}

/* A text of the plan, which is JSON in JSON, so that it stays as it is. Return: 0; -EINVAL,
 * -ENOMEM. */
static int take_text(const json_t *json, const char *key, char **ret_text)
{
    const char *text = json_string_value(json_object_get(json, key));

    if (!text || strlen(text) > TEXT_BYTES_MAX)
        return vrt_raise(-EINVAL);
    *ret_text = strdup(text);
    return *ret_text ? 0 : vrt_raise(-ENOMEM);
}

/* Whether its segments can follow one another. */
static bool is_sane(const struct plan_text *text)
{
    int64_t shard = 0;

    for (size_t i = 0; i < text->n_segments; i++) {
        if (text->segments[i].next_shard <= shard ||
            text->segments[i].prime_shard > text->segments[i].next_shard)
            return false;
        shard = text->segments[i].next_shard;
    }
    return text->version >= 1 && text->version <= VERSION && text->n_segments > 0;
}

int vrt_cluster_plan_read(const struct vrt_cluster_folder *folder,
                          struct vrt_cluster_plan *ret_plan, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_cluster_plan_done) struct vrt_cluster_plan plan = { .request = NULL };
    struct plan_text text = { .version = 0 };
    json_t *json = NULL;

    int r = vrt_cluster_read(folder->fd, VRT_CLUSTER_PLAN, &json, error);
    if (r == 0)
        r = vrt_fields_decode(plan_fields, json, VRT_FIELDS_LENIENT, &text, error);
    if (r == 0 && !is_sane(&text))
        r = vrt_raise(-EINVAL);
    plan.span_ns = text.span_ns;
    plan.read_share = text.read_share;
    plan.segments = text.segments;
    plan.n_segments = text.n_segments;
    if (r == 0)
        r = take_text(json, "request", &plan.request);
    if (r == 0)
        r = take_text(json, "info", &plan.info);
    if (r == 0)
        r = take_text(json, "work", &plan.work);
    json_decref(json);
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), VRT_E(CLUSTER_FOLDER), "%s/%s makes no sense to this "
                          "version of vrtd: all nodes need the same", folder->path,
                          VRT_CLUSTER_PLAN);
    *ret_plan = plan;
    plan = (struct vrt_cluster_plan){ .request = NULL };
    return 0;
}

int vrt_cluster_plan_write(const struct vrt_cluster_folder *folder,
                           const struct vrt_cluster_plan *plan, struct vrt_error *error)
{
    const struct plan_text text = {
        .version = VERSION,
        .span_ns = plan->span_ns,
        .read_share = plan->read_share,
        .segments = plan->segments,
        .n_segments = plan->n_segments,
    };
    json_t *json = vrt_fields_encode(plan_fields, &text);

    if (json && (json_object_set_new(json, "request", json_string(plan->request)) < 0 ||
                 json_object_set_new(json, "info", json_string(plan->info)) < 0 ||
                 json_object_set_new(json, "work", json_string(plan->work)) < 0)) {
        json_decref(json);
        json = NULL;
    }
    return vrt_fold(vrt_cluster_write(folder->fd, VRT_CLUSTER_PLAN, json, error));
}
