/* SPDX-License-Identifier: MIT */
/*
 * Requests by libcurl over the Unix socket.
 *
 * Descriptors are the first that goes over a new connection: one sendmsg() of CR LF, which HTTP
 * has servers ignore, from curl's callback before the request. See DESCRIPTORS in vrtd-api(7).
 *
 * One handle for all requests, its options set anew for each: curl keeps the connection open in
 * between. A failure has two sources, curl's code and what our own callbacks met, and the second
 * is asked first: a callback that gives up makes curl report nothing but that.
 *
 * Whoever answers may not be vrtd. Its answer is limited in size and time, its texts are printed
 * with control characters made harmless, and what isn't as the API has it is one outcome, BROKEN.
 */

#include "client/conn-impl.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api.h"
#include "base/folder.h"
#include "msg_job.h"

/* One request under way: what curl's callbacks need. */
struct exchange {
    const struct vrt_request *request;
    curl_socket_t socket;
    struct vrt_buf answer;
    int r;
};

int vrt_conn_find_socket(const char *given, char *buffer, size_t size, struct vrt_error *error)
{
    const char *variable = getenv(VRT_API_SOCKET_VARIABLE), *runtime = getenv("XDG_RUNTIME_DIR");
    char printable[200], folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int n = 0;

    if (!given && variable && variable[0])
        given = variable;
    /* The user's own daemon, if there is one, comes before the system's. */
    if (!given && runtime && runtime[0]) {
        n = snprintf(buffer, size, "%s/%s", runtime, VRT_API_SOCKET_USER);
        if ((size_t)n < size && access(buffer, F_OK) == 0)
            return 0;
    }
    /* Where it listens without a folder for such things. */
    if (!given && vrt_folder_of_state(folder, sizeof(folder)) == 0) {
        n = snprintf(buffer, size, "%s/%s", folder, VRT_API_SOCKET_USER);
        if ((size_t)n < size && access(buffer, F_OK) == 0)
            return 0;
    }
    if (!given)
        given = VRT_API_SOCKET_SYSTEM;
    n = snprintf(buffer, size, "%s", given);
    if ((size_t)n < size && (size_t)n < sizeof(((struct sockaddr_un *)0)->sun_path))
        return 0;
    return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage",
                      "%s: a socket's path has at most %zu bytes",
                      vrt_printable(given, printable, sizeof(printable)), sizeof(folder) - 1);
}

int vrt_conn_new(const char *socket_path, int64_t timeout_s, struct vrt_conn **ret_conn)
{
    VRT_CLEANUP(vrt_conn_freep) struct vrt_conn *conn = calloc(1, sizeof(*conn));

    if (!conn)
        return vrt_raise(-ENOMEM);
    conn->timeout_s = timeout_s;
    snprintf(conn->path, sizeof(conn->path), "%s", socket_path);
    vrt_printable(socket_path, conn->printable, sizeof(conn->printable));
    if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
        return vrt_raise(-ENOMEM);
    conn->curl_ready = true;
    conn->easy = curl_easy_init();
    if (!conn->easy)
        return vrt_raise(-ENOMEM);
    *ret_conn = VRT_STEAL(conn);
    return 0;
}

struct vrt_conn *vrt_conn_free(struct vrt_conn *conn)
{
    if (!conn)
        return NULL;
    curl_easy_cleanup(conn->easy);
    if (conn->curl_ready)
        curl_global_cleanup();
    free(conn);
    return NULL;
}

void vrt_conn_set_interrupt(struct vrt_conn *conn, const volatile sig_atomic_t *flag)
{
    conn->interrupt = flag;
}

const char *vrt_conn_path(const struct vrt_conn *conn)
{
    return conn->printable;
}

/* What to do about a socket that cannot be connected to. */
static int refuse_unreachable(const struct vrt_conn *conn, int errno_, struct vrt_error *error)
{
    if (errno_ == EACCES || errno_ == EPERM)
        return vrt_refuse(error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                          "you may not use vrtd's socket %s; ask who runs it for access, or start "
                          "your own with: vrtd", conn->printable);
    /* A queue that is full, or a connection that was closed at once: curl waited for it, and finds
     * no error. */
    if (errno_ == 0)
        return vrt_refuse(error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                          "vrtd at %s takes no connection: too many wait already, or it has no "
                          "memory for one; try again later, and see its log if that stays so",
                          conn->printable);
    return vrt_refuse(error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                      "vrtd is not running: nothing listens at %s; start it with: vrtd",
                      conn->printable);
}

int vrt_conn_curl_failed(const struct vrt_conn *conn, CURL *easy, CURLcode code,
                         struct vrt_error *error)
{
    long errno_ = 0;

    switch (code) {
    case CURLE_OUT_OF_MEMORY:
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "talking to vrtd");
    case CURLE_COULDNT_CONNECT:
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &errno_);
        return refuse_unreachable(conn, (int)errno_, error);
    case CURLE_OPERATION_TIMEDOUT:
        return vrt_refuse(error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                          "vrtd at %s gave no answer within %" PRId64 " s", conn->printable,
                          conn->timeout_s);
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
        return vrt_refuse(error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                          "vrtd at %s closed the connection before its answer was complete",
                          conn->printable);
    case CURLE_ABORTED_BY_CALLBACK:
        return vrt_refuse(error, VRT_CONN_E_INTERRUPTED, "client.interrupted", "interrupted");
    default:
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "what answers at %s is not vrtd: %s", conn->printable,
                          curl_easy_strerror(code));
    }
}

void vrt_conn_prepare(const struct vrt_conn *conn, CURL *easy, const char *path)
{
    char url[VRT_API_URL_MAX_BYTES];

    snprintf(url, sizeof(url), "http://vrtd%s", path);
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, conn->path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    /* The environment's proxy would be asked for a host that exists nowhere. */
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* In HTTP/0.9 any bytes at all are an answer. */
    curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "vrtctl/" VRT_VERSION);
}

/* Opens it as curl would: only here is the number told that send_descriptors() needs. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct exchange *exchange = context;

    (void)purpose;
    exchange->socket = socket(address->family, address->socktype | SOCK_CLOEXEC,
                              address->protocol);
    if (exchange->socket >= 0)
        return exchange->socket;
    exchange->r = vrt_raise(-errno);
    return CURL_SOCKET_BAD;
}

static int send_descriptors(void *context, char *peer, char *own, int peer_port, int own_port)
{
    struct exchange *exchange = context;
    size_t n_bytes = (size_t)exchange->request->n_fds * sizeof(int);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(VRT_API_DESCRIPTORS_MAX * sizeof(int))];
    } control = { 0 };
    struct iovec two_bytes = { .iov_base = (char[]){ '\r', '\n' }, .iov_len = 2 };
    struct msghdr message = {
        .msg_iov = &two_bytes,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = CMSG_SPACE(n_bytes),
    };
    ssize_t n;

    (void)peer, (void)own, (void)peer_port, (void)own_port;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(n_bytes);
    memcpy(CMSG_DATA(header), exchange->request->fds, n_bytes);
    do {
        n = sendmsg(exchange->socket, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n == 2)
        return CURL_PREREQFUNC_OK;
    exchange->r = vrt_raise(n < 0 ? -errno : -EIO);
    return CURL_PREREQFUNC_ABORT;
}

static size_t take_answer(char *data, size_t size, size_t n, void *context)
{
    struct exchange *exchange = context;

    int r = vrt_buf_append(&exchange->answer, data, size * n);
    /* Taking less than was given is how curl is told to give up. */
    if (r < 0)
        exchange->r = r;
    return r < 0 ? 0 : size * n;
}

/* Asked by curl every now and then: not 0 ends the request. */
static int look_up(void *context, curl_off_t total, curl_off_t now, curl_off_t upload_total,
                   curl_off_t upload_now)
{
    const struct vrt_conn *conn = context;

    (void)total, (void)now, (void)upload_total, (void)upload_now;
    return conn->interrupt && *conn->interrupt;
}

/* How long an answer is waited for. */
static int64_t patience_s(const struct vrt_conn *conn, const struct vrt_request *request)
{
    return VRT_MAX(conn->timeout_s, request->patience_s);
}

/* Sends and receives. Return: curl's code. */
static CURLcode perform(struct vrt_conn *conn, struct exchange *exchange)
{
    const struct vrt_request *request = exchange->request;
    CURL *easy = conn->easy;

    vrt_conn_prepare(conn, easy, request->path);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT,
                     request->takes_long ? 0L : (long)patience_s(conn, request));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_up);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, conn);
    if (request->n_fds > 0) {
        vrt_assert(request->n_fds <= VRT_API_DESCRIPTORS_MAX);
        /* A connection that is open already would not pass through open_socket(). */
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, exchange);
        curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, send_descriptors);
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, exchange);
    }
    struct curl_slist *headers = NULL;
    if (request->body) {
        headers = curl_slist_append(NULL, "Content-Type: application/json");
        if (!headers)
            return CURLE_OUT_OF_MEMORY;
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    }
    CURLcode code = curl_easy_perform(easy);
    /* The handle lives on and must not know a list that is freed. */
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    return code;
}

const char *vrt_conn_known_id(const char *id)
{
    for (int i = 0; i < VRT_API_ERROR_COUNT; i++)
        if (strcmp(vrt_api_errors[i].id, id) == 0)
            return vrt_api_errors[i].id;
    return VRT_CONN_REFUSED_ID;
}

int vrt_conn_refused(const struct vrt_conn *conn, long status, const struct vrt_buf *answer,
                     struct vrt_error *error)
{
    json_t *json = NULL;
    struct vrt_job_error said;
    char message[VRT_API_TEXT_BYTES];

    int r = vrt_json_parse(answer->data, answer->size_bytes, &json, NULL);
    if (r == 0)
        r = vrt_error_decode(json, &said);
    json_decref(json);
    if (r < 0)
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "what answers at %s is not vrtd: status %ld without its reason",
                          conn->printable, status);
    vrt_error_set_field(error, said.field);
    r = strcmp(said.id, VRT_E(JOB_NOT_FOUND)) == 0 ? VRT_CONN_E_NOT_FOUND :
        strcmp(said.id, VRT_E(SHUTTING_DOWN)) == 0 ? VRT_CONN_E_UNREACHABLE : VRT_CONN_E_REFUSED;
    return vrt_refuse(error, r, vrt_conn_known_id(said.id), "%s",
                      vrt_printable(said.message, message, sizeof(message)));
}

/* What was received, as JSON. */
static int read_answer(struct vrt_conn *conn, const struct vrt_buf *answer, json_t **ret_json,
                       struct vrt_error *error)
{
    struct vrt_error reason = { 0 };
    json_t *json = NULL;
    long status = 0;

    curl_easy_getinfo(conn->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || status > 299)
        return vrt_conn_refused(conn, status, answer, error);
    int r = vrt_json_parse(answer->data ? answer->data : "", answer->size_bytes, &json, &reason);
    if (r == -ENOMEM)
        return vrt_refuse_errno(error, r, "reading vrtd's answer");
    if (r == 0 && json_is_object(json)) {
        *ret_json = json;
        return 0;
    }
    json_decref(json);
    return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                      "what answers at %s is not vrtd: %s", conn->printable,
                      r < 0 ? reason.message : "no JSON object");
}

int vrt_conn_request(struct vrt_conn *conn, const struct vrt_request *request,
                     struct json_t **ret_json, struct vrt_error *error)
{
    struct exchange exchange = {
        .request = request,
        .socket = CURL_SOCKET_BAD,
        .answer.limit_bytes = VRT_API_RESPONSE_MAX_BYTES,
    };
    int r;

    CURLcode code = perform(conn, &exchange);
    if (exchange.r == -EMSGSIZE)
        r = vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                       "what answers at %s is not vrtd: its answer is over %d MiB",
                       conn->printable, VRT_API_RESPONSE_MAX_BYTES >> 20);
    else if (exchange.r == -EPIPE || exchange.r == -ECONNRESET)
        r = vrt_conn_curl_failed(conn, conn->easy, CURLE_SEND_ERROR, error);
    else if (exchange.r < 0)
        r = vrt_refuse_errno(error, exchange.r, "reaching vrtd");
    else if (code == CURLE_OPERATION_TIMEDOUT)
        r = vrt_refuse(error, VRT_CONN_E_UNREACHABLE, "client.unreachable", "vrtd at %s gave no "
                       "answer within %" PRId64 " s", conn->printable, patience_s(conn, request));
    else if (code != CURLE_OK)
        r = vrt_conn_curl_failed(conn, conn->easy, code, error);
    else
        r = read_answer(conn, &exchange.answer, ret_json, error);
    vrt_buf_done(&exchange.answer);
    return vrt_fold(r);
}

int vrt_conn_post(struct vrt_conn *conn, const struct vrt_request *request,
                  const struct vrt_field *fields, const void *object, json_t **ret_json,
                  struct vrt_error *error)
{
    struct vrt_request posted = *request;
    struct vrt_buf body = { 0 };

    int r = vrt_fields_print(fields, object, &body);
    if (r < 0)
        return vrt_refuse_errno(error, r, "writing the request");
    posted.method = "POST";
    posted.body = body.data;
    r = vrt_conn_request(conn, &posted, ret_json, error);
    vrt_buf_done(&body);
    return vrt_fold(r);
}

int vrt_conn_get(struct vrt_conn *conn, struct json_t **ret_json, struct vrt_error *error,
                 const char *format, ...)
{
    char path[256];
    va_list args;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    const struct vrt_request request = { .method = "GET", .path = path };
    return vrt_conn_request(conn, &request, ret_json, error);
}

int vrt_conn_get_job(struct vrt_conn *conn, int64_t id, struct vrt_job_info *ret_job,
                     json_t **ret_json, struct vrt_error *error)
{
    json_t *json = NULL;

    int r = vrt_conn_get(conn, &json, error, "/v1/jobs/%" PRId64, id);
    if (r == 0 && vrt_job_info_decode(json, ret_job, error) < 0)
        r = VRT_CONN_E_BROKEN;
    if (r == 0 && ret_json)
        *ret_json = json;
    else
        json_decref(json);
    return r;
}
