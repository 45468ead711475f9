/* SPDX-License-Identifier: MIT */

/* The files that a store is given: old, newer, foreign, damaged, out of reach. What is refused
 * stays as it is. */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/store/store-fixture.h"
#include "tests/unit/test.h"

#define N_DAMAGES 300
#define FILE_MAX 400000

/* Version 1, as it was: what leads from it to today must not lose anything. */
#define VERSION_1 \
    "PRAGMA application_id = 0x76727464; PRAGMA user_version = 1;" \
    "CREATE TABLE jobs (" \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, state TEXT NOT NULL," \
    "  priority INTEGER NOT NULL, created_at INTEGER NOT NULL, finished_at INTEGER NOT NULL," \
    "  starts INTEGER NOT NULL, request TEXT NOT NULL, info TEXT NOT NULL, work TEXT NOT NULL" \
    ") STRICT;" \
    "CREATE TABLE segments (" \
    "  job INTEGER NOT NULL, number INTEGER NOT NULL, n_frames INTEGER NOT NULL," \
    "  next_shard INTEGER NOT NULL, size_bytes INTEGER NOT NULL, tail_bytes INTEGER NOT NULL," \
    "  n_concealed INTEGER NOT NULL, PRIMARY KEY (job, number)" \
    ") STRICT, WITHOUT ROWID;" \
    "INSERT INTO jobs VALUES (5, 1000, 'failed', 1, 2, 3, 1, 'request', 'info', 'work');" \
    "INSERT INTO segments VALUES (4, 0, 1, 1, 1, 1, 1), (5, 0, 96, 12, 1000, 0, 2);" \
    "UPDATE sqlite_sequence SET seq = 8;"

static void execute(const struct bench *bench, const char *sql)
{
    sqlite3 *file;
    char *why = NULL;

    expect_int(sqlite3_open(bench->file, &file), SQLITE_OK);
    if (sqlite3_exec(file, sql, NULL, NULL, &why))
        test_fail("%s", why);
    sqlite3_close(file);
}

/* The file's bytes, of the caller. */
static char *read_file(const char *path, size_t *ret_bytes)
{
    char *bytes = malloc(FILE_MAX);
    FILE *file = fopen(path, "rb");

    expect_true(file && bytes);
    *ret_bytes = fread(bytes, 1, FILE_MAX, file);
    expect_true(*ret_bytes < FILE_MAX);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");

    expect_true(file);
    expect_int(fwrite(bytes, 1, n_bytes, file), n_bytes);
    fclose(file);
}

/* It is refused by one sentence with the file's name and `part`, and is what it was. */
static void expect_refused(struct bench *bench, int wanted, const char *part)
{
    struct vrt_error error = { 0 };
    size_t before_bytes, after_bytes;
    char *before = read_file(bench->file, &before_bytes), *after;

    expect_int(bench_try(bench, &error), wanted);
    expect_contains(error.message, bench->file);
    expect_contains(error.message, part);
    expect_true(!strchr(error.message, '\n'));
    after = read_file(bench->file, &after_bytes);
    expect_int(after_bytes, before_bytes);
    expect_true(memcmp(before, after, before_bytes) == 0);
    free(before);
    free(after);
}

static void test_migration(void)
{
    struct vrt_store_measure measure = { "network", "class", "what", 1 };
    char instance[VRT_STORE_INSTANCE_BYTES] = "";
    struct bench bench;

    bench_init(&bench);
    execute(&bench, VERSION_1);
    for (int i = 0; i < 2; i++) {
        bench_read(&bench);
        expect_int(bench.table.n_rows, 1);
        expect_int(bench.table.rows[0].job.id, 5);
        expect_int(bench.table.rows[0].job.starts, 1);
        expect_str(bench.table.rows[0].request, "request");
        expect_int(bench.table.rows[0].n_segments, 1);
        expect_int(bench.table.rows[0].segments[0].n_concealed, 2);
        expect_int(bench.table.rows[0].segments[0].ran_ms, 0);
        expect_int(bench.table.rows[0].segments[0].behind.first, 0);
        expect_int(strlen(vrt_store_instance(bench.store)), VRT_STORE_INSTANCE_BYTES - 1);
        /* It is the file's own, which stays. */
        if (i > 0)
            expect_str(vrt_store_instance(bench.store), instance);
        snprintf(instance, sizeof(instance), "%s", vrt_store_instance(bench.store));
        expect_int(bench.table.last_id, 8);
        expect_int(bench.table.n_measures, i);
        vrt_store_put_measure(bench.store, &measure);
        bench_close(&bench);
        execute(&bench, "UPDATE segments SET behind = '{\"first\":1,\"clip\":-1}'");
    }
    bench_remove(&bench);
}

/* Where a migration finds no room, the old version is still there, and works with room. */
static void test_migration_fails(void)
{
    struct vrt_error error = { 0 };
    struct bench bench;

    bench_init(&bench);
    execute(&bench, VERSION_1);
    bench.max_bytes = 1;
    expect_int(bench_try(&bench, &error), -ENOSPC);
    expect_contains(error.message, "is full: free some space");
    execute(&bench, "CREATE TABLE measured (x); DROP TABLE measured");
    bench.max_bytes = 0;
    bench_open(&bench);
    bench_end(&bench);
}

/* What another program made, or a newer vrtd, or isn't a database, is refused and stays. */
static void test_refused(void)
{
    static const struct {
        const char *sql;
        size_t n_bytes;                 /* of what is no database */
        int result;
        const char *says;
    } cases[] = {
        { VERSION_1 "PRAGMA user_version = 99", 0, -EPROTO, "newer vrtd (version 99" },
        { VERSION_1 "PRAGMA user_version = -1", 0, -EPROTO, "version -1" },
        { "CREATE TABLE jobs (id INTEGER PRIMARY KEY)", 0, -EEXIST, "another program" },
        { NULL, 5000, -EBADMSG, "is damaged" }, { NULL, 5, -EBADMSG, "is damaged" },
    };
    char bytes[5000];

    memset(bytes, 'v', sizeof(bytes));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench bench;
        bench_init(&bench);
        if (cases[i].sql)
            execute(&bench, cases[i].sql);
        else
            write_file(bench.file, bytes, cases[i].n_bytes);
        expect_refused(&bench, cases[i].result, cases[i].says);
        bench_remove(&bench);
    }
}

/* A state that a newer one knows is no damage, and not for us to make something of. */
static void test_unknown_state(void)
{
    const struct vrt_store_reader reader = { 0 };
    struct vrt_error error = { 0 };
    struct bench bench;
    int64_t last_id;

    bench_init(&bench);
    execute(&bench, VERSION_1 "UPDATE jobs SET state = 'teleported'");
    bench_open(&bench);
    expect_int(vrt_store_load(bench.store, &reader, &last_id, &error), -EPROTO);
    expect_contains(error.message, "job 5 in ");
    bench_end(&bench);
}

static int skip_job(void *ctx, const struct vrt_store_job *job)
{
    *(size_t *)ctx += strlen(job->request) + strlen(job->info) + strlen(job->work);
    return 0;
}

static int skip_segment(void *ctx, int64_t job_id, const struct vrt_segment_record *segment)
{
    *(size_t *)ctx += (size_t)job_id & (size_t)segment->number;
    return 0;
}

static void skip_measure(void *ctx, const struct vrt_store_measure *measure)
{
    *(size_t *)ctx += strlen(measure->network);
}

/* A store that may be damaged is refused or read. Return: whether it was refused. */
static bool survives(struct bench *bench)
{
    size_t n_bytes = 0;
    const struct vrt_store_reader reader = { skip_job, skip_segment, &n_bytes };
    struct vrt_error error = { 0 };
    int64_t last_id;
    int r = bench_try(bench, &error);

    if (!r) {
        r = vrt_store_load(bench->store, &reader, &last_id, &error);
        if (!r)
            r = vrt_store_load_measures(bench->store, skip_measure, &n_bytes, &error);
        bench_put(bench, 1);
        bench_close(bench);
    }
    expect_true(!r == !error.message[0]);
    return r != 0;
}

/* A good file, then bytes of it changed, pages swapped, its end cut off. */
static void test_damage(void)
{
    struct bench bench;
    size_t n_bytes;
    int n_refused = 0;
    char *good, *bad;

    bench_begin(&bench);
    for (int i = 1; i <= 300; i++) {
        struct vrt_segment_record segment = bench_segment(i, 0);
        bench_put(&bench, i);
        vrt_store_add_segment(bench.store, i, &segment, bench_done(&bench));
    }
    bench_close(&bench);
    good = read_file(bench.file, &n_bytes);
    bad = malloc(n_bytes);
    expect_true(bad && n_bytes > 40000);

    srand(1);
    for (int i = 0; i < N_DAMAGES; i++) {
        size_t kept = n_bytes;
        memcpy(bad, good, n_bytes);
        for (int j = 0; j <= i % 4; j++)
            bad[(size_t)rand() % n_bytes] = (char)rand();
        if (i % 3 == 0)
            memcpy(bad + 4096 * (size_t)(rand() % 9), good + 4096 * (size_t)(rand() % 9), 4096);
        if (i % 5 == 0)
            kept = 1 + (size_t)rand() % (n_bytes - 1);
        write_file(bench.file, bad, kept);
        n_refused += survives(&bench);
    }
    fprintf(stderr, "%d of %d damaged files were refused\n", n_refused, N_DAMAGES);
    expect_true(n_refused > N_DAMAGES / 4);

    memcpy(bad, good, n_bytes);
    memset(bad + 4096 * 3, 0x5a, 4096);
    write_file(bench.file, bad, n_bytes);
    expect_refused(&bench, -EBADMSG, "is damaged");
    write_file(bench.file, good, n_bytes / 2);
    expect_refused(&bench, -EBADMSG, "is damaged");
    write_file(bench.file, good, n_bytes);
    bench_open(&bench);
    bench_close(&bench);
    free(good);
    free(bad);
    bench_remove(&bench);
}

static void test_places(void)
{
    struct vrt_error error = { 0 };
    struct bench bench;
    char other[110];

    bench_init(&bench);
    expect_int(mkdir(bench.file, 0700), 0);
    expect_true(bench_try(&bench, &error) < 0);
    expect_contains(error.message, bench.file);
    expect_int(rmdir(bench.file), 0);

    error = (struct vrt_error){ 0 };
    snprintf(other, sizeof(other), "%s.other", bench.file);
    expect_int(symlink(other, bench.file), 0);
    expect_int(bench_try(&bench, &error), -ELOOP);
    expect_contains(error.message, bench.file);
    expect_int(access(other, F_OK), -1);
    bench_remove(&bench);

    error = (struct vrt_error){ 0 };
    expect_int(bench_try(&bench, &error), -ENOENT);
    expect_contains(error.message, bench.file);
}

/* As somebody who may not write there. */
static void try_read_only(struct bench *bench)
{
    struct vrt_error error = { 0 };

    if (geteuid() == 0)
        expect_true(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    expect_int(bench_try(bench, &error), -EACCES);
    expect_contains(error.message, bench->file);
    expect_contains(error.message, "must be allowed to write");
    _exit(0);
}

static void test_read_only(void)
{
    struct bench bench;

    bench_init(&bench);
    for (int i = 0; i < 2; i++) {
        int status;
        expect_int(chmod(bench.folder, 0555), 0);
        pid_t child = fork();
        expect_true(child >= 0);
        if (child == 0)
            try_read_only(&bench);
        expect_int(waitpid(child, &status, 0), child);
        expect_int(status, 0);
        expect_int(chmod(bench.folder, 0755), 0);
        /* The second time with a file that may be read, but not written. */
        bench_open(&bench);
        bench_close(&bench);
        expect_int(chmod(bench.file, 0444), 0);
    }
    bench_remove(&bench);
}

TEST_MAIN(
    { "migration", test_migration },
    { "migration-fails", test_migration_fails },
    { "refused", test_refused },
    { "unknown-state", test_unknown_state },
    { "damage", test_damage },
    { "places", test_places },
    { "read-only", test_read_only },
)
