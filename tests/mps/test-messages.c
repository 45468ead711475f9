/* SPDX-License-Identifier: MIT */

/* The messages that the backend sends have the types that Apple's headers say: the table of
 * tests/simulators/mps/selectors.tsv. */

#include <stdio.h>
#include <string.h>

#include "backend/mps/metal.h"
#include "base/macro.h"
#include "tests/unit/test.h"

/* A message's selector, and its types in C's words. */
struct message {
    const char *selector, *returned, *arguments;
};

static const struct message messages[] = {
#define MESSAGE(member, selector_name, type, ...) { selector_name, #type, #__VA_ARGS__ },
    VRT_METAL_MESSAGES(MESSAGE)
};

/* Types as the table calls them. */
static const struct {
    const char *c, *table;
} types[] = {
    { "void", "void" },
    { "vrt_metal_id", "object" },
    { "bool", "bool" },
    { "long", "i64" },
    { "unsigned long", "u64" },
    { "uint64_t", "u64" },
    { "struct vrt_metal_size", "size" },
};

/* The first n characters of `c`, as the table has them. */
static const char *name_of(const char *c, size_t n)
{
    if (n > 0 && c[n - 1] == '*')
        return "pointer";
    for (size_t i = 0; i < VRT_ARRAY_SIZE(types); i++)
        if (strlen(types[i].c) == n && strncmp(types[i].c, c, n) == 0)
            return types[i].table;
    test_fail("nobody knows the type %.*s", (int)n, c);
}

/* "\tselector\treturned\targument argument\n" */
static void print_line(const struct message *message, char *line, size_t size)
{
    const char *separator = "\t";
    int n = snprintf(line, size, "\t%s\t%s", message->selector,
                     name_of(message->returned, strlen(message->returned)));

    for (const char *at = message->arguments; *at;) {
        const size_t length = strcspn(at, ",");
        n += snprintf(line + n, size - (size_t)n, "%s%s", separator, name_of(at, length));
        separator = " ";
        at += length;
        at += strspn(at, ", ");
    }
    snprintf(line + n, size - (size_t)n, "\n");
}

static void test_messages(void)
{
    static char table[16384];
    char line[256];
    FILE *file = fopen(SELECTORS, "r");

    expect_true(file);
    expect_true(fread(table, 1, sizeof(table) - 1, file) > 0 && feof(file));
    fclose(file);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(messages); i++) {
        print_line(&messages[i], line, sizeof(line));
        if (!strstr(table, line))
            test_fail("the table has no line%s", line);
    }
}

TEST_MAIN(
    { "messages", test_messages },
)
