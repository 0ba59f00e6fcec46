/// \file Calls of a device's table of stamps.
#include "core/execute/stamps.hpp"

#include <cmath>

namespace baleen {

Result<std::unique_ptr<Stamps>> Stamps::create(const Device& device, std::uint64_t count) {
  const auto table = device.extension<baleen_stamps_t>(BALEEN_STAMPS);
  if (!table || device.host_reaches()) return std::unique_ptr<Stamps>();
  std::unique_ptr<Stamps> stamps(new Stamps(*table, device));
  BALEEN_TRY(device.check(table->create(device.handle(), count, &stamps->stamps_)));
  return stamps;
}

Stamps::~Stamps() {
  if (stamps_) table_.destroy(device_.handle(), stamps_);
}

Status Stamps::note(void* stream, std::uint64_t number) const {
  return device_.check(table_.note(device_.handle(), stream, stamps_, number));
}

Result<std::int64_t> Stamps::between(std::uint64_t first, std::uint64_t second) const {
  double nanoseconds = 0;
  BALEEN_TRY(device_.check(table_.between(device_.handle(), stamps_, first, second, &nanoseconds)));
  return std::llround(nanoseconds);
}

}  // namespace baleen
