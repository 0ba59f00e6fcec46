/// \file Creation, memory, meetings, groups and slots.
#include "transport.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "baleen/proposal_codec.hpp"
#include "compile.hpp"
#include "context.hpp"
#include "devices.hpp"
#include "log_tap.hpp"
#include "neighbours.hpp"
#include "tls_wire.hpp"
#include "ucx_wire.hpp"

namespace baleen::ucx {

using namespace sdk;

namespace {

// Up to here an operation may be run by its caller: it takes no longer than handing it over does. Where the thread
// would take its caller's core anyway, handing over gains less.
constexpr std::uint64_t kBriefBytes = 512 << 10, kBriefBytesOnOneCore = 4 << 20;

// How many the ranks of this host may use, wherever the launcher has put them.
std::size_t cores_of_host() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(getpid(), sizeof cores, &cores);  // of the process: some library may have pinned this thread
  return static_cast<std::size_t>(CPU_COUNT(&cores));
}

// UCX would choose to read other processes' memory where it may not, and fail.
Result<std::unique_ptr<Context>> without_cma(const Host& host, const Options& options, std::size_t ranks,
                                             const std::string& refusal) {
  const std::string rest = options.tls_without_cma();
  if (rest.empty())
    return unsupported("ucx: tls = \"" + options.tls + "\" leaves nothing else, and cma is forbidden: " + refusal +
                       "; add \"posix\" to tls, or allow ptrace among these processes");
  host.log(BALEEN_WARNING, "ucx: cma is forbidden here (" + refusal +
                               "): messages within this host are copied twice instead; to have it back, allow ptrace "
                               "among the ranks' processes");
  return Context::create(host, options, rest, ranks);
}

Result<std::unique_ptr<Wire>> open_ucx(const Host& host, const Options& options, const Rendezvous& rendezvous,
                                       const std::string& refusal) {
  const auto ranks = static_cast<std::size_t>(rendezvous.ranks());
  BALEEN_TRY_ASSIGN(auto context, refusal.empty() ? Context::create(host, options, options.usable_tls(), ranks)
                                                  : without_cma(host, options, ranks, refusal));
  return std::unique_ptr<Wire>(std::make_unique<UcxWire>(std::move(context), rendezvous.rank(), rendezvous.ranks()));
}

}  // namespace

Result<std::unique_ptr<UcxTransport>> UcxTransport::create(const Host& host, const Settings& settings,
                                                           const Rendezvous& rendezvous, baleen_transport_flags_t) {
  const LogTap tap(host, true);
  BALEEN_TRY_ASSIGN(Options options, Options::from(settings));
  options.address = rendezvous.address();
  std::unique_ptr<Wire> wire;
  if (!options.encrypt) {
    BALEEN_TRY_ASSIGN(wire, open_ucx(host, options, rendezvous, {}));
  }
  const auto neighbours =
      Neighbours::meet(rendezvous, !options.encrypt && options.allows_cma(), wire && wire->knows_cuda());
  if (options.encrypt) {
    BALEEN_TRY_ASSIGN(wire, TlsWire::create(host, options, rendezvous));
  } else if (!neighbours->refusal().empty()) {
    wire.reset();
    BALEEN_TRY_ASSIGN(wire, open_ucx(host, options, rendezvous, neighbours->refusal()));
  }
  if (options.patience != Options().patience && rendezvous.rank() == 0)
    host.log(BALEEN_INFO, "ucx: a peer that acknowledges nothing is waited for during " +
                              std::to_string(std::lround(options.patience * 1000)) + " ms");
  const bool integrity = options.integrity, direct = options.direct && !integrity && !options.encrypt;
  const std::string fingerprint = options.fingerprint();
  std::unique_ptr<UcxTransport> made(
      new UcxTransport(host, std::move(options), std::move(wire), rendezvous.rank(), rendezvous.ranks()));
  BALEEN_TRY(made->peers_.connect(rendezvous, fingerprint));
  made->choose_memory(*neighbours);
  const std::size_t cores = cores_of_host(), here = neighbours->here();
  if (direct && here > 1) made->near_ = neighbours->near();
  if (cores >= 2 * here) made->brief_bytes_ = kBriefBytes;
  made->worker_ = std::make_unique<Worker>(
      host, *made->wire_, made->peers_, made->failure_, [room = &made->mailroom_] { room->wake(); }, integrity,
      cores >= std::max<std::size_t>(here, 2));
  return made;
}

UcxTransport::UcxTransport(const Host& host, Options options, std::unique_ptr<Wire> wire, std::int32_t rank,
                           std::int32_t ranks)
    : host_(host),
      options_(std::move(options)),
      wire_(std::move(wire)),
      adds_on_arrival_(!options_.integrity && (options_.encrypt || !may_use_rdma(options_.tls))),
      brief_bytes_(kBriefBytesOnOneCore),
      peers_(*wire_, rank, ranks, options_.patience),
      arenas_(std::make_unique<SharedArenas>(host_, *wire_, ranks)),
      device_arenas_(std::make_unique<DeviceArenas>(*wire_)),
      mailroom_(static_cast<std::size_t>(ranks)) {
  peers_.on_note([this](const NoteHeader& header, std::string_view bytes) { hear(header, bytes); });
  peers_.on_loss([this](std::int32_t lost, const std::string& why) { mailroom_.close(lost, why); });
}

UcxTransport::~UcxTransport() {
  constexpr double kPatience = 2, kShortPatience = 0.2;
  const LogTap tap(host_, true);
  const Status before = failure_.status();
  const bool worked = worker_ != nullptr;
  worker_.reset();
  if (worked) peers_.leave(before ? std::string() : before.error().text(), before ? kPatience : kShortPatience);
  device_arenas_.reset();
  arenas_.reset();
  wire_.reset();  // may still call back into what is older than it
}

void UcxTransport::hear(const NoteHeader& header, std::string_view bytes) {
  if (header.kind == NoteKind::kLetter) mailroom_.put(header.from, std::string(bytes));
}

Result<void*> UcxTransport::allocate(std::uint64_t bytes) {
  BALEEN_TRY(check());
  return arenas_->allocate(bytes);
}

void UcxTransport::release(void* base) { arenas_->release(base); }

void UcxTransport::abort(std::string_view reason) { worker_->fail({BALEEN_PEER_LOST, std::string(reason), {}}); }

Status UcxTransport::start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                           std::uint64_t done_value) {
  return worker_->start({{after, after_value, done, done_value}, static_cast<Slot*>(slot)});
}

Result<UcxTransport::Met> UcxTransport::meet(const Proposal& mine, bool on_device) {
  ProposalWriter writer;
  walk_proposal(writer, mine);
  writer.number(on_device);
  for (const std::int32_t rank : mine.present)
    if (rank != mine.rank) worker_->post(rank, writer.bytes);
  Met met{{}, on_device};
  for (const std::int32_t rank : mine.present) {
    if (rank == mine.rank) {
      met.proposals.push_back(mine);
      continue;
    }
    BALEEN_TRY_ASSIGN(const std::string letter, mailroom_.take(rank, failure_, mine.text()));
    ProposalReader reader{letter};
    bool is_theirs = false;
    walk_proposal(reader, met.proposals.emplace_back());
    reader.number(is_theirs);
    met.on_device |= is_theirs;
    if (!reader.complete())
      return internal("ucx: a letter of rank " + std::to_string(rank) +
                      " makes no sense; do all ranks run the same version?");
  }
  BALEEN_TRY(agree(met.proposals));
  return met;
}

// All begin with what they offer, so that nobody waits for one who waits.
Result<DirectAccess> UcxTransport::meet_neighbours(const Group& group, const Proposal& mine, const Program& program) {
  AccessTalk talk(program, *arenas_, group.ranks.size());
  std::vector<std::size_t> places;
  for (const std::int32_t rank : mine.present)
    if (rank != mine.rank && near_[static_cast<std::size_t>(rank)]) places.push_back(group.place_of(rank));
  for (const std::size_t place : places) worker_->post(group.ranks[place], talk.offer(place));
  for (const std::size_t place : places) {
    const std::int32_t rank = group.ranks[place];
    BALEEN_TRY_ASSIGN(const std::string offer, mailroom_.take(rank, failure_, mine.text()));
    std::string answer;
    {
      const auto turn = worker_->hold();
      BALEEN_TRY_ASSIGN(answer, talk.answer(place, rank, offer));
    }
    worker_->post(rank, std::move(answer));
  }
  for (const std::size_t place : places) {
    BALEEN_TRY_ASSIGN(const std::string answer, mailroom_.take(group.ranks[place], failure_, mine.text()));
    BALEEN_TRY(talk.learn(place, answer));
  }
  return std::move(talk).result();
}

Result<void*> UcxTransport::group_create(std::vector<std::int32_t> ranks) {
  BALEEN_TRY(check());
  BALEEN_TRY_ASSIGN(Proposal mine, propose(peers_.rank(), peers_.ranks(), std::move(ranks), next_group_));
  if (next_group_ >= Tag::kGroups)
    mine.refusal = "a rank belongs to at most " + std::to_string(Tag::kGroups) + " groups";
  if (mine.ranks.size() > Tag::kMembers)
    mine.refusal = "a group has at most " + std::to_string(Tag::kMembers) + " ranks";
  BALEEN_TRY_ASSIGN(const Met met, meet(mine));
  auto group = std::make_unique<Group>();
  group->ranks = mine.ranks;
  group->place = group->place_of(mine.rank);
  // The highest of the numbers that each has free: nobody has used it.
  for (const Proposal& proposal : met.proposals) group->number = std::max(group->number, proposal.number);
  next_group_ = group->number + 1;
  groups_.push_back(std::move(group));
  return static_cast<void*>(groups_.back().get());
}

void UcxTransport::group_destroy(void* group) {
  worker_->settle();
  const auto is_free = [](const std::unique_ptr<Slot>& slot) { return slot->run.under_way() == 0; };
  std::erase_if(groups_, [&](const auto& mine) {
    return mine.get() == group && std::all_of(mine->slots.begin(), mine->slots.end(), is_free);
  });
}

Result<void*> UcxTransport::prepare(void* handle, const baleen_collective_spec_t& spec) {
  BALEEN_TRY(check());
  Group& group = *static_cast<Group*>(handle);
  BALEEN_TRY_ASSIGN(Proposal mine, propose(peers_.rank(), group.ranks, spec));
  const bool pair = is_pairwise(spec.op);
  std::uint64_t& count = pair ? group.pair_count[static_cast<std::size_t>(spec.root)] : group.slot_count;
  if (count >= Tag::kSlots) mine.refusal = "a group has at most " + std::to_string(Tag::kSlots) + " collectives";
  const bool has_device = mine.collective && device_arenas_->holds_some_of(*mine.collective);
  if (has_device && is_reducing(spec.op))
    mine.refuse(unsupported("ucx: the host's processor makes sums, and a buffer lies in a device's memory"));
  BALEEN_TRY_ASSIGN(const Met met, meet(mine, has_device));
  const Collective& collective = *mine.collective;
  auto slot = std::make_unique<Slot>();
  slot->group = &group;
  slot->pair = pair;
  slot->number = count++;
  slot->text = collective.text();
  Compilation compilation{collective, options_.segment, pair ? slot->scratch : scratch_, adds_on_arrival_};
  if (met.on_device) compilation.devices = device_arenas_.get();
  Question question = question_of(collective);
  question.on_device = met.on_device;
  if (const auto wanted = options_.algorithms.of(question.op))
    if (const std::string why = objection(*wanted, question); !why.empty())
      host_.log(BALEEN_INFO,
                "ucx: " + std::string(algorithm_name(*wanted)) + " is not used for " + slot->text + ", for it " + why);
  const Algorithm algorithm = choose(question, options_.algorithms);
  slot->program = compile(compilation, algorithm);
  slot->brief = slot->program.message_bytes() <= brief_bytes_;
  if (!near_.empty() && !met.on_device) {  // what lies in a neighbour's arena is read by the processor
    BALEEN_TRY_ASSIGN(const DirectAccess access, meet_neighbours(group, mine, slot->program));
    compilation.access = &access;
    if (access.count() > 0) slot->program = compile(compilation, algorithm);
    host_.log(BALEEN_DEBUG, "ucx: " + slot->text + ": " + std::to_string(access.count()) +
                                " ends of messages are reached by who is at the other end");
  }
  slot->run.attach(*slot, group.ranks.size());
  const auto turn = worker_->hold();
  group.slots.push_back(std::move(slot));
  return static_cast<void*>(group.slots.back().get());
}

}  // namespace baleen::ucx
