/* SPDX-License-Identifier: MIT */
/* daemon/quota: random takes and gives against a plain count; daemon/uploads: what of users' files
 * is charged, and when it goes. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/macro.h"
#include "daemon/access/quota.h"
#include "daemon/uploads/uploads.h"

#define N_UIDS 20
#define PIECE (256 * 1024)              /* as much as is written at a time */
#define STEP (16 << 20)                 /* as is charged at a time */
#define SPARE (64 << 20)                /* as is left on the disk */

static const struct vrt_quota_limit limits[VRT_QUOTA_KIND_COUNT] = {
    [VRT_QUOTA_CONNECTIONS] = { .per_uid = 3, .all = 10 },
    [VRT_QUOTA_JOBS] = { .per_uid = 1, .all = 4 },
};

static void test_other_limits(void)
{
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;
    struct vrt_quota_limit other[VRT_QUOTA_KIND_COUNT];

    memcpy(other, limits, sizeof(other));
    expect_int(vrt_quota_new(limits, &quota), 0);
    for (int i = 0; i < 3; i++)
        expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 7), 0);
    other[VRT_QUOTA_CONNECTIONS].per_uid = 2;
    vrt_quota_configure(quota, other);
    /* Nothing is taken away, and nothing more is given until less is held. */
    expect_int(vrt_quota_held(quota, VRT_QUOTA_CONNECTIONS, 7), 3);
    vrt_quota_give(quota, VRT_QUOTA_CONNECTIONS, 7);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 7), VRT_QUOTA_E_USER);
    vrt_quota_give(quota, VRT_QUOTA_CONNECTIONS, 7);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 7), 0);
    other[VRT_QUOTA_CONNECTIONS].all = 2;
    vrt_quota_configure(quota, other);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_CONNECTIONS, 8), VRT_QUOTA_E_ALL);
}

static void test_amounts(void)
{
    const struct vrt_quota_limit bytes[VRT_QUOTA_KIND_COUNT] = {
        [VRT_QUOTA_JOBS] = { .per_uid = 2, .all = 3 },
        [VRT_QUOTA_SPOOL_BYTES] = { .per_uid = INT64_C(1) << 40, .all = INT64_MAX },
    };
    const int64_t tera = INT64_C(1) << 40;
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;

    expect_int(vrt_quota_new(bytes, &quota), 0);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, tera - 1), 0);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, 2), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, INT64_MAX),
               VRT_QUOTA_E_USER);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_SPOOL_BYTES, 1), tera - 1);
    expect_int(vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, 1), 0);
    vrt_quota_give_amount(quota, VRT_QUOTA_SPOOL_BYTES, 1, tera);
    expect_int(vrt_quota_held(quota, VRT_QUOTA_SPOOL_BYTES, 1), 0);

    /* What is there already counts, also over the limits, until it is given back. */
    expect_int(vrt_quota_charge(quota, VRT_QUOTA_JOBS, 1, 5), 0);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 1), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 2), VRT_QUOTA_E_ALL);
    vrt_quota_give_amount(quota, VRT_QUOTA_JOBS, 1, 3);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 1), VRT_QUOTA_E_USER);
    expect_int(vrt_quota_take(quota, VRT_QUOTA_JOBS, 2), 0);
    vrt_quota_give_amount(quota, VRT_QUOTA_JOBS, 1, 2);
    vrt_quota_give(quota, VRT_QUOTA_JOBS, 2);
}

static void test_random(void)
{
    VRT_CLEANUP(vrt_quota_freep) struct vrt_quota *quota = NULL;
    int held[VRT_QUOTA_KIND_COUNT][N_UIDS] = { { 0 } }, sums[VRT_QUOTA_KIND_COUNT] = { 0 };
    unsigned random = 1;

    expect_int(vrt_quota_new(limits, &quota), 0);
    for (int i = 0; i < 100000; i++) {
        random = random * 1103515245 + 12345;
        enum vrt_quota_kind kind = random >> 16 & 1 ? VRT_QUOTA_JOBS : VRT_QUOTA_CONNECTIONS;
        unsigned uid = (random >> 17) % N_UIDS;
        if (random >> 30 & 1) {
            int wanted = held[kind][uid] >= limits[kind].per_uid ? VRT_QUOTA_E_USER :
                         sums[kind] >= limits[kind].all ? VRT_QUOTA_E_ALL : VRT_QUOTA_OK;
            expect_int(vrt_quota_take(quota, kind, uid), wanted);
            held[kind][uid] += wanted == VRT_QUOTA_OK;
            sums[kind] += wanted == VRT_QUOTA_OK;
        } else if (held[kind][uid] > 0) {
            vrt_quota_give(quota, kind, uid);
            held[kind][uid]--;
            sums[kind]--;
        }
        expect_int(vrt_quota_held(quota, kind, uid), held[kind][uid]);
    }
}

static uv_loop_t loop;
static struct vrt_quota *users;
static struct vrt_uploads *uploads;
static int64_t room = INT64_MAX;        /* on the disk */

/* What was told of uploads. */
static struct {
    int n_more, n_done;
    int64_t size;
    const char *refused;
} told;

static int64_t free_bytes(int fd)
{
    return fd >= 0 ? room : 0;
}

static void on_more(void *ctx)
{
    expect_true(ctx == &told);
    told.n_more++;
}

static void on_done(void *ctx, int64_t size, const struct vrt_error *error)
{
    expect_true(ctx == &told);
    told.n_done++;
    told.size = size;
    told.refused = error ? error->id : NULL;
}

/* Begins one. Return: what is said against it, "" if it was begun. */
static const char *begin(uid_t uid, int64_t size, struct vrt_upload **upload)
{
    const struct vrt_upload_events events = { on_more, on_done, &told };
    struct vrt_error error = { .id = "" };

    expect_true(!vrt_upload_begin(uploads, uid, size, &events, upload, &error) == !error.id[0]);
    return error.id;
}

/* Writes `size` bytes. Return: 0; 1: there is no room for more; or what `refused` says. */
static int put(struct vrt_upload *upload, size_t size, const char *refused)
{
    static const char data[PIECE] = "video";
    struct vrt_error error = { .id = "" };

    int r = vrt_upload_write(upload, data, size, &error);
    expect_str(error.id ? error.id : "", refused);
    return r;
}

static void expect_held(int64_t bytes)
{
    expect_int(vrt_quota_held(users, VRT_QUOTA_SPOOL_BYTES, 1), bytes);
}

static void finish(struct vrt_upload *upload)
{
    vrt_upload_finish(upload);
    uv_run(&loop, UV_RUN_DEFAULT);
}

/* What is charged and refused before the first byte. */
static void expect_begun(void)
{
    static const struct {
        int64_t room, size;
        const char *refused;
    } cases[] = {
        { SPARE + STEP, STEP, "" }, { SPARE + STEP, STEP + 1, "spool.full" },
        { SPARE, 0, "" }, { SPARE, -1, "" }, { SPARE - 1, 0, "spool.full" },
        { INT64_MAX, STEP + 10, "" }, { INT64_MAX, STEP + 11, "spool.quota" },
        { INT64_MAX, STEP + 20, "spool.quota" }, { INT64_MAX, STEP + 21, "upload.too_large" },
    };
    struct vrt_upload *upload;
    char name[VRT_UPLOAD_NAME_BYTES];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const bool is_begun = !cases[i].refused[0];
        room = cases[i].room;
        expect_str(begin(1, cases[i].size, &upload), cases[i].refused);
        expect_held(is_begun ? VRT_MAX(cases[i].size, 0) : 0);
        snprintf(name, sizeof(name), "upload-%zu", i + 1);
        expect_int(access(name, F_OK), is_begun ? 0 : -1);
        if (is_begun)
            vrt_upload_drop(upload);
    }
}

/* One that is kept: what came, and whose it is; charged is no more than that. */
static void expect_kept(void)
{
    static char data[3 * PIECE + 2];
    char name[VRT_UPLOAD_NAME_BYTES];
    struct vrt_error error = { .id = NULL };
    struct vrt_upload *upload;
    struct stat st;
    int64_t size;
    int fd = -1;

    expect_str(begin(1, -1, &upload), "");
    const int64_t id = vrt_upload_id(upload);
    expect_int(put(upload, PIECE - 1, ""), 0);
    expect_held(STEP);
    expect_int(put(upload, 1, ""), 0);
    expect_int(put(upload, PIECE, ""), 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    expect_int(put(upload, PIECE, ""), 0);
    expect_int(put(upload, 1, ""), 0);
    expect_int(vrt_uploads_look(uploads, id, name, &size, &error), -ENOENT);
    finish(upload);
    expect_true(told.n_more == 1 && told.n_done == 1 && !told.refused);
    expect_int(told.size, 3 * PIECE + 1);
    expect_held(told.size);
    expect_int(vrt_uploads_look(uploads, id, name, &size, &error), 0);
    expect_int(size, told.size);
    expect_true(stat(name, &st) == 0 && st.st_mode == (S_IFREG | 0600));
    expect_int(vrt_uploads_open(uploads, id, 2, &fd, &error), -ENOENT);
    expect_int(vrt_uploads_remove(uploads, id, 2), -ENOENT);
    expect_int(vrt_uploads_open(uploads, id, 1, &fd, &error), 0);
    expect_int(read(fd, data, sizeof(data)), size);
    expect_str(data + PIECE, "video");
    close(fd);
    /* A job has taken it. */
    vrt_uploads_forget(uploads, id);
    expect_held(0);
    expect_int(vrt_uploads_look(uploads, id, name, &size, &error), -ENOENT);
    expect_int(unlink(name), 0);
    expect_str(begin(1, 1, &upload), "");
    expect_int(put(upload, 1, ""), 0);
    expect_held(1);
    finish(upload);
    expect_int(told.size, 1);
    expect_int(vrt_uploads_remove(uploads, id + 1, 1), 0);
    expect_held(0);
}

/* Ones that are refused: while they come, where all of a step is too much; and where nothing can be
 * written, at the next piece or in the end. */
static void expect_broken_off(void)
{
    struct vrt_upload *upload, *pieces;
    struct rlimit limit;

    vrt_uploads_set_max(uploads, PIECE + 3);
    expect_str(begin(1, -1, &upload), "");
    expect_int(put(upload, PIECE, ""), 0);
    expect_int(put(upload, 3, ""), 0);
    expect_int(put(upload, 1, "upload.too_large"), -EFBIG);
    expect_held(PIECE + 3);
    vrt_upload_drop(upload);
    uv_run(&loop, UV_RUN_DEFAULT);
    expect_held(0);

    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, limit.rlim_max });
    expect_str(begin(1, PIECE, &pieces), "");
    expect_int(put(pieces, PIECE, ""), 0);
    expect_str(begin(1, 1, &upload), "");
    expect_int(put(upload, 1, ""), 0);
    finish(upload);
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_true(told.n_more == 1 && told.n_done == 3 && told.size == -1);
    expect_str(told.refused, "internal");
    expect_int(put(pieces, 1, "internal"), -EFBIG);
    vrt_upload_drop(pieces);
    expect_held(0);
}

static void test_uploads(void)
{
    const struct vrt_quota_limit bytes[VRT_QUOTA_KIND_COUNT] = {
        [VRT_QUOTA_SPOOL_BYTES] = { .per_uid = STEP + 10, .all = INT64_MAX },
    };
    char folder[] = "/tmp/vrt-uploads-XXXXXX";
    struct vrt_upload *upload;

    expect_true(mkdtemp(folder) && chdir(folder) == 0);
    int fd = open(".", O_RDONLY | O_CLOEXEC);
    expect_int(uv_loop_init(&loop), 0);
    expect_int(vrt_quota_new(bytes, &users), 0);
    expect_int(vrt_uploads_new(&(struct vrt_uploads_params){
        .loop = &loop, .quota = users, .spool_fd = fd, .free_bytes = free_bytes,
        .max_bytes = STEP + 20,
    }, &uploads), 0);
    expect_begun();
    expect_kept();
    expect_broken_off();
    for (int i = 0; i < VRT_API_UPLOADS_PER_UID_MAX; i++)
        expect_str(begin(1, 1, &upload), "");
    expect_str(begin(1, 1, &upload), "upload.too_many");
    expect_str(begin(2, 1, &upload), "");
    vrt_uploads_free(uploads);
    expect_held(0);
    expect_int(vrt_quota_held(users, VRT_QUOTA_SPOOL_BYTES, 2), 0);
    vrt_quota_free(users);
    expect_int(uv_loop_close(&loop), 0);
    close(fd);
    expect_int(rmdir(folder), 0);
}

TEST_MAIN_AFTER(signal(SIGXFSZ, SIG_IGN),
    { "other-limits", test_other_limits },
    { "amounts", test_amounts },
    { "random", test_random },
    { "uploads", test_uploads },
)
