/* SPDX-License-Identifier: MIT */

#include "web/msg_token.h"

#define T struct vrt_token_request
const struct vrt_field vrt_token_request_fields[] = {
    VRT_FIELD_TEXT(T, name, VRT_FIELD_REQUIRED),
    VRT_FIELD_BOOL(T, admin, 0),
    VRT_FIELD_INT(T, expires_s, VRT_FIELD_NULLABLE, 1, VRT_API_TOKEN_EXPIRES_MAX_S),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_token_report
const struct vrt_field vrt_token_fields[] = {
    VRT_FIELD_INT(T, id, 0, 0, INT64_MAX),
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_BOOL(T, admin, 0),
    VRT_FIELD_BOOL(T, expired, 0),
    VRT_FIELD_TIME(T, created_at, 0),
    VRT_FIELD_TIME(T, expires_at, VRT_FIELD_NULLABLE),
    VRT_FIELD_TEXT(T, token, VRT_FIELD_NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_tokens_report
const struct vrt_field vrt_tokens_fields[] = {
    VRT_FIELD_ARRAY(T, tokens, n_tokens, VRT_API_TOKENS_MAX, vrt_token_fields),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_session_request
const struct vrt_field vrt_session_request_fields[] = {
    VRT_FIELD_TEXT(T, token, VRT_FIELD_REQUIRED),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_session_report
const struct vrt_field vrt_session_fields[] = {
    VRT_FIELD_TEXT(T, user, 0),
    VRT_FIELD_BOOL(T, admin, 0),
    VRT_FIELDS_END,
};
#undef T

int vrt_token_request_parse(const void *text, size_t size, struct vrt_token_request *ret_request,
                            struct vrt_error *error)
{
    struct vrt_token_request request = { .expires_s = VRT_UNKNOWN };

    int r = vrt_fields_parse(vrt_token_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}

int vrt_session_request_parse(const void *text, size_t size,
                              struct vrt_session_request *ret_request, struct vrt_error *error)
{
    struct vrt_session_request request = { .token = "" };

    int r = vrt_fields_parse(vrt_session_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}
