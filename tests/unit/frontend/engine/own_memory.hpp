/// \file This process's memory as the system shows it: where bytes lie, and turning a bit of them.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"

namespace baleen::test {

class OwnMemory {
 public:
  /// Where these bytes lie, at multiples of `alignment`; not on this thread's stack, where who seeks them has copies.
  std::vector<off_t> places_of(std::span<const std::byte> wanted, std::size_t alignment) const {
    std::ifstream maps("/proc/self/maps");
    std::vector<off_t> places;
    std::vector<std::byte> bytes;
    for (std::string line; std::getline(maps, line);) {
      unsigned long long begin = 0, end = 0;
      char rights[5] = {};
      if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, rights) != 3) continue;
      const auto here = reinterpret_cast<std::uintptr_t>(&rights);
      if (std::strncmp(rights, "rw", 2) != 0 || end - begin > kMost || (begin <= here && here < end)) continue;
      bytes.resize(end - begin);
      if (pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin)) !=
          static_cast<ssize_t>(bytes.size()))
        continue;
      for (std::size_t at = 0; at + wanted.size() <= bytes.size(); at += alignment)
        if (std::memcmp(bytes.data() + at, wanted.data(), wanted.size()) == 0)
          places.push_back(static_cast<off_t>(begin + at));
    }
    return places;
  }
  /// Whether they still do: what was given back may be anybody's now.
  bool has(off_t place, std::span<const std::byte> wanted) const {
    std::vector<std::byte> bytes(wanted.size());
    return pread(file_.get(), bytes.data(), bytes.size(), place) == static_cast<ssize_t>(bytes.size()) &&
           std::memcmp(bytes.data(), wanted.data(), wanted.size()) == 0;
  }
  /// A number wherever it lies.
  std::vector<off_t> places_of(std::uint64_t number) const {
    return places_of(std::as_bytes(std::span(&number, 1)), alignof(std::uint64_t));
  }
  /// Turns a bit at those of the places that have the number still. Returns how many do.
  int turn_in(std::span<const off_t> places, std::uint64_t number, std::uint64_t bit) const {
    int turned = 0;
    for (const off_t place : places)
      if (has(place, std::as_bytes(std::span(&number, 1)))) turn(place, bit), ++turned;
    return turned;
  }
  void turn(off_t place, std::uint64_t bit) const {
    const off_t at = place + static_cast<off_t>(bit / 8);
    unsigned char byte = 0;
    if (pread(file_.get(), &byte, 1, at) != 1) return;
    byte = static_cast<unsigned char>(byte ^ (1u << (bit % 8)));
    [[maybe_unused]] const ssize_t written = pwrite(file_.get(), &byte, 1, at);
  }

 private:
  static constexpr unsigned long long kMost = 1ull << 28;  ///< what is larger is nobody's tensor
  const FileHandle file_{open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
};

}  // namespace baleen::test
