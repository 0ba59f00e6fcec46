/// \file Threads of streams and protection of memory.
#include "streams.hpp"

#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace baleen::emulated {
namespace {

std::atomic<int>& failure_code() {
  static std::atomic<int> code{0};
  return code;
}

/// All of the device's memory, open or closed together.
class Memory {
 public:
  static Memory& all() {
    static Memory& memory = *new Memory;  // outlives the threads of streams
    return memory;
  }
  void* allocate(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t size = (bytes + 4095) / 4096 * 4096;
    void* base =
        mmap(nullptr, size, users_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    blocks_.emplace(base, size);
    return base;
  }
  void release(void* base) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(base);
    if (found == blocks_.end()) return;
    munmap(base, found->second);
    blocks_.erase(found);
  }
  void open() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) protect(PROT_NONE);
  }

 private:
  void protect(int how) {
    for (const auto& [base, size] : blocks_) mprotect(base, size, how);
  }
  std::mutex mutex_;
  std::map<void*, std::uint64_t> blocks_;
  int users_ = 0;
};

}  // namespace

void* allocate(std::uint64_t bytes) { return Memory::all().allocate(bytes); }
void release(void* base) { Memory::all().release(base); }

namespace {
/// Of a thread.
struct Held {
  int living = 0;
  bool is_open = false, keeps = false;
};
Held& held() {
  static thread_local Held one;
  return one;
}
}  // namespace

Access::Access() {
  ++held().living;
  if (!std::exchange(held().is_open, true)) Memory::all().open();
}
Access::~Access() {
  --held().living;
  if (!held().keeps) drop_access();
}
void drop_access() {
  if (held().living == 0 && std::exchange(held().is_open, false)) Memory::all().close();
}

namespace {
struct Changes {
  std::mutex mutex;
  std::condition_variable told;
};
Changes& changes() {
  static Changes& one = *new Changes;
  return one;
}
}  // namespace

void wait_until(const std::function<bool()>& is_so) {
  std::unique_lock lock(changes().mutex);
  changes().told.wait(lock, [&] { return failure() != 0 || is_so(); });
}
void change(const std::function<void()>& how) {
  {
    const std::lock_guard lock(changes().mutex);
    how();
  }
  changes().told.notify_all();
}

int failure() { return failure_code(); }
void fail(int code) {
  change([&] {
    int none = 0;
    failure_code().compare_exchange_strong(none, code);
  });
}

static unsigned long next_number() {
  static std::atomic<unsigned long> last{0};
  return ++last;
}

struct Queue {
  const unsigned long number = next_number();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool busy = false, stopped = false;
  std::shared_ptr<Captured> capture;
  std::thread thread{[this] { run(); }};

  void run() {
    held().keeps = true;
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopped || !work.empty(); });
      if (work.empty()) return;
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      busy = true;
      lock.unlock();
      if (failure() == 0) next();
      lock.lock();
      if (work.empty()) drop_access();
      busy = false;
      changed.notify_all();
    }
  }
};

namespace {
Queue* of(Queue* queue) {
  static Queue& none = *new Queue;
  return queue ? queue : &none;
}
}  // namespace

Queue* make_queue() { return new Queue; }
void destroy_queue(Queue* queue) {
  {
    const std::lock_guard lock(queue->mutex);
    queue->stopped = true;
  }
  queue->changed.notify_all();
  queue->thread.join();
  delete queue;
}
void enqueue(Queue* queue, std::function<void()> work) {
  Queue* to = of(queue);
  const std::lock_guard lock(to->mutex);
  if (to->capture) {
    to->capture->works.push_back(std::move(work));
    if (to != to->capture->origin) {
      to->capture->joined[to] = to->capture->works.size();
      to->capture->open.insert(to);
    }
    return;
  }
  to->work.push_back(std::move(work));
  to->changed.notify_all();
}
void finish(Queue* queue) {
  Queue* to = of(queue);
  std::unique_lock lock(to->mutex);
  to->changed.wait(lock, [&] { return to->work.empty() && !to->busy; });
}

void begin_capture(Queue* queue) {
  const std::lock_guard lock(queue->mutex);
  queue->capture = std::make_shared<Captured>();
  queue->capture->origin = queue;
}
void join_capture(Queue* queue, const std::shared_ptr<Captured>& captured) {
  const std::lock_guard lock(queue->mutex);
  queue->capture = captured;
  captured->joined[queue] = captured->works.size();
  captured->open.insert(queue);
}
std::shared_ptr<Captured> end_capture(Queue* queue) {
  const std::lock_guard lock(queue->mutex);
  std::shared_ptr<Captured> captured = std::move(queue->capture);
  if (!captured) return nullptr;
  captured->ended = true;
  for (const auto& [other, last] : captured->joined) {
    const std::lock_guard other_lock(other->mutex);
    other->capture = nullptr;
  }
  return captured;
}
std::shared_ptr<Captured> captured(Queue* queue) { return queue ? queue->capture : nullptr; }

}  // namespace baleen::emulated

void baleen_emulated_enqueue(void* stream, void (*work)(void*), void* argument, void (*release)(void*)) {
  baleen::emulated::enqueue(static_cast<baleen::emulated::Queue*>(stream),
                            [work, argument = std::shared_ptr<void>(argument, release)] {
                              const baleen::emulated::Access access;
                              work(argument.get());
                            });
}

unsigned long baleen_emulated_stream_number(void* stream) {
  return stream ? static_cast<baleen::emulated::Queue*>(stream)->number : 0;
}
