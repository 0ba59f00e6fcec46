/// \file How fast an offload backend puts and gets, and how fast threads copy memory in the same pattern.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/offload.h"
#include "bench/help.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::bench {
namespace {

constexpr const char* kHelp =
    "Measures how fast an offload backend puts or gets blocks of one slot, some under way at a time.\n"
    "Usage: bench_offload PLUGIN.so put|get|put_random|get_random BLOCK UNDER_WAY SLOT SECONDS [OPTION=VALUE...]\n"
    "       bench_offload memcpy THREADS put|get BLOCK UNDER_WAY SLOT SECONDS\n"
    "BLOCK, SLOT: bytes. UNDER_WAY: operations. Buffers take turns, so many that no cache holds them. memcpy: that "
    "many\n"
    "threads copy their shares of the same blocks, without waiting for each other. Prints bytes per second.\n";

constexpr double kRamp = 1;  // seconds before the time counts

using Memory = std::unique_ptr<std::byte, decltype(&std::free)>;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Memory memory_of(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 2u << 20;
  Memory made(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)),
      &std::free);
  if (!made) throw std::runtime_error("no memory");
  madvise(made.get(), bytes, MADV_HUGEPAGE);  // as the arenas of the plugin `cpu`, from which states come
  std::mt19937_64 random(1);
  for (std::uint64_t at = 0; at + 8 <= bytes; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(made.get() + at, &word, 8);
  }
  return made;
}

struct Pattern {
  bool is_put = true, is_random = false;
  std::uint64_t block = 0, under_way = 0, slot = 0;
  double seconds = 0;

  std::uint64_t blocks() const { return slot / block; }
  /// So many buffers are used in turn that no cache holds them.
  std::uint64_t buffers() const {
    constexpr std::uint64_t kBeyondCaches = 256u << 20;
    return std::max(under_way, kBeyondCaches / block);
  }
};

Pattern pattern_of(const std::string& name, char** words) {
  Pattern pattern;
  pattern.is_put = name.starts_with("put");
  pattern.is_random = name.ends_with("_random");
  pattern.block = std::strtoull(words[0], nullptr, 10);
  pattern.under_way = std::strtoull(words[1], nullptr, 10);
  pattern.slot = std::strtoull(words[2], nullptr, 10);
  pattern.seconds = std::strtod(words[3], nullptr);
  if (pattern.block == 0 || pattern.under_way == 0 || pattern.blocks() == 0 || pattern.seconds <= 0)
    throw std::runtime_error("BLOCK, UNDER_WAY, SLOT and SECONDS are above 0, and SLOT at least BLOCK");
  return pattern;
}

/// A store with one slot.
class Store {
 public:
  Store(const std::string& path, const Pattern& pattern, int count, char** options) : plugin_(path) {
    test::TestSettings settings(plugin_.descriptor, "/");
    for (int i = 0; i < count; ++i) {
      const std::string text = options[i];
      settings.set(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
    }
    const baleen_offload_spec_t spec = {sizeof spec, 0,       static_cast<std::uint32_t>(pattern.under_way),
                                        0,           nullptr, {nullptr, 0}};
    check(plugin_.table.create(plugin_.host->get(), settings.get(), &spec, &store_));
    const baleen_offload_slot_t slot = {sizeof slot, abi("slot"), pattern.slot};
    check(plugin_.table.reserve(store_, &slot, 1));
    for (const std::string& line : plugin_.host->logged()) std::fprintf(stderr, "%s\n", line.c_str());
  }
  Store(const Store&) = delete;
  ~Store() {
    if (store_) plugin_.table.destroy(store_);
  }
  void start(bool is_put, std::uint64_t offset, std::uint64_t bytes, std::byte* memory, baleen_event_t& done,
             std::uint64_t value) {
    const baleen_offload_transfer_t transfer = {sizeof transfer, 0, 0, offset, bytes, memory, nullptr, 0, &done, value};
    check(is_put ? plugin_.table.put(store_, &transfer) : plugin_.table.get(store_, &transfer));
  }
  void await(baleen_event_t& done, std::uint64_t value) {
    event_wait(done, value);
    if (event_value(done) == BALEEN_EVENT_FAILED) check(plugin_.table.check(store_, 0));
  }

 private:
  void check(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(plugin_.host->failure());
  }
  test::PluginUnderTest<baleen_offload_t> plugin_;
  void* store_ = nullptr;
};

/// Blocks one after the other until the time is over, and at least so many; bytes per second.
double run_store(Store& store, const Pattern& pattern, std::byte* memory, bool is_put, std::uint64_t least,
                 double seconds) {
  std::mt19937_64 random(2);
  std::vector<baleen_event_t> events(pattern.under_way);
  const double begin = now();
  std::uint64_t started = 0;
  for (; started < least || now() < begin + seconds; ++started) {
    const std::uint64_t turn = started / pattern.under_way, place = started % pattern.under_way;
    store.await(events[place], turn);
    const std::uint64_t block = (pattern.is_random ? random() : started) % pattern.blocks();
    store.start(is_put, block * pattern.block, pattern.block, memory + started % pattern.buffers() * pattern.block,
                events[place], turn + 1);
  }
  for (std::uint64_t i = started - std::min(started, pattern.under_way); i < started; ++i)
    store.await(events[i % pattern.under_way], i / pattern.under_way + 1);
  return static_cast<double>(started * pattern.block) / (now() - begin);
}

int measure_store(int count, char** words) {
  const Pattern pattern = pattern_of(words[2], words + 3);
  Store store(words[1], pattern, count - 7, words + 7);
  const Memory memory = memory_of(pattern.block * pattern.buffers());
  Pattern in_order = pattern;
  in_order.is_random = false;
  run_store(store, in_order, memory.get(), true, pattern.blocks(), 0);  // all of it is written before
  run_store(store, pattern, memory.get(), pattern.is_put, 1, kRamp);
  std::printf("%.0f\n", run_store(store, pattern, memory.get(), pattern.is_put, 1, pattern.seconds));
  return 0;
}

int measure_memcpy(char** words) {
  const auto count = static_cast<unsigned>(std::atoi(words[2]));
  const Pattern pattern = pattern_of(words[3], words + 4);
  const Memory memory = memory_of(pattern.block * pattern.buffers()), slot = memory_of(pattern.slot);
  const std::uint64_t share = pattern.block / count;
  std::atomic<std::uint64_t> bytes{0};
  std::vector<std::thread> threads;
  const double begin = now();
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      std::uint64_t turn = 0;
      for (; now() < begin + pattern.seconds; ++turn) {
        std::byte* const users = memory.get() + turn % pattern.buffers() * pattern.block + i * share;
        std::byte* const kept = slot.get() + turn % pattern.blocks() * pattern.block + i * share;
        std::memcpy(pattern.is_put ? kept : users, pattern.is_put ? users : kept, share);
      }
      bytes += turn * share;
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("%.0f\n", static_cast<double>(bytes) / (now() - begin));
  return 0;
}

int run(int count, char** words) {
  if (helped(count, words, kHelp)) return 0;
  if (count == 8 && std::string(words[1]) == "memcpy" && std::atoi(words[2]) > 0) return measure_memcpy(words);
  if (count < 7) return misused(kHelp);
  return measure_store(count, words);
}

}  // namespace
}  // namespace baleen::bench

int main(int count, char** words) {
  return baleen::bench::guarded([&] { return baleen::bench::run(count, words); });
}
