/* SPDX-License-Identifier: MIT */

#include "daemon/http/response.h"

static const char *status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 422, "Unprocessable Content" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 503, "Service Unavailable" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown";
}

int vrt_response_print(const struct vrt_response *response, bool keep_alive, bool with_body,
                       struct vrt_buf *buf)
{
    int r = vrt_buf_printf(buf, "HTTP/1.1 %d %s\r\nCache-Control: no-store\r\n",
                           response->status, status_text(response->status));

    if (r < 0)
        return r;
    if (response->header)
        r = vrt_buf_printf(buf, "%s\r\n", response->header);
    if (r < 0)
        return r;
    if (!keep_alive)
        r = vrt_buf_printf(buf, "Connection: close\r\n");
    if (r < 0)
        return r;
    if (response->body)
        r = vrt_buf_printf(buf, "Content-Type: %s\r\n",
                           response->type ? response->type : "application/json");
    if (r < 0)
        return r;
    if (response->status != 204)
        r = vrt_buf_printf(buf, "Content-Length: %zu\r\n", response->body_bytes);
    if (r < 0)
        return r;
    r = vrt_buf_append(buf, "\r\n", 2);
    if (r < 0)
        return r;
    if (response->body && with_body)
        r = vrt_buf_append(buf, response->body, response->body_bytes);
    return r;
}
