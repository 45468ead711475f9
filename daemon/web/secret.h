/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Secrets that are made here: tokens, and the cookies of sessions
 *
 * Each is 256 random bits, so that what is kept of it needs to be no more than its SHA-256. The
 * slow hashes that passwords need (with salt) are against guesses, and nobody guesses these:
 * finding one of a million tokens by trying takes 2^236 of them. The digest is looked up by plain
 * comparison: how long that takes tells of digests, from which nothing follows about what they are
 * of.
 *
 * Thread: any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/text/digest.h"

#define VRT_SECRET_BYTES 44                 /* of a secret as text: base64url, and the NUL */
#define VRT_SECRET_DIGEST_BYTES VRT_DIGEST_TEXT_BYTES

/* Makes one. Return: 0; -errno: the system has no random numbers. */
int vrt_secret_make(char ret_text[VRT_SECRET_BYTES]) VRT_MUST_CHECK;

/* The SHA-256 of `size` bytes. Return: text. */
const char *vrt_secret_digest(const void *data, size_t size, char text[VRT_SECRET_DIGEST_BYTES]);
