/* SPDX-License-Identifier: MIT */

/*
 * The file: made, migrated, checked, and on any doubt refused as it is
 *
 * Whose file it is, and of which version, is looked at before anything is written, so that a file
 * which is not ours, or newer than this program, stays what it was. Migrations run in one
 * transaction: a start that is killed in the middle of them finds the old tables again.
 *
 * WAL with synchronous=FULL: a commit appends to the log and syncs it, once, whatever the number
 * of rows; the log is moved into the file when it has grown to some megabytes, and at the end.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/store/store-impl.h"
#include "api.h"

#define VRT_LOG_TOPIC "store"

/* In the state folder. */
#define FILE_NAME "/vrtd.db"

/* "vrtd" in the file's header, where file(1) looks for it. */
#define APPLICATION_ID "0x76727464"
#define APPLICATION_ID_VALUE 0x76727464

/* Somebody else's sqlite3 may hold a lock for a moment. */
#define BUSY_MS 3000

/* Of the log, on the disk from the start: on one that is full, some hundred writes still find room,
 * so that what happens to jobs because of that is known after a restart too. It is as long as the
 * log gets before it is moved into the file. */
#define LOG_RESERVE_BYTES (4 << 20)
#define LOG_CHUNK_BYTES (64 << 10)

/* Measured figures that are kept: of models that were used lately. */
#define MEASURES_MAX "10000"

/*
 * Migration i leads from version i to i + 1: user_version in the file's header. What is here was
 * released, and does not change: what is to be different comes as another line.
 *
 * AUTOINCREMENT is what keeps ids from being used twice; STRICT, what is read from having another
 * type than was written.
 */
static const char *const migrations[] = {
    "CREATE TABLE jobs ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, state TEXT NOT NULL,"
    "  priority INTEGER NOT NULL, created_at INTEGER NOT NULL, finished_at INTEGER NOT NULL,"
    "  starts INTEGER NOT NULL, request TEXT NOT NULL, info TEXT NOT NULL, work TEXT NOT NULL"
    ") STRICT;"
    "CREATE TABLE segments ("
    "  job INTEGER NOT NULL, number INTEGER NOT NULL, n_frames INTEGER NOT NULL,"
    "  next_shard INTEGER NOT NULL, size_bytes INTEGER NOT NULL, tail_bytes INTEGER NOT NULL,"
    "  n_concealed INTEGER NOT NULL, PRIMARY KEY (job, number)"
    ") STRICT, WITHOUT ROWID;"
    "PRAGMA application_id = " APPLICATION_ID ";",

    "CREATE TABLE measured ("
    "  network TEXT NOT NULL, device_class TEXT NOT NULL, what TEXT NOT NULL, value REAL NOT NULL,"
    "  at INTEGER NOT NULL, PRIMARY KEY (network, device_class, what)"
    ") STRICT, WITHOUT ROWID;",

    "ALTER TABLE segments ADD COLUMN ran_ms INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE identity (instance TEXT NOT NULL) STRICT;"
    "INSERT INTO identity VALUES (lower(hex(randomblob(8))));",

    "ALTER TABLE jobs ADD COLUMN history TEXT NOT NULL DEFAULT '';",

    "CREATE TABLE tokens ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, digest TEXT NOT NULL,"
    "  is_admin INTEGER NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL"
    ") STRICT;",

    "ALTER TABLE segments ADD COLUMN behind TEXT NOT NULL DEFAULT '';",
};

#define VERSION ((int)VRT_ARRAY_SIZE(migrations))

/* Why the system refused to write to the log, or else to the file: an errno, 0 if it never did.
 * What SQLite itself remembers of it is lost by the time a transaction is rolled back. */
static int write_errno(const struct vrt_store_db *db)
{
    sqlite3_file *log = NULL;
    int number = 0;

    sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    if (!number)
        sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

int vrt_store_db_errno(const struct vrt_store_db *db, int rc)
{
    static const struct {
        int rc, result;
    } known[] = {
        { SQLITE_OK, 0 },
        { SQLITE_FULL, -ENOSPC },
        { SQLITE_IOERR_SHMSIZE, -ENOSPC },
        { SQLITE_NOMEM, -ENOMEM },
        { SQLITE_IOERR_NOMEM, -ENOMEM },
        { SQLITE_BUSY, -EBUSY },
        { SQLITE_LOCKED, -EBUSY },
        { SQLITE_PERM, -EACCES },
        { SQLITE_AUTH, -EACCES },
        { SQLITE_READONLY_DBMOVED, -ESTALE },
        { SQLITE_READONLY, -EROFS },
        { SQLITE_TOOBIG, -EMSGSIZE },
        { SQLITE_CORRUPT, -EBADMSG },
        { SQLITE_NOTADB, -EBADMSG },
    };
    int system;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        if (rc == known[i].rc || (rc & 0xff) == known[i].rc)
            return known[i].result;
    if ((rc & 0xff) != SQLITE_IOERR)
        return -EIO;
    /* A quota, or a limit on the size of files, is a full disk too. */
    system = write_errno(db);
    return system == ENOSPC || system == EDQUOT || system == EFBIG ? -ENOSPC : -EIO;
}

static int refuse_damage(const struct vrt_store_db *db, const char *why, struct vrt_error *error)
{
    /* SQLite heads what it found with a line that says nothing. */
    const char *line = strrchr(why, '\n');
    char shown[160];

    return vrt_refuse(error, vrt_raise(-EBADMSG), VRT_E(INTERNAL), "%s is damaged (%s): move it, "
                      "its -wal and the folder spool away and start again, without the jobs in "
                      "them; `sqlite3 FILE .recover` may save them", db->path,
                      vrt_printable(line ? line + 1 : why, shown, sizeof(shown)));
}

int vrt_store_db_refuse(const struct vrt_store_db *db, int rc, struct vrt_error *error)
{
    int r = vrt_raise(vrt_store_db_errno(db, rc));

    switch (r) {
    case -EBADMSG:
        return refuse_damage(db, sqlite3_errmsg(db->sqlite), error);
    case -ENOSPC:
        return vrt_refuse(error, r, VRT_E(STORE_FULL), "the disk of %s is full: free some space "
                          "and start again", db->path);
    case -EBUSY:
        return vrt_refuse(error, r, VRT_E(STORE_FAILED), "another program keeps %s locked: end it "
                          "and start again", db->path);
    default:
        return vrt_refuse(error, r, VRT_E(STORE_FAILED), "cannot use %s: %s; vrtd must be allowed "
                          "to write to it and to its folder", db->path, sqlite3_errmsg(db->sqlite));
    }
}

/* Makes the file, for its owner alone, where there is none. */
static int make_file(const char *folder, const char *path, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int folder_fd = -1;
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    int r = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        r = vrt_raise(-errno);
    else if (!S_ISREG(st.st_mode))
        r = vrt_raise(-EISDIR);
    if (r == 0 && st.st_size == 0) {
        folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder_fd < 0 || fsync(folder_fd) < 0)
            r = vrt_raise(-errno);
    }
    if (r < 0)
        return vrt_refuse(error, r, VRT_E(STORE_FAILED), "cannot use %s: %s; vrtd must be allowed "
                          "to write to it and to its folder", path,
                          r == -EISDIR ? "it is no file" : strerror(-r));
    return 0;
}

/* The first thing that a query answers with. */
struct answer {
    int64_t value;
    char text[128];
};

/* Return: SQLite's outcome. */
static int query(struct vrt_store_db *db, const char *sql, struct answer *answer)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db->sqlite, sql, -1, &statement, NULL);
    const unsigned char *text;

    *answer = (struct answer){ 0 };
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        answer->value = sqlite3_column_int64(statement, 0);
        text = sqlite3_column_text(statement, 0);
        snprintf(answer->text, sizeof(answer->text), "%s", text ? (const char *)text : "");
    }
    sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int execute(struct vrt_store_db *db, const char *sql)
{
    return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);
}

/* Whether it is ours and of a version we know: *ret_version, 0 for a new file. */
static int identify(struct vrt_store_db *db, int *ret_version, struct vrt_error *error)
{
    struct answer version, application, objects;
    int rc = query(db, "PRAGMA user_version", &version);

    if (rc == SQLITE_OK)
        rc = query(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = query(db, "SELECT count(*) FROM sqlite_schema", &objects);
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    if (objects.value > 0 && application.value != APPLICATION_ID_VALUE)
        return vrt_refuse(error, vrt_raise(-EEXIST), VRT_E(INTERNAL), "%s is a database of another "
                          "program: move it away, or give vrtd a state folder of its own",
                          db->path);
    if (version.value < 0 || version.value > VERSION)
        return vrt_refuse(error, vrt_raise(-EPROTO), VRT_E(INTERNAL), "%s was written by a newer "
                          "vrtd (version %lld, this one knows %d): start that one, or move the "
                          "file away", db->path, (long long)version.value, VERSION);
    *ret_version = (int)version.value;
    return 0;
}

/* Reads every page once: what is wrong is better said now than in the middle of a job. */
static int check(struct vrt_store_db *db, struct vrt_error *error)
{
    struct answer found;
    int rc = query(db, "PRAGMA quick_check(1)", &found);

    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    if (strcmp(found.text, "ok") != 0)
        return refuse_damage(db, found.text, error);
    return 0;
}

/* How it is written: what holds for this connection, and the log, which holds for the file. */
static int configure(struct vrt_store_db *db, int64_t max_bytes, struct vrt_error *error)
{
    struct answer mode, page_bytes;
    char limit[64];
    int rc = query(db, "PRAGMA journal_mode = WAL", &mode);

    if (rc == SQLITE_OK)
        rc = execute(db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000;"
                     "PRAGMA journal_size_limit = 16777216; PRAGMA trusted_schema = OFF;"
                     "PRAGMA temp_store = MEMORY;");
    if (rc == SQLITE_OK)
        rc = query(db, "PRAGMA page_size", &page_bytes);
    if (rc == SQLITE_OK && max_bytes > 0 && page_bytes.value > 0) {
        snprintf(limit, sizeof(limit), "PRAGMA max_page_count = %lld",
                 (long long)VRT_MAX(max_bytes / page_bytes.value, 1));
        rc = execute(db, limit);
    }
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    if (strcmp(mode.text, "wal") != 0)
        return vrt_refuse(error, vrt_raise(-EOPNOTSUPP), VRT_E(INTERNAL), "the file system of %s "
                          "has no shared memory: give vrtd a state folder on a local disk",
                          db->path);
    return 0;
}

static int migrate(struct vrt_store_db *db, int version, struct vrt_error *error)
{
    char mark[64];
    int rc = execute(db, "BEGIN IMMEDIATE");

    for (int i = version; rc == SQLITE_OK && i < VERSION; i++)
        rc = execute(db, migrations[i]);
    snprintf(mark, sizeof(mark), "PRAGMA user_version = %d; COMMIT", VERSION);
    if (rc == SQLITE_OK)
        rc = execute(db, mark);
    /* Whoever closes the file takes back what was begun. */
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    if (version > 0)
        vrt_log_info("%s was brought from version %d to %d", db->path, version, VERSION);
    return 0;
}

/* Figures of models that nobody uses any more go. Where that fails they stay, ignoring. */
static void forget_old_measures(struct vrt_store_db *db)
{
    if (execute(db, "DELETE FROM measured WHERE at < (SELECT at FROM measured ORDER BY at DESC "
                "LIMIT 1 OFFSET " MEASURES_MAX ")"))
        vrt_log_warning("%s: old figures stay: %s, ignoring", db->path,
                        sqlite3_errmsg(db->sqlite));
}

/* Takes room for the log, all of it or none: where there isn't enough it grows as long as it can,
 * and must not have taken what the file itself needs to grow. */
static void reserve_log(struct vrt_store_db *db)
{
    sqlite3_file *log = NULL;
    sqlite3_int64 wanted = LOG_RESERVE_BYTES, before = 0;
    int chunk_bytes = LOG_CHUNK_BYTES, no_chunks = 0, rc;

    sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (!log || !log->pMethods || log->pMethods->xFileSize(log, &before))
        return;
    /* Without a size of chunks the hint is not taken; kept, it would round up each change. */
    log->pMethods->xFileControl(log, SQLITE_FCNTL_CHUNK_SIZE, &chunk_bytes);
    rc = log->pMethods->xFileControl(log, SQLITE_FCNTL_SIZE_HINT, &wanted);
    log->pMethods->xFileControl(log, SQLITE_FCNTL_CHUNK_SIZE, &no_chunks);
    if (rc != SQLITE_OK && log->pMethods->xTruncate(log, before) == SQLITE_OK)
        vrt_log_warning("%s: the disk is almost full, no room for its log ahead of need, ignoring",
                        db->path);
}

int vrt_store_db_open(const struct vrt_store_params *params, struct vrt_store_db **ret_db,
                      struct vrt_error *error)
{
    VRT_CLEANUP(vrt_store_db_closep) struct vrt_store_db *db = calloc(1, sizeof(*db));
    struct answer identity;
    int version = 0, rc, r;

    if (!db)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the store of jobs");
    if (snprintf(db->path, sizeof(db->path), "%s" FILE_NAME, params->folder) >=
        (int)sizeof(db->path))
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), VRT_E(INTERNAL), "the path of the state "
                          "folder, %.100s..., is too long", params->folder);
    r = make_file(params->folder, db->path, error);
    if (r < 0)
        return vrt_fold(r);
    rc = sqlite3_open_v2(db->path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                         SQLITE_OPEN_EXRESCODE, NULL);
    if (!db->sqlite)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the store of jobs");
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    sqlite3_busy_timeout(db->sqlite, BUSY_MS);
    r = identify(db, &version, error);
    if (r < 0)
        return vrt_fold(r);
    r = check(db, error);
    if (r < 0)
        return vrt_fold(r);
    r = configure(db, params->max_bytes, error);
    if (r < 0)
        return vrt_fold(r);
    if (version < VERSION)
        r = migrate(db, version, error);
    if (r < 0)
        return vrt_fold(r);
    rc = query(db, "SELECT instance FROM identity", &identity);
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    snprintf(db->instance, sizeof(db->instance), "%.*s", VRT_STORE_INSTANCE_BYTES - 1,
             identity.text);
    forget_old_measures(db);
    reserve_log(db);
    rc = vrt_store_db_prepare(db);
    if (rc != SQLITE_OK)
        return vrt_store_db_refuse(db, rc, error);
    *ret_db = VRT_STEAL(db);
    return 0;
}

struct vrt_store_db *vrt_store_db_close(struct vrt_store_db *db)
{
    if (!db)
        return NULL;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(db->statements); i++)
        sqlite3_finalize(db->statements[i]);
    sqlite3_close(db->sqlite);
    free(db);
    return NULL;
}
