/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The catalogue: models that others published, where they are and how to know them again
 *
 * A JSON file, models/catalogue.json or one of the administrator's own. It is taken whole or not at
 * all: an address that nobody checked must not be fetched.
 *
 * Thread: any; it doesn't change once it is there.
 */

#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

#define VRT_CATALOGUE_MODELS_MAX 500  /* that people look through */

struct vrt_catalogue_entry {
    char name[VRT_API_NAME_BYTES];              /* as jobs will name it */
    char architecture[VRT_API_WORD_BYTES];
    int64_t scale;
    char description[VRT_API_TEXT_BYTES], license[VRT_API_WORD_BYTES];
    char url[VRT_API_LINK_BYTES];
    int64_t size_bytes;                         /* VRT_UNKNOWN */
    char sha256[VRT_API_SHA256_BYTES];          /* in lower case; "": not known */
};

struct vrt_catalogue {
    struct vrt_catalogue_entry *models;
    size_t n_models;
};

/*
 * Reads a catalogue from its text; `name` is what messages call it.
 * Return: 0; -EINVAL where anything in it is refused, see error; -ENOMEM.
 */
int vrt_catalogue_parse(const char *text, size_t size, const char *name,
                        struct vrt_catalogue **ret_catalogue,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* The same for the file at `path`. Return: as there, or -errno where it cannot be read. */
int vrt_catalogue_read(const char *path, struct vrt_catalogue **ret_catalogue,
                       struct vrt_error *error) VRT_MUST_CHECK;

/* The entry of this name, or NULL; a NULL catalogue has none. */
const struct vrt_catalogue_entry *vrt_catalogue_find(const struct vrt_catalogue *catalogue,
                                                     const char *name);

/* Return: NULL. */
struct vrt_catalogue *vrt_catalogue_free(struct vrt_catalogue *catalogue);

VRT_DEFINE_CLEANUP(struct vrt_catalogue, vrt_catalogue_free)
