/// \file What was launched lately, so that an error that shows later can be traced to its op and tensor.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "baleen/result.hpp"
#include "device/ids.hpp"

namespace baleen::cuda {

/// What messages say of a kernel. Lives at least as long as the log remembers its launches.
struct Label {
  std::string op;    ///< "blocks.0.attention.qkv"
  std::string text;  ///< "matmul `blocks.0.attention.qkv` to fp32 [8, 256, 1152]"
  IdRange range;     ///< of the ids that it reads
};

/// A ring of the last launches of one stream.
class LaunchLog {
 public:
  /// Notes a launch and returns its number, from 1.
  unsigned begin(const std::shared_ptr<const Label>& label, std::uint64_t step, std::uint64_t micro);
  /// All that was launched is done.
  void settle() { settled_ = last_; }

  /// "in step 4 in ...": the launches since the last settling.
  std::string pending() const;
  /// The failure of the op that met the id.
  Error wrong_id(const IdRecord& record) const;

 private:
  static constexpr unsigned kKept = 4096;
  struct Entry {
    std::shared_ptr<const Label> label;
    std::uint64_t step = 0, micro = 0;
  };
  const Entry* find(unsigned number) const;

  std::array<Entry, kKept> entries_{};
  unsigned last_ = 0, settled_ = 0;
};

}  // namespace baleen::cuda
