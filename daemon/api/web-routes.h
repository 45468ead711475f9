/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The routes about who comes by TCP: his token, his session, his uploads
 *
 * Thread: the loop's.
 */

#include <stdbool.h>

struct vrt_call;

void vrt_api_token_create(const struct vrt_call *call);
void vrt_api_token_list(const struct vrt_call *call);
void vrt_api_token_revoke(const struct vrt_call *call);
void vrt_api_session_open(const struct vrt_call *call);
void vrt_api_session_show(const struct vrt_call *call);
void vrt_api_session_close(const struct vrt_call *call);
void vrt_api_upload_create(const struct vrt_call *call);
void vrt_api_upload_drop(const struct vrt_call *call);

/* Over TCP some things are for administrators alone. Return: whether he is refused. */
bool vrt_api_refuse_web_user(const struct vrt_call *call);
