/* SPDX-License-Identifier: MIT */
/* daemon/web: sessions, failed logins, and for whom requests are meant. */

#include "tests/unit/test.h"

#include <errno.h>

#include "base/clock.h"
#include "base/macro.h"
#include "daemon/access/peer.h"
#include "daemon/web/brake.h"
#include "daemon/web/origin.h"
#include "daemon/web/page.h"
#include "daemon/web/sessions.h"
#include "daemon/web/tcp.h"

#define S VRT_NS_PER_S

static void test_secrets(void)
{
    /* FIPS 180-2, example B.1. */
    static const char wanted[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    char digest[VRT_SECRET_DIGEST_BYTES], a[VRT_SECRET_BYTES], b[VRT_SECRET_BYTES];

    expect_str(vrt_secret_digest("abc", 3, digest), wanted);
    expect_true(vrt_secret_make(a) == 0 && vrt_secret_make(b) == 0);
    expect_int(strlen(a), VRT_SECRET_BYTES - 1);
    expect_true(strcmp(a, b) != 0);
    expect_true(!strpbrk(a, "+/="));
}

static void test_sessions(void)
{
    VRT_CLEANUP(vrt_sessions_freep) struct vrt_sessions *sessions = NULL;
    char first[VRT_SECRET_BYTES], last[VRT_SECRET_BYTES], other[VRT_SECRET_BYTES];
    char second[VRT_SECRET_BYTES], quiet[VRT_SECRET_BYTES];
    int64_t now = S, id = 0, first_id;

    expect_int(vrt_sessions_new(&sessions), 0);
    expect_int(vrt_sessions_use(sessions, "", now, &id), 0);
    expect_int(vrt_sessions_open(sessions, 7, now, first), 0);
    expect_int(vrt_sessions_open(sessions, 8, now, other), 0);
    expect_int(vrt_sessions_use(sessions, first, now, &id), 7);
    first_id = id;
    expect_int(vrt_sessions_use(sessions, other, now, &id), 8);
    expect_true(id != first_id && first_id != 0);
    /* A token has so many: the one unused longest goes, and nobody else's. */
    for (int i = 0; i < VRT_SESSIONS_PER_TOKEN_MAX; i++) {
        expect_int(vrt_sessions_use(sessions, first, S, &id), 7);
        expect_int(vrt_sessions_open(sessions, 7, now += S, i ? last : second), 0);
    }
    expect_int(vrt_sessions_use(sessions, first, now, &id), 0);
    /* Also where there are free places before and behind its own. */
    vrt_sessions_close(sessions, other);
    expect_int(vrt_sessions_open(sessions, 7, now += S, last), 0);
    expect_int(vrt_sessions_use(sessions, second, now, &id), 0);
    expect_int(vrt_sessions_open(sessions, 8, now, other), 0);
    expect_int(vrt_sessions_use(sessions, last, now, &id), 7);
    expect_int(vrt_sessions_use(sessions, other, now, &id), 8);
    /* Unused for a day it is over; used, it is after a week. */
    int64_t used = now;
    expect_int(vrt_sessions_use(sessions, last, now += VRT_SESSION_IDLE_MAX_S * S - 1, &id), 7);
    expect_int(vrt_sessions_use(sessions, last, now + VRT_SESSION_IDLE_MAX_S * S, &id), 0);
    now = used;
    while (used < now + (VRT_SESSION_MAX_S - 3600) * S)
        expect_int(vrt_sessions_use(sessions, other, used += 3600 * S, &id), 8);
    expect_int(vrt_sessions_use(sessions, other, used + 3600 * S, &id), 0);
    /* All places taken: others' make room, and as many stay as there are places. */
    for (int i = 0; i < VRT_SESSIONS_MAX + 100; i++)
        expect_int(vrt_sessions_open(sessions, 100 + i, used + i, i == 99 ? other : i == 100 ?
                                     first : i == 101 ? quiet : i < VRT_SESSIONS_MAX - 1 ?
                                     last : second), 0);
    expect_int(vrt_sessions_use(sessions, other, used + 10 * S, &id), 0);
    expect_int(vrt_sessions_use(sessions, first, used + 10 * S, &id), 200);
    vrt_sessions_close(sessions, first);
    expect_int(vrt_sessions_use(sessions, first, used + 10 * S, &id), 0);
    expect_int(vrt_sessions_use(sessions, second, used + 10 * S, &id), 100 + VRT_SESSIONS_MAX + 99);
    expect_int(vrt_sessions_use(sessions, last, used + 10 * S, &id), 100 + VRT_SESSIONS_MAX - 2);
    vrt_sessions_drop(sessions, 100 + VRT_SESSIONS_MAX + 99);
    expect_int(vrt_sessions_use(sessions, second, used + 10 * S, &id), 0);
    /* Where a place is free the quietest one stays. */
    vrt_sessions_close(sessions, second);
    expect_int(vrt_sessions_open(sessions, 5, used + 10 * S, first), 0);
    expect_int(vrt_sessions_open(sessions, 5, used + 10 * S, last), 0);
    expect_int(vrt_sessions_use(sessions, quiet, used + 10 * S, &id), 201);
}

static void test_brake(void)
{
    struct vrt_brake *brake = calloc(1, sizeof(*brake));
    int64_t now = S, wait = 0;
    char address[VRT_PEER_ADDRESS_BYTES];

    expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now), 0);
    for (int i = 0; i < VRT_BRAKE_FREE; i++) {
        expect_int(vrt_brake_failed(brake, "1.2.3.4", now), i + 1);
        expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now), 0);
    }
    for (int64_t wanted = 1; wait < VRT_BRAKE_MAX_S; wanted *= 2) {
        vrt_brake_failed(brake, "1.2.3.4", now);
        wait = vrt_brake_wait_s(brake, "1.2.3.4", now);
        expect_int(wait, VRT_MIN(wanted, VRT_BRAKE_MAX_S));
        expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now + wait * S - 1), 1);
        now += wait * S;
        expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now), 0);
    }
    for (int i = 0; i < 100; i++)
        vrt_brake_failed(brake, "1.2.3.4", now);
    expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now), VRT_BRAKE_MAX_S);
    expect_int(vrt_brake_wait_s(brake, "1.2.3.5", now), 0);
    /* It stays slowed while fewer others fail than there are places. */
    for (int i = 0; i < VRT_BRAKE_ADDRESSES - 1; i++) {
        snprintf(address, sizeof(address), "10.0.%d.%d", i / 256, i % 256);
        expect_int(vrt_brake_failed(brake, address, now + 1), 1);
    }
    expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now), VRT_BRAKE_MAX_S);
    expect_int(vrt_brake_failed(brake, "10.9.9.9", now + 2), 1);
    expect_int(vrt_brake_wait_s(brake, "1.2.3.4", now), 0);
    for (int i = 0; i < 20; i++)
        vrt_brake_failed(brake, "10.9.9.9", now);
    vrt_brake_passed(brake, "10.9.9.9");
    expect_int(vrt_brake_failed(brake, "10.9.9.9", now), 1);
    for (int i = 2; i < 20; i++)
        expect_int(vrt_brake_failed(brake, "10.9.9.9", now += VRT_BRAKE_FORGET_S * S - 1), i);
    expect_int(vrt_brake_failed(brake, "10.9.9.9", now + VRT_BRAKE_FORGET_S * S), 1);
    free(brake);
}

static void test_hosts(void)
{
    static const struct {
        const char *host, *local;
        bool is_ours;
    } cases[] = {
        { "127.0.0.1:8470", "127.0.0.1", true }, { "127.0.0.1", "127.0.0.1", true },
        { "127.0.0.1:80x", "127.0.0.1", false }, { "[::1]:8470", "::1", true },
        { "[::1", "::1", false }, { "[0:0:0::1]", "::1", true },
        { "localhost:8470", "127.0.0.1", true }, { "LOCALHOST", "::1", true },
        { "localhost", "192.168.1.2", false }, { "192.168.1.2:1", "192.168.1.2", true },
        { "192.168.1.3", "192.168.1.2", false }, { "vrtd.example.org", "127.0.0.1", true },
        { "VRTD.example.org:443", "127.0.0.1", true }, { "nas", "10.0.0.1", true },
        { "evil.example.org", "127.0.0.1", false }, { "vrtd.example.org.evil", "127.0.0.1", false },
        { "xvrtd.example.org", "127.0.0.1", false }, { "", "127.0.0.1", false },
        { ":8470", "127.0.0.1", false }, { "[::1]x", "::1", false }, { "x", "10.0.0.1", true },
        { "na", "10.0.0.1", false }, { "nas:", "10.0.0.1", true }, { "127.1", "127.0.0.1", false },
        { "vrtd.example.org@evil", "127.0.0.1", false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        bool is_ours = vrt_origin_is_host_ours(cases[i].host, cases[i].local,
                                               "vrtd.example.org  nas x");
        if (is_ours != cases[i].is_ours)
            printf("%s at %s\n", cases[i].host, cases[i].local);
        expect_int(is_ours, cases[i].is_ours);
    }
    expect_true(!vrt_origin_is_host_ours("nas", "127.0.0.1", ""));
}

static void test_origins(void)
{
    expect_true(vrt_origin_is_page("http://nas:8470", "nas:8470", false) &&
                vrt_origin_is_page("HTTP://NAS:8470", "nas:8470", false));
    expect_true(vrt_origin_is_page("https://nas", "nas", true));
    expect_true(!vrt_origin_is_page("http://nas", "nas", true));
    expect_true(!vrt_origin_is_page("https://nas", "nas", false));
    expect_true(!vrt_origin_is_page("http://nas:81", "nas", false));
    expect_true(!vrt_origin_is_page("http://nas.evil", "nas", false));
    expect_true(!vrt_origin_is_page("", "nas", false) && !vrt_origin_is_page("null", "nas", false));
}

static void test_addresses(void)
{
    static const char *const wrong[] = {
        "127.0.0.1", "localhost:80", "127.0.0.1:0", "127.0.0.1:65536", "::1:80", "[::1]", "[::1]80",
        "127.0.0.1:80,127.0.0.2:80", "127.0.0.1:+8", "1.2.3:80", ":80", "[127.0.0.1]:80",
        ("127.0.0.1:1 127.0.0.1:2 127.0.0.1:3 127.0.0.1:4 127.0.0.1:5 127.0.0.1:6 127.0.0.1:7 "
         "127.0.0.1:8 127.0.0.1:9"),
    };
    struct vrt_tcp_address found[VRT_TCP_ADDRESSES_MAX];
    struct vrt_error error = { .id = NULL };

    expect_int(vrt_tcp_parse("", found, &error), 0);
    expect_int(vrt_tcp_parse(" 127.0.0.1:8470  [::1]:1 0.0.0.0:65535 [fe80::1]:9", found, &error),
               4);
    expect_str(found[1].text, "[::1]:1");
    expect_true(vrt_tcp_is_loopback(&found[0]) && vrt_tcp_is_loopback(&found[1]));
    expect_true(!vrt_tcp_is_loopback(&found[2]) && !vrt_tcp_is_loopback(&found[3]));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(wrong); i++) {
        error = (struct vrt_error){ .id = NULL };
        expect_int(vrt_tcp_parse(wrong[i], found, &error), -EINVAL);
        expect_true(error.message[0]);
    }
    expect_true(vrt_tcp_are_addresses("") && vrt_tcp_are_addresses(" 127.0.0.1 ::1"));
    expect_true(!vrt_tcp_are_addresses("127.0.0.1 nas") && !vrt_tcp_are_addresses("127.0.0.1:80"));
    expect_true(!vrt_tcp_are_addresses(" nas") && !vrt_peer_is_listed("10.0.0.1", "10.0.0.2"));
    expect_true(vrt_peer_is_listed("10.0.0.1  ::1", "::1") && !vrt_peer_is_listed("", "::1"));
    expect_true(!vrt_peer_is_listed("10.0.0.1 ::1", "10.0.0.10"));
    expect_true(!vrt_peer_is_listed("10.0.0.10", "10.0.0.1"));
}

/* As what others are counted who may be the same. */
static void test_origins_of_addresses(void)
{
    static const char *const addresses[][2] = {
        { "192.0.2.7", "192.0.2.7" }, { "::ffff:192.0.2.7", "192.0.2.7" }, { "", "" },
        { "2001:db8:1:2:ffff:4:5:6", "2001:db8:1:2::" }, { "2001:db8:1:2:ff::", "2001:db8:1:2::" },
        { "2001:db8:1:3::6", "2001:db8:1:3::" }, { "::1", "::" },
    };
    char origin[VRT_PEER_ADDRESS_BYTES];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(addresses); i++) {
        vrt_peer_name_origin(addresses[i][0], origin);
        expect_str(origin, addresses[i][1]);
    }
}

static void test_page(void)
{
    char etag[VRT_PAGE_ETAG_BYTES], other[VRT_PAGE_ETAG_BYTES];
    const struct vrt_page_file *login = vrt_page_find("/", false);
    const struct vrt_page_file *index = vrt_page_find("/", true);

    expect_str(login->name, "login.html");
    expect_str(index->name, "index.html");
    expect_true(vrt_page_is_public(login) && !vrt_page_is_public(index));
    expect_true(strcmp(vrt_page_etag(login, etag), vrt_page_etag(index, other)) != 0);
    expect_true(!vrt_page_find("/../index.html", true) && !vrt_page_find("//index.html", true));
    expect_true(!vrt_page_find("/%2e%2e/index.html", true) && !vrt_page_find("index.html", true));
    expect_true(!vrt_page_find("", true) && !vrt_page_find("/page/index.html", true));
    expect_str(vrt_page_type(index), "text/html; charset=utf-8");
    for (size_t i = 0; i < vrt_n_page_files; i++) {
        const struct vrt_page_file *file = &vrt_page_files[i];
        snprintf(etag, sizeof(etag), "/%s", file->name);
        expect_true(vrt_page_find(etag, false) == file);
        expect_true(strcmp(vrt_page_type(file), "application/octet-stream") != 0);
    }
}

TEST_MAIN(
    { "secrets", test_secrets },
    { "sessions", test_sessions },
    { "brake", test_brake },
    { "hosts", test_hosts },
    { "origins", test_origins },
    { "addresses", test_addresses },
    { "origins-of-addresses", test_origins_of_addresses },
    { "page", test_page },
)
