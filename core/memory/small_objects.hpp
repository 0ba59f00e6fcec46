/// \file The addresses that planning has for small objects, cut into pages of objects of one size.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baleen {

/// One thread at a time takes from it; all give to it. Never destroyed: objects outlive everything.
class SmallObjects {
 public:
  static constexpr std::size_t kLargest = 1024;  ///< bytes of an object

  /// Whether this thread has it now; `leave` as often as it does.
  bool enter();
  void leave();

  /// Whether this thread has it.
  static bool is_here() { return depth_ > 0; }
  bool has(const void* object) const {
    const std::byte* const base = base_.load(std::memory_order_relaxed);
    return base && reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(base) < kBytes;
  }

  /// 1 to kLargest bytes, aligned to 16; null where no more is to be had. [the thread that has it]
  void* take(std::size_t bytes) {
    const std::size_t size = (bytes + kGrain - 1) / kGrain;
    Page* const page = current_[size];
    return page && page->free ? pop(*page) : take_more(size);
  }
  void give(void* object);

  struct Usage {
    std::uint64_t taken = 0;  ///< bytes of pages that hold objects, or did when the last `leave` looked
    std::uint64_t live = 0;   ///< bytes of objects that were not given back
  };
  /// [the thread that has it, or any while none has]
  Usage usage() const;

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 34, kPage = std::size_t{1} << 16, kGrain = 16;
  static constexpr std::size_t kSizes = kLargest / kGrain + 1;

  struct Free {
    Free* next;
  };
  /// Its objects behind `begun` were never taken, so their memory was not touched.
  struct Page {
    Free* free = nullptr;
    Page* next = nullptr;     ///< in a list of pages
    std::uint32_t live = 0;   ///< objects
    std::uint32_t begun = 0;  ///< bytes
    std::uint16_t size = 0;   ///< of an object, in grains; 0: none yet
    bool is_listed = false;   ///< as one with free objects, or is the current one of its size
  };

  void* pop(Page& page) {
    Free* const object = page.free;
    page.free = object->next;
    ++page.live;
    return object;
  }
  void* take_more(std::size_t size);
  void* begin_one(Page& page);
  Page* new_page(std::size_t size);
  bool open();
  bool grow();
  void put(void* object);
  void collect();
  void trim();
  void release(Page& page);
  std::byte* begin_of(const Page& page) const;

  inline static thread_local int depth_ = 0;  // scopes of this thread, which has the region

  std::atomic<std::byte*> base_ = nullptr;
  std::atomic<bool> is_taken_ = false;
  std::atomic<Free*> given_ = nullptr;   // by other threads
  std::array<Page*, kSizes> current_{};  // by size: where objects are taken from
  std::array<Page*, kSizes> listed_{};   // by size: others with free objects
  Page* empty_ = nullptr;                // without a size
  std::size_t used_ = 0, grown_ = 0;     // pages that were begun; bytes that may be touched
  std::array<Page, kBytes / kPage> pages_{};
};

extern SmallObjects planning_objects;

}  // namespace baleen
