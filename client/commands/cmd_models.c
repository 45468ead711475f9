/* SPDX-License-Identifier: MIT */
/*
 * vrtctl models: those that jobs may name, and those that may be fetched; vrtctl models pull:
 * fetches one, and follows the list until it is there. The daemon goes on without us.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/commands/models.h"
#include "client/files.h"
#include "client/terminal/format.h"
#include "client/commands/listing.h"
#include "msg_device.h"

#define LOOK_AGAIN_NS (300 * 1000 * 1000)  /* a bar that moves; nothing tells of progress */

static const struct vrt_column model_columns[] = {
    { "MODEL", VRT_ALIGN_LEFT },
    { "NETWORK", VRT_ALIGN_LEFT, .rank = 2 },
    { "SCALE", VRT_ALIGN_RIGHT, .rank = 1 },
    { "PLACE", VRT_ALIGN_LEFT },
    { "LICENSE", VRT_ALIGN_LEFT, .rank = 3 },
    { "DESCRIPTION", VRT_ALIGN_LEFT, .least = 40 },
    { NULL, VRT_ALIGN_LEFT },
};

/* "64 MiB"; "size unknown" where no catalogue and no server says one. */
static const char *print_size(const struct vrt_model_report *m, char *buffer, size_t size)
{
    if (m->size_bytes <= 0) {
        snprintf(buffer, size, "size unknown");
        return buffer;
    }
    return vrt_format_bytes(m->size_bytes, buffer, size);
}

/* Where a model is, or what becomes of it; a size that nobody knows takes no room. */
static void print_place(const struct vrt_model_report *m, char *buffer, size_t size)
{
    char bytes[32], percent[16];
    const bool has_size = m->size_bytes > 0;

    print_size(m, bytes, sizeof(bytes));
    if (m->state == VRT_MODEL_PULLING)
        snprintf(buffer, size, "pulling, %s of %s",
                 vrt_format_percent((double)m->done_bytes, (double)m->size_bytes, percent,
                                    sizeof(percent)),
                 bytes);
    else if (m->state == VRT_MODEL_AVAILABLE || m->state == VRT_MODEL_FAILED)
        snprintf(buffer, size, "%s%s%s",
                 m->state == VRT_MODEL_FAILED ? "pull failed" : "not here", has_size ? ", " : "",
                 has_size ? bytes : "");
    else if (!m->architecture[0])
        snprintf(buffer, size, "no model");
    else
        snprintf(buffer, size, "%s%s%s", m->source[0] == '/' ? "here" : "built in",
                 has_size ? ", " : "", has_size ? bytes : "");
}

static int add_model(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    struct vrt_model_report m;
    char name[VRT_API_NAME_BYTES + 16], network[VRT_API_WORD_BYTES], place[64], scale[32] = "-";
    char license[VRT_API_WORD_BYTES], text[VRT_API_TEXT_BYTES];

    vrt_model_report_init(&m);
    if (vrt_fields_decode(vrt_model_fields, json, VRT_FIELDS_LENIENT, &m, error) < 0)
        return VRT_CONN_E_BROKEN;
    vrt_printable(m.name, name, VRT_API_NAME_BYTES);
    if (m.is_default) {
        size_t n = strlen(name);
        snprintf(name + n, sizeof(name) - n, " (default)");
    }
    if (m.scale > 0)
        snprintf(scale, sizeof(scale), "x%" PRId64, m.scale);
    print_place(&m, place, sizeof(place));
    const char *const cells[] = {
        name,
        vrt_printable(m.architecture, network, sizeof(network)),
        scale,
        place,
        m.license[0] ? vrt_printable(m.license, license, sizeof(license)) : "-",
        /* One that somebody put there: all that is known of it is where. */
        vrt_printable(m.description[0] ? m.description : m.source, text, sizeof(text)),
    };
    int r = vrt_table_add(table, cells);
    if (r < 0)
        return vrt_fold(r);
    if (m.error[0] && m.state != VRT_MODEL_PULLING)
        r = vrt_table_note(table, "%s: %s", vrt_printable(m.name, name, sizeof(name)),
                           vrt_printable(m.error, text, sizeof(text)));
    return vrt_fold(r);
}

/* The command, where there is something to fetch. */
static int add_command(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    const json_t *list = json_object_get(json, "models");
    bool is_wanted = false;

    (void)error;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *state = json_string_value(json_object_get(json_array_get(list, i), "state"));
        is_wanted |= state && (strcmp(state, vrt_model_state_names[VRT_MODEL_AVAILABLE]) == 0 ||
                               strcmp(state, vrt_model_state_names[VRT_MODEL_FAILED]) == 0);
    }
    return is_wanted ? vrt_fold(vrt_table_note(table, "to fetch what isn't here: vrtctl models "
                                               "pull MODEL")) : 0;
}

static const struct vrt_column replica_columns[] = {
    { "DEVICE", VRT_ALIGN_LEFT },
    { "REPLICA OF", VRT_ALIGN_LEFT },
    { "PRECISION", VRT_ALIGN_LEFT, .rank = 1 },
    { "SIZE", VRT_ALIGN_RIGHT, .rank = 2 },
    { "STATE", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

/* What the words in the table stand for. */
static int explain_replicas(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    (void)json;
    (void)error;
    return vrt_fold(vrt_table_note(table, "a replica is a model's weights in a device's memory; an "
                                   "idle one makes room where others need it"));
}

static int add_replica(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    struct vrt_held_report h;
    char device[VRT_API_DEVICE_BYTES], model[VRT_API_NAME_BYTES], precision[VRT_API_WORD_BYTES];
    char bytes[32];

    vrt_held_report_init(&h);
    if (vrt_fields_decode(vrt_held_fields, json, VRT_FIELDS_LENIENT, &h, error) < 0)
        return VRT_CONN_E_BROKEN;
    const char *const cells[] = {
        vrt_printable(h.device, device, sizeof(device)),
        vrt_printable(h.model[0] ? h.model : h.checksum, model, sizeof(model)),
        vrt_printable(h.precision, precision, sizeof(precision)),
        vrt_format_bytes(h.bytes, bytes, sizeof(bytes)),
        vrt_name_of(vrt_held_state_names, h.state),
    };
    return vrt_fold(vrt_table_add(table, cells));
}

/* The request for what the user named. */
static int make_request(const struct vrt_cli *cli, struct vrt_model_request *q,
                        struct vrt_error *error)
{
    const char *what = cli->args.operands[1], *sha256 = cli->args.sha256;
    bool is_url = vrt_file_is_url(what);
    char printable[80];

    *q = (struct vrt_model_request){ 0 };
    if ((is_url ? snprintf(q->url, sizeof(q->url), "%s", what) >= (int)sizeof(q->url)
                : snprintf(q->name, sizeof(q->name), "%s", what) >= (int)sizeof(q->name)) ||
        (sha256 && snprintf(q->sha256, sizeof(q->sha256), "%s", sha256) >= (int)sizeof(q->sha256)))
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "\"%s\" is too long",
                          vrt_printable(sha256 ? sha256 : what, printable, sizeof(printable)));
    return 0;
}

static int decode(const json_t *json, struct vrt_model_report *ret_model, struct vrt_error *error)
{
    vrt_model_report_init(ret_model);
    if (vrt_fields_decode(vrt_model_fields, json, VRT_FIELDS_LENIENT, ret_model, error) < 0)
        return VRT_CONN_E_BROKEN;
    return 0;
}

int vrt_model_look(struct vrt_cli *cli, struct vrt_model_report *model, json_t **ret_json,
                   struct vrt_error *error)
{
    char name[VRT_API_NAME_BYTES], shown[VRT_API_NAME_BYTES];
    json_t *json = NULL;

    int r = vrt_conn_get(cli->conn, &json, error, "/v1/models");
    if (r != 0)
        return vrt_fold(r);
    const json_t *list = json_object_get(json, "models");
    memcpy(name, model->name, sizeof(name));
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        const char *its_name = json_string_value(json_object_get(item, "name"));
        if (!its_name || strcmp(its_name, name) != 0)
            continue;
        r = decode(item, model, error);
        *ret_json = json_incref(item);
        json_decref(json);
        return vrt_fold(r);
    }
    json_decref(json);
    return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                      "vrtd tells nothing of the model %s any more",
                      vrt_printable(name, shown, sizeof(shown)));
}

/* The model that `name`, which was refused, means: by its name, or by that of its file. Return: 0,
 * *ret_is_file and *ret_model are set; VRT_CONN_E_*; -errno. */
static int find_meant(struct vrt_cli *cli, const char *name, bool *ret_is_file,
                      struct vrt_model_report *ret_model)
{
    static const char *const endings[] = { ".pth", ".pkl", ".safetensors", ".onnx", ".param",
                                           ".ncnn" };
    struct vrt_error ignored = { 0 };
    size_t length = strlen(name);
    json_t *json = NULL;

    *ret_is_file = false;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(endings) && !*ret_is_file; i++) {
        size_t n = strlen(endings[i]);
        *ret_is_file = length > n && strcmp(name + length - n, endings[i]) == 0;
        if (*ret_is_file)
            length -= n;
    }
    vrt_model_report_init(ret_model);
    snprintf(ret_model->name, sizeof(ret_model->name), "%.*s", (int)length, name);
    int r = vrt_model_look(cli, ret_model, &json, &ignored);
    json_decref(json);
    return vrt_fold(r);
}

void vrt_model_say_pull(struct vrt_cli *cli, const char *name, struct vrt_error *error)
{
    struct vrt_model_report model;
    char shown[VRT_API_NAME_BYTES], asked[VRT_API_NAME_BYTES], bytes[32];
    char why[VRT_API_TEXT_BYTES];
    bool is_file = false;

    if (!vrt_error_is(error, VRT_E(MODEL_NOT_FOUND)) || !name)
        return;
    int r = find_meant(cli, name, &is_file, &model);
    if (!is_file && (r != 0 || model.state == VRT_MODEL_READY))
        return;
    *error = (struct vrt_error){ 0 };
    vrt_printable(name, asked, sizeof(asked));
    vrt_printable(model.name, shown, sizeof(shown));
    if (r != 0)
        vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_E(MODEL_NOT_FOUND),
                   "there is no file %s, and no model of that name: see vrtctl models", asked);
    else if (is_file && model.state == VRT_MODEL_READY)
        vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_E(MODEL_NOT_FOUND),
                   "there is no file %s; the model of that name is called %s", asked, shown);
    else if (is_file)
        vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_E(MODEL_NOT_FOUND),
                   "there is no file %s; vrtctl models pull %s fetches it", asked, shown);
    else if (model.state == VRT_MODEL_FAILED)
        vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_E(MODEL_NOT_FOUND),
                   "the model isn't here, its pull failed: vrtctl models pull %s tries again (%s)",
                   shown, vrt_printable(model.error, why, sizeof(why)));
    else
        vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_E(MODEL_NOT_FOUND),
                   "the model isn't here yet, %s: vrtctl models pull %s",
                   print_size(&model, bytes, sizeof(bytes)), shown);
}

/* What comes, as far as anybody knows: the server has begun to send it. */
static void say_first(const struct vrt_model_report *model)
{
    char name[VRT_API_NAME_BYTES], bytes[32], digest[VRT_API_SHA256_BYTES + 4];

    fprintf(stderr, "%spulling %s: %s, SHA-256 %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
            vrt_printable(model->name, name, sizeof(name)),
            print_size(model, bytes, sizeof(bytes)),
            model->sha256[0] ? vrt_printable(model->sha256, digest, sizeof(digest)) : "unknown");
}

/* The line that is written over while it changes; only people read that. */
static void show_progress(const struct vrt_model_report *model)
{
    char name[VRT_API_NAME_BYTES], place[VRT_API_TEXT_BYTES];

    if (!isatty(STDERR_FILENO))
        return;
    if (model->state != VRT_MODEL_PULLING) {
        fprintf(stderr, "\r\033[K");
        return;
    }
    print_place(model, place, sizeof(place));
    fprintf(stderr, "\r\033[K%s: %s", vrt_printable(model->name, name, sizeof(name)), place);
}

/* Why nothing comes yet: once for each reason. `said` has room for one. */
static void say_trouble(const struct vrt_cli *cli, const struct vrt_model_report *model, char *said)
{
    char why[1][VRT_API_TEXT_BYTES];

    if (strcmp(model->error, said) == 0)
        return;
    snprintf(said, VRT_API_TEXT_BYTES, "%s", model->error);
    if (!said[0])
        return;
    memcpy(why[0], said, sizeof(why[0]));
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    vrt_cli_warn(cli, NULL, why, 1);
}

/* How it ended. Return: enum vrt_exit. */
static int tell_end(const struct vrt_cli *cli, const struct vrt_model_report *model,
                    const json_t *json)
{
    struct vrt_error error = { 0 };
    char name[VRT_API_NAME_BYTES], bytes[32], digest[VRT_API_SHA256_BYTES + 4];

    if (cli->args.json)
        vrt_cli_print_json(json);
    if (model->error[0]) {
        vrt_refuse(&error, -EIO, "client.pull", "%s", model->error);
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_FAILED;
    }
    if (cli->args.json)
        return VRT_EXIT_OK;
    printf("%s: %s, SHA-256 %s, %s\n", vrt_printable(model->name, name, sizeof(name)),
           vrt_format_bytes(model->size_bytes, bytes, sizeof(bytes)),
           vrt_printable(model->sha256, digest, sizeof(digest)),
           model->verified ? "as expected" :
                             "which could not be verified: no other is known");
    return VRT_EXIT_OK;
}

static int pull(struct vrt_cli *cli)
{
    const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
    struct vrt_model_request request;
    struct vrt_model_report model;
    struct vrt_error error = { 0 };
    char trouble[VRT_API_TEXT_BYTES] = "";
    bool was_said = false;
    json_t *json = NULL;

    int r = make_request(cli, &request, &error);
    if (r < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_USAGE;
    }
    r = vrt_conn_post(cli->conn, &(struct vrt_request){ .path = "/v1/models" },
                      vrt_model_request_fields, &request, &json, &error);
    if (r == 0)
        r = decode(json, &model, &error);
    while (r == 0 && model.state == VRT_MODEL_PULLING) {
        if (model.done_bytes > 0 && !was_said && !cli->args.json)
            say_first(&model);
        was_said |= model.done_bytes > 0;
        say_trouble(cli, &model, trouble);
        show_progress(&model);
        nanosleep(&pause, NULL);
        json_decref(json);
        json = NULL;
        r = vrt_model_look(cli, &model, &json, &error);
    }
    if (r == 0)
        show_progress(&model);
    int exit = r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : tell_end(cli, &model, json);
    json_decref(json);
    return exit;
}

static int run(struct vrt_cli *cli)
{
    static const struct vrt_listing models = {
        "/v1/models", "models", model_columns, add_model, add_command, false,
    };
    static const struct vrt_listing replicas = {
        "/v1/models", "replicas", replica_columns, add_replica, explain_replicas,
        true,
    };
    int n = cli->args.n_operands;

    if (n == 0) {
        int exit = vrt_listing_print(cli, &models);
        return exit ? exit : vrt_listing_print(cli, &replicas);
    }
    if (n == 2 && strcmp(cli->args.operands[0], "pull") == 0)
        return pull(cli);
    return vrt_cli_misused(cli, "expected nothing, or pull NAME, or pull URL; see vrtctl models "
                           "--help");
}

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "sha256", 0, VRT_OPTION_TEXT, offsetof(A, sha256), .argument = "HEX",
      .help = "what the file of a pull must have" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_models = {
    .name = "models",
    .operands = "[pull NAME|URL]",
    .summary = "list the models, or fetch one",
    .options = options,
    .max_operands = 2,
    .run = run,
};
