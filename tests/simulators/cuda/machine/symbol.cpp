/* SPDX-License-Identifier: MIT */
/*
 * Names of kernels, for messages
 *
 * Most kernels are static, and no dynamic linker knows those: the symbols are read from the file
 * that was loaded, which is not stripped where tests run.
 */

#include "tests/simulators/cuda/block/block.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <link.h>
#include <vector>

namespace sim {

namespace {

using header = ElfW(Ehdr);
using section = ElfW(Shdr);
using symbol = ElfW(Sym);

/* Items of a table in a file, as many of them as the file really has. */
template <class T> std::vector<T> table(const std::vector<char> &file, size_t offset, size_t n)
{
    const size_t rest = offset < file.size() ? (file.size() - offset) / sizeof(T) : 0;
    std::vector<T> items(n < rest ? n : rest);

    if (!items.empty())
        memcpy(static_cast<void *>(items.data()), &file[offset], items.size() * sizeof(T));
    return items;
}

/* The name of the function whose address in the file is `address`, or "". */
std::string name_in(const std::vector<char> &file, uintptr_t address)
{
    const auto headers = table<header>(file, 0, 1);

    if (headers.empty() || memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0)
        return "";
    const auto sections = table<section>(file, headers[0].e_shoff, headers[0].e_shnum);

    for (const section &s : sections) {
        if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections.size())
            continue;
        for (const symbol &one : table<symbol>(file, s.sh_offset, s.sh_size / sizeof(symbol))) {
            const size_t at = sections[s.sh_link].sh_offset + one.st_name;

            if (one.st_value == address && (one.st_info & 15) == STT_FUNC && at < file.size())
                return std::string(&file[at], strnlen(&file[at], file.size() - at));
        }
    }
    return "";
}

std::string plainly(const std::string &name)
{
    char *plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr);
    const std::string result = plain ? plain : name;

    free(plain);
    return result;
}

}

std::string kernel_name(const void *function)
{
    Dl_info info;
    link_map *map = nullptr;
    char place[64];

    if (!dladdr1(function, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) || !map)
        return "(unknown)";
    const uintptr_t address = reinterpret_cast<uintptr_t>(function) - map->l_addr;
    std::ifstream stream(map->l_name[0] ? map->l_name : "/proc/self/exe", std::ios::binary);
    const std::vector<char> file((std::istreambuf_iterator<char>(stream)),
                                 std::istreambuf_iterator<char>());
    const std::string name = name_in(file, address);

    if (!name.empty())
        return plainly(name);
    snprintf(place, sizeof(place), "+%#zx", size_t(address));
    return std::string(info.dli_fname ? info.dli_fname : "") + place;
}

}
