/* SPDX-License-Identifier: MIT */
/*
 * vrtctl doctor: what is wrong, and what to do about it
 *
 * What matters is examined by vrtd itself, whose user and environment count. Where none answers,
 * that is the first thing that is wrong, and vrtctl looks at what it can look at: whatever is
 * printed says who looked. On a terminal results are wrapped, elsewhere each is one line.
 */

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/commands/models.h"
#include "client/files.h"
#include "client/terminal/format.h"
#include "client/terminal/screen.h"
#include "doctor_host.h"
#include "msg_device.h"

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "device", 'd', VRT_OPTION_TEXT, offsetof(A, device), .argument = "DEVICE",
      .help = "one (cuda:0), or of a kind (cuda); default: all" },
    { "model", 'm', VRT_OPTION_TEXT, offsetof(A, model), .argument = "MODEL",
      .help = "run this on each: a name, or a file (default: the built-in network)" },
    { .name = NULL },
};
#undef A

/* The longest that vrtd takes, and some more: its thread of files may wait for a disk. */
#define PATIENCE_S (VRT_API_DOCTOR_PATIENCE_S + 30)
#define MODEL_PATIENCE_S (2 * VRT_API_DOCTOR_MODEL_PATIENCE_S)

#define LABEL_MIN 14               /* columns: the words of every report */
#define LABEL_MAX 19                /* as far as they move for a longer one */
#define MARK_COLUMNS 9              /* "warning" and two blanks */

/* The columns that a result has at least; else it begins below its label. */
#define RESULT_MIN 30

static const char *const marks[] = {
    [VRT_DOCTOR_OK] = "ok",
    [VRT_DOCTOR_NOTE] = "note",
    [VRT_DOCTOR_WARNING] = "WARNING",
    [VRT_DOCTOR_FAILED] = "FAILED",
    [VRT_DOCTOR_SKIPPED] = "skipped",
};

/* What a check is about, for people: the id's part behind the point after the subject. */
static const char *print_label(const struct vrt_doctor_check *check, char *buffer, size_t size)
{
    const char *part = strchr(check->id, '.');
    const size_t n_group = part ? (size_t)(part - check->id) : strlen(check->id);

    part = part ? part + 1 : "";
    if (strncmp(check->id, "daemon", n_group) == 0)
        snprintf(buffer, size, "vrtd");
    else if (strncmp(check->id, "folder", n_group) == 0)
        snprintf(buffer, size, "%s folder", part);
    else if (strcmp(check->id, "gpu.hardware") == 0)
        snprintf(buffer, size, "GPU%s%s", check->subject[0] ? " " : "", check->subject);
    else if (strcmp(check->id, "gpu.node") == 0 || strcmp(check->id, "device.state") == 0 ||
             (!part[0] && check->subject[0]))
        snprintf(buffer, size, "%s", check->subject);
    else if (!check->subject[0])
        snprintf(buffer, size, "%s", check->id);
    else
        snprintf(buffer, size, "%s %s", check->subject, part);
    for (char *c = buffer + strlen(check->subject); c < buffer + strlen(buffer); c++)
        if (*c == '.' && strncmp(check->id, "device", n_group) == 0)
            *c = ' ';
    return buffer;
}

static int print_check(struct vrt_buf *buf, const struct vrt_doctor_check *check, int n_label,
                       int width)
{
    char label[VRT_API_NAME_BYTES + VRT_API_WORD_BYTES];
    const int known = check->status >= 0 && check->status < VRT_DOCTOR_STATUS_COUNT;
    const int column = MARK_COLUMNS + n_label + 2;

    print_label(check, label, sizeof(label));
    const int pad = n_label - vrt_text_width(label);
    int r = vrt_buf_printf(buf, "%-*s%s%*s", MARK_COLUMNS,
                           known ? marks[check->status] : "?", label, 2 + VRT_MAX(pad, 0), "");
    if (r < 0)
        return r;
    /* What follows a label that is too long stands where all results do, if there is a choice. */
    if (pad < 0 && width > 0)
        r = vrt_buf_printf(buf, "\n%*s", column, "");
    if (r < 0)
        return r;
    r = vrt_text_wrap(check->result, column, width, buf);
    if (r < 0)
        return r;
    if (!check->cure[0])
        return 0;
    r = vrt_buf_printf(buf, "%*scure: ", MARK_COLUMNS, "");
    if (r < 0)
        return r;
    return vrt_text_wrap(check->cure, MARK_COLUMNS + 6, width, buf);
}

static int print_report(const struct vrt_doctor_report *report)
{
    char label[VRT_API_NAME_BYTES + VRT_API_WORD_BYTES];
    int width = 0, rows, n_label = LABEL_MIN;
    struct vrt_buf buf = { 0 };
    int r = 0;

    for (size_t i = 0; i < report->n_checks; i++) {
        int n = vrt_text_width(print_label(&report->checks[i], label, sizeof(label)));
        if (n <= LABEL_MAX)
            n_label = VRT_MAX(n_label, n);
    }
    if (isatty(STDOUT_FILENO))
        vrt_screen_size(&width, &rows);
    if (width > 0 && width < MARK_COLUMNS + n_label + 2 + RESULT_MIN)
        n_label = 0;
    for (size_t i = 0; r == 0 && i < report->n_checks; i++)
        r = print_check(&buf, &report->checks[i], n_label, width);
    if (r == 0)
        r = vrt_buf_printf(&buf, "\n%zu checks: %" PRId64 " failed, %" PRId64 " warning%s\n",
                           report->n_checks, report->failed, report->warnings,
                           report->warnings == 1 ? "" : "s");
    if (r == 0)
        fputs(buf.data, stdout);
    vrt_buf_done(&buf);
    return vrt_fold(r);
}

/* Who may use the socket, if it is that; else how to start a daemon. */
static void print_cure(const struct vrt_conn *conn, char *text, size_t size)
{
    const char *path = vrt_conn_path(conn);
    const struct passwd *user = getpwuid(geteuid());
    const struct group *group;
    struct stat st;
    const int r = stat(path, &st) < 0 ? -errno : 0;

    if (r == 0 && S_ISSOCK(st.st_mode) && access(path, W_OK) < 0) {
        group = st.st_mode & S_IWGRP && st.st_gid != 0 ? getgrgid(st.st_gid) : NULL;
        if (group && user)
            snprintf(text, size, "usermod -aG %s %s, then log in again; or start your own: vrtd &",
                     group->gr_name, user->pw_name);
        else
            snprintf(text, size, "ask its owner for access, or start your own: vrtd &");
    } else if (r == -EACCES) {
        snprintf(text, size, "ask who runs it for access to the folder of its socket, or start "
                 "your own: vrtd &");
    } else {
        snprintf(text, size, "systemctl start vrtd.socket (the machine's), or vrtd & (your own); "
                 "--socket names another");
    }
}

/* Without a daemon: what is there for whoever asks. */
static void look_for_ourselves(const struct vrt_cli *cli, const struct vrt_error *error,
                               struct vrt_doctor_report *report)
{
    const struct passwd *user = getpwuid(geteuid());
    char cure[VRT_API_TEXT_BYTES], kind[VRT_API_DEVICE_BYTES];
    struct vrt_doctor_host host = {
        .by = VRT_DOCTOR_BY_VRTCTL,
        .user = user ? user->pw_name : "of this terminal",
        .root = "",
        .only = cli->args.device ? vrt_doctor_kind_of(cli->args.device, kind, sizeof(kind)) : NULL,
    };

    print_cure(cli->conn, cure, sizeof(cure));
    vrt_doctor_report_add(report, &(struct vrt_doctor_line){
        .id = "daemon.reach",
        .status = VRT_DOCTOR_FAILED,
        .by = VRT_DOCTOR_BY_VRTCTL,
        .cure = cure,
    }, "%.*s", (int)strcspn(error->message, ";"), error->message);
    vrt_doctor_report_add(report, &(struct vrt_doctor_line){
        .id = "daemon.devices",
        .status = VRT_DOCTOR_SKIPPED,
        .by = VRT_DOCTOR_BY_VRTCTL,
    }, "devices are vrtd's to examine; what follows is what vrtctl sees, as user %s", host.user);
    vrt_doctor_look_at_environment(&host, report);
    vrt_doctor_look_at_gpus(&host, report);
}

/* That it answers, and whether it is of our version. */
static void tell_daemon(const struct vrt_cli *cli, const struct vrt_doctor_report *daemon,
                        struct vrt_doctor_report *report)
{
    struct vrt_doctor_line line = { .id = "daemon.reach", .by = VRT_DOCTOR_BY_VRTCTL };

    vrt_doctor_report_add(report, &line, "%s, process %" PRId64 ", user %s, at %s", daemon->version,
                          daemon->pid, daemon->user, vrt_conn_path(cli->conn));
    if (strcmp(daemon->version, VRT_VERSION) == 0)
        return;
    line.id = "daemon.version";
    line.status = VRT_DOCTOR_WARNING;
    line.cure = "install both from one package, then restart vrtd: systemctl restart vrtd";
    vrt_doctor_report_add(report, &line, "vrtctl is version %s, vrtd is %s", VRT_VERSION,
                          daemon->version);
}

/* Takes over what the daemon told. */
static void merge(struct vrt_doctor_report *daemon, struct vrt_doctor_report *report)
{
    snprintf(report->version, sizeof(report->version), "%s", daemon->version);
    snprintf(report->user, sizeof(report->user), "%s", daemon->user);
    report->pid = daemon->pid;
    for (size_t i = 0; i < daemon->n_checks; i++) {
        const struct vrt_doctor_check *check = &daemon->checks[i];
        vrt_doctor_report_add(report, &(struct vrt_doctor_line){
            .id = check->id,
            .subject = check->subject,
            /* A newer daemon's status may be none of ours. */
            .status = check->status < 0 ? VRT_DOCTOR_NOTE : (enum vrt_doctor_status)check->status,
            .by = VRT_DOCTOR_BY_VRTD,
            .cure = check->cure,
        }, "%s", check->result);
    }
}

/* What is asked. A model goes along only where one is named: an older vrtd knows of none. */
static int print_question(const struct vrt_args *args, bool model_is_file, struct vrt_buf *body)
{
    json_t *question = json_pack("{s:s}", "device", args->device ? args->device : "");
    char name[VRT_API_NAME_BYTES];
    int r = question ? 0 : vrt_raise(-ENOMEM);

    if (r == 0 && args->model) {
        json_t *model = json_pack("{s:s}", "name", model_is_file ?
                                  vrt_file_name(args->model, name, sizeof(name)) : args->model);
        if (model_is_file)
            json_object_set_new(model, "fd", json_integer(0));
        r = json_object_set_new(question, "model", model) < 0 ? vrt_raise(-ENOMEM) : 0;
    }
    if (r == 0)
        r = vrt_json_print(question, body);
    json_decref(question);
    return vrt_fold(r);
}

/* Has the daemon examine. Return: 0; VRT_CONN_E_*; -errno. */
static int ask(struct vrt_cli *cli, const struct vrt_file *model,
               struct vrt_doctor_report *ret_report, struct vrt_error *error)
{
    struct vrt_buf body = { 0 };
    const bool is_watched = isatty(STDERR_FILENO) && !cli->args.json;
    json_t *json = NULL;

    int r = print_question(&cli->args, model->fd >= 0, &body);
    if (r < 0)
        return vrt_refuse_errno(error, r, "writing the request");
    if (is_watched)
        fputs("examining ...", stderr);
    r = vrt_conn_request(cli->conn, &(struct vrt_request){
        .method = "POST",
        .path = "/v1/doctor",
        .body = body.data,
        .fds = &model->fd,
        .n_fds = model->fd >= 0 ? 1 : 0,
        .patience_s = cli->args.model ? MODEL_PATIENCE_S : PATIENCE_S,
    }, &json, error);
    if (is_watched)
        fputs("\r\033[K", stderr);
    vrt_buf_done(&body);
    if (r == 0 && vrt_doctor_report_decode(json, ret_report, error) < 0)
        r = VRT_CONN_E_BROKEN;
    json_decref(json);
    return r;
}

/* Prints all that was found. Return: enum vrt_exit. */
static int tell(const struct vrt_cli *cli, const struct vrt_doctor_report *report)
{
    struct vrt_error error = { 0 };
    json_t *json;
    int r = report->is_short ? vrt_raise(-ENOMEM) : 0;

    if (r == 0 && cli->args.json) {
        json = vrt_fields_encode(vrt_doctor_fields, report);
        r = json && vrt_cli_print_json(json) == VRT_EXIT_OK ? 0 : -ENOMEM;
        json_decref(json);
    } else if (r == 0) {
        r = print_report(report);
    }
    if (r < 0) {
        vrt_refuse_errno(&error, r, "printing what was found");
        return vrt_cli_fail(cli, NULL, r, &error);
    }
    return report->failed > 0 ? VRT_EXIT_FAILED : VRT_EXIT_OK;
}

static int run(struct vrt_cli *cli)
{
    struct vrt_doctor_report daemon, report;
    struct vrt_file model = VRT_FILE_NONE;
    struct vrt_error error = { 0 };

    vrt_doctor_report_init(&daemon);
    vrt_doctor_report_init(&report);
    int r = cli->args.model && vrt_file_is_model_path(cli->args.model) ?
            vrt_file_open_model(cli->args.model, &model, &error) : 0;
    if (r < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_FAILED;
    }
    r = ask(cli, &model, &daemon, &error);
    vrt_file_close(&model);
    if (r == 0) {
        tell_daemon(cli, &daemon, &report);
        merge(&daemon, &report);
    } else if (r == VRT_CONN_E_UNREACHABLE) {
        look_for_ourselves(cli, &error, &report);
    } else if (r == VRT_CONN_E_REFUSED && vrt_error_is(&error, VRT_E(ROUTE_NOT_FOUND))) {
        error = (struct vrt_error){ 0 };
        r = vrt_refuse(&error, r, VRT_CONN_REFUSED_ID, "vrtd at %s is too old to examine anything: "
                       "install it and vrtctl from one package, and restart it",
                       vrt_conn_path(cli->conn));
    }
    vrt_model_say_pull(cli, cli->args.model, &error);
    int exit = r == 0 || r == VRT_CONN_E_UNREACHABLE ? tell(cli, &report) :
               vrt_cli_fail(cli, NULL, r, &error);
    vrt_doctor_report_done(&daemon);
    vrt_doctor_report_done(&report);
    return exit;
}

const struct vrt_command vrt_command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "find out what is wrong, and what to do about it",
    .options = options,
    .run = run,
};
