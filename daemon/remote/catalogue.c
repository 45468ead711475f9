/* SPDX-License-Identifier: MIT */

#include "daemon/remote/catalogue.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/models/models.h"
#include "daemon/remote/url.h"
#include "fields.h"

#define FILE_MAX_BYTES (1024 * 1024)  /* 500 models of a page each */
#define SCALE_MAX 64

#define T struct vrt_catalogue_entry
static const struct vrt_field entry_fields[] = {
    VRT_FIELD_TEXT(T, name, VRT_FIELD_REQUIRED),
    VRT_FIELD_TEXT(T, architecture, VRT_FIELD_REQUIRED),
    VRT_FIELD_INT(T, scale, VRT_FIELD_REQUIRED, 1, SCALE_MAX),
    VRT_FIELD_TEXT(T, description, 0),
    VRT_FIELD_TEXT(T, license, VRT_FIELD_NULLABLE),
    VRT_FIELD_TEXT(T, url, VRT_FIELD_REQUIRED),
    VRT_FIELD_INT(T, size_bytes, VRT_FIELD_REQUIRED | VRT_FIELD_NULLABLE, 1, INT64_MAX),
    VRT_FIELD_TEXT(T, sha256, VRT_FIELD_REQUIRED | VRT_FIELD_NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_catalogue
static const struct vrt_field catalogue_fields[] = {
    VRT_FIELD_ARRAY(T, models, n_models, VRT_CATALOGUE_MODELS_MAX, entry_fields),
    VRT_FIELDS_END,
};
#undef T

struct vrt_catalogue *vrt_catalogue_free(struct vrt_catalogue *catalogue)
{
    if (!catalogue)
        return NULL;
    vrt_fields_done(catalogue_fields, catalogue);
    free(catalogue);
    return NULL;
}

/* What no table tells of an entry. */
static int check_entry(const struct vrt_catalogue *catalogue, size_t i, struct vrt_error *error)
{
    const struct vrt_catalogue_entry *entry = &catalogue->models[i];
    char file[VRT_API_NAME_BYTES], shown[64], name[VRT_API_NAME_BYTES];

    vrt_printable(entry->name, shown, sizeof(shown));
    if (entry->sha256[0] && !vrt_model_sha256_is_valid(entry->sha256))
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "%s: its sha256 isn't 64 hexadecimal digits in lower case", shown);
    int r = vrt_url_check(entry->url, error);
    if (r < 0)
        return vrt_fold(r);
    /* Else it would be known by another name, once it is fetched. */
    vrt_url_file_name(entry->url, file, sizeof(file));
    if (!vrt_models_name_of(file, name, sizeof(name)) || strcmp(name, entry->name) != 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "%s: its url must end in its name and .pth or .safetensors", shown);
    for (size_t k = 0; k < i; k++)
        if (strcmp(catalogue->models[k].name, entry->name) == 0)
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "%s is there twice",
                              shown);
    return 0;
}

static int decode(const json_t *json, struct vrt_catalogue *catalogue, struct vrt_error *error)
{
    int r = vrt_fields_decode(catalogue_fields, json, VRT_FIELDS_STRICT, catalogue, error);

    for (size_t i = 0; r == 0 && i < catalogue->n_models; i++)
        r = check_entry(catalogue, i, error);
    return vrt_fold(r);
}

int vrt_catalogue_parse(const char *text, size_t size, const char *name,
                        struct vrt_catalogue **ret_catalogue, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_catalogue_freep) struct vrt_catalogue *catalogue =
        calloc(1, sizeof(*catalogue));
    struct vrt_error why = { .id = NULL };
    char shown[128];
    json_t *json = NULL;

    int r = catalogue ? vrt_json_parse(text, size, &json, &why) : vrt_raise(-ENOMEM);
    if (r == 0)
        r = decode(json, catalogue, &why);
    json_decref(json);
    if (r < 0) {
        vrt_refuse_errno(&why, r, "no room for it");
        return vrt_refuse(error, vrt_fold(r), "config.invalid", "the catalogue %s: %.350s",
                          vrt_printable(name, shown, sizeof(shown)), why.message);
    }
    *ret_catalogue = VRT_STEAL(catalogue);
    return 0;
}

int vrt_catalogue_read(const char *path, struct vrt_catalogue **ret_catalogue,
                       struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) char *text = malloc(FILE_MAX_BYTES);
    char shown[128];

    if (!text)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading the catalogue");
    FILE *file = fopen(path, "re");
    if (!file)
        return vrt_refuse_errno(error, vrt_raise(-errno),
                                vrt_printable(path, shown, sizeof(shown)));
    size_t n = fread(text, 1, FILE_MAX_BYTES, file);
    int r = ferror(file) ? -EIO : n == FILE_MAX_BYTES ? -EFBIG : 0;
    fclose(file);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_raise(r), vrt_printable(path, shown, sizeof(shown)));
    return vrt_fold(vrt_catalogue_parse(text, n, path, ret_catalogue, error));
}

const struct vrt_catalogue_entry *vrt_catalogue_find(const struct vrt_catalogue *catalogue,
                                                     const char *name)
{
    for (size_t i = 0; catalogue && i < catalogue->n_models; i++)
        if (strcmp(catalogue->models[i].name, name) == 0)
            return &catalogue->models[i];
    return NULL;
}
