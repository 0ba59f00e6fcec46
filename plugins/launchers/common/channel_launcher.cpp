/// \file The rank's side as calls of its channel; the starting side's structs from and to the ABI's.
#include "common/channel_launcher.hpp"

#include <utility>

namespace baleen::launchers {

std::vector<std::string> words_of(const baleen_string_t* words, std::uint64_t count) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < count; ++i) all.emplace_back(view(words[i]));
  return all;
}

Status ChannelLauncher::open(const Host& host, const LaunchView& launch) {
  host_ = host;
  for (std::uint64_t i = 0; i < launch.host_count(); ++i) {
    const baleen_launch_host_t& one = launch.host(i);
    const std::string address(view(one.address));
    hosts_.push_back({std::string(view(one.name)), one.ranks, address, !address.empty()});
  }
  if (hosts_.empty()) hosts_.push_back({LaunchHost().name, launch.ranks()});
  if (launch.word().empty()) return {};
  BALEEN_TRY_ASSIGN(channel_, RankChannel::inherited(launch.word()));
  return {};
}

LaunchPlace ChannelLauncher::place() {
  if (!channel_) return {};
  const Place& place = channel_->place();
  LaunchPlace told{place.rank,
                   place.ranks,
                   place.local_rank,
                   place.local_ranks,
                   place.host_index,
                   place.threads,
                   {place.host_of_rank.begin(), place.host_of_rank.end()},
                   {},
                   place.address};
  for (const LaunchHost& host : hosts_) told.hosts.push_back(host.name);
  return told;
}

Result<RankChannel*> ChannelLauncher::channel() const {
  if (channel_) return channel_.get();
  return internal("this process is no rank");
}

Status ChannelLauncher::put(std::string_view key, std::string_view value) {
  BALEEN_TRY_ASSIGN(RankChannel* const channel, this->channel());
  return channel->put(std::string(key), std::string(value));
}

Result<std::string> ChannelLauncher::get(std::string_view key) {
  BALEEN_TRY_ASSIGN(RankChannel* const channel, this->channel());
  return channel->get(std::string(key));
}

Status ChannelLauncher::fence(std::string_view name) {
  BALEEN_TRY_ASSIGN(RankChannel* const channel, this->channel());
  return channel->barrier(std::string(name));
}

bool ChannelLauncher::fail(const Error& error, const std::vector<std::string>& recorded) {
  if (channel_) channel_->fail(error, recorded);
  return channel_ != nullptr;
}

Status ChannelLauncher::finish() {
  BALEEN_TRY_ASSIGN(RankChannel* const channel, this->channel());
  channel->finish();
  return {};
}

void ChannelLauncher::beat(const baleen_progress_t& progress) {
  if (!channel_) return;
  channel_->at(progress.step, progress.phase);
  channel_->begins(progress.collective);
  channel_->runs(progress.runs, progress.order, progress.program);
  channel_->stands_in(progress.stands_in);
}

void ChannelLauncher::watch(std::function<void(const std::string& reason)> lost) {
  if (channel_) channel_->watch(std::move(lost));
}

void ChannelLauncher::fill(LaunchOptions& options, const baleen_launch_start_t& what) const {
  options.command = words_of(what.words, what.word_count);
  options.mark = view(what.mark);
  options.hosts = hosts_;
  options.threads = what.threads;
  options.obstacle = view(what.obstacle);
  for (std::uint64_t i = 0; i < what.cpus_count; ++i)
    options.cpus.emplace_back(what.cpus[i].numbers, what.cpus[i].numbers + what.cpus[i].count);
  options.log = Log([host = host_](baleen_level_t level, std::string_view line) { host.log(level, line); });
}

void ChannelLauncher::tell(Outcome outcome, baleen_outcome_t& out) {
  outcome_ = std::move(outcome);
  recorded_.clear();
  for (const std::string& line : outcome_.recorded) recorded_.push_back(abi(line));
  out = {sizeof out, BALEEN_OK, outcome_.exit_code, outcome_.signal, outcome_.is_told ? 1 : 0,
         {},         {},        recorded_.data(),   recorded_.size()};
  if (outcome_.status) return;
  const Error& error = outcome_.status.error();
  out.status = error.code;
  out.message = abi(error.message);
  out.where = abi(error.where);
}

}  // namespace baleen::launchers
