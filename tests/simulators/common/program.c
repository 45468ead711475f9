/* SPDX-License-Identifier: MIT */

#include "tests/simulators/common/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool sim_program_run(char *const *arguments, const char *log)
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
