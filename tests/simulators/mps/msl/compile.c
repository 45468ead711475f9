/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/msl/compile.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/common/program.h"
#include "tests/simulators/mps/execution/run.h"
#include "tests/simulators/mps/runtime/simulator.h"

struct files {
    char program[PATH_MAX + 64], made[PATH_MAX + 64], log[PATH_MAX + 64], result[PATH_MAX + 64];
};

/* The translator and its headers, all in one: what else decides what becomes of a text. */
struct sources {
    char *text;
    size_t n;
};

static void append(struct sources *sources, const void *bytes, size_t n)
{
    sources->text = realloc(sources->text, sources->n + n + 1);
    if (!sources->text)
        mtl_die("no memory");
    memcpy(sources->text + sources->n, bytes, n);
    sources->n += n;
    sources->text[sources->n] = '\0';
}

static int is_source(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end && (strcmp(end, ".h") == 0 || strcmp(end, ".py") == 0);
}

static void append_folder(struct sources *sources, const char *folder)
{
    struct dirent **entries;
    char path[PATH_MAX + 256];
    const int n = scandir(folder, &entries, is_source, alphasort);

    if (n < 0)
        mtl_die("no folder %s", folder);
    for (int i = 0; i < n; i++) {
        size_t n_bytes;
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        VRT_CLEANUP(vrt_freep) uint8_t *bytes = sim_file_read(path, &n_bytes);
        if (bytes)
            append(sources, bytes, n_bytes);
        free(entries[i]);
    }
    free(entries);
}

/* The cache's name of the text, as it is compiled. */
static void name_result(const char *text, const struct mtl_wish *wish, char ret_name[17])
{
    static struct sources translator;   /* under the lock of mtl_compile() */
    struct sources all = { 0 };
    char options[64];

    if (!translator.text) {
        append_folder(&translator, MSL_FOLDER);
        append_folder(&translator, MSL_FOLDER "/include");
    }
    snprintf(options, sizeof(options), "%s %u\n", wish->is_fast ? "fast" : "precise",
             wish->version);
    append(&all, translator.text, translator.n);
    append(&all, options, strlen(options));
    append(&all, text, strlen(text));
    sim_cache_name(all.text, all.n, ret_name);
    free(all.text);
}

/* Has the translator make files->result. Return: whether it did; files->log has what it said. */
static bool translate(const char *text, const struct mtl_wish *wish, const struct files *files)
{
    char version[16];
    char *const arguments[] = { MSL_PYTHON, MSL_FOLDER "/translate.py", MSL_CLANG, version,
                                wish->is_fast ? "fast" : "precise",
                                (char *)(uintptr_t)files->program, (char *)(uintptr_t)files->made,
                                NULL };

    snprintf(version, sizeof(version), "%u", wish->version);
    if (sim_file_write(files->program, text, strlen(text)) != 0)
        mtl_die("%s can't be written", files->program);
    /* Whole, or not at all: another process may look for it. */
    return sim_program_run(arguments, files->log) && rename(files->made, files->result) == 0;
}

static bool make(const char *text, const struct mtl_wish *wish, const struct files *files,
                 char **ret_log)
{
    size_t n;

    if (access(files->result, R_OK) == 0)
        return true;
    sim_cache_lock();
    const bool is_made = access(files->result, R_OK) == 0 || translate(text, wish, files);
    sim_cache_unlock();
    if (!is_made)
        *ret_log = (char *)sim_file_read(files->log, &n);
    unlink(files->program);
    unlink(files->made);
    unlink(files->log);
    return is_made;
}

static const struct vrt_msl_library *load(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct vrt_msl_library *library = object ? dlsym(object, "vrt_msl_library") : NULL;

    if (!library)
        mtl_die("%s", dlerror());
    *library->machine = &mtl_machine;
    return library;
}

const struct vrt_msl_library *mtl_compile(const char *text, const struct mtl_wish *wish,
                                          char ret_name[17], char **ret_log)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned n_calls;
    const struct vrt_msl_library *library = NULL;
    struct files *files = mtl_allocate(sizeof(*files));
    char made[64];

    pthread_mutex_lock(&lock);
    name_result(text, wish, ret_name);
    snprintf(made, sizeof(made), "%ld-%u", (long)getpid(), n_calls++);
    snprintf(files->result, sizeof(files->result), "%s/%s.so", sim_cache_path(), ret_name);
    snprintf(files->program, sizeof(files->program), "%s/%s.metal", sim_cache_path(), made);
    snprintf(files->made, sizeof(files->made), "%s/%s.so", sim_cache_path(), made);
    snprintf(files->log, sizeof(files->log), "%s/%s.log", sim_cache_path(), made);
    if (make(text, wish, files, ret_log))
        library = load(files->result);
    pthread_mutex_unlock(&lock);
    free(files);
    return library;
}
