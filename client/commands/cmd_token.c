/* SPDX-License-Identifier: MIT */
/*
 * vrtctl token: who may come by TCP. What a user of a new one shows is printed alone on standard
 * output, for scripts, and never again.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/commands/listing.h"
#include "web/msg_token.h"

static const struct vrt_column columns[] = {
    { "ID", VRT_ALIGN_RIGHT },
    { "TOKEN", VRT_ALIGN_LEFT },
    { "ADMIN", VRT_ALIGN_LEFT },
    { "CREATED", VRT_ALIGN_LEFT, .rank = 1 },
    { "EXPIRES", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

static int decode(const json_t *json, struct vrt_token_report *ret_token, struct vrt_error *error)
{
    *ret_token = (struct vrt_token_report){ .id = VRT_UNKNOWN };
    if (vrt_fields_decode(vrt_token_fields, json, VRT_FIELDS_LENIENT, ret_token, error) < 0)
        return VRT_CONN_E_BROKEN;
    return 0;
}

static int add(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    char id[32], name[VRT_API_TOKEN_NAME_BYTES], created[32], expires[48] = "never";
    struct vrt_token_report token;

    int r = decode(json, &token, error);
    if (r != 0)
        return r;
    snprintf(id, sizeof(id), "%" PRId64, token.id);
    if (token.expires_at)
        vrt_time_print(token.expires_at, expires, sizeof(expires));
    if (token.expired)
        snprintf(expires, sizeof(expires), "has expired");
    const char *const cells[] = {
        id, vrt_printable(token.name, name, sizeof(name)), token.admin ? "yes" : "no",
        vrt_time_print(token.created_at, created, sizeof(created)), expires,
    };
    return vrt_fold(vrt_table_add(table, cells));
}

/* Seconds in "90", "90s", "30m", "12h", "30d", "4w". Return: 0 where it is none of these. */
static int64_t parse_duration(const char *text)
{
    static const struct {
        const char *unit;
        int64_t s;
    } units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 },
                  { "w", 7 * 86400 } };
    char *end;

    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno)
        return 0;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(units); i++)
        if (strcmp(units[i].unit, end) == 0 && n <= VRT_API_TOKEN_EXPIRES_MAX_S / units[i].s)
            return n * units[i].s;
    return 0;
}

static int make_token(struct vrt_cli *cli)
{
    struct vrt_token_request request = { .admin = cli->args.admin, .expires_s = VRT_UNKNOWN };
    char shown[VRT_API_TOKEN_BYTES];
    struct vrt_error error = { 0 };
    struct vrt_token_report token;
    json_t *json = NULL;

    if (cli->args.expires && !(request.expires_s = parse_duration(cli->args.expires)))
        return vrt_cli_misused(cli, "--expires: expected a time from 1s to ten years, such as 12h, "
                               "30d or 4w");
    if (snprintf(request.name, sizeof(request.name), "%s", cli->args.operands[1]) >=
        (int)sizeof(request.name))
        return vrt_cli_misused(cli, "a token's name has at most %d letters",
                               VRT_API_TOKEN_NAME_BYTES - 1);
    int r = vrt_conn_post(cli->conn, &(struct vrt_request){ .path = "/v1/tokens" },
                          vrt_token_request_fields, &request, &json, &error);
    if (r == 0)
        r = decode(json, &token, &error);
    if (r == 0 && cli->args.json) {
        vrt_cli_print_json(json);
    } else if (r == 0) {
        printf("%s\n", vrt_printable(token.token, shown, sizeof(shown)));
        fprintf(stderr, "vrtctl: this is all that shows who comes as %s, and it isn't kept: it "
                "can't be shown again\n", request.name);
    }
    json_decref(json);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
}

/* The number of the token that is called so. Return: 0; VRT_CONN_E_*; -errno. */
static int find(struct vrt_cli *cli, const char *name, int64_t *ret_id, struct vrt_error *error)
{
    struct vrt_token_report token;
    char shown[80];
    json_t *json = NULL;

    int r = vrt_conn_get(cli->conn, &json, error, "/v1/tokens");
    const json_t *list = json_object_get(json, "tokens");
    *ret_id = VRT_UNKNOWN;
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        r = decode(json_array_get(list, i), &token, error);
        if (r == 0 && strcmp(token.name, name) == 0)
            *ret_id = token.id;
    }
    json_decref(json);
    if (r != 0 || *ret_id != VRT_UNKNOWN)
        return r;
    return vrt_refuse(error, VRT_CONN_E_NOT_FOUND, VRT_E(TOKEN_NOT_FOUND), "there is no token %s: "
                      "see vrtctl token list", vrt_printable(name, shown, sizeof(shown)));
}

static int revoke_token(struct vrt_cli *cli)
{
    const char *name = cli->args.operands[1];
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    char path[64];
    int64_t id;

    int r = find(cli, name, &id, &error);
    if (r == 0) {
        snprintf(path, sizeof(path), "/v1/tokens/%" PRId64, id);
        r = vrt_conn_request(cli->conn, &(struct vrt_request){ .method = "DELETE", .path = path },
                             &json, &error);
    }
    if (r == 0 && cli->args.json)
        vrt_cli_print_json(json);
    else if (r == 0)
        printf("token %s is revoked; its jobs stay, and are administrators' to see\n", name);
    json_decref(json);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
}

static int run(struct vrt_cli *cli)
{
    static const struct vrt_listing tokens = {
        "/v1/tokens", "tokens", columns, add, NULL, false,
    };
    const char *what = cli->args.operands[0];
    const int n = cli->args.n_operands;

    if (n == 1 && strcmp(what, "list") == 0)
        return vrt_listing_print(cli, &tokens);
    if (n == 2 && strcmp(what, "new") == 0)
        return make_token(cli);
    if (n == 2 && strcmp(what, "revoke") == 0)
        return revoke_token(cli);
    return vrt_cli_misused(cli, "expected new TOKEN, list or revoke TOKEN; see vrtctl token "
                           "--help");
}

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "admin", 0, VRT_OPTION_FLAG, offsetof(A, admin),
      .help = "of a new one: it sees and controls everybody's jobs" },
    { "expires", 0, VRT_OPTION_TEXT, offsetof(A, expires), .argument = "TIME",
      .help = "of a new one: for how long it may be used, as 12h, 30d (default: for ever)" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_token = {
    .name = "token",
    .operands = "new TOKEN|list|revoke TOKEN",
    .summary = "make, list and revoke tokens of who comes by TCP",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = run,
};
