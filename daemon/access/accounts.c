/* SPDX-License-Identifier: MIT */

#include "daemon/access/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/access/access.h"

#define VRT_LOG_TOPIC "access"

#define FILE_MAX_BYTES ((size_t)16 * 1024 * 1024)

struct account {
    uint32_t id;
    const char *name;           /* in `text` */
};

struct vrt_accounts {
    const char *path;
    struct stat read_as;        /* the file as it was when it was last read */
    struct vrt_buf text;
    struct account *all;        /* as the file has them: the first of a number counts */
    size_t n, capacity;
};

/* A number without sign or blanks, of all of the text. Return: 0, -EINVAL. */
static int parse_id(const char *text, uint32_t *ret_id)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    unsigned long long id = strtoull(text, &end, 10);
    /* The largest stands for "nobody" in the system's calls. */
    if (errno || *end || id >= UINT32_MAX)
        return -EINVAL;
    *ret_id = (uint32_t)id;
    return 0;
}

static int append(struct vrt_accounts *accounts, struct account account)
{
    if (accounts->n == accounts->capacity) {
        size_t capacity = accounts->capacity ? accounts->capacity * 2 : 64;
        struct account *all = reallocarray(accounts->all, capacity, sizeof(*all));
        if (!all)
            return vrt_raise(-ENOMEM);
        accounts->all = all;
        accounts->capacity = capacity;
    }
    accounts->all[accounts->n++] = account;
    return 0;
}

/* Takes "name:password:number..." apart; anything else is nobody. */
static int take_line(struct vrt_accounts *accounts, char *line)
{
    struct account account = { .name = strsep(&line, ":") };
    const char *number;

    /* Of what is at its end already it is NULL. */
    strsep(&line, ":");
    number = strsep(&line, ":");
    if (!number || !account.name[0] || parse_id(number, &account.id) < 0)
        return 0;
    return append(accounts, account);
}

static int read_file(const char *path, struct vrt_buf *text)
{
    char piece[8192];
    ssize_t n;
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -errno;
    while ((n = read(fd, piece, sizeof(piece))) > 0) {
        int r = vrt_buf_append(text, piece, (size_t)n);
        if (r < 0)
            return r;
    }
    return n < 0 ? -errno : 0;
}

static void forget(struct vrt_accounts *accounts)
{
    accounts->n = 0;
    vrt_buf_done(&accounts->text);
}

/* Reads the file, if it isn't the one that was read last. */
static void refresh(struct vrt_accounts *accounts)
{
    struct stat now;
    struct stat *last = &accounts->read_as;
    char *line, *next;

    if (stat(accounts->path, &now) < 0)
        now = (struct stat){ .st_ino = 0 };
    if (now.st_dev == last->st_dev && now.st_ino == last->st_ino &&
        now.st_size == last->st_size && now.st_mtime == last->st_mtime)
        return;
    forget(accounts);
    accounts->text.limit_bytes = FILE_MAX_BYTES;
    int r = read_file(accounts->path, &accounts->text);
    if (r == 0 && accounts->text.size_bytes > 0) {
        next = accounts->text.data;
        while (r == 0 && (line = strsep(&next, "\n")))
            r = take_line(accounts, line);
    }
    if (r < 0) {
        vrt_log_info("%s: %s: its names are told as numbers", accounts->path, strerror(-r));
        forget(accounts);
    }
    *last = now;
}

int vrt_accounts_new(const char *path, struct vrt_accounts **ret_accounts)
{
    struct vrt_accounts *accounts = calloc(1, sizeof(*accounts));

    if (!accounts)
        return vrt_raise(-ENOMEM);
    accounts->path = path;
    *ret_accounts = accounts;
    return 0;
}

struct vrt_accounts *vrt_accounts_free(struct vrt_accounts *accounts)
{
    if (!accounts)
        return NULL;
    forget(accounts);
    free(accounts->all);
    free(accounts);
    return NULL;
}

const char *vrt_accounts_name(struct vrt_accounts *accounts, uint32_t id, char *buffer,
                              size_t size)
{
    refresh(accounts);
    for (size_t i = 0; i < accounts->n; i++) {
        if (accounts->all[i].id != id)
            continue;
        vrt_printable(accounts->all[i].name, buffer, (int)size);
        return buffer;
    }
    snprintf(buffer, size, "%lu", (unsigned long)id);
    return buffer;
}

const char *vrt_accounts_peer(struct vrt_accounts *accounts, const struct vrt_peer *peer,
                              char buffer[VRT_API_OWNER_BYTES])
{
    if (!peer->name[0])
        return vrt_accounts_name(accounts, peer->uid, buffer, VRT_API_OWNER_BYTES);
    snprintf(buffer, VRT_API_OWNER_BYTES, "%s", peer->name);
    return buffer;
}

int vrt_accounts_id(struct vrt_accounts *accounts, const char *name, uint32_t *ret_id)
{
    refresh(accounts);
    for (size_t i = 0; i < accounts->n; i++) {
        if (strcmp(accounts->all[i].name, name) == 0) {
            *ret_id = accounts->all[i].id;
            return 0;
        }
    }
    return parse_id(name, ret_id) < 0 ? -ENOENT : 0;
}
