/* SPDX-License-Identifier: MIT */

#include "base/text/about.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One conversion of a format, behind its '%'. */
struct conversion {
    int n_stars;                    /* widths and precisions that are arguments */
    int n_l;                        /* how often 'l' */
    bool is_cut;                    /* there is a precision: a text may end without a NUL byte */
    char size;                      /* 'z', 'j', 't', 'L'; 0: none of these */
    char type;                      /* 'd', 's', ... */
};

/* Return: what follows the conversion. */
static const char *parse(const char *p, struct conversion *to)
{
    *to = (struct conversion){ .type = 0 };
    for (; *p && strchr("-+ #0'123456789.*", *p); p++) {
        to->n_stars += *p == '*';
        to->is_cut |= *p == '.';
    }
    for (; *p && strchr("hlzjtL", *p); p++) {
        to->n_l += *p == 'l';
        if (*p != 'l' && *p != 'h')
            to->size = *p;
    }
    to->type = *p;
    return *p ? p + 1 : p;
}

/* The job's number that a text is, or 0. */
static int64_t number(const char *text)
{
    char *end;
    long long value = text ? strtoll(text, &end, 10) : 0;

    return value > 0 && !*end ? value : 0;
}

/* Takes the conversion's argument. Return: it, where it is a whole number, or a text that is one.
 * The arguments are where they were where `is_known` is false. */
static int64_t take(const struct conversion *c, va_list *args, bool *ret_is_known)
{
    *ret_is_known = true;
    for (int i = 0; i < c->n_stars; i++)
        (void)va_arg(*args, int);
    switch (c->type) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'c':
        if (c->size == 'z' || c->size == 't')
            return (int64_t)va_arg(*args, ptrdiff_t);
        if (c->size == 'j')
            return (int64_t)va_arg(*args, intmax_t);
        if (c->n_l == 2)
            return (int64_t)va_arg(*args, long long);
        return c->n_l == 1 ? (int64_t)va_arg(*args, long) : (int64_t)va_arg(*args, int);
    case 's': {
        const char *text = va_arg(*args, const char *);
        return c->is_cut ? 0 : number(text);
    }
    case 'p':
        (void)va_arg(*args, void *);
        return 0;
    case 'e': case 'f': case 'g': case 'a': case 'E': case 'F': case 'G':
        if (c->size == 'L')
            (void)va_arg(*args, long double);
        else
            (void)va_arg(*args, double);
        return 0;
    default:
        *ret_is_known = c->type == '%';
        return 0;
    }
}

/* Whether `word` stands right before `at`. */
static bool stands_before(const char *format, const char *at, const char *word)
{
    const size_t n = strlen(word);

    return (size_t)(at - format) >= n && strncmp(at - n, word, n) == 0;
}

void vrt_log_find_about(const char *format, va_list args, int64_t *ret_job, int64_t *ret_uid)
{
    bool is_known = true;
    va_list rest;

    *ret_job = 0;
    *ret_uid = -1;
    va_copy(rest, args);
    for (const char *p = strchr(format, '%'); p && is_known; p = strchr(p, '%')) {
        struct conversion c;
        const char *next = parse(p + 1, &c);
        const int64_t value = take(&c, &rest, &is_known);
        if (!*ret_job && is_known && stands_before(format, p, "job "))
            *ret_job = value > 0 ? value : 0;
        if (*ret_uid < 0 && is_known && c.type != 's' && stands_before(format, p, "uid "))
            *ret_uid = value;
        p = next;
    }
    va_end(rest);
}
