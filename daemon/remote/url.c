/* SPDX-License-Identifier: MIT */
/* libcurl's own parser, so that what was checked is what will be fetched. */

#include "daemon/remote/url.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api.h"

static bool has_part(CURLU *parts, CURLUPart which)
{
    char *part = NULL;

    CURLUcode code = curl_url_get(parts, which, &part, 0);
    curl_free(part);
    return code == CURLUE_OK;
}

static int check_parts(CURLU *parts, const char *shown, struct vrt_error *error)
{
    char *scheme = NULL;

    if (curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading an address");
    bool is_http = strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
    curl_free(scheme);
    if (!is_http)
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REMOTE_URL),
                          "%s: an address here begins with http:// or https://", shown);
    if (!has_part(parts, CURLUPART_HOST))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REMOTE_URL),
                          "%s: an address must name a host", shown);
    if (has_part(parts, CURLUPART_USER) || has_part(parts, CURLUPART_PASSWORD))
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REMOTE_URL),
                          "an address with a user's name or password in it isn't taken: it would "
                          "be kept with the job and shown");
    return 0;
}

int vrt_url_check(const char *url, struct vrt_error *error)
{
    char shown[128];

    vrt_url_shown(url, shown, sizeof(shown));
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~')
            return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REMOTE_URL),
                              "%s: not an address: spaces and letters other than ASCII must be "
                              "written as %%20 and the like", shown);
    CURLU *parts = curl_url();
    if (!parts)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading an address");
    CURLUcode code = curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME);
    int r;
    if (code == CURLUE_OUT_OF_MEMORY)
        r = vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading an address");
    else if (code != CURLUE_OK)
        r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REMOTE_URL),
                       "%s: not an address such as https://example.org/clip.mp4", shown);
    else
        r = check_parts(parts, shown, error);
    curl_url_cleanup(parts);
    return r;
}

const char *vrt_url_file_name(const char *url, char *buffer, int size)
{
    char *path = NULL;
    CURLU *parts = curl_url();

    snprintf(buffer, (size_t)size, "%s", "");
    /* Without CURLU_URLDECODE: a %2F must not become a folder before the last one is found. */
    if (!parts || curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_PATH, &path, 0) != CURLUE_OK) {
        curl_url_cleanup(parts);
        return buffer;
    }
    const char *last = strrchr(path, '/');
    int length;
    char *decoded = curl_easy_unescape(NULL, last ? last + 1 : path, 0, &length);
    if (decoded && strlen(decoded) == (size_t)length && decoded[0] != '.')
        vrt_printable(decoded, buffer, size);
    for (char *c = buffer; *c; c++)
        if (*c == '/')
            *c = '_';
    curl_free(decoded);
    curl_free(path);
    curl_url_cleanup(parts);
    return buffer;
}

const char *vrt_url_shown(const char *url, char *buffer, int size)
{
    char cut[512];

    snprintf(cut, sizeof(cut), "%.*s", (int)strcspn(url, "?#"), url);
    /* A password would stand before the host: nothing of what holds one is shown. */
    const char *host = strstr(cut, "://");
    if (host && memchr(host + 3, '@', strcspn(host + 3, "/")))
        snprintf(cut, sizeof(cut), "an address with a name in it");
    return vrt_printable(cut, buffer, size);
}
