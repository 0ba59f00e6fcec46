/// \file The plugin: two others by their names, or one of them where the other has nothing to join.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "open.hpp"

BALEEN_DESCRIPTOR(
    "transport", "hierarchy", "1.0.0", "Apache-2.0", "two transports as one: inside hosts and between them", -1, "",
    BALEEN_OPTION("intra_host", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_MEMBER, 1, 0, "", "", "",
                  "joins the ranks of each host"),
    BALEEN_OPTION("inter_host", BALEEN_OPTION_STRING,
                  BALEEN_OPTION_REQUIRED | BALEEN_OPTION_MEMBER | BALEEN_OPTION_PER_HOST, 1, 0, "", "", "",
                  "joins hosts"),
    BALEEN_OPTION("ranks_per_host", BALEEN_OPTION_INT, BALEEN_OPTION_PER_HOST, 0, 1 << 20, "0", "", "",
                  "cuts hosts for two transports (into parts of so many ranks; 0: they stay whole)"),
    BALEEN_OPTION("inside", BALEEN_OPTION_STRING, BALEEN_OPTION_EARLIER_NAME, 1, 0, "intra_host", "", "", ""),
    BALEEN_OPTION("between", BALEEN_OPTION_STRING, BALEEN_OPTION_EARLIER_NAME, 1, 0, "inter_host", "", "", ""));

namespace baleen::hierarchy {
namespace {

constexpr std::string_view kKind = "transport";
constexpr std::size_t kPage = 4096;

/// Zeroed pages for arenas where neither transport has memory of its own.
class Pages {
 public:
  static Result<void*> take(std::uint64_t bytes) {
    const std::uint64_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* base = std::aligned_alloc(kPage, whole);
    if (!base) return Error{BALEEN_NO_MEMORY, "no " + std::to_string(bytes) + " bytes for an arena", {}};
    std::memset(base, 0, whole);
    return base;
  }
  static void give_back(void* base) { std::free(base); }
};

class Hierarchy : public Transport {
 public:
  static constexpr bool kRegisters = true, kAllocatesToo = true, kHasDeviceMemory = true;

  static Result<std::unique_ptr<Hierarchy>> create(const Host& host, const Settings& settings,
                                                   const Rendezvous& rendezvous, baleen_transport_flags_t) {
    BALEEN_TRY_ASSIGN(OpenedMember inside, OpenedMember::open(host, settings, kKind, settings.text("intra_host")));
    BALEEN_TRY_ASSIGN(OpenedMember between, OpenedMember::open(host, settings, kKind, settings.text("inter_host")));
    std::unique_ptr<Hierarchy> made(new Hierarchy(host, std::move(inside), std::move(between)));
    made->speaks_ = rendezvous.rank() == 0;
    BALEEN_TRY_ASSIGN(made->made_, made->connect(settings.integer("ranks_per_host"), rendezvous));
    return made;
  }
  static bool would_take(const Host& host, const Settings& settings, std::string_view memory) {
    for (const char* side : {"intra_host", "inter_host"}) {
      const Result<OpenedMember> member = OpenedMember::open(host, settings, kKind, settings.text(side));
      if (!member ||
          !TableTransport::would_take(member->table<baleen_transport_t>(), member->host(), member->settings(), memory))
        return false;
    }
    return true;
  }

  Result<void*> allocate(std::uint64_t bytes) override {
    if (made_->allocates()) return made_->allocate(bytes);
    BALEEN_TRY_ASSIGN(void* const base, Pages::take(bytes));
    if (Status known = register_arena(base, bytes); !known) {
      Pages::give_back(base);
      return std::move(known).error();
    }
    return base;
  }
  void release(void* base) override {
    if (made_->allocates()) return made_->release(base);
    unregister_arena(base);
    Pages::give_back(base);
  }
  Status register_arena(void* base, std::uint64_t bytes) override {
    return made_->registers() ? made_->register_arena(base, bytes) : Status();
  }
  void unregister_arena(void* base) override {
    if (made_->registers()) made_->unregister_arena(base);
  }
  bool takes(std::string_view memory) const override { return made_->takes(memory); }
  Status use(void* device, const baleen_compute_t* compute, const baleen_native_events_t*) override {
    BALEEN_TRY_ASSIGN(lease_, made_->lease(device, *compute));
    tell_of_staging(device, *compute);
    return {};
  }
  void leave() override { lease_.reset(); }
  Result<void*> allocate_on_device(std::uint64_t bytes) override { return made_->allocate_on_device(bytes); }
  void release_on_device(void* base) override { made_->release_on_device(base); }
  /// Native events are wanted where a member wants them.
  const void* query(std::string_view name) override {
    if (name != BALEEN_TRANSPORT_NATIVE || made_->native_runtime().empty()) return nullptr;
    native_ = *baleen::detail::transport_native<Hierarchy>();
    native_.runtime = abi(made_->native_runtime());
    return &native_;
  }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override { return made_->group_create(std::move(ranks)); }
  void group_destroy(void* group) override { made_->group_destroy(group); }
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override {
    return made_->prepare(group, spec);
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    return made_->start(slot, after, after_value, done, done_value);
  }
  Status check() override { return made_->check(); }
  void abort(std::string_view reason) override { made_->abort(reason); }

 private:
  Hierarchy(const Host& host, OpenedMember inside, OpenedMember between)
      : host_(host), inside_(std::move(inside)), between_(std::move(between)) {}

  /// Where one of the two would join nobody, the other serves alone.
  Result<std::unique_ptr<OpenTransport>> connect(std::int64_t ranks_per_host, const Rendezvous& rendezvous) {
    const auto note = [host = host_, speaks = speaks_](const std::string& text) {
      if (speaks) host.log(BALEEN_INFO, text);
    };
    const std::string inside(inside_.name()), between(between_.name());
    std::vector<std::int32_t> hosts = numbered_hosts(rendezvous.host_of(), ranks_per_host);
    const std::int32_t count = *std::max_element(hosts.begin(), hosts.end()) + 1;
    if (count == 1) {
      note("all ranks are on one host: `" + between + "` between hosts is not used");
      return open_alone(inside_, *rendezvous.get());
    }
    if (count == rendezvous.ranks()) {
      note("every rank is on a host of its own: `" + inside + "` inside hosts is not used");
      return open_alone(between_, *rendezvous.get());
    }
    joins_both_ = true;
    note(inside + " inside hosts, " + between + " between the " + std::to_string(count) + " hosts");
    return open({inside_, between_}, std::move(hosts), *rendezvous.get(), note);
  }

  /// One that takes the device's memory is of little use beside one that does not.
  void tell_of_staging(void* device, const baleen_compute_t& compute) const {
    const auto* memory = static_cast<const baleen_device_memory_t*>(
        compute.query ? compute.query(device, abi(BALEEN_DEVICE_MEMORY)) : nullptr);
    if (!memory || !joins_both_ || !speaks_) return;
    const auto would_take = [&](const OpenedMember& member) {
      return TableTransport::would_take(member.table<baleen_transport_t>(), member.host(), member.settings(),
                                        view(memory->kind));
    };
    if (would_take(inside_) == would_take(between_)) return;
    const bool inside = would_take(inside_);
    const std::string takes((inside ? inside_ : between_).name()), other((inside ? between_ : inside_).name());
    host_.log(BALEEN_WARNING, "`" + takes + "` works in the memory of the device and `" + other +
                                  "` does not, so all collectives of both pass through the memory of the host; `" +
                                  takes + "` alone, for all ranks, would not");
  }

  const Host host_;
  const OpenedMember inside_, between_;
  bool speaks_ = false, joins_both_ = false;  // rank 0 tells
  std::unique_ptr<OpenTransport> made_;
  baleen_transport_native_t native_{};
  Lease lease_;  // goes before what gave it
};

}  // namespace
}  // namespace baleen::hierarchy

BALEEN_TRANSPORT(baleen::hierarchy::Hierarchy);
