/// \file A transport that counts what passes through it, and hierarchies of it, with ranks as threads.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baleen/collective.hpp"
#include "open.hpp"
#include "rendezvous_view.hpp"
#include "support/ranks.hpp"

namespace baleen::hierarchy {

/// Bytes that were sent, by all ranks.
struct Ledger {
  std::atomic<std::uint64_t> crossed{0};  ///< to ranks of other hosts
  std::atomic<std::uint64_t> stayed{0};   ///< to ranks of the sender's host
};

/// Bytes of one run from a member to another, for those collectives whose algorithm leaves no choice.
inline std::uint64_t bytes_to(const Collective& c, std::size_t to) {
  std::uint64_t elements = 0;
  for (const CollectiveEntry& e : c.entries) {
    switch (c.op) {
      case BALEEN_REDUCE_SCATTER: elements += e.block_of(to).size(); break;
      case BALEEN_ALL_GATHER: elements += e.block_of(c.place).size(); break;
      case BALEEN_BROADCAST: elements += c.place == c.root ? e.count : 0; break;
      case BALEEN_REDUCE: elements += to == c.root ? e.count : 0; break;
      case BALEEN_ALL_TO_ALL: elements += c.sends(e, to); break;
      case BALEEN_PERMUTE: elements += c.destinations[c.place] == static_cast<std::int32_t>(to) ? e.count : 0; break;
      case BALEEN_SEND: elements += to == c.root ? e.count : 0; break;
      default: break;
    }
  }
  return elements * c.width();
}

/// Passes everything on to the loopback.
class Counting : public OpenTransport {
 public:
  Counting(std::unique_ptr<OpenTransport> below, Ledger& ledger, std::vector<std::int32_t> host_of, std::int32_t rank)
      : below_(std::move(below)), ledger_(ledger), host_of_(std::move(host_of)), rank_(rank) {}

  bool allocates() const override { return false; }
  bool registers() const override { return true; }
  Result<void*> allocate(std::uint64_t) override { return internal("asked for memory though it has none"); }
  void release(void*) override { ADD_FAILURE() << "released what it never gave"; }
  Status register_arena(void* base, std::uint64_t bytes) override {
    known[base] = bytes;
    return {};
  }
  void unregister_arena(void* base) override { EXPECT_EQ(known.erase(base), 1u); }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override {
    BALEEN_TRY_ASSIGN(void* const group, below_->group_create(ranks));
    groups_[group] = std::move(ranks);
    return group;
  }
  void group_destroy(void* group) override { below_->group_destroy(group); }
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override {
    BALEEN_TRY_ASSIGN(void* const slot, below_->prepare(group, spec));
    const std::vector<std::int32_t>& ranks = groups_.at(group);
    const auto place = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
    BALEEN_TRY_ASSIGN(const Collective c, Collective::make(spec, place, ranks.size()));
    Bytes& bytes = bytes_[slot];
    if (c.op == BALEEN_ALL_REDUCE) {  // whatever way it goes, a member sends so much to the others in all
      bytes.crossed = collective_bytes(c);
      for (const std::int32_t rank : ranks)
        bytes.unclear = bytes.unclear || (rank != rank_ && host(rank) == host(rank_));
      return slot;
    }
    for (std::size_t to = 0; to < ranks.size(); ++to)
      if (to != place) (host(ranks[to]) == host(rank_) ? bytes.stayed : bytes.crossed) += bytes_to(c, to);
    return slot;
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    if (bytes_.at(slot).unclear) ADD_FAILURE() << "started all_reduce between ranks of one host";
    ledger_.crossed += bytes_.at(slot).crossed;
    ledger_.stayed += bytes_.at(slot).stayed;
    return below_->start(slot, after, after_value, done, done_value);
  }
  Status check() override { return below_->check(); }
  void abort(std::string_view reason) override { below_->abort(reason); }

  std::map<void*, std::uint64_t> known;  ///< arenas

 private:
  struct Bytes {
    std::uint64_t crossed = 0, stayed = 0;
    bool unclear = false;
  };
  std::int32_t host(std::int32_t rank) const { return host_of_[static_cast<std::size_t>(rank)]; }

  const std::unique_ptr<OpenTransport> below_;
  Ledger& ledger_;
  const std::vector<std::int32_t> host_of_;
  const std::int32_t rank_;
  std::map<void*, std::vector<std::int32_t>> groups_;
  std::map<void*, Bytes> bytes_;
};

/// One rank of a hierarchy of loopbacks, the one between hosts counted.
struct CountedRank {
  CountedRank(const std::string& hosts, std::int32_t number, test::SharedRendezvous& rendezvous, Ledger& ledger)
      : rank(number), ranks(static_cast<std::int32_t>(hosts.size())) {
    const std::vector<std::int32_t> host_of(hosts.begin(), hosts.end());
    const baleen_rendezvous_t all = rendezvous.of(rank, ranks);
    const char mine = hosts[static_cast<std::size_t>(rank)];
    std::vector<std::int32_t> neighbours;
    for (std::int32_t other = 0; other < ranks; ++other)
      if (hosts[static_cast<std::size_t>(other)] == mine) neighbours.push_back(other);
    const RendezvousView here(all, std::string("inside") + mine, std::move(neighbours));
    const RendezvousView world(all, "between");
    auto first = loopback(*here.get());
    auto second = std::make_unique<Counting>(loopback(*world.get()), ledger, host_of, rank);
    inside = first.get();
    between = second.get();
    transport = std::make_unique<HierarchyTransport>(std::move(first), std::move(second), host_of, rank,
                                                     [this](const std::string& text) { notes.push_back(text); });
  }

  std::unique_ptr<OpenTransport> loopback(const baleen_rendezvous_t& to) {
    static const test::TransportPlugin plugin(test::built_plugin("transport", "loopback"));
    static const test::TestSettings settings(plugin.descriptor);
    return need(TableTransport::create(plugin.table, host.get(), *settings.get(), to, [this](baleen_status_t status) {
      return Error{status, "transport `loopback`: " + host.failure(), {}};
    }));
  }
  template <class T>
  static T need(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().text());
    return *std::move(result);
  }
  static void need(const Status& status) {
    if (!status) throw std::runtime_error(status.error().text());
  }

  void* world() {
    std::vector<std::int32_t> all;
    for (std::int32_t other = 0; other < ranks; ++other) all.push_back(other);
    return need(transport->group_create(all));
  }
  void* prepare(void* group, const baleen_collective_spec_t& spec) { return need(transport->prepare(group, spec)); }
  void run(void* slot) {
    baleen_event_t done{};
    need(transport->start(slot, nullptr, 0, &done, 1));
    event_wait(done, 1);
    need(transport->check());
  }

  const std::int32_t rank, ranks;
  test::TestHost host;
  std::vector<std::string> notes;
  OpenTransport* inside = nullptr;
  Counting* between = nullptr;
  std::unique_ptr<HierarchyTransport> transport;
};

/// Runs `body` on a rank per letter; equal letters are one host. What went wrong, or empty.
inline std::string run_counted(const std::string& hosts, Ledger& ledger,
                               const std::function<void(CountedRank&)>& body) {
  test::SharedRendezvous rendezvous;
  return test::run_bodies(test::As::kThreads, static_cast<std::int32_t>(hosts.size()), [&](std::int32_t number) {
    CountedRank rank(hosts, number, rendezvous, ledger);
    body(rank);
  });
}

}  // namespace baleen::hierarchy
