/// \file That a data set still gives the rows that it gave: where memory has damaged what a plugin orders or finds them
/// by, a training would see some of them never and others twice.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/runtime/session.hpp"

namespace baleen::app {

/// Reads some rows of both parts again and again: a plugin's reading is a function of its seed and the position. [one
/// thread]
class DataCheck {
 public:
  /// Compares after every so many steps; 0: where it is asked.
  DataCheck(const Session& session, std::int64_t every) : session_(session), every_(every) {}

  /// Takes what the data set gives at the first call for right; a part that cannot be read there is not compared.
  void before_step();
  /// After every N-th step and the last one. DAMAGED with the part whose rows are others.
  Status after_step() const;
  /// The same now, before something is saved.
  Status compare() const;

 private:
  Result<std::uint64_t> digest(baleen_split_t part) const;

  const Session& session_;
  std::int64_t every_;
  bool has_begun_ = false;
  std::int64_t first_ = 0;                   ///< row of the train stream
  std::optional<std::uint64_t> digests_[2];  ///< by part
};

}  // namespace baleen::app
