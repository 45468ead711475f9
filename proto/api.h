/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The API on one page: every route, error id and limit
 *
 * HTTP/1.1 with JSON over a Unix socket. What the bodies look like: the headers msg_*.h; the same
 * for people and other programs: openapi.yaml, vrtd-api(7).
 */

#include <stdbool.h>
#include <stddef.h>

/* Where the daemon listens. A client tries these in order: --socket, then ... */
#define VRT_API_SOCKET_VARIABLE "VRTD_SOCKET"           /* ... this variable of the environment, */
#define VRT_API_SOCKET_USER "vrtd.sock"                 /* ... this in $XDG_RUNTIME_DIR, */
                                                        /* ... or in the folder of state, */
#define VRT_API_SOCKET_SYSTEM "/run/vrtd/vrtd.sock"     /* ... and this. */

/* X(name, method, path): "{id}" stands for a job's number. */
#define VRT_API_ROUTES(X)                               \
    X(JOB_CREATE,   "POST",     "/v1/jobs")             \
    X(JOB_LIST,     "GET",      "/v1/jobs")             \
    X(JOB_SHOW,     "GET",      "/v1/jobs/{id}")        \
    X(JOB_CHANGE,   "PATCH",    "/v1/jobs/{id}")        \
    X(JOB_CANCEL,   "DELETE",   "/v1/jobs/{id}")        \
    X(JOB_PAUSE,    "POST",     "/v1/jobs/{id}/pause")  \
    X(JOB_RESUME,   "POST",     "/v1/jobs/{id}/resume") \
    X(JOB_RETRY,    "POST",     "/v1/jobs/{id}/retry")  \
    X(JOB_FORGET,   "POST",     "/v1/jobs/{id}/forget") \
    X(JOB_LOG,      "GET",      "/v1/jobs/{id}/log")    \
    X(JOB_OUTPUT,   "GET",      "/v1/jobs/{id}/output") \
    X(JOB_PREVIEW,  "GET",      "/v1/jobs/{id}/preview") \
    X(UPLOAD_CREATE, "POST",    "/v1/uploads")          \
    X(UPLOAD_DROP,  "DELETE",   "/v1/uploads/{id}")     \
    X(JOB_HISTORY,  "GET",      "/v1/jobs/{id}/history") \
    X(STATUS,       "GET",      "/v1/status")           \
    X(DEVICES,      "GET",      "/v1/devices")          \
    X(DEVICES_TRIM, "POST",     "/v1/devices")          \
    X(DEVICES_HISTORY, "GET",   "/v1/devices/history")  \
    X(MODELS,       "GET",      "/v1/models")           \
    X(MODEL_PULL,   "POST",     "/v1/models")           \
    X(CODECS,       "GET",      "/v1/codecs")           \
    X(PROFILE,      "POST",     "/v1/profile")          \
    X(PREVIEW,      "POST",     "/v1/preview")          \
    X(COMPARE,      "POST",     "/v1/compare")          \
    X(DOCTOR,       "POST",     "/v1/doctor")           \
    X(EVENTS,       "GET",      "/v1/events")           \
    X(TOKEN_CREATE, "POST",     "/v1/tokens")           \
    X(TOKEN_LIST,   "GET",      "/v1/tokens")           \
    X(TOKEN_REVOKE, "DELETE",   "/v1/tokens/{id}")      \
    X(SESSION_OPEN, "POST",     "/v1/session")          \
    X(SESSION_SHOW, "GET",      "/v1/session")          \
    X(SESSION_CLOSE, "DELETE",  "/v1/session")          \
    X(HEALTH,       "GET",      "/healthz")             \
    X(METRICS,      "GET",      "/metrics")

#define VRT_API_ROUTE_ENUM_(name, method, path) VRT_API_##name,
enum vrt_api_route_id {
    VRT_API_ROUTES(VRT_API_ROUTE_ENUM_)
    VRT_API_ROUTE_COUNT,
};
#undef VRT_API_ROUTE_ENUM_

/*
 * X(name, id, HTTP status, meaning). The ids from job.input on are also what a failed job's
 * `error` holds; any id that isn't here has status 500.
 */
#define VRT_API_ERRORS(X)                                                                       \
    X(HTTP_MALFORMED,       "http.malformed",       400, "not HTTP/1.1, or against its rules")  \
    X(HTTP_TIMEOUT,         "http.timeout",         408, "the request took too long to arrive") \
    X(HTTP_BODY_TOO_LARGE,  "http.body_too_large",  413, "the body is over the limit")          \
    X(HTTP_URL_TOO_LONG,    "http.url_too_long",    414, "the URL is over the limit")           \
    X(HTTP_NOT_JSON,        "http.not_json",        415, "Content-Type isn't application/json") \
    X(HTTP_HEADER_TOO_LARGE, "http.header_too_large", 431, "the header is over the limit")      \
    X(HTTP_TOO_MANY,        "http.too_many",        503, "too many connections or streams")     \
    X(WEB_HOST,             "web.host",             421, "Host names another machine")          \
    X(WEB_ORIGIN,           "web.origin",           403, "a page of another origin sent it")    \
    X(WEB_LOGIN,            "web.login",            401, "neither a token nor a session")       \
    X(WEB_SLOW,             "web.slow",             429, "too many logins of the address failed") \
    X(WEB_ONLY,             "web.only",             400, "sessions are for who comes by TCP")   \
    X(WEB_FILES,            "web.files",            403, "no files are opened for who is there") \
    X(WEB_ADMIN,            "web.admin",            403, "over TCP this is an administrator's") \
    X(UPLOAD_NOT_FOUND,     "upload.not_found",     404, "no upload has this number")           \
    X(UPLOAD_TOO_LARGE,     "upload.too_large",     413, "it is larger than is allowed")        \
    X(UPLOAD_TOO_MANY,      "upload.too_many",      503, "too many uploads wait for their jobs") \
    X(OUTPUT_NOT_KEPT,      "output.not_kept",      404, "vrtd has no result of the job to give") \
    X(OUTPUT_RANGE,         "output.range",         416, "nothing of the result is in the range") \
    X(PREVIEW_NONE,         "preview.none",         404, "there is no picture of the job yet")   \
    X(TOKEN_FORBIDDEN,      "token.forbidden",      403, "only administrators, on the socket")  \
    X(TOKEN_EXISTS,         "token.exists",         409, "there is such a token, or no room")   \
    X(TOKEN_NOT_FOUND,      "token.not_found",      404, "no token has this number")            \
    X(ROUTE_NOT_FOUND,      "route.not_found",      404, "nothing is at this path")             \
    X(ROUTE_METHOD,         "route.method",         405, "this path has other methods")         \
    X(REQUEST_JSON,         "request.json",         400, "the body isn't well-formed JSON")     \
    X(REQUEST_FIELD,        "request.field",        400, "a field is unknown or has no meaning") \
    X(REQUEST_QUERY,        "request.query",        400, "the query of the URL isn't understood") \
    X(REQUEST_DESCRIPTORS,  "request.descriptors",  400, "descriptors are missing or unfit")    \
    X(PATH_FORBIDDEN,       "path.forbidden",       403, "the path may not be opened")            \
    X(PATH_NOT_FOUND,       "path.not_found",       404, "no file is at this path")             \
    X(JOB_NOT_FOUND,        "job.not_found",        404, "no job has this number")              \
    X(JOB_FORBIDDEN,        "job.forbidden",        403, "the job is another user's")            \
    X(JOB_PRIORITY,         "job.priority",         403, "priorities over 0 are not everybody's")  \
    X(JOB_HWACCEL,          "job.hwaccel",          403, "hardware isn't configured for it")     \
    X(JOB_STATE,            "job.state",            409, "the job's state doesn't allow it")    \
    X(JOB_NEEDS_INPUT,      "job.needs_input",      409, "the job's files must be given again") \
    X(JOB_PARKED,           "job.parked",           503, "the job was put back into the queue") \
    X(JOB_CRASH_LOOP,       "job.crash_loop",       500, "vrtd ended whenever it began the job") \
    X(JOB_QUEUE_FULL,       "job.queue_full",       503, "as many jobs wait as are allowed")    \
    X(PROFILE_BUSY,         "profile.busy",         503, "another model is being profiled")     \
    X(DOCTOR_BUSY,          "doctor.busy",          503, "an examination goes on already")      \
    X(JOB_INPUT,            "job.input",            422, "the input cannot be restored")        \
    X(JOB_OUTPUT,           "job.output",           422, "the output cannot be written")        \
    X(JOB_SAME_FILE,        "job.same_file",        422, "the output is in use already")        \
    X(JOB_INTERRUPTED,      "job.interrupted",      503, "the daemon stopped before the end")   \
    X(INPUT_EMPTY,          "input.empty",          422, "the input is empty")                  \
    X(INPUT_NOT_REGULAR,    "input.not_regular",    422, "the input is no regular file")        \
    X(INPUT_NOT_MEDIA,      "input.not_media",      422, "the input is not a video")            \
    X(INPUT_PLAYLIST,       "input.playlist",       422, "the input only names other files")    \
    X(INPUT_NO_VIDEO,       "input.no_video",       422, "the input has no video stream")       \
    X(INPUT_CODEC,          "input.codec",          422, "the input's codec cannot be decoded") \
    X(INPUT_UNSUPPORTED,    "input.unsupported",    422, "a kind of video that isn't restored") \
    X(INPUT_TRUNCATED,      "input.truncated",      422, "the input's end is missing")          \
    X(INPUT_DAMAGED,        "input.damaged",        422, "damaged frames, and `strict`")        \
    X(INPUT_CHANGED,        "input.changed",        422, "frames change their size or format")  \
    X(INPUT_OTHER,          "input.other",          422, "not the file that the job began with") \
    X(INPUT_PART,           "input.part",           422, "nothing of the input is at that time") \
    X(INPUT_UNLIKE,         "input.unlike",         422, "two videos can't be compared")      \
    X(INPUT_STREAMS,        "input.streams",        422, "the streams chosen don't fit the input") \
    X(INPUT_PIPE,           "input.pipe",           422, "a pipe cannot be read a second time") \
    X(INPUT_READ,           "input.read",           422, "the input cannot be read")            \
    X(INPUT_TIMEOUT,        "input.timeout",        422, "looking at the input took too long")  \
    X(OUTPUT_CONTAINER,     "output.container",     422, "the output's name has no known ending") \
    X(OUTPUT_CODEC,         "output.codec",         422, "no such encoder for this container") \
    X(OUTPUT_FORMAT,        "output.format",        422, "the codec doesn't hold these frames") \
    X(OUTPUT_QUALITY,       "output.quality",       422, "the codec has no such quality")       \
    X(OUTPUT_PRESET,        "output.preset",        422, "the codec has no such preset")        \
    X(OUTPUT_OPTIONS,       "output.options",       422, "the encoder has no such options")     \
    X(OUTPUT_FULL,          "output.full",          507, "the output's disk is full")           \
    X(OUTPUT_WRITE,         "output.write",         500, "the output cannot be written")        \
    X(OUTPUT_VERIFY,        "output.verify",        500, "the result failed its last check")    \
    X(ENCODE_FAILED,        "encode.failed",        500, "the encoder failed")                  \
    X(MEDIA_CRASHED,        "media.crashed",        500, "what reads and writes videos ended")  \
    X(MEDIA_TIMEOUT,        "media.timeout",        500, "what reads and writes videos hung")   \
    X(STORE_FULL,           "store.full",           507, "the disk of the daemon's state is full") \
    X(STORE_FAILED,         "store.failed",         500, "the daemon's state can't be written") \
    X(SPOOL_QUOTA,          "spool.quota",          507, "a user's working files take too much") \
    X(SPOOL_TOO_LARGE,      "spool.too_large",      507, "one job's working files take too much") \
    X(SPOOL_FULL,           "spool.full",           507, "the disk of working files is full")   \
    X(CLUSTER_FOLDER,       "cluster.folder",       500, "a cluster's folder can't be used")    \
    X(CLUSTER_SEGMENT,      "cluster.segment",      500, "a segment in it is damaged or missing") \
    X(SEGMENT_DAMAGED,      "segment.damaged",      500, "a working file was changed by others") \
    X(REMOTE_OFF,           "remote.off",           403, "vrtd isn't configured to do this")     \
    X(REMOTE_URL,           "remote.url",           422, "not an address that is fetched from")  \
    X(REMOTE_ADDRESS,       "remote.address",       422, "it leads to a private address")        \
    X(REMOTE_FAILED,        "remote.failed",        502, "the other machine failed or refused")  \
    X(REMOTE_TOO_LARGE,     "remote.too_large",     422, "it is larger than is allowed")         \
    X(REMOTE_CHECKSUM,      "remote.checksum",      422, "not the file that was expected")       \
    X(MODEL_FORBIDDEN,      "model.forbidden",      403, "only administrators pull models")      \
    X(MODEL_EXISTS,         "model.exists",         409, "another file has the model's name")    \
    X(MODEL_BUSY,           "model.busy",           503, "as many models come as are allowed")   \
    X(MODEL_NOT_FOUND,      "model.not_found",      404, "no model has this name")              \
    X(MODEL_INVALID,        "model.invalid",        422, "not a checkpoint that can be read")   \
    X(MODEL_UNKNOWN,        "model.unknown_architecture", 422, "not a network that is known")   \
    X(MODEL_OTHER,          "model.other",          422, "not the model that the job began with") \
    X(DEVICE_FORBIDDEN,     "device.forbidden",     403, "only administrators trim devices")     \
    X(DEVICE_UNKNOWN,       "device.unknown",       422, "no device has this name or kind")     \
    X(DEVICE_UNSUPPORTED,   "device.unsupported",   422, "no device computes in this precision") \
    X(DEVICE_MEMORY,        "device.memory",        503, "no device has enough memory")         \
    X(DEVICE_FAILED,        "device.failed",        500, "every device failed on this work")    \
    X(OUT_OF_MEMORY,        "out_of_memory",        503, "the host's memory is full")           \
    X(OUT_OF_DESCRIPTORS,   "out_of_descriptors",   503, "vrtd has as many files open as it may") \
    X(SHUTTING_DOWN,        "shutting_down",        503, "the daemon is about to stop")         \
    X(INTERNAL,             "internal",             500, "a failure of the system underneath")

#define VRT_API_ERROR_ENUM_(name, id, status, meaning) VRT_API_E_##name,
enum vrt_api_error_index {
    VRT_API_ERRORS(VRT_API_ERROR_ENUM_)
    VRT_API_ERROR_COUNT,
};
#undef VRT_API_ERROR_ENUM_

/* The id for vrt_refuse(): VRT_E(JOB_NOT_FOUND) is "job.not_found". */
#define VRT_E(name) (vrt_api_errors[VRT_API_E_##name].id)

/* Limits of one request. */
#define VRT_API_BODY_MAX_BYTES (64 * 1024)
#define VRT_API_HEADER_MAX_BYTES (16 * 1024)
#define VRT_API_URL_MAX_BYTES 2048
#define VRT_API_DESCRIPTORS_MAX 4       /* that may come with it; a job takes two to four */
#define VRT_API_REQUEST_MAX_S 10        /* from its first byte to its last, however slow */
#define VRT_API_IDLE_MAX_S 60           /* a connection between requests */

/* Uploads: a body of any size, which comes no slower than so. */
#define VRT_API_UPLOAD_PATH "/v1/uploads"
#define VRT_API_UPLOAD_PERIOD_S 60
#define VRT_API_UPLOAD_PERIOD_BYTES (64 * 1024)
#define VRT_API_UPLOADS_PER_UID_MAX 8           /* that no job has taken */
#define VRT_API_UPLOAD_KEPT_S 3600              /* from its last byte on, until a job takes it */

/* Limits of what clients may make the daemon hold. */
#define VRT_API_CONNECTIONS_MAX 1024
#define VRT_API_CONNECTIONS_PER_UID_MAX 256
#define VRT_API_STREAMS_PER_UID_MAX 64          /* of events, out of these */
#define VRT_API_UNREAD_MAX_BYTES (128 * 1024 * 1024)    /* of answers and streams, of everybody */
#define VRT_API_UNREAD_PER_UID_MAX_BYTES (32 * 1024 * 1024)
#define VRT_API_RESPONSE_MAX_BYTES (16 * 1024 * 1024)   /* that wait for a reader; then: cut off */
#define VRT_API_EVENT_QUEUE_MAX_BYTES (256 * 1024)      /* likewise, of a stream of events */
#define VRT_API_LIST_MAX 500            /* jobs in one answer of GET /v1/jobs */
#define VRT_API_EVENT_PERIOD_MS 200     /* a job's progress is told no more often */
#define VRT_API_HEARTBEAT_S 15          /* a comment on streams where nothing else was sent */

/* Sizes of texts in messages, each with its NUL byte. */
#define VRT_API_NAME_BYTES 256          /* of a file or model */
#define VRT_API_PATH_BYTES 1024         /* of a file */
#define VRT_API_LINK_BYTES 1024         /* a URL */
#define VRT_API_SHA256_BYTES 65         /* hexadecimal digits */
#define VRT_API_OWNER_BYTES 64          /* a user's name */
#define VRT_API_DEVICE_BYTES 32         /* "cuda:0" */
#define VRT_API_REQUEST_DEVICE_BYTES 256    /* "cuda:0,xpu:1" */
#define VRT_API_WORD_BYTES 32           /* codec, preset, pixel format, architecture */
#define VRT_API_TEXT_BYTES 512          /* a sentence, a description */
#define VRT_API_WARNINGS_MAX 64         /* of a job; the last says how many more there were */
#define VRT_API_DEVICES_MAX 512

#define VRT_API_PRIORITY_MIN (-100)
#define VRT_API_PRIORITY_MAX 100
#define VRT_API_TILE_MAX 16384      /* pixels of the input */
#define VRT_API_OVERLAP_MAX 512     /* pixels of the input */
#define VRT_API_CLIP_MAX 128            /* frames */
#define VRT_API_BATCH_MAX 8             /* frames at a time */
#define VRT_API_TARGET_SIZE_MIN 1000    /* bytes of a result */
#define VRT_API_TARGET_SIZE_MAX 1000000000000000
#define VRT_API_TIMES_MIN 2             /* frames that become of one */
#define VRT_API_TIMES_MAX 16
#define VRT_API_TIME_MAX_S 1000000  /* within a video: 11 days */
#define VRT_API_FPS_MAX 1000            /* of a folder of pictures, or of a result */
#define VRT_API_SIGMA_MAX 50        /* of 255: what VRT is trained to */
#define VRT_API_SCENE_CUTS 0.08         /* the threshold of who only says "on" */

/* Profiles: frames of the size of a small video, unless another is asked for. */
#define VRT_API_PROFILE_WIDTH 640
#define VRT_API_PROFILE_HEIGHT 360
#define VRT_API_PROFILE_SIDE_MIN 8
#define VRT_API_PROFILE_SIDE_MAX 16384
#define VRT_API_PROFILE_FRAMES_MAX 10000
#define VRT_API_OPS_MAX 64              /* kinds of ops that are told of */

/* Devices that are trimmed: one that is still at something else by then is told of as such. */
#define VRT_API_TRIM_PATIENCE_S 30

/* Examinations. */
#define VRT_API_DOCTOR_PATIENCE_S 60    /* for a device; what it hasn't shown by then is left out */
#define VRT_API_DOCTOR_MODEL_PATIENCE_S 600     /* likewise, with a model of the client's choice */
#define VRT_API_CHECKS_MAX 2048

struct vrt_api_route {
    const char *method, *path;
};

struct vrt_api_error {
    const char *id;
    int status;
    const char *meaning;
};

/* By enum vrt_api_route_id and enum vrt_api_error_index. */
extern const struct vrt_api_route vrt_api_routes[VRT_API_ROUTE_COUNT];
extern const struct vrt_api_error vrt_api_errors[VRT_API_ERROR_COUNT];

/* The HTTP status that goes with an error's id; 500 for one that isn't in the table, or NULL. */
int vrt_api_error_status(const char *id);

/* The number of an error's id in the table, INTERNAL's for one that isn't there, or NULL. */
enum vrt_api_error_index vrt_api_error_find(const char *id);

/* What an error's id means; "it failed" for one that isn't in the table, or NULL. */
const char *vrt_api_error_meaning(const char *id);

/*
 * The route for a method and path ("/v1/jobs/12", without a query).
 * Return: 0, with *ret_job_id >= 1 where the path names a job, else -1; -ENOENT: nothing is at
 * this path; -EOPNOTSUPP: something is, with another method (VRT_E(ROUTE_METHOD)).
 */
int vrt_api_route_find(const char *method, const char *path, enum vrt_api_route_id *ret_route,
                       long long *ret_job_id);

/* The methods allowed at `path`, "GET, DELETE", for the Allow header; "" where nothing is. */
const char *vrt_api_route_allow(const char *path, char *buffer, size_t size);
