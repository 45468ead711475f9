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
        { 206, "Partial Content" },
        { 304, "Not Modified" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 416, "Range Not Satisfiable" },
        { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 507, "Insufficient Storage" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown";
}

int vrt_response_print(const struct vrt_response *response, bool keep_alive, bool with_body,
                       struct vrt_buf *buf)
{
    int r = vrt_buf_printf(buf, "HTTP/1.1 %d %s\r\nCache-Control: %s\r\n%s",
                           response->status, status_text(response->status),
                           response->cache ? response->cache : "no-store",
                           response->common ? response->common : "");

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
    if (response->status != 204 && response->status != 304)
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
