/* SPDX-License-Identifier: MIT */

#include "config/shares.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789:."

/* As much as a line of the file has room for. */
#define TEXT_BYTES 256

/* `word` without the blanks around it. */
static char *strip(char *word)
{
    word += strspn(word, BLANKS);
    size_t n = strlen(word);
    while (n > 0 && strchr(BLANKS, word[n - 1]))
        n--;
    word[n] = '\0';
    return word;
}

static bool parse_share(const char *text, double *ret_share)
{
    char *end;

    double share = strtod(text, &end);
    /* Written so that NaN, which strtod() knows, fails it. */
    if (end == text || *end || !(share > 0 && share <= 1))
        return false;
    *ret_share = share;
    return true;
}

/* A name that isn't among them yet. */
static bool add(struct vrt_conf_shares *shares, const char *name, double share)
{
    const size_t bytes = strlen(name);

    for (size_t i = 0; i < shares->n; i++)
        if (strcmp(shares->some[i].name, name) == 0)
            return false;
    if (!bytes || bytes >= VRT_CONF_SHARE_NAME_BYTES || name[strspn(name, NAME_LETTERS)] ||
        shares->n == VRT_CONF_SHARES_MAX)
        return false;
    memcpy(shares->some[shares->n].name, name, bytes);
    shares->some[shares->n++].share = share;
    return true;
}

bool vrt_conf_shares_parse(const char *text, struct vrt_conf_shares *shares)
{
    struct vrt_conf_shares found;
    char copy[TEXT_BYTES], *rest = copy, *word;
    bool has_all = false;

    if (strlen(text) >= sizeof(copy))
        return false;
    memcpy(copy, text, strlen(text) + 1);
    /* Two of them are compared byte by byte. */
    memset(&found, 0, sizeof(found));
    found.all = shares->all;
    while ((word = strsep(&rest, ","))) {
        char *value = word, *name = strsep(&value, "=");
        double share;
        if (!parse_share(strip(value ? value : name), &share))
            return false;
        if (value ? !add(&found, strip(name), share) : has_all)
            return false;
        has_all |= !value;
        if (!value)
            found.all = share;
    }
    *shares = found;
    return true;
}

/* How exactly `some` names the device: by its own name, its card's, its kind's, or not at all. */
static int exactness(const struct vrt_conf_share *some, const char *name, const char *kind)
{
    const size_t n = strlen(some->name);

    if (strcmp(some->name, name) == 0)
        return 3;
    if (strncmp(some->name, name, n) == 0 && name[n] == '.')
        return 2;
    return strcmp(some->name, kind) == 0;
}

double vrt_conf_share_of(const struct vrt_conf_shares *shares, const char *name, const char *kind,
                         size_t *ret_index)
{
    size_t found = shares->n;
    int best = 0;

    for (size_t i = 0; i < shares->n; i++) {
        const int exact = exactness(&shares->some[i], name, kind);
        if (exact > best) {
            best = exact;
            found = i;
        }
    }
    if (ret_index)
        *ret_index = found;
    return best ? shares->some[found].share : shares->all;
}
