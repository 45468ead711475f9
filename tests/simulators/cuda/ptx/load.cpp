/* SPDX-License-Identifier: MIT */
/*
 * Kernels as nvcc compiles them, in place of those of the C++ compiler
 *
 * VRT_CUDA_SIM_PTX names libraries of translated files, with colons between. From then on a launch
 * of a kernel runs the entry of the same name, with the same bytes as parameters; one that isn't
 * there fails.
 */

#include "tests/simulators/cuda/ptx/load.h"

#include "tests/simulators/cuda/machine/machine.h"
#include "tests/simulators/cuda/ptx/machine.h"
#include "tests/simulators/cuda/ptx/profile.h"

#include <functional>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <map>
#include <sstream>

namespace sim {

namespace {

struct known_entry {
    const vrt_ptx_entry *entry;
    const char *file;
    int target;
};

struct library {
    bool is_wanted = false;
    std::string why;                                /* it can't be used; or empty */
    std::map<std::string, known_entry> entries;     /* by name, as people write it */
    std::map<const void *, std::string> names;      /* of functions that were launched */
};

library &the_library()
{
    static library it;

    return it;
}

/* All members are the same for every thread of the launch. */
struct translated_kernel final : vrt_sim_kernel {
    std::vector<unsigned char> params;
    vrt_ptx_launch launch;
    void (*entry)(const vrt_ptx_launch *l);
    std::function<void()> begin;

    explicit translated_kernel(const void *f) : vrt_sim_kernel(f) {}
    void run_thread() const override { entry(&launch); }
    void params_of(std::vector<vrt_sim_param> *) const override {}
    void begin_launch() const override { begin(); }
};

/* Once, at the first launch: translated files make themselves known when they are loaded. */
void load(library *it)
{
    static bool done;
    const char *path = getenv("VRT_CUDA_SIM_PTX");

    if (done)
        return;
    done = true;
    it->is_wanted = path && path[0];
    std::istringstream paths(it->is_wanted ? path : "");

    for (std::string one; std::getline(paths, one, ':');)
        if (!dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL))
            it->why = std::string("no translated kernels: ") + dlerror();
}

/* The bytes of the arguments, where the entry has them. False where they are others. */
bool lay_out(const vrt_ptx_entry &entry, const vrt_sim_kernel &kernel,
             std::vector<unsigned char> *ret_bytes)
{
    std::vector<vrt_sim_param> given;

    kernel.params_of(&given);
    if (given.size() != entry.n_params)
        return false;
    for (size_t i = 0; i < given.size(); i++) {
        const vrt_ptx_size &wanted = entry.params[i];

        if (given[i].n_bytes != wanted.n_bytes)
            return false;
        ret_bytes->resize(wanted.offset + wanted.n_bytes, 0xff);
        memcpy(&(*ret_bytes)[wanted.offset], given[i].data, wanted.n_bytes);
    }
    return true;
}

size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* What the launch asked for lies behind what the entry has, aligned to no more than it says. */
void place_shared(const vrt_ptx_entry &entry, launch *l, vrt_ptx_launch *ret)
{
    size_t start = vrt_ptx_shared_base + entry.n_shared_bytes;

    if (entry.dynamic_align) {
        start = round_up(start, entry.dynamic_align);
        if (start % (2 * entry.dynamic_align) == 0)
            start += entry.dynamic_align;
    }
    ret->dynamic = start;
    ret->n_shared_bytes = start - vrt_ptx_shared_base + l->dynamic_shared_bytes;
    l->dynamic_shared_bytes = ret->n_shared_bytes;
}

}

cudaError_t use_translated(launch *l, size_t most_shared_bytes, std::string *ret_why)
{
    library &it = the_library();

    load(&it);
    if (!it.is_wanted)
        return cudaSuccess;
    *ret_why = it.why;
    if (!it.why.empty())
        return cudaErrorNoKernelImageForDevice;
    std::string &name = it.names[l->kernel->function];

    if (name.empty())
        name = kernel_name(l->kernel->function);
    const auto found = it.entries.find(name);

    *ret_why = "kernel " + name + ": ";
    if (found == it.entries.end()) {
        *ret_why += "not among those that were translated";
        return cudaErrorNoKernelImageForDevice;
    }
    const vrt_ptx_entry &entry = *found->second.entry;
    auto made = std::make_shared<translated_kernel>(l->kernel->function);

    if (found->second.target > l->compute_capability) {
        *ret_why += "compiled for newer cards";
        return cudaErrorNoKernelImageForDevice;
    }
    if (!lay_out(entry, *l->kernel, &made->params)) {
        *ret_why += "its parameters aren't those that nvcc knows";
        return cudaErrorInvalidValue;
    }
    if (uint64_t(l->block.x) * l->block.y * l->block.z > entry.max_threads ||
        entry.n_shared_bytes + l->dynamic_shared_bytes > most_shared_bytes) {
        *ret_why += "more threads than its bounds, or shared memory than there is";
        return cudaErrorLaunchOutOfResources;
    }
    place_shared(entry, l, &made->launch);
    made->entry = entry.run;
    made->launch.params = made->params.data();
    made->launch.n_param_bytes = made->params.size();
    made->launch.notes = entry.has_constant;
    made->launch.counts = profile_is_on();
    made->begin = [name, &entry] { profile_begin_launch(name, &entry); };
    l->kernel = std::move(made);
    return cudaSuccess;
}

}

void vrt_ptx_add(const vrt_ptx_entry *entries, unsigned n, int target, const char *file)
{
    sim::library &it = sim::the_library();

    for (unsigned i = 0; i < n; i++) {
        char *plain = abi::__cxa_demangle(entries[i].name, nullptr, nullptr, nullptr);
        const std::string name = plain ? plain : entries[i].name;
        const sim::known_entry known = {&entries[i], file, target};

        free(plain);
        if (!it.entries.emplace(name, known).second)
            it.why = std::string(file) + " and " + it.entries[name].file + " both have " + name;
    }
}
