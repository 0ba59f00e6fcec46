/// \file A transport: the ranks of one host, a Unix-domain socket between each two of them.
///
/// All that ranks tell each other are letters: what they propose at plan time, and the numbers of a collective. Two
/// kinds of threads work beside the host's own:
///   - a reader for each peer takes letters out of its socket, at all times, and puts them into the peer's box;
///   - one worker runs the started operations in order: it sends its letters, waits for those of the others, and
///     computes the result from them.
/// As readers never wait for a start, a send never does either, so no two ranks can block each other. A letter that
/// comes early takes memory. And each member gets the whole input of all others and reduces it for itself: that is the
/// shortest way to write it, not the fastest.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baleen/failure.hpp"
#include "baleen/file_handle.hpp"
#include "baleen/proposal_codec.hpp"
#include "baleen/reduction.hpp"
#include "baleen/started.hpp"
#include "baleen/transport.hpp"

BALEEN_DESCRIPTOR("transport", "pipes", "1.0.0", "Apache-2.0", "Unix sockets between the ranks of one host, an example",
                  -1, "", BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

Error system_error(const std::string& what) { return {BALEEN_IO, what + ": " + std::strerror(errno), {}}; }
std::string rank_text(std::size_t rank) { return "rank " + std::to_string(rank); }

// ---- What goes from whom to whom -------------------------------------------------------------------------------

/// The elements of `e.input` that member `to` needs.
ElementRange part_for(const Collective& c, const CollectiveEntry& e, std::size_t to) {
  const ElementRange whole{0, e.count}, nothing{};
  switch (c.op) {
    case BALEEN_ALL_REDUCE: return whole;
    case BALEEN_REDUCE_SCATTER: return e.block_of(to);
    case BALEEN_ALL_GATHER: return {0, e.block_of(c.place).size()};
    case BALEEN_BROADCAST: return c.place == c.root ? whole : nothing;
    case BALEEN_REDUCE:
    case BALEEN_SEND: return to == c.root ? whole : nothing;
    case BALEEN_PERMUTE: return c.destinations[c.place] == static_cast<std::int32_t>(to) ? whole : nothing;
    case BALEEN_ALL_TO_ALL: {
      std::uint64_t before = 0;
      for (std::size_t i = 0; i < to; ++i) before += c.sends(e, i);
      return {before, before + c.sends(e, to)};
    }
    default: return nothing;
  }
}

/// The elements of `e.output` for which member `from` sends something.
ElementRange part_from(const Collective& c, const CollectiveEntry& e, std::size_t from) {
  const ElementRange whole{0, c.output_count(e)}, nothing{};
  switch (c.op) {
    case BALEEN_ALL_GATHER: return e.block_of(from);
    case BALEEN_BROADCAST:
    case BALEEN_RECEIVE: return from == c.root ? whole : nothing;
    case BALEEN_PERMUTE: return c.source() == static_cast<std::int32_t>(from) ? whole : nothing;
    case BALEEN_ALL_TO_ALL: {
      std::uint64_t before = 0;
      for (std::size_t i = 0; i < from; ++i) before += c.receives(e, i);
      return {before, before + c.receives(e, from)};
    }
    default: return whole;  // of a reduction, to which everyone sends; or nothing
  }
}

/// The other members that take part: of a SEND or RECEIVE it is the peer, of all else everyone. A collective has a
/// letter to each of them, be it empty: so members that start different collectives find out.
std::vector<std::size_t> others(const Collective& c) {
  if (is_pairwise(c.op)) return {c.root};
  std::vector<std::size_t> all;
  for (std::size_t m = 0; m < c.members; ++m)
    if (m != c.place) all.push_back(m);
  return all;
}

using Arrived = std::vector<std::vector<std::byte>>;  // per member the bytes of its letter

/// Writes the outputs, from this member's inputs and from what came of the others.
Status combine(const Collective& c, const Arrived& arrived) {
  for (const std::size_t m : others(c)) {
    std::uint64_t expected = 0;
    for (const CollectiveEntry& e : c.entries) expected += part_from(c, e, m).size() * c.width();
    if (arrived[m].size() != expected)
      return internal(c.text() + ": " + std::to_string(arrived[m].size()) + " bytes came from member " +
                      std::to_string(m) + ", not " + std::to_string(expected));
  }
  std::vector<std::uint64_t> read(c.members);  // bytes of each letter
  std::vector<const std::byte*> sources(c.members);
  for (const CollectiveEntry& e : c.entries) {
    auto* const output = static_cast<std::byte*>(e.output);
    for (std::size_t m = 0; m < c.members; ++m) {
      sources[m] = m == c.place ? static_cast<const std::byte*>(e.input) + part_for(c, e, c.place).begin * c.width()
                                : arrived[m].data() + read[m];
      read[m] += part_from(c, e, m).size() * c.width();
    }
    if (is_reducing(c.op)) {
      // In the order of members, as the balanced tree that every transport promises.
      if (const std::uint64_t count = c.output_count(e); count > 0)
        best_reduction(c.dtype, c.reduction)(sources.data(), c.members, &output, 1, count);
      continue;
    }
    for (std::size_t m = 0; m < c.members; ++m) {
      const ElementRange part = part_from(c, e, m);
      std::byte* const to = output + part.begin * c.width();
      if (part.size() > 0 && to != sources[m]) std::memcpy(to, sources[m], part.size() * c.width());
    }
  }
  return {};
}

// ---- Sockets ---------------------------------------------------------------------------------------------------

bool send_all(int socket, const void* data, std::uint64_t bytes) {
  for (const auto* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += sent;
    bytes -= static_cast<std::uint64_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::uint64_t bytes) {
  for (auto* at = static_cast<char*>(data); bytes > 0;) {
    const ssize_t received = ::recv(socket, at, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;  // 0: the peer has closed it, as the system does for one that was killed
    at += received;
    bytes -= static_cast<std::uint64_t>(received);
  }
  return true;
}

/// Any process of this host may connect. Only those of this user are answered.
bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

/// Threads that are made while it lives take no signals: those to the program are for its own threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// ---- What is kept ----------------------------------------------------------------------------------------------

/// What stands before each letter.
struct Heading {
  std::uint64_t group = 0;  ///< 0: a proposal
  std::uint64_t pair = 0;   ///< 0: of all members; else which of the slots that the two have for themselves, from 1
  std::uint64_t slot = 0;   ///< which of the group's collectives
  std::uint64_t bytes = 0;  ///< behind it
};

struct Letter {
  std::uint64_t slot = 0;
  std::vector<std::byte> bytes;
};

/// Letters of one group, or of one slot of a pair, come in the order of its starts.
using Box = std::pair<std::uint64_t, std::uint64_t>;  // group and pair
constexpr Box kProposals{0, 0};

struct Peer {
  FileHandle socket;
  std::thread reader;
  std::mutex sending;  // for a whole letter
  // Both below `Pipes::mutex_`.
  std::map<Box, std::deque<Letter>> boxes;
  bool has_left = false;  // behind its last letter
};

struct Group;

struct Slot {
  Collective collective;
  Group* group = nullptr;
  std::uint64_t number = 0;  // among the group's collectives
  std::uint64_t pair = 0;    // among those with the peer, from 1; 0: a collective

  Box box() const;
};

struct Group {
  std::vector<std::int32_t> ranks;
  std::uint64_t number = 0;           // the same on all members
  std::deque<Slot> slots;             // their addresses stay
  std::vector<Slot*> collectives;     // by number; below `Pipes::mutex_`
  std::vector<std::uint64_t> paired;  // how many slots there are with each member alone
};

Box Slot::box() const { return {group->number, pair}; }

/// A started operation.
struct Started : StartedEvents {
  Slot* slot = nullptr;
};

// ---- The transport ---------------------------------------------------------------------------------------------

class Pipes final : public Transport {
 public:
  /// Letters may be sent from any memory, so it has none of its own.
  static constexpr bool kRegisters = true;

  static Result<std::unique_ptr<Pipes>> create(const Host&, const Settings&, const Rendezvous& rendezvous,
                                               baleen_transport_flags_t) {
    if (!rendezvous.on_one_host())
      return unsupported("the ranks are on several hosts, which Unix sockets do not join; name another [transport]");
    std::unique_ptr<Pipes> made(new Pipes(rendezvous.rank(), rendezvous.ranks()));
    BALEEN_TRY(made->connect(rendezvous));
    made->start_threads();
    return made;
  }

  ~Pipes() override {
    fail({BALEEN_PEER_LOST, "the transport was destroyed", {}});  // ends all that waits, the readers too
    leaving_ = true;
    ring();
    if (worker_.joinable()) worker_.join();
    for (Peer& peer : peers_)
      if (peer.reader.joinable()) peer.reader.join();
  }

  Result<void*> group_create(std::vector<std::int32_t> ranks) override {
    BALEEN_TRY(check());
    // All members take the number of the first one, which nobody else gives.
    const std::uint64_t number = (static_cast<std::uint64_t>(rank_) << 32) + ++groups_made_;
    BALEEN_TRY_ASSIGN(const Proposal mine, propose(rank_, ranks_, std::move(ranks), number));
    auto group = std::make_unique<Group>();
    BALEEN_TRY_ASSIGN(group->number, meet(mine));
    group->ranks = mine.ranks;
    group->paired.resize(mine.ranks.size());
    groups_.push_back(std::move(group));
    return static_cast<void*>(groups_.back().get());
  }

  void group_destroy(void* group) override {
    if (unfinished_.count() > 0) fail(internal("a group was destroyed while operations were unfinished"));
    unfinished_.settle();
    groups_.erase(std::find_if(groups_.begin(), groups_.end(), [&](const auto& one) { return one.get() == group; }));
  }

  Result<void*> prepare(void* handle, const baleen_collective_spec_t& spec) override {
    BALEEN_TRY(check());
    Group& group = *static_cast<Group*>(handle);
    BALEEN_TRY_ASSIGN(Proposal mine, propose(rank_, group.ranks, spec));
    BALEEN_TRY(meet(mine));  // who refuses has no `collective`, and then this fails
    Slot& slot = group.slots.emplace_back();
    slot.collective = *std::move(mine.collective);
    slot.group = &group;
    if (is_pairwise(slot.collective.op)) {
      slot.pair = ++group.paired[slot.collective.root];
    } else {
      std::lock_guard lock(mutex_);
      slot.number = group.collectives.size();
      group.collectives.push_back(&slot);
    }
    return static_cast<void*>(&slot);
  }

  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    BALEEN_TRY(check());
    BALEEN_TRY(unfinished_.check_room());
    unfinished_.add();
    {
      std::lock_guard lock(mutex_);
      queue_[tail_++ % queue_.size()] = {{after, after_value, done, done_value}, static_cast<Slot*>(slot)};
    }
    ring();
    return {};
  }

  Status check() override { return failure_.status(); }
  void abort(std::string_view reason) override { fail({BALEEN_PEER_LOST, std::string(reason), {}}); }

 private:
  Pipes(std::int32_t rank, std::int32_t ranks) : rank_(rank), ranks_(ranks), peers_(static_cast<std::size_t>(ranks)) {
    parked_.reserve(BALEEN_MAX_OUTSTANDING);
  }

  // -- Meeting the other ranks

  /// Each rank listens, connects to those below it, and accepts those above it. All waiting is the rendezvous's, which
  /// ends when the run does: a rank says that it has connected, and is found in the queue then.
  Status connect(const Rendezvous& rendezvous) {
    const FileHandle listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof address.sun_family;  // no name: the system gives one, which is no file
    const auto any = [](sockaddr_un& one) { return reinterpret_cast<sockaddr*>(&one); };
    if (!listener || ::bind(listener.get(), any(address), size) != 0 || ::listen(listener.get(), ranks_) != 0)
      return system_error("no socket to listen on");
    size = sizeof address;
    if (::getsockname(listener.get(), any(address), &size) != 0) return system_error("the socket has no name");
    // Such a name begins with a zero, and has its length beside it.
    const std::size_t begin = offsetof(sockaddr_un, sun_path) + 1;
    rendezvous.put("pipes.address." + std::to_string(rank_), {address.sun_path + 1, size - begin});

    for (std::int32_t rank = 0; rank < rank_; ++rank) {
      const std::string name = rendezvous.get("pipes.address." + std::to_string(rank));
      if (name.size() >= sizeof address.sun_path) return internal("rank " + std::to_string(rank) + " has an odd name");
      std::memcpy(address.sun_path + 1, name.data(), name.size());
      FileHandle socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (!socket) return system_error("no socket");
      const std::string who = "rank " + std::to_string(rank);
      if (::connect(socket.get(), any(address), static_cast<socklen_t>(begin + name.size())) != 0)
        return Error{
            BALEEN_PEER_LOST, who + " cannot be reached: it has ended, or is in another network namespace", {}};
      if (!is_of_this_user(socket.get())) return invalid(who + " belongs to another user");
      if (!send_all(socket.get(), &rank_, sizeof rank_)) return Error{BALEEN_PEER_LOST, who + " has left", {}};
      peers_[static_cast<std::size_t>(rank)].socket = std::move(socket);
    }
    rendezvous.put("pipes.connected." + std::to_string(rank_), "");

    for (std::int32_t rank = rank_ + 1; rank < ranks_; ++rank)
      rendezvous.get("pipes.connected." + std::to_string(rank));
    for (std::int32_t missing = ranks_ - 1 - rank_; missing > 0;) {
      FileHandle socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return system_error("no connection can be accepted");
      std::int32_t rank = -1;
      if (!is_of_this_user(socket.get()) || ::recv(socket.get(), &rank, sizeof rank, MSG_DONTWAIT) != sizeof rank)
        continue;  // a stranger
      if (rank <= rank_ || rank >= ranks_ || peers_[static_cast<std::size_t>(rank)].socket) continue;
      peers_[static_cast<std::size_t>(rank)].socket = std::move(socket);
      --missing;
    }
    return {};
  }

  void start_threads() {
    const NoSignals held;
    worker_ = std::thread([this] { work(); });
    for (Peer& peer : peers_)
      if (peer.socket) peer.reader = std::thread([this, &peer] { read(peer); });
  }

  /// What all who are present propose: they agree, or it is an error on each of them. The first one's number.
  Result<std::uint64_t> meet(const Proposal& mine) {
    ProposalWriter writer;
    walk_proposal(writer, mine);
    for (const std::int32_t rank : mine.present) {
      if (rank == rank_) continue;
      Peer& peer = peers_[static_cast<std::size_t>(rank)];
      std::lock_guard lock(peer.sending);
      const Heading heading{0, 0, 0, writer.bytes.size()};
      // Who has left is found out below, where its letter is missing.
      if (send_all(peer.socket.get(), &heading, sizeof heading))
        (void)send_all(peer.socket.get(), writer.bytes.data(), writer.bytes.size());
    }
    std::vector<Proposal> all;
    for (const std::int32_t rank : mine.present) {
      if (rank == rank_) {
        all.push_back(mine);
        continue;
      }
      BALEEN_TRY_ASSIGN(const Letter letter, await_letter(static_cast<std::size_t>(rank), kProposals, mine.text()));
      const std::string bytes(reinterpret_cast<const char*>(letter.bytes.data()), letter.bytes.size());
      ProposalReader reader{bytes};
      walk_proposal(reader, all.emplace_back());
      if (!reader.complete()) return internal(rank_text(static_cast<std::size_t>(rank)) + " runs another version");
    }
    BALEEN_TRY(agree(all));
    return all.front().number;
  }

  // -- Letters

  /// A reader. It ends with the connection, which `fail` closes on this side.
  void read(Peer& peer) {
    try {
      for (Heading heading; receive_all(peer.socket.get(), &heading, sizeof heading);) {
        Letter letter{heading.slot, std::vector<std::byte>(heading.bytes)};
        if (!receive_all(peer.socket.get(), letter.bytes.data(), heading.bytes)) break;
        {
          std::lock_guard lock(mutex_);
          peer.boxes[{heading.group, heading.pair}].push_back(std::move(letter));
        }
        ring();
      }
    } catch (...) {
      fail(caught_error());  // out of memory
    }
    {
      std::lock_guard lock(mutex_);
      peer.has_left = true;
    }
    ring();
  }

  /// The inputs of a slot that member `to` needs. False: it has left.
  bool send_letter(const Slot& slot, std::size_t to) {
    const Collective& c = slot.collective;
    Heading heading{slot.group->number, slot.pair, slot.number, 0};
    for (const CollectiveEntry& e : c.entries) heading.bytes += part_for(c, e, to).size() * c.width();
    Peer& peer = peers_[rank_of(slot, to)];
    std::lock_guard lock(peer.sending);
    if (!send_all(peer.socket.get(), &heading, sizeof heading)) return false;
    for (const CollectiveEntry& e : c.entries) {
      const ElementRange part = part_for(c, e, to);
      const auto* const input = static_cast<const std::byte*>(e.input);
      if (!send_all(peer.socket.get(), input + part.begin * c.width(), part.size() * c.width())) return false;
    }
    return true;
  }

  /// The next letter of a box, if it is there. An error where none can come any more; `what` it was for says the text.
  Result<std::optional<Letter>> take_letter(std::size_t rank, const Box& box, const std::string& what) {
    std::lock_guard lock(mutex_);
    Peer& peer = peers_[rank];
    std::optional<Letter> taken;
    if (const auto found = peer.boxes.find(box); found != peer.boxes.end()) {
      taken = std::move(found->second.front());
      found->second.pop_front();
      if (found->second.empty()) peer.boxes.erase(found);
    } else if (peer.has_left) {
      return Error{BALEEN_PEER_LOST, rank_text(rank) + " has left before " + what, {}};
    }
    return taken;
  }

  Result<Letter> await_letter(std::size_t rank, const Box& box, const std::string& what) {
    Result<std::optional<Letter>> letter{std::nullopt};
    BALEEN_TRY(await([&] {
      letter = take_letter(rank, box, what);
      return !letter || *letter;
    }));
    if (!letter) return std::move(letter).error();
    return **std::move(letter);
  }

  // -- Waiting

  /// Something has changed: who waits looks again. [any thread]
  void ring() { event_signal(bell_, ++rings_); }

  /// Sleeps until `ready()`, or until the transport has failed. It asks again whenever the bell rings, or `event`.
  template <class Ready>
  Status await(const Ready& ready, baleen_event_t* event = nullptr) {
    while (true) {
      // The words come first: what rings from here on wakes the sleep below.
      const std::uint64_t bell = event_prepare_sleep(bell_), word = event ? event_prepare_sleep(*event) : 0;
      BALEEN_TRY(check());
      if (ready()) return {};
      if (event)
        event_sleep(*event, word, bell_, bell, nullptr);
      else
        event_sleep(bell_, bell, nullptr);
    }
  }

  /// The first failure is kept. Sockets are shut, so that no send waits any more and peers know; what was sent before
  /// still arrives. [any thread]
  void fail(Error error) {
    failure_.set(std::move(error));
    for (const Peer& peer : peers_)
      if (peer.socket) ::shutdown(peer.socket.get(), SHUT_RDWR);
    ring();
  }

  // -- The worker

  void work() {
    while (true) {
      const std::uint64_t bell = event_prepare_sleep(bell_);
      finish_parked();
      if (const std::optional<Started> next = take_started())
        perform(*next);
      else if (leaving_)
        return;
      else
        event_sleep(bell_, bell, nullptr);
    }
  }

  std::optional<Started> take_started() {
    std::lock_guard lock(mutex_);
    if (head_ == tail_) return {};
    return queue_[head_++ % queue_.size()];
  }

  void perform(const Started& started) {
    Status outcome = guarded([&] { return run(started); });
    if (outcome && started.slot->collective.op == BALEEN_RECEIVE)
      parked_.push_back(started);  // others go on; `finish_parked` looks for its letter
    else
      finish(started, outcome);
  }

  /// An operation from its condition to its result; of a RECEIVE the condition alone.
  Status run(const Started& started) {
    const Slot& slot = *started.slot;
    const Collective& c = slot.collective;
    // What it begins after may need a RECEIVE that was started before.
    BALEEN_TRY(await([&] { return finish_parked(), started.may_begin(); }, started.after));
    if (c.op == BALEEN_RECEIVE) return {};
    for (const std::size_t m : others(c))
      if (!send_letter(slot, m) && c.op == BALEEN_SEND)  // of all else the missing letter tells
        return Error{BALEEN_PEER_LOST, rank_text(rank_of(slot, m)) + " has left before " + c.text(), {}};
    if (c.op == BALEEN_SEND) return {};
    Arrived arrived(c.members);
    std::vector<std::size_t> missing = others(c);
    Status outcome;
    BALEEN_TRY(await([&] {
      finish_parked();
      outcome = collect(slot, missing, arrived);
      return !outcome || missing.empty();
    }));
    BALEEN_TRY(std::move(outcome));
    return combine(c, arrived);
  }

  /// Each RECEIVE whose letter has come, in the order of starts.
  void finish_parked() {
    for (std::size_t i = 0; i < parked_.size();) {
      const Started started = parked_[i];
      const Collective& c = started.slot->collective;
      std::vector<std::size_t> missing = others(c);
      const Status outcome = guarded([&]() -> Status {
        Arrived arrived(c.members);
        BALEEN_TRY(check());
        BALEEN_TRY(collect(*started.slot, missing, arrived));
        return missing.empty() ? combine(c, arrived) : Status();
      });
      if (outcome && !missing.empty()) {
        ++i;
        continue;
      }
      parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(i));
      finish(started, outcome);
    }
  }

  /// Takes the letters that have come from members which are `missing`.
  Status collect(const Slot& slot, std::vector<std::size_t>& missing, Arrived& arrived) {
    for (auto m = missing.begin(); m != missing.end();) {
      BALEEN_TRY_ASSIGN(std::optional<Letter> letter,
                        take_letter(rank_of(slot, *m), slot.box(), slot.collective.text()));
      if (!letter) {
        ++m;
        continue;
      }
      if (letter->slot != slot.number) return another(slot, *m, letter->slot);
      arrived[*m] = std::move(letter->bytes);
      m = missing.erase(m);
    }
    return {};
  }

  /// The last touch of an operation: who sees its event may destroy the group at once.
  void finish(const Started& started, const Status& outcome) {
    if (!outcome) fail(outcome.error());
    unfinished_.finish(started, !outcome);
  }

  /// Member `m` has started another collective than `slot`.
  Status another(const Slot& slot, std::size_t m, std::uint64_t number) {
    std::lock_guard lock(mutex_);
    const std::vector<Slot*>& all = slot.group->collectives;
    const std::string text = number < all.size() ? all[number]->collective.text() : "another collective";
    return another_start(rank_, slot.collective.text(), static_cast<std::int32_t>(rank_of(slot, m)), text);
  }

  /// Nothing may be thrown out of a thread.
  template <class Body>
  static Status guarded(const Body& body) {
    try {
      return body();
    } catch (...) {
      return caught_error();
    }
  }

  static std::size_t rank_of(const Slot& slot, std::size_t member) {
    return static_cast<std::size_t>(slot.group->ranks[member]);
  }

  const std::int32_t rank_, ranks_;
  std::uint64_t groups_made_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  FirstFailure failure_;
  Unfinished unfinished_;

  std::mutex mutex_;  // for boxes, the queue and the lists of collectives; nobody waits while holding it
  std::vector<Peer> peers_;
  std::array<Started, BALEEN_MAX_OUTSTANDING> queue_;
  std::uint64_t head_ = 0, tail_ = 0;  // the worker takes there, `start` puts here

  std::vector<Started> parked_;  // each a RECEIVE that has begun; the worker's
  std::atomic<std::uint64_t> rings_{0};
  baleen_event_t bell_{};
  std::atomic<bool> leaving_{false};
  std::thread worker_;
};

}  // namespace

BALEEN_TRANSPORT(Pipes);
