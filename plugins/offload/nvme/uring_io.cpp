/// \file Blocks by io_uring.
#include "block_io.hpp"

#ifdef BALEEN_HAS_LIBURING
#include <liburing.h>
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace baleen::nvme {
namespace {

constexpr std::uint64_t kCancelled = UINT64_MAX;  // marks answers to `cancel`

__kernel_timespec span_of(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<std::int64_t>(whole), static_cast<long long>((seconds - whole) * 1e9)};
}

class UringIo final : public BlockIo {
 public:
  UringIo() = default;
  Status open(const Host& host, const BounceBuffers& buffers) {
    buffers_ = buffers;
    // Linux 5.19: results do not interrupt this thread, which asks for them.
    int code = ::io_uring_queue_init(2 * buffers.depth, &ring_, IORING_SETUP_COOP_TASKRUN);
    if (code == -EINVAL) code = ::io_uring_queue_init(2 * buffers.depth, &ring_, 0);
    if (code < 0) return unsupported(std::string("io_uring cannot be set up: ") + std::strerror(-code));
    is_open_ = true;
    BALEEN_TRY(check_operations());
    code = ::io_uring_register_buffers_sparse(&ring_, buffers.depth);
    if (code == 0) registered_.resize(buffers.depth);
    if (code != 0)
      host.log(BALEEN_DEBUG, std::string("io_uring registers no buffers (") + std::strerror(-code) +
                                 "), so they are mapped at each request");
    return {};
  }
  UringIo(const UringIo&) = delete;
  ~UringIo() override {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }
  bool drain(double seconds) override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    IoResult ignored[8];
    while (under_way_ > 0 && std::chrono::steady_clock::now() < end) (void)wait(ignored, 0.05);
    return under_way_ == 0;
  }

  void begin(const IoRequest& request) override {
    io_uring_sqe* const entry = next_entry();
    const bool fixed = request.is_bounce && is_registered(request);
    if (request.is_write && fixed)
      ::io_uring_prep_write_fixed(entry, request.file, request.memory, request.bytes, request.offset,
                                  static_cast<int>(request.id));
    else if (request.is_write)
      ::io_uring_prep_write(entry, request.file, request.memory, request.bytes, request.offset);
    else if (fixed)
      ::io_uring_prep_read_fixed(entry, request.file, request.memory, request.bytes, request.offset,
                                 static_cast<int>(request.id));
    else
      ::io_uring_prep_read(entry, request.file, request.memory, request.bytes, request.offset);
    ::io_uring_sqe_set_data64(entry, request.id);
    ++under_way_;
    ::io_uring_submit(&ring_);  // what the kernel does not take now stays in the ring
  }
  void cancel(std::uint32_t id) override {
    io_uring_sqe* const entry = next_entry();
    ::io_uring_prep_cancel64(entry, id, 0);
    ::io_uring_sqe_set_data64(entry, kCancelled);
  }
  std::size_t wait(std::span<IoResult> results, double seconds) override {
    io_uring_cqe* entry = nullptr;
    if (::io_uring_sq_ready(&ring_) > 0) ::io_uring_submit(&ring_);
    if (::io_uring_cq_ready(&ring_) == 0 && seconds > 0) {
      __kernel_timespec limit = span_of(seconds);
      ::io_uring_wait_cqe_timeout(&ring_, &entry, &limit);
    }
    std::size_t count = 0;
    while (count < results.size() && ::io_uring_peek_cqe(&ring_, &entry) == 0) {
      const std::uint64_t id = ::io_uring_cqe_get_data64(entry);
      if (id < kCancelled - 1) {  // liburing's own time limits have the highest numbers, too
        results[count++] = {static_cast<std::uint32_t>(id), entry->res};
        --under_way_;
      }
      ::io_uring_cqe_seen(&ring_, entry);
    }
    return count;
  }
  const char* name() const override { return "io_uring"; }

 private:
  Status check_operations() {
    io_uring_probe* const probe = ::io_uring_get_probe_ring(&ring_);
    bool has_all = probe != nullptr;
    for (const int operation :
         {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_READ_FIXED, IORING_OP_WRITE_FIXED, IORING_OP_ASYNC_CANCEL})
      has_all = has_all && ::io_uring_opcode_supported(probe, operation);
    if (probe) ::io_uring_free_probe(probe);
    return has_all ? Status() : unsupported("this kernel's io_uring lacks reads and writes (they came with Linux 5.6)");
  }
  /// There are twice as many as requests under way; more than that has to be given to the kernel first.
  io_uring_sqe* next_entry() {
    io_uring_sqe* entry = nullptr;
    while (!(entry = ::io_uring_get_sqe(&ring_))) ::io_uring_submit(&ring_);
    return entry;
  }

  /// Registers the request's buffer as far as it has not been needed before: what is registered is memory taken. False
  /// where `ulimit -l` does not allow it; then no more is asked for.
  bool is_registered(const IoRequest& request) {
    if (registered_.empty()) return false;
    const auto end = static_cast<std::uint32_t>(request.memory - buffers_.at(request.id)) + request.bytes;
    std::uint32_t& known = registered_[request.id];
    if (known >= end) return true;
    const iovec piece = {buffers_.at(request.id), end};
    const __u64 tag = 0;
    if (::io_uring_register_buffers_update_tag(&ring_, request.id, &piece, &tag, 1) == 1) {
      known = end;
      return true;
    }
    registered_.clear();
    return false;
  }

  io_uring ring_{};
  BounceBuffers buffers_;
  std::vector<std::uint32_t> registered_;  ///< bytes of each buffer; empty: none can be
  bool is_open_ = false;
  std::int64_t under_way_ = 0;
};

}  // namespace

Result<std::unique_ptr<BlockIo>> make_uring_io(const Host& host, const BounceBuffers& buffers) {
  auto made = std::make_unique<UringIo>();
  BALEEN_TRY(made->open(host, buffers));
  return std::unique_ptr<BlockIo>(std::move(made));
}

}  // namespace baleen::nvme
#else
namespace baleen::nvme {

Result<std::unique_ptr<BlockIo>> make_uring_io(const Host&, const BounceBuffers&) {
  return unsupported("this plugin was built without liburing (Debian: liburing-dev)");
}

}  // namespace baleen::nvme
#endif
