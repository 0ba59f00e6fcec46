/// \file UCX's context and worker, owned.
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>

#include "baleen/plugin.hpp"
#include "log_tap.hpp"
#include "options.hpp"
#include "wire.hpp"

namespace baleen::ucx {

/// "Connection reset by remote peer".
std::string status_text(ucs_status_t status);

/// Of one rank. Calls on the worker come from one thread at a time, but `wake`.
class Context {
 public:
  /// `tls`: instead of the options' own.
  static Result<std::unique_ptr<Context>> create(const Host& host, const Options& options, const std::string& tls,
                                                 std::size_t ranks);
  ~Context();
  Context(const Context&) = delete;

  /// Whether one that is created so would know the memory of CUDA devices.
  static bool would_know_cuda(const Host& host, const Options& options, const std::string& tls);

  ucp_worker_h worker() const { return worker_; }
  /// What peers connect by.
  Result<std::string> address() const;
  /// Moves messages on; false where there was nothing to do.
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  /// From now on `file` becomes readable when there is something to do. False: there is already.
  bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }
  int file() const { return file_; }
  /// Makes `file` readable. [any thread]
  void wake() { ucp_worker_signal(worker_); }

  /// See `Wire`.
  using Memory = Wire::Memory;
  /// [any thread]
  Result<Memory> allocate(std::uint64_t bytes);
  /// Whether UCX, its modules and this machine know the memory of CUDA devices.
  bool knows_cuda() const;
  Result<Memory> adopt(void* base, std::uint64_t bytes);
  void free(const Memory& memory) { ucp_mem_unmap(context_, static_cast<ucp_mem_h>(memory.handle)); }
  /// What peers reach it by; empty where they cannot.
  std::string key_of(const Memory& memory) const;

 private:
  Context() = default;
  /// Without a worker.
  static Result<std::unique_ptr<Context>> open(const Options& options, const std::string& tls, std::size_t ranks,
                                               const LogTap& tap);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int file_ = -1;
};

}  // namespace baleen::ucx
