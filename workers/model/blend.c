/* SPDX-License-Identifier: MIT */
/*
 * Two networks that were trained alike, and what lies between them: each weight is so much of one
 * and the rest of the other (Wang et al. 2019, "Deep Network Interpolation for Continuous Imagery
 * Effect Transition")
 */

#include "model/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/architecture.h"

static size_t count(const struct vrt_param *param)
{
    size_t n = 1;

    for (int i = 0; i < param->n_dims; i++)
        n *= (size_t)param->dims[i];
    return n;
}

/* Whether both have the same params, but for their numbers: all that these follow from is in the
 * description. */
static bool are_alike(const struct vrt_network *a, const struct vrt_network *b)
{
    return a->architecture == &vrt_architecture_compact && b->architecture == a->architecture &&
           strcmp(a->info.description, b->info.description) == 0;
}

/* Adds a param that is so much of x, and the rest of y. */
static int add(struct vrt_params *params, const struct vrt_param *x, const struct vrt_param *y,
               double share)
{
    const size_t n = count(x);
    char *name = strdup(x->name);
    float *data = malloc(n * sizeof(*data));

    if (!name || !data) {
        free(name);
        free(data);
        return vrt_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(share * x->data[i] + (1 - share) * y->data[i]);
    params->items[params->n_items] = *x;
    params->items[params->n_items].name = name;
    params->items[params->n_items++].data = data;
    return 0;
}

int vrt_network_blend(const struct vrt_network *a, const struct vrt_network *b, double share,
                      struct vrt_network **ret_network, struct vrt_error *error)
{
    if (!are_alike(a, b))
        return vrt_refuse(error, -EINVAL, VRT_NETWORK_E_UNKNOWN, "the two networks (%s; %s) aren't "
                          "alike but for their weights: nothing lies between them",
                          a->info.description, b->info.description);
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = calloc(1, sizeof(*network));
    if (!network)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "a network between two");
    atomic_init(&network->n_refs, 1);
    network->architecture = a->architecture;
    network->info = a->info;
    network->compact = a->compact;
    network->params.items = calloc(a->params.n_items, sizeof(*network->params.items));
    int r = network->params.items ? 0 : vrt_raise(-ENOMEM);
    for (size_t i = 0; i < a->params.n_items && r == 0; i++)
        r = add(&network->params, &a->params.items[i], &b->params.items[i], share);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "a network between two");
    network->params.n_values = a->params.n_values;
    network->checksum = vrt_network_sum(network);
    *ret_network = VRT_STEAL(network);
    return 0;
}
