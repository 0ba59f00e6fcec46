/// \file Finding the device that the options name, and what to say where there is none.
#include "device.hpp"

#include <algorithm>

#include "options.hpp"

namespace baleen::cuda {
namespace {

constexpr int kLeastCapability = 80;
// Of a block's shared memory, for what kernels declare statically.
constexpr int kStaticShared = 4 << 10;
// Of the memory, for arenas: the rest is the libraries'.
constexpr double kFraction = 0.9;

}  // namespace

Result<std::unique_ptr<Device>> Device::create(const Host& host, const Settings& settings) {
  BALEEN_TRY_ASSIGN(const Driver driver, open_driver(library_folders(settings)));
  std::unique_ptr<Device> device(new Device(host, driver));
  BALEEN_TRY(device->choose(settings));
  BALEEN_TRY(device->open_libraries(settings));
  BALEEN_TRY(device->find_memory(settings));
  return device;
}

Result<int> Device::attribute(CUdevice_attribute which) const {
  int value = 0;
  BALEEN_TRY(driver_.check(driver_.cuDeviceGetAttribute(&value, which, device_), "asking for the device's properties"));
  return value;
}

Status Device::choose(const Settings& settings) {
  BALEEN_TRY_ASSIGN(const int devices, count_devices(driver_));
  BALEEN_TRY_ASSIGN(const Share share, choose_share(settings, devices));
  sharing_ranks_ = share.ranks;
  BALEEN_TRY(driver_.check(driver_.cuDeviceGet(&device_, share.index), "opening the device"));
  char name[256] = {};
  BALEEN_TRY(driver_.check(driver_.cuDeviceGetName(name, sizeof name, device_), "asking for the device's name"));
  name_ = name;
  BALEEN_TRY_ASSIGN(const int major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  BALEEN_TRY_ASSIGN(const int minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  BALEEN_TRY_ASSIGN(const int shared, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  limits_ = {static_cast<std::uint64_t>(std::max(0, shared - kStaticShared)), major * 10 + minor};
  if (limits_.compute_capability < kLeastCapability)
    return unsupported(name_ + " has compute capability " + std::to_string(major) + "." + std::to_string(minor) +
                       "; this plugin needs 8.0 or later");
  BALEEN_TRY(driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "starting the device"));
  return enter();
}

Status Device::open_libraries(const Settings& settings) {
  checked_ = settings.boolean("checked");
  const std::vector<std::string> where = library_folders(settings);
  BALEEN_TRY_ASSIGN(Nvrtc nvrtc, open_nvrtc(where));
  std::filesystem::path cache = default_cache_folder();
  if (const std::string_view folder = settings.text("cache"); !folder.empty())
    cache = std::filesystem::path(settings.folder()) / folder;  // an absolute one stays
  compiler_ = std::make_unique<Compiler>(driver_, std::move(nvrtc), cache, limits_.compute_capability);
  functions_ = std::make_unique<Functions>(driver_);
  BALEEN_TRY(functions_->load());
  BlasOptions options{settings.boolean("tf32"), settings.boolean("deterministic"), std::uint64_t{4} << 20};
  if (limits_.compute_capability >= 90) options.workspace_bytes = std::uint64_t{32} << 20;
  auto blas = Blas::open(where, options);
  if (blas)
    blas_ = *std::move(blas);
  else
    host_.log(BALEEN_WARNING, blas.error().text() + "; products are computed by a slow kernel of the plugin's own");
  dnn_ = std::make_unique<DnnOpener>(where, options.deterministic,
                                     [this](const std::string& text) { host_.log(BALEEN_WARNING, text); });
  BALEEN_TRY_ASSIGN(own_stream_, Stream::create(driver_));
  kernel_context_ = std::make_unique<Context>(Context{driver_, *functions_, *compiler_, blas_.get(), *dnn_, limits_});
  return {};
}

Status Device::find_memory(const Settings& settings) {
  std::size_t free = 0, total = 0;
  BALEEN_TRY(driver_.check(driver_.cuMemGetInfo(&free, &total), "asking for the device's memory"));
  const auto asked = static_cast<std::uint64_t>(settings.integer("memory")) << 20;
  const double fraction = settings.number("fraction"), whole = static_cast<double>(total);
  // A rank that comes later finds less free: those that share a device take parts of all of it.
  double part = kFraction * static_cast<double>(free);
  if (sharing_ranks_ > 1) part = std::min(part, kFraction * whole / sharing_ranks_);
  if (fraction > 0) part = fraction * static_cast<double>(free);
  memory_bytes_ = asked > 0 ? asked : static_cast<std::uint64_t>(part);
  return {};
}

}  // namespace baleen::cuda
