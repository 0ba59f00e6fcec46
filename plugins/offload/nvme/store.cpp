/// \file The store, and its thread.
#include "store.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace baleen::nvme {
namespace {

// How long the thread waits for results before it looks for new operations.
constexpr double kGlance = 5e-4, kGatedGlance = 1e-4;
// Bytes of a request through a buffer at most: all buffers together are to be little beside the process.
constexpr std::uint32_t kMostBounced = 1 << 18;

}  // namespace

Result<std::unique_ptr<BlockIo>> make_io(const Host& host, const Options& options, const BounceBuffers& buffers) {
  if (options.engine == Engine::kThreads) return make_thread_io(options.depth);
  Result<std::unique_ptr<BlockIo>> made = make_uring_io(host, buffers);
  if (made || options.engine == Engine::kUring) {
    if (made) return made;
    return unsupported(made.error().message + "; take `engine` = \"threads\"");
  }
  host.log(BALEEN_WARNING, made.error().message + "; threads read and write instead, with more load on the processor");
  return make_thread_io(options.depth);
}

Result<std::unique_ptr<sdk::OffloadStore>> NvmeStore::create(const Host& host, const Settings& settings,
                                                             sdk::OffloadSpec spec) {
  BALEEN_TRY_ASSIGN(const Options options, Options::from(settings));
  return make(host, options, std::move(spec), &make_io);
}

Result<std::unique_ptr<sdk::OffloadStore>> NvmeStore::make(const Host& host, const Options& options,
                                                           sdk::OffloadSpec spec, const MakeIo& make_io) {
  BALEEN_TRY_ASSIGN(SwapFiles files, SwapFiles::open(host, options.folders, options.stripe, options.direct));
  std::string place = options.folders.front();
  if (options.folders.size() > 1) place += " and " + std::to_string(options.folders.size() - 1) + " more";
  sdk::OffloadTraits traits{kBlock, kBlock, files.room(), std::move(place)};
  auto made = std::make_unique<NvmeStore>(options, std::move(spec), std::move(traits), std::move(files));
  BALEEN_TRY(made->open(host, make_io));
  return std::unique_ptr<sdk::OffloadStore>(std::move(made));
}

NvmeStore::NvmeStore(const Options& options, sdk::OffloadSpec given, sdk::OffloadTraits traits, SwapFiles files)
    : OffloadStore(std::move(given), std::move(traits)), options_(options), files_(std::move(files)) {}

Status NvmeStore::open(const Host& host, const MakeIo& make_io) {
  const std::uint32_t buffer = std::min(options_.request, kMostBounced);
  const std::uint64_t bytes = std::uint64_t{buffer} * options_.depth;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{BALEEN_NO_MEMORY,
                 "no " + std::to_string(bytes) + " bytes for buffers, `depth` of them: " + std::strerror(errno),
                 {}};
  buffers_ = {static_cast<std::byte*>(memory), buffer, options_.depth};
  BALEEN_TRY_ASSIGN(io_, make_io(host, options_, buffers_));
  const MoverParts parts{files_, checksums_, *io_, buffers_, options_.request, spec().outstanding, options_.timeout};
  mover_ = std::make_unique<Mover>(parts, [this](sdk::OffloadOperation& operation, std::optional<Error> error) {
    if (error)
      fail(operation, *std::move(error));
    else
      finish(operation);
  });
  thread_ = std::thread([this] { loop(); });
  ::pthread_setname_np(thread_.native_handle(), "baleen-offload");
  return {};
}

NvmeStore::~NvmeStore() {
  closing_ = true;
  queue().wake();
  if (thread_.joinable()) thread_.join();
  const bool is_over = !io_ || io_->drain(options_.timeout);
  io_.reset();
  // What the kernel may still write to stays.
  if (buffers_.base && is_over) ::munmap(buffers_.base, std::uint64_t{buffers_.bytes} * buffers_.depth);
}

Status NvmeStore::extend(std::uint64_t begin, std::uint64_t end) {
  BALEEN_TRY(files_.grow(end));
  try {
    checksums_.resize(end);
  } catch (...) {
    files_.shrink(begin);
    throw;
  }
  return {};
}

void NvmeStore::give_back(std::uint64_t begin) {
  checksums_.resize(begin);
  files_.shrink(begin);
}

std::uint64_t NvmeStore::overhead() const {
  return checksums_.bytes() + std::uint64_t{buffers_.bytes} * buffers_.depth;
}

void NvmeStore::spoil(const baleen_offload_transfer_t& transfer) {
  checksums_.spoil(slots().at(transfer.slot).begin + transfer.offset, transfer.bytes);
}

void NvmeStore::begin_some(bool* gated, bool closing) {
  while (closing) {
    sdk::OffloadOperation* const operation = queue().next_waiting();
    if (!operation) return;
    fail(*operation, {BALEEN_INTERRUPTED, "the store was destroyed before it could begin", {}});
  }
  while (mover_->has_room() || mover_->is_dead()) {
    sdk::OffloadOperation* const operation = queue().next(gated);
    if (!operation) return;
    if (fail_after(*operation)) continue;
    if (operation->transfer.bytes == 0)
      finish(*operation);
    else if (mover_->is_dead())
      fail(*operation, Mover::no_answer());
    else
      mover_->take(*operation, slots().at(operation->transfer.slot).begin);
    mover_->fill();
  }
}

void NvmeStore::loop() {
  while (true) {
    const bool was_idle = mover_->is_idle();
    const std::uint64_t word = was_idle ? queue().prepare_sleep() : 0;
    const bool closing = closing_;  // once a turn: who ends has failed what waits
    bool gated = false;
    const auto refill = [&] {
      mover_->fill();
      begin_some(&gated, closing);
    };
    refill();
    if (!mover_->is_idle()) {
      mover_->collect(gated ? kGatedGlance : kGlance, refill);
    } else if (closing) {
      return;
    } else if (was_idle) {
      queue().sleep(word, gated);
    }
  }
}

}  // namespace baleen::nvme
