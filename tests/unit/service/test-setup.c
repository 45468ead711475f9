/* SPDX-License-Identifier: MIT */
/* daemon/options, paths, claim: what is settled before the daemon serves. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "base/log.h"
#include "base/macro.h"
#include "daemon/service/claim.h"
#include "daemon/service/options.h"
#include "daemon/service/paths.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static int next;

    next = (next + 1) % 4;
    snprintf(paths[next], sizeof(paths[0]), "%s/%s", folder, name);
    return paths[next];
}

static void test_options(void)
{
    static const struct {
        const char *words[4];
        int result;
        const char *says;
    } cases[] = {
        { { NULL }, VRT_OPTIONS_OK, "" },
        { { "--check-config" }, VRT_OPTIONS_OK, "" },
        { { "--version" }, VRT_OPTIONS_E_DONE, "" },
        { { "--socket", "a", "--help" }, VRT_OPTIONS_E_DONE, "" },
        { { "--frobnicate" }, -EINVAL, "no option --frobnicate" },
        { { "--sock", "a" }, -EINVAL, "no option --sock" },
        { { "--socketx=a" }, -EINVAL, "no option --socketx" },
        { { "--socket" }, -EINVAL, "--socket needs a PATH" },
        { { "--check-config=yes" }, -EINVAL, "takes no value" },
        { { "extra" }, -EINVAL, "no option extra" },
        { { "--" }, -EINVAL, "no option --" },
        { { "-h" }, -EINVAL, "no option -h" },
        { { "" }, -EINVAL, "no option" },
        { { "\x1b[2J" }, -EINVAL, "no option ?[2J" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        char *argv[6] = { (char *)"vrtd" };
        struct vrt_options options = { .socket = "untouched" };
        struct vrt_error error = { .id = NULL };
        int argc = 1;
        for (; cases[i].words[argc - 1]; argc++)
            argv[argc] = (char *)cases[i].words[argc - 1];
        expect_int(vrt_options_parse(argc, argv, &options, &error), cases[i].result);
        expect_contains(error.message, cases[i].says);
        if (cases[i].result)
            expect_str(options.socket, "untouched");
    }
    char *argv[] = { "vrtd", "--socket=a=b", "--state-dir", "c", "--config", "--x",
                     "--log-level=", "--check-config" };
    struct vrt_options options;
    expect_int(vrt_options_parse(VRT_ARRAY_SIZE(argv), argv, &options, NULL), 0);
    expect_str(options.socket, "a=b");
    expect_str(options.state_dir, "c");
    expect_str(options.config, "--x");
    expect_str(options.log_level, "");
    expect_true(options.check_config);
}

/* The environment with nothing but these, "NAME=value". */
static void set_environment(const char *const *variables)
{
    char word[256];

    clearenv();
    for (; *variables; variables++) {
        snprintf(word, sizeof(word), "%s", *variables);
        char *value = strchr(word, '=');
        *value++ = '\0';
        expect_int(setenv(word, value, 1), 0);
    }
}

static void test_paths(void)
{
    static const struct {
        int (*find)(char *buffer, size_t size, struct vrt_error *error);
        const char *variables[4];
        const char *path;               /* NULL: refused, except for root */
    } cases[] = {
        { vrt_paths_socket, { "XDG_RUNTIME_DIR=/run/user/7" }, "/run/user/7/vrtd.sock" },
        { vrt_paths_socket, { "VRTD_SOCKET=/x/y", "XDG_RUNTIME_DIR=/run/user/7" }, "/x/y" },
        { vrt_paths_socket, { "VRTD_SOCKET=x", "XDG_RUNTIME_DIR=/r" }, "/r/vrtd.sock" },
        { vrt_paths_socket, { "XDG_RUNTIME_DIR=" }, NULL },
        { vrt_paths_state_dir, { "STATE_DIRECTORY=/a:/b", "XDG_STATE_HOME=/c" }, "/a" },
        { vrt_paths_state_dir, { "XDG_STATE_HOME=/c", "HOME=/h" }, "/c/vrtd" },
        { vrt_paths_state_dir, { "XDG_STATE_HOME=c", "HOME=/h" }, "/h/.local/state/vrtd" },
        { vrt_paths_state_dir, { NULL }, NULL },
    };
    char buffer[64];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { .id = NULL };
        set_environment(cases[i].variables);
        int r = cases[i].find(buffer, sizeof(buffer), &error);
        if (cases[i].path) {
            expect_int(r, 0);
            expect_str(buffer, cases[i].path);
        } else if (geteuid() != 0) {
            expect_int(r, -ENOENT);
            expect_contains(error.message, "give --s");
        }
    }
    struct vrt_error error = { .id = NULL };
    set_environment((const char *[]){ "HOME=/h", NULL });
    expect_int(vrt_paths_socket(buffer, sizeof(buffer), &error), 0);
    expect_str(buffer, geteuid() == 0 ? VRT_API_SOCKET_SYSTEM : "/h/.local/state/vrtd/vrtd.sock");
    set_environment((const char *[]){ "XDG_RUNTIME_DIR=/a/path/that/is/longer/than/the/buffer/that"
                                      "/it/must/be/put/into/is", NULL });
    expect_int(vrt_paths_socket(buffer, sizeof(buffer), &error), -ENAMETOOLONG);
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");

    expect_true(file != NULL);
    fclose(file);
}

static void test_config_path(void)
{
    char variable[128], buffer[128];

    snprintf(variable, sizeof(variable), "XDG_CONFIG_HOME=%s", folder);
    set_environment((const char *[]){ variable, NULL });
    expect_int(vrt_paths_config(buffer, sizeof(buffer), NULL), 0);
    expect_true(!buffer[0] || strcmp(buffer, "/etc/vrtd/vrtd.conf") == 0);
    expect_int(mkdir(in_folder("vrtd"), 0700), 0);
    write_file(in_folder("vrtd/vrtd.conf"));
    expect_int(vrt_paths_config(buffer, sizeof(buffer), NULL), 0);
    expect_str(buffer, in_folder("vrtd/vrtd.conf"));
    unlink(in_folder("vrtd/vrtd.conf"));
    rmdir(in_folder("vrtd"));
}

static void test_claim(void)
{
    struct vrt_claim first = VRT_CLAIM_NONE, second = VRT_CLAIM_NONE;
    struct vrt_error error = { .id = NULL };

    expect_int(vrt_claim_take(in_folder("lock"), "the thing", &first, &error), 0);
    expect_int(vrt_claim_take(in_folder("lock"), "the thing", &second, &error), -EBUSY);
    expect_str(error.message, "another vrtd has the thing: stop it, or give another");
    expect_int(second.fd, -1);
    vrt_claim_release(&first);
    expect_int(access(in_folder("lock"), F_OK), -1);
    vrt_claim_release(&first);

    /* A process that was killed leaves the file, not the lock. */
    pid_t pid = fork();
    if (pid == 0)
        _exit(vrt_claim_take(in_folder("lock"), "the thing", &first, NULL) != 0);
    int status = 1;
    expect_int(waitpid(pid, &status, 0), pid);
    expect_int(status, 0);
    expect_int(access(in_folder("lock"), F_OK), 0);
    expect_int(vrt_claim_take(in_folder("lock"), "the thing", &second, NULL), 0);
    vrt_claim_release(&second);

    expect_int(vrt_claim_take(in_folder("made/here/lock"), "the thing", &first, NULL), 0);
    vrt_claim_release(&first);
    write_file(in_folder("file"));
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_claim_take(in_folder("file/lock"), "the thing", &first, &error), -ENOTDIR);
    expect_contains(error.message, "file/lock");
    expect_int(unlink(in_folder("file")), 0);
    expect_int(rmdir(in_folder("made/here")), 0);
    expect_int(rmdir(in_folder("made")), 0);
}

static void test_listen(void)
{
    struct vrt_error error = { .id = NULL };
    const char *path = in_folder("socket");
    struct stat st;
    int fd = -1, other = -1;

    umask(022);
    expect_int(vrt_claim_listen(path, &fd, &error), 0);
    expect_int(stat(path, &st), 0);
    expect_int(st.st_mode & 0777, 0660);
    expect_int(umask(022), 022);
    expect_int(vrt_claim_listen(path, &other, &error), -EADDRINUSE);
    expect_contains(error.message, "listens");
    close(fd);
    /* Nobody answers any more: replaced. */
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_claim_listen(path, &fd, &error), 0);
    close(fd);
    unlink(path);
    write_file(path);
    expect_int(vrt_claim_listen(path, &fd, &error), -EADDRINUSE);
    expect_contains(error.message, "no socket");
    expect_int(access(path, F_OK), 0);
    unlink(path);

    char longer[200];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_claim_listen(longer, &fd, &error), -ENAMETOOLONG);
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_claim_listen(in_folder("none/socket"), &fd, &error), -ENOENT);
}

static void test_folders(void)
{
    struct vrt_error error = { .id = NULL };
    struct stat st;
    int fd = -1, spool = -1;

    expect_int(vrt_claim_folder(in_folder("a/b/state"), &fd, &error), 0);
    expect_int(stat(in_folder("a/b/state"), &st), 0);
    expect_int(st.st_mode & 0777, 0700);
    expect_int(vrt_claim_folder_in(fd, "spool", &spool, &error), 0);
    close(spool);
    /* What is in it stays: jobs go on with it. */
    write_file(in_folder("a/b/state/spool/file"));
    expect_int(vrt_claim_folder_in(fd, "spool", &spool, &error), 0);
    expect_int(access(in_folder("a/b/state/spool/file"), F_OK), 0);
    close(spool);
    unlink(in_folder("a/b/state/spool/file"));
    rmdir(in_folder("a/b/state/spool"));
    /* What lies there may be somebody's trap: it is not followed. */
    expect_int(symlink("/", in_folder("a/b/state/spool")), 0);
    expect_true(vrt_claim_folder_in(fd, "spool", &spool, &error) < 0);
    unlink(in_folder("a/b/state/spool"));
    close(fd);
    rmdir(in_folder("a/b/state"));
    rmdir(in_folder("a/b"));
    write_file(in_folder("a/file"));
    error = (struct vrt_error){ .id = NULL };
    expect_true(vrt_claim_folder(in_folder("a/file/state"), &fd, &error) < 0);
    expect_contains(error.message, "a/file/state");
    unlink(in_folder("a/file"));
    rmdir(in_folder("a"));
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "options", test_options },
        { "paths", test_paths },
        { "config-path", test_config_path },
        { "claim", test_claim },
        { "listen", test_listen },
        { "folders", test_folders },
    };

    vrt_log_set_level(VRT_LOG_ERROR);
    snprintf(folder, sizeof(folder), "/tmp/vrt-setup-XXXXXX");
    expect_true(mkdtemp(folder) != NULL);
    int status = test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
    expect_int(rmdir(folder), 0);
    return status;
}
