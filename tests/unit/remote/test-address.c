/* SPDX-License-Identifier: MIT */
/* daemon/address, url: what is connected to, and which addresses are taken at all. */

#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"
#include "daemon/remote/address.h"
#include "daemon/remote/url.h"

static bool is_public(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    char printed[46];

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return vrt_address_is_public((struct sockaddr *)&v4);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
        test_fail("%s is no address", text);
    vrt_address_print((struct sockaddr *)&v6, printed, sizeof(printed));
    expect_true(strchr(printed, ':'));
    return vrt_address_is_public((struct sockaddr *)&v6);
}

static void test_blocks(void)
{
    /* The first and last of each block, and those beside it. */
    static const char *const refused[] = {
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0",
        "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254",
        "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255",
        "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0",
        "198.19.255.255", "198.51.100.7", "203.0.113.255", "224.0.0.1", "239.255.255.255",
        "240.0.0.0", "255.255.255.255",
        "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
        "::ffff:169.254.169.254", "::ffff:0:192.168.1.1", "64:ff9b::10.0.0.1",
        "64:ff9b::127.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:1ff:ffff::1",
        "2001:db8::1", "2001:db8:ffff::1", "2002:7f00:1::1", "2002:0a00:0001::",
        "2002:c0a8:101::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fd12::1",
        "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ffff::1",
    };
    static const char *const taken[] = {
        "1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.114.0", "223.255.255.255",
        "2001:200::1", "2001:4860:4860::8888", "2001:db9::1", "2002:808:808::1", "2606:4700::1",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2a00::1", "3ffe::1", "3fff:1000::1",
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (is_public(refused[i]))
            test_fail("%s is taken for public", refused[i]);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (!is_public(taken[i]))
            test_fail("%s is taken for private", taken[i]);
}

static void test_families(void)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    char text[46];

    expect_true(!vrt_address_is_public((struct sockaddr *)&local));
    expect_str(vrt_address_print((struct sockaddr *)&local, text, sizeof(text)), "?");
    v4.sin_addr.s_addr = htonl(0xc0a80102);
    expect_str(vrt_address_print((struct sockaddr *)&v4, text, sizeof(text)), "192.168.1.2");
}

static void test_urls(void)
{
    static const struct {
        const char *url, *says;         /* NULL: taken */
    } urls[] = {
        { "https://example.org/clip.mp4", NULL },
        { "http://example.org:8080/a/b?c=d#e", NULL },
        { "HTTP://EXAMPLE.ORG/", NULL },
        { "http://[2001:db8::1]/x", NULL },
        { "http://127.0.0.1/", NULL },          /* that is refused where it is connected to */
        { "", "not an address" },
        { "example.org/clip.mp4", "not an address" },
        { "http://example.org:99999/", "not an address" },
        { "http://exa mple.org/", "must be written" },
        { "http://example.org/\r\nHost: x", "must be written" },
        { "http://example.org/\xc3\xa4", "must be written" },
        { "http://[::1/", "not an address" },
        { "file:///etc/passwd", "begins with http" },
        { "ftp://example.org/x", "begins with http" },
        { "gopher://example.org/x", "begins with http" },
        { "concat:/etc/passwd", "begins with http" },
        { "data:text/plain,x", "not an address" },
        { "http://me@example.org/", "name or password" },
        { "http://me:secret@example.org/", "name or password" },
        { "http://:secret@example.org/", "name or password" },
    };

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct vrt_error error = { .id = NULL };
        int r = vrt_url_check(urls[i].url, &error);
        if (!urls[i].says && r)
            test_fail("%s: %s", urls[i].url, error.message);
        if (urls[i].says && !r)
            test_fail("%s is taken", urls[i].url);
        if (!urls[i].says)
            continue;
        expect_contains(error.message, urls[i].says);
        expect_str(error.id, "remote.url");
        expect_true(!strstr(error.message, "secret"));
    }
}

static void test_names(void)
{
    static const struct {
        const char *url, *name, *shown;
    } urls[] = {
        { "https://a.org/x/clip.mp4?key=1", "clip.mp4", "https://a.org/x/clip.mp4" },
        { "https://a.org/x/my%20clip.mp4#t", "my clip.mp4", "https://a.org/x/my%20clip.mp4" },
        { "https://a.org", "", "https://a.org" },
        { "https://a.org/x/", "", "https://a.org/x/" },
        { "https://a.org/..%2f..%2fetc%2fpasswd", "", "https://a.org/..%2f..%2fetc%2fpasswd" },
        { "https://a.org/a%2fb.pth", "a_b.pth", "https://a.org/a%2fb.pth" },
        { "https://a.org/.hidden.pth", "", "https://a.org/.hidden.pth" },
        { "https://a.org/a%00b.pth", "", "https://a.org/a%00b.pth" },
        { "https://a.org/a%0ab.pth", "a?b.pth", "https://a.org/a%0ab.pth" },
        { "https://u:p@a.org/x", "x", "an address with a name in it" },
        { "https://a.org/@u/x", "x", "https://a.org/@u/x" },
    };
    char name[64], shown[128];

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        expect_str(vrt_url_file_name(urls[i].url, name, sizeof(name)), urls[i].name);
        expect_str(vrt_url_shown(urls[i].url, shown, sizeof(shown)), urls[i].shown);
    }
    expect_str(vrt_url_file_name("https://a.org/0123456789", name, 8), "0123...");
}

TEST_MAIN(
    { "blocks", test_blocks },
    { "families", test_families },
    { "urls", test_urls },
    { "names", test_names },
)
