/* SPDX-License-Identifier: MIT */
/* A configuration: taken whole, or refused with a sentence. */

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "backend/kind.h"
#include "config/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_conf conf;
    struct vrt_error error = { 0 };
    char *text = malloc(size + 1);

    vrt_assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    int r = vrt_conf_parse(text, "vrtd.conf", vrt_backend_section_at, &conf, &error);
    vrt_assert(!r == !error.message[0]);
    vrt_assert(r || (conf.backend_values[0].value >= 1 && conf.devices.memory_fraction.all > 0));
    free(text);
    return 0;
}
