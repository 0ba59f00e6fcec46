/// \file Which updates run where their states lie, and what is copied for them.
#include "compiler/codegen/host_updates.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

constexpr std::size_t kNobody = SIZE_MAX;

std::set<LowValue> operands_of(const ProgramStep& step) {
  std::set<LowValue> all(step.reads.begin(), step.reads.end());
  all.insert(step.writes.begin(), step.writes.end());
  return all;
}

bool contains(const std::vector<LowValue>& list, LowValue value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace

void HostUpdates::mark() {
  find_readers();
  std::set<std::string> others, inside;
  for (ProgramStep& step : steps_) {
    const auto number = static_cast<StepNumber>(&step - steps_.data());
    step.on_host = host_.by != HostKernels::By::nobody && is_wanted(step) && !is_part(number);
    if (step.on_host) continue;
    for (const LowValue v : step.writes) {
      const Storage& storage = lowered_.storage_of(v);
      if (storage.kind == Storage::Kind::offloaded && storage.updated_on_host &&
          lowered_.ops[step.op].op.phase == Phase::update)
        (has_state_inside(step) ? inside : others).insert(storage.name.str());
    }
  }
  report_.beside_inside.assign(inside.begin(), inside.end());
  others.merge(inside);
  report_.on_device.assign(others.begin(), others.end());
}

/// By root: the last step that computes with it, rather than copies, casts or sends it.
void HostUpdates::find_readers() {
  for (StepNumber s = 0; s < steps_.size(); ++s) {
    const Op& op = lowered_.ops[steps_[s].op].op;
    if (steps_[s].launches.empty() || (op.inputs.size() == 1 && op.kind->has(kPointwise))) continue;
    for (const LowValue v : steps_[s].reads) last_reader_[lowered_.root_of(v)] = s;
  }
}

/// Whether it is a part of an update that goes on with what it makes (norms, products), which the device does.
bool HostUpdates::is_part(StepNumber step) const {
  return std::ranges::any_of(steps_[step].writes, [&](LowValue v) {
    const auto reader = last_reader_.find(lowered_.root_of(v));
    return reader != last_reader_.end() && reader->second > step;
  });
}

/// Of an elementwise update.
bool HostUpdates::has_state_inside(const ProgramStep& step) const {
  return is_elementwise_update(lowered_, step) && std::ranges::any_of(step.writes, [&](LowValue v) {
           const Storage& storage = lowered_.storage_of(v);
           return storage.kind == Storage::Kind::persistent && storage.role == Role::state;
         });
}

/// What has states in the device is updated there.
bool HostUpdates::is_wanted(const ProgramStep& step) const {
  if (!is_elementwise_update(lowered_, step) || has_state_inside(step)) return false;
  bool wanted = false;
  for (const LowValue v : operands_of(step)) {
    const Storage& storage = lowered_.storage_of(v);
    wanted |= storage.kind == Storage::Kind::offloaded && storage.updated_on_host && contains(step.reads, v);
  }
  return wanted;
}

Status HostUpdates::place(const std::vector<StoredValue>& stored, std::uint32_t& transfers) {
  numbers_.resize(steps_.size());
  std::iota(numbers_.begin(), numbers_.end(), StepNumber{0});
  if (std::ranges::none_of(steps_, &ProgramStep::on_host)) return {};
  use_slots(stored);
  std::vector<std::size_t> update_of(steps_.size(), kNobody);
  for (StepNumber s = 0; s < steps_.size(); ++s) {
    if (!steps_[s].on_host) continue;
    update_of[s] = updates_.size();
    updates_.push_back(update_at(s));
  }
  report_.updates = updates_.size();
  for (const std::uint32_t root : in_place_) report_.in_place_bytes += lowered_.storages[root].bytes;
  if (host_.by == HostKernels::By::device) {
    claim(update_of);
    return {};
  }
  for (ProgramStep& step : steps_)
    if (step.on_host && !step.launches[0].beside) BALEEN_TRY(compile(step));
  place_beside(transfers);
  return {};
}

void HostUpdates::use_slots(const std::vector<StoredValue>& stored) {
  std::map<std::uint32_t, std::pair<std::size_t, bool>> users;  // how many steps; the last one runs on the host
  for (const ProgramStep& step : steps_) {
    std::set<std::uint32_t> roots;
    for (const LowValue v : operands_of(step)) roots.insert(lowered_.root_of(v));
    for (const std::uint32_t root : roots) users[root] = {users[root].first + 1, step.on_host};
  }
  for (const StoredValue& value : stored) {
    const std::uint32_t root = lowered_.root_of(value.old);
    if (value.next != kNone && lowered_.root_of(value.next) != root) continue;
    const auto found = users.find(root);
    if (found == users.end() || found->second != std::pair(std::size_t{1}, true)) continue;
    lowered_.storages[root].kind = Storage::Kind::slot;
    in_place_.insert(root);
  }
}

Status HostUpdates::compile(ProgramStep& step) {
  const Op& op = lowered_.ops[step.op].op;
  BALEEN_TRY_ASSIGN(const std::uint32_t kernel, host_.kernels->compile(RegionView(lowered_, {&op}), op));
  step.in_place = false;
  step.launches[0] = {Guard::always, kernel, (*host_.kernels)[kernel].operands, true};
  for (const LowValue read : step.reads)
    for (const LowValue written : step.writes)
      if (is_in_place(read) && lowered_.root_of(read) == lowered_.root_of(written) &&
          !host_.kernels->may_alias(kernel, written, read))
        return unsupported("`" + lowered_.values[read].name + "` cannot be updated where it lies: " +
                           host_.kernels->whose() + " no kernel that does it in place");
  return {};
}

HostUpdates::Update HostUpdates::update_at(StepNumber s) const {
  Update update{.step = s, .out = {}, .in = {}, .single = {}, .slots = {}};
  for (const LowValue v : operands_of(steps_[s])) {
    const Storage& storage = lowered_.storage_of(v);
    const bool is_written = contains(steps_[s].writes, v);
    if (storage.kind == Storage::Kind::slot) {
      update.slots.insert(storage.slot);
      update.ahead = std::max<std::size_t>(update.ahead, storage.ahead);
    } else if (lowered_.elements(v) == 1 && !is_written) {
      update.single.push_back(v);
    } else {
      if (contains(steps_[s].reads, v)) update.out.push_back(v);
      if (is_written) update.in.push_back(v);
    }
  }
  return update;
}

/// Whether they have bytes in common.
bool HostUpdates::meet(LowValue a, LowValue b) const {
  if (lowered_.root_of(a) != lowered_.root_of(b)) return false;
  const auto range = [&](LowValue v) {
    const LoweredValue& value = lowered_.values[v];
    const auto size = static_cast<std::int64_t>(dtype_size(value.dtype));
    std::int64_t last = value.view.offset;
    for (std::size_t d = 0; d < value.shape.size(); ++d) last += (value.shape[d] - 1) * value.view.strides[d];
    return std::pair(value.view.offset * size, (last + 1) * size);
  };
  if (lowered_.values[a].view.micro_step != 0 || lowered_.values[b].view.micro_step != 0) return true;
  const auto [begin, end] = range(a);
  const auto [other_begin, other_end] = range(b);
  return begin < other_end && other_begin < end;
}

/// Whether it has bytes of one of them.
bool HostUpdates::touches(const ProgramStep& step, const std::vector<LowValue>& values, bool writes) const {
  const auto is_one = [&](LowValue v) {
    return std::ranges::any_of(values, [&](LowValue own) { return meet(own, v); });
  };
  // What is waited for may bring it.
  return std::ranges::any_of(step.writes, is_one) ||
         ((!writes || step.wait_for != kNone) && std::ranges::any_of(step.reads, is_one));
}

bool HostUpdates::touches_slots(const ProgramStep& step, const Update& update) const {
  return std::ranges::any_of(operands_of(step), [&](LowValue v) {
    const std::uint32_t slot = lowered_.storage_of(v).slot;
    return slot != kNone && update.slots.contains(slot);
  });
}

/// Behind what makes what it reads, whoever still uses what it writes, and every loop; at `begin` at the earliest.
HostUpdates::StepNumber HostUpdates::earliest(const Update& update, StepNumber begin) const {
  for (StepNumber s = update.step; s-- > begin;) {
    const ProgramStep& other = steps_[s];
    if (lowered_.sections[other.section].loop >= 0 || touches(other, update.out, true)) return s + 1;
    if (!other.on_host && (touches(other, update.in, false) || touches_slots(other, update))) return s + 1;
  }
  return begin;
}

/// In front of what uses what it writes, or writes what it reads, and of every loop; at `end` at the latest.
HostUpdates::StepNumber HostUpdates::latest(const Update& update, StepNumber end) const {
  for (StepNumber s = update.step + 1; s < end; ++s) {
    const ProgramStep& other = steps_[s];
    if (lowered_.sections[other.section].loop >= 0 || touches(other, update.single, true)) return s;
    if (!other.on_host &&
        (touches(other, update.in, false) || touches(other, update.out, true) || touches_slots(other, update)))
      return s;
  }
  return end;
}

void HostUpdates::place_beside(std::uint32_t& transfers) {
  constexpr std::size_t kBehind = 2;  // updates: how far an earlier one may lag
  for (std::size_t u = 0; u < updates_.size(); ++u) {
    Update& update = updates_[u];
    update.from = earliest(update, update.ahead <= u ? updates_[u - update.ahead].step : 0);
    update.until = latest(update, u + kBehind < updates_.size() ? updates_[u + kBehind].step : steps_.size());
    // Who copies out what an earlier one makes begins when that is in.
    for (std::size_t before = 0; before < u; ++before)
      if (updates_[before].until > update.from && touches(steps_[updates_[before].step], update.out, true))
        updates_[before].until = update.from;
  }
  for (std::size_t u = 0; u < updates_.size(); ++u) {
    copy_out(u, transfers);
    copy_in(u, transfers);
  }
  weave();
}

LowValue HostUpdates::pinned_place(LowValue value) { return pinned_place(value, lowered_.bytes(value)); }

LowValue HostUpdates::pinned_place(LowValue value, std::uint64_t bytes) {
  LoweredValue place = lowered_.values[value];
  place.view.storage = lowered_.add_storage({Storage::Kind::pinned, bytes, place.role, place.name, 0, kNone});
  place.view.offset = 0;
  return lowered_.add_value(std::move(place));
}

/// What is made in the place of what is read has that one's place, if the kernel may do that.
void HostUpdates::share_places(Update& update) {
  const Launch& launch = steps_[update.step].launches[0];
  const std::vector<LowValue>& of_kernel = (*host_.kernels)[launch.kernel].operands;
  const auto in_kernel = [&](LowValue v) {
    return of_kernel[static_cast<std::size_t>(std::ranges::find(launch.operands, v) - launch.operands.begin())];
  };
  for (const LowValue made : update.in)
    for (const LowValue read : update.out) {
      const LoweredValue &a = lowered_.values[made], &b = lowered_.values[read];
      const bool is_same = lowered_.root_of(made) == lowered_.root_of(read) && a.view.offset == b.view.offset &&
                           a.dtype == b.dtype && made != read;
      if (is_same && host_.kernels->may_alias(launch.kernel, in_kernel(made), in_kernel(read)))
        lowered_.values[update.places.at(made)].view.storage = lowered_.values[update.places.at(read)].view.storage;
    }
}

ProgramStep HostUpdates::copy_step(StepNumber at, LowValue value, LowValue place, bool is_put,
                                   std::uint32_t transfer) const {
  ProgramStep step;
  step.op = steps_[at].op;
  step.section = steps_[at].section;
  step.in_place = false;
  step.reads = {is_put ? value : place};
  step.writes = {is_put ? place : value};
  step.transfer = {transfer, kNone, value, value, is_put, false, place};
  return step;
}

std::size_t HostUpdates::insert(Inserted inserted) {
  inserted_.push_back(std::move(inserted));
  return inserted_.size() - 1;
}

/// Whether it begins later than another, of copies out.
bool HostUpdates::is_later(std::size_t inserted, std::size_t other) const {
  return std::pair(inserted_[inserted].at, inserted) > std::pair(inserted_[other].at, other);
}

void HostUpdates::copy_out(std::size_t number, std::uint32_t& transfers) {
  Update& update = updates_[number];
  for (const auto* list : {&update.out, &update.in})
    for (const LowValue v : *list)
      if (!update.places.contains(v)) update.places[v] = pinned_place(v);
  share_places(update);
  ProgramStep& own = steps_[update.step];
  if (const std::uint64_t bytes = (*host_.kernels)[own.launches[0].kernel].scratch_bytes; bytes > 0) {
    update.scratch = pinned_place(own.writes[0], bytes);
    own.writes.push_back(update.scratch);
  }
  std::size_t last = kNobody;
  for (const LowValue v : update.out) {
    ProgramStep step = copy_step(update.from, v, update.places.at(v), true, transfers++);
    if (last == kNobody) claim_memory(update, step);
    report_.copied_out += lowered_.bytes(v);
    last = insert({update.from, kCopiesOut, number, std::move(step)});
  }
  for (const LowValue v : update.single) {
    const std::size_t by = copy_single(number, v, transfers);
    if (last == kNobody || is_later(by, last)) last = by;
  }
  const std::uint32_t after = last == kNobody ? kNone : inserted_[last].step.transfer->number;
  own.beside =
      ProgramStep::Beside{static_cast<std::uint32_t>(number), false, after, update.out.empty(), update.scratch};
  const auto change = [&](LowValue& v) {
    if (const auto place = update.places.find(v); place != update.places.end()) v = place->second;
  };
  for (auto* list : {&own.reads, &own.writes, &own.launches[0].operands}) std::ranges::for_each(*list, change);
}

/// From this step on all memory that the update writes is its own.
void HostUpdates::claim_memory(const Update& update, ProgramStep& step) const {
  for (const LowValue made : update.in) {
    step.writes.push_back(update.places.at(made));
    if (lowered_.storage_of(made).kind == Storage::Kind::work) step.writes.push_back(made);
  }
  if (update.scratch != kNone) step.writes.push_back(update.scratch);
}

/// A number is copied once for all updates in a row that read it.
std::size_t HostUpdates::copy_single(std::size_t number, LowValue value, std::uint32_t& transfers) {
  Update& update = updates_[number];
  const auto known = single_.find(value);
  const auto is_written = [&](StepNumber from) {
    for (StepNumber s = from; s < update.step; ++s)
      if (touches(steps_[s], {value}, true)) return true;
    return false;
  };
  if (known != single_.end() && !is_written(inserted_[known->second.by].at)) {
    update.places[value] = known->second.place;
    return known->second.by;
  }
  StepNumber at = update.step;
  while (at > update.from && !touches(steps_[at - 1], {value}, true)) --at;
  const LowValue place = pinned_place(value);
  report_.copied_out += lowered_.bytes(value);
  const std::size_t by = insert({at, kCopiesOut, number, copy_step(at, value, place, true, transfers++)});
  single_[value] = {place, by};
  update.places[value] = place;
  return by;
}

void HostUpdates::copy_in(std::size_t number, std::uint32_t& transfers) {
  const Update& update = updates_[number];
  const StepNumber behind = update.step + 1;
  const bool is_end = update.until == steps_.size();
  const bool in_loop = !is_end && lowered_.sections[steps_[update.until].section].loop >= 0;
  std::vector<ProgramStep> ends;
  for (const LowValue v : update.in) {
    ProgramStep step = copy_step(update.step, v, update.places.at(v), false, transfers++);
    step.transfer->behind = static_cast<std::uint32_t>(number);
    ends.push_back(step);
    ends.back().transfer->is_over = true;
    report_.copied_in += lowered_.bytes(v);
    insert({behind, kCopiesIn, number, std::move(step)});
  }
  if (ends.empty()) {
    ends.push_back(copy_step(update.step, kNone, kNone, false, 0));
    ends.back().reads = ends.back().writes = {};
    ends.back().transfer.reset();
    ends.back().beside = ProgramStep::Beside{static_cast<std::uint32_t>(number), true};
  }
  // Until then it has what was copied, and the places.
  if (update.scratch != kNone) ends.front().reads.push_back(update.scratch);
  for (const auto& [value, place] : update.places) {
    ends.front().reads.push_back(place);
    if (!contains(update.in, value)) ends.front().reads.push_back(value);
  }
  for (ProgramStep& end : ends) {
    end.section = is_end ? lowered_.closing_section() : steps_[in_loop ? update.until - 1 : update.until].section;
    insert({update.until, kOver, number, std::move(end)});
  }
}

void HostUpdates::weave() {
  std::vector<std::size_t> order(inserted_.size()), update_of;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(inserted_[i].at, inserted_[i].order); });
  std::map<StepNumber, std::size_t> own;
  for (std::size_t u = 0; u < updates_.size(); ++u) own[updates_[u].step] = u;
  std::vector<ProgramStep> result;
  auto next = order.begin();
  for (StepNumber s = 0; s <= steps_.size(); ++s) {
    for (; next != order.end() && inserted_[*next].at == s; ++next) {
      result.push_back(std::move(inserted_[*next].step));
      update_of.push_back(inserted_[*next].update);
    }
    if (s == steps_.size()) break;
    numbers_[s] = result.size();
    update_of.push_back(own.contains(s) ? own.at(s) : kNobody);
    result.push_back(std::move(steps_[s]));
  }
  steps_ = std::move(result);
  claim(update_of);
}

/// `update_of`: whose each step is.
void HostUpdates::claim(const std::vector<std::size_t>& update_of) {
  std::map<std::size_t, Claim> all;
  for (StepNumber s = 0; s < update_of.size(); ++s) {
    if (update_of[s] == kNobody) continue;
    const auto [found, is_first] = all.try_emplace(update_of[s], Claim{s, s});
    found->second.until = s;
  }
  for (const auto& [number, claim] : all)
    for (const std::uint32_t slot : updates_[number].slots) claims_[slot].push_back(claim);
}

const std::vector<HostUpdates::Claim>& HostUpdates::claims(std::uint32_t slot) const {
  static const std::vector<Claim> kNone;
  const auto found = claims_.find(slot);
  return found == claims_.end() ? kNone : found->second;
}

}  // namespace baleen
