/* SPDX-License-Identifier: MIT */

#include "translate.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache.h"

extern char **environ;

struct files {
    char module[PATH_MAX + 64], bitcode[PATH_MAX + 64], made[PATH_MAX + 64], log[PATH_MAX + 64];
};

/* Runs a program whose output goes to the file `log`. Return: whether it succeeded. */
static bool run(char *const *arguments, const char *log)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 1;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ) == 0 &&
        waitpid(pid, &status, 0) != pid)
        status = 1;
    posix_spawn_file_actions_destroy(&actions);
    return status == 0;
}

static uint8_t *translate(struct files *files, size_t *ret_n_bytes, char **ret_log)
{
    char *const check[] = { DRV_SPIRV_VAL, "--target-env", "opencl2.2", files->module, NULL };
    char *const convert[] = { DRV_LLVM_SPIRV, "-r", "--spirv-target-env=CL1.2", files->module, "-o",
                              files->made, NULL };
    size_t n;

    if (!run(check, files->log) || !run(convert, files->log)) {
        *ret_log = (char *)drv_file_read(files->log, &n);
        return NULL;
    }
    /* Whole, or not at all: another process may look for it. */
    return rename(files->made, files->bitcode) == 0 ? drv_file_read(files->bitcode, ret_n_bytes)
                                                    : NULL;
}

uint8_t *drv_translate(const void *spirv, size_t n_bytes, size_t *ret_n_bytes, char **ret_log)
{
    static unsigned n_calls;            /* under the lock of program.c */
    VRT_CLEANUP(vrt_freep) struct files *files = malloc(sizeof(*files));
    char name[17], made[64];

    if (!files)
        return NULL;
    drv_cache_name(spirv, n_bytes, name);
    snprintf(made, sizeof(made), "%ld-%u", (long)getpid(), n_calls++);
    snprintf(files->bitcode, sizeof(files->bitcode), "%s/%s.bc", drv_cache_path(), name);
    snprintf(files->module, sizeof(files->module), "%s/%s.spv", drv_cache_path(), made);
    snprintf(files->made, sizeof(files->made), "%s/%s.bc", drv_cache_path(), made);
    snprintf(files->log, sizeof(files->log), "%s/%s.log", drv_cache_path(), made);

    uint8_t *bitcode = drv_file_read(files->bitcode, ret_n_bytes);
    if (bitcode)
        return bitcode;
    if (drv_file_write(files->module, spirv, n_bytes) == 0)
        bitcode = translate(files, ret_n_bytes, ret_log);
    unlink(files->module);
    unlink(files->made);
    unlink(files->log);
    return bitcode;
}
