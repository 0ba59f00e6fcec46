/// \file Creation, arenas, groups and slots.
#include "transport.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace baleen::shm {
namespace {

// Whether the ranks together may use a core each, wherever the launcher has put them.
bool has_core_each(const std::vector<RankBoard*>& boards) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const RankBoard* board : boards) CPU_OR(&all, &all, &board->cores);
  return static_cast<std::size_t>(CPU_COUNT(&all)) >= boards.size();
}

}  // namespace

SharedMemoryTransport::SharedMemoryTransport(std::unique_ptr<Mesh> mesh)
    : mesh_(std::move(mesh)), arenas_(mesh_->ranks()) {}

Result<std::unique_ptr<SharedMemoryTransport>> SharedMemoryTransport::create(const Host&, const Settings&,
                                                                             const Rendezvous& rendezvous,
                                                                             baleen_transport_flags_t) {
  BALEEN_TRY_ASSIGN(auto mesh, Mesh::join(rendezvous));
  std::unique_ptr<SharedMemoryTransport> made(new SharedMemoryTransport(std::move(mesh)));
  BALEEN_TRY(made->share_boards(rendezvous));
  made->worker_ = std::make_unique<Worker>(*made->boards_[static_cast<std::size_t>(rendezvous.rank())], made->failure_,
                                           has_core_each(made->boards_));
  return made;
}

Status SharedMemoryTransport::share_boards(const Rendezvous& rendezvous) {
  const auto ranks = static_cast<std::size_t>(mesh_->ranks());
  BALEEN_TRY_ASSIGN(memory_, SharedMemory::create(RankBoard::kBytes, "a rank's staging area"));
  // Of the process: some library may have pinned this thread.
  sched_getaffinity(getpid(), sizeof(cpu_set_t), &reinterpret_cast<RankBoard*>(memory_.base())->cores);
  std::map<std::int32_t, Message> outgoing;
  for (std::int32_t rank = 0; rank < mesh_->ranks(); ++rank)
    if (rank != mesh_->rank()) outgoing[rank] = {std::to_string(memory_.bytes()), {memory_.file()}, {}};
  BALEEN_TRY_ASSIGN(auto arrived, mesh_->exchange(std::move(outgoing), "creating the transport", &rendezvous));
  theirs_.resize(ranks);
  std::vector<RankBoard*> boards;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto found = arrived.find(static_cast<std::int32_t>(rank));
    if (found != arrived.end()) {
      const Message& message = found->second;
      if (message.arrived.size() != 1 || message.bytes != std::to_string(memory_.bytes()))
        return invalid("shm: rank " + std::to_string(rank) + " and rank " + std::to_string(mesh_->rank()) +
                       " run different versions; every rank needs the same one");
      BALEEN_TRY_ASSIGN(theirs_[rank], SharedMemory::map(message.arrived[0], memory_.bytes()));
    }
    const SharedMemory& memory = found == arrived.end() ? memory_ : theirs_[rank];
    boards.push_back(reinterpret_cast<RankBoard*>(memory.base()));
  }
  boards_ = std::move(boards);
  return {};
}

SharedMemoryTransport::~SharedMemoryTransport() {
  const Status before = failure_.status();
  worker_.reset();
  if (boards_.empty()) return;  // `create` failed
  RankBoard& mine = *boards_[static_cast<std::size_t>(mesh_->rank())];
  if (!before) before.error().text().copy(mine.why.data(), mine.why.size() - 1);
  mine.left.store(1, std::memory_order_release);
  for (RankBoard* board : boards_) ring(board->bell);
}

Result<void*> SharedMemoryTransport::allocate(std::uint64_t bytes) {
  BALEEN_TRY(check());
  return arenas_.allocate(bytes);
}

void SharedMemoryTransport::abort(std::string_view reason) {
  worker_->fail({BALEEN_PEER_LOST, std::string(reason), {}});
  mesh_->wake();
}

Status SharedMemoryTransport::start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                                    std::uint64_t done_value) {
  Operation operation;
  operation.slot = static_cast<Slot*>(slot);
  operation.after = after;
  operation.after_value = after_value;
  operation.done = done;
  operation.done_value = done_value;
  return worker_->start(operation);
}

Letter SharedMemoryTransport::letter_for(const Proposal& mine) const {
  Letter letter;
  letter.proposal = mine;
  if (!mine.collective) return letter;
  const Collective& c = *mine.collective;
  for (const CollectiveEntry& e : c.entries)
    letter.places.emplace_back(arenas_.locate(e.input, c.input_count(e) * c.width()),
                               arenas_.locate(e.output, c.output_count(e) * c.width()));
  return letter;
}

Result<SharedMemoryTransport::Meeting> SharedMemoryTransport::meet(const Proposal& mine, const SharedMemory* memory) {
  const Letter common = letter_for(mine);
  std::map<std::int32_t, Message> outgoing;
  for (const std::int32_t rank : mine.present) {
    if (rank == mine.rank) continue;
    Letter letter = common;
    std::vector<int> files;
    arenas_.tell(rank, letter, files);
    if (memory) {
      letter.memory_bytes = memory->bytes();
      files.push_back(memory->file());
    }
    outgoing[rank] = {encode(letter), std::move(files), {}};
  }
  auto exchanged = mesh_->exchange(std::move(outgoing), mine.text());
  if (!exchanged) {
    BALEEN_TRY(check());  // the reason, where there is one
    return std::move(exchanged).error();
  }
  Meeting meeting;
  std::vector<Proposal> proposals;
  for (const std::int32_t rank : mine.present) {
    if (rank == mine.rank) {
      meeting.letters.push_back(common);
    } else {
      Message& message = exchanged->at(rank);
      BALEEN_TRY_ASSIGN(Letter letter, decode(message.bytes));
      BALEEN_TRY(arenas_.hear(rank, letter, message.arrived));
      if (letter.memory_bytes > 0 && !message.arrived.empty()) {
        meeting.memory = std::move(message.arrived.back());
        meeting.memory_bytes = letter.memory_bytes;
      }
      meeting.letters.push_back(std::move(letter));
    }
    proposals.push_back(meeting.letters.back().proposal);
  }
  BALEEN_TRY(agree(proposals));
  return meeting;
}

Result<void*> SharedMemoryTransport::group_create(std::vector<std::int32_t> ranks) {
  BALEEN_TRY(check());
  BALEEN_TRY_ASSIGN(Proposal mine, propose(mesh_->rank(), mesh_->ranks(), std::move(ranks), 0));
  auto group = std::make_unique<Group>();
  group->ranks = mine.ranks;
  group->place =
      static_cast<std::size_t>(std::find(mine.ranks.begin(), mine.ranks.end(), mine.rank) - mine.ranks.begin());
  if (group->place == 0) {  // the first member makes the board
    auto made = SharedMemory::create(Group::bytes(mine.ranks.size()), "a group's board");
    if (made)
      group->memory = *std::move(made);
    else
      mine.refuse(made.error());
  }
  BALEEN_TRY_ASSIGN(const Meeting meeting, meet(mine, group->memory.base() ? &group->memory : nullptr));
  if (group->place != 0) {
    if (meeting.memory_bytes < Group::bytes(mine.ranks.size())) return internal("shm: a group came without a board");
    BALEEN_TRY_ASSIGN(group->memory, SharedMemory::map(meeting.memory, meeting.memory_bytes));
  }
  for (const std::int32_t rank : group->ranks) group->boards.push_back(boards_[static_cast<std::size_t>(rank)]);
  groups_.push_back(std::move(group));
  return static_cast<void*>(groups_.back().get());
}

void SharedMemoryTransport::group_destroy(void* group) {
  worker_->settle();
  std::erase_if(groups_, [&](const auto& mine) { return mine.get() == group; });
}

}  // namespace baleen::shm
