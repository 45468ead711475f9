/* SPDX-License-Identifier: MIT */

#include "client/cli.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/conn.h"

void vrt_cli_complain(const struct vrt_cli *cli, const char *what, const struct vrt_error *error)
{
    bool named = !what || strstr(error->message, what);
    struct vrt_error said = { 0 };
    struct vrt_buf buf = { 0 };

    vrt_refuse(&said, -EINVAL, error->id, "%s%s%s", named ? "" : what, named ? "" : ": ",
               error->message);
    vrt_error_set_field(&said, error->field);
    fflush(stdout);
    if (cli->args.json && vrt_error_print(&said, &buf) == 0)
        fprintf(stderr, "%s\n", buf.data);
    else
        fprintf(stderr, "vrtctl: %s\n", said.message);
    vrt_buf_done(&buf);
}

int vrt_cli_misused(const struct vrt_cli *cli, const char *format, ...)
{
    struct vrt_error error = { .id = "usage" };
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error.message, sizeof(error.message), format, arguments);
    va_end(arguments);
    vrt_cli_complain(cli, NULL, &error);
    return VRT_EXIT_USAGE;
}

static void warn_as_json(const char *what, const char *warning)
{
    json_t *json = json_pack("{s:{s:s?, s:s}}", "warning", "input", what, "message", warning);
    struct vrt_buf buf = { 0 };

    fflush(stdout);
    if (json && vrt_json_print(json, &buf) == 0)
        fprintf(stderr, "%s\n", buf.data);
    vrt_buf_done(&buf);
    json_decref(json);
}

void vrt_cli_warn(const struct vrt_cli *cli, const char *what,
                  char (*warnings)[VRT_API_TEXT_BYTES], size_t n_warnings)
{
    char name[VRT_API_NAME_BYTES], text[VRT_API_TEXT_BYTES];

    if (what)
        what = vrt_printable(what, name, sizeof(name));
    for (size_t i = 0; i < n_warnings; i++) {
        struct vrt_error warning = { 0 };
        if (cli->args.json) {
            warn_as_json(what, warnings[i]);
            continue;
        }
        vrt_refuse(&warning, -EINVAL, "job", "warning: %s",
                   vrt_printable(warnings[i], text, sizeof(text)));
        vrt_cli_complain(cli, what, &warning);
    }
}

int vrt_cli_fail(const struct vrt_cli *cli, const char *what, int r,
                 const struct vrt_error *error)
{
    /* What a decoder says is about the message; here it matters whose message that was. */
    bool decoder = r == VRT_CONN_E_BROKEN && !vrt_error_is(error, VRT_CONN_BROKEN_ID);
    struct vrt_error unsaid = { 0 };

    if (!error->message[0] && r < 0) {
        vrt_refuse_errno(&unsaid, r, "showing what vrtd said");
        error = &unsaid;
    }
    vrt_cli_complain(cli, decoder ? "vrtd's answer is not understood" : what, error);
    switch (r) {
    case VRT_CONN_E_NOT_FOUND:      return VRT_EXIT_NOT_FOUND;
    case VRT_CONN_E_UNREACHABLE:
    case VRT_CONN_E_OTHER:
    case VRT_CONN_E_BROKEN:         return VRT_EXIT_UNREACHABLE;
    case VRT_CONN_E_INTERRUPTED:    return VRT_EXIT_INTERRUPTED;
    default:                        return VRT_EXIT_FAILED;
    }
}

int vrt_cli_print_json(const struct json_t *json)
{
    struct vrt_buf buf = { 0 };

    int r = vrt_json_print(json, &buf);
    if (r == 0)
        puts(buf.data);
    vrt_buf_done(&buf);
    fflush(stdout);
    return r == 0 ? VRT_EXIT_OK : VRT_EXIT_FAILED;
}

long long vrt_cli_job_id(const struct vrt_cli *cli, int i)
{
    const char *text = cli->args.operands[i];
    char printable[80], *end;

    errno = 0;
    long long id = strtoll(text, &end, 10);
    if (!errno && end != text && !*end && id > 0 && id < 1000000000000000000)
        return id;
    vrt_cli_misused(cli, "\"%s\" is not a job's number; vrtctl list shows them",
                    vrt_printable(text, printable, sizeof(printable)));
    return 0;
}

int vrt_cli_job_ids(const struct vrt_cli *cli, int n, long long **ret_ids)
{
    VRT_CLEANUP(vrt_freep) long long *ids = calloc((size_t)n + 1, sizeof(*ids));

    for (int i = 0; ids && i < n; i++) {
        ids[i] = vrt_cli_job_id(cli, i);
        if (!ids[i])
            return VRT_EXIT_USAGE;
    }
    *ret_ids = VRT_STEAL(ids);
    return *ret_ids ? VRT_EXIT_OK : VRT_EXIT_FAILED;
}
