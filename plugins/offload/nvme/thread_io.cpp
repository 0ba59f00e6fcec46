/// \file Blocks by threads with pread and pwrite, where io_uring is forbidden.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "block_io.hpp"

namespace baleen::nvme {
namespace {

constexpr std::uint32_t kMostThreads = 16;

/// What threads that the kernel does not give back may outlive the object with.
struct Shared {
  explicit Shared(std::uint32_t depth) : requests(depth), results(depth) {}

  std::mutex mutex;
  std::condition_variable work, done;
  // Rings of `depth` places, so that nothing is allocated.
  std::vector<IoRequest> requests;
  std::vector<IoResult> results;
  std::size_t first_request = 0, request_count = 0, first_result = 0, result_count = 0, running = 0;
  bool over = false;
};

std::int64_t move(const IoRequest& request) {
  const auto at = static_cast<off_t>(request.offset);
  const ssize_t moved = request.is_write ? ::pwrite(request.file, request.memory, request.bytes, at)
                                         : ::pread(request.file, request.memory, request.bytes, at);
  return moved < 0 ? -errno : moved;
}

void serve(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->work.wait(lock, [&] { return shared->over || shared->request_count > 0; });
    if (shared->request_count == 0) return;
    const IoRequest request = shared->requests[shared->first_request];
    shared->first_request = (shared->first_request + 1) % shared->requests.size();
    --shared->request_count;
    ++shared->running;
    lock.unlock();
    const std::int64_t result = move(request);
    lock.lock();
    --shared->running;
    shared->results[(shared->first_result + shared->result_count++) % shared->results.size()] = {request.id, result};
    shared->done.notify_all();
  }
}

class ThreadIo final : public BlockIo {
 public:
  explicit ThreadIo(std::uint32_t depth) : shared_(std::make_shared<Shared>(depth)) {
    for (std::uint32_t i = 0; i < std::min(depth, kMostThreads); ++i) {
      threads_.emplace_back([shared = shared_] { serve(shared); });
      ::pthread_setname_np(threads_.back().native_handle(), "baleen-blocks");
    }
  }
  ThreadIo(const ThreadIo&) = delete;
  ~ThreadIo() override {
    const bool is_idle = drain(0);
    {
      std::lock_guard lock(shared_->mutex);
      shared_->request_count = 0;
      shared_->over = true;
    }
    shared_->work.notify_all();
    for (std::thread& thread : threads_) is_idle ? thread.join() : thread.detach();
  }
  bool drain(double seconds) override {
    std::unique_lock lock(shared_->mutex);
    return shared_->done.wait_for(lock, std::chrono::duration<double>(seconds),
                                  [&] { return shared_->request_count == 0 && shared_->running == 0; });
  }

  void begin(const IoRequest& request) override {
    {
      std::lock_guard lock(shared_->mutex);
      shared_->requests[(shared_->first_request + shared_->request_count++) % shared_->requests.size()] = request;
    }
    shared_->work.notify_one();
  }
  /// What waits for a thread ends; what a thread is at, the kernel ends.
  void cancel(std::uint32_t id) override {
    std::lock_guard lock(shared_->mutex);
    const std::size_t depth = shared_->requests.size();
    for (std::size_t i = 0; i < shared_->request_count; ++i) {
      if (shared_->requests[(shared_->first_request + i) % depth].id != id) continue;
      for (std::size_t k = i + 1; k < shared_->request_count; ++k)
        shared_->requests[(shared_->first_request + k - 1) % depth] =
            shared_->requests[(shared_->first_request + k) % depth];
      --shared_->request_count;
      shared_->results[(shared_->first_result + shared_->result_count++) % depth] = {id, -ECANCELED};
      return;
    }
  }
  std::size_t wait(std::span<IoResult> results, double seconds) override {
    std::unique_lock lock(shared_->mutex);
    shared_->done.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return shared_->result_count > 0; });
    const std::size_t count = std::min(results.size(), shared_->result_count);
    for (std::size_t i = 0; i < count; ++i) {
      results[i] = shared_->results[shared_->first_result];
      shared_->first_result = (shared_->first_result + 1) % shared_->results.size();
    }
    shared_->result_count -= count;
    return count;
  }
  const char* name() const override { return "threads"; }

 private:
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockIo> make_thread_io(std::uint32_t depth) { return std::make_unique<ThreadIo>(depth); }

}  // namespace baleen::nvme
