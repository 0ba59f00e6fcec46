/// \file Elementwise updates of what lies in an offload store, piece by piece.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/codegen/passes.hpp"

namespace baleen {

/// What is got into a buffer, and what is put from there; kNone: nothing is.
struct StoredValue {
  LowValue old = kNone, next = kNone;
};

/// Whether a step of the update is one elementwise op and nothing else, on values that are there as a whole and lie in
/// a row each, or are single numbers that it reads.
bool is_elementwise_update(const Lowered& lowered, const ProgramStep& step);

/// Splits steps of the update that are one elementwise op: each of several steps in a row then handles a piece of all
/// operands. Operands in the store that no other step has in the same buffer have a buffer for each piece; others stay
/// as they are, and steps see a part of them. Elements are computed by the same expression, so no bit changes.
class UpdatePieces {
 public:
  /// One of the values after the split, and which of those before it is a piece of, or is.
  struct Part {
    std::size_t of = 0;
    StoredValue value;
  };

  /// `host`: steps that say so run there, whose kernels are compiled for that.
  UpdatePieces(Lowered& lowered, std::vector<ProgramStep>& steps, KernelStore& kernels, const HostKernels& host)
      : lowered_(lowered), steps_(steps), kernels_(kernels), host_(host) {}

  /// Once. `stored`: all that lies in the store, one per buffer.
  Status split(const std::vector<StoredValue>& stored);
  const std::vector<Part>& parts() const { return parts_; }
  /// Of the first step of what was step `old`; the number of steps for that.
  std::size_t new_number(std::size_t old) const { return numbers_[old]; }

 private:
  /// How a step is split: elements of a piece, and of all.
  struct Cut {
    std::int64_t piece = 0, all = 0;
  };

  void count_users();
  std::optional<Cut> cut_of(const ProgramStep& step) const;
  bool is_alone(LowValue operand) const;
  Status split(const ProgramStep& step, const Cut& cut, std::vector<ProgramStep>& result);
  Status check_aliases(const ProgramStep& part, const StoredValue& whole, std::uint32_t storage) const;
  LowValue piece_of(LowValue operand, std::int64_t first, std::int64_t count,
                    std::map<std::uint32_t, std::uint32_t>& own);

  Lowered& lowered_;
  std::vector<ProgramStep>& steps_;
  KernelStore& kernels_;
  const HostKernels& host_;
  std::vector<Part> parts_;
  std::vector<std::size_t> numbers_;
  std::map<std::uint32_t, std::size_t> stored_;  ///< by root: its number
  std::vector<StoredValue> values_;
  std::map<std::uint32_t, std::size_t> users_;  ///< of roots in the store: how many steps have it
};

}  // namespace baleen
