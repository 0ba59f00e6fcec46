/// \file Pages: begun, filled, given back.
#include "core/memory/small_objects.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace baleen {
namespace {

// By so much it grows. Huge pages would be faster once they are there, and slower to get in a virtual machine whose
// host takes back what is free.
constexpr std::size_t kGrowth = std::size_t{2} << 20;

}  // namespace

constinit SmallObjects planning_objects;

bool SmallObjects::enter() {
  if (depth_ == 0 && is_taken_.exchange(true, std::memory_order_acquire)) return false;
  if (!open()) return is_taken_.store(false, std::memory_order_release), false;
  ++depth_;
  return true;
}

void SmallObjects::leave() {
  if (depth_ == 1) trim();
  if (--depth_ == 0) is_taken_.store(false, std::memory_order_release);
}

bool SmallObjects::open() {
  if (base_.load(std::memory_order_relaxed)) return true;
  void* const memory = ::mmap(nullptr, kBytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  base_.store(reinterpret_cast<std::byte*>((address + kPage - 1) / kPage * kPage), std::memory_order_relaxed);
  return true;
}

bool SmallObjects::grow() {
  std::byte* const begin = base_.load(std::memory_order_relaxed) + grown_;
  if (grown_ + kGrowth > kBytes || ::mprotect(begin, kGrowth, PROT_READ | PROT_WRITE) != 0) return false;
  grown_ += kGrowth;
  return true;
}

std::byte* SmallObjects::begin_of(const Page& page) const {
  return base_.load(std::memory_order_relaxed) + static_cast<std::size_t>(&page - pages_.data()) * kPage;
}

void* SmallObjects::take_more(std::size_t size) {
  Page*& current = current_[size];
  if (current)
    if (void* const object = begin_one(*current)) return object;
  if (!listed_[size]) collect();
  if (current && current->free) return pop(*current);
  if (current) current->is_listed = false;
  current = listed_[size] ? std::exchange(listed_[size], listed_[size]->next) : new_page(size);
  if (!current) return nullptr;
  return current->free ? pop(*current) : begin_one(*current);
}

/// Null where all were taken once.
void* SmallObjects::begin_one(Page& page) {
  const std::uint32_t bytes = page.size * static_cast<std::uint32_t>(kGrain);
  if (page.begun + bytes > kPage) return nullptr;
  ++page.live;
  return begin_of(page) + std::exchange(page.begun, page.begun + bytes);
}

SmallObjects::Page* SmallObjects::new_page(std::size_t size) {
  Page* page = nullptr;
  if (empty_) {
    page = std::exchange(empty_, empty_->next);
  } else {
    if ((used_ + 1) * kPage > grown_ && !grow()) return nullptr;
    page = &pages_[used_++];
  }
  *page = {nullptr, nullptr, 0, 0, static_cast<std::uint16_t>(size), true};
  return page;
}

void SmallObjects::give(void* object) {
  if (is_here()) return put(object);
  Free* const item = new (object) Free{given_.load(std::memory_order_relaxed)};
  while (!given_.compare_exchange_weak(item->next, item, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void SmallObjects::put(void* object) {
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(object) - base_.load(std::memory_order_relaxed));
  Page& page = pages_[at / kPage];
  page.free = new (object) Free{page.free};
  --page.live;
  if (std::exchange(page.is_listed, true)) return;
  page.next = std::exchange(listed_[page.size], &page);
}

/// What other threads gave.
void SmallObjects::collect() {
  for (Free* object = given_.exchange(nullptr, std::memory_order_acquire); object;)
    put(std::exchange(object, object->next));
}

/// Pages without objects are the system's again.
void SmallObjects::trim() {
  collect();
  for (std::size_t size = 0; size < kSizes; ++size) {
    if (Page* const page = std::exchange(current_[size], nullptr)) {
      page->is_listed = page->free || page->begun + size * kGrain <= kPage;
      if (page->is_listed) page->next = std::exchange(listed_[size], page);
    }
    for (Page** at = &listed_[size]; *at;)
      if (Page& page = **at; page.live == 0) {
        *at = page.next;
        release(page);
      } else {
        at = &page.next;
      }
  }
}

void SmallObjects::release(Page& page) {
  ::madvise(begin_of(page), kPage, MADV_DONTNEED);
  page = {nullptr, std::exchange(empty_, &page), 0, 0, 0, false};
}

SmallObjects::Usage SmallObjects::usage() const {
  Usage usage;
  for (std::size_t i = 0; i < used_; ++i) {
    if (pages_[i].size > 0) usage.taken += kPage;
    usage.live += std::uint64_t{pages_[i].live} * pages_[i].size * kGrain;
  }
  return usage;
}

}  // namespace baleen
