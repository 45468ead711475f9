/* SPDX-License-Identifier: MIT */
/*
 * A catalogue of models, and the request to pull one: taken whole, or refused with a sentence. What
 * is taken names a file that stays in its folder, and an address that is fetched from.
 */

#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "daemon/remote/catalogue.h"
#include "daemon/models/models.h"
#include "daemon/remote/url.h"
#include "msg_device.h"

static void check_entry(const struct vrt_catalogue *catalogue,
                        const struct vrt_catalogue_entry *entry)
{
    char file[VRT_API_NAME_BYTES], name[VRT_API_NAME_BYTES];
    struct vrt_error error = { .id = NULL };

    vrt_assert(vrt_url_check(entry->url, &error) == 0);
    vrt_url_file_name(entry->url, file, sizeof(file));
    vrt_assert(!strchr(file, '/') && file[0] != '.' && file[0]);
    vrt_assert(vrt_models_name_of(file, name, sizeof(name)) && strcmp(name, entry->name) == 0);
    vrt_assert(!entry->sha256[0] || vrt_model_sha256_is_valid(entry->sha256));
    vrt_assert(vrt_catalogue_find(catalogue, entry->name) == entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_catalogue *catalogue = NULL;
    struct vrt_model_request request;
    struct vrt_error error = { .id = NULL }, refusal = { .id = NULL };

    int r = vrt_catalogue_parse((const char *)data, size, "catalogue.json", &catalogue, &error);
    vrt_assert(!r == !error.message[0] && !r == !!catalogue);
    for (size_t i = 0; catalogue && i < catalogue->n_models; i++)
        check_entry(catalogue, &catalogue->models[i]);
    vrt_catalogue_free(catalogue);

    r = vrt_model_request_parse(data, size, &request, &refusal);
    vrt_assert(!r == !refusal.message[0]);
    vrt_assert(r || !request.name[0] != !request.url[0]);
    vrt_assert(r || !request.sha256[0] || vrt_model_sha256_is_valid(request.sha256));
    return 0;
}
