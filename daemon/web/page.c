/* SPDX-License-Identifier: MIT */

#include "daemon/web/page.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "daemon/web/secret.h"

const struct vrt_page_file *vrt_page_find(const char *path, bool is_logged_in)
{
    const char *name = path + 1;

    if (strcmp(path, "/") == 0)
        name = is_logged_in ? "index.html" : "login.html";
    for (size_t i = 0; path[0] == '/' && i < vrt_n_page_files; i++)
        if (strcmp(vrt_page_files[i].name, name) == 0)
            return &vrt_page_files[i];
    return NULL;
}

bool vrt_page_is_public(const struct vrt_page_file *file)
{
    static const char prefix[] = "login.";

    return strncmp(file->name, prefix, sizeof(prefix) - 1) == 0;
}

const char *vrt_page_type(const struct vrt_page_file *file)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        { ".html", "text/html; charset=utf-8" },
        { ".js", "text/javascript; charset=utf-8" },
        { ".css", "text/css; charset=utf-8" },
        { ".svg", "image/svg+xml" },
        { ".png", "image/png" },
        { ".webmanifest", "application/manifest+json" },
    };
    const char *ending = strrchr(file->name, '.');

    for (size_t i = 0; ending && i < VRT_ARRAY_SIZE(types); i++)
        if (strcmp(types[i].ending, ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}

const char *vrt_page_etag(const struct vrt_page_file *file, char text[VRT_PAGE_ETAG_BYTES])
{
    char digest[VRT_SECRET_DIGEST_BYTES];

    vrt_secret_digest(file->data, file->size_bytes, digest);
    snprintf(text, VRT_PAGE_ETAG_BYTES, "\"%.32s\"", digest);
    return text;
}
