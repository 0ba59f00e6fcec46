/// \file Counting and comparing.
#include "attendance.hpp"

#include <algorithm>

#include "baleen/proposal_codec.hpp"

namespace baleen::nccl {

using namespace sdk;

namespace {

Error senseless(const std::string& what, std::int32_t from) {
  return internal("nccl: " + what + " of rank " + std::to_string(from) +
                  " makes no sense; do all ranks run the same version?");
}

}  // namespace

void Attendance::open(const std::string& key, const std::vector<std::int32_t>& ranks) {
  const std::lock_guard lock(mutex_);
  boards_[key].ranks = ranks;
}

void Attendance::close(const std::string& key) {
  const std::lock_guard lock(mutex_);
  boards_[key].entrants.fill({});
}

Status Attendance::compare(const Board& board, const Announcement& announcement) const {
  if (board.started <= announcement.before || board.started - announcement.before > board.entrants.size()) return {};
  const Entrant& mine = board.entrants[announcement.before % board.entrants.size()];
  if (!mine.text || mine.is_barrier) return {};
  return another_start(rank_, *mine.text, announcement.rank, announcement.text);
}

Status Attendance::in_vain(const Board& board, const std::string& key, std::int32_t leaver) const {
  const Leaver& gone = leavers_.at(leaver);
  if (std::find(board.ranks.begin(), board.ranks.end(), leaver) == board.ranks.end()) return {};
  const auto found = gone.started.find(key);
  const std::uint64_t came = found == gone.started.end() || !gone.clean ? 0 : found->second;
  if (board.started <= came) return {};
  const bool is_known = board.started - came <= board.entrants.size();  // a replay starts many at once
  const Entrant mine = is_known ? board.entrants[came % board.entrants.size()] : Entrant{};
  std::string text = "rank " + std::to_string(leaver) + " has left";
  if (!gone.why.empty()) text += " (" + gone.why + ")";
  if (mine.text && gone.clean) text += ", and " + *mine.text + " waits for it";
  return Error{BALEEN_PEER_LOST, text, {}};
}

Status Attendance::start(const std::string& key, Entrant entrant) {
  const std::lock_guard lock(mutex_);
  Board& board = boards_.at(key);
  board.entrants[board.started % board.entrants.size()] = entrant;
  const std::uint64_t before = board.started++;
  if (entrant.is_barrier) board.barriers.push_back(before);
  Status well;
  std::erase_if(board.announcements, [&](const Announcement& announcement) {
    if (announcement.before >= board.started) return false;
    if (Status alike = compare(board, announcement); !alike && well) well = std::move(alike);
    return true;
  });
  BALEEN_TRY(std::move(well));
  for (const auto& [rank, leaver] : leavers_) BALEEN_TRY(in_vain(board, key, rank));
  return {};
}

std::uint64_t Attendance::started(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return boards_.at(key).started;
}

std::string Attendance::announce(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Board& board = boards_.at(key);
  const std::uint64_t before = board.barriers.front();
  board.barriers.pop_front();
  ++board.announced;
  const Entrant& entrant = board.entrants[before % board.entrants.size()];
  ++board.arrivals[board.announced];
  changed_.notify_all();
  ProposalWriter writer;
  writer.text(key);
  writer.number(board.announced);
  writer.number(before);
  writer.text(entrant.text ? *entrant.text : "barrier");
  return std::move(writer.bytes);
}

bool Attendance::await(const std::string& key, std::uint64_t barrier, std::size_t members) {
  std::unique_lock lock(mutex_);
  Board& board = boards_.at(key);
  changed_.wait(lock, [&] { return awake_ || ended_ || board.arrivals[barrier] == members; });
  if (board.arrivals[barrier] != members) return false;
  board.arrivals.erase(barrier);
  return true;
}

void Attendance::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_all();
}

void Attendance::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

std::string Attendance::farewell(bool clean, const std::string& why) const {
  const std::lock_guard lock(mutex_);
  ProposalWriter writer;
  writer.number(clean);
  writer.text(why);
  writer.list(boards_, [&](const auto& item) {
    writer.text(item.first);
    writer.number(item.second.started);
  });
  return std::move(writer.bytes);
}

bool Attendance::has_left(std::int32_t rank) const {
  const std::lock_guard lock(mutex_);
  return leavers_.count(rank) > 0;
}

Status Attendance::heard_barrier(std::int32_t from, const std::string& announcement) {
  ProposalReader reader{announcement};
  std::string key, text;
  std::uint64_t barrier = 0, before = 0;
  reader.text(key);
  reader.number(barrier);
  reader.number(before);
  reader.text(text);
  if (!reader.complete()) return senseless("a barrier", from);
  const std::lock_guard lock(mutex_);
  Board& board = boards_[key];  // maybe before this rank knows of the group
  ++board.arrivals[barrier];
  changed_.notify_all();
  Announcement one{from, before, text};
  if (board.started > before) return compare(board, one);
  board.announcements.push_back(std::move(one));
  return {};
}

Status Attendance::heard_farewell(std::int32_t from, const std::string& farewell) {
  ProposalReader reader{farewell};
  Leaver leaver;
  std::uint64_t count = 0;
  reader.number(leaver.clean);
  reader.text(leaver.why);
  reader.number(count);
  for (std::uint64_t i = 0; i < count && reader.whole; ++i) {
    std::string key;
    std::uint64_t started = 0;
    reader.text(key);
    reader.number(started);
    leaver.started.emplace(std::move(key), started);
  }
  if (!reader.complete()) return senseless("a farewell", from);
  const std::lock_guard lock(mutex_);
  leavers_[from] = std::move(leaver);
  for (const auto& [key, board] : boards_) BALEEN_TRY(in_vain(board, key, from));
  return {};
}

}  // namespace baleen::nccl
