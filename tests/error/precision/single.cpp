/// \file A compute plugin for plans alone: it says that it computes anything in fp32, and computes nothing.
#include <cstdio>
#include <cstdlib>

#include "baleen/compute_table.hpp"

BALEEN_DESCRIPTOR("compute", "single", "1.0.0", "Apache-2.0", "Takes fp32, for tests of plans", -1, "",
                  BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Single {
 public:
  static Result<std::unique_ptr<Single>> create(const Host& host, const Settings&) {
    return std::make_unique<Single>(host);
  }
  explicit Single(const Host& host) : host_(host) {}

  const Host& host() const { return host_; }
  void info(baleen_device_info_t& out) const {
    out = {};
    out.size = sizeof(out);
    std::snprintf(out.name, sizeof(out.name), "single");
    out.memory_bytes = std::uint64_t{1} << 32;
    out.threads = 1;
    out.alignment = 64;
  }
  std::uint32_t supports(const baleen_region_t& region) const {
    for (std::uint64_t i = 0; i < region.tensor_count; ++i)
      if (dtype_size(tensor_of(region, i).dtype) == 2) return 0;
    return region.op_count == 1;
  }
  Result<baleen_kernel_t> compile(const baleen_region_t&) {
    baleen_kernel_t kernel{};
    kernel.size = sizeof(kernel);
    kernel.kernel = this;
    return kernel;
  }
  void release(void*) {}
  Result<void*> arena_create(baleen_arena_kind_t, std::uint64_t bytes) { return std::calloc(1, bytes); }
  void arena_destroy(baleen_arena_kind_t, void* base, std::uint64_t) { std::free(base); }
  Status launch(void*, const baleen_launch_t&) { return unsupported("this device computes nothing"); }
  Result<void*> stream_create() { return static_cast<void*>(this); }
  void stream_destroy(void*) {}
  Status stream_wait(void*, baleen_event_t&, std::uint64_t) { return {}; }
  Status stream_signal(void*, baleen_event_t&, std::uint64_t) { return {}; }
  Status synchronize(void*) { return {}; }
  Status copy(void*, void*, const void*, std::uint64_t) { return unsupported("this device computes nothing"); }
  Status zero(void*, void*, std::uint64_t) { return unsupported("this device computes nothing"); }
  const void* query(std::string_view) { return nullptr; }

 private:
  Host host_;
};

}  // namespace

BALEEN_EXPORT_TABLE(baleen::sdk::compute_table<Single>());
