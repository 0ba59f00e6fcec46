/// \file A device that is described, for plans: of this machine's own, or by the options `architecture` and `memory`.
#include <cstdio>

#include "device.hpp"
#include "limits.hpp"
#include "options.hpp"

namespace baleen::cuda {
namespace {

/// Shared memory that a block may ask for, in KiB, less what kernels declare: CUDA's programming guide, "Technical
/// Specifications per Compute Capability".
constexpr std::uint64_t shared_kibibytes(int capability) {
  constexpr std::uint64_t kDeclared = 4;
  switch (capability) {
    case 80:
    case 87: return 163 - kDeclared;
    case 86:
    case 89:
    case 120: return 99 - kDeclared;
    default: return 227 - kDeclared;
  }
}

}  // namespace

Result<std::unique_ptr<Device>> Device::described(const Host& host, const Settings& settings) {
  std::unique_ptr<Device> device(new Device(host, planning_driver()));
  device->description_.emplace();
  BALEEN_TRY(device->take_description(settings));
  // Texts of kinds are compiled where that can be done, so that a plan says what is wrong with them.
  const std::vector<std::string> where = library_folders(settings);
  auto nvrtc = open_nvrtc(where);
  device->compiler_ = std::make_unique<Compiler>(device->driver_, nvrtc ? std::optional(*nvrtc) : std::nullopt,
                                                 cache_folder(settings), device->limits_.compute_capability);
  device->functions_ = std::make_unique<Functions>(device->driver_);
  BALEEN_TRY(device->functions_->load());
  const BlasOptions options = BlasOptions::of(settings, device->limits_.compute_capability);
  device->blas_ = Blas::described(options);
  device->products_ = std::make_unique<ProductReport>([](baleen_level_t, const std::string&) {});
  device->dnn_ = std::make_unique<DnnOpener>(where, options.deterministic, [](const std::string&) {});
  device->kernel_context_ = std::make_unique<Context>(
      Context{device->driver_, *device->functions_, *device->compiler_, device->blas_.get(), *device->dnn_,
              *device->products_, device->limits_, true, nullptr, settings.boolean("half_logits")});
  return device;
}

Status Device::find_here(const Settings& settings) {
  BALEEN_TRY_ASSIGN(const Driver driver, open_driver(library_folders(settings)));
  BALEEN_TRY_ASSIGN(const int devices, count_devices(driver));
  BALEEN_TRY_ASSIGN(const Share share, choose_share(settings, devices));
  BALEEN_TRY(driver.check(driver.cuDeviceGet(&device_, share.index), "opening the device"));
  BALEEN_TRY(describe_stopped(driver, share.index, *description_));
  name_ = description_->name;
  BALEEN_TRY_ASSIGN(limits_, kernel_limits(driver, device_, name_, settings));
  memory_bytes_ = planned_memory(settings, description_->memory_free_bytes, description_->memory_bytes, share.ranks);
  return {};
}

Status Device::take_description(const Settings& settings) {
  const int capability = architecture_of(settings);
  memory_bytes_ = static_cast<std::uint64_t>(settings.integer("memory")) << 20;
  if (capability != 0 && memory_bytes_ > 0) {
    baleen_device_limits_t& told = *description_;
    std::snprintf(told.name, sizeof told.name, "CUDA device as described");
    std::snprintf(told.architecture, sizeof told.architecture, "compute capability %d.%d", capability / 10,
                  capability % 10);
    told.memory_bytes = memory_bytes_;
    name_ = told.name;
    limits_ = {shared_kibibytes(capability) << 10, capability};
    return {};
  }
  Status found = find_here(settings);
  if (found || found.error().code != BALEEN_NOT_FOUND) return found;
  return Error{found.error().code,
               found.error().message +
                   "; a plan for devices that are not here needs the options `architecture`, such "
                   "as \"9.0\", and `memory`, in MiB",
               {}};
}

}  // namespace baleen::cuda
