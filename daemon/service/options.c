/* SPDX-License-Identifier: MIT */

#include "daemon/service/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "base/macro.h"

static void print_help(void);
static void print_version(void);

static const struct option {
    const char *name;
    const char *value;              /* what --help calls it; NULL: it takes none */
    size_t offset;                  /* of the text in struct vrt_options, or of the bool */
    const char *help;
    void (*print)(void);            /* instead: prints something, and that is all */
} options[] = {
    { "socket", "PATH", offsetof(struct vrt_options, socket), "where clients connect" },
    { "state-dir", "PATH", offsetof(struct vrt_options, state_dir),
      "folder of what outlives vrtd and of its working files" },
    { "config", "PATH", offsetof(struct vrt_options, config), "configuration, see vrtd.conf(5)" },
    { "log-level", "LEVEL", offsetof(struct vrt_options, log_level),
      "error, warning, info or debug" },
    { "once", "FOLDER", offsetof(struct vrt_options, once),
      "only do a task of a film that a cluster restores, and end" },
    { "part", "PART", offsetof(struct vrt_options, part),
      "which: plan, I/N (a part of its segments), or join" },
    { "check-config", NULL, offsetof(struct vrt_options, check_config),
      "only say whether the configuration is right" },
    { "version", NULL, 0, "print the version", print_version },
    { "help", NULL, 0, "print this", print_help },
};

static void print_version(void)
{
    printf("vrtd %s\n", VRT_VERSION);
}

static void print_help(void)
{
    char left[48];

    printf("usage: vrtd [OPTION...]\n\n"
           "Restores videos with neural networks on every accelerator of this machine.\n"
           "Without options it is its user's own, and vrtctl(1) finds it: it listens on\n"
           "$XDG_RUNTIME_DIR/vrtd.sock; without that variable, for root on " VRT_API_SOCKET_SYSTEM
           ",\nfor others on ~/.local/state/vrtd/vrtd.sock. See vrtd(8).\n\n");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(options); i++) {
        snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].value ? " " : "",
                 options[i].value ? options[i].value : "");
        printf("  %-20s %s\n", left, options[i].help);
    }
}

/* The option that `word` ("--name" or "--name=value") names, or NULL. */
static const struct option *find(const char *word)
{
    size_t n = strcspn(word, "=");

    for (size_t i = 0; i < VRT_ARRAY_SIZE(options); i++)
        if (strncmp(word, "--", 2) == 0 && strlen(options[i].name) == n - 2 &&
            strncmp(word + 2, options[i].name, n - 2) == 0)
            return &options[i];
    return NULL;
}

int vrt_options_parse(int argc, char **argv, struct vrt_options *ret_options,
                      struct vrt_error *error)
{
    struct vrt_options found = { .socket = NULL };
    char shown[100];

    for (int i = 1; i < argc; i++) {
        const struct option *option = find(argv[i]);
        const char *value = strchr(argv[i], '=');
        if (!option)
            return vrt_refuse(error, -EINVAL, "usage", "there is no option %s; see vrtd --help",
                              vrt_printable(argv[i], shown, sizeof(shown)));
        if (option->print) {
            option->print();
            return VRT_OPTIONS_E_DONE;
        }
        if (!option->value && value)
            return vrt_refuse(error, -EINVAL, "usage", "--%s takes no value; see vrtd --help",
                              option->name);
        if (option->value && !value && i + 1 == argc)
            return vrt_refuse(error, -EINVAL, "usage", "--%s needs a %s; see vrtd --help",
                              option->name, option->value);
        char *member = (char *)&found + option->offset;
        if (!option->value)
            *(bool *)member = true;
        else
            *(const char **)(void *)member = value ? value + 1 : argv[++i];
    }
    *ret_options = found;
    return VRT_OPTIONS_OK;
}
