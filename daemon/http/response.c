/* SPDX-License-Identifier: MIT */

#include "daemon/http/response.h"

#include <stdio.h>

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
    const char *type = response->type ? response->type : "application/json";
    char length[48] = "";

    if (response->status != 204 && response->status != 304)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", response->body_bytes);
    int r = vrt_buf_printf(buf, "HTTP/1.1 %d %s\r\nCache-Control: %s\r\n%s%s%s%s%s%s%s%s\r\n",
                           response->status, status_text(response->status),
                           response->cache ? response->cache : "no-store",
                           response->common ? response->common : "",
                           response->header ? response->header : "",
                           response->header ? "\r\n" : "",
                           keep_alive ? "" : "Connection: close\r\n",
                           response->body ? "Content-Type: " : "", response->body ? type : "",
                           response->body ? "\r\n" : "", length);
    return r < 0 || !response->body || !with_body ? r :
           vrt_buf_append(buf, response->body, response->body_bytes);
}
