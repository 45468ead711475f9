/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The page: files that are part of the program
 *
 * Whoever comes gets login.html and the files beside it whose names begin so; the others are for
 * who has logged in.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>

#define VRT_PAGE_ETAG_BYTES 35

struct vrt_page_file {
    const char *name;               /* "app.js" */
    const unsigned char *data;
    size_t size_bytes;
};

/* Made by embed.py of what is in page/. */
extern const struct vrt_page_file vrt_page_files[];
extern const size_t vrt_n_page_files;

/* The file at a URL's path, which needn't be one; "/" is index.html for those who are logged in,
 * login.html for others. NULL: there is none. */
const struct vrt_page_file *vrt_page_find(const char *path, bool is_logged_in);

/* Whether everybody gets it. */
bool vrt_page_is_public(const struct vrt_page_file *file);

/* Its Content-Type, by its name's ending. */
const char *vrt_page_type(const struct vrt_page_file *file);

/* Its ETag, by what is in it, in quotes. Return: text. */
const char *vrt_page_etag(const struct vrt_page_file *file, char text[VRT_PAGE_ETAG_BYTES]);
