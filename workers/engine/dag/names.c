/* SPDX-License-Identifier: MIT */

#include "engine/dag/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text/hash.h"

#define PLACES_MIN 64

void vrt_dag_names_done(struct vrt_dag_names *names)
{
    free(names->places);
    *names = (struct vrt_dag_names){ 0 };
}

/* The entry of that name, or the free place where it belongs. There is one. */
static struct vrt_dag_name *place_of(const struct vrt_dag_names *names, struct vrt_text text)
{
    for (size_t at = vrt_hash(names->key, text.data, text.size_bytes); ; at++) {
        struct vrt_dag_name *place = &names->places[at % names->n_places];
        if (!place->text.data || vrt_text_compare(place->text, text) == 0)
            return place;
    }
}

static int grow(struct vrt_dag_names *names)
{
    struct vrt_dag_names larger = { .n_places = names->n_places ? 2 * names->n_places : PLACES_MIN,
                                    .n_names = names->n_names,
                                    .key = names->key ? names->key : vrt_hash_key() };

    larger.places = calloc(larger.n_places, sizeof(*larger.places));
    if (!larger.places)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < names->n_places; i++)
        if (names->places[i].text.data)
            *place_of(&larger, names->places[i].text) = names->places[i];
    free(names->places);
    *names = larger;
    return 0;
}

int vrt_dag_names_put(struct vrt_dag_names *names, struct vrt_text text, int value)
{
    int r = 2 * (names->n_names + 1) > names->n_places ? grow(names) : 0;

    if (r < 0)
        return vrt_fold(r);
    struct vrt_dag_name *place = place_of(names, text);
    if (place->text.data)
        return -EEXIST;
    *place = (struct vrt_dag_name){ text, value };
    names->n_names++;
    return 0;
}

struct vrt_dag_name *vrt_dag_names_find(const struct vrt_dag_names *names, struct vrt_text text)
{
    struct vrt_dag_name *place = names->n_places ? place_of(names, text) : NULL;

    return place && place->text.data ? place : NULL;
}
