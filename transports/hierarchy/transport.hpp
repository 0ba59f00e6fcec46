/// \file The transport of groups that span hosts, made of two others: one that joins the ranks of each host, and one
/// that joins all ranks.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compose.hpp"
#include "conductor.hpp"
#include "scratch.hpp"

namespace baleen::hierarchy {

class HierarchyTransport final : public OpenTransport {
 public:
  /// Told once of collectives that do not go by hosts, and why; may be empty.
  using Explain = std::function<void(const std::string&)>;

  /// `inside` numbers the ranks of this host from 0 in their order; `between` knows all. `host_of` has a number per
  /// rank, the same on every rank.
  HierarchyTransport(std::unique_ptr<OpenTransport> inside, std::unique_ptr<OpenTransport> between,
                     std::vector<std::int32_t> host_of, std::int32_t rank, Explain note);
  ~HierarchyTransport() override;

  bool allocates() const override { return inside_->allocates() || between_->allocates(); }
  bool registers() const override { return inside_->registers() || between_->registers(); }
  bool takes(std::string_view memory) const override { return inside_->takes(memory) && between_->takes(memory); }
  std::string_view native_runtime() const override;
  /// Of each transport that wants it.
  Result<Lease> lease(void* device, const baleen_compute_t& compute) override;
  Result<void*> allocate(std::uint64_t bytes) override;
  void release(void* base) override;
  Status register_arena(void* base, std::uint64_t bytes) override;
  void unregister_arena(void* base) override;
  Result<void*> group_create(std::vector<std::int32_t> ranks) override;
  void group_destroy(void* group) override;
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override;
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override;
  Status check() override { return conductor_->check(); }
  void abort(std::string_view reason) override { conductor_->fail({BALEEN_PEER_LOST, std::string(reason), {}}); }

 private:
  struct Group;

  Error tell(bool inside, Error error) const;
  /// A failure that the others cannot see ends the run.
  Error ending(Error error);
  Result<void*> make_group(Group& group);
  Result<void*> group_of(Group& group, Scope scope);
  Result<void*> prepare_step(Group& group, const Step& step, SubSlot& made);
  void explain(const Group& group, const Collective& collective);
  OpenTransport& first() { return inside_->allocates() ? *inside_ : *between_; }
  OpenTransport& second() { return inside_->allocates() ? *between_ : *inside_; }
  Result<void*> allocate_scratch(std::uint64_t bytes);

  const std::unique_ptr<OpenTransport> inside_, between_;
  const std::vector<std::int32_t> host_of_;
  const std::int32_t rank_;
  const Explain note_;
  std::vector<std::int32_t> neighbours_;  // the ranks of this host
  bool explained_ = false;
  Scratch scratch_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::unique_ptr<Conductor> conductor_;
};

}  // namespace baleen::hierarchy
