/// \file The workshop of compose(): what its functions share.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "compose.hpp"

namespace baleen::hierarchy {

/// Composes one collective of a group with several hosts of which some have several members.
class Composer {
 public:
  Composer(const GroupShape& shape, const Collective& collective, const TakeScratch& take)
      : shape_(shape), c_(collective), take_(take) {}

  std::vector<Step> compose();

 private:
  using Steps = std::vector<std::size_t>;
  using Entries = std::vector<CollectiveEntry>;

  void all_reduce();
  void reduce_scatter();
  void reduce_scatter_unequal();
  void reduce();
  void broadcast();
  /// Of blocks as in ALL_GATHER, once the given steps are over.
  void all_gather(const Entries& entries, const Steps& after);
  void all_to_all();
  void permute();
  void barrier();

  Collective part(baleen_collective_t op, Scope scope) const;
  std::size_t add(Scope scope, Collective collective, Steps after = {});
  /// Among the members of a rail: everyone's part to everyone else's place for it. Without copies, parts of any sizes.
  void exchange_parts(Collective& rail, const CollectiveEntry& e, const std::vector<ElementRange>& parts) const;
  /// Elements of the blocks of a host's members.
  ElementRange segment(const CollectiveEntry& e, std::size_t host) const;
  /// What the rail of a host's member `index` carries of the host's segment.
  ElementRange rail_part(const CollectiveEntry& e, std::size_t host, std::size_t index) const;
  CollectiveEntry to_owners(const CollectiveEntry& e, std::byte* part) const;
  void permute_through(Scope scope, const std::vector<std::int32_t>& destinations, const std::vector<void*>& outputs);

  std::uint64_t per_rail(std::uint64_t count) const { return (count + shape_.rails - 1) / shape_.rails; }
  ElementRange rail_block(std::uint64_t count) const {
    return CollectiveEntry{nullptr, nullptr, count, per_rail(count), {}, {}}.block_of(shape_.index);
  }
  std::byte* scratch(std::uint64_t elements) const { return take_(elements * c_.width()); }
  const std::byte* at(const void* data, std::uint64_t elements) const {
    return data ? static_cast<const std::byte*>(data) + elements * c_.width() : nullptr;
  }
  std::byte* at(void* data, std::uint64_t elements) const {
    return data ? static_cast<std::byte*>(data) + elements * c_.width() : nullptr;
  }

  const GroupShape& shape_;
  const Collective& c_;
  const TakeScratch& take_;
  std::vector<Step> steps_;
};

}  // namespace baleen::hierarchy
