/// \file A launcher as a C++ class: derive from Launcher, then `BALEEN_LAUNCHER(Mine)`.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/launcher.h"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// The job as a launcher is told of it; borrowed, valid during the call.
class LaunchView {
 public:
  explicit LaunchView(const baleen_launch_job_t* launch) : launch_(copy_in(launch)) {}

  std::uint64_t host_count() const { return launch_.host_count; }
  const baleen_launch_host_t& host(std::uint64_t number) const { return launch_.hosts[number]; }
  std::int32_t ranks() const { return launch_.ranks; }
  /// -1: not said.
  std::int32_t host_index() const { return launch_.host_index; }
  std::string_view secret_file() const { return view(launch_.secret_file); }
  /// What `start` told this rank; empty where it did not start this process.
  std::string_view word() const { return view(launch_.word); }

 private:
  baleen_launch_job_t launch_;
};

/// Which rank this process is.
struct LaunchPlace {
  int rank = 0;
  int ranks = 0;  ///< 0: this process is no rank
  int local_rank = 0;
  int local_ranks = 1;
  int host_index = 0;
  int threads = 0;                         ///< 0: its share of what it may use
  std::vector<std::int32_t> host_of_rank;  /// empty: all ranks are on one host
  std::vector<std::string> hosts;          ///< their names
  std::string address;                     ///< of this host, to the others; empty: not known, or there are none
};

/// Base of a member. It also has `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&, const
/// LaunchView&)` and `static bool fits(const LaunchView&)`. One that starts ranks has `Status start(const
/// baleen_launch_start_t&, baleen_outcome_t&)`, and one that makes secrets `static Status make_secret(const
/// std::string& file)`. What the functions mean: launcher.h. [any thread]
class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual LaunchPlace place() = 0;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Result<std::string> get(std::string_view key) = 0;
  virtual Status fence(std::string_view name) = 0;
  /// Whether the launcher shows it to the user.
  virtual bool fail(const Error& error, const std::vector<std::string>& recorded) = 0;
  virtual Status finish() = 0;
  /// Neither waits nor allocates.
  virtual void beat(const baleen_progress_t& progress) { (void)progress; }
  /// `lost` is to be called once, when a rank is lost.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): launchers keep it.
  virtual void watch(std::function<void(const std::string& reason)> lost) { (void)lost; }
};

namespace detail {

/// A launcher's object, and the place that the host has been told of.
struct LauncherInstance : Instance<Launcher> {
  LaunchPlace place;
  std::vector<baleen_string_t> names;

  static LauncherInstance& of(void* handle) { return *static_cast<LauncherInstance*>(handle); }

  Status tell(baleen_place_t* out) {
    place = member->place();
    names.clear();
    for (const std::string& name : place.hosts) names.push_back(abi(name));
    const baleen_place_t told = {sizeof told,
                                 place.rank,
                                 place.ranks,
                                 place.local_rank,
                                 place.local_ranks,
                                 place.host_index,
                                 static_cast<std::int32_t>(names.size()),
                                 place.threads,
                                 0,
                                 place.host_of_rank.empty() ? nullptr : place.host_of_rank.data(),
                                 names.data(),
                                 place.address.empty() ? nullptr : place.address.c_str()};
    if (!place.host_of_rank.empty() && static_cast<int>(place.host_of_rank.size()) != place.ranks)
      return internal("host_of_rank has another length than there are ranks");
    return copy_out(out, told) ? Status() : no_size("place");
  }

  bool fail(const baleen_rank_failure_t* from) {
    const baleen_rank_failure_t failure = copy_in(from);
    std::vector<std::string> recorded;
    for (std::uint64_t i = 0; i < failure.recorded_count; ++i) recorded.emplace_back(view(failure.recorded[i]));
    return member->fail({failure.status, std::string(view(failure.message)), std::string(view(failure.where))},
                        recorded);
  }
};

template <class Member>
void add_rank_functions(baleen_launcher_t& table) {
  using Self = LauncherInstance;
  table.place = [](void* self, baleen_place_t* place) {
    return guard(Self::of(self).host, [&] { return Self::of(self).tell(place); });
  };
  table.put = [](void* self, baleen_string_t key, baleen_string_t value) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->put(view(key), view(value)); });
  };
  table.get = [](void* self, baleen_string_t key, void (*take)(void*, baleen_string_t), void* context) {
    return guard(Self::of(self).host, [&]() -> Status {
      BALEEN_TRY_ASSIGN(const std::string value, Self::of(self).member->get(view(key)));
      take(context, abi(value));
      return {};
    });
  };
  table.fence = [](void* self, baleen_string_t name) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->fence(view(name)); });
  };
  table.fail = [](void* self, const baleen_rank_failure_t* failure) -> std::int32_t {
    return guard_value(Self::of(self).host, 0, [&] { return Self::of(self).fail(failure) ? 1 : 0; });
  };
  table.finish = [](void* self) { return guard(Self::of(self).host, [&] { return Self::of(self).member->finish(); }); };
  table.beat = [](void* self, const baleen_progress_t* progress) {
    guard_nothing(Self::of(self).host, "beat", [&] { Self::of(self).member->beat(*progress); });
  };
  table.watch = [](void* self, void (*lost)(void*, baleen_string_t), void* context) {
    return guard(Self::of(self).host, [&]() -> Status {
      Self::of(self).member->watch([lost, context](const std::string& reason) { lost(context, abi(reason)); });
      return {};
    });
  };
}

}  // namespace detail

/// The C table of a member.
template <class Member>
baleen_launcher_t launcher_table() {
  using Self = detail::LauncherInstance;
  baleen_launcher_t table{};
  table.fits = [](const baleen_host_t* host, const baleen_launch_job_t* launch) -> std::int32_t {
    return guard_value(Host(host), 0, [&] { return Member::fits(LaunchView(launch)) ? 1 : 0; });
  };
  table.create = [](const baleen_host_t* host, const baleen_settings_t* settings, const baleen_launch_job_t* launch,
                    void** out) {
    return guard(Host(host), [&]() -> Status {
      BALEEN_TRY_ASSIGN(std::unique_ptr<Launcher> member,
                        Member::create(Host(host), Settings(settings), LaunchView(launch)));
      if (!member) return internal("create gave no object and no error");
      *out = new Self{{Host(host), std::move(member)}, {}, {}};
      return {};
    });
  };
  table.destroy = [](void* self) {
    const Host host = Self::of(self).host;
    guard_nothing(host, "destroy", [&] { delete static_cast<Self*>(self); });
  };
  detail::add_rank_functions<Member>(table);
  if constexpr (requires(Member & member, const baleen_launch_start_t& what, baleen_outcome_t& outcome) {
                  { member.start(what, outcome) } -> std::same_as<Status>;
                }) {
    table.start = [](void* self, const baleen_launch_start_t* what, baleen_outcome_t* outcome) {
      return guard(Self::of(self).host, [&]() -> Status {
        baleen_outcome_t told{};
        BALEEN_TRY(static_cast<Member&>(*Self::of(self).member).start(copy_in(what), told));
        return copy_out(outcome, told) ? Status() : no_size("outcome");
      });
    };
  }
  if constexpr (requires(const std::string& file) {
                  { Member::make_secret(file) } -> std::same_as<Status>;
                }) {
    table.make_secret = [](const baleen_host_t* host, baleen_string_t file) {
      return guard(Host(host), [&] { return Member::make_secret(std::string(view(file))); });
    };
  }
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` (a baleen::sdk::Launcher) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_LAUNCHER(Member) BALEEN_EXPORT_TABLE(baleen::sdk::launcher_table<Member>())
