/* SPDX-License-Identifier: MIT */

#include "client/cli.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/conn.h"

void vrt_cli_complain(const char *what, const struct vrt_error *error)
{
    bool named = !what || strstr(error->message, what);

    fflush(stdout);
    fprintf(stderr, "vrtctl: %s%s%s\n", named ? "" : what, named ? "" : ": ", error->message);
}

void vrt_cli_warn(const char *what, char (*warnings)[VRT_API_TEXT_BYTES], size_t n_warnings)
{
    char name[VRT_API_NAME_BYTES], text[VRT_API_TEXT_BYTES];

    if (what)
        what = vrt_printable(what, name, sizeof(name));
    for (size_t i = 0; i < n_warnings; i++) {
        struct vrt_error warning = { 0 };
        vrt_refuse(&warning, -EINVAL, "job", "warning: %s",
                   vrt_printable(warnings[i], text, sizeof(text)));
        vrt_cli_complain(what, &warning);
    }
}

int vrt_cli_fail(const char *what, int r, const struct vrt_error *error)
{
    /* What a decoder says is about the message; here it matters whose message that was. */
    bool decoder = r == VRT_CONN_E_BROKEN && !vrt_error_is(error, VRT_CONN_BROKEN_ID);

    vrt_cli_complain(decoder ? "vrtd's answer is not understood" : what, error);
    switch (r) {
    case VRT_CONN_E_NOT_FOUND:      return VRT_EXIT_NOT_FOUND;
    case VRT_CONN_E_UNREACHABLE:
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
    struct vrt_error error = { 0 };
    char printable[80], *end;

    errno = 0;
    long long id = strtoll(text, &end, 10);
    if (!errno && end != text && !*end && id > 0 && id < 1000000000000000000)
        return id;
    vrt_refuse(&error, -EINVAL, "usage", "\"%s\" is not a job's number; vrtctl list shows them",
               vrt_printable(text, printable, sizeof(printable)));
    vrt_cli_complain(NULL, &error);
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
