/* SPDX-License-Identifier: MIT */

/*
 * Records what a program has a file system do
 *
 * Loaded before libc (LD_PRELOAD) into a program and those that it starts. The socket named by
 * VRT_RECORD gets, in the order in which they took effect, a packet for each write to a regular
 * file, sync, and change of names; files are known by their inodes. A packet is a line of text,
 * JSON, and what was written. crash_states.py makes of them what a crash may leave.
 *
 * A write is noted when it is done, a sync before it begins: of what happens at the same time it is
 * said to have had no part.
 */

/* Each function by its own name, where 64 bits are all that there is. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define DATA_MAX 65536      /* of a packet */

static int log_fd = -1;

/* The sandbox lets a process write to what is open, and open nothing: it is opened before. */
__attribute__((constructor)) static void begin(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = getenv("VRT_RECORD");
    const int fd = path ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    if (fd < 0)
        return;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        abort();
    log_fd = fd;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static void note(const char *text, const void *data, size_t n)
{
    static __typeof__(writev) *real;
    const struct iovec parts[2] = { { (void *)(uintptr_t)text, strlen(text) },
                                    { (void *)(uintptr_t)data, n } };

    if (!real)
        real = REAL(writev);
    if (real(log_fd, parts, n ? 2 : 1) != (ssize_t)(strlen(text) + n))
        abort();
}

static bool is_file(int fd, struct stat *status, bool or_folder)
{
    return log_fd >= 0 && fd != log_fd && fstat(fd, status) == 0 &&
           (S_ISREG(status->st_mode) || (or_folder && S_ISDIR(status->st_mode)));
}

/* An offset of -1 is the end. */
static void note_write(int fd, const void *data, ssize_t n, off_t offset)
{
    for (; n > DATA_MAX; n -= DATA_MAX) {
        note_write(fd, data, DATA_MAX, offset);
        data = (const char *)data + DATA_MAX;
        offset += offset < 0 ? 0 : DATA_MAX;
    }

    const int saved = errno;
    struct stat status;
    char text[256];

    if (n > 0 && is_file(fd, &status, false)) {
        snprintf(text, sizeof(text), "{\"op\": \"write\", \"file\": \"%jx:%ju\", \"at\": %jd}\n",
                 (uintmax_t)status.st_dev, (uintmax_t)status.st_ino, (intmax_t)offset);
        note(text, data, (size_t)n);
    }
    errno = saved;
}

static void note_file(const char *op, int fd, off_t size)
{
    const int saved = errno;
    struct stat status;
    char text[256];

    if (is_file(fd, &status, true)) {
        snprintf(text, sizeof(text), "{\"op\": \"%s\", \"file\": \"%jx:%ju\", \"at\": %jd, "
                 "\"folder\": %s}\n", op, (uintmax_t)status.st_dev,
                 (uintmax_t)status.st_ino, (intmax_t)size,
                 S_ISDIR(status.st_mode) ? "true" : "false");
        note(text, NULL, 0);
    }
    errno = saved;
}

/* The absolute path of `name`; of its folder links are followed, of itself not. */
static bool find(int folder, const char *name, char path[PATH_MAX])
{
    char at[64], parent[PATH_MAX];
    ssize_t n;

    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return true;
    }
    if (folder == AT_FDCWD)
        snprintf(at, sizeof(at), "/proc/self/cwd");
    else
        snprintf(at, sizeof(at), "/proc/self/fd/%d", folder);
    n = readlink(at, parent, sizeof(parent) - 1);
    if (n < 0)
        return false;
    parent[n] = '\0';
    return snprintf(path, PATH_MAX, "%s/%s", parent, name) < PATH_MAX;
}

/* Paths of tests have no characters that JSON has spelled otherwise. */
static void note_name(const char *op, int folder, const char *name, int to_folder, const char *to)
{
    const int saved = errno;
    char path[PATH_MAX], to_path[PATH_MAX] = "", text[3 * PATH_MAX];
    struct stat status = { .st_ino = 0 };

    if (log_fd >= 0 && find(folder, name, path) && (!to || find(to_folder, to, to_path))) {
        if (lstat(to ? to_path : path, &status) < 0)
            status.st_ino = 0;
        snprintf(text, sizeof(text), "{\"op\": \"%s\", \"file\": \"%jx:%ju\", \"path\": \"%s\", "
                 "\"to\": \"%s\", \"folder\": %s}\n", op,
                 (uintmax_t)status.st_dev, (uintmax_t)status.st_ino, path, to_path,
                 S_ISDIR(status.st_mode) ? "true" : "false");
        note(text, NULL, 0);
    }
    errno = saved;
}

/* Writes. */

ssize_t write(int fd, const void *data, size_t n)
{
    static __typeof__(write) *real;
    struct stat status;

    if (!real)
        real = REAL(write);
    if (!is_file(fd, &status, false))
        return real(fd, data, n);
    const bool appends = fcntl(fd, F_GETFL) & O_APPEND;
    const ssize_t done = real(fd, data, n);
    const off_t end = done > 0 ? lseek(fd, 0, SEEK_CUR) : 0;
    note_write(fd, data, done, appends ? -1 : end - done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
    static __typeof__(pwrite) *real;

    if (!real)
        real = REAL(pwrite);
    const ssize_t done = real(fd, data, n, offset);
    note_write(fd, data, done, offset);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t offset)
{
    return pwrite(fd, data, n, offset);
}

/* Each part by itself, at the offset or, -1, where the file stands; it may come to less than was
 * asked for. */
static ssize_t write_parts(int fd, const struct iovec *parts, int n, off_t offset)
{
    ssize_t total = 0;

    for (int i = 0; i < n; i++) {
        const void *data = parts[i].iov_base;
        const size_t size = parts[i].iov_len;
        const ssize_t done = offset < 0 ? write(fd, data, size) :
                                          pwrite(fd, data, size, offset + total);

        if (done < 0)
            return total ? total : done;
        total += done;
        if ((size_t)done < size)
            break;
    }
    return total;
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    static __typeof__(writev) *real;
    struct stat status;

    if (!real)
        real = REAL(writev);
    return is_file(fd, &status, false) ? write_parts(fd, parts, n, -1) : real(fd, parts, n);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
    return write_parts(fd, parts, n, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off_t offset)
{
    return pwritev(fd, parts, n, offset);
}

/* What moves data within the kernel isn't to be had: the program does it by reading and writing. */

ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t n,
                        unsigned int flags)
{
    (void)from, (void)from_offset, (void)to, (void)to_offset, (void)n, (void)flags;
    errno = ENOSYS;
    return -1;
}

ssize_t sendfile(int to, int from, off_t *offset, size_t n)
{
    (void)to, (void)from, (void)offset, (void)n;
    errno = EINVAL;
    return -1;
}

ssize_t sendfile64(int to, int from, off_t *offset, size_t n)
{
    return sendfile(to, from, offset, n);
}

int ftruncate(int fd, off_t size)
{
    static __typeof__(ftruncate) *real;

    if (!real)
        real = REAL(ftruncate);
    const int r = real(fd, size);
    if (r == 0)
        note_file("size", fd, size);
    return r;
}

int ftruncate64(int fd, off_t size)
{
    return ftruncate(fd, size);
}

/* Syncs. */

int fsync(int fd)
{
    static __typeof__(fsync) *real;

    if (!real)
        real = REAL(fsync);
    note_file("sync", fd, 0);
    return real(fd);
}

int fdatasync(int fd)
{
    static __typeof__(fdatasync) *real;

    if (!real)
        real = REAL(fdatasync);
    note_file("sync", fd, 0);
    return real(fd);
}

/* Names. */

static int open_noted(int folder, const char *name, int flags, mode_t mode)
{
    static __typeof__(openat) *real;

    if (!real)
        real = REAL(openat);
    const int fd = real(folder, name, flags, mode);
    if (fd >= 0 && (flags & O_CREAT) && log_fd >= 0)
        note_name("name", folder, name, AT_FDCWD, NULL);
    if (fd >= 0 && (flags & O_TRUNC))
        note_file("size", fd, 0);
    return fd;
}

#define WITH_MODE(call)                                                                            \
    do {                                                                                           \
        va_list arguments;                                                                         \
        mode_t mode;                                                                               \
                                                                                                   \
        va_start(arguments, flags);                                                                \
        mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;                    \
        va_end(arguments);                                                                         \
        return call;                                                                               \
    } while (0)

int open(const char *name, int flags, ...)
{
    WITH_MODE(open_noted(AT_FDCWD, name, flags, mode));
}

int open64(const char *name, int flags, ...)
{
    WITH_MODE(open_noted(AT_FDCWD, name, flags, mode));
}

int openat(int folder, const char *name, int flags, ...)
{
    WITH_MODE(open_noted(folder, name, flags, mode));
}

int openat64(int folder, const char *name, int flags, ...)
{
    WITH_MODE(open_noted(folder, name, flags, mode));
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    static __typeof__(mkdirat) *real;

    if (!real)
        real = REAL(mkdirat);
    const int r = real(folder, name, mode);
    if (r == 0)
        note_name("name", folder, name, AT_FDCWD, NULL);
    return r;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

int renameat(int folder, const char *name, int to_folder, const char *to)
{
    static __typeof__(renameat) *real;

    if (!real)
        real = REAL(renameat);
    const int r = real(folder, name, to_folder, to);
    if (r == 0)
        note_name("rename", folder, name, to_folder, to);
    return r;
}

int rename(const char *name, const char *to)
{
    return renameat(AT_FDCWD, name, AT_FDCWD, to);
}

int linkat(int folder, const char *name, int to_folder, const char *to, int flags)
{
    static __typeof__(linkat) *real;

    if (!real)
        real = REAL(linkat);
    const int r = real(folder, name, to_folder, to, flags);
    if (r == 0)
        note_name("name", to_folder, to, AT_FDCWD, NULL);
    return r;
}

int unlinkat(int folder, const char *name, int flags)
{
    static __typeof__(unlinkat) *real;

    if (!real)
        real = REAL(unlinkat);
    const int r = real(folder, name, flags);
    if (r == 0)
        note_name("unlink", folder, name, AT_FDCWD, NULL);
    return r;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char *name)
{
    return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}
