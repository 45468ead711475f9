/* SPDX-License-Identifier: MIT */

#include "daemon/web/secret.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <sys/random.h>

#include "base/error.h"

#define RANDOM_BYTES 32

int vrt_secret_make(char ret_text[VRT_SECRET_BYTES])
{
    uint8_t random[RANDOM_BYTES];
    char text[BASE64_ENCODE_RAW_LENGTH(RANDOM_BYTES)];

    if (getentropy(random, sizeof(random)) < 0)
        return vrt_raise(-errno);
    base64_encode_raw(text, sizeof(random), random);
    for (int i = 0; i < VRT_SECRET_BYTES - 1; i++)
        ret_text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    /* What is left out is the filling behind the last digit. */
    ret_text[VRT_SECRET_BYTES - 1] = '\0';
    return 0;
}

const char *vrt_secret_digest(const void *data, size_t size, char text[VRT_SECRET_DIGEST_BYTES])
{
    struct sha256_ctx sha;
    uint8_t digest[VRT_DIGEST_BYTES];

    sha256_init(&sha);
    sha256_update(&sha, size, data);
    sha256_digest(&sha, sizeof(digest), digest);
    return vrt_digest_print(digest, text);
}
