/* SPDX-License-Identifier: MIT */
/* proto/fields: every type, every refusal, and back again. */

#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/cleanup.h"
#include "compare/msg_compare.h"
#include "fields.h"
#include "msg_device.h"
#include "msg_preview.h"
#include "web/msg_token.h"

struct point {
    int64_t x, y;
};

struct thing {
    bool flag;
    int64_t count, maybe;
    double ratio;
    int64_t when;
    char name[8];
    int colour;
    struct point at;
    bool has_other;
    struct point other;
    struct point *points;
    size_t n_points;
    char (*words)[6];
    size_t n_words;
};

static const char *const colours[] = { "red", "green", "blue", NULL };

#define P struct point
static const struct vrt_field point_fields[] = {
    VRT_FIELD_INT(P, x, VRT_FIELD_REQUIRED, -10, 10),
    VRT_FIELD_INT(P, y, VRT_FIELD_NULLABLE, 0, INT64_MAX),
    VRT_FIELDS_END,
};

#define T struct thing
static const struct vrt_field fields[] = {
    VRT_FIELD_BOOL(T, flag, 0),
    VRT_FIELD_INT(T, count, 0, -5, 5),
    VRT_FIELD_INT(T, maybe, VRT_FIELD_NULLABLE, INT64_MIN, INT64_MAX),
    VRT_FIELD_DOUBLE(T, ratio, VRT_FIELD_NULLABLE, 0, 1),
    VRT_FIELD_TIME(T, when, VRT_FIELD_NULLABLE),
    VRT_FIELD_TEXT(T, name, VRT_FIELD_NULLABLE),
    VRT_FIELD_ENUM(T, colour, VRT_FIELD_NULLABLE, colours),
    VRT_FIELD_OBJECT(T, at, 0, point_fields),
    VRT_FIELD_OPTIONAL(T, other, has_other, point_fields),
    VRT_FIELD_ARRAY(T, points, n_points, 3, point_fields),
    VRT_FIELD_TEXTS(T, words, n_words, 2),
    VRT_FIELDS_END,
};

static int decode(const char *text, enum vrt_field_mode mode, struct thing *thing,
                  struct vrt_error *error)
{
    json_t *json = NULL;

    *thing = (struct thing){ .count = 3 };
    vrt_fields_reset(fields, thing);
    int r = vrt_json_parse(text, strlen(text), &json, error);
    if (r == 0)
        r = vrt_fields_decode(fields, json, mode, thing, error);
    json_decref(json);
    return r;
}

static void test_all_types(void)
{
    static const char text[] =
        "{\"flag\":true,\"count\":-5,\"maybe\":9223372036854775807,\"ratio\":0.25,"
        "\"when\":\"2026-01-02T03:04:05.678Z\",\"name\":\"sju\xc3\xa4.v\",\"colour\":\"blue\","
        "\"at\":{\"x\":1,\"y\":2},\"other\":{\"x\":3,\"y\":null},"
        "\"points\":[{\"x\":4,\"y\":5},{\"x\":6,\"y\":null}],\"words\":[\"\",\"bcdef\"]}";
    struct vrt_buf buf = { 0 };
    struct vrt_error error = { 0 };
    struct thing t;

    if (decode(text, VRT_FIELDS_STRICT, &t, &error) < 0)
        test_fail("%s", error.message);
    expect_true(t.flag && t.has_other);
    expect_int(t.count, -5);
    expect_int(t.maybe, INT64_MAX);
    expect_near(t.ratio, 0.25, 0);
    expect_int(t.when, 1767323045678000000);
    expect_int(t.colour, 2);
    expect_int(t.at.y, 2);
    expect_int(t.other.y, VRT_UNKNOWN);
    expect_int(t.n_points, 2);
    expect_int(t.points[1].x, 6);
    expect_str(t.words[1], "bcdef");
    expect_int(vrt_fields_print(fields, &t, &buf), 0);
    expect_str(buf.data, text);
    vrt_fields_done(fields, &t);
    expect_true(!t.points && !t.words && !t.n_points);
    vrt_buf_done(&buf);
    expect_int(decode("{\"count\":5.0,\"ratio\":1}", VRT_FIELDS_STRICT, &t, &error), 0);
    expect_int(t.count, 5);
    expect_near(t.ratio, 1, 0);
}

static void test_nulls(void)
{
    static const char text[] =
        "{\"flag\":false,\"count\":3,\"maybe\":null,\"ratio\":null,\"when\":null,\"name\":null,"
        "\"colour\":null,\"at\":{\"x\":0,\"y\":null},\"other\":null,\"points\":[],\"words\":[]}";
    struct vrt_buf buf = { 0 };
    struct vrt_error error = { 0 };
    struct thing t;

    expect_int(decode("{}", VRT_FIELDS_STRICT, &t, &error), 0);
    expect_int(vrt_fields_print(fields, &t, &buf), 0);
    expect_str(buf.data, text);
    vrt_buf_done(&buf);
    expect_int(decode(text, VRT_FIELDS_STRICT, &t, &error), 0);
    expect_int(t.maybe, VRT_UNKNOWN);
    expect_true(isnan(t.ratio));
    vrt_fields_done(fields, &t);
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *field, *sentence;
    } cases[] = {
        { "[]", "the body", "the body: expected an object, got an array" },
        { "{\"flag\":1}", "flag", "flag: expected true or false, got an integer" },
        { "{\"flag\":null}", "flag", "flag: expected true or false, got null" },
        { "{\"count\":\"1\"}", "count",
          "count: expected an integer from -5 to 5, got a string" },
        { "{\"count\":6}", "count", "count: expected an integer from -5 to 5, got 6" },
        { "{\"count\":1.5}", "count", "got a number with a fraction" },
        { "{\"count\":1e300}", "count", "from -5 to 5, got 1e+300" },
        { "{\"count\":1000000000000000000000000000000}", "count", "got 1e+30" },
        { "{\"count\":null}", "count", "got null" },
        { "{\"ratio\":-0.5}", "ratio", "ratio: expected a number from 0 to 1, got -0.5" },
        { "{\"ratio\":\"1\"}", "ratio", "from 0 to 1, got a string" },
        { "{\"when\":\"yesterday\"}", "when", "when: expected a time such as" },
        { "{\"when\":\"2026-01-02T03:04:05\"}", "when", "got \"2026-01-02T03:04:05\"" },
        { "{\"when\":7}", "when", "got an integer" },
        { "{\"name\":\"12345678\"}", "name",
          "name: expected a string of at most 7 bytes, got \"12345678\"" },
        { "{\"name\":[]}", "name", "got an array" },
        { "{\"name\":7}", "name", "got an integer" },
        { "{\"colour\":\"pink\"}", "colour",
          "colour: expected \"red\", \"green\" or \"blue\", got \"pink\"" },
        { "{\"colour\":0}", "colour", "got an integer" },
        { "{\"at\":3}", "at", "at: expected an object, got an integer" },
        { "{\"at\":null}", "at", "got null" },
        { "{\"at\":{\"y\":1}}", "at.x", "at.x: this field is required" },
        { "{\"at\":{\"x\":11}}", "at.x", "at.x: expected an integer from -10 to 10, got 11" },
        { "{\"at\":{\"x\":1,\"y\":-1}}", "at.y", "an integer of at least 0, got -1" },
        { "{\"at\":{\"x\":1,\"z\":1}}", "at.z", "at.z: no such field; there are x, y" },
        { "{\"points\":7}", "points", "an array of at most 3 elements, got an integer" },
        { "{\"points\":[{\"x\":1},{\"x\":1},{\"x\":1},{\"x\":1}]}", "points", "at most 3" },
        { "{\"points\":[{\"x\":1},7]}", "points[1]", "points[1]: expected an object, got an int" },
        { "{\"points\":[{\"x\":1},{\"x\":\"\"}]}", "points[1].x", "points[1].x: expected" },
        { "{\"words\":[\"abcdef\"]}", "words[0]", "words[0]: expected a string of at most 5" },
        { "{\"words\":[\"a\",null]}", "words[1]", "got null" },
        { "{\"\":1}", "", ": no such field; there are flag, count, maybe" },
        { "{\"fl\\u001bag\":1}", "fl?ag", "fl?ag: no such field" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_error error = { 0 };
        struct thing t;
        if (decode(cases[i].text, VRT_FIELDS_STRICT, &t, &error) != -EINVAL)
            test_fail("%s was not refused", cases[i].text);
        expect_contains(error.message, cases[i].sentence);
        expect_str(error.field, cases[i].field);
        expect_str(error.id, "request.field");
        expect_true(!t.points && !t.words);
    }
}

static void test_json_refusals(void)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "", "not well-formed JSON at line 1, column 0" },
        { "{", "line 1, column 1" },
        { "null", "'[' or '{' expected" },
        { "{\n \"count\":,}", "line 2" },
        { "{}x", "end of file expected" },
        { "{\"a\":1,\"a\":2}", "duplicate" },
        { "{\"ratio\":1e999}", "overflow" },
        { "{\"name\":\"\\u0000\"}", "\\u0000" },
        { "{\"name\":\"\xff\"}", "unable to decode byte 0xff" },
        { "{'count':1}", "line 1" },
        { "{\"count\":01}", "line 1" },
    };
    char deep[6000];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_error error = { 0 };
        struct thing t;
        expect_int(decode(cases[i].text, VRT_FIELDS_STRICT, &t, &error), -EINVAL);
        expect_contains(error.message, cases[i].sentence);
        expect_str(error.id, "request.json");
    }
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    memset(deep, '[', sizeof(deep));
    expect_int(vrt_json_parse(deep, sizeof(deep), &json, &error), -EINVAL);
    expect_contains(error.message, "depth");
    error = (struct vrt_error){ 0 };
    expect_int(vrt_json_parse("{}\0", 3, &json, &error), -EINVAL);
}

/* What a newer or a broken daemon may say. */
static void test_lenient(void)
{
    struct vrt_error error = { 0 };
    struct thing t;

    expect_int(decode("{\"later\":{\"x\":[1]},\"colour\":\"pink\",\"name\":\"123456789\","
                      "\"flag\":true,\"count\":null,\"at\":null,\"points\":[{}]}",
                      VRT_FIELDS_LENIENT, &t, &error), 0);
    expect_true(t.flag);
    expect_int(t.colour, VRT_UNKNOWN);
    expect_str(vrt_name_of(colours, t.colour), "unknown");
    expect_str(t.name, "1234567");
    expect_int(t.count, VRT_UNKNOWN);
    expect_int(t.points[0].y, VRT_UNKNOWN);
    vrt_fields_done(fields, &t);
    expect_int(decode("{\"flag\":null,\"points\":[{\"x\":1}],\"words\":[3]}", VRT_FIELDS_LENIENT,
                      &t, &error), -EINVAL);
    expect_contains(error.message, "words[0]: expected a string");
    expect_true(!t.points);
}

/* Bytes that are no text, numbers that are none, and no more than there is room for. */
static void test_printing(void)
{
    struct thing t = { .name = "a\xff\nb", .ratio = INFINITY };
    struct vrt_buf buf = { 0 }, small = { .limit_bytes = 40 };

    expect_int(vrt_fields_print(fields, &t, &buf), 0);
    expect_contains(buf.data, "\"name\":\"a??b\"");
    expect_contains(buf.data, "\"ratio\":null");
    expect_int(vrt_buf_append(&small, "before", 6), 0);
    expect_int(vrt_fields_print(fields, &t, &small), -EMSGSIZE);
    expect_str(small.data, "before");
    vrt_buf_done(&buf);
    vrt_buf_done(&small);
}

static void test_times(void)
{
    static const char *const bad[] = { "", "2026", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00",
                                       "2026-01-01T00:00:00.Zx", "2026-01-01T00:00:00+01:00",
                                       "1969-12-31T23:59:59Z", "2201-01-01T00:00:00Z" };
    char text[40];
    int64_t ns = 0;

    expect_str(vrt_time_print(0, text, sizeof(text)), "1970-01-01T00:00:00.000Z");
    expect_int(vrt_time_parse("1970-01-01T00:00:01Z", &ns), 0);
    expect_int(ns, 1000000000);
    expect_int(vrt_time_parse("2200-12-31T23:59:59.1034567891234Z", &ns), 0);
    expect_int(ns, INT64_C(7289654399103456789));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_int(vrt_time_parse(bad[i], &ns), -EINVAL);
}

struct query {
    int64_t after, limit;
    bool active;
};

static void test_queries(void)
{
    static const struct vrt_field known[] = {
        VRT_FIELD_INT(struct query, after, 0, 0, INT64_MAX),
        VRT_FIELD_INT(struct query, limit, 0, -5, 500),
        VRT_FIELD_BOOL(struct query, active, 0),
        VRT_FIELDS_END,
    };
    static const struct {
        const char *text, *field, *sentence;
    } refused[] = {
        { "after", "after", "a value behind an equals sign" },
        { "after=", "after", "an integer from 0 to 9223372036854775807" },
        { "after=-1", "after", "an integer from 0" },
        { "after=--1", "after", "an integer" },
        { "after=-", "after", "an integer" },
        { "after=+1", "after", "an integer" },
        { "after=1%30", "after", "an integer" },
        { "after=1 ", "after", "an integer" },
        { "after=9223372036854775808", "after", "an integer" },
        { "after=00000000000000000000000000000000000001", "after", "an integer" },
        { "after=1&after=1", "after", "one value, got two" },
        { "limit=501", "limit", "from -5 to 500" },
        { "active=1", "active", "true or false" },
        { "active=truest", "active", "true or false" },
        { "active=", "active", "true or false" },
        { "&active=true", "", "may hold after, limit or active, not \"\"" },
        { "active=true&&limit=1", "", "not \"\"" },
        { "=3", "", "not \"\"" },
        { "?after=3", "", "not \"?after\"" },
        { "Active=true", "", "not \"Active\"" },
        { "aft\x1b[31m\xff=3", "", "not \"aft" },
        { "this_name_is_longer_than_any_that_there_may_ever_be=3", "", "not \"this_name" },
    };
    struct query q = { .after = 7, .limit = 8 };
    struct vrt_error error = { 0 };

    expect_int(vrt_query_parse("", known, &q, &error), 0);
    expect_int(q.after, 7);
    expect_int(vrt_query_parse("active=true&limit=-5&after=9223372036854775807", known, &q,
                               &error), 0);
    expect_true(q.active && q.limit == -5 && q.after == INT64_MAX);
    expect_int(vrt_query_parse("active=false&", known, &q, &error), 0);
    expect_true(!q.active);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        error = (struct vrt_error){ 0 };
        expect_int(vrt_query_parse(refused[i].text, known, &q, &error), -EINVAL);
        expect_contains(error.message, refused[i].sentence);
        expect_str(error.field, refused[i].field);
        expect_true(!strchr(error.message, 0x1b));
    }
}

/* What there is to ask of two videos, of models and of who comes by TCP. */
static void test_other_requests(void)
{
    static const char sha[] = "{\"name\":\"x\",\"sha256\":\"ABCDEF0123456789abcdef0123456789abcdef"
                              "0123456789abcdef0123456789\"}";
    static const char compare[] = "{\"a\":{\"fd\":0,\"name\":\"x\"},\"b\":{\"fd\":1,\"name\":"
                                  "\"y\"},\"crop\":1024,\"fvd\":{\"fd\":2,\"name\":\"z\"}}";
    static const char whole[] = "{\"a\":{\"fd\":0,\"name\":\"x\"},\"b\":{\"fd\":1,\"name\":\"y\"}}";
    static const char preview[] = "{\"before\":{\"fd\":0,\"name\":\"x\"},\"after\":{\"fd\":1,"
        "\"name\":\"y\"},\"picture\":{\"fd\":2,\"name\":\"z\"},\"time_s\":1.5}";
    static const char token[] = "{\"name\":\"anna\",\"admin\":true}";
    struct vrt_compare_request c = { .crop = 7 };
    struct vrt_preview_request p = { .time_s = 7 };
    struct vrt_model_request m = { .name = "as before" };
    struct vrt_token_request t = { .expires_s = 7 };
    struct vrt_session_request s = { .token = "as before" };
    struct vrt_error error = { 0 };

    /* All but the last letter: no JSON; with a field more: none that is known. */
    expect_int(vrt_compare_request_parse(compare, sizeof(compare) - 2, &c, &error), -EINVAL);
    expect_int(vrt_preview_request_parse(preview, sizeof(preview) - 2, &p, &error), -EINVAL);
    expect_int(vrt_model_request_parse("{\"nam\":\"x\"}", 11, &m, &error), -EINVAL);
    expect_str(error.field, "nam");
    expect_int(vrt_model_request_parse("{}", 2, &m, &error), -EINVAL);
    expect_int(vrt_token_request_parse("{\"nam\":\"x\"}", 11, &t, &error), -EINVAL);
    expect_int(vrt_session_request_parse("{}", 2, &s, &error), -EINVAL);
    expect_str(m.name, "as before");
    expect_str(s.token, "as before");
    expect_true(c.crop == 7 && p.time_s == 7 && t.expires_s == 7);
    expect_int(vrt_compare_request_parse(compare, sizeof(compare) - 1, &c, &error), 0);
    expect_true(c.a.fd == 0 && c.b.fd == 1 && c.crop == 1024 && c.has_fvd && c.fvd.fd == 2);
    expect_int(vrt_compare_request_parse(whole, sizeof(whole) - 1, &c, &error), 0);
    expect_true(c.crop == 0 && !c.has_fvd);
    expect_int(vrt_preview_request_parse(preview, sizeof(preview) - 1, &p, &error), 0);
    expect_true(p.picture.fd == 2 && isnan(p.start_s) && p.time_s == 1.5);
    expect_int(vrt_token_request_parse(token, sizeof(token) - 1, &t, &error), 0);
    expect_true(t.admin && t.expires_s == VRT_UNKNOWN);
    expect_int(vrt_session_request_parse("{\"token\":\"abc\"}", 15, &s, &error), 0);
    expect_str(s.token, "abc");
    expect_int(vrt_model_request_parse(sha, sizeof(sha) - 1, &m, &error), 0);
    expect_contains(m.sha256, "abcdef0123456789abcdef");
    error = (struct vrt_error){ 0 };
    expect_int(vrt_model_request_parse("{\"name\":\"x\",\"sha256\":\"0\"}", 25, &m, &error),
               -EINVAL);
    expect_str(error.field, "sha256");
}

TEST_MAIN(
    { "all-types", test_all_types },
    { "nulls", test_nulls },
    { "refusals", test_refusals },
    { "json-refusals", test_json_refusals },
    { "lenient", test_lenient },
    { "printing", test_printing },
    { "times", test_times },
    { "queries", test_queries },
    { "requests", test_other_requests },
)
