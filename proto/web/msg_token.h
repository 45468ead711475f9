/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who may come by TCP: tokens (/v1/tokens), and the sessions that browsers have for them
 * (/v1/session)
 */

#include "api.h"
#include "fields.h"

#define VRT_API_TOKEN_NAME_BYTES 33
#define VRT_API_TOKEN_BYTES 64
#define VRT_API_TOKEN_EXPIRES_MAX_S 315360000       /* ten years */
#define VRT_API_TOKENS_MAX 1000

/* POST /v1/tokens. */
struct vrt_token_request {
    char name[VRT_API_TOKEN_NAME_BYTES];
    bool admin;
    int64_t expires_s;                      /* from now on; VRT_UNKNOWN: never */
};

/* A token. */
struct vrt_token_report {
    int64_t id;
    char name[VRT_API_TOKEN_NAME_BYTES];
    bool admin, expired;
    int64_t created_at, expires_at;         /* wall clock, ns; 0: never */
    char token[VRT_API_TOKEN_BYTES];        /* what its user shows, told when it is made; else "" */
};

/* GET /v1/tokens. */
struct vrt_tokens_report {
    struct vrt_token_report *tokens;
    size_t n_tokens;
};

/* POST /v1/session. */
struct vrt_session_request {
    char token[VRT_API_TOKEN_BYTES];
};

/* GET and POST /v1/session: who asks. */
struct vrt_session_report {
    char user[VRT_API_OWNER_BYTES];         /* as the owner of jobs */
    bool admin;
};

/* Decode a request. Return: 0; -EINVAL with `error`; -ENOMEM. */
int vrt_token_request_parse(const void *text, size_t size, struct vrt_token_request *ret_request,
                            struct vrt_error *error) VRT_MUST_CHECK;
int vrt_session_request_parse(const void *text, size_t size,
                              struct vrt_session_request *ret_request,
                              struct vrt_error *error) VRT_MUST_CHECK;

extern const struct vrt_field vrt_token_request_fields[];
extern const struct vrt_field vrt_token_fields[];
extern const struct vrt_field vrt_tokens_fields[];
extern const struct vrt_field vrt_session_request_fields[];
extern const struct vrt_field vrt_session_fields[];
