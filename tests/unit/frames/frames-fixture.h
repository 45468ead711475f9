/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Videos made with the ffmpeg program, in a folder that goes when the test ends. Where there is no
 * ffmpeg program the test is skipped.
 */

#include <stdint.h>

#include "base/macro.h"
#include "frames/frame.h"
#include "frames/decode/reader.h"

/* Finds the programs and makes the folder; once, at the start of main(). */
void fixture_init(void);

/* The path of `name` in the folder; valid for the next 500 calls. */
const char *fixture_path(const char *name);

/* Runs "ffmpeg <arguments> <path of name>"; the test fails where ffmpeg does. Where VRT_KEPT names
 * a folder what is drawn is kept there, and ffmpeg isn't run again. Return: the path. */
const char *fixture_make(const char *name, const char *arguments, ...) VRT_PRINTF(2, 3);

/* Runs a command line of the shell's in the folder. Return: its output, without the last newline,
 * valid until the next call; the test fails where the command does. What "ffprobe -v error" says is
 * kept, too. */
const char *fixture_run(const char *command, ...) VRT_PRINTF(1, 2);

/* The video of a file, to be shown turned a quarter clockwise. Return: its path. */
const char *fixture_turn(const char *name, const char *from);

/* A file of these bytes. Return: its path. */
const char *fixture_write(const char *name, const void *data, size_t size);

/* The first `size` bytes of file `from` as `name`. Return: its path. */
const char *fixture_cut(const char *name, const char *from, int64_t size);

/* Length of the file at `path`. */
int64_t fixture_size(const char *path);

/* Opens a file for reading, or fails. */
int fixture_open(const char *path);

/* Whether one of the sentences has this in it. */
bool fixture_warns(const struct vrt_warnings *warnings, const char *part);

/* A sum over all samples of the frame, padding left out, and over its size and depth. */
uint64_t fixture_hash(const struct vrt_frame *frame);

/* Bytes that this process has in memory now; 0 under a sanitizer, whose memory isn't ours. */
int64_t fixture_rss_bytes(void);
