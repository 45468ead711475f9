/* SPDX-License-Identifier: MIT */

/*
 * A request is parsed twice: first all of it for its form, so that a mistake at its end is told
 * whatever devices there are; then item by item against the devices. An item either names devices
 * that exist, or a kind that the machine lacks: that one is redirected to the best there is,
 * because a job file written on one machine is often run on another.
 */

#include "workers/plan/device-request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kind.h"

#define E_UNKNOWN "device.unknown"

#define DIGITS "0123456789"

/* Longest request that is looked at. */
#define REQUEST_MAX 512

static const char *const fallback_names[VRT_FALLBACK_COUNT] = {
    [VRT_FALLBACK_WARN] = "warn",
    [VRT_FALLBACK_ALLOW] = "allow",
    [VRT_FALLBACK_FORBID] = "forbid",
};

/* One item of a request. */
struct item {
    bool is_auto, is_all;
    const struct vrt_device_kind *kind;     /* NULL: auto or all */
    const char *name;               /* as it was written: "cpu", "cpu:0" */
    bool is_numbered;               /* of one device, or of all that are parts of one card */
    bool force;                     /* cpu:-1 */
};

/* What is there, and the answer as far as it got. */
struct scope {
    const char *request;            /* for messages */
    enum vrt_fallback fallback;
    const struct vrt_device_info *const *infos;
    size_t n_infos;
    uint64_t unfit;
    const char *why;
    struct vrt_device_choice choice;
};

int vrt_fallback_from_name(const char *name, enum vrt_fallback *ret_fallback)
{
    for (int i = 0; i < VRT_FALLBACK_COUNT; i++) {
        if (strcmp(name, fallback_names[i]) == 0) {
            *ret_fallback = (enum vrt_fallback)i;
            return 0;
        }
    }
    return vrt_raise(-EINVAL);
}

/* Those that a user may mean, "cuda, cpu"; the oracle is for who knows of it. */
static void print_kinds(char *text, size_t size)
{
    const struct vrt_device_kind *kind;
    size_t n = 0;

    for (size_t i = 0; (kind = vrt_device_kind_at(i)) && n < size; i++)
        if (kind->role != VRT_DEVICE_REFERENCE)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", kind->name);
}

static int refuse_item(const char *text, struct vrt_error *error)
{
    char shown[64], kinds[128];

    print_kinds(kinds, sizeof(kinds));
    return vrt_refuse(error, -EINVAL, E_UNKNOWN, "\"%s\" is no device: write auto, all, a kind "
                      "(%s), or a list such as %s:0,%s:1",
                      vrt_printable(text, shown, sizeof(shown)), kinds,
                      vrt_device_kind_at(0)->name, vrt_device_kind_at(1)->name);
}

/* Each device has one name: cpu:00 might be a mistake for another. */
static bool has_zeros_in_front(const char *digits)
{
    return digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
}

static int refuse_zeros(const char *text, struct vrt_error *error)
{
    char shown[64];

    return vrt_refuse(error, -EINVAL, E_UNKNOWN, "\"%s\" is no device: its number is written "
                      "without zeros in front, as in %s:0",
                      vrt_printable(text, shown, sizeof(shown)), vrt_device_kind_at(0)->name);
}

/* The number after a kind's colon: "-1", or decimal digits without a sign. */
static int parse_number(const char *text, struct item *item)
{
    if (strcmp(text, "-1") == 0 && item->kind->role == VRT_DEVICE_HOST) {
        item->force = true;
        return 0;
    }
    size_t n = strspn(text, DIGITS);
    if (n == 0 || n > 4)
        return -EINVAL;
    item->is_numbered = true;
    text += n;
    if (*text == '.' && item->kind->has_parts) {
        n = strspn(++text, DIGITS);
        text += n == 1;
    }
    return *text || n == 0 ? -EINVAL : 0;
}

static int parse_item(const char *text, struct item *ret_item, struct vrt_error *error)
{
    const size_t n = strcspn(text, ":");
    struct item item = { .name = text };

    item.is_auto = strcmp(text, "auto") == 0;
    item.is_all = strcmp(text, "all") == 0;
    if (item.is_auto || item.is_all) {
        *ret_item = item;
        return 0;
    }
    item.kind = vrt_device_kind_find(text, n);
    if (item.kind && text[n] && has_zeros_in_front(text + n + 1))
        return refuse_zeros(text, error);
    if (!item.kind || (text[n] && parse_number(text + n + 1, &item) < 0))
        return refuse_item(text, error);
    *ret_item = item;
    return 0;
}

static bool is_meant(const struct item *item, const struct vrt_device_info *info)
{
    if (!item->is_numbered)
        return strcmp(info->kind, item->kind->name) == 0;
    const size_t n = strlen(item->name);
    return strncmp(info->name, item->name, n) == 0 && (!info->name[n] || info->name[n] == '.');
}

static uint64_t find(const struct scope *scope, const struct item *item)
{
    uint64_t found = 0;

    for (size_t i = 0; i < scope->n_infos; i++)
        if (is_meant(item, scope->infos[i]))
            found |= UINT64_C(1) << i;
    return found;
}

static uint64_t find_kind(const struct scope *scope, const struct vrt_device_kind *kind)
{
    return find(scope, &(struct item){ .kind = kind });
}

static uint64_t find_role(const struct scope *scope, enum vrt_device_role role)
{
    const struct vrt_device_kind *kind;
    uint64_t found = 0;

    for (size_t i = 0; (kind = vrt_device_kind_at(i)); i++)
        if (kind->role == role)
            found |= find_kind(scope, kind);
    return found;
}

static int refuse_absent(const struct scope *scope, struct vrt_error *error)
{
    return vrt_refuse(error, -ENODEV, E_UNKNOWN, "this machine has no device for %s; vrtctl "
                      "devices lists those there are", scope->request);
}

/* Adds a warning, unless it is there already: two numbers of a kind that is absent are one. */
static __attribute__((format(printf, 2, 3))) void warn(struct vrt_device_choice *choice,
                                                       const char *format, ...)
{
    va_list arguments;
    size_t i = 0;

    vrt_assert(choice->n_warnings < VRT_DEVICE_WARNINGS_MAX);
    va_start(arguments, format);
    vsnprintf(choice->warnings[choice->n_warnings], sizeof(choice->warnings[0]), format, arguments);
    va_end(arguments);
    while (strcmp(choice->warnings[i], choice->warnings[choice->n_warnings]) != 0)
        i++;
    choice->n_warnings += i == choice->n_warnings;
}

/* A kind that the machine lacks: the best one that it has. */
static int redirect(struct scope *scope, const struct vrt_device_kind *kind,
                    struct vrt_error *error)
{
    const struct vrt_device_kind *best;

    if (kind->role == VRT_DEVICE_REFERENCE)
        return vrt_refuse(error, -ENODEV, E_UNKNOWN, "there is no reference device here: it must "
                          "be turned on in vrtd.conf, by reference = on in [devices]");
    if (scope->fallback == VRT_FALLBACK_FORBID)
        return vrt_refuse(error, -ENODEV, E_UNKNOWN,
                          "this machine has no %s device, which %s asks for; vrtctl devices "
                          "lists those there are", kind->name, scope->request);
    for (size_t i = 0; (best = vrt_device_kind_at(i)); i++) {
        uint64_t found = find_kind(scope, best);
        if (!found || best->role == VRT_DEVICE_REFERENCE)
            continue;
        scope->choice.devices |= found;
        scope->choice.is_redirected = true;
        if (scope->fallback == VRT_FALLBACK_WARN)
            warn(&scope->choice, "this machine has no %s device: %s is used instead; vrtctl doctor "
                 "tells why", kind->name, best->name);
        return 0;
    }
    return refuse_absent(scope, error);
}

/* For `auto`, where there are accelerators and none of them has ever worked: the CPUs. */
static uint64_t replace_unfit(struct scope *scope, uint64_t accelerators, uint64_t cpus)
{
    if ((accelerators & ~scope->unfit) || !cpus || scope->fallback == VRT_FALLBACK_FORBID)
        return accelerators;
    scope->choice.is_redirected = true;
    if (scope->fallback == VRT_FALLBACK_WARN)
        warn(&scope->choice, "no accelerator of this machine has worked yet (%s%s%.160s%s): cpu is "
             "used instead; vrtctl doctor tells more",
             scope->infos[__builtin_ctzll(accelerators)]->name, scope->why ? ": " : "",
             scope->why ? scope->why : "", accelerators & (accelerators - 1) ? ", ..." : "");
    return cpus;
}

/* For `auto`, where there is no accelerator, but hardware for one. */
static uint64_t replace_missing(struct scope *scope, uint64_t cpus)
{
    if (!scope->why || !cpus)
        return cpus;
    if (scope->fallback == VRT_FALLBACK_WARN)
        warn(&scope->choice, "no accelerator can be used (%.200s): cpu is used instead; vrtctl "
             "doctor tells more", scope->why);
    return cpus;
}

/* For cpu:-1: which accelerators that leaves out. */
static void tell_left_out(struct scope *scope, uint64_t accelerators)
{
    if (accelerators)
        warn(&scope->choice, "cpu:-1 keeps the job on the processor: %s%s of this machine %s no "
             "part", scope->infos[__builtin_ctzll(accelerators)]->name,
             accelerators & (accelerators - 1) ? ", ..." : "",
             accelerators & (accelerators - 1) ? "take" : "takes");
}

static int apply_item(struct scope *scope, const struct item *item, struct vrt_error *error)
{
    uint64_t accelerators = find_role(scope, VRT_DEVICE_ACCELERATOR);
    uint64_t cpus = find_role(scope, VRT_DEVICE_HOST);
    uint64_t found;

    if (item->is_auto || item->is_all) {
        found = item->is_all ? accelerators | cpus :
                accelerators ? replace_unfit(scope, accelerators, cpus) :
                               replace_missing(scope, cpus);
        if (!found)
            return refuse_absent(scope, error);
        scope->choice.devices |= found;
        return 0;
    }
    found = find(scope, item);
    if (found) {
        scope->choice.devices |= found;
        if (item->force)
            tell_left_out(scope, accelerators);
        return 0;
    }
    if (item->is_numbered && find_kind(scope, item->kind))
        return vrt_refuse(error, -ENODEV, E_UNKNOWN,
                          "there is no device %s; vrtctl devices lists those there are",
                          item->name);
    return redirect(scope, item->kind, error);
}

/* Walks the items of `request`; those of a NULL scope are only parsed. */
static int walk(const char *request, struct scope *scope, struct vrt_error *error)
{
    char text[REQUEST_MAX];
    char *rest = text, *word;
    int n_items = 0, n_alone = 0;

    if (snprintf(text, sizeof(text), "%s", request) >= (int)sizeof(text))
        return vrt_refuse(error, -EINVAL, E_UNKNOWN, "the device request is too long");
    while ((word = strsep(&rest, ","))) {
        struct item item;
        int r = parse_item(word, &item, error);
        if (r < 0)
            return r;
        if (scope)
            r = apply_item(scope, &item, error);
        if (r < 0)
            return r;
        n_items++;
        n_alone += item.force || item.is_auto || item.is_all;
    }
    if (n_alone && n_items > 1)
        return vrt_refuse(error, -EINVAL, E_UNKNOWN,
                          "auto, all and cpu:-1 stand alone, not in a list of devices");
    return 0;
}

int vrt_device_request_resolve(const struct vrt_device_request *request,
                               struct vrt_device_choice *ret_choice, struct vrt_error *error)
{
    char shown[64];
    struct scope scope = {
        .request = vrt_printable(request->text, shown, sizeof(shown)),
        .fallback = request->fallback,
        .infos = request->infos,
        .n_infos = VRT_MIN(request->n_infos, VRT_DEVICES_MAX),
        .unfit = request->unfit,
        .why = request->why,
    };
    int r = walk(request->text, NULL, error);

    if (r < 0)
        return vrt_fold(r);
    r = walk(request->text, &scope, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_choice = scope.choice;
    return 0;
}

int vrt_device_request_check(const char *text, struct vrt_error *error)
{
    return vrt_fold(walk(text, NULL, error));
}
