/// \file Collectives in a device's memory: whether they are taken, which, and in whose arenas.
#include "baleen/device_memory.h"

#include "context.hpp"
#include "neighbours.hpp"
#include "transport.hpp"

namespace baleen::ucx {
namespace {

constexpr std::string_view kCuda = "cuda";

// What only moves bytes: the processor makes the sums.
constexpr baleen_operations_t kMoves =
    kAllOperations &
    ~(BALEEN_OPERATION(BALEEN_ALL_REDUCE) | BALEEN_OPERATION(BALEEN_REDUCE_SCATTER) | BALEEN_OPERATION(BALEEN_REDUCE));

// Why options keep UCX out of a device's memory; empty: they do not.
std::string objection_of(const Options& options) {
  if (options.encrypt) return "`encrypt` has the host's processor write and read every message";
  if (options.integrity) return "`integrity` has the host's processor read every message for its checksum";
  return {};
}

}  // namespace

// Both ends of a message are told apart by who holds them, but what is staged is cut in pieces, and on all ranks alike.
void UcxTransport::choose_memory(const Neighbours& neighbours) {
  why_not_ = objection_of(options_);
  if (why_not_.empty() && neighbours.with_cuda() > 0 && neighbours.first_without_cuda() >= 0)
    why_not_ = "UCX of rank " + std::to_string(neighbours.first_without_cuda()) +
               " does not know the memory of CUDA devices (see `ucx_info -d` there, and `tls`)";
  takes_cuda_ = why_not_.empty() && neighbours.first_without_cuda() < 0;
  tells_of_memory_ = peers_.rank() == 0 && neighbours.with_cuda() > 0;
}

baleen_operations_t UcxTransport::takes_operations(std::string_view memory) const {
  if (memory != kCuda) return 0;
  std::call_once(told_of_memory_, [&] {
    if (!tells_of_memory_) return;
    const std::string moves = "UCX moves what lies in the devices' memory; sums pass through the host's";
    host_.log(BALEEN_INFO, "ucx: " + (takes_cuda_ ? moves
                                                  : why_not_ + ", so what lies in the devices' memory passes through "
                                                               "the host's"));
  });
  return takes_cuda_ ? kMoves : 0;
}

baleen_operations_t UcxTransport::would_take_operations(const Host& host, const Settings& settings,
                                                        std::string_view memory) {
  if (memory != kCuda) return 0;
  const Result<Options> options = Options::from(settings);
  if (!options || !objection_of(*options).empty()) return 0;
  return Context::would_know_cuda(host, *options, options->usable_tls()) ? kMoves : 0;
}

// A rank's own bytes are a message to itself.
Status UcxTransport::register_arena(void* base, std::uint64_t bytes) {
  BALEEN_TRY(check());
  if (!takes_cuda_) return {};
  BALEEN_TRY_ASSIGN(const bool is_device, device_arenas_->add(base, bytes));
  const auto turn = worker_->hold();
  if (!is_device || wire_->is_open(peers_.rank())) return {};
  BALEEN_TRY_ASSIGN(const std::string own, wire_->address());
  Status opened = wire_->open(peers_.rank(), own);
  if (!opened) device_arenas_->remove(base);
  return opened;
}

Status UcxTransport::use(void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) {
  BALEEN_TRY(check());
  const auto turn = worker_->hold();
  return worker_->device().use(device, *compute, *events);
}

void UcxTransport::leave() {
  const auto turn = worker_->hold();
  worker_->device().leave();
}

// Only who works in a device's memory wants to know the device.
const void* UcxTransport::query(std::string_view name) {
  if (name != BALEEN_TRANSPORT_NATIVE || !takes_cuda_) return nullptr;
  native_ = *baleen::detail::transport_native<UcxTransport>();
  native_.runtime = abi(kCuda);
  return &native_;
}

}  // namespace baleen::ucx
