/// \file Structs to and from the ABI's, and the checks of what a launcher says.
#include "core/launch/launcher.hpp"

#include <algorithm>
#include <utility>

#include "baleen/host.hpp"
#include "baleen/sized.hpp"

namespace baleen {
namespace {

std::vector<baleen_string_t> borrowed(const std::vector<std::string>& words) {
  std::vector<baleen_string_t> all;
  for (const std::string& word : words) all.push_back(abi(word));
  return all;
}

std::vector<std::string> copied(const baleen_string_t* words, std::uint64_t count) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < count; ++i) all.emplace_back(view(words[i]));
  return all;
}

/// The job as it crosses the boundary; borrows it.
class LaunchTable {
 public:
  explicit LaunchTable(const LaunchJob& job) {
    for (const LaunchHost& host : job.hosts) hosts_.push_back({abi(host.name), abi(host.address), host.ranks, 0});
    table_ = {sizeof table_,        hosts_.data(), hosts_.size(), job.ranks, job.host_index.value_or(-1),
              abi(job.secret_file), abi(job.word)};
  }
  LaunchTable(const LaunchTable&) = delete;
  const baleen_launch_job_t* get() const { return &table_; }

 private:
  std::vector<baleen_launch_host_t> hosts_;
  baleen_launch_job_t table_{};
};

Result<const baleen_launcher_t*> table_of(const Plugin& plugin) { return plugin.table<baleen_launcher_t>("launcher"); }

std::string range_text(const std::string& what, int value, int count) {
  return what + " " + std::to_string(value) + " of " + std::to_string(count);
}

}  // namespace

Result<bool> LauncherMember::fits(const Plugin& plugin, const LaunchJob& job) {
  BALEEN_TRY_ASSIGN(const auto* table, table_of(plugin));
  const LaunchTable launch(job);
  BALEEN_TRY_ASSIGN(const std::int32_t fits,
                    plugin.checked_value([&] { return table->fits(plugin.host(), launch.get()); }));
  return fits != 0;
}

Status LauncherMember::make_secret(const Plugin& plugin, const std::string& file) {
  BALEEN_TRY_ASSIGN(const auto* table, table_of(plugin));
  if (table->make_secret) return plugin.check(table->make_secret(plugin.host(), abi(file)));
  return unsupported(title_of(plugin.descriptor()) + " starts no hosts that share a secret");
}

Result<std::unique_ptr<LauncherMember>> LauncherMember::create(const Plugin& plugin, const baleen_settings_t& settings,
                                                               const LaunchJob& job) {
  auto made = std::unique_ptr<LauncherMember>(new LauncherMember(plugin));
  BALEEN_TRY_ASSIGN(made->table_, table_of(plugin));
  const LaunchTable launch(job);
  BALEEN_TRY(plugin.check(made->table_->create(plugin.host(), &settings, launch.get(), &made->self_)));
  BALEEN_TRY(made->read_place());
  return made;
}

LauncherMember::~LauncherMember() {
  if (self_) table_->destroy(self_);
}

std::string LauncherMember::title() const { return title_of(plugin_.descriptor()); }

Error LauncherMember::nonsense(const std::string& what) const {
  return internal(title() + " says that this process is " + what);
}

Status LauncherMember::read_place() {
  baleen_place_t told{};
  told.size = sizeof told;
  BALEEN_TRY(plugin_.check(table_->place(self_, &told)));
  const baleen_place_t from = copy_in(&told);
  if (from.ranks == 0) return {};
  Place place{from.rank, from.ranks, from.local_rank, from.local_ranks, {}, from.threads, from.host_index, {}, {}};
  if (place.ranks < 0 || place.rank < 0 || place.rank >= place.ranks)
    return nonsense(range_text("rank", place.rank, place.ranks) + "; ranks are numbered from 0");
  if (place.local_rank < 0 || place.local_rank >= place.local_ranks || place.local_ranks > place.ranks)
    return nonsense(range_text("rank", place.local_rank, place.local_ranks) + " of its host");
  if (from.host_of_rank) place.host_of_rank.assign(from.host_of_rank, from.host_of_rank + place.ranks);
  if (from.address) place.address = from.address;
  const std::vector<int>& hosts = place.host_of_rank;
  if (!std::ranges::is_sorted(hosts))
    return invalid(title() +
                   " says that hosts take turns in the numbers of ranks; let the ranks of a host follow each other");
  const int own = hosts.empty() ? 0 : hosts[static_cast<std::size_t>(place.rank)];
  if (!hosts.empty() && (hosts.front() < 0 || own != place.host_index))
    return nonsense("on host " + std::to_string(place.host_index) + " and its rank on host " + std::to_string(own));
  if (from.hosts) hosts_ = copied(from.hosts, static_cast<std::uint64_t>(std::max(0, from.host_count)));
  if (!hosts.empty() && !hosts_.empty() && hosts.back() >= static_cast<int>(hosts_.size()))
    return nonsense("in a job with a rank on host " + std::to_string(hosts.back()) + " of " +
                    std::to_string(hosts_.size()));
  place.host = hosts_.empty() ? LaunchHost().name : hosts_[static_cast<std::size_t>(own)];
  place_ = std::move(place);
  return {};
}

Result<Outcome> LauncherMember::start(const LaunchOrder& order) {
  if (!table_->start)
    return invalid(title() + " starts no ranks: it serves processes that something else has started, and this is none");
  const auto words = borrowed(order.command), host_words = borrowed(order.host_command);
  std::vector<baleen_cpus_t> cpus;
  for (const std::vector<int>& set : order.cpus) cpus.push_back({set.data(), set.size()});
  const baleen_launch_start_t what = {sizeof what,
                                      words.data(),
                                      words.size(),
                                      abi(order.mark),
                                      host_words.data(),
                                      host_words.size(),
                                      abi(order.facts),
                                      cpus.data(),
                                      cpus.size(),
                                      order.threads,
                                      0,
                                      abi(order.obstacle)};
  baleen_outcome_t told{};
  told.size = sizeof told;
  BALEEN_TRY(plugin_.check(table_->start(self_, &what, &told)));
  const baleen_outcome_t from = copy_in(&told);
  Outcome outcome{{}, copied(from.recorded, from.recorded_count), from.exit_code, from.signal, from.told != 0};
  if (from.status != BALEEN_OK)
    outcome.status = Error{from.status, std::string(view(from.message)), std::string(view(from.where))};
  return outcome;
}

Status LauncherMember::put(const std::string& key, const std::string& value) {
  return plugin_.check(table_->put(self_, abi(key), abi(value)));
}

Result<std::string> LauncherMember::get(const std::string& key) {
  std::optional<std::string> value;
  const auto take = [](void* into, baleen_string_t text) {
    static_cast<std::optional<std::string>*>(into)->emplace(view(text));
  };
  BALEEN_TRY(plugin_.check(table_->get(self_, abi(key), take, &value)));
  if (!value) return internal(title() + " gave no value of `" + key + "` and no error");
  return *std::move(value);
}

Status LauncherMember::fence(const std::string& name) { return plugin_.check(table_->fence(self_, abi(name))); }

void LauncherMember::beat(const baleen_progress_t& progress) {
  if (table_->beat) table_->beat(self_, &progress);
}

bool LauncherMember::fail(const Error& error, const std::vector<std::string>& recorded) {
  const auto lines = borrowed(recorded);
  const baleen_rank_failure_t failure = {sizeof failure,   error.code,   0,           abi(error.message),
                                         abi(error.where), lines.data(), lines.size()};
  return table_->fail(self_, &failure) != 0;
}

Status LauncherMember::finish() { return plugin_.check(table_->finish(self_)); }

Status LauncherMember::watch(std::function<void(const std::string& reason)> lost) {
  if (!table_->watch) return {};
  lost_ = std::move(lost);
  const auto call = [](void* self, baleen_string_t reason) {
    static_cast<const LauncherMember*>(self)->lost_(std::string(view(reason)));
  };
  return plugin_.check(table_->watch(self_, call, this));
}

}  // namespace baleen
