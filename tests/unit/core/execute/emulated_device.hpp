/// \file The core's device of the plugin cuda on emulated libraries.
#pragma once
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "core/execute/device.hpp"
#include "core/plugin/option_value.hpp"
#include "core/plugin/settings.hpp"
#include "support/places.hpp"

namespace baleen {

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}
inline void take(const Status& status) {
  if (!status) throw std::runtime_error(status.error().text());
}

inline std::unique_ptr<Device> emulated_device() {
  setenv("EMULATED_CUDA_DEVICES", "1", 1);
  const Descriptor descriptor = take(read_descriptor(test::build_dir() + "/lib/baleen/plugins/baleen_compute_cuda.so"));
  UserValues values;
  for (const auto& [name, text] :
       {std::pair{"libraries", test::emulated_folder()}, std::pair{"cache", test::emulated_folder() + "/cache"}})
    values[name] = take(parse_option_text(*descriptor.find(name), text, "test"));
  const SettingsStorage settings = take(SettingsStorage::build(descriptor, values, {0, "/", "test"}));
  return take(Device::create(take(Plugin::open(descriptor, Log())), *settings.get()));
}

}  // namespace baleen
