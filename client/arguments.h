/* SPDX-License-Identifier: MIT */
#pragma once

/* The command line: options by tables, in any order among the operands, until "--". */

#include "client/cli.h"

/* Options of every command, also accepted before it. */
extern const struct vrt_option vrt_common_options[];

/* Everything not given. */
void vrt_args_init(struct vrt_args *args);

/*
 * Decodes options before the command. Return: how many words they took; -EINVAL, see error.
 */
int vrt_args_parse_common(int argc, char **argv, struct vrt_args *args, struct vrt_error *error);

/*
 * Decodes what follows the command's name: its options and operands, whose number is checked.
 * The words are moved: operands first. Return: 0; -EINVAL, see error.
 */
int vrt_args_parse(const struct vrt_command *command, int argc, char **argv,
                   struct vrt_args *args, struct vrt_error *error);

/*
 * For "did you mean": which of two words is more like what was typed. `best` NULL: none so far.
 * Return: `best` or `word`, NULL where neither is close. Pure.
 */
const char *vrt_args_closer(const char *typed, const char *best, const char *word);

/* Prints what --help says of options, aligned; with `json` an object for each, by which shells know
 * them. Return: 0; -ENOMEM. */
int vrt_args_print_help(const struct vrt_option *options, bool json);
