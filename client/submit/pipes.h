/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Standard input as a job's input, and standard output as its result: the operand "-", and
 * --output -
 *
 * The daemon reads the pipe itself, from the descriptor, as fast as it restores. A result is
 * complete before its first byte can be told, so it is made in a temporary file that has no name,
 * and copied at the end. What else vrtctl prints goes to standard error then.
 */

#include <stdbool.h>

#include "client/cli.h"
#include "client/files.h"

struct vrt_pipes {
    bool has_input, has_output;
    bool is_regular;            /* the input is a file after all ("< film.mkv") */
    int result_fd;              /* the temporary file; -1: none */
    int output_fd;              /* what was standard output; -1: it is still */
    bool was_closed;            /* whoever read the output is gone */
};

/* Nothing is piped. */
#define VRT_PIPES_NONE ((struct vrt_pipes){ .result_fd = -1, .output_fd = -1 })

/* What standard input is called where a file has its name. */
#define VRT_PIPES_INPUT_NAME "standard input"

/* Whether a path on the command line means a standard stream. */
bool vrt_pipes_is_one(const char *path);

/*
 * Sees what the command line of vrtctl submit pipes, and complains where it can't be so. What is
 * piped is followed to its end: `cli` says so from then on.
 * Return: VRT_EXIT_OK; VRT_EXIT_USAGE, VRT_EXIT_FAILED: all was said.
 */
int vrt_pipes_init(struct vrt_pipes *pipes, struct vrt_cli *cli);

/* Opens standard input, when there is something in it. Return: 0; -errno with `error`. */
int vrt_pipes_open_input(struct vrt_pipes *pipes, struct vrt_file *ret_file,
                         struct vrt_error *error);

/* Opens the temporary file. Return: likewise. */
int vrt_pipes_open_output(struct vrt_pipes *pipes, struct vrt_file *ret_file,
                          struct vrt_error *error);

/* What the result is called, by --output-format: "stdout.mkv". Static. */
const char *vrt_pipes_output_name(const struct vrt_cli *cli);

/* The daemon has the pipe: who writes into it is to learn when it reads no more. */
void vrt_pipes_let_go(struct vrt_pipes *pipes);

/* Whether the job serves nobody any more: whoever read the output is gone. */
bool vrt_pipes_is_unwanted(struct vrt_pipes *pipes);

/* The job's files again, for a daemon that was restarted. Return: a duplicate; -1: none. */
int vrt_pipes_input_again(const struct vrt_pipes *pipes);
int vrt_pipes_output_again(const struct vrt_pipes *pipes);

/*
 * The job was followed as far as `exit` says: copies what became of it to the output, or says that
 * nobody was there to take it. Return: enum vrt_exit; all was said.
 */
int vrt_pipes_finish(const struct vrt_pipes *pipes, const struct vrt_cli *cli, int exit);

/* Closes what is open. */
void vrt_pipes_done(struct vrt_pipes *pipes);
