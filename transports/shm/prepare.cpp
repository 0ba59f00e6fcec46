/// \file What a slot does when it starts is chosen and compiled here, from what all members brought; so all choose
/// alike.
#include <algorithm>

#include "transport.hpp"

namespace baleen::shm {
namespace {

// Up to here an operation may be run by its caller: it takes no longer than handing it over does.
constexpr std::uint64_t kBriefBytes = 1 << 20, kBriefDirectBytes = 4 << 20;

std::uint64_t bytes_of(const std::vector<ChannelEnd::Piece>& pieces) {
  std::uint64_t bytes = 0;
  for (const ChannelEnd::Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

// Stands for a peer's buffer that exists but cannot be reached; never read or written.
constexpr std::byte kElsewhere{};

}  // namespace

std::byte* SharedMemoryTransport::reach(std::int32_t rank, const Location& location, const void* own) const {
  if (!location.shared()) return nullptr;
  return rank == mesh_->rank() ? static_cast<std::byte*>(const_cast<void*>(own)) : arenas_.reach(rank, location);
}

std::vector<Peer> SharedMemoryTransport::peers_of(const Group& group, const Meeting& meeting,
                                                  const Collective& mine) const {
  std::vector<Peer> peers;
  for (std::size_t m = 0; m < meeting.letters.size(); ++m) {
    const Letter& letter = meeting.letters[m];
    const std::int32_t rank = letter.proposal.rank;
    Peer peer{rank == mesh_->rank() ? mine : *letter.proposal.collective, {}, {}, {}, {}, {}};
    for (std::size_t e = 0; e < mine.entries.size(); ++e) {
      CollectiveEntry& entry = peer.collective.entries[e];
      const auto& [input, output] = letter.places[e];
      peer.inputs.push_back(reach(rank, input, mine.entries[e].input));
      peer.outputs.push_back(reach(rank, output, mine.entries[e].output));
      if (rank != mesh_->rank() && output.exists) entry.output = const_cast<std::byte*>(&kElsewhere);
    }
    RankBoard& board = *boards_[static_cast<std::size_t>(rank)];
    const auto place =
        static_cast<std::size_t>(std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin());
    for (std::size_t i = 0; i < 2; ++i) {
      peer.halves[i] = board.half(i);
      peer.tiny[i] = group.member(place).arrivals[i].tiny;
      peer.mail[i] = group.member(place).mail[i].data();
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

Status SharedMemoryTransport::compile(Slot& slot, const Meeting& meeting, const Collective& mine) const {
  const std::vector<Peer> peers = peers_of(*slot.group, meeting, mine);
  const Compilation c{peers, mine.place};
  const std::uint64_t largest = largest_stream(c);
  const bool direct = in_reach(c);
  slot.brief = largest <= (direct ? kBriefDirectBytes : kBriefBytes);
  if (largest == 0) {
    slot.programs[0].end_step(true);
  } else if (largest <= kMailBytes) {
    slot.by_parity = true;
    slot.programs = {compile_mail(c, 0), compile_mail(c, 1)};
  } else {
    slot.programs[0] = direct ? compile_direct(c) : compile_staged(c);
  }
  return {};
}

Result<std::unique_ptr<ChannelEnd>> SharedMemoryTransport::connect(const Meeting& meeting, const Collective& mine,
                                                                   SharedMemory memory) const {
  const bool sends = mine.op == BALEEN_SEND;
  if (!sends) {
    if (meeting.memory_bytes < sizeof(ChannelBoard)) return internal("shm: a sender brought no channel");
    BALEEN_TRY_ASSIGN(memory, SharedMemory::map(meeting.memory, meeting.memory_bytes));
  }
  const bool first = meeting.letters[0].proposal.rank == mesh_->rank();
  const Letter &own = meeting.letters[first ? 0 : 1], &other = meeting.letters[first ? 1 : 0];
  const Letter& sender = sends ? own : other;
  std::vector<ChannelEnd::Piece> pieces, sources;
  bool shared = true;
  for (std::size_t e = 0; e < mine.entries.size(); ++e) {
    const CollectiveEntry& entry = mine.entries[e];
    const std::uint64_t bytes = entry.count * mine.width();
    const void* data = sends ? entry.input : entry.output;
    pieces.push_back({static_cast<std::byte*>(const_cast<void*>(data)), bytes});
    sources.push_back({reach(sender.proposal.rank, sender.places[e].first, data), bytes});
    shared = shared && (bytes == 0 || sources.back().data);
  }
  const bool staged = !shared || bytes_of(pieces) <= kMailBytes;  // a small one frees the sender at once
  return std::make_unique<ChannelEnd>(sends, staged, std::move(memory), std::move(pieces), std::move(sources),
                                      *boards_[static_cast<std::size_t>(other.proposal.rank)]);
}

Result<void*> SharedMemoryTransport::prepare(void* handle, const baleen_collective_spec_t& spec) {
  BALEEN_TRY(check());
  Group& group = *static_cast<Group*>(handle);
  BALEEN_TRY_ASSIGN(Proposal mine, propose(mesh_->rank(), group.ranks, spec));
  SharedMemory memory;
  if (mine.collective && mine.collective->op == BALEEN_SEND) {
    auto made = SharedMemory::create(sizeof(ChannelBoard), "a channel");
    if (made)
      memory = *std::move(made);
    else
      mine.refuse(made.error());
  }
  if (group.slot_count >> Arrival::kSlotBits) mine.refusal = "a group has at most 2^24 collectives";
  BALEEN_TRY_ASSIGN(const Meeting meeting, meet(mine, memory.base() ? &memory : nullptr));
  const Collective& collective = *mine.collective;
  auto slot = std::make_unique<Slot>();
  slot->group = &group;
  slot->text = collective.text();
  if (is_pairwise(collective.op)) {
    BALEEN_TRY_ASSIGN(slot->channel, connect(meeting, collective, std::move(memory)));
    slot->brief = slot->channel->bytes() <= kBriefBytes;
  } else {
    BALEEN_TRY(compile(*slot, meeting, collective));
    slot->number = group.slot_count++;
    group.learn(*slot);
  }
  group.slots.push_back(std::move(slot));
  return static_cast<void*>(group.slots.back().get());
}

}  // namespace baleen::shm
