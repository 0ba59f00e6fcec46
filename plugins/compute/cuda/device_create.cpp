/// \file Finding the device that the options name, and what to say where there is none.
#include "device.hpp"

#include <cstdlib>

#include "limits.hpp"
#include "options.hpp"

namespace baleen::cuda {
Result<std::unique_ptr<Device>> Device::create(const Host& host, const Settings& settings) {
  BALEEN_TRY_ASSIGN(const Driver driver, open_driver(library_folders(settings)));
  if (const char* const queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
    host.log(BALEEN_DEBUG, "CUDA_DEVICE_MAX_CONNECTIONS, the hardware queues of streams, is " + std::string(queues));
  std::unique_ptr<Device> device(new Device(host, driver));
  BALEEN_TRY(device->choose(settings));
  BALEEN_TRY(device->open_libraries(settings));
  BALEEN_TRY(device->find_memory(settings));
  return device;
}

Status Device::choose(const Settings& settings) {
  BALEEN_TRY_ASSIGN(const int devices, count_devices(driver_));
  BALEEN_TRY_ASSIGN(const Share share, choose_share(settings, devices));
  sharing_ranks_ = share.ranks;
  if (const std::string text = division_text(settings, devices, share.ranks); !text.empty())
    host_.log(std::getenv("CUDA_VISIBLE_DEVICES") ? BALEEN_WARNING : BALEEN_INFO, text);
  BALEEN_TRY(driver_.check(driver_.cuDeviceGet(&device_, share.index), "opening the device"));
  char name[256] = {};
  BALEEN_TRY(driver_.check(driver_.cuDeviceGetName(name, sizeof name, device_), "asking for the device's name"));
  name_ = name;
  BALEEN_TRY_ASSIGN(limits_, kernel_limits(driver_, device_, name_, settings));
  BALEEN_TRY(driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "starting the device"));
  return enter();
}

Status Device::open_libraries(const Settings& settings) {
  checked_ = settings.boolean("checked");
  graphs_ = settings.boolean("graphs");
  const std::vector<std::string> where = library_folders(settings);
  BALEEN_TRY_ASSIGN(Nvrtc nvrtc, open_nvrtc(where));
  compiler_ = std::make_unique<Compiler>(driver_, std::move(nvrtc), cache_folder(settings), limits_.compute_capability);
  functions_ = std::make_unique<Functions>(driver_);
  BALEEN_TRY(functions_->load());
  const BlasOptions options = BlasOptions::of(settings, limits_.compute_capability);
  products_ = std::make_unique<ProductReport>(
      [this](baleen_level_t level, const std::string& text) { host_.log(level, text); });
  auto blas = Blas::open(where, options);
  if (blas) {
    blas_ = *std::move(blas);
    blas_->report_to(*products_);
  } else {
    host_.log(BALEEN_WARNING, blas.error().text() + "; products are computed by a slow kernel of the plugin's own");
  }
  dnn_ = std::make_unique<DnnOpener>(where, options.deterministic,
                                     [this](const std::string& text) { host_.log(BALEEN_WARNING, text); });
  events_ = std::make_unique<NativeEvents>(driver_);
  BALEEN_TRY_ASSIGN(own_stream_, Stream::create(driver_, *events_));
  warm_up_ = std::make_unique<WarmUp>(driver_, own_stream_->native(), [this] {
    const std::uint64_t used = used_bytes_;
    return memory_bytes_ > used ? memory_bytes_ - used : 0;
  });
  if (blas_) blas_->warm_up_with(*warm_up_);
  if (blas_ && !options.deterministic)
    blas_->tune_with(std::make_unique<BlasTuner>(driver_, own_stream_->native(), cache_folder(settings), name_));
  kernel_context_ = std::make_unique<Context>(Context{driver_, *functions_, *compiler_, blas_.get(), *dnn_, *products_,
                                                      limits_, false, warm_up_.get(), settings.boolean("half_logits")});
  return {};
}

Status Device::find_memory(const Settings& settings) {
  std::size_t free = 0, total = 0;
  BALEEN_TRY(driver_.check(driver_.cuMemGetInfo(&free, &total), "asking for the device's memory"));
  memory_bytes_ = planned_memory(settings, free, total, sharing_ranks_);
  return {};
}

}  // namespace baleen::cuda
