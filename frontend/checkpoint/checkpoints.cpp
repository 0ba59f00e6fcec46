/// \file When to save, the copy in memory, and the thread that writes it.
#include "frontend/checkpoint/checkpoints.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>
#include <random>

#include "baleen/dtype.hpp"
#include "frontend/checkpoint/digests.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

constexpr char kFailed = '!';

/// What ranks tell each other: that it went well, with something to tell, or why not.
std::string told(const Status& status, const std::string& text = {}) {
  return status ? "." + text : kFailed + status.error().text();
}
Result<std::string> heard(const std::string& said) {
  if (said.starts_with(kFailed)) return Error{BALEEN_IO, said.substr(1), {}};
  return said.empty() ? said : said.substr(1);
}

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

std::string random_name() {
  std::random_device device;
  return digest_text(std::uint64_t{device()} << 32 | device()).substr(0, 12);
}

}  // namespace

Checkpoints::Checkpoints(CheckpointSettings settings, Parts parts, ShardFormat format)
    : settings_(std::move(settings)),
      parts_(std::move(parts)),
      format_(std::move(format)),
      root_(fs::absolute(settings_.folder).lexically_normal()),
      last_save_(std::chrono::steady_clock::now()) {
  if (parts_.signals) stop_.emplace(settings_.grace_seconds);
}

Checkpoints::~Checkpoints() {
  if (writing_.valid()) writing_.wait();
}

Result<std::unique_ptr<Checkpoints>> Checkpoints::create(CheckpointSettings settings, Parts parts) {
  BALEEN_TRY_ASSIGN(ShardFormat format, ShardFormat::find(parts.plugins, settings.plugin, settings.where));
  auto made = std::unique_ptr<Checkpoints>(new Checkpoints(std::move(settings), std::move(parts), std::move(format)));
  Checkpoints& own = *made;
  own.first_ = own.parts_.session.updates();
  own.points_.emplace(own.parts_.link, own.key("point"), own.first_);
  own.within_.emplace(own.parts_.link, own.key("within"), own.first_);
  const PersistentLayout& persistent = own.parts_.session.persistent();
  const auto owned = owned_parts(persistent, own.parts_.mesh, own.parts_.at);
  own.groups_ = grouped(owned, persistent, own.snapshot_budget());
  own.digests_.resize(persistent.buffers.size());
  BALEEN_TRY(own.meet());
  return made;
}

/// Ranks agree on a name, on how many groups all of them write, and see one folder.
Status Checkpoints::meet() {
  Status ready = leads() ? root_.begin_writing(format_) : Status();
  job_ = random_name();
  std::size_t groups = groups_.size();
  if (parts_.link) {
    RankLink& link = *parts_.link;
    BALEEN_TRY(link.put(key("groups/" + std::to_string(rank())), std::to_string(groups)));
    if (leads()) {
      for (std::int64_t r = 0; r < ranks(); ++r) {
        BALEEN_TRY_ASSIGN(const std::string other, link.get(key("groups/" + std::to_string(r))));
        groups = std::max<std::size_t>(groups, std::stoul(other));
      }
      BALEEN_TRY(link.put(key("job"), told(ready, job_ + " " + std::to_string(groups))));
      BALEEN_TRY(ready);
    }
    BALEEN_TRY_ASSIGN(std::string said, link.get(key("job")));
    BALEEN_TRY_ASSIGN(const std::string agreed, heard(said));
    job_ = agreed.substr(0, agreed.find(' '));
    groups = std::stoul(agreed.substr(agreed.find(' ')));
  }
  BALEEN_TRY(ready);
  if (leads()) begin_line();
  groups_.resize(groups);
  BALEEN_TRY(take_memory());
  return parts_.link ? check_shared_folder() : Status();
}

/// What other runs have saved in the folder stays, and counts neither among what is kept nor as the best. A run that
/// goes on from another folder's checkpoint is such a run too.
void Checkpoints::begin_line() {
  std::error_code failure;
  const bool is_own =
      !parts_.resumed_from.empty() && fs::equivalent(parts_.resumed_from.parent_path(), root_.folder(), failure);
  const std::size_t others = root_.begin_line(is_own ? std::optional(parts_.session.progress()) : std::nullopt);
  if (others > 0 && !is_own)
    parts_.log.warning(root_.folder().string() + ": holds checkpoints of another run (" + std::to_string(others) +
                       "), which stay; one whose step this run saves too is kept as `step-….earlier-1`. Go on with "
                       "--resume, or name another folder");
}

Status Checkpoints::take_memory() {
  const std::uint64_t bytes = snapshot_bytes();
  try {
    memory_.resize(bytes);
  } catch (const std::bad_alloc&) {
    return Error{BALEEN_NO_MEMORY,
                 "checkpoints need " + std::to_string(bytes) +
                     " bytes of this host's memory for a rank's copy of its tensors; set `memory_mb`, to write them in "
                     "parts",
                 settings_.where};
  }
  return {};
}

/// Rank 0 commits what all have written, so all hosts must see one folder.
Status Checkpoints::check_shared_folder() {
  RankLink& link = *parts_.link;
  const fs::path token = root_.token(job_);
  if (leads()) BALEEN_TRY(replace_file(token, job_ + "\n"));
  BALEEN_TRY(link.barrier(key("token")));
  std::error_code failure;
  const bool seen = fs::exists(token, failure);
  BALEEN_TRY(link.put(key("seen/" + std::to_string(rank())), seen ? "1" : "0"));
  Status status;
  for (std::int64_t r = 0; leads() && r < ranks(); ++r) {
    BALEEN_TRY_ASSIGN(const std::string other, link.get(key("seen/" + std::to_string(r))));
    if (other == "0" && status)
      status = invalid("rank " + std::to_string(r) +
                           " does not see the folder of checkpoints that rank 0 has made; all "
                           "hosts need one file system for it: set `folder` to a place that they share",
                       settings_.where.empty() ? root_.folder().string() : settings_.where);
  }
  if (leads()) {
    fs::remove(token, failure);
    BALEEN_TRY(link.put(key("shared"), told(status)));
    return status;
  }
  BALEEN_TRY_ASSIGN(std::string said, link.get(key("shared")));
  BALEEN_TRY(heard(said));
  return {};
}

/// Of the memory that a save may take, the copy's part: threads, headers and their texts need some. 0: no bound.
std::uint64_t Checkpoints::snapshot_budget() const {
  constexpr std::uint64_t kRest = 4 << 20;
  return settings_.memory_bytes - std::min(kRest, settings_.memory_bytes / 2);
}

std::uint64_t Checkpoints::snapshot_bytes() const {
  std::uint64_t most = 0;
  for (const auto& group : groups_) {
    std::uint64_t bytes = 0;
    for (const OwnedPart& part : group) {
      const auto element = dtype_size(parts_.session.persistent().buffers[part.buffer].spec.type.dtype);
      bytes += aligned(static_cast<std::uint64_t>(part.count()) * element);
    }
    most = std::max(most, bytes);
  }
  return most;
}

AgreedPoints::Wish Checkpoints::wish(bool is_whole) {
  const bool asked = stop_ && StopRequest::signal() != 0;
  if (asked && !asked_) asked_ = std::chrono::steady_clock::now();
  if (!is_whole) return {asked && seconds_since(*asked_) >= settings_.grace_seconds / 4, false};
  return {asked, asked || (settings_.minutes > 0 && seconds_since(last_save_) >= 60 * settings_.minutes)};
}

Status Checkpoints::boundary(bool is_whole) {
  const std::int64_t updates = parts_.session.updates(), step = parts_.session.progress();
  if (updates == first_) return {};
  AgreedPoints& points = is_whole ? *points_ : *within_;
  BALEEN_TRY_ASSIGN(const AgreedPoints::Wish decision, points.at(updates, [&] { return wish(is_whole); }));
  const bool due = is_whole && settings_.every > 0 && step % settings_.every == 0;
  if (due || decision.saves) BALEEN_TRY(save(step));
  if (!decision.stops) return {};
  BALEEN_TRY(finish());
  const std::string what =
      is_whole
          ? ", which is saved; go on with --resume"
          : " and in the midst of what the script does behind it, which is saved as it stands; --resume goes on with "
            "the step after it";
  return Error{BALEEN_INTERRUPTED, "ended by a signal after step " + std::to_string(step) + what,
               (root_.folder() / CheckpointRoot::name_of(step)).string()};
}

Status Checkpoints::save_now() { return save(parts_.session.progress()); }

Status Checkpoints::evaluated(double held_out_loss) {
  const std::int64_t step = parts_.session.progress();
  loss_ = {parts_.session.updates(), held_out_loss};
  if (!settings_.best || !std::isfinite(held_out_loss)) return {};
  bool better = leads() && is_lowest(held_out_loss);
  if (parts_.link) {
    const std::string point = key("best/" + std::to_string(++evaluations_));
    if (leads()) BALEEN_TRY(parts_.link->put(point, better ? "1" : "0"));
    BALEEN_TRY_ASSIGN(const std::string said, parts_.link->get(point));
    better = said == "1";
  }
  if (!better) return {};
  BALEEN_TRY(save_now());
  if (leads()) name_best({CheckpointRoot::name_of(step), held_out_loss});
  return {};
}

/// On rank 0. The loss of one that is still being written counts already.
bool Checkpoints::is_lowest(double loss) const {
  if (lowest_) return loss < *lowest_;
  const auto best = root_.own_best();
  return !best || loss < best->loss;
}

/// Names the step's checkpoint once it is there, behind what writes it; until then the earlier one stays.
void Checkpoints::name_best(const BestCheckpoint& best) {
  if (!writing_.valid() && !last_) return;  // its save has failed, which is told
  lowest_ = best.loss;
  const auto name = [this, best]() -> Status {
    BALEEN_TRY(root_.set_best(best, format_));
    return root_.prune(settings_.keep, format_);
  };
  writing_ = std::async(std::launch::async, [this, name, last = last_, written = std::move(writing_)]() mutable {
    Status saved = written.valid() ? written.get() : last;
    if (!saved) return saved;
    if (const Status named = name(); !named)
      parts_.log.warning("the best checkpoint could not be named so (" + named.error().text() + ")");
    return saved;
  });
}

Status Checkpoints::save_last() { return parts_.session.updates() == first_ ? Status() : save_now(); }

Status Checkpoints::finish() {
  BALEEN_TRY(save_last());
  BALEEN_TRY(wait_for_disk());
  if (last_) return {};
  return Error{last_.error().code, "the last checkpoint was not saved: " + last_.error().message, last_.error().where};
}

/// A failed save is told and does not end the run: what was saved before stays.
Status Checkpoints::wait_for_disk() {
  if (!writing_.valid()) return {};
  last_ = writing_.get();
  if (last_) return {};
  lowest_.reset();
  return last_.error().code == BALEEN_PEER_LOST ? last_ : Status();
}

Status Checkpoints::save(std::int64_t step) {
  if (parts_.session.updates() == saved_) return {};
  if (parts_.intact) BALEEN_TRY(parts_.intact());
  BALEEN_TRY(wait_for_disk());
  Save save{++saves_, step, {}, {}, {}, std::chrono::steady_clock::now(), 0};
  save.attempt = job_ + "." + std::to_string(save.number);
  save.folder = root_.partial(step, save.attempt).string();
  saved_ = parts_.session.updates();
  std::ranges::fill(digests_, 0);
  Status written;
  // All groups but the last must be on the disk before the step goes on, since one at a time has memory.
  for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
    snapshot(groups_[g]);
    if (written) written = write_group(g, save);
  }
  snapshot(groups_.back());
  last_save_ = std::chrono::steady_clock::now();
  save.waited = seconds_since(save.begun);
  if (leads()) save.facts = facts_now(step);
  writing_ = std::async(std::launch::async, [this, save, written]() -> Status {
    return write_rest(save, written ? write_group(groups_.size() - 1, save) : written);
  });
  return {};
}

/// In the thread that writes, when this rank's groups are on the disk, or have failed.
Status Checkpoints::write_rest(const Save& save, Status written) {
  Status all = conclude_save(save.number, std::move(written));
  if (all && leads()) all = commit(save);
  // All ranks have told how their writing ended, so nobody writes there any more.
  if (!all && leads()) static_cast<void>(format_.remove(save.folder));
  if (leads()) tell(save, all);
  if (!parts_.link) return all;
  const std::string verdict = key("saved/" + std::to_string(save.number));
  if (leads()) {
    BALEEN_TRY(parts_.link->put(verdict, told(all)));
    return all;
  }
  BALEEN_TRY_ASSIGN(std::string said, parts_.link->get(verdict));
  BALEEN_TRY(heard(said));
  return all;
}

/// At once: the next save, or the end, may be hours away.
void Checkpoints::tell(const Save& save, const Status& saved) const {
  if (!saved) {
    if (saved.error().code == BALEEN_PEER_LOST) return;
    return parts_.log.warning("the checkpoint of step " + std::to_string(save.step) + " was not saved (" +
                              saved.error().text() + "); the one before it stays");
  }
  double bytes = 0;
  for (const PersistentBuffer& buffer : parts_.session.persistent().buffers)
    bytes += static_cast<double>(element_count(buffer.spec.type.shape)) *
             static_cast<double>(dtype_size(buffer.spec.type.dtype));
  char text[160];
  std::snprintf(text, sizeof text,
                "the checkpoint of step %lld: %.0f bytes saved in %.4f s, of which the run waited %.4f s",
                static_cast<long long>(save.step), bytes, seconds_since(save.begun), save.waited);
  parts_.log.debug(text);
}

void Checkpoints::snapshot(const std::vector<OwnedPart>& group) {
  std::size_t at = 0;
  snapshot_ = {};
  for (const OwnedPart& part : group) {
    const PersistentBuffer& buffer = parts_.session.persistent().buffers[part.buffer];
    const std::size_t element = dtype_size(buffer.spec.type.dtype);
    const auto bytes = static_cast<std::size_t>(part.count()) * element;
    if (snapshot_)
      snapshot_ = parts_.session.read_own(buffer, static_cast<std::uint64_t>(part.elements.begin) * element,
                                          std::span(memory_).subspan(at, bytes));
    at += aligned(bytes);
  }
}

Status Checkpoints::write_group(std::size_t number, const Save& save) {
  BALEEN_TRY(snapshot_);
  std::vector<ShardOf> shards;
  std::size_t at = 0;
  for (const OwnedPart& part : groups_[number]) {
    const PersistentSpec& spec = parts_.session.persistent().buffers[part.buffer].spec;
    ShardOf& shard = shards.emplace_back(spec, part, memory_.data() + at);
    at += aligned(shard.get().bytes);
  }
  std::vector<baleen_shard_t> table;
  for (const ShardOf& shard : shards) table.push_back(shard.get());
  // While the disk has its share to do.
  auto digested = std::async(std::launch::async, [&] { add_digests_of(groups_[number], table); });
  const auto groups = static_cast<std::int64_t>(groups_.size());
  Status written = format_.write(save.folder, save.attempt,
                                 static_cast<std::int32_t>(rank() * groups + static_cast<std::int64_t>(number)),
                                 static_cast<std::int32_t>(ranks() * groups), table);
  digested.get();
  return written;
}

/// Of a group that is in memory.
void Checkpoints::add_digests_of(const std::vector<OwnedPart>& group, const std::vector<baleen_shard_t>& shards) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    const OwnedPart& part = group[i];
    digests_[part.buffer] += digest_of(parts_.session.persistent().buffers[part.buffer].spec, part,
                                       std::span(static_cast<const std::byte*>(shards[i].data), shards[i].bytes));
  }
}

/// Brings to rank 0 what the others have written, or why they have not.
Status Checkpoints::conclude_save(std::int64_t number, Status written) {
  if (!parts_.link) return written;
  RankLink& link = *parts_.link;
  const std::string prefix = key("written/" + std::to_string(number) + "/");
  if (!leads()) {
    BALEEN_TRY(link.put(prefix + std::to_string(rank()), told(written, digests_text(digests_))));
    return written;
  }
  if (!written && written.error().code != BALEEN_PEER_LOST)
    written = Error{written.error().code, "rank 0: " + written.error().text(), {}};
  for (std::int64_t r = 1; r < ranks(); ++r) {
    BALEEN_TRY_ASSIGN(std::string said, link.get(prefix + std::to_string(r)));
    if (const auto digests = heard(said))
      add_digests(*digests, digests_);
    else if (written)
      written = Error{BALEEN_IO, "rank " + std::to_string(r) + ": " + digests.error().message, {}};
  }
  return written;
}

Status Checkpoints::commit(const Save& save) {
  CheckpointFacts facts = save.facts;
  nlohmann::json digests = nlohmann::json::object();
  const PersistentLayout& persistent = parts_.session.persistent();
  for (std::size_t i = 0; i < digests_.size(); ++i) digests[persistent.buffers[i].spec.name] = digest_text(digests_[i]);
  facts["digests"] = digests.dump();
  nlohmann::json parameters = nlohmann::json::array();
  for (const PersistentBuffer& buffer : persistent.buffers)
    if (buffer.spec.role == Role::parameter) parameters.push_back(buffer.spec.name);
  facts["parameters"] = parameters.dump();
  const auto writers = static_cast<std::int32_t>(ranks() * static_cast<std::int64_t>(groups_.size()));
  BALEEN_TRY(format_.commit(save.folder, save.attempt, writers, facts));
  BALEEN_TRY(root_.publish(save.folder, save.step, format_));
  return root_.prune(settings_.keep, format_);
}

CheckpointFacts Checkpoints::facts_now(std::int64_t step) const {
  CheckpointFacts facts = parts_.facts;
  const Session& session = parts_.session;
  facts["progress"] = std::to_string(step);
  facts["step"] = std::to_string(session.steps_done());
  facts["data_position"] = std::to_string(session.position());
  facts["ranks"] = std::to_string(ranks());
  nlohmann::json runs = nlohmann::json::object();
  for (const auto& [name, count] : session.runs()) runs[name] = count;
  facts["program_runs"] = runs.dump();
  if (loss_ && loss_->first == session.updates()) facts["held_out_loss"] = number_text(loss_->second);
  return facts;
}

}  // namespace baleen
