/// \file Memory, streams and the way from a region to a kernel.
#include "device.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "baleen/event.hpp"
#include "memory.hpp"
#include "peak.hpp"
#include "registry.hpp"

namespace baleen::cpu {
namespace {

constexpr std::uint32_t kAlignment = 64;
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
// Resident beside the arenas: code and tables, and what a worker touches of its stack.
constexpr std::uint64_t kLibraryBytes = std::uint64_t{4} << 20, kWorkerBytes = std::uint64_t{128} << 10;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

Device::Device(const Host& host, const Settings& settings, bool described)
    : host_(host),
      described_(described),
      threads_(settings.integer("threads"), settings.boolean("pin"), !described),
      context_{threads_, best_routines()},
      memory_bytes_(settings.integer("memory") > 0 ? static_cast<std::uint64_t>(settings.integer("memory")) << 20
                                                   : free_memory() / 10 * 9) {}

Result<std::unique_ptr<Device>> Device::create(const Host& host, const Settings& settings) {
  return std::unique_ptr<Device>(new Device(host, settings, false));
}

Result<std::unique_ptr<Device>> Device::described(const Host& host, const Settings& settings) {
  return std::unique_ptr<Device>(new Device(host, settings, true));
}

void Device::info(baleen_device_info_t& out) const {
  std::snprintf(out.name, sizeof out.name, "%s", processor_name().c_str());
  std::snprintf(out.summary, sizeof out.summary, "%s kernels, %d threads", context_.routines.name, threads_.count());
  out.memory_bytes = memory_bytes_;
  out.private_bytes = kLibraryBytes + kWorkerBytes * static_cast<std::uint64_t>(threads_.count() - 1);
  out.threads = static_cast<std::uint32_t>(threads_.count());
  out.alignment = kAlignment;
}

Result<void*> Device::arena_create(baleen_arena_kind_t kind, std::uint64_t bytes) {
  if (kind < BALEEN_ARENA_PRIVATE || kind > BALEEN_ARENA_PINNED)
    return invalid("no arena kind " + std::to_string(kind));
  if (described_) return unsupported("the device is described for a plan and has no arenas");
  const std::uint64_t size = whole_pages(bytes > 0 ? bytes : 1);
  if (used_bytes_.fetch_add(size) + size > memory_bytes_) {
    used_bytes_ -= size;
    return Error{BALEEN_NO_MEMORY,
                 "an arena of " + std::to_string(bytes >> 20) + " MiB does not fit into the " +
                     std::to_string(memory_bytes_ >> 20) + " MiB of the cpu device, of which " +
                     std::to_string(used_bytes_ >> 20) + " are taken; use a smaller batch or raise its option `memory`",
                 {}};
  }
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    used_bytes_ -= size;
    return Error{BALEEN_NO_MEMORY, "the system refuses " + std::to_string(bytes >> 20) + " MiB for an arena", {}};
  }
  if (size >= kHugePage) madvise(base, size, MADV_HUGEPAGE);  // a wish; nothing depends on it
  return base;
}

void Device::arena_destroy(baleen_arena_kind_t, void* base, std::uint64_t bytes) {
  const std::uint64_t size = whole_pages(bytes > 0 ? bytes : 1);
  munmap(base, size);
  used_bytes_ -= size;
}

std::uint32_t Device::supports(const baleen_region_t& region) const { return region_score(region); }

Result<baleen_kernel_t> Device::compile(const baleen_region_t& region) {
  BALEEN_TRY_ASSIGN(std::unique_ptr<Kernel> kernel, make_kernel(context_, region));
  return sdk::give_kernel(std::move(kernel));
}

void Device::release(void* kernel) { delete static_cast<Kernel*>(kernel); }

Status Device::launch(void* kernel, const baleen_launch_t& launch) {
  if (described_) return unsupported("the device is described for a plan and runs nothing");
  return static_cast<Kernel*>(kernel)->run(launch);
}

Result<void*> Device::stream_create() { return static_cast<void*>(new Stream); }
void Device::stream_destroy(void* stream) { delete static_cast<Stream*>(stream); }

Status Device::stream_wait(void*, baleen_event_t& event, std::uint64_t value) {
  event_wait(event, value);
  return {};
}
Status Device::stream_signal(void*, baleen_event_t& event, std::uint64_t value) {
  event_signal(event, value);
  return {};
}
Status Device::synchronize(void*) { return {}; }

Status Device::copy(void*, void* to, const void* from, std::uint64_t bytes) {
  constexpr std::int64_t kPiece = 1 << 20;
  threads_.pieces(static_cast<std::int64_t>(bytes), kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
  return {};
}

Status Device::zero(void*, void* to, std::uint64_t bytes) {
  constexpr std::int64_t kPiece = 1 << 20;
  threads_.pieces(static_cast<std::int64_t>(bytes), kPiece, [&](std::int64_t begin, std::int64_t end, int) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<std::size_t>(end - begin));
  });
  return {};
}

const void* Device::query(std::string_view name) const {
  static constexpr baleen_peak_t kPeak{sizeof(baleen_peak_t), [](void* device, double* flops, double* bytes) {
                                         const Device& self = *static_cast<const Device*>(device);
                                         return guard(self.host_, [&]() -> Status {
                                           const Peak peak = measure_peak(self.context_);
                                           *flops = peak.flops_per_second;
                                           *bytes = peak.bytes_per_second;
                                           return {};
                                         });
                                       }};
  static constexpr baleen_blockwise_t kBlockwise{
      sizeof(baleen_blockwise_t),
      [](void*, void* kernel, std::uint32_t tensor, std::uint64_t* elements) {
        const Kernel::Blocks blocks = static_cast<const Kernel*>(kernel)->blocks(tensor);
        *elements = static_cast<std::uint64_t>(blocks.elements);
        return static_cast<std::uint64_t>(blocks.each);
      },
      [](void* device, void* kernel, const baleen_launch_t* launch, const baleen_block_watch_t* watch) {
        return guard(static_cast<const Device*>(device)->host_,
                     [&] { return static_cast<Kernel*>(kernel)->run(*launch, *watch); });
      }};
  if (name == BALEEN_BLOCKWISE && !described_) return &kBlockwise;
  return name == BALEEN_DEVICE_PEAK && !described_ ? &kPeak : query_plugin(name);
}

}  // namespace baleen::cpu
