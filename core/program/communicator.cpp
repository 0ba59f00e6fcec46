/// \file Groups from the mesh; everything else is the transport's.
#include "core/program/communicator.hpp"

#include "baleen/event.hpp"
#include "baleen/plugin.hpp"

namespace baleen {

Communicator::Communicator(Plugin plugin, Mesh mesh, std::int64_t rank)
    : plugin_(plugin), mesh_(std::move(mesh)), rank_(rank), at_(coordinates(mesh_, rank)) {}

Result<std::unique_ptr<Communicator>> Communicator::create(Plugin plugin, const baleen_settings_t& settings,
                                                           const baleen_rendezvous_t& rendezvous, Mesh mesh,
                                                           Options options) {
  if (rank_count(mesh) != rendezvous.ranks)
    return internal("a mesh of " + std::to_string(rank_count(mesh)) + " ranks and a rendezvous of " +
                    std::to_string(rendezvous.ranks));
  if (options.hosts.empty()) options.hosts.resize(static_cast<std::size_t>(rank_count(mesh)));
  BALEEN_TRY_ASSIGN(const baleen_transport_t* table, plugin.table<baleen_transport_t>("transport"));
  std::unique_ptr<Communicator> made(new Communicator(plugin, std::move(mesh), rendezvous.rank));
  made->table_ = *table;
  made->hosts_ = std::move(options.hosts);
  const baleen_transport_flags_t flags =
      options.checked ? static_cast<baleen_transport_flags_t>(BALEEN_TRANSPORT_CHECKED) : 0u;
  BALEEN_TRY(plugin.check(table->create(plugin.host(), &settings, &rendezvous, flags, &made->transport_)));
  made->begins_ = std::move(options.begins);
  return made;
}

Status Communicator::prepare_end() {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh_.axes) axes.push_back(axis.name);
  baleen_collective_spec_t spec{};
  spec.size = sizeof spec;
  spec.op = BALEEN_BARRIER;
  spec.where = abi("the end of the script");
  BALEEN_TRY_ASSIGN(end_, prepare(axes, spec));
  return {};
}

Status Communicator::meet_at_end() {
  baleen_event_t done{};
  done.size = sizeof done;
  BALEEN_TRY(start(end_, nullptr, 0, &done, 1));
  event_wait(done, 1);
  return check();
}

Communicator::~Communicator() {
  if (!transport_) return;
  settle();
  table_.destroy(transport_);
}

void Communicator::settle() {
  for (const auto& [ranks, group] : groups_) table_.group_destroy(transport_, group);
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
    void* made = nullptr;
    BALEEN_TRY(plugin_.check(table_.group_create(transport_, ranks.data(), ranks.size(), &made)));
    found = groups_.emplace(members, made).first;
  }
  return found->second;
}

Status Communicator::meet(const std::vector<std::string>& axes) {
  BALEEN_TRY_ASSIGN(void* const group, group_along(axes));
  static_cast<void>(group);
  return {};
}

Result<void*> Communicator::prepare(const std::vector<std::string>& axes, const baleen_collective_spec_t& spec) {
  BALEEN_TRY_ASSIGN(void* const group, group_along(axes));
  void* slot = nullptr;
  BALEEN_TRY(plugin_.check(table_.prepare(transport_, group, &spec, &slot)));
  return slot;
}

void Communicator::abort(const std::string& reason) {
  if (transport_) table_.abort(transport_, abi(reason));
}

Result<void*> Communicator::allocate(std::uint64_t bytes) {
  void* base = nullptr;
  BALEEN_TRY(plugin_.check(table_.allocate(transport_, bytes, &base)));
  return base;
}

}  // namespace baleen
