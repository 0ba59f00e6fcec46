/// \file The transport `paced`: another transport behind a link of limited bandwidth. The wrapped one exchanges the
/// data; a transfer is over when its bytes would have passed.
#include <dlfcn.h>

#include <algorithm>
#include <deque>
#include <string>

#include "baleen/collective.hpp"
#include "baleen/transport.hpp"
#include "link.hpp"
#include "support/places.hpp"

BALEEN_DESCRIPTOR(
    "transport", "paced", "1.0.0", "Apache-2.0", "another transport at a given bandwidth, for tests", -1, "",
    BALEEN_OPTION("bandwidth", BALEEN_OPTION_FLOAT, 0, 0, 1e15, "0", "", "",
                  "bytes per second that each rank sends; 0: no limit"),
    BALEEN_OPTION("wraps", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                  "the file of a transport with memory of its own and no options; default: shm of this build"));

namespace baleen::paced {
namespace {

/// What the busiest member of a transfer sends: the members of a transfer take the same time.
std::uint64_t bytes_of(Collective collective) {
  if (collective.op == BALEEN_RECEIVE) collective.op = BALEEN_SEND;
  std::uint64_t most = collective_bytes(collective);
  if (collective.op == BALEEN_ALL_TO_ALL) {  // others' pieces are known as far as they come here
    for (CollectiveEntry& e : collective.entries) std::swap(e.sends, e.receives);
    return std::max(most, collective_bytes(collective));
  }
  for (collective.place = 0; collective.place < collective.members; ++collective.place)
    most = std::max(most, collective_bytes(collective));
  return most;
}

struct Group {
  void* wrapped = nullptr;
  std::size_t place = 0, members = 1;
};

struct Slot {
  void* wrapped = nullptr;
  Link::Clock::duration time{};
  bool may_wait = false;
  baleen_event_t carried{sizeof(baleen_event_t), 0, 0, nullptr};
  std::uint64_t started = 0;
};

void need(baleen_status_t status) {
  if (status != BALEEN_OK) throw Failed(status);
}

/// The table of the transport in a file. Stays loaded.
Result<baleen_transport_t> load(const Host& host, const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return invalid("transport `paced` cannot wrap " + path + ": " + ::dlerror());
  const auto begin = reinterpret_cast<baleen_plugin_start_t>(::dlsym(library, BALEEN_START_SYMBOL));
  if (!begin) return invalid("transport `paced` cannot wrap " + path + ": it is no plugin");
  baleen_transport_t table{};
  table.size = sizeof table;
  need(begin(host.get(), &table));
  if (!table.allocate) return invalid("transport `paced` cannot wrap " + path + ": it has no memory of its own");
  return table;
}

class Paced : public Transport {
 public:
  static Result<std::unique_ptr<Paced>> create(const Host& host, const Settings& settings, const Rendezvous& rendezvous,
                                               baleen_transport_flags_t flags) {
    const std::string path(settings.text("wraps"));
    BALEEN_TRY_ASSIGN(const baleen_transport_t table,
                      load(host, path.empty() ? test::built("lib/baleen/plugins/baleen_transport_shm.so") : path));
    const baleen_settings_t none{
        sizeof(baleen_settings_t), 0, nullptr, settings.seed(), abi(settings.folder()), settings.local_rank(),
        settings.local_ranks()};
    void* wrapped = nullptr;
    need(table.create(host.get(), &none, rendezvous.get(), flags, &wrapped));
    return std::make_unique<Paced>(table, wrapped, rendezvous.rank(), settings.number("bandwidth"));
  }

  Paced(const baleen_transport_t& table, void* wrapped, std::int32_t rank, double bandwidth)
      : table_(table), wrapped_(wrapped), rank_(rank), bandwidth_(bandwidth) {}
  // What is unfinished fails there first, so that the link's thread finds nothing to wait for.
  ~Paced() override { table_.destroy(wrapped_); }

  Result<void*> allocate(std::uint64_t bytes) override {
    void* base = nullptr;
    need(table_.allocate(wrapped_, bytes, &base));
    return base;
  }
  void release(void* base) override { table_.release(wrapped_, base); }

  Result<void*> group_create(std::vector<std::int32_t> ranks) override {
    Group& group = groups_.emplace_back();
    need(table_.group_create(wrapped_, ranks.data(), ranks.size(), &group.wrapped));
    group.place = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
    group.members = ranks.size();
    return &group;
  }
  void group_destroy(void* handle) override {
    table_.group_destroy(wrapped_, static_cast<Group*>(handle)->wrapped);
    link_.settle();
  }

  Result<void*> prepare(void* handle, const baleen_collective_spec_t& spec) override {
    const Group& group = *static_cast<Group*>(handle);
    Slot& slot = slots_.emplace_back();
    need(table_.prepare(wrapped_, group.wrapped, &spec, &slot.wrapped));
    BALEEN_TRY_ASSIGN(Collective collective, Collective::make(spec, group.place, group.members));
    slot.may_wait = is_pairwise(spec.op);
    if (bandwidth_ > 0) {
      constexpr double kLongest = 1e6;
      const double seconds = static_cast<double>(bytes_of(std::move(collective))) / bandwidth_;
      const std::chrono::duration<double> time(std::min(seconds, kLongest));
      slot.time = std::chrono::duration_cast<Link::Clock::duration>(time);
    }
    return &slot;
  }

  Status start(void* handle, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    Slot& slot = *static_cast<Slot*>(handle);
    if (!link_.has_room())
      return invalid(std::to_string(BALEEN_MAX_OUTSTANDING) + " operations are unfinished; wait for some");
    need(table_.start(wrapped_, slot.wrapped, after, after_value, &slot.carried, slot.started + 1));
    link_.add({&slot.carried, ++slot.started, slot.time, slot.may_wait, done, done_value});
    return {};
  }

  Status check() override {
    need(table_.check(wrapped_));
    return {};
  }
  void abort(std::string_view reason) override {
    table_.abort(wrapped_, abi(reason));
    link_.fail();
  }
  // No `query`: the wrapped transport's optional extensions would pass by the link.

 private:
  const baleen_transport_t table_;
  void* const wrapped_;
  const std::int32_t rank_;
  const double bandwidth_;
  // Addresses stay, and all live as long as the link, whose thread looks at the slots.
  std::deque<Group> groups_;
  std::deque<Slot> slots_;
  Link link_;
};

}  // namespace
}  // namespace baleen::paced

BALEEN_TRANSPORT(baleen::paced::Paced);
