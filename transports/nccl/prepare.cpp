/// \file Plan time: members meet, communicators are made, collectives become programs.
#include <algorithm>

#include "letter.hpp"
#include "maps.hpp"
#include "transport.hpp"

namespace baleen::nccl {

using namespace sdk;

namespace {

constexpr std::size_t kMostInOrder = 32;
constexpr const char* kNoDevice =
    "nccl exchanges the memory of CUDA devices, and no such device was handed over; compute with the plugin `cuda`, or "
    "choose the transport `shm` (one host) or `ucx`";

/// Ranks that share a GPU, which NCCL refuses or waits for.
Status check_devices(const std::vector<Letter>& letters) {
  std::map<std::string, std::int32_t> seen;
  for (const Letter& letter : letters) {
    if (letter.device.empty()) continue;
    const auto [found, is_new] = seen.emplace(letter.device, letter.proposal.rank);
    if (!is_new)
      return unsupported("ranks " + std::to_string(found->second) + " and " + std::to_string(letter.proposal.rank) +
                         " are on one GPU (" + letter.device +
                         "), where NCCL joins none; start one rank per GPU, or choose the transport `shm` or `ucx`, "
                         "which pass through the host's memory, or, to try the job, `share_gpu = true`");
  }
  return {};
}

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

Result<std::string> NcclTransport::letter_of(std::int32_t rank) {
  auto letter = switchboard_->letter_of(rank);
  if (!letter) BALEEN_TRY(check());  // the reason, where there is one
  return letter;
}

// The first member has all letters; the others hear what it found.
Result<Verdict> NcclTransport::judge(const Proposal& mine, bool needs_communicator, const std::string& layout) {
  std::vector<Letter> letters{{mine, engine_.device.identity, layout, needs_communicator}};
  Status well;
  for (const std::int32_t rank : mine.present) {
    if (rank == mine.rank) continue;
    BALEEN_TRY_ASSIGN(const std::string bytes, letter_of(rank));
    Result<Letter> letter = letter_from(bytes, rank);
    if (letter)
      letters.push_back(*std::move(letter));
    else
      well = std::move(letter).error();
  }
  std::vector<Proposal> proposals;
  for (const Letter& letter : letters) proposals.push_back(letter.proposal);
  if (well) well = agree(proposals);
  const bool all_need =
      std::all_of(letters.begin(), letters.end(), [](const Letter& l) { return l.needs_communicator; });
  if (well && all_need && !options_.shares_gpu) well = check_devices(letters);
  const bool alike = !layout.empty() &&
                     std::all_of(letters.begin(), letters.end(), [&](const Letter& l) { return l.layout == layout; });
  Verdict verdict{(static_cast<std::uint64_t>(mine.rank) << 32) | group_count_++, {}, all_need, alike};
  if (well && all_need)
    if (const Code code = engine_.nccl.ncclGetUniqueId(&verdict.id); code != kSuccess)
      well = Error{BALEEN_PEER_LOST, failure_text(engine_.nccl, "ncclGetUniqueId", code, nullptr), {}};
  const Result<Verdict> said = well ? Result<Verdict>(verdict) : Result<Verdict>(well.error());
  for (const std::int32_t rank : mine.present)
    if (rank != mine.rank) switchboard_->send(FrameKind::kLetter, rank, encode(said));
  return said;
}

Result<Verdict> NcclTransport::meet(const Proposal& mine, bool needs_communicator, const std::string& layout) {
  const std::int32_t first = mine.present.front();
  if (first == mine.rank) return judge(mine, needs_communicator, layout);
  switchboard_->send(FrameKind::kLetter, first,
                     encode(Letter{mine, engine_.device.identity, layout, needs_communicator}));
  BALEEN_TRY_ASSIGN(const std::string bytes, letter_of(first));
  return verdict_from(bytes, first);
}

Result<Comm> NcclTransport::make_communicator(const UniqueId& id, std::size_t place, std::size_t members) {
  const std::lock_guard lock(engine_.calls);
  BALEEN_TRY(setup_->enter());
  Comm comm = nullptr;
  const Code code = engine_.nccl.ncclCommInitRankConfig(&comm, static_cast<int>(members), id, static_cast<int>(place),
                                                        &engine_.config);
  if (comm) comms_.emplace_back(engine_, comm, options_.wants_windows(engine_.nccl));
  if (Status made = engine_.settle(comm, "ncclCommInitRankConfig", code); !made) {
    fail({made.error().code, "rank " + std::to_string(switchboard_->rank()) + ": " + made.error().text(), {}}, true);
    return engine_.failure.status().error();
  }
  register_with(comms_.back());
  return comm;
}

Result<void*> NcclTransport::group_create(std::vector<std::int32_t> ranks) {
  BALEEN_TRY(check());
  BALEEN_TRY_ASSIGN(const Proposal mine, propose(switchboard_->rank(), switchboard_->ranks(), std::move(ranks), 0));
  BALEEN_TRY_ASSIGN(const Verdict verdict, meet(mine, static_cast<bool>(engine_.device)));
  const auto place = std::find(mine.ranks.begin(), mine.ranks.end(), mine.rank) - mine.ranks.begin();
  auto group = std::make_unique<Group>(
      Group{"group " + std::to_string(verdict.number), mine.ranks, static_cast<std::size_t>(place), nullptr, {}});
  attendance_->open(group->key, group->ranks);
  if (verdict.has_id) {
    BALEEN_TRY_ASSIGN(group->comm, make_communicator(verdict.id, group->place, group->ranks.size()));
  }
  groups_.push_back(std::move(group));
  return static_cast<void*>(groups_.back().get());
}

bool NcclTransport::is_ordered(const Collective& c) const {
  return is_reducing(c.op) && !keeps_promise(c.dtype, c.reduction, c.members) &&
         (c.deterministic || c.reduction == BALEEN_MAXIMUM);
}

std::string NcclTransport::refusal_of(const Collective& c) const {
  if (c.op == BALEEN_BARRIER) return {};
  if (!engine_.device) return kNoDevice;
  if (!data_type(c.dtype)) return c.text() + ": NCCL has no such dtype";
  if (is_ordered(c) && c.members > kMostInOrder)
    return c.text() + ": sums in a fixed order are made for at most " + std::to_string(kMostInOrder) +
           " members, and these are " + std::to_string(c.members) + "; set `deterministic = false` in [transport]";
  return {};
}

Result<NcclTransport::Pair*> NcclTransport::pair_of(const Proposal& mine) {
  const std::int32_t other = mine.present[mine.present.front() == mine.rank ? 1 : 0];
  const bool sends = mine.collective && mine.collective->op == BALEEN_SEND;
  Pair& pair = [&]() -> Pair& {
    const std::lock_guard lock(lanes_);
    return pairs_[{other, sends}];
  }();
  BALEEN_TRY_ASSIGN(const Verdict verdict, meet(mine, engine_.device && !pair.comm));
  if (pair.comm) return &pair;
  const std::int32_t from = sends ? mine.rank : other, to = sends ? other : mine.rank;
  pair.key = "from " + std::to_string(from) + " to " + std::to_string(to);
  attendance_->open(pair.key, mine.present);
  BALEEN_TRY_ASSIGN(pair.comm, make_communicator(verdict.id, mine.rank < other ? 0 : 1, 2));
  const std::lock_guard lock(engine_.calls);
  BALEEN_TRY_ASSIGN(auto lane, Lane::open(engine_, *kernels_));
  const std::lock_guard lanes_lock(lanes_);
  pair.lane = std::move(lane);
  return &pair;
}

Result<void*> NcclTransport::prepare(void* handle, const baleen_collective_spec_t& spec) {
  BALEEN_TRY(check());
  Group& group = *static_cast<Group*>(handle);
  BALEEN_TRY_ASSIGN(Proposal mine, propose(switchboard_->rank(), group.ranks, spec));
  if (mine.collective && mine.refusal.empty())
    if (const std::string why = refusal_of(*mine.collective); !why.empty()) mine.refuse(unsupported(why));
  auto slot = std::make_unique<Slot>();
  slot->group = &group;
  slot->key = group.key;
  if (is_pairwise(spec.op)) {
    BALEEN_TRY_ASSIGN(Pair* const pair, pair_of(mine));
    slot->key = pair->key;
    slot->comm = pair->comm;
    slot->lane = pair->lane.get();
  } else {
    const bool has_data = spec.op != BALEEN_BARRIER;
    BALEEN_TRY_ASSIGN(const Verdict met,
                      meet(mine, engine_.device && has_data && !group.comm, has_data ? layout_of(group, mine) : ""));
    if (has_data && !group.comm) {
      BALEEN_TRY_ASSIGN(group.comm, make_communicator(met.id, group.place, group.ranks.size()));
    }
    if (has_data) BALEEN_TRY(share_windows(group, *mine.collective, met.alike));
    slot->comm = group.comm;
    slot->lane = has_data ? lane_.get() : nullptr;
  }
  slot->collective = *std::move(mine.collective);
  slot->text = slot->collective.text();
  if (slot->lane) BALEEN_TRY(make_program(*slot));
  group.slots.push_back(std::move(slot));
  return static_cast<void*>(group.slots.back().get());
}

// Sides that overlap in the host's memory overlap in the mirror.
EntryPlaces NcclTransport::place_entry(Slot& slot, const CollectiveEntry& entry) const {
  const Collective& c = slot.collective;
  const std::uint64_t in = c.input_count(entry) * c.width(), out = c.output_count(entry) * c.width();
  auto* const input = static_cast<std::byte*>(const_cast<void*>(entry.input));
  auto* const output = static_cast<std::byte*>(entry.output);
  const auto direct = [](const std::byte* at) {
    return Place{Place::In::kDevice, reinterpret_cast<std::uint64_t>(at)};
  };
  EntryPlaces places;
  const bool in_host = in > 0 && !is_on_device(input, in), out_host = out > 0 && !is_on_device(output, out);
  if (in > 0 && !in_host) places.input = direct(input);
  if (out > 0 && !out_host) places.output = direct(output);
  const bool overlap = in_host && out_host && input < output + out && output < input + in;
  const std::uint64_t base = slot.mirror;
  std::byte* const first = overlap ? std::min(input, output) : input;
  if (in_host) {
    places.input = {Place::In::kMirror, base + static_cast<std::uint64_t>(input - first)};
    slot.in.push_back({input, places.input.at, in});
    slot.mirror = base + aligned(overlap ? std::max<std::uint64_t>(input + in - first, output + out - first) : in);
  }
  if (out_host) {
    const std::uint64_t at = overlap ? base + static_cast<std::uint64_t>(output - first) : slot.mirror;
    places.output = {Place::In::kMirror, at};
    slot.out.push_back({output, at, out});
    if (!overlap) slot.mirror += aligned(out);
  }
  return places;
}

Status NcclTransport::make_program(Slot& slot) {
  const Collective& c = slot.collective;
  std::vector<EntryPlaces> places;
  for (const CollectiveEntry& entry : c.entries) places.push_back(place_entry(slot, entry));
  slot.program = is_ordered(c) ? ordered_program(c, places, options_.scratch)
                               : plain_program(c, places, options_.scratch, options_.copy_engine);
  {
    const std::lock_guard lock(engine_.calls);
    for (const Step& step : slot.program.steps)
      if (step.kind == Step::Kind::kReduce) BALEEN_TRY(kernels_->make(c, step.elements));
    BALEEN_TRY(slot.lane->reserve(slot));
  }
  return introduce(slot);
}

// NCCL connects two members by the first message between them, which waits for both. Let that be now.
Status NcclTransport::introduce(const Slot& slot) {
  auto& [sent, received] = introduced_[slot.comm];
  Program hello;
  hello.scratch = 256 + 2 * slot.collective.members;
  Step group;
  for (const int peer : slot.program.sends)
    if (sent.insert(peer).second)
      group.calls.push_back({Call::Kind::kSend, {Place::In::kScratch, 0}, {}, 1, kUint8, kSum, peer});
  for (const int peer : slot.program.receives)
    if (received.insert(peer).second)
      group.calls.push_back(
          {Call::Kind::kReceive, {}, {Place::In::kScratch, 256 + group.calls.size()}, 1, kUint8, kSum, peer});
  if (group.calls.empty()) return {};
  hello.steps.push_back(std::move(group));
  const std::lock_guard lock(engine_.calls);
  BALEEN_TRY(check());
  if (Status met = setup_->run(hello, slot.comm); !met) {
    fail({met.error().code, "rank " + std::to_string(switchboard_->rank()) + ": " + met.error().text(), {}}, true);
    return check();
  }
  return {};
}

}  // namespace baleen::nccl
