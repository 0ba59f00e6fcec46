/// \file Ranks of a transport as tests drive them: each a thread, or each a forked process, all running one body.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "baleen/event.hpp"
#include "support/plugin_under_test.hpp"
#include "support/shared_rendezvous.hpp"

namespace baleen::test {

using TransportPlugin = PluginUnderTest<baleen_transport_t>;

/// Options of a plugin by name, as a user would write them.
using RankOptions = std::vector<std::pair<std::string, std::string>>;

/// A rank that has joined; throws what the plugin reported. Its own host, so that reasons do not mix.
class Rank {
 public:
  Rank(const TransportPlugin& plugin, SharedRendezvous& rendezvous, std::int32_t rank, std::int32_t ranks,
       const RankOptions& options = {})
      : Rank(plugin, rendezvous.of(rank, ranks), options) {}
  Rank(const TransportPlugin& plugin, const baleen_rendezvous_t& rendezvous, const RankOptions& options = {})
      : table(plugin.table), rank(rendezvous.rank), ranks(rendezvous.ranks), settings_(plugin.descriptor) {
    for (const auto& [name, text] : options) settings_.set(name, text);
    check(table.create(host_.get(), settings_.get(), &rendezvous, 0, &transport_));
  }
  ~Rank() {
    if (transport_) table.destroy(transport_);
  }
  Rank(const Rank&) = delete;

  void* group(std::vector<std::int32_t> members) {
    void* group = nullptr;
    check(table.group_create(transport_, members.data(), members.size(), &group));
    return group;
  }
  /// Of all ranks.
  void* world() {
    std::vector<std::int32_t> members;
    for (std::int32_t member = 0; member < ranks; ++member) members.push_back(member);
    return group(std::move(members));
  }
  /// Memory of the transport's own, or zeroed pages of the host where it has none.
  void* allocate(std::uint64_t bytes) {
    void* base = nullptr;
    if (!table.allocate) {
      const std::uint64_t whole = (bytes + 4095) / 4096 * 4096;
      pages_.emplace_back(std::aligned_alloc(4096, whole), &std::free);
      return std::memset(pages_.back().get(), 0, whole);
    }
    check(table.allocate(transport_, bytes, &base));
    return base;
  }
  void release(void* base) {
    if (table.release) return table.release(transport_, base);
    std::erase_if(pages_, [&](const auto& page) { return page.get() == base; });
  }
  void* prepare(void* group, const baleen_collective_spec_t& spec) {
    void* slot = nullptr;
    check(table.prepare(transport_, group, &spec, &slot));
    return slot;
  }
  void start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done, std::uint64_t value) {
    check(table.start(transport_, slot, after, after_value, done, value));
  }
  /// Starts and waits; throws where the operation failed.
  void run(void* slot) {
    baleen_event_t done{};
    start(slot, nullptr, 0, &done, 1);
    finish(done, 1);
  }
  void finish(baleen_event_t& done, std::uint64_t value) {
    event_wait(done, value);
    if (event_value(done) == BALEEN_EVENT_FAILED) throw std::runtime_error(reason());
  }
  /// Why operations fail.
  std::string reason() { return table.check(transport_) == BALEEN_OK ? std::string() : host_.failure(); }
  void abort(const std::string& reason) { table.abort(transport_, abi(reason)); }
  void* get() const { return transport_; }
  const TestHost& host() const { return host_; }

  const baleen_transport_t& table;
  const std::int32_t rank, ranks;

 private:
  void check(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(host_.failure());
  }

  TestHost host_;
  TestSettings settings_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> pages_;
  void* transport_ = nullptr;
};

/// In the body of a rank, where GoogleTest's own words would be lost with the process.
inline void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}
inline void expect_contains(const std::string& text, const std::string& part) {
  expect(text.find(part) != std::string::npos, "`" + part + "` is not in: " + text);
}

enum class As { kThreads, kProcesses };

/// Runs a body per rank; returns what went wrong, one "rank 1: ..." per line.
inline std::string run_bodies(As as, std::int32_t ranks, const std::function<void(std::int32_t)>& body) {
  const auto guarded = [&](std::int32_t rank) -> std::string {
    try {
      body(rank);
      return {};
    } catch (const std::exception& e) {
      return "rank " + std::to_string(rank) + ": " + e.what() + "\n";
    }
  };
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  if (as == As::kThreads) {
    std::vector<std::thread> threads;
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { failures[static_cast<std::size_t>(rank)] = guarded(rank); });
    for (std::thread& thread : threads) thread.join();
  } else {
    std::vector<std::pair<pid_t, int>> children;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      int ends[2];
      if (pipe(ends) != 0) throw std::runtime_error("no pipe");
      const pid_t child = fork();
      if (child == 0) {
        const std::string failure = guarded(rank).substr(0, 60'000);
        const bool told = write(ends[1], failure.data(), failure.size()) == static_cast<ssize_t>(failure.size());
        _exit(failure.empty() && told ? 0 : 1);
      }
      close(ends[1]);
      children.emplace_back(child, ends[0]);
    }
    for (std::size_t rank = 0; rank < children.size(); ++rank) {
      char text[4096];
      for (ssize_t count; (count = read(children[rank].second, text, sizeof text)) > 0;)
        failures[rank].append(text, static_cast<std::size_t>(count));
      close(children[rank].second);
      int status = 0;
      waitpid(children[rank].first, &status, 0);
      if (status != 0 && failures[rank].empty())
        failures[rank] = "rank " + std::to_string(rank) + " ended with status " + std::to_string(status) + "\n";
    }
  }
  std::string all;
  for (const std::string& failure : failures) all += failure;
  return all;
}

/// The same with ranks that have joined. `hosts` as SharedRendezvous takes them.
inline std::string run_ranks(const TransportPlugin& plugin, As as, std::int32_t ranks,
                             const std::function<void(Rank&)>& body, const RankOptions& options = {},
                             const std::string& hosts = {}) {
  SharedRendezvous rendezvous(hosts);
  return run_bodies(as, ranks, [&](std::int32_t number) {
    Rank rank(plugin, rendezvous, number, ranks, options);
    body(rank);
  });
}

}  // namespace baleen::test
