/* SPDX-License-Identifier: MIT */
/*
 * Plans as text, from which another process makes them again: the engine's configuration with all
 * that it refers to, but for handles, each descriptor within the one that has it
 */

#include "tests/simulators/cuda/libraries/cudnn-graph.h"

namespace sim::cudnn {

namespace {

constexpr char head[] = "plan of the simulated machine, ";

template <class T> void put(std::string *text, T value)
{
    text->append(reinterpret_cast<const char *>(&value), sizeof(value));
}

void write(std::string *text, const descriptor &d)
{
    put(text, int(d.kind));
    put(text, d.engine);
    put(text, d.values.size());
    for (const auto &[name, a] : d.values) {
        put(text, name);
        put(text, int(a.type));
        put(text, a.n);
        for (int64_t i = 0; i < a.n && a.type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++)
            write(text, *d.of(name, i));
        if (a.type != CUDNN_TYPE_BACKEND_DESCRIPTOR && a.type != CUDNN_TYPE_HANDLE)
            text->append(a.bytes.data(), a.bytes.size());
    }
}

/* What is left to be read. */
struct reader {
    const char *at, *end;
    bool failed = false;

    const char *take(size_t n)
    {
        failed = failed || n > size_t(end - at);
        return failed ? nullptr : (at += n) - n;
    }
    template <class T> T get()
    {
        const char *bytes = take(sizeof(T));
        T value{};

        if (bytes)
            memcpy(&value, bytes, sizeof(T));
        return value;
    }
};

void read(reader *r, descriptor *d);

void read_values(reader *r, descriptor *d, attribute *a)
{
    if (a->type == CUDNN_TYPE_HANDLE)
        return;
    if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        const size_t n = size_t(a->n) * size_of(a->type);
        const char *bytes = r->take(n);

        if (bytes)
            a->bytes.assign(bytes, bytes + n);
        return;
    }
    for (int64_t i = 0; i < a->n && !r->failed; i++) {
        d->parts.push_back(std::make_unique<descriptor>());
        const descriptor *part = d->parts.back().get();
        const char *bytes = reinterpret_cast<const char *>(&part);

        read(r, d->parts.back().get());
        a->bytes.insert(a->bytes.end(), bytes, bytes + sizeof(part));
    }
}

void read(reader *r, descriptor *d)
{
    d->kind = cudnnBackendDescriptorType_t(r->get<int>());
    d->engine = r->get<int>();
    d->is_final = true;
    for (size_t n = r->get<size_t>(); n > 0 && !r->failed; n--) {
        const int name = r->get<int>();
        attribute a{};

        a.type = cudnnBackendAttributeType_t(r->get<int>());
        a.n = r->get<int64_t>();
        r->failed = r->failed || a.n < 0 || a.n > 4096;
        if (!r->failed)
            read_values(r, d, &a);
        d->values[name] = a;
    }
}

std::string head_here()
{
    cudaError_t r;
    const device *d = current(&r);

    return head + std::to_string(d ? d->capability : 0) + "\n";
}

}

std::string text_of(const descriptor &plan)
{
    std::string text = head_here();

    write(&text, *plan.of(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
    return text;
}

cudnnStatus_t plan_of_text(descriptor *plan)
{
    const std::vector<char> text =
        plan->values.at(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION).bytes;
    const std::string wanted = head_here();
    reader r{text.data(), text.data() + text.size()};
    const char *found = r.take(wanted.size());

    if (!plan->has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
        return bad("a plan of text without a handle");
    *last_error() = "the text of a plan for another device";
    if (!found || memcmp(found, wanted.data(), wanted.size()) != 0)
        return CUDNN_STATUS_NOT_SUPPORTED;
    plan->parts.push_back(std::make_unique<descriptor>());
    descriptor *config = plan->parts.back().get();
    const char *bytes = reinterpret_cast<const char *>(&config);

    read(&r, config);
    *last_error() = "no text of a plan";
    if (r.failed || r.at != r.end)
        return CUDNN_STATUS_BAD_PARAM;
    plan->values[CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                                             {bytes, bytes + sizeof(config)}};
    return CUDNN_STATUS_SUCCESS;
}

}
