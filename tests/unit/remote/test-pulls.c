/* SPDX-License-Identifier: MIT */
/* daemon/pulls: what is refused before anything is fetched, and what is said then. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/macro.h"
#include "base/thread.h"
#include "daemon/remote/catalogue.h"
#include "daemon/remote/pulls.h"

static void on_stopped(void *ctx)
{
    *(bool *)ctx = true;
}

/* What a pull of `request` is refused with. */
static void refuse(const struct vrt_catalogue *catalogue, const struct vrt_model_request *request,
                   int wanted, struct vrt_error *ret_error)
{
    struct vrt_pulls_params params = {
        .folder = "/nowhere",
        .catalogue = catalogue,
        .catalogue_path = "/usr/share/vrtd/catalogue.json",
    };
    struct vrt_model_report report;
    struct vrt_pulls *pulls = NULL;
    bool stopped = false;
    uv_loop_t loop;

    vrt_thread_set_role(VRT_THREAD_LOOP, "loop");
    expect_int(uv_loop_init(&loop), 0);
    params.loop = &loop;
    expect_int(vrt_pulls_new(&params, &pulls), 0);
    *ret_error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_pulls_start(pulls, request, &report, ret_error), wanted);
    vrt_pulls_stop(pulls, on_stopped, &stopped);
    uv_run(&loop, UV_RUN_DEFAULT);
    expect_true(stopped);
    expect_int(uv_loop_close(&loop), 0);
}

/* Where there is no catalogue, it isn't the name that is wrong. */
static void test_no_catalogue(void)
{
    struct vrt_model_request request = { .name = "other" };
    struct vrt_error error;

    refuse(NULL, &request, -ENOENT, &error);
    expect_str(error.id, "model.not_found");
    expect_str(error.message, "this vrtd has no catalogue to find other in: there is none at "
               "/usr/share/vrtd/catalogue.json that can be read; vrtctl models pull URL --sha256 "
               "HEX needs none");
    /* However long the name is, the cure stands behind it. */
    memset(request.name, 'x', sizeof(request.name) - 1);
    refuse(NULL, &request, -ENOENT, &error);
    expect_contains(error.message, "--sha256 HEX needs none");
}

static void test_unknown_name(void)
{
    static const char text[] = "{\"models\": [{\"name\": \"known\", \"scale\": 2, "
        "\"architecture\": \"compact\", \"url\": \"https://models.example.org/known.pth\", "
        "\"size_bytes\": null, \"sha256\": null}]}";
    const struct vrt_model_request request = { .name = "other" };
    struct vrt_catalogue *catalogue = NULL;
    struct vrt_error error;

    expect_int(vrt_catalogue_parse(text, strlen(text), "test", &catalogue, NULL), 0);
    refuse(catalogue, &request, -ENOENT, &error);
    expect_str(error.id, "model.not_found");
    expect_str(error.message,
               "the catalogue has no model called other: see vrtctl models, or give its address");
    vrt_catalogue_free(catalogue);
}

static void test_addresses(void)
{
    static const struct {
        const char *url, *says;
    } cases[] = {
        { "https://models.example.org/", "must end in the name of a checkpoint" },
        { "https://models.example.org/model.zip", "must end in the name of a checkpoint" },
        { "file:///etc/model.pth", "http" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_model_request request = { .name = "" };
        struct vrt_error error;
        snprintf(request.url, sizeof(request.url), "%s", cases[i].url);
        refuse(NULL, &request, -EINVAL, &error);
        expect_str(error.id, "remote.url");
        expect_contains(error.message, cases[i].says);
    }
}

TEST_MAIN(
    { "no-catalogue", test_no_catalogue },
    { "unknown-name", test_unknown_name },
    { "addresses", test_addresses },
)
