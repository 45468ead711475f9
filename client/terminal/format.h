/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Values as people read them, and texts as wide as a terminal shows them
 *
 * Every function prints into the caller's buffer and returns it; what is unknown (NAN, -1) is "-".
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* "512 B", "2.4 MiB", "16 GiB". */
const char *vrt_format_bytes(int64_t bytes, char *buffer, size_t size);

/* "1 frame", "2 frames", "- frames" of "frame". */
const char *vrt_format_count(int64_t n, const char *noun, char *buffer, size_t size);

/* "0:07", "12:30", "3:02:01", "2 d 3:00:00". */
const char *vrt_format_duration(double seconds, char *buffer, size_t size);

/* Of a part of a video: "0:10", "0:10 from 1:30". */
const char *vrt_format_part(double start_s, double duration_s, char *buffer, size_t size);

/* "5/2", and "3" where den is 1, or unknown. */
const char *vrt_format_ratio(int64_t num, int64_t den, char *buffer, size_t size);

/* "34.21 dB"; NAN: "equal", what JSON has no number for. */
const char *vrt_format_psnr(double psnr, char *buffer, size_t size);

/* "12.3", "0.042", "240". */
const char *vrt_format_rate(double rate, char *buffer, size_t size);

/* "42%", never 100% before everything is done. `total` may be unknown. */
const char *vrt_format_percent(double done, double total, char *buffer, size_t size);

/* A file's path from the absolute `folder` on, where it lies in it; `name` where it has no path. */
const char *vrt_format_path(const char *path, const char *name, const char *folder, char *buffer,
                            size_t size);

/* The time in the local zone: "2026-01-02 03:04:05". 0: unknown. */
const char *vrt_format_time(int64_t wall_ns, char *buffer, size_t size);

/* Columns that `text`, valid UTF-8, takes on a terminal. */
int vrt_text_width(const char *text);

/*
 * A copy of `text` of at most `columns`, cut with "..." where it is longer (with "" where
 * `columns` is under 3), never inside a character.
 */
const char *vrt_text_cut(const char *text, int columns, char *buffer, size_t size);

/*
 * Appends `text` and a line break, from where the line stands at `column`: broken between words
 * where it would pass `width`, and going on at `column`. `width` 0: not broken. Return: 0, -ENOMEM.
 */
int vrt_text_wrap(const char *text, int column, int width, struct vrt_buf *buf) VRT_MUST_CHECK;
