/// \file Switching between the threads of a block, its barriers and the exchange of values in warps.
#include "fibers.hpp"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

extern "C" void baleen_switch_fiber(void** save, void* load);
// Saves what the callee must keep, changes stacks, and goes on where the other fiber left off.
asm(R"(
.text
.globl baleen_switch_fiber
.hidden baleen_switch_fiber
.type baleen_switch_fiber, @function
baleen_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size baleen_switch_fiber, .-baleen_switch_fiber
)");

/// A place in the thread-local memory of a library, as __tls_get_addr takes it (ELF Handling For Thread-Local Storage).
struct ThreadLocalPlace {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(ThreadLocalPlace* place);  // NOLINT(bugprone-reserved-identifier)

namespace baleen::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;
constexpr unsigned kWarp = 32;

/// Threads that have come to a barrier; each passing is a generation.
struct Barrier {
  unsigned arrived = 0, alive = 0;
  std::uint64_t generation = 0;

  void release_if_complete() {
    if (alive == 0 || arrived < alive) return;
    arrived = 0;
    ++generation;
  }
};

struct Fiber {
  EmulatedThread thread{};
  void* stack = nullptr;  // lowest address
  void* saved = nullptr;
  const Barrier* waits_for = nullptr;
  std::uint64_t generation = 0;
  std::uint64_t values[2] = {};  // offered to the warp, this time and the time before
  bool done = false;
};

/// The blocks of one host thread. Stacks are kept from block to block.
class Scheduler {
 public:
  static Scheduler& here() {
    static thread_local Scheduler scheduler;
    return scheduler;
  }
  ~Scheduler() {
    for (Fiber& fiber : fibers_) munmap(fiber.stack, kStackBytes);
  }

  bool run_block(void (*kernel)(const void*), const void* args, const EmulatedThread& first, unsigned threads) {
    kernel_ = kernel;
    args_ = args;
    prepare(first, threads);
    order_threads(threads);
    unsigned left = threads;
    while (left > 0) {
      bool moved = false;
      for (const unsigned i : order_) {
        Fiber& fiber = fibers_[i];
        if (fiber.done || (fiber.waits_for && fiber.waits_for->generation == fiber.generation)) continue;
        moved = true;
        current_ = &fiber;
        baleen_switch_fiber(&main_, fiber.saved);
        if (fiber.done) --left;
      }
      if (!moved) return false;
    }
    return true;
  }

  EmulatedThread& current() { return current_->thread; }
  void sync_block() { wait(block_); }
  std::uint64_t exchange(std::uint64_t value, unsigned lane_mask) {
    const std::size_t turn = offer(value);
    return fibers_[current_->thread.thread.x ^ lane_mask].values[turn];
  }
  unsigned ballot(bool yes) {
    const std::size_t turn = offer(yes);
    unsigned result = 0;
    const unsigned begin = current_->thread.thread.x / kWarp * kWarp;
    for (unsigned lane = 0; lane < kWarp && begin + lane < current_->thread.block_size.x; ++lane)
      if (fibers_[begin + lane].values[turn]) result |= 1u << lane;
    return result;
  }

 private:
  /// Between two barriers threads take turns in ascending order, descending order or a random one, from block to block:
  /// where a barrier is missing, some order reads what is not there yet.
  void order_threads(unsigned threads) {
    order_.resize(threads);
    std::iota(order_.begin(), order_.end(), 0u);
    const auto which = random_() % 3;
    if (which == 1) std::reverse(order_.begin(), order_.end());
    if (which == 2) std::shuffle(order_.begin(), order_.end(), random_);
  }

  /// Where the warp's values of this time are. The next time is another place: nobody comes to the one after it before
  /// all have read.
  std::size_t offer(std::uint64_t value) {
    const std::size_t turn = warp().generation % 2;
    current_->values[turn] = value;
    wait(warp());
    return turn;
  }

  Barrier& warp() { return warps_[current_->thread.thread.x / kWarp]; }

  void wait(Barrier& barrier) {
    current_->waits_for = &barrier;
    current_->generation = barrier.generation;
    ++barrier.arrived;
    barrier.release_if_complete();
    Fiber* self = current_;
    baleen_switch_fiber(&self->saved, main_);
    self->waits_for = nullptr;
  }

  static void enter() {
    Scheduler& self = here();
    self.kernel_(self.args_);
    Fiber& fiber = *self.current_;
    fiber.done = true;
    for (Barrier* barrier : {&self.block_, &self.warp()}) {
      --barrier->alive;
      barrier->release_if_complete();
    }
    baleen_switch_fiber(&fiber.saved, self.main_);
  }

  void prepare(const EmulatedThread& first, unsigned threads) {
    while (fibers_.size() < threads) {
      void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      fibers_.emplace_back().stack = stack;
    }
    block_ = {0, threads, 0};
    warps_.assign((threads + kWarp - 1) / kWarp, {});
    for (unsigned i = 0; i < threads; ++i) {
      Fiber& fiber = fibers_[i];
      ++warps_[i / kWarp].alive;
      fiber.thread = first;
      fiber.thread.thread = {i, 0, 0};
      fiber.waits_for = nullptr;
      fiber.done = false;
      // What baleen_switch_fiber pops: six registers, then where to go. A call leaves the stack 8 off 16 bytes.
      auto** top = reinterpret_cast<void**>(static_cast<char*>(fiber.stack) + kStackBytes - 64);
      top[6] = reinterpret_cast<void*>(&Scheduler::enter);
      top[7] = nullptr;
      std::memset(top, 0, 6 * sizeof(void*));
      fiber.saved = top;
    }
  }

  std::mt19937 random_;  // of a fixed seed: a host thread's launches are the same in each run
  std::vector<unsigned> order_;
  std::vector<Fiber> fibers_;
  std::vector<Barrier> warps_;
  Barrier block_;
  Fiber* current_ = nullptr;
  void* main_ = nullptr;
  void (*kernel_)(const void*) = nullptr;
  const void* args_ = nullptr;
};

/// What the library of `kernel` declares as shared: on the emulated device all of its thread-local memory, of this
/// thread. Nothing where this code lies in it too, which has thread-local variables of its own.
std::span<unsigned char> declared_shared(const void* kernel) {
  struct Search {
    std::uintptr_t address;
    unsigned long module = 0;
    std::size_t bytes = 0;
  } search{reinterpret_cast<std::uintptr_t>(kernel)};
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* argument) {
        Search& wanted = *static_cast<Search*>(argument);
        const auto own = reinterpret_cast<std::uintptr_t>(&declared_shared);
        bool is_here = false, is_own = false;
        std::size_t bytes = 0;
        for (const ElfW(Phdr) & part : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
          const auto has = [&](std::uintptr_t address) {
            return part.p_type == PT_LOAD && address - (library->dlpi_addr + part.p_vaddr) < part.p_memsz;
          };
          is_here |= has(wanted.address);
          is_own |= has(own);
          if (part.p_type == PT_TLS) bytes = part.p_memsz;
        }
        if (is_here) wanted = {wanted.address, library->dlpi_tls_modid, is_own ? 0 : bytes};
        return is_here ? 1 : 0;
      },
      &search);
  if (search.bytes == 0) return {};
  ThreadLocalPlace begin{search.module, 0};
  return {static_cast<unsigned char*>(__tls_get_addr(&begin)), search.bytes};
}

}  // namespace

bool run_grid(void (*kernel)(const void*), const void* args, Dimensions grid, unsigned threads,
              std::uint64_t shared_bytes) {
  constexpr unsigned char kPoison = 0xff;
  // Kept from launch to launch: as much as this comes from the system anew each time.
  static thread_local std::vector<unsigned char> kept;
  kept.resize(shared_bytes + 16);
  const std::span<unsigned char> shared(kept);
  const std::span<unsigned char> declared = declared_shared(reinterpret_cast<const void*>(kernel));
  EmulatedThread first{{0, 0, 0}, {0, 0, 0}, {threads, 1, 1}, {grid.x, grid.y, grid.z}, nullptr};
  first.shared = shared.data() + (16 - reinterpret_cast<std::uintptr_t>(shared.data()) % 16) % 16;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        first.block = {x, y, z};
        std::memset(shared.data(), kPoison, shared.size());
        if (!declared.empty()) std::memset(declared.data(), kPoison, declared.size());
        if (!Scheduler::here().run_block(kernel, args, first, threads)) return false;
      }
  return true;
}

}  // namespace baleen::emulated

extern "C" {
__attribute__((visibility("default"))) EmulatedThread* baleen_emulated_thread() {
  return &baleen::emulated::Scheduler::here().current();
}
void baleen_emulated_sync_block() { baleen::emulated::Scheduler::here().sync_block(); }
uint64_t baleen_emulated_exchange(uint64_t value, unsigned lane_mask) {
  return baleen::emulated::Scheduler::here().exchange(value, lane_mask);
}
unsigned baleen_emulated_ballot(int yes) { return baleen::emulated::Scheduler::here().ballot(yes != 0); }
}
