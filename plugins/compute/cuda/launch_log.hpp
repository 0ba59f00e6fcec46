/// \file What was launched lately, so that an error that shows later can be traced to its op and tensor.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
  /// Launches that will come again under these numbers: they are named for good. Returns what messages say of all.
  std::shared_ptr<const Label> keep(const std::vector<unsigned>& launches);
  /// Of the last launch.
  std::uint64_t micro() const { return entries_[last_ % kKept].micro; }
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
  std::map<unsigned, std::shared_ptr<const Label>> kept_;  ///< that read ids
  unsigned last_ = 0, settled_ = 0;
};

}  // namespace baleen::cuda
