/// \file Groups from the mesh; everything else is the transport's.
#include "core/execute/communicator.hpp"

#include "baleen/event.hpp"
#include "core/execute/plugin_transport.hpp"

namespace baleen {

Communicator::Communicator(std::unique_ptr<OpenTransport> transport, Mesh mesh, std::int64_t rank)
    : transport_(std::move(transport)), mesh_(std::move(mesh)), rank_(rank), at_(coordinates(mesh_, rank)) {}

Result<std::unique_ptr<Communicator>> Communicator::create(std::unique_ptr<OpenTransport> transport, std::int64_t rank,
                                                           Mesh mesh, Options options) {
  if (options.hosts.empty()) options.hosts.resize(static_cast<std::size_t>(rank_count(mesh)));
  std::unique_ptr<Communicator> made(new Communicator(std::move(transport), std::move(mesh), rank));
  made->hosts_ = std::move(options.hosts);
  made->begins_ = std::move(options.begins);
  made->runs_ = std::move(options.runs);
  made->deterministic_ = options.deterministic;
  return made;
}

Result<std::unique_ptr<Communicator>> Communicator::create(Plugin plugin, const baleen_settings_t& settings,
                                                           const baleen_rendezvous_t& rendezvous, Mesh mesh,
                                                           Options options) {
  if (rank_count(mesh) != rendezvous.ranks)
    return internal("a mesh of " + std::to_string(rank_count(mesh)) + " ranks and a rendezvous of " +
                    std::to_string(rendezvous.ranks));
  BALEEN_TRY_ASSIGN(auto transport, open_transport(plugin, settings, rendezvous));
  return create(std::move(transport), rendezvous.rank, std::move(mesh), std::move(options));
}

Status Communicator::prepare_end() {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh_.axes) axes.push_back(axis.name);
  CollectiveArgs barrier;
  barrier.where = "the end of the script";
  BALEEN_TRY_ASSIGN(end_, prepare(axes, std::move(barrier)));
  return {};
}

Status Communicator::meet_at_end() {
  runs({});
  baleen_event_t done{};
  done.size = sizeof done;
  BALEEN_TRY(start(end_, nullptr, 0, &done, 1));
  event_wait(done, 1);
  forget_begun();
  return check();
}

Communicator::~Communicator() { settle(); }

void Communicator::settle() {
  for (const auto& [owner, lets_go] : lets_go_) lets_go();
  forget_begun();
  slots_.clear();
  for (const auto& [ranks, group] : groups_) transport_->group_destroy(group);
  groups_.clear();
}

Result<void*> Communicator::group_along(const std::vector<std::string>& axes) {
  std::vector<int> numbers;
  for (const std::string& axis : axes) {
    const int number = mesh_.find(axis);
    if (number < 0) return internal("a collective along `" + axis + "`, which the mesh lacks");
    numbers.push_back(number);
  }
  const std::vector<std::int64_t> members = group(mesh_, rank_, numbers);
  auto found = groups_.find(members);
  if (found == groups_.end()) {
    const std::vector<std::int32_t> ranks(members.begin(), members.end());
    BALEEN_TRY_ASSIGN(void* const made, transport_->group_create(ranks));
    found = groups_.emplace(members, made).first;
  }
  return found->second;
}

Status Communicator::meet(const std::vector<std::string>& axes) {
  BALEEN_TRY(group_along(axes));
  return {};
}

Result<void*> Communicator::prepare(const std::vector<std::string>& axes, CollectiveArgs collective) {
  BALEEN_TRY_ASSIGN(void* const group, group_along(axes));
  collective.deterministic = deterministic_;
  BALEEN_TRY_ASSIGN(void* const slot, transport_->prepare(group, CollectiveSpec(collective)));
  if (begins_)
    slots_[slot] = {std::string(collective_name(collective.op)) + " of " + collective.where,
                    is_pairwise(collective.op)};
  return slot;
}

void Communicator::tell_begin(void* slot, const baleen_event_t* after, std::uint64_t after_value,
                              const baleen_event_t* done, std::uint64_t done_value) {
  begins_(count());
  const Named& named = slots_.at(slot);
  if (!named.is_pairwise) under_way_.begin({&named.text, after, after_value, done, done_value});
}

void Communicator::awaits(void* slot, const baleen_event_t& since, std::uint64_t since_value,
                          const baleen_event_t& done, std::uint64_t done_value) {
  under_way_.begin({&slots_.at(slot).text, &since, since_value, &done, done_value});
}

}  // namespace baleen
