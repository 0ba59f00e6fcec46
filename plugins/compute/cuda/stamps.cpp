/// \file Events that take the time, made once.
#include "stamps.hpp"

#include <string>

namespace baleen::cuda {

Result<std::unique_ptr<Stamps>> Stamps::create(const Driver& driver, std::uint64_t count) {
  std::unique_ptr<Stamps> stamps(new Stamps(driver));
  stamps->events_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    CUevent event = nullptr;
    BALEEN_TRY(driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event that takes the time"));
    stamps->events_.push_back(event);
  }
  return stamps;
}

Stamps::~Stamps() {
  for (const CUevent event : events_) driver_.cuEventDestroy(event);
}

Result<CUevent> Stamps::at(std::uint64_t number) const {
  if (number < events_.size()) return events_[number];
  return invalid("no stamp " + std::to_string(number) + " of " + std::to_string(events_.size()));
}

Status Stamps::note(CUstream stream, std::uint64_t number) {
  BALEEN_TRY_ASSIGN(const CUevent event, at(number));
  return driver_.check(driver_.cuEventRecord(event, stream), "taking a stream's time");
}

Result<double> Stamps::between(std::uint64_t first, std::uint64_t second) const {
  BALEEN_TRY_ASSIGN(const CUevent begin, at(first));
  BALEEN_TRY_ASSIGN(const CUevent end, at(second));
  float milliseconds = 0;
  BALEEN_TRY(driver_.check(driver_.cuEventElapsedTime(&milliseconds, begin, end), "reading a stream's times"));
  return static_cast<double>(milliseconds) * 1e6;
}

}  // namespace baleen::cuda
