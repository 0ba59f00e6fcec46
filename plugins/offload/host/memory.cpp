/// \file Maps, fills and pins regions.
#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "baleen/available_memory.hpp"
#include "baleen/host.hpp"

namespace baleen::host_memory {
namespace {

constexpr std::uint64_t kHuge = 2u << 20, kPage = 4096;

/// Takes every page now: a step has no page faults, and too little memory is an error here and no signal later.
void take_pages(std::byte* base, std::uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (::madvise(base, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::uint64_t at = 0; at < bytes; at += kPage) *reinterpret_cast<volatile std::byte*>(base + at) = std::byte{0};
}

}  // namespace

Memory::~Memory() {
  while (!regions_.empty()) free_last();
}

Status Memory::add(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t unit = huge_pages_ && end - begin >= kHuge ? kHuge : kPage;
  const std::uint64_t bytes = (end - begin + unit - 1) / unit * unit;
  if (const std::uint64_t available = sdk::available_memory(); bytes > available)
    return Error{BALEEN_NO_MEMORY,
                 "slots of " + std::to_string(end - begin) + " bytes do not fit into the " + std::to_string(available) +
                     " bytes of memory that are available; offload less to memory, or more to a disk",
                 {}};
  // One page of the larger kind more, so that the region can begin at one.
  void* const mapped = ::mmap(nullptr, bytes + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return Error{BALEEN_NO_MEMORY, "cannot map " + std::to_string(bytes) + " bytes: " + std::strerror(errno), {}};
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uint64_t skipped = (unit - address % unit) % unit;
  auto* const base = static_cast<std::byte*>(mapped) + skipped;
  if (skipped) ::munmap(mapped, skipped);
  if (skipped != unit) ::munmap(base + bytes, unit - skipped);
  if (huge_pages_) ::madvise(base, bytes, MADV_HUGEPAGE);  // advice: a kernel without them says no
  take_pages(base, bytes);
  if (pinning_)
    if (const baleen_status_t status = pinning_->pin(pinning_->self, base, bytes); status != BALEEN_OK) {
      ::munmap(base, bytes);
      throw Failed(status);  // who pins has said why
    }
  regions_.push_back({begin, base, bytes});
  return {};
}

void Memory::free_last() {
  const Region& region = regions_.back();
  if (pinning_) pinning_->unpin(pinning_->self, region.base);
  ::munmap(region.base, region.mapped);
  regions_.pop_back();
}

void Memory::remove(std::uint64_t begin) {
  if (!regions_.empty() && regions_.back().begin == begin) free_last();
}

std::byte* Memory::address(std::uint64_t at) const {
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), at,
                                      [](std::uint64_t place, const Region& region) { return place < region.begin; });
  if (after == regions_.begin()) return nullptr;  // a slot without bytes before the first region
  const Region& region = *std::prev(after);
  return region.base + (at - region.begin);
}

}  // namespace baleen::host_memory
