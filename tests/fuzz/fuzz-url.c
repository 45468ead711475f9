/* SPDX-License-Identifier: MIT */
/* A URL: what is taken holds nothing that a header or a log could be broken with. */

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.h"
#include "daemon/remote/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[64], shown[128], short_name[8];
    struct vrt_error error = { .id = NULL };
    char *url = malloc(size + 1);

    vrt_assert(url);
    memcpy(url, data, size);
    url[size] = '\0';
    int r = vrt_url_check(url, &error);
    vrt_assert(!r == !error.message[0]);
    vrt_assert(r || strncasecmp(url, "http", 4) == 0);
    for (const char *c = url; r == 0 && *c; c++)
        vrt_assert(*c > ' ' && *c <= '~');
    vrt_url_file_name(url, name, sizeof(name));
    vrt_url_file_name(url, short_name, sizeof(short_name));
    vrt_url_shown(url, shown, sizeof(shown));
    vrt_assert(!strchr(name, '/') && !strchr(name, '\n') && name[0] != '.');
    free(url);
    return 0;
}
