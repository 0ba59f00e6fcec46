/// \file One place of eight bytes for each output.
#include "core/runtime/output_numbers.hpp"

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

constexpr std::uint64_t kPlace = 8;

bool is_number(const Port& port) { return port.bytes > 0 && port.bytes == dtype_size(port.type.dtype); }

}  // namespace

Status OutputNumbers::reserve(Device& device, const Program& program) {
  const std::uint64_t bytes = program.outputs().size() * kPlace;
  if (device.host_reaches() || bytes <= arena_.bytes()) return {};
  fetched_ = nullptr;
  BALEEN_TRY_ASSIGN(arena_, Arena::create(device, bytes, BALEEN_ARENA_PINNED));
  return {};
}

Status OutputNumbers::fetch(Device& device, const Program& program) {
  if (device.host_reaches()) return {};
  fetched_ = nullptr;
  const std::vector<Port>& ports = program.outputs();
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (is_number(ports[i]))
      BALEEN_TRY(device.check(device.table().copy(device.handle(), device.stream(), arena_.at(i * kPlace),
                                                  program.address(ports[i]), ports[i].bytes)));
  fetched_ = &program;
  return {};
}

const std::byte* OutputNumbers::find(const Device& device, const Program& program, const Port& port) const {
  if (!is_number(port)) return nullptr;
  if (device.host_reaches()) return static_cast<const std::byte*>(program.address(port));
  const auto number = static_cast<std::uint64_t>(&port - program.outputs().data());
  return fetched_ == &program ? arena_.at(number * kPlace) : nullptr;
}

}  // namespace baleen
