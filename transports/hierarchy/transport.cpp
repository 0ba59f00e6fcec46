/// \file Plan time: memory, groups, and collectives prepared step by step.
#include "transport.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace baleen::hierarchy {
namespace {

constexpr std::align_val_t kLine{64};

}  // namespace

struct HierarchyTransport::Group {
  Group(std::vector<std::int32_t> given, GroupShape known) : ranks(std::move(given)), shape(std::move(known)) {}

  const std::vector<std::int32_t> ranks;
  const GroupShape shape;
  void* here = nullptr;  // inside: the members on this host
  void* self = nullptr;  // inside: this rank, once it is needed
  void* all = nullptr;   // between: all members
  void* rail = nullptr;  // between: where this member is on one
  std::vector<std::unique_ptr<Slot>> slots;
};

HierarchyTransport::HierarchyTransport(std::unique_ptr<OpenTransport> inside, std::unique_ptr<OpenTransport> between,
                                       std::vector<std::int32_t> host_of, std::int32_t rank, Explain note)
    : inside_(std::move(inside)),
      between_(std::move(between)),
      host_of_(std::move(host_of)),
      rank_(rank),
      note_(std::move(note)),
      scratch_([this](std::uint64_t bytes) { return allocate_scratch(bytes); }) {
  for (std::size_t other = 0; other < host_of_.size(); ++other)
    if (host_of_[other] == host_of_[static_cast<std::size_t>(rank)])
      neighbours_.push_back(static_cast<std::int32_t>(other));
  conductor_ = std::make_unique<Conductor>(
      *inside_, *between_, [this](bool is_inside, Error error) { return tell(is_inside, std::move(error)); });
}

HierarchyTransport::~HierarchyTransport() {
  conductor_.reset();
  const std::vector<void*> scratch = scratch_.chunks();
  // The transports end what is unfinished before its memory goes.
  for (const auto& group : groups_) {
    for (void* sub : {group->rail, group->all})
      if (sub) between_->group_destroy(sub);
    for (void* sub : {group->self, group->here})
      if (sub) inside_->group_destroy(sub);
  }
  for (void* chunk : scratch) {
    if (allocates())
      release(chunk);
    else
      ::operator delete(chunk, kLine);
  }
}

Error HierarchyTransport::tell(bool inside, Error error) const {
  if (!inside || neighbours_.back() + 1 == static_cast<std::int32_t>(neighbours_.size())) return error;
  std::string list;
  for (const std::int32_t rank : neighbours_) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  error.message += " (inside a host ranks are counted from 0: these are ranks " + list + ")";
  return error;
}

Error HierarchyTransport::ending(Error error) {
  conductor_->fail(error);
  return error;
}

std::string_view HierarchyTransport::native_runtime() const {
  const std::string_view inside = inside_->native_runtime();
  return inside.empty() ? between_->native_runtime() : inside;
}

Result<Lease> HierarchyTransport::lease(void* device, const baleen_compute_t& compute) {
  BALEEN_TRY(check());
  conductor_->await_handed();
  BALEEN_TRY_ASSIGN(Lease inside, inside_->lease(device, compute));
  BALEEN_TRY_ASSIGN(Lease between, between_->lease(device, compute));
  if (!inside && !between) return Lease();
  return Lease(std::make_shared<std::pair<Lease, Lease>>(std::move(inside), std::move(between)));
}

Result<void*> HierarchyTransport::allocate(std::uint64_t bytes) {
  BALEEN_TRY(check());
  conductor_->await_handed();
  BALEEN_TRY_ASSIGN(void* const base, first().allocate(bytes));
  if (second().registers()) {
    if (Status known = second().register_arena(base, bytes); !known) {
      first().release(base);
      return std::move(known).error();
    }
  }
  return base;
}

void HierarchyTransport::release(void* base) {
  if (conductor_) conductor_->await_handed();
  if (second().registers()) second().unregister_arena(base);
  first().release(base);
}

Status HierarchyTransport::register_arena(void* base, std::uint64_t bytes) {
  conductor_->await_handed();
  if (inside_->registers()) BALEEN_TRY(inside_->register_arena(base, bytes));
  if (!between_->registers()) return {};
  Status known = between_->register_arena(base, bytes);
  if (!known && inside_->registers()) inside_->unregister_arena(base);
  return known;
}

void HierarchyTransport::unregister_arena(void* base) {
  conductor_->await_handed();
  if (between_->registers()) between_->unregister_arena(base);
  if (inside_->registers()) inside_->unregister_arena(base);
}

Result<void*> HierarchyTransport::allocate_scratch(std::uint64_t bytes) {
  if (allocates()) return allocate(bytes);
  void* memory = ::operator new(bytes, kLine, std::nothrow);
  if (!memory) return Error{BALEEN_NO_MEMORY, "no " + std::to_string(bytes) + " bytes for steps between hosts", {}};
  return memory;
}

// All members compare what they bring through `between`, which knows everyone; the other groups follow from it.
Result<void*> HierarchyTransport::group_create(std::vector<std::int32_t> ranks) {
  BALEEN_TRY(check());
  conductor_->await_handed();
  BALEEN_TRY_ASSIGN(void* const all, between_->group_create(ranks));
  const auto place = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
  GroupShape shape(ranks, host_of_, place);
  Group& group = *groups_.emplace_back(std::make_unique<Group>(std::move(ranks), std::move(shape)));
  group.all = all;
  Result<void*> made = make_group(group);
  if (!made) return ending(std::move(made).error());
  return made;
}

Result<void*> HierarchyTransport::make_group(Group& group) {
  const GroupShape& shape = group.shape;
  std::vector<std::int32_t> here, rail;
  for (const std::size_t member : shape.hosts[shape.host]) {
    const auto local = std::find(neighbours_.begin(), neighbours_.end(), group.ranks[member]);
    here.push_back(static_cast<std::int32_t>(local - neighbours_.begin()));
  }
  BALEEN_TRY_ASSIGN(group.here, inside_->group_create(std::move(here)));
  if (shape.on_one_host() || shape.one_per_host() || !shape.contiguous || !shape.on_rail())
    return static_cast<void*>(&group);
  for (const auto& places : shape.hosts) rail.push_back(group.ranks[places[shape.index]]);
  BALEEN_TRY_ASSIGN(group.rail, between_->group_create(std::move(rail)));
  return static_cast<void*>(&group);
}

void HierarchyTransport::group_destroy(void* handle) {
  conductor_->settle();
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const auto& mine) { return mine.get() == handle; });
  if (found == groups_.end()) return;
  for (void* sub : {(*found)->rail, (*found)->all})
    if (sub) between_->group_destroy(sub);
  for (void* sub : {(*found)->self, (*found)->here})
    if (sub) inside_->group_destroy(sub);
  groups_.erase(found);
}

Result<void*> HierarchyTransport::prepare(void* handle, const baleen_collective_spec_t& spec) {
  BALEEN_TRY(check());
  conductor_->await_handed();
  Group& group = *static_cast<Group*>(handle);
  // Here all members compare; what follows is the same on all of them.
  BALEEN_TRY_ASSIGN(void* const whole, between_->prepare(group.all, spec));
  BALEEN_TRY_ASSIGN(const Collective collective, Collective::make(spec, group.shape.place, group.shape.members));
  scratch_.rewind();
  const std::vector<Step> steps =
      compose(group.shape, collective, [this](std::uint64_t bytes) { return scratch_.take(bytes); });
  if (!scratch_.failure()) return ending(scratch_.failure().error());
  explain(group, collective);
  auto slot = std::make_unique<Slot>();
  for (const Step& step : steps) {
    SubSlot& made = slot->steps.emplace_back();
    made.inside = step.scope == Scope::kHost || step.scope == Scope::kSelf;
    made.transport = made.inside ? inside_.get() : between_.get();
    made.after = step.after;
    made.slot = whole;
    if (step.whole) continue;
    Result<void*> prepared = prepare_step(group, step, made);
    if (!prepared) return ending(tell(made.inside, std::move(prepared).error()));
    made.slot = *prepared;
  }
  // On some ranks a collective of several steps has one only, which still uses scratch of others.
  slot->direct = steps.size() == 1 && (steps[0].whole || is_pairwise(collective.op) || group.shape.on_one_host());
  group.slots.push_back(std::move(slot));
  return static_cast<void*>(group.slots.back().get());
}

Status HierarchyTransport::start(void* handle, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                                 std::uint64_t done_value) {
  return conductor_->start(*static_cast<Slot*>(handle), after, after_value, done, done_value);
}

Result<void*> HierarchyTransport::prepare_step(Group& group, const Step& step, SubSlot& made) {
  BALEEN_TRY_ASSIGN(void* const sub, group_of(group, step.scope));
  return made.transport->prepare(sub, CollectiveSpec(step.collective));
}

Result<void*> HierarchyTransport::group_of(Group& group, Scope scope) {
  switch (scope) {
    case Scope::kHost: return group.here;
    case Scope::kRail: return group.rail;
    case Scope::kAll: return group.all;
    case Scope::kSelf: break;
  }
  if (!group.self) {
    const auto local = std::find(neighbours_.begin(), neighbours_.end(), rank_) - neighbours_.begin();
    BALEEN_TRY_ASSIGN(group.self, inside_->group_create({static_cast<std::int32_t>(local)}));
  }
  return group.self;
}

void HierarchyTransport::explain(const Group& group, const Collective& collective) {
  const GroupShape& shape = group.shape;
  if (explained_ || rank_ != 0 || !note_ || shape.on_one_host() || shape.one_per_host()) return;
  const char* why = nullptr;
  if (is_reducing(collective.op))
    why = objection_to_host_sums(shape, collective);
  else if (!shape.contiguous && collective.op != BALEEN_PERMUTE && !is_pairwise(collective.op))
    why = "its members of a host do not stand together in the group";
  if (!why) return;
  explained_ = true;
  note_(collective.text() + (is_reducing(collective.op) ? " is summed" : " goes") +
        " between all ranks, not by hosts first: " + why + " (said once)");
}

}  // namespace baleen::hierarchy
