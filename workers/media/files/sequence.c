/* SPDX-License-Identifier: MIT */

#include "workers/media/files/sequence.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* A day of 120 pictures a second has fewer. */
#define NAMES_MAX (1 << 24)
#define SHOWN_BYTES 160

/* A number in a name: which letters it is. */
struct number {
    size_t begin, end;          /* alike: there is none */
    unsigned long long value;
};

/* A pattern: what stands before and after the number, and how many digits it has at least. */
struct pattern {
    const char *begin, *end;    /* the number's place in the text */
    int width;
};

/* Descriptors of one folder may share where they read: one at a time. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && name[0] != '.' && vrt_ending_is_picture(dot + 1);
}

/* Digits compare by value, other letters by their codes. */
static int compare_parts(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t i = 0, k = 0;

    while (i < n_a && k < n_b) {
        if (!isdigit((unsigned char)a[i]) || !isdigit((unsigned char)b[k])) {
            if (a[i] != b[k])
                return (unsigned char)a[i] < (unsigned char)b[k] ? -1 : 1;
            i++, k++;
            continue;
        }
        while (i < n_a && a[i] == '0')
            i++;
        while (k < n_b && b[k] == '0')
            k++;
        const size_t from_a = i, from_b = k;
        while (i < n_a && isdigit((unsigned char)a[i]))
            i++;
        while (k < n_b && isdigit((unsigned char)b[k]))
            k++;
        if (i - from_a != k - from_b)
            return i - from_a < k - from_b ? -1 : 1;
        const int order = memcmp(a + from_a, b + from_b, i - from_a);
        if (order != 0)
            return order;
    }
    return i < n_a ? 1 : k < n_b ? -1 : 0;
}

/* A name without its ending. */
static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? (size_t)(dot - name) : strlen(name);
}

/* Stems first, so that what differs by its ending alone stands side by side. */
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const int order = compare_parts(x, stem_length(x), y, stem_length(y));

    return order ? order : strcmp(x, y);
}

/* "%d" or "%04d", once. Return: whether the text is such a pattern. */
static bool parse_pattern(const char *text, struct pattern *ret_pattern)
{
    const char *begin = strchr(text, '%');
    char *end;

    if (!begin || strchr(begin + 1, '%') || strchr(text, '/'))
        return false;
    const long width = isdigit((unsigned char)begin[1]) ? strtol(begin + 1, &end, 10) :
                       (end = (char *)(uintptr_t)begin + 1, 0L);
    if (*end != 'd' || width > 32)
        return false;
    *ret_pattern = (struct pattern){ begin, end + 1, (int)width };
    return true;
}

/* Whether printf() could have made the name of the pattern. */
static bool matches(const char *text, const struct pattern *pattern, const char *name)
{
    const size_t before = (size_t)(pattern->begin - text), after = strlen(pattern->end);
    const size_t n = strlen(name);

    if (n <= before + after || strncmp(name, text, before) != 0 ||
        strcmp(name + n - after, pattern->end) != 0)
        return false;
    const size_t n_digits = n - before - after;
    for (size_t i = 0; i < n_digits; i++)
        if (!isdigit((unsigned char)name[before + i]))
            return false;
    return n_digits == (size_t)pattern->width ||
           (n_digits > (size_t)pattern->width && (name[before] != '0' || n_digits == 1));
}

/* The folder's list from its beginning, read by a descriptor of its own. */
static DIR *open_list(int folder_fd)
{
    const int fd = dup(folder_fd);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

    if (list)
        rewinddir(list);
    else if (fd >= 0)
        close(fd);
    return list;
}

/* Return: 0; -ENAMETOOLONG: its result would have no room for a name; -errno. */
static int add_name(struct vrt_sequence *sequence, size_t *capacity, const char *name)
{
    if (strlen(name) >= VRT_SEQUENCE_NAME_BYTES - 8)
        return vrt_raise(-ENAMETOOLONG);
    if (sequence->n == NAMES_MAX)
        return vrt_raise(-E2BIG);
    if (sequence->n == *capacity) {
        const size_t larger = VRT_MAX(2 * *capacity, 64);
        char **names = reallocarray(sequence->names, larger, sizeof(*names));
        if (!names)
            return vrt_raise(-ENOMEM);
        sequence->names = names;
        *capacity = larger;
    }
    sequence->names[sequence->n] = strdup(name);
    if (!sequence->names[sequence->n])
        return vrt_raise(-ENOMEM);
    sequence->n++;
    return 0;
}

/* Return: 0; -errno. */
static int collect(int folder_fd, const char *text, const struct pattern *pattern,
                   struct vrt_sequence *sequence)
{
    size_t capacity = 0;
    int r = 0;

    pthread_mutex_lock(&reading);
    DIR *list = open_list(folder_fd);
    if (!list)
        r = vrt_raise(-errno);
    for (const struct dirent *entry; r == 0 && (errno = 0, entry = readdir(list));)
        if (pattern ? matches(text, pattern, entry->d_name) : is_picture(entry->d_name))
            r = add_name(sequence, &capacity, entry->d_name);
    if (r == 0 && errno)
        r = vrt_raise(-errno);
    if (list)
        closedir(list);
    pthread_mutex_unlock(&reading);
    return r;
}

/* Results are told by the names without their endings. */
static int check_alike(const struct vrt_sequence *sequence, struct vrt_error *error)
{
    char shown[2][SHOWN_BYTES];

    for (size_t i = 1; i < sequence->n; i++) {
        const char *a = sequence->names[i - 1], *b = sequence->names[i];
        const size_t n = stem_length(a);
        if (n == stem_length(b) && strncmp(a, b, n) == 0)
            return vrt_refuse(error, vrt_raise(-EEXIST), "input.unsupported",
                              "%s and %s have results of one name: put one of them elsewhere",
                              vrt_printable(a, shown[0], SHOWN_BYTES),
                              vrt_printable(b, shown[1], SHOWN_BYTES));
    }
    return 0;
}

int vrt_sequence_list(int folder_fd, const char *folder_name, const char *pattern,
                      struct vrt_sequence *ret_sequence, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_sequence_done) struct vrt_sequence sequence = { .n = 0 };
    struct pattern parsed;
    char shown[SHOWN_BYTES];

    if (pattern[0] && !parse_pattern(pattern, &parsed))
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.unsupported",
                          "%s is no pattern for names: it has one number, such as %%04d.png",
                          vrt_printable(pattern, shown, sizeof(shown)));
    int r = collect(folder_fd, pattern, pattern[0] ? &parsed : NULL, &sequence);
    if (r == -ENAMETOOLONG)
        return vrt_refuse(error, r, "input.unsupported", "%s holds a picture whose name is longer "
                          "than %d bytes: give it a shorter one, as its result needs some more",
                          vrt_printable(folder_name, shown, sizeof(shown)),
                          VRT_SEQUENCE_NAME_BYTES - 9);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), folder_name);
    if (!sequence.n)
        return vrt_refuse(error, vrt_raise(-ENOENT), "input.no_video", "%s holds no picture%s%s",
                          vrt_printable(folder_name, shown, sizeof(shown)),
                          pattern[0] ? " that is called as " : "", pattern);
    qsort(sequence.names, sequence.n, sizeof(*sequence.names), compare_names);
    r = check_alike(&sequence, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_sequence = sequence;
    sequence = (struct vrt_sequence){ .n = 0 };
    return 0;
}

void vrt_sequence_done(struct vrt_sequence *sequence)
{
    for (size_t i = 0; i < sequence->n; i++)
        free(sequence->names[i]);
    free(sequence->names);
    *sequence = (struct vrt_sequence){ .n = 0 };
}

/* The last number of the name, without its ending. */
static struct number last_number(const char *name)
{
    size_t end = stem_length(name);

    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
        begin--;
    return (struct number){ begin, end, strtoull(name + begin, NULL, 10) };
}

/* How many are missing between two names that differ by their last number. */
static unsigned long long gap_between(const char *a, const char *b)
{
    const struct number x = last_number(a), y = last_number(b);

    if (x.begin == x.end || x.begin != y.begin || strncmp(a, b, x.begin) != 0 ||
        strcmp(a + x.end, b + y.end) != 0 || y.value <= x.value)
        return 0;
    return y.value - x.value - 1;
}

void vrt_sequence_warn(const struct vrt_sequence *sequence, struct vrt_warnings *warnings)
{
    unsigned long long n_missing = 0;
    char shown[2][64];
    size_t first = 0;

    for (size_t i = 1; i < sequence->n; i++) {
        const unsigned long long gap = gap_between(sequence->names[i - 1], sequence->names[i]);
        if (gap && !n_missing)
            first = i;
        n_missing += gap;
    }
    if (n_missing)
        vrt_warnings_add(warnings, "%llu number%s missing, the first between %s and %s: the "
                         "pictures follow one another as if nothing were", n_missing,
                         n_missing == 1 ? " is" : "s are",
                         vrt_printable(sequence->names[first - 1], shown[0], sizeof(shown[0])),
                         vrt_printable(sequence->names[first], shown[1], sizeof(shown[1])));
}

const char *vrt_sequence_result_name(const struct vrt_sequence *sequence, int64_t k,
                                     enum vrt_container container,
                                     char buffer[VRT_SEQUENCE_NAME_BYTES])
{
    enum vrt_container own;

    if (!sequence) {
        snprintf(buffer, VRT_SEQUENCE_NAME_BYTES, "%08lld.%s", (long long)k + 1,
                 vrt_container_names[container]);
        return buffer;
    }
    const char *name = sequence->names[k];
    const int stem = (int)stem_length(name);
    const bool fits = name[stem] && vrt_container_find(name + stem + 1, &own) && own == container;
    snprintf(buffer, VRT_SEQUENCE_NAME_BYTES, "%.*s.%s", stem, name,
             fits ? name + stem + 1 : vrt_container_names[container]);
    return buffer;
}

int vrt_folder_is_empty(int folder_fd)
{
    int r = 1;

    pthread_mutex_lock(&reading);
    DIR *list = open_list(folder_fd);
    if (!list)
        r = vrt_raise(-errno);
    for (const struct dirent *entry; r == 1 && (errno = 0, entry = readdir(list));)
        r = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (r == 1 && errno)
        r = vrt_raise(-errno);
    if (list)
        closedir(list);
    pthread_mutex_unlock(&reading);
    return r;
}
