/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over the files, and the files of the folders, that are its arguments. */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define FILE_BYTES_MAX (1 << 20)

static bool run_file(const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *data = malloc(FILE_BYTES_MAX), *exact;
    size_t n;

    if (!file || !data) {
        fprintf(stderr, "%s cannot be read\n", path);
        return false;
    }
    n = fread(data, 1, FILE_BYTES_MAX, file);
    fclose(file);

    /* Not one byte to spare: a sanitizer sees what reads beyond. */
    exact = realloc(data, n ? n : 1);
    LLVMFuzzerTestOneInput(exact ? exact : data, n);
    free(exact ? exact : data);
    return true;
}

/* How many files were run; -1: one could not be. */
static int run_path(const char *path)
{
    char inner[4096];
    struct dirent *entry;
    struct stat st;
    int n = 0;
    DIR *folder;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return run_file(path) ? 1 : -1;
    folder = opendir(path);
    if (!folder) {
        fprintf(stderr, "%s cannot be opened\n", path);
        return -1;
    }
    while (n >= 0 && (entry = readdir(folder)) != NULL) {
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (stat(inner, &st) == 0 && S_ISREG(st.st_mode))
            n = run_file(inner) ? n + 1 : -1;
    }
    closedir(folder);
    return n;
}

int main(int argc, char **argv)
{
    int n_run = 0;

    for (int i = 1; i < argc; i++) {
        int n = run_path(argv[i]);

        if (n <= 0)
            return 1;
        n_run += n;
    }
    printf("%d files\n", n_run);
    return n_run ? 0 : 1;
}
