/// \file Names, locks and renames. Everything that decides what is a checkpoint is one rename.
#include "frontend/checkpoint/checkpoint_root.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "baleen/file_handle.hpp"
#include "baleen/process_mark.hpp"
#include "core/input/file_text.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-", kPartial = ".partial-", kToken = ".seen-", kAside = ".best",
                           kEarlier = ".earlier-";
constexpr std::size_t kDigits = 9;
constexpr const char *kLatest = "latest", *kBest = "best", *kLock = ".lock";

Error system_error(const std::string& what, const fs::path& path) {
  return {BALEEN_IO, what + ": " + std::strerror(errno), path.string()};
}

Status sync_folder(const fs::path& folder) {
  const FileHandle opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return system_error("cannot sync the folder", folder);
  return {};
}

/// The step in "step-000000200"; nothing for any other name.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kStep) || name.size() < kStep.size() + kDigits) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [last, code] = std::from_chars(name.data() + kStep.size(), end, step);
  if (code != std::errc() || last != end || CheckpointRoot::name_of(step) != name) return std::nullopt;
  return step;
}

/// Of the best one of a step, once another of that step has its place.
std::string aside_of(const std::string& name) { return name + std::string(kAside); }

bool is_aside(const std::string& name) {
  return name.ends_with(kAside) && step_of(name.substr(0, name.size() - kAside.size()));
}

/// Of one of an earlier run, once this run has saved that step.
std::string earlier_of(const std::string& name, std::size_t number) {
  return name + std::string(kEarlier) + std::to_string(number);
}

/// Whether CheckpointRoot::partial gives such names.
bool is_partial(const std::string& name) {
  const std::size_t begin = kPartial.size(), end = name.rfind('-');
  return name.starts_with(kPartial) && end != std::string::npos && end > begin && end + 1 < name.size() &&
         step_of(name.substr(begin, end - begin));
}

}  // namespace

Status replace_file(const fs::path& path, const std::string& text) {
  sdk::remove_left_partials(path);
  const fs::path beside = sdk::partial_of(path);
  {
    const FileHandle file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file) return system_error("cannot create", beside);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        Error error = system_error("cannot write " + std::to_string(text.size() - done) + " bytes", beside);
        ::unlink(beside.c_str());
        return error;
      }
      done += static_cast<std::size_t>(written);
    }
    if (::fsync(file.get()) != 0)
      return system_error("cannot sync its " + std::to_string(text.size()) + " bytes", beside);
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) return system_error("cannot replace", path);
  return sync_folder(path.parent_path());
}

CheckpointRoot::~CheckpointRoot() {
  if (lock_ >= 0) ::close(lock_);
}

std::string CheckpointRoot::name_of(std::int64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(kStep) + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

fs::path CheckpointRoot::token(const std::string& job) const { return folder_ / (std::string(kToken) + job); }

fs::path CheckpointRoot::partial(std::int64_t step, const std::string& attempt) const {
  return folder_ / (std::string(kPartial) + name_of(step) + "-" + attempt);
}

Status CheckpointRoot::begin_writing(const ShardFormat& format) {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (!fs::is_directory(folder_, failure))
    return Error{BALEEN_IO,
                 "checkpoints cannot be saved there: " + (failure ? failure.message() : std::string("it is no folder")),
                 folder_.string()};
  for (const char* const name : {kLatest, kBest})
    if (const fs::path file = folder_ / name; fs::exists(file, failure)) BALEEN_TRY(file_text(file));
  const fs::path lock = folder_ / kLock;
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) return system_error("checkpoints cannot be saved there", folder_);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_error("cannot lock", lock);
    const Result<std::string> process = file_text(lock);
    return invalid("another job saves its checkpoints there (process " + (process ? *process : "unknown") +
                       "); name another folder, or end that job",
                   folder_.string());
  }
  const std::string own = std::to_string(::getpid());
  if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, own.data(), own.size(), 0) < 0)
    return system_error("cannot write", lock);
  // Nobody else writes here now, so what is unfinished is of a process that has ended.
  std::vector<fs::path> left, tokens;
  for (const auto& entry : fs::directory_iterator(folder_, failure)) {
    const std::string name = entry.path().filename().string();
    if (is_partial(name)) left.push_back(entry.path());
    if (name.starts_with(kToken)) tokens.push_back(entry.path());
  }
  for (const fs::path& path : left) BALEEN_TRY(format.remove(path.string()));
  for (const fs::path& path : tokens) fs::remove(path, failure);
  for (const char* const name : {kLatest, kBest}) sdk::remove_left_partials(folder_ / name);
  return {};
}

std::size_t CheckpointRoot::begin_line(std::optional<std::int64_t> resumed_at) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder_, failure)) {
    const std::string name = entry.path().filename().string();
    const auto step = step_of(is_aside(name) ? name.substr(0, name.size() - kAside.size()) : name);
    if (step && (!resumed_at || *step > *resumed_at)) others_.insert(name);
  }
  return others_.size();
}

std::vector<FoundCheckpoint> CheckpointRoot::list() const {
  std::vector<FoundCheckpoint> found;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder_, failure))
    if (const auto step = step_of(entry.path().filename().string()); step && entry.is_directory(failure))
      found.push_back({*step, entry.path()});
  std::ranges::sort(found, {}, &FoundCheckpoint::step);
  return found;
}

Result<std::optional<fs::path>> CheckpointRoot::latest() const {
  const fs::path file = folder_ / kLatest;
  std::error_code failure;
  if (!fs::exists(file, failure)) {
    // The first one was published, and the process ended before it could say so.
    const auto all = list();
    return all.empty() ? std::optional<fs::path>() : all.back().path;
  }
  BALEEN_TRY_ASSIGN(std::string name, file_text(file));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (step_of(name))
    if (const auto places = places_of(name); !places.empty()) return std::optional(places.front());
  std::string known;
  for (const FoundCheckpoint& one : list()) known += (known.empty() ? "" : ", ") + one.path.filename().string();
  return Error{BALEEN_NOT_FOUND,
               "names `" + name.substr(0, 80) + "`, and there is no such checkpoint; " +
                   (known.empty() ? "there is none at all" : "name one of those that are there: " + known),
               file.string()};
}

std::optional<BestCheckpoint> CheckpointRoot::best() const {
  const Result<std::string> text = file_text(folder_ / kBest);
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.value("held_out_loss", nlohmann::json()).is_number())
    return std::nullopt;
  BestCheckpoint best{json["name"].get<std::string>(), json["held_out_loss"].get<double>()};
  std::error_code failure;
  if (!step_of(best.name)) return std::nullopt;
  for (const std::string& name : {aside_of(best.name), best.name})
    if (fs::is_directory(folder_ / name, failure)) return BestCheckpoint{name, best.loss};
  return std::nullopt;
}

std::optional<BestCheckpoint> CheckpointRoot::own_best() const {
  auto best = this->best();
  return best && others_.contains(best->name) ? std::nullopt : best;
}

std::vector<fs::path> CheckpointRoot::places_of(const std::string& name) const {
  std::error_code failure;
  std::vector<fs::path> places;
  for (const fs::path& path : {folder_ / name, folder_ / aside_of(name)})
    if (fs::is_directory(path, failure)) places.push_back(path);
  std::size_t last = 0;
  while (fs::is_directory(folder_ / earlier_of(name, last + 1), failure)) ++last;
  if (last > 0) places.push_back(folder_ / earlier_of(name, last));
  return places;
}

Status CheckpointRoot::keep_earlier(const std::string& folder) {
  std::error_code failure;
  std::size_t number = 1;
  const std::string name = is_aside(folder) ? folder.substr(0, folder.size() - kAside.size()) : folder;
  while (fs::exists(folder_ / earlier_of(name, number), failure)) ++number;
  const fs::path kept = folder_ / earlier_of(name, number);
  if (::rename((folder_ / folder).c_str(), kept.c_str()) != 0)
    return system_error("cannot be made from " + folder, kept);
  others_.erase(folder);
  return sync_folder(folder_);
}

Status CheckpointRoot::make_place(const std::string& name) {
  // The best stays what was measured. `latest` and `best` find it under its other name from this moment on.
  if (const auto best = this->best(); best && best->name == name) {
    const fs::path aside = folder_ / aside_of(name);
    if (::rename((folder_ / name).c_str(), aside.c_str()) != 0)
      return system_error("cannot be made from " + name, aside);
    if (others_.erase(name) > 0) others_.insert(aside_of(name));
    return sync_folder(folder_);
  }
  std::error_code failure;
  return others_.contains(name) && fs::exists(folder_ / name, failure) ? keep_earlier(name) : Status();
}

Status CheckpointRoot::publish(const fs::path& partial, std::int64_t step, const ShardFormat& format) {
  const fs::path target = folder_ / name_of(step);
  BALEEN_TRY(sync_folder(partial));
  BALEEN_TRY(make_place(name_of(step)));
  if (::rename(partial.c_str(), target.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) return system_error("cannot rename to its place", target);
    // One of this step is there. The two change places at once, so that there is one at any time.
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0)
      return system_error("cannot take the place of the one that is there; move that away", target);
    BALEEN_TRY(sync_folder(folder_));
    BALEEN_TRY(format.remove(partial.string()));
  }
  BALEEN_TRY(sync_folder(folder_));
  others_.erase(name_of(step));  // another's that is gone by now was not moved away
  return replace_file(folder_ / kLatest, name_of(step) + "\n");
}

Status CheckpointRoot::set_best(const BestCheckpoint& best, const ShardFormat& format) {
  const fs::path earlier = folder_ / aside_of(best.name);
  std::error_code failure;
  if (others_.contains(earlier.filename().string()))
    BALEEN_TRY(keep_earlier(earlier.filename().string()));
  else if (fs::is_directory(earlier, failure))
    BALEEN_TRY(format.remove(earlier.string()));
  return replace_file(folder_ / kBest, nlohmann::json{{"name", best.name}, {"held_out_loss", best.loss}}.dump() + "\n");
}

Status CheckpointRoot::prune(std::int64_t keep, const ShardFormat& format) {
  if (keep == 0) return {};
  BALEEN_TRY_ASSIGN(const auto latest, this->latest());
  const auto best = this->best();
  std::vector<FoundCheckpoint> all = list();
  std::ranges::reverse(all);
  std::int64_t good = 0;
  for (const FoundCheckpoint& one : all) {
    if (others_.contains(one.path.filename().string())) continue;
    // What cannot be opened is not known to be ours, and is none of those that are kept.
    if (!format.open(one.path.string())) continue;
    const bool stays = ++good <= keep || (latest && one.path == *latest) || (best && one.path.filename() == best->name);
    if (!stays) BALEEN_TRY(format.remove(one.path.string()));
  }
  std::error_code failure;
  std::vector<fs::path> aside;
  for (const auto& entry : fs::directory_iterator(folder_, failure))
    if (const std::string name = entry.path().filename().string();
        is_aside(name) && !others_.contains(name) && (!best || best->name != name))
      aside.push_back(entry.path());
  for (const fs::path& path : aside)
    if (format.open(path.string())) BALEEN_TRY(format.remove(path.string()));
  return {};
}

}  // namespace baleen
