/* SPDX-License-Identifier: MIT */
/* daemon/pulls: what is refused before anything is fetched, and what is told. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static void set_up(struct vrt_pulls_params params, uv_loop_t *loop, struct vrt_pulls **ret_pulls)
{
    vrt_thread_set_role(VRT_THREAD_LOOP, "loop");
    expect_int(uv_loop_init(loop), 0);
    params.loop = loop;
    expect_int(vrt_pulls_new(&params, ret_pulls), 0);
}

static void tear_down(struct vrt_pulls *pulls, uv_loop_t *loop)
{
    bool stopped = false;

    vrt_pulls_stop(pulls, on_stopped, &stopped);
    uv_run(loop, UV_RUN_DEFAULT);
    expect_true(stopped);
    expect_int(uv_loop_close(loop), 0);
}

/* Where there is no catalogue, it isn't the name that is wrong. */
static void test_no_catalogue(void)
{
    struct vrt_model_request request = { .name = "o" };
    struct vrt_error error = { .id = NULL };
    struct vrt_model_report report;
    struct vrt_pulls *pulls;
    uv_loop_t loop;

    set_up((struct vrt_pulls_params){
        .folder = "/dev/null",
        .catalogue_path = "/usr/share/vrtd/catalogue.json",
    }, &loop, &pulls);
    expect_int(vrt_pulls_start(pulls, &request, &report, &error), -ENOENT);
    expect_str(error.id, "model.not_found");
    expect_str(error.message, "this vrtd has no catalogue to find o in: there is none at "
               "/usr/share/vrtd/catalogue.json that can be read; vrtctl models pull URL --sha256 "
               "HEX needs none");
    /* However long the name is, the cure stands behind it. */
    memset(request.name, 'x', sizeof(request.name) - 1);
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_pulls_start(pulls, &request, &report, &error), -ENOENT);
    expect_contains(error.message, "--sha256 HEX needs none");
    tear_down(pulls, &loop);
}

#define ENTRY(name, url, sha256) \
    "{\"name\": \"" name "\", \"scale\": 2, \"architecture\": \"compact\", \"url\": \"" url "\", " \
    "\"size_bytes\": null, \"sha256\": " sha256 "}"
#define KNOWN ENTRY("known", "https://models.example.org/known.pth", "null")

/* A catalogue is taken whole or not at all. */
static void test_catalogue(void)
{
    static const struct {
        const char *entries;
        size_t n_models;
        const char *says;           /* where it is refused */
    } rows[] = {
        { KNOWN, 1, NULL },
        { KNOWN ", " ENTRY("more", "http://x.org/more.safetensors", "null"), 2, NULL },
        { KNOWN ", " KNOWN, 0, "the catalogue test: known is there twice" },
        { ENTRY("known", "ftp://x.org/known.pth", "null"), 0,
          "the catalogue test: ftp://x.org/known.pth: an address here begins with http:// or "
          "https://" },
        { ENTRY("known", "https://x.org/other.pth", "null"), 0,
          "the catalogue test: known: its url must end in its name and .pth or .safetensors" },
        { ENTRY("known", "https://x.org/known.pth", "\"abc\""), 0,
          "the catalogue test: known: its sha256 isn't 64 hexadecimal digits in lower case" },
    };
    char text[1024];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_catalogue *catalogue = NULL;
        struct vrt_error error = { .id = NULL };
        snprintf(text, sizeof(text), "{\"models\": [%s]}", rows[i].entries);
        expect_int(vrt_catalogue_parse(text, strlen(text), "test", &catalogue, &error),
                   rows[i].says ? -EINVAL : 0);
        expect_str(error.message, rows[i].says ? rows[i].says : "");
        if (rows[i].says)
            continue;
        expect_int(catalogue->n_models, rows[i].n_models);
        expect_true(vrt_catalogue_find(catalogue, "known") == catalogue->models);
        vrt_catalogue_free(catalogue);
    }
}

/* Pulls of so many models that fail at once, as their folder can't be made. */
static void fail(struct vrt_pulls *pulls, uv_loop_t *loop, int first, int n)
{
    struct vrt_model_request request = { .name = "" };
    struct vrt_model_report report;
    struct vrt_error error = { .id = NULL };

    for (int i = first; i < first + n; i++) {
        snprintf(request.url, sizeof(request.url), "https://models.example.org/m%d.pth", i);
        /* Who asks again while it goes on is told of the same. */
        for (int k = 0; k < 2; k++) {
            report = (struct vrt_model_report){ .state = -1 };
            expect_int(vrt_pulls_start(pulls, &request, &report, &error), 0);
            expect_int(report.state, VRT_MODEL_PULLING);
            expect_int(report.size_bytes, VRT_UNKNOWN);
            expect_int(report.done_bytes, 0);
        }
        uv_run(loop, UV_RUN_DEFAULT);
    }
}

/* So many are told of, the oldest first; `first` is the number of that. */
static void expect_told(const struct vrt_pulls *pulls, int first)
{
    struct vrt_model_report *reports = NULL;
    size_t n = 0;
    char name[8];

    expect_int(vrt_pulls_report(pulls, &reports, &n), 0);
    expect_int(n, VRT_PULLS_KEPT);
    snprintf(name, sizeof(name), "m%d", first);
    expect_str(reports[0].name, name);
    for (size_t i = 0; i < n; i++) {
        expect_int(reports[i].state, VRT_MODEL_FAILED);
        expect_contains(reports[i].error, "making the folder of models");
    }
    free(reports);
}

/* Of those that are over the last ones are told of, each once. */
static void test_kept(void)
{
    struct vrt_pulls *pulls;
    uv_loop_t loop;

    set_up((struct vrt_pulls_params){ .folder = "/dev/null/models" }, &loop, &pulls);
    fail(pulls, &loop, 0, VRT_PULLS_KEPT);
    expect_told(pulls, 0);
    fail(pulls, &loop, VRT_PULLS_KEPT, 2);
    expect_told(pulls, 2);
    fail(pulls, &loop, 2, 1);
    expect_told(pulls, 3);
    fail(pulls, &loop, 0, 1);
    expect_told(pulls, 4);
    tear_down(pulls, &loop);
}

#define OF_HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define FULL(name, sha256) \
    "{\"name\": \"" name "\", \"scale\": 2, \"architecture\": \"compact\", " \
    "\"url\": \"http://x/" name ".pth\", \"size_bytes\": 7, \"sha256\": \"" sha256 "\", " \
    "\"description\": \"of " name "\", \"license\": \"MIT\"}"

#define BUSY -EBUSY, "model.busy"
#define NO_MODEL -EINVAL, "remote.url", "the address must end in the name of a checkpoint, with " \
    ".pth, .safetensors, .onnx or the like"

/* All that is told of models: those that are there, those of the catalogue, and what is pulled. */
static void expect_reports(const struct vrt_pulls *pulls, const char *wanted)
{
    static const char *const there[] = { "mine", "known", "other", "loose" };
    size_t n = VRT_ARRAY_SIZE(there), used = 0;
    struct vrt_model_report *reports = calloc(n, sizeof(*reports));
    char text[2048];

    for (size_t i = 0; i < n; i++) {
        vrt_model_report_init(&reports[i]);
        snprintf(reports[i].name, sizeof(reports[i].name), "%s", there[i]);
        snprintf(reports[i].error, sizeof(reports[i].error), "%s", i == 1 ? "no checkpoint" : "");
        reports[i].size_bytes = 5;
    }
    expect_int(vrt_pulls_report(pulls, &reports, &n), 0);
    for (size_t i = 0; i < n; i++) {
        const struct vrt_model_report *m = &reports[i];
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s: %s %s %d, %s %s <%s> %s %d, %d of %d, %d: %s\n", m->name,
                                 vrt_model_state_names[m->state], m->architecture, (int)m->scale,
                                 m->description, m->license, m->url, m->sha256, m->verified,
                                 (int)m->done_bytes, (int)m->size_bytes, (int)m->parameters,
                                 m->error);
    }
    expect_str(text, wanted);
    free(reports);
}

/* One after the other, and what comes of it. */
static const struct {
    struct vrt_model_request request;
    int result;
    const char *id, *says;      /* where it is refused */
} asked[] = {
    { { .name = "known" }, 0, "", "" },
    { { .name = "other" }, 0, "", "" },
    { { .url = "http://y/loose.pth?a" }, 0, "", "" },
    { { .name = "known", .sha256 = OF_NOTHING }, BUSY,
      "known.pth is being pulled from elsewhere, or with another SHA-256" },
    { { .url = "http://y/known.pth", .sha256 = OF_HELLO }, BUSY,
      "known.pth is being pulled from elsewhere, or with another SHA-256" },
    { { .url = "http://y/gone.pth", .sha256 = OF_HELLO }, 0, "", "" },
    { { .name = "third" }, BUSY, "4 models are being pulled, which is as many as are allowed: "
      "try again when one of them is there" },
    { { .name = "known" }, 0, "", "" },
    { { .name = "../known" }, -ENOENT, "model.not_found", "the catalogue has no model called "
      "../known: see vrtctl models, or give its address" },
    { { .url = "https://y/" }, NO_MODEL },
    { { .url = "https://y/model.zip" }, NO_MODEL },
    { { .url = "file:///etc/model.pth" }, -EINVAL, "remote.url", "file:///etc/model.pth: an "
      "address here begins with http:// or https://" },
};

/* Pulls that are asked for while others go on: what is told of all then, and when they are over.
 * Files that stand there already are looked at, and stay. */
static void test_there_already(void)
{
    static const char entries[] = "{\"models\": [" FULL("known", OF_HELLO) ", "
        FULL("other", OF_NOTHING) ", " FULL("third", OF_HELLO) "]}";
    char folder[] = "/tmp/vrt-pulls-XXXXXX", command[200];
    struct vrt_catalogue *catalogue = NULL;
    struct vrt_error error = { .id = NULL };
    struct vrt_model_report report;
    struct vrt_pulls *pulls;
    uv_loop_t loop;

    expect_true(mkdtemp(folder));
    snprintf(command, sizeof(command), "cd %s && mkdir third.pth && "
             "for x in known other loose gone; do printf hello >$x.pth; done", folder);
    expect_int(system(command), 0);
    expect_int(vrt_catalogue_parse(entries, strlen(entries), "x", &catalogue, &error), 0);
    set_up((struct vrt_pulls_params){ .folder = folder, .catalogue = catalogue }, &loop, &pulls);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(asked); i++) {
        error = (struct vrt_error){ .id = NULL };
        expect_int(vrt_pulls_start(pulls, &asked[i].request, &report, &error),
                   asked[i].result);
        expect_str(error.id ? error.id : "", asked[i].id);
        expect_str(error.message, asked[i].says);
    }
    expect_reports(pulls,
        "mine: ready  -1,   <>  0, -1 of 5, -1: \n"
        "known: pulling  -1, of known MIT <http://x/known.pth>  0, 0 of 7, -1: no checkpoint\n"
        "other: pulling  -1, of other MIT <http://x/other.pth>  0, 0 of 7, -1: \n"
        "loose: pulling  -1,   <http://y/loose.pth?a>  0, 0 of 5, -1: \n"
        "third: available compact 2, of third MIT <http://x/third.pth> " OF_HELLO
        " 0, -1 of 7, -1: \n"
        "gone: pulling  -1,   <http://y/gone.pth>  0, 0 of -1, -1: \n");
    uv_run(&loop, UV_RUN_DEFAULT);
    expect_int(vrt_pulls_start(pulls, &asked[6].request, &report, &error), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    expect_reports(pulls,
        "mine: ready  -1,   <>  0, -1 of 5, -1: \n"
        "known: ready  -1, of known MIT <http://x/known.pth> " OF_HELLO " 1, 5 of 5, -1: "
        "no checkpoint\n"
        "other: ready  -1, of other MIT <http://x/other.pth>  0, 0 of 7, -1: "
        "other.pth is in the folder of models already, and is another file: remove it first\n"
        "loose: ready  -1,   <http://y/loose.pth?a>  0, 0 of 5, -1: "
        "loose.pth is in the folder of models already: remove it first\n"
        "third: failed compact 2, of third MIT <http://x/third.pth> " OF_HELLO
        " 0, 0 of 7, -1: "
        "third.pth is in the folder of models already, and is another file: remove it first\n");
    /* What would have to be fetched isn't any more. */
    expect_int(vrt_pulls_start(pulls, &(struct vrt_model_request){ .url = "http://y/new.pth" },
                               &report, &error), 0);
    tear_down(pulls, &loop);
    vrt_catalogue_free(catalogue);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    expect_int(system(command), 0);
}

TEST_MAIN(
    { "no-catalogue", test_no_catalogue },
    { "catalogue", test_catalogue },
    { "kept", test_kept },
    { "there-already", test_there_already },
)
