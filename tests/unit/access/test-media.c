/* SPDX-License-Identifier: MIT */
/* Files by their paths: the rule alone, against an independent one; then on a disk, as users. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "api.h"
#include "base/log.h"
#include "base/macro.h"
#include "daemon/access/media.h"
#include "daemon/access/rights.h"

#define ANNA 61001U
#define BERT 61002U
#define FRIENDS 61100U

static gid_t anna_gids[] = { ANNA, FRIENDS }, bert_gids[] = { BERT };
static gid_t friend_gids[] = { BERT, FRIENDS };
static const struct vrt_peer peers[] = {
    { .uid = ANNA, .gids = anna_gids, .n_gids = 2 },
    { .uid = BERT, .gids = bert_gids, .n_gids = 1 },
    { .uid = BERT, .gids = friend_gids, .n_gids = 2 },
};

/* The rule in other words: the first class that he is in counts, and no other. */
static bool is_allowed(unsigned uid, const gid_t *gids, size_t n_gids,
                       const struct vrt_rights_target *target, unsigned wanted)
{
    static const mode_t bits[3][3] = {
        { S_IRUSR, S_IWUSR, S_IXUSR }, { S_IRGRP, S_IWGRP, S_IXGRP },
        { S_IROTH, S_IWOTH, S_IXOTH },
    };
    int class = 2;

    for (size_t i = 0; i < n_gids; i++)
        if (gids[i] == target->gid)
            class = 1;
    if (uid == target->uid)
        class = 0;
    for (int i = 0; i < 3; i++)
        if ((wanted & 4U >> i) && !(target->mode & bits[class][i]))
            return false;
    return true;
}

/* Every mode, every wish, and every way to be or not to be owner and member; root like others. */
static void test_rights(void)
{
    static const unsigned uids[] = { 0, ANNA, BERT };
    gid_t gids[] = { ANNA, FRIENDS };
    long n = 0;

    for (size_t who = 0; who < VRT_ARRAY_SIZE(uids); who++) {
        for (size_t n_gids = 0; n_gids <= 2; n_gids++) {
            const struct vrt_peer peer = { .uid = uids[who], .gids = gids, .n_gids = n_gids };
            for (size_t owner = 0; owner < VRT_ARRAY_SIZE(uids); owner++) {
                for (unsigned bits = 0; bits < 02000 * 8; bits++) {
                    const struct vrt_rights_target target = {
                        .uid = uids[owner],
                        .gid = bits & 01000 ? FRIENDS : BERT,
                        .mode = S_IFREG | (bits & 0777) | (bits >> 10 & 7) * 01000,
                    };
                    for (unsigned wanted = 0; wanted < 8; wanted++, n++)
                        expect_int(vrt_rights_allow(&peer, &target, wanted),
                                   is_allowed(uids[who], gids, n_gids, &target, wanted));
                }
            }
        }
    }
    expect_true(n > 1000000);
}

/* Two who are shown as unmapped need not be one. */
static void test_unmapped(void)
{
    gid_t gids[] = { VRT_RIGHTS_UNMAPPED };
    const struct vrt_peer nobody = { .uid = VRT_RIGHTS_UNMAPPED, .gids = gids, .n_gids = 1 };
    const struct vrt_peer anna = { .uid = ANNA, .gids = gids, .n_gids = 1 };
    struct vrt_rights_target target = { .uid = VRT_RIGHTS_UNMAPPED, .gid = 7 };

    for (unsigned mode = 0; mode < 01000; mode++) {
        target.mode = mode;
        target.uid = VRT_RIGHTS_UNMAPPED;
        target.gid = 7;
        expect_int(vrt_rights_allow(&nobody, &target, 4), (mode & 0444) == 0444);
        expect_int(vrt_rights_allow(&anna, &target, 4), (mode & 0004) != 0);
        target.uid = BERT;
        target.gid = VRT_RIGHTS_UNMAPPED;
        expect_int(vrt_rights_allow(&anna, &target, 2), (mode & 0022) == 0022);
        target.uid = ANNA;
        expect_int(vrt_rights_allow(&anna, &target, 2), (mode & 0200) != 0);
    }
}

/* A folder that everybody may enter, with a root in it. */
struct disk {
    char folder[64], root[80];
    struct vrt_media *media;
};

static void run_shell(const struct disk *disk, const char *command)
{
    char line[1024];

    snprintf(line, sizeof(line), "set -e; cd %s; %s", disk->folder, command);
    expect_int(system(line), 0);
}

static void disk_init(struct disk *disk, const char *command)
{
    struct vrt_error error = { .id = NULL };

    vrt_log_set_level(VRT_LOG_ERROR);
    snprintf(disk->folder, sizeof(disk->folder), "/tmp/vrt-media-XXXXXX");
    expect_true(mkdtemp(disk->folder) != NULL);
    expect_int(chmod(disk->folder, 0755), 0);
    snprintf(disk->root, sizeof(disk->root), "%s/root", disk->folder);
    expect_int(mkdir(disk->root, 0755), 0);
    run_shell(disk, command);
    if (vrt_media_new(disk->root, &disk->media, &error) == -ENOSYS)
        test_skip("this system has no openat2()");
    expect_str(error.message, "");
}

static void disk_done(struct disk *disk)
{
    vrt_media_free(disk->media);
    run_shell(disk, "rm -r $PWD");
}

/* Opens below the folder. Return: 0, or -errno with the error's id in `ret_id`. */
static int try_open(const struct disk *disk, const struct vrt_peer *peer, const char *name,
                    enum vrt_media_mode mode, char *ret_id)
{
    struct vrt_error error = { .id = NULL };
    char path[1024];
    int fd = -1;

    snprintf(path, sizeof(path), "%s/%s", disk->folder, name);
    int r = vrt_media_open(disk->media, &(struct vrt_media_request){
        .peer = peer,
        .path = path,
        .mode = mode,
    }, &fd, NULL, &error);
    expect_int(r < 0, strncmp(error.message, path, strlen(path)) == 0);
    expect_int(fd >= 0, r == 0);
    if (r < 0)
        snprintf(ret_id, 64, "%s", error.id);
    if (fd >= 0)
        close(fd);
    return r;
}

/* Ways out of the root, and things that are no videos: for the owner of everything. */
static void test_ways(void)
{
    static const struct {
        const char *name;
        int r;
        const char *id;
    } cases[] = {
        { "root/a", 0, "" },
        { "root//sub///b", 0, "" },
        { "root/none", -ENOENT, "path.not_found" },
        { "root/none/a", -ENOENT, "path.not_found" },
        { "root/a/b", -ENOTDIR, "path.not_found" },
        { "root", -EACCES, "path.forbidden" },
        { "root/", -EINVAL, "path.forbidden" },
        { "root/sub", -EINVAL, "input.not_regular" },
        { "root/sub/", -EINVAL, "path.forbidden" },
        { "root/./a", -EINVAL, "path.forbidden" },
        { "root/../outside", -EINVAL, "path.forbidden" },
        { "root/sub/../a", -EINVAL, "path.forbidden" },
        { "outside", -EACCES, "path.forbidden" },
        { "rootless", -EACCES, "path.forbidden" },
        { "root/link", -EINVAL, "path.forbidden" },
        { "root/out", -EINVAL, "path.forbidden" },
        { "root/link-to-sub/b", -ELOOP, "path.forbidden" },
        { "root/up/outside", -ELOOP, "path.forbidden" },
        { "root/fifo", -EINVAL, "input.not_regular" },
        { "root/proc/self/mem", -ELOOP, "path.forbidden" },
        { "root/...", 0, "" },
    };
    const struct vrt_peer self = { .uid = geteuid() };
    struct disk disk;
    char id[64];

    disk_init(&disk, "touch root/a outside rootless root/...; mkdir root/sub; touch root/sub/b;"
              "ln -s a root/link; ln -s ../outside root/out; ln -s sub root/link-to-sub;"
              "ln -s .. root/up; ln -s /proc root/proc; mkfifo root/fifo;"
              "chmod 644 root/a root/sub/b root/... outside rootless; chmod 755 root/sub");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        id[0] = '\0';
        int r = try_open(&disk, &self, cases[i].name, VRT_MEDIA_READ, id);
        if (r != cases[i].r || strcmp(id, cases[i].id) != 0)
            test_fail("%s: %d %s, not %d %s", cases[i].name, r, id, cases[i].r, cases[i].id);
    }
    disk_done(&disk);
}

static void test_roots(void)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_media *media = NULL;
    const struct vrt_peer self = { .uid = geteuid() };
    struct disk disk;
    char roots[300], path[5000];
    int fd = -1, n;

    disk_init(&disk, "touch root/a; ln -s root alias; mkdir second; touch second/c");
    /* By its name and by its alias; two roots; a slash too many. */
    snprintf(roots, sizeof(roots), ":%s/alias/:%s/second:", disk.folder, disk.folder);
    expect_int(vrt_media_new(roots, &media, &error), 0);
    static const char *const names[] = { "alias/a", "root/a", "second/c" };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", disk.folder, names[i]);
        const struct vrt_media_request request = { .peer = &self, .path = path };
        expect_int(vrt_media_open(media, &request, &fd, NULL, &error), 0);
        close(fd);
    }
    media = vrt_media_free(media);
    static const char *const wrong[][2] = {
        { "relative", "media_roots: relative: a path must begin with /" },
        { "/", "media_roots: /: the root of all can't be one" },
        { "/dev:/nonexistent", "media_roots: /nonexistent: No such file or directory" },
        { "/dev/null", "media_roots: /dev/null: Not a directory" },
        { "/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/dev:/usr",
          "media_roots: /usr: there are more than 16" },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(wrong); i++) {
        error = (struct vrt_error){ .id = NULL };
        expect_true(vrt_media_new(wrong[i][0], &media, &error) < 0);
        expect_str(error.message, wrong[i][1]);
    }
    n = 2 * VRT_API_PATH_BYTES - 1 - (int)strlen(disk.root);
    snprintf(path, sizeof(path), "%s/%0*d", disk.root, n, 0);
    const struct vrt_media_request too_long = { .peer = &self, .path = path };
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_media_open(disk.media, &too_long, &fd, NULL, &error), -ENAMETOOLONG);
    expect_contains(error.message, "the path is too long");
    /* Without roots nothing can be opened, and the sentence says what to do instead. */
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_media_new("", &media, &error), 0);
    const struct vrt_media_request request = { .peer = &self, .path = path };
    expect_int(vrt_media_open(media, &request, &fd, NULL, &error), -EACCES);
    expect_contains(error.message, "hand over a descriptor");
    vrt_media_free(media);
    disk_done(&disk);
}

/* What is made is made once, and only what was made is removed. */
static void test_output(void)
{
    gid_t gids[] = { getegid() };
    const struct vrt_peer self = { .uid = geteuid(), .gids = gids, .n_gids = 1 };
    struct vrt_error error = { .id = NULL };
    struct disk disk;
    struct stat st;
    char path[300];
    bool is_new = false;
    int fd = -1;

    disk_init(&disk, "true");
    snprintf(path, sizeof(path), "%s/new.mkv", disk.root);
    const struct vrt_media_request request = {
        .peer = &self, .path = path, .mode = VRT_MEDIA_WRITE,
    };
    expect_int(vrt_media_open(disk.media, &request, &fd, &is_new, &error), 0);
    expect_true(is_new);
    expect_int(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
    expect_int(fstat(fd, &st), 0);
    expect_int(st.st_uid, geteuid());
    expect_int(st.st_gid, getegid());
    vrt_media_remove(disk.media, &request, fd);
    expect_int(access(path, F_OK), -1);
    /* Not another one that stands in its place. */
    run_shell(&disk, "touch root/new.mkv");
    vrt_media_remove(disk.media, &request, fd);
    expect_int(access(path, F_OK), 0);
    close(fd);
    expect_int(vrt_media_open(disk.media, &request, &fd, &is_new, &error), 0);
    expect_true(!is_new);
    expect_int(write(fd, "x", 1), 1);
    vrt_media_remove(disk.media, &request, fd);
    expect_int(access(path, F_OK), 0);
    close(fd);
    disk_done(&disk);
}

/* What the kernel is asked: may the file be opened so? */
struct question {
    char name[32];              /* below the folder */
    int flags;
    bool answer;
};

/* Asks as a process of that user: a child, so that nothing stays; one for all questions, as a
 * process takes long to begin on a busy machine. */
static void ask_kernel(const struct disk *disk, const struct vrt_peer *peer,
                       struct question *questions, size_t n_questions)
{
    int status = 0, fds[2];

    expect_int(pipe(fds), 0);
    pid_t pid = fork();
    expect_true(pid >= 0);
    if (pid == 0) {
        if (setgroups(peer->n_gids, peer->gids) < 0 || setgid(peer->gids[0]) < 0 ||
            setuid(peer->uid) < 0)
            _exit(2);
        for (size_t i = 0; i < n_questions; i++) {
            char path[2048];
            snprintf(path, sizeof(path), "%s/%s", disk->folder, questions[i].name);
            int fd = open(path, questions[i].flags | O_CLOEXEC, 0600);
            if (fd >= 0 && questions[i].flags & O_CREAT)
                unlink(path);
            close(fd);
            if (write(fds[1], fd >= 0 ? "y" : "n", 1) != 1)
                _exit(2);
        }
        _exit(0);
    }
    close(fds[1]);
    for (size_t i = 0; i < n_questions; i++) {
        char answer;
        expect_int(read(fds[0], &answer, 1), 1);
        questions[i].answer = answer == 'y';
    }
    close(fds[0]);
    expect_int(waitpid(pid, &status, 0), pid);
    expect_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static const unsigned file_modes[] = {
    0, 0400, 0600, 0040, 0060, 0004, 0006, 0604, 0064, 0666,
};

/* Every file, to read and to write, and one that is to be made, against the kernel's answers.
 * Return: whether that may be made. */
static bool try_peer(const struct disk *disk, const struct vrt_peer *peer)
{
    struct question questions[2 * VRT_ARRAY_SIZE(file_modes) + 1];
    const size_t n = VRT_ARRAY_SIZE(questions);
    char id[64];

    for (size_t i = 0; i < n; i++) {
        struct question *q = &questions[i];
        q->flags = i == n - 1 ? O_RDWR | O_CREAT | O_EXCL : i % 2 ? O_RDWR : O_RDONLY;
        if (i == n - 1)
            snprintf(q->name, sizeof(q->name), "root/d/new");
        else
            snprintf(q->name, sizeof(q->name), "root/d/%zu", i / 2);
    }
    ask_kernel(disk, peer, questions, n);
    for (size_t i = 0; i < n; i++) {
        const enum vrt_media_mode mode = questions[i].flags == O_RDONLY ? VRT_MEDIA_READ :
                                                                          VRT_MEDIA_WRITE;
        expect_int(try_open(disk, peer, questions[i].name, mode, id) == 0, questions[i].answer);
    }
    return questions[n - 1].answer;
}

/* Real files of two real users, each mode of file and folder against the kernel's own answer: it
 * must never be refused there and allowed here, and agrees wherever root isn't asked. */
static void test_users(void)
{
    static const unsigned folder_modes[] = {
        0700, 0711, 0710, 0701, 0500, 0755, 0775, 0777, 0070,
    };
    struct disk disk;
    char id[64], path[160], folder[100];

    if (geteuid() != 0)
        test_skip("only root can be several users");
    disk_init(&disk, "mkdir root/d; cd root/d; touch f 0 1 2 3 4 5 6 7 8 9; "
              "chown -R 61001:61100 .");
    snprintf(folder, sizeof(folder), "%s/d", disk.root);
    for (size_t f = 0; f < VRT_ARRAY_SIZE(file_modes); f++) {
        snprintf(path, sizeof(path), "%s/%zu", folder, f);
        expect_int(chmod(path, file_modes[f]), 0);
    }
    snprintf(path, sizeof(path), "%s/new", folder);
    for (size_t d = 0; d < VRT_ARRAY_SIZE(folder_modes); d++) {
        expect_int(chmod(folder, folder_modes[d]), 0);
        for (size_t p = 0; p < VRT_ARRAY_SIZE(peers); p++)
            expect_int(try_peer(&disk, &peers[p]), unlink(path) == 0);
    }
    /* Whoever can't enter a folder learns nothing of what is in it. */
    expect_int(chmod(folder, 0700), 0);
    expect_int(try_open(&disk, &peers[1], "root/d/f", VRT_MEDIA_READ, id), -EACCES);
    expect_int(try_open(&disk, &peers[1], "root/d/none", VRT_MEDIA_READ, id), -EACCES);
    expect_int(try_open(&disk, &peers[1], "root/d/f/none", VRT_MEDIA_READ, id), -EACCES);
    expect_int(try_open(&disk, &peers[1], "root/d/none", VRT_MEDIA_WRITE, id), -EACCES);
    /* Nor does it help that the root is below a folder which he can't enter. */
    run_shell(&disk, "chmod 777 root/d; chmod 666 root/d/f; chmod 700 .");
    expect_int(try_open(&disk, &peers[1], "root/d/f", VRT_MEDIA_READ, id), -EACCES);
    run_shell(&disk, "chmod 755 .");
    expect_int(try_open(&disk, &peers[1], "root/d/f", VRT_MEDIA_READ, id), 0);
    disk_done(&disk);
}

/* Whether the file may be opened beneath the folder. */
static bool opens_beneath(const struct vrt_peer *peer, int folder_fd, const char *name,
                          enum vrt_media_mode mode)
{
    struct vrt_error error = { .id = NULL };
    const int fd = vrt_media_open_beneath(peer, folder_fd, name, mode, &error);

    expect_int(fd < 0, error.message[0] != '\0');
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* What is said of a folder in which files may not be made, whatever its mode is. */
static void expect_refusals(const struct disk *disk, int fd)
{
    struct vrt_error error = { .id = NULL };

    /* As /tmp is: who isn't its owner could replace others' files by way of the daemon. */
    expect_int(fchmod(fd, 01777), 0);
    expect_true(opens_beneath(&peers[0], fd, "new", VRT_MEDIA_WRITE));
    unlinkat(fd, "new", 0);
    expect_int(vrt_media_check_folder(&peers[0], fd, "d", &error), 0);
    expect_true(!opens_beneath(&peers[1], fd, "new", VRT_MEDIA_WRITE));
    expect_int(vrt_media_check_folder(&peers[1], fd, "d", &error), -EACCES);
    expect_str(error.message, "d: the folder is shared (its sticky bit is set), and others' files "
               "in it are not yours to replace: name a folder of your own");
    /* Nor does it help him that he may, if the daemon's own user may not. */
    expect_int(fchmod(fd, 0700), 0);
    expect_int(seteuid(BERT), 0);
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_media_check_folder(&peers[0], fd, "d", &error), -EACCES);
    expect_str(error.message, "d: vrtd's own user may not make files in this folder: let it "
               "(setfacl -m u:vrtd:rwx), or start a vrtd of your own");
    expect_int(seteuid(0), 0);
    run_shell(disk, "rm -r root/d");
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_media_open_beneath(&peers[0], fd, "new", VRT_MEDIA_WRITE, &error), -ENOENT);
    expect_str(error.message, "new: there is no such file");
}

/* The same of what is beneath a folder that was handed over, whatever lies above it. */
static void test_beneath(void)
{
    static const unsigned folder_modes[] = { 0700, 0711, 0701, 0500, 0755, 0775, 0777, 0070 };
    static const char *const outside[] = { "../a", "/etc/passwd", ".", "..", "", "link", "sub/a",
                                           "sub", "fifo" };
    struct question questions[] = { { "root/d/f", O_RDONLY, false },
                                    { "root/d/g", O_RDONLY, false },
                                    { "root/d/new", O_RDWR | O_CREAT | O_EXCL, false } };
    struct vrt_error error = { .id = NULL };
    struct disk disk;
    struct stat st;

    if (geteuid() != 0)
        test_skip("only root can be several users");
    disk_init(&disk, "touch a; mkdir -p root/d/sub; cd root/d; touch f g sub/a; ln -s ../../a link;"
              "mkfifo fifo; chown -R 61001:61100 .; chmod 640 f; chmod 604 g");
    char path[160];
    snprintf(path, sizeof(path), "%s/d", disk.root);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t d = 0; d < VRT_ARRAY_SIZE(folder_modes); d++) {
        expect_int(fchmod(fd, folder_modes[d]), 0);
        for (size_t p = 0; p < VRT_ARRAY_SIZE(peers); p++) {
            ask_kernel(&disk, &peers[p], questions, VRT_ARRAY_SIZE(questions));
            expect_int(opens_beneath(&peers[p], fd, "f", VRT_MEDIA_READ), questions[0].answer);
            expect_int(opens_beneath(&peers[p], fd, "g", VRT_MEDIA_READ), questions[1].answer);
            expect_int(opens_beneath(&peers[p], fd, "new", VRT_MEDIA_WRITE), questions[2].answer);
            expect_int(vrt_media_check_folder(&peers[p], fd, "d", &error) == 0,
                       questions[2].answer);
            error = (struct vrt_error){ .id = NULL };
            if (fstatat(fd, "new", &st, 0) < 0)
                continue;
            /* His own, for those to read who can read the folder, or not even get there. */
            expect_int(st.st_uid, peers[p].uid);
            expect_int(st.st_mode & 07777, 0600 | (folder_modes[d] & 040) |
                       (folder_modes[d] & 1 ? folder_modes[d] & 4 : 4));
            unlinkat(fd, "new", 0);
        }
    }
    expect_int(fchmod(fd, 0777), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(outside); i++)
        expect_true(!opens_beneath(&peers[0], fd, outside[i], VRT_MEDIA_READ));
    expect_true(!opens_beneath(&peers[0], fd, "f", VRT_MEDIA_WRITE));
    expect_refusals(&disk, fd);
    close(fd);
    disk_done(&disk);
}

/* A list grants what the mode doesn't tell, and denies it: both are refused. */
static void test_acl(void)
{
    /* Version 2; owner rw, user BERT nothing, group r, mask r, others r. */
    const struct {
        uint32_t version;
        struct {
            uint16_t tag, perm;
            uint32_t id;
        } entries[5];
    } acl = { 2, {
        { 0x01, 6, UINT32_MAX }, { 0x02, 0, BERT }, { 0x04, 4, UINT32_MAX },
        { 0x10, 4, UINT32_MAX }, { 0x20, 4, UINT32_MAX },
    } };
    struct disk disk;
    char id[64], path[300];

    disk_init(&disk, "touch root/a; chmod 644 root/a");
    snprintf(path, sizeof(path), "%s/a", disk.root);
    expect_int(try_open(&disk, &peers[1], "root/a", VRT_MEDIA_READ, id), 0);
    int r = setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0);
    if (r < 0 && errno == EOPNOTSUPP) {
        fprintf(stderr, "this disk has no access control lists\n");
    } else {
        expect_int(r, 0);
        expect_int(try_open(&disk, &peers[1], "root/a", VRT_MEDIA_READ, id), -EACCES);
    }
    disk_done(&disk);
}

static atomic_bool swapping;

static void *swap(void *ctx)
{
    const struct disk *disk = ctx;
    char a[300], b[300], c[300];

    snprintf(a, sizeof(a), "%s/f", disk->root);
    snprintf(b, sizeof(b), "%s/secret", disk->root);
    snprintf(c, sizeof(c), "%s/aside", disk->root);
    while (atomic_load(&swapping)) {
        if (rename(a, c) < 0 || rename(b, a) < 0 || rename(a, b) < 0 || rename(c, a) < 0)
            test_fail("rename");
    }
    return NULL;
}

/* While a file that may be read and one that may not change places all the time, the second is
 * never opened. */
static void test_race(void)
{
    struct vrt_error error;
    struct disk disk;
    pthread_t thread;
    char path[300], text[8] = "";
    int n_opened = 0, n_refused = 0;

    disk_init(&disk, "printf open >root/f; printf secret >root/secret; chmod 644 root/f;"
              "chmod 600 root/secret");
    snprintf(path, sizeof(path), "%s/f", disk.root);
    const struct vrt_media_request request = { .peer = &peers[1], .path = path };
    atomic_store(&swapping, true);
    expect_int(pthread_create(&thread, NULL, swap, &disk), 0);
    /* The other thread may not be given any time while it is half through. */
    for (int i = 0; i < 3000 || !n_opened || !n_refused; i++) {
        int fd = -1;
        error = (struct vrt_error){ .id = NULL };
        if (vrt_media_open(disk.media, &request, &fd, NULL, &error) < 0) {
            n_refused++;
            continue;
        }
        n_opened++;
        memset(text, 0, sizeof(text));
        expect_int(read(fd, text, sizeof(text) - 1), 4);
        expect_str(text, "open");
        close(fd);
    }
    atomic_store(&swapping, false);
    pthread_join(thread, NULL);
    fprintf(stderr, "opened %d times, refused %d times\n", n_opened, n_refused);
    disk_done(&disk);
}

TEST_MAIN(
    { "rights", test_rights },
    { "unmapped", test_unmapped },
    { "ways", test_ways },
    { "roots", test_roots },
    { "output", test_output },
    { "acl", test_acl },
    { "race", test_race },
    { "users", test_users },
    { "beneath", test_beneath },
)
