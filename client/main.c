/* SPDX-License-Identifier: MIT */
/*
 * vrtctl: the table of commands
 *
 * Nothing is connected for help and usage errors. Exit statuses are those of vrtctl(1); that
 * standard output could be written belongs to success too.
 */

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "client/arguments.h"
#include "client/cli.h"
#include "client/conn.h"

static const struct vrt_command *const commands[] = {
    &vrt_command_submit,
    &vrt_command_status,
    &vrt_command_list,
    &vrt_command_show,
    &vrt_command_watch,
    &vrt_command_wait,
    &vrt_command_pause,
    &vrt_command_resume,
    &vrt_command_retry,
    &vrt_command_priority,
    &vrt_command_cancel,
    &vrt_command_devices,
    &vrt_command_models,
    &vrt_command_profile,
    &vrt_command_doctor,
    &vrt_command_version,
};

static const struct vrt_command *find_command(const char *name)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int print_help(const struct vrt_command *command)
{
    if (command) {
        printf("usage: vrtctl %s [OPTION]...%s%s\n\n%c%s.\n\n", command->name,
               command->operands[0] ? " " : "", command->operands,
               command->summary[0] - 'a' + 'A', command->summary + 1);
        vrt_args_print_help(command->options);
        vrt_args_print_help(vrt_common_options);
        return VRT_EXIT_OK;
    }
    printf("usage: vrtctl [OPTION]... COMMAND [ARGUMENT]...\n\n"
           "Talks to vrtd, which restores videos. Commands:\n\n");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(commands); i++)
        printf("  %-8s  %s\n", commands[i]->name, commands[i]->summary);
    printf("\nOptions of every command:\n\n");
    vrt_args_print_help(vrt_common_options);
    printf("\nvrtctl COMMAND --help tells more, vrtctl(1) everything.\n");
    return VRT_EXIT_OK;
}

static int refuse_usage(struct vrt_error *error)
{
    vrt_cli_complain(NULL, error);
    return VRT_EXIT_USAGE;
}

/* Reads the command line. Return: 0, *ret_command is NULL where only help or version is wanted. */
static int read_arguments(int argc, char **argv, struct vrt_args *args,
                          const struct vrt_command **ret_command, struct vrt_error *error)
{
    char printable[80];

    int n = vrt_args_parse_common(argc, argv, args, error);
    if (n < 0)
        return n;
    *ret_command = n < argc ? find_command(argv[n]) : NULL;
    if (*ret_command)
        return vrt_args_parse(*ret_command, argc - n - 1, argv + n + 1, args, error);
    if (n < argc)
        return vrt_refuse(error, -EINVAL, "usage", "there is no command \"%s\"; see vrtctl --help",
                          vrt_printable(argv[n], printable, sizeof(printable)));
    if (args->help || args->version)
        return 0;
    return vrt_refuse(error, -EINVAL, "usage", "a command is missing; see vrtctl --help");
}

static int run(const struct vrt_command *command, struct vrt_cli *cli)
{
    char path[256];
    struct vrt_error error = { 0 };

    int r = vrt_conn_find_socket(cli->args.socket, path, sizeof(path), &error);
    if (r < 0)
        return refuse_usage(&error);
    r = vrt_conn_new(path, cli->args.timeout_s, &cli->conn);
    if (r < 0) {
        vrt_refuse_errno(&error, r, "starting");
        return vrt_cli_fail(NULL, r, &error);
    }
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
    if (read_arguments(argc - 1, argv + 1, &cli.args, &command, &error) < 0)
        return refuse_usage(&error);
    if (cli.args.help)
        exit = print_help(command);
    else if (cli.args.version)
        printf("vrtctl %s\n", VRT_VERSION);
    else
        exit = run(command, &cli);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        vrt_refuse_errno(&error, -errno, "standard output");
        vrt_cli_complain(NULL, &error);
        return exit ? exit : VRT_EXIT_FAILED;
    }
    return exit;
}
