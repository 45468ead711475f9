/* SPDX-License-Identifier: MIT */
/*
 * vrtctl: the table of commands
 *
 * Nothing is connected for help and usage errors. Exit statuses are those of vrtctl(1); that
 * standard output could be written belongs to success too.
 */

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "client/arguments.h"
#include "client/cli.h"
#include "client/conn.h"

static int run_help(struct vrt_cli *cli);

/* "help" and "help COMMAND" are "--help" and "COMMAND --help". */
static const struct vrt_command help_command = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "explain a command, or list them",
    .max_operands = 1,
    .run = run_help,
};

static const struct vrt_command *const commands[] = {
    &vrt_command_submit,
    &vrt_command_info,
    &vrt_command_status,
    &vrt_command_list,
    &vrt_command_show,
    &vrt_command_watch,
    &vrt_command_top,
    &vrt_command_wait,
    &vrt_command_pause,
    &vrt_command_resume,
    &vrt_command_retry,
    &vrt_command_priority,
    &vrt_command_cancel,
    &vrt_command_clean,
    &vrt_command_preview,
    &vrt_command_compare,
    &vrt_command_logs,
    &vrt_command_devices,
    &vrt_command_models,
    &vrt_command_codecs,
    &vrt_command_profile,
    &vrt_command_tune,
    &vrt_command_doctor,
    &vrt_command_cluster,
    &vrt_command_token,
    &vrt_command_version,
    &help_command,
};

/* What hands type that know other programs. */
static const struct {
    const char *name;
    const struct vrt_command *command;
} aliases[] = {
    { "ls", &vrt_command_list },
    { "ps", &vrt_command_status },
    { "rm", &vrt_command_cancel },
};

static const struct vrt_command *find_command(const char *name)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    for (size_t i = 0; i < VRT_ARRAY_SIZE(aliases); i++)
        if (strcmp(aliases[i].name, name) == 0)
            return aliases[i].command;
    return NULL;
}

static int refuse_command(const char *name, struct vrt_error *error)
{
    char printable[80];
    const char *meant = NULL;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(commands); i++)
        meant = vrt_args_closer(name, meant, commands[i]->name);
    return vrt_refuse(error, -EINVAL, "usage",
                      "there is no command \"%s\"%s%s%s; see vrtctl --help",
                      vrt_printable(name, printable, sizeof(printable)),
                      meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
}

/* What shells complete by: a line of JSON for each command, or option. */
static int print_objects(const struct vrt_command *command)
{
    int r = vrt_args_print_help(command ? command->options : NULL, true);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(commands) && !command && r == 0; i++) {
        json_t *json = json_pack("{s:s, s:s, s:s}", "command", commands[i]->name, "operands",
                                 commands[i]->operands ? commands[i]->operands : "", "summary",
                                 commands[i]->summary);
        r = json && vrt_cli_print_json(json) == VRT_EXIT_OK ? 0 : vrt_raise(-ENOMEM);
        json_decref(json);
    }
    if (r == 0)
        r = vrt_args_print_help(vrt_common_options, true);
    return r == 0 ? VRT_EXIT_OK : VRT_EXIT_FAILED;
}

static int print_help(const struct vrt_command *command, bool json)
{
    if (json)
        return print_objects(command);
    if (command) {
        printf("usage: vrtctl %s [OPTION]...%s%s\n\n%c%s.\n\n", command->name,
               command->operands[0] ? " " : "", command->operands,
               toupper(command->summary[0]), command->summary + 1);
        vrt_args_print_help(command->options, false);
        vrt_args_print_help(vrt_common_options, false);
        return VRT_EXIT_OK;
    }
    printf("usage: vrtctl [OPTION]... COMMAND [ARGUMENT]...\n\n"
           "Talks to vrtd, which restores videos. Commands:\n\n");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(commands); i++)
        printf("  %-8s  %s\n", commands[i]->name, commands[i]->summary);
    printf("\nOptions of every command:\n\n");
    vrt_args_print_help(vrt_common_options, false);
    printf("\nvrtctl COMMAND --help tells more, vrtctl(1) everything.\n");
    return VRT_EXIT_OK;
}

/* Reads the command line. Return: 0, *ret_command is NULL where only help or version is wanted. */
static int read_arguments(int argc, char **argv, struct vrt_args *args,
                          const struct vrt_command **ret_command, struct vrt_error *error)
{
    int n = vrt_args_parse_common(argc, argv, args, error);
    if (n < 0)
        return n;
    *ret_command = n < argc ? find_command(argv[n]) : NULL;
    if (*ret_command)
        return vrt_args_parse(*ret_command, argc - n - 1, argv + n + 1, args, error);
    if (n < argc)
        return refuse_command(argv[n], error);
    if (args->help || args->version)
        return 0;
    return vrt_refuse(error, -EINVAL, "usage", "a command is missing; see vrtctl --help");
}

static int run_help(struct vrt_cli *cli)
{
    const struct vrt_command *command = NULL;
    struct vrt_error error = { 0 };

    if (cli->args.n_operands == 0)
        return print_help(NULL, cli->args.json);
    command = find_command(cli->args.operands[0]);
    if (command)
        return print_help(command, cli->args.json);
    refuse_command(cli->args.operands[0], &error);
    vrt_cli_complain(cli, NULL, &error);
    return VRT_EXIT_USAGE;
}

static int run(const struct vrt_command *command, struct vrt_cli *cli)
{
    char path[256];
    struct vrt_error error = { 0 };

    int r = vrt_conn_find_socket(cli->args.socket, path, sizeof(path), &error);
    if (r < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_USAGE;
    }
    r = vrt_conn_new(path, cli->args.timeout_s, &cli->conn);
    if (r < 0)
        return vrt_cli_fail(cli, NULL, vrt_refuse_errno(&error, r, "starting"), &error);
    int exit = command->run(cli);
    cli->conn = vrt_conn_free(cli->conn);
    return exit;
}

int main(int argc, char **argv)
{
    const struct vrt_command *command = NULL;
    struct vrt_cli cli = { 0 };
    struct vrt_error error = { 0 };
    int exit = VRT_EXIT_OK;

    setlocale(LC_CTYPE, "");
    vrt_args_init(&cli.args);
    if (read_arguments(argc - 1, argv + 1, &cli.args, &command, &error) < 0) {
        vrt_cli_complain(&cli, NULL, &error);
        return VRT_EXIT_USAGE;
    }
    if (cli.args.help)
        exit = print_help(command, cli.args.json);
    else if (cli.args.version)
        printf("vrtctl %s\n", VRT_VERSION);
    else
        exit = run(command, &cli);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        vrt_refuse_errno(&error, -errno, "standard output");
        vrt_cli_complain(&cli, NULL, &error);
        return exit ? exit : VRT_EXIT_FAILED;
    }
    return exit;
}
