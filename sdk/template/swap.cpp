/// \file An offload backend: slots lie in one file, which has no name, so that nothing stays when the run ends. One
/// thread reads and writes it.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "baleen/file_handle.hpp"
#include "baleen/offload.hpp"

BALEEN_DESCRIPTOR("offload", "swap", "1.0.0", "Apache-2.0", "Slots in a file, an example", -1, "",
                  BALEEN_OPTION("folder", BALEEN_OPTION_STRING, 0, 1, 0, "/tmp", "", "", "where the file lies"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

constexpr std::uint64_t kAlignment = 4096;

Error system_error(const char* what, int reason) {
  return {reason == ENOSPC ? BALEEN_NO_MEMORY : BALEEN_IO, std::string(what) + ": " + std::strerror(reason), {}};
}

class Swap final : public OffloadStore {
 public:
  static Result<std::unique_ptr<Swap>> create(const Host&, const Settings& settings, OffloadSpec spec) {
    const std::string folder(settings.text("folder"));
    std::string path = folder + "/baleen-swap-XXXXXX";
    FileHandle file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file)
      return Error{BALEEN_IO,
                   std::string("no file can be made here: ") + std::strerror(errno) + "; name another `folder`",
                   folder};
    ::unlink(path.c_str());
    struct statvfs place = {};
    if (::fstatvfs(file.get(), &place) != 0) return system_error("the room on the disk is not known", errno);
    OffloadTraits traits{kAlignment, kAlignment, std::uint64_t{place.f_bavail} * place.f_frsize, folder};
    return std::make_unique<Swap>(std::move(spec), std::move(traits), std::move(file));
  }
  Swap(OffloadSpec spec, OffloadTraits traits, FileHandle file)
      : OffloadStore(std::move(spec), std::move(traits)), file_(std::move(file)), worker_([this] { work(); }) {}
  ~Swap() override {
    closing_ = true;
    queue().wake();
    worker_.join();
  }

 protected:
  /// Takes the room now, so that no step runs out of it. What was never written reads as zeros.
  Status extend(std::uint64_t begin, std::uint64_t end) override {
    const int failed = ::posix_fallocate(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    if (failed == 0) return {};
    give_back(begin);
    return system_error("the file cannot grow", failed);
  }
  void give_back(std::uint64_t begin) override { (void)!::ftruncate(file_.get(), static_cast<off_t>(begin)); }
  baleen_offload_flags_t flags() const override { return 0; }
  std::uint64_t overhead() const override { return spec().outstanding * sizeof(OffloadOperation); }

 private:
  void work() {
    while (true) {
      const std::uint64_t word = queue().prepare_sleep();
      bool gated = false;
      if (closing_) {  // what has not begun by now never will
        while (OffloadOperation* const operation = queue().next_waiting())
          fail(*operation, {BALEEN_INTERRUPTED, "the store was destroyed before it could begin", {}});
        return;
      }
      if (OffloadOperation* const operation = queue().next(&gated))
        move(*operation);
      else
        queue().sleep(word, gated);
    }
  }
  void move(OffloadOperation& operation) {
    if (fail_after(operation)) return;
    const baleen_offload_transfer_t& transfer = operation.transfer;
    auto* memory = static_cast<std::byte*>(transfer.memory);
    auto at = static_cast<off_t>(slots().at(transfer.slot).begin + transfer.offset);
    for (std::uint64_t left = transfer.bytes; left > 0;) {
      const ssize_t moved =
          operation.is_put ? ::pwrite(file_.get(), memory, left, at) : ::pread(file_.get(), memory, left, at);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) return fail(operation, system_error("the file fails", moved < 0 ? errno : EIO));
      memory += moved;
      at += moved;
      left -= static_cast<std::uint64_t>(moved);
    }
    finish(operation);
  }

  FileHandle file_;
  std::atomic<bool> closing_{false};
  std::thread worker_;  // the last member: it uses the others
};

}  // namespace

BALEEN_OFFLOAD(Swap);
