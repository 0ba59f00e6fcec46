/// \file Times of a stream as events of the driver.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "driver.hpp"

namespace baleen::cuda {

/// As baleen_stamps_t says. Destroyed with the context current.
class Stamps {
 public:
  static Result<std::unique_ptr<Stamps>> create(const Driver& driver, std::uint64_t count);
  ~Stamps();
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  Status note(CUstream stream, std::uint64_t number);
  Result<double> between(std::uint64_t first, std::uint64_t second) const;

 private:
  explicit Stamps(const Driver& driver) : driver_(driver) {}
  Result<CUevent> at(std::uint64_t number) const;

  const Driver& driver_;
  std::vector<CUevent> events_;
};

}  // namespace baleen::cuda
