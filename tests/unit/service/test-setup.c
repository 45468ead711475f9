/* SPDX-License-Identifier: MIT */
/* daemon/options, paths, setup, once, limits, claim: what is settled before the daemon serves. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "backend/kind.h"
#include "base/log.h"
#include "base/macro.h"
#include "daemon/service/claim.h"
#include "daemon/service/limits.h"
#include "daemon/service/once.h"
#include "daemon/service/options.h"
#include "daemon/service/paths.h"
#include "daemon/service/setup.h"

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
        { { "--sockex=a" }, -EINVAL, "no option --sockex" },
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

static void check_paths(void)
{
    static const struct {
        int (*find)(char *buffer, size_t size, struct vrt_error *error);
        const char *variables[4];
        const char *path, *of_root;     /* NULL: refused; the same */
    } cases[] = {
        { vrt_paths_socket, { "XDG_RUNTIME_DIR=/run/user/7" }, "/run/user/7/vrtd.sock", NULL },
        { vrt_paths_socket, { "VRTD_SOCKET=/x/y", "XDG_RUNTIME_DIR=/run/user/7" }, "/x/y", NULL },
        { vrt_paths_socket, { "VRTD_SOCKET=x", "XDG_RUNTIME_DIR=/r" }, "/r/vrtd.sock", NULL },
        { vrt_paths_socket, { "XDG_RUNTIME_DIR=" }, NULL, VRT_API_SOCKET_SYSTEM },
        { vrt_paths_socket, { "HOME=/h" }, "/h/.local/state/vrtd/vrtd.sock",
          VRT_API_SOCKET_SYSTEM },
        { vrt_paths_state_dir, { "STATE_DIRECTORY=/a:/b", "XDG_STATE_HOME=/c" }, "/a", NULL },
        { vrt_paths_state_dir, { "XDG_STATE_HOME=/c", "HOME=/h" }, "/c/vrtd", NULL },
        { vrt_paths_state_dir, { "XDG_STATE_HOME=c", "HOME=/h" }, "/h/.local/state/vrtd", NULL },
        { vrt_paths_state_dir, { NULL }, NULL, "/var/lib/vrtd" },
    };
    char buffer[64];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { .id = NULL };
        const char *path = geteuid() == 0 && cases[i].of_root ? cases[i].of_root : cases[i].path;
        set_environment(cases[i].variables);
        expect_int(cases[i].find(buffer, sizeof(buffer), &error), path ? 0 : -ENOENT);
        expect_contains(error.message, path ? "" : "give --s");
        if (path)
            expect_str(buffer, path);
    }
    set_environment((const char *[]){ "XDG_RUNTIME_DIR=/a/path/that/is/longer/than/the/buffer/that"
                                      "/it/must/be/put/into/is",
                                      "STATE_DIRECTORY=/of/9/bytes", NULL });
    struct vrt_error error = { .id = NULL };
    expect_int(vrt_paths_socket(buffer, sizeof(buffer), &error), -ENAMETOOLONG);
    expect_contains(error.message, "... has over 63 bytes");
    expect_int(vrt_paths_state_dir(buffer, 9, &error), -ENAMETOOLONG);
}

/* Of root, where the test is root's, and of another. */
static void test_paths(void)
{
    check_paths();
    if (geteuid() == 0 && seteuid(65534) == 0) {
        check_paths();
        expect_int(seteuid(0), 0);
    }
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");

    expect_true(file != NULL);
    fclose(file);
}

static void test_config_path(void)
{
    char variable[128], buffer[128] = "x", places[400];

    snprintf(variable, sizeof(variable), "XDG_CONFIG_HOME=%s", folder);
    set_environment((const char *[]){ variable, NULL });
    expect_int(vrt_paths_config(buffer, sizeof(buffer), NULL), 0);
    expect_true(!buffer[0] || strcmp(buffer, "/etc/vrtd/vrtd.conf") == 0);
    expect_int(mkdir(in_folder("vrtd"), 0700), 0);
    write_file(in_folder("vrtd/vrtd.conf"));
    expect_int(vrt_paths_config(buffer, sizeof(buffer), NULL), 0);
    expect_str(buffer, in_folder("vrtd/vrtd.conf"));
    /* Its own, and the system's; where there is no room for all, the first. */
    expect_contains(vrt_paths_list_configs(places, sizeof(places)), in_folder("vrtd/vrtd.conf"));
    expect_contains(places, ", /etc/vrtd/vrtd.conf");
    expect_str(vrt_paths_list_configs(places, strlen(buffer) + 9), buffer);
    expect_str(vrt_paths_list_configs(places, 9), "");
    expect_int(vrt_paths_config(buffer, 10, NULL), -ENAMETOOLONG);
    /* Without a variable of its own it is below the home, and without that nowhere. */
    snprintf(variable, sizeof(variable), "HOME=%s", folder);
    set_environment((const char *[]){ variable, NULL });
    expect_int(mkdir(in_folder(".config"), 0700), 0);
    expect_int(rename(in_folder("vrtd"), in_folder(".config/vrtd")), 0);
    expect_int(vrt_paths_config(buffer, sizeof(buffer), NULL), 0);
    expect_str(buffer, in_folder(".config/vrtd/vrtd.conf"));
    expect_contains(vrt_paths_list_configs(places, sizeof(places)), buffer);
    expect_contains(places, ", /etc/vrtd/vrtd.conf");
    clearenv();
    expect_contains(vrt_paths_list_configs(places, sizeof(places)), "/etc/vrtd/vrtd.conf");
    expect_true(!strstr(places, folder));
    unlink(in_folder(".config/vrtd/vrtd.conf"));
    rmdir(in_folder(".config/vrtd"));
    rmdir(in_folder(".config"));
}

static void conf_of(const char *text, struct vrt_conf *ret_conf)
{
    struct vrt_error error = { .id = NULL };

    if (vrt_conf_parse(text, "test", vrt_backend_section_at, ret_conf, &error) < 0)
        test_fail("%s", error.message);
}

/* The line as it is meant: "|" ends one of the configuration, "$" is the folder. */
static const char *meant(const char *line, char text[1024])
{
    char *at = text;

    for (; *line && *line != '\n'; line++) {
        if (*line == '$')
            at = stpcpy(at, folder);
        else
            *at++ = *line == '|' ? '\n' : *line;
    }
    *at = '\0';
    return text;
}

/* Whether that is right, beside a file x.pth that holds `file`, and what is said of it. */
static void expect_check(const char *line, const char *file, mode_t mode, const char *says)
{
    struct vrt_setup setup = { .models_dir = "" };
    struct vrt_error error = { .id = NULL };
    struct vrt_conf conf;
    char text[1024], wanted[1024];
    FILE *x = fopen(in_folder("x.pth"), "w");

    expect_true(x && fputs(file, x) >= 0 && fchmod(fileno(x), mode) == 0 && fclose(x) == 0);
    snprintf(setup.models_dir, sizeof(setup.models_dir), "%s", folder);
    int r = vrt_conf_parse(meant(line, text), "test", vrt_backend_section_at, &conf, &error);
    if (r == 0)
        r = vrt_setup_check(&setup, &conf, &error);
    expect_int(r < 0, meant(says, wanted)[0] != '\0');
    if (strcmp(error.message, wanted) != 0)
        test_fail("%s: %s, not %s", text, error.message, wanted);
    unlink(in_folder("x.pth"));
}

/* What of a configuration is refused, and what is said of that: checks.txt. */
static void test_check(void)
{
    char text[512], says[512];
    int n = 0;
    FILE *file = fopen(CHECKS_PATH, "r");

    expect_true(file);
    for (; fgets(text, sizeof(text), file); n += text[0] == '>')
        if (text[0] == '>' && fgets(says, sizeof(says), file))
            expect_check(text + strlen("> "), "no checkpoint", 0600, says);
    fclose(file);
    expect_true(n > 60);
}

/* The secret that messages are signed with: how long it may be, and who may read it. */
static void test_secret(void)
{
    static const char conf[] = "[remote]|webhooks = on|webhook_secret_file = $/x.pth";
    static const char says_size[] = "[remote] $/x.pth: a secret has from 16 to 4095 bytes";
    static const char says_mode[] = "[remote] $/x.pth holds a secret that everybody may read: "
                                    "chmod o= it";
    const struct {
        int size;
        const char *ending;
        mode_t mode;
        const char *says;
    } rows[] = {
        { 16, "", 0600, "" },
        { 16, "\r\n", 0600, "" },
        { 15, "", 0600, says_size },
        { 15, "\n\n", 0600, says_size },
        { 4095, "", 0600, "" },
        { 4096, "", 0600, says_size },
        { 16, "", 0640, "" },
        { 16, "", 0604, says_mode },
        { 16, "", 0602, says_mode },
    };
    char secret[5000];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        snprintf(secret, sizeof(secret), "%0*d%s", rows[i].size, 0, rows[i].ending);
        expect_check(conf, secret, rows[i].mode, rows[i].says);
    }
}

/* The command line goes before the configuration, and that before what is so by itself. */
static void test_folders_of(void)
{
    static char longest[VRT_SETUP_PATH_BYTES], long_models[VRT_SETUP_PATH_BYTES];
    const struct {
        const char *given, *text;
        int result;
        const char *state, *models, *cache, *socket;
    } cases[] = {
        { NULL, "", 0, "/s/vrtd", "/s/vrtd/models", "/c/vrtd", "/r/vrtd.sock" },
        { NULL, "[daemon]\nstate_dir = /a\nmodels_dir = /m\ncache_dir = /k\nsocket = /b\n", 0,
          "/a", "/m", "/k", "/b" },
        { "/x", "[daemon]\nstate_dir = /a\nsocket = /b\n", 0, "/x", "/x/models", "/c/vrtd",
          "/x" },
        { NULL, "[daemon]\nstate_dir = /\nmodels_dir = /\ncache_dir = /\n", 0, "/", "/", "/",
          "/r/vrtd.sock" },
        { "", "", -EINVAL, NULL, NULL, NULL, NULL },
        { longest, "", -EINVAL, NULL, NULL, NULL, NULL },
        { long_models, "", -ENAMETOOLONG, NULL, NULL, NULL, NULL },
    };
    char path[VRT_SETUP_PATH_BYTES], long_cache[2 * VRT_SETUP_PATH_BYTES] = "";

    memset(longest, 'a', sizeof(longest));
    memset(long_models, 'a', sizeof(long_models) - strlen("/models"));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { .id = NULL };
        struct vrt_conf conf;
        char given[VRT_SETUP_PATH_BYTES + 1] = "";
        set_environment((const char *[]){ "XDG_STATE_HOME=/s", "XDG_CACHE_HOME=/c",
                                          "XDG_RUNTIME_DIR=/r", NULL });
        snprintf(given, sizeof(given), "%.*s", (int)sizeof(longest),
                 cases[i].given ? cases[i].given : "");
        struct vrt_setup setup = {
            .options = { .state_dir = cases[i].given ? given : NULL,
                         .socket = cases[i].given ? given : NULL },
        };
        conf_of(cases[i].text, &conf);
        expect_int(vrt_setup_folders(&setup, &conf, &error), cases[i].result);
        if (cases[i].result == -EINVAL)
            expect_str(error.message, "a path must have from 1 to 299 bytes");
        if (cases[i].result < 0)
            continue;
        expect_str(setup.state_dir, cases[i].state);
        expect_str(setup.models_dir, cases[i].models);
        expect_str(setup.cache_dir, cases[i].cache);
        expect_int(vrt_setup_socket(&setup, &conf, path, &error), 0);
        expect_str(path, cases[i].socket);
        /* Where it has no place there is none, and nothing is kept. */
        memset(long_cache, 'a', sizeof(long_cache) - 1);
        long_cache[0] = '/';
        setenv("XDG_CACHE_HOME", long_cache, 1);
        setup.options.state_dir = "/x";
        expect_int(vrt_setup_folders(&setup, &conf, &error), 0);
        expect_str(setup.cache_dir, strstr(cases[i].text, "cache_dir") ? cases[i].cache : "");
    }
}

static void test_read(void)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_setup setup = { .options.config = in_folder("conf") };
    struct vrt_conf conf = { .jobs.max_running = 77 };
    char path[VRT_SETUP_PATH_BYTES], levels[2 * sizeof(conf.log.level)];

    expect_int(vrt_setup_read(&setup, &conf, path, &error), -ENOENT);
    expect_int(conf.jobs.max_running, 77);
    FILE *file = fopen(in_folder("conf"), "w");
    fprintf(file, "[jobs]\nmax_running = 7\n[log]\nlevel = debug\n");
    fclose(file);
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_setup_read(&setup, &conf, path, &error), 0);
    expect_int(conf.jobs.max_running, 7);
    expect_str(conf.log.level, "debug");
    expect_str(path, in_folder("conf"));
    setup.options.log_level = "warning";
    expect_int(vrt_setup_read(&setup, &conf, NULL, &error), 0);
    expect_str(conf.log.level, "warning");
    expect_int(vrt_setup_log(&conf, &error), 0);
    expect_true(vrt_setup_log(&(struct vrt_conf){ .log.level = "loud" }, &error) < 0);
    expect_true(vrt_log_enabled(VRT_LOG_WARNING, "main") && !vrt_log_enabled(VRT_LOG_INFO, "main"));
    vrt_log_set_level(VRT_LOG_ERROR);
    setup.options.log_level = "loud";
    expect_true(vrt_setup_read(&setup, &conf, NULL, &error) < 0);
    /* Blanks are no mistake, but there may be too many. */
    memset(levels, ' ', sizeof(conf.log.level));
    setup.options.log_level = levels + strlen("error") + 1;
    memcpy(levels + sizeof(conf.log.level), "error", sizeof("error"));
    expect_int(vrt_setup_read(&setup, &conf, NULL, &error), 0);
    setup.options.log_level--;
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_setup_read(&setup, &conf, NULL, &error), -ENAMETOOLONG);
    expect_str(error.message, "--log-level is too long: at most 255 bytes");
    unlink(in_folder("conf"));
    /* Nobody says where one is. */
    set_environment((const char *[]){ "HOME=/none", NULL });
    setup = (struct vrt_setup){ .models_dir = "" };
    if (access("/etc/vrtd/vrtd.conf", F_OK) < 0) {
        expect_int(vrt_setup_read(&setup, &conf, path, &error), 0);
        expect_str(path, "");
        expect_int(conf.jobs.max_running, 2);
    }
}

static void test_once(void)
{
    static const struct {
        struct vrt_options options;
        const char *says;               /* NULL: it is right */
    } cases[] = {
        { { .once = NULL }, NULL },
        { { .socket = "/a", .state_dir = "/b" }, NULL },
        { { .once = "/f", .part = "0/4" }, NULL },
        { { .once = "/f" }, "go together" },
        { { .part = "plan" }, "go together" },
        { { .once = "/f", .part = "plan", .socket = "/a" }, "leave --socket" },
        { { .once = "/f", .part = "join", .state_dir = "/a" }, "leave --socket" },
        { { .once = "/f", .part = "4/4" }, "4/4 is no part" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_setup setup = { .options = cases[i].options };
        struct vrt_error error = { .id = NULL };
        expect_int(vrt_once_check(&setup, &error), cases[i].says ? -EINVAL : 0);
        expect_contains(error.message, cases[i].says ? cases[i].says : "");
    }
}

/* One user gets three quarters, unless it is said how many. */
static void test_limits(void)
{
    static const struct {
        const char *text;
        int64_t jobs_per_user, jobs, spool_per_user;
    } cases[] = {
        { "[jobs]\nmax_queued = 6\nmax_running = 2\n", 6, 8, INT64_MAX },
        { "[jobs]\nmax_queued = 1\nmax_running = 1\n", 2, 2, INT64_MAX },
        { "[jobs]\nmax_queued = 6\nmax_running = 2\n[access]\nmax_jobs_per_user = 7\n", 7, 8,
          INT64_MAX },
        { "[jobs]\nmax_queued = 6\nmax_running = 2\n[access]\nmax_jobs_per_user = 9\n"
          "spool_per_user = 1K\n", 8, 8, 1024 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT];
        const struct vrt_quota_limit wanted[VRT_QUOTA_KIND_COUNT] = {
            { 256, 1024 }, { 64, 1024 }, { 32 << 20, 128 << 20 },
            { cases[i].jobs_per_user, cases[i].jobs }, { cases[i].spool_per_user, INT64_MAX },
        };
        struct vrt_conf conf;
        conf_of(cases[i].text, &conf);
        vrt_limits_fill(&conf, limits);
        for (int kind = 0; kind < VRT_QUOTA_KIND_COUNT; kind++) {
            expect_int(limits[kind].per_uid, wanted[kind].per_uid);
            expect_int(limits[kind].all, wanted[kind].all);
        }
    }
}

static int mode_of(const char *path)
{
    struct stat st;

    expect_int(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void test_claim(void)
{
    struct vrt_claim first = VRT_CLAIM_NONE, second = VRT_CLAIM_NONE;
    struct vrt_error error = { .id = NULL };

    umask(022);
    expect_int(vrt_claim_take(in_folder("lock"), "the thing", &first, &error), 0);
    expect_int(mode_of(in_folder("lock")), 0600);
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
    expect_int(mode_of(in_folder("made/here")), 0755);
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
    int fd = -1, other = -1;

    umask(022);
    expect_int(vrt_claim_listen(path, &fd, &error), 0);
    expect_int(mode_of(path), 0660);
    expect_int(umask(022), 022);
    expect_true(fcntl(fd, F_GETFD) & FD_CLOEXEC && fcntl(fd, F_GETFL) & O_NONBLOCK);
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

    /* By one byte. */
    struct vrt_claim claim = VRT_CLAIM_NONE;
    char longer[sizeof(claim.path) + 1] = "";
    memset(longer, '/', sizeof(claim.path));
    expect_int(vrt_claim_take(longer, "the thing", &claim, NULL), -ENAMETOOLONG);
    expect_int(vrt_claim_folder(longer, &fd, NULL), -ENAMETOOLONG);
    longer[sizeof(((struct sockaddr_un *)0)->sun_path)] = '\0';
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_claim_listen(longer, &fd, &error), -ENAMETOOLONG);
    expect_contains(error.message, "... has over 107 bytes: give a shorter one with --socket");
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_claim_listen(in_folder("none/socket"), &fd, &error), -ENOENT);
}

static void test_folders(void)
{
    struct vrt_error error = { .id = NULL };
    int fd = -1, spool = -1;

    expect_int(vrt_claim_folder(in_folder("a/b/state"), &fd, &error), 0);
    expect_int(mode_of(in_folder("a/b/state")), 0700);
    expect_int(mode_of(in_folder("a/b")), 0755);
    errno = EPERM;
    expect_int(vrt_claim_folder_in(fd, "spool", &spool, &error), 0);
    expect_int(mode_of(in_folder("a/b/state/spool")), 0700);
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
        { "check", test_check },
        { "secret", test_secret },
        { "folders-of", test_folders_of },
        { "read", test_read },
        { "once", test_once },
        { "limits", test_limits },
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
