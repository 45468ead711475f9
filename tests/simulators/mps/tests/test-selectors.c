/* SPDX-License-Identifier: MIT */
/* The simulator's methods have the types that Apple's headers say: selectors.tsv. */

#include "tests/simulators/mps/runtime/object.h"

#include <dlfcn.h>

#include "tests/unit/test.h"

#define PREFIX "mtl_"

static const struct mtl_class *const *classes;

/* A type as the table has it, "u64 object" behind "void": "mtl_void(mtl_u64, mtl_object)". */
static void describe(const char *type, char text[256])
{
    size_t n = 0;

    for (; *type; type++) {
        if (strncmp(type, PREFIX, strlen(PREFIX)) == 0)
            type += strlen(PREFIX);
        if (*type == '(')
            text[n++] = '\t';
        else if (*type != ')' && *type != ',')
            text[n++] = *type;
    }
    text[n] = '\0';
}

/* Whether the table has the line: class, selector, returned, arguments. */
static void expect_line(const char *table, const struct mtl_class *class,
                        const struct mtl_method *method)
{
    char type[256], line[512];

    describe(method->type, type);
    const int n = snprintf(line, sizeof(line), "\n%s\t%s\t%s", class->name, method->selector, type);
    if (line[n - 1] == '\t')
        line[n - 1] = '\0';
    snprintf(line + strlen(line), sizeof(line) - strlen(line), "\n");
    if (!strstr(table, line))
        test_fail("the table has no line%s", line);
}

static int expect_methods(const char *table, const struct mtl_class *class,
                          const struct mtl_method *methods)
{
    int n = 0;

    for (; methods && methods->selector; methods++, n++)
        expect_line(table, class, methods);
    return n;
}

static void test_methods(void)
{
    static char table[16384];
    FILE *file = fopen(SELECTORS, "r");
    int n_methods = 0, n_lines = -1;            /* the first line is a comment */

    expect_true(file);
    expect_true(fread(table, 1, sizeof(table) - 1, file) > 0 && feof(file));
    fclose(file);
    for (; *classes; classes++) {
        n_methods += expect_methods(table, *classes, (*classes)->methods);
        n_methods += expect_methods(table, *classes, (*classes)->class_methods);
    }
    for (const char *at = table; (at = strchr(at, '\n')); at++)
        n_lines++;
    expect_int(n_methods, n_lines - 1);
}

static void open_library(void)
{
    void *library = dlopen(getenv("VRT_MPS_LIBRARY"), RTLD_NOW | RTLD_LOCAL);

    if (!library)
        test_fail("%s", dlerror());
    classes = dlsym(library, "mtl_classes");
    expect_true(classes);
}

TEST_MAIN_AFTER(open_library(),
    { "methods", test_methods },
)
