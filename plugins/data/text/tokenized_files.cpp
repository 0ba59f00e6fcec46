/// \file Making and finding token caches.
#include "tokenized_files.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "tokenizer/parallel.hpp"

namespace baleen::text {
namespace {

using Clock = std::chrono::steady_clock;
using Sink = std::function<Status(std::size_t file, std::vector<std::uint32_t> ids)>;

std::string amount(double bytes) {
  char text[32];
  std::snprintf(text, sizeof(text),
                bytes < 1e6   ? "%.0f kB"
                : bytes < 1e9 ? "%.1f MB"
                              : "%.2f GB",
                bytes / (bytes < 1e6   ? 1e3
                         : bytes < 1e9 ? 1e6
                                       : 1e9));
  return text;
}

/// A line in the log every five seconds.
class ProgressLog {
 public:
  ProgressLog(const Host& host, std::size_t total) : host_(host), total_(static_cast<double>(total)) {}
  void add(std::size_t bytes) {
    done_ += static_cast<double>(bytes);
    const auto now = Clock::now();
    if (now - told_ < std::chrono::seconds(5)) return;
    told_ = now;
    const double seconds = std::chrono::duration<double>(now - begun_).count();
    char text[96];
    std::snprintf(text, sizeof(text), "tokenizing: %.0f %%, %s/s, %.0f s left", 100 * done_ / total_,
                  amount(done_ / seconds).c_str(), seconds * (total_ - done_) / done_);
    host_.log(BALEEN_INFO, text);
  }
  void end(std::int64_t ids) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    char text[96];
    std::snprintf(text, sizeof(text), "tokenized: %lld ids of %s in %.1f s", static_cast<long long>(ids),
                  amount(total_).c_str(), seconds);
    host_.log(BALEEN_INFO, text);
  }

 private:
  Host host_;
  double total_, done_ = 0;
  Clock::time_point begun_ = Clock::now(), told_ = begun_;
};

std::string hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

/// What the cache is of, but for the contents of the files: its name comes from it, so that a new text replaces an old
/// one.
Digest digest_of_job(const std::vector<TextFile>& files, const TrainedTokenizer& tokenizer,
                     const DocumentRules& rules) {
  std::vector<std::string_view> texts = {
      bytes_of(tokenizer.digest()),
      bytes_of(rules.documents),
      rules.field,
      {reinterpret_cast<const char*>(rules.separator.data()), rules.separator.size() * sizeof(std::uint32_t)}};
  for (const TextFile& file : files) texts.push_back(file.path);
  return digest_of(texts);
}

Result<Digest> digest_of_contents(const std::vector<TextFile>& files, const Digest& job) {
  std::vector<Digest> digests(files.size() + 1);
  digests.back() = job;
  BALEEN_TRY(for_each_part(files.size(), usable_processors(), [&](std::size_t i) -> Status {
    digests[i] = digest_of(std::span(&files[i].text, 1));
    return {};
  }));
  const std::string_view all(reinterpret_cast<const char*>(digests.data()), digests.size() * sizeof(Digest));
  return digest_of(std::span(&all, 1));
}

/// Encodes all files, several parts at once; `sink` gets their ids in order, `alive` is called between.
Status encode_files(const std::vector<TextFile>& files, const TrainedTokenizer& tokenizer, const DocumentRules& rules,
                    const Host& host, const Sink& sink, const std::function<void()>& alive) {
  std::vector<TextTask> tasks;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    add_tasks(i, files[i].text, rules.documents, tasks);
    bytes += files[i].text.size();
  }
  const std::size_t threads = std::min(usable_processors(), std::max<std::size_t>(tasks.size(), 1));
  host.log(BALEEN_INFO, "tokenizing " + std::to_string(files.size()) + (files.size() == 1 ? " file, " : " files, ") +
                            amount(static_cast<double>(bytes)) + ", by " + tokenizer.name() + " on " +
                            std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
  ProgressLog progress(host, bytes);
  std::int64_t count = 0;
  const std::size_t batch = 8 * threads;
  for (std::size_t first = 0; first < tasks.size(); first += batch) {
    std::vector<std::vector<std::uint32_t>> ids(std::min(batch, tasks.size() - first));
    BALEEN_TRY(for_each_part(ids.size(), threads, [&](std::size_t i) -> Status {
      const TextTask& task = tasks[first + i];
      const TextFile& file = files[task.file];
      return encode_task(task, file.text, file.path, tokenizer, rules, ids[i]);
    }));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      count += static_cast<std::int64_t>(ids[i].size());
      BALEEN_TRY(sink(tasks[first + i].file, std::move(ids[i])));
      progress.add(tasks[first + i].text.size());
    }
    if (alive) alive();
  }
  progress.end(count);
  return {};
}

Status write_cache(const std::string& path, const Digest& key, const std::vector<TextFile>& files,
                   const TrainedTokenizer& tokenizer, const DocumentRules& rules, const Host& host,
                   const MakerLock& lock) {
  const int width = tokenizer.vocabulary() <= 1 << 16 ? 2 : 4;
  BALEEN_TRY_ASSIGN(TokenCacheWriter writer, TokenCacheWriter::create(path, key, files.size(), width));
  const Sink sink = [&](std::size_t file, std::vector<std::uint32_t> ids) { return writer.append(file, ids); };
  BALEEN_TRY(encode_files(files, tokenizer, rules, host, sink, [&] { lock.touch(); }));
  return writer.commit();
}

/// The cache as it is, or made anew.
Result<TokenCache> find_cache(const std::string& path, const Digest& key, const std::vector<TextFile>& files,
                              const TrainedTokenizer& tokenizer, const DocumentRules& rules, const Host& host) {
  Result<TokenCache> found = TokenCache::open(path, key, files.size());
  if (found) return found;
  const auto waiting = [&] { host.log(BALEEN_INFO, "waiting for the process that makes the token cache " + path); };
  BALEEN_TRY_ASSIGN(const MakerLock lock, MakerLock::take(path, waiting));
  found = TokenCache::open(path, key, files.size());  // another may have made it meanwhile
  if (found) return found;
  if (found.error().code != BALEEN_NOT_FOUND)
    host.log(BALEEN_WARNING,
             "the token cache " + found.error().where + " " + found.error().message + "; it is made anew");
  BALEEN_TRY(write_cache(path, key, files, tokenizer, rules, host, lock));
  return TokenCache::open(path, key, files.size());
}

}  // namespace

Result<TokenizedFiles> TokenizedFiles::make(const std::vector<TextFile>& files, const TrainedTokenizer& tokenizer,
                                            const DocumentRules& rules, const std::string& cache_folder,
                                            const Host& host) {
  TokenizedFiles made;
  if (cache_folder.empty()) {
    made.ids_.resize(files.size());
    const Sink sink = [&](std::size_t file, std::vector<std::uint32_t> ids) -> Status {
      made.ids_[file].insert(made.ids_[file].end(), ids.begin(), ids.end());
      return {};
    };
    BALEEN_TRY(encode_files(files, tokenizer, rules, host, sink, {}));
    for (const auto& ids : made.ids_)
      made.runs_.push_back({reinterpret_cast<const std::byte*>(ids.data()), static_cast<std::int64_t>(ids.size()), 4});
    return made;
  }
  std::error_code code;
  std::filesystem::create_directories(cache_folder, code);
  if (code)
    return Error{BALEEN_IO,
                 "cannot make the folder of the token cache: " + code.message() +
                     "; give another folder as `cache`, or \"none\"",
                 cache_folder};
  const Digest job = digest_of_job(files, tokenizer, rules);
  BALEEN_TRY_ASSIGN(const Digest key, digest_of_contents(files, job));
  const std::string path = cache_folder + "/" + hex(job.high) + ".tokens";
  BALEEN_TRY_ASSIGN(TokenCache cache, find_cache(path, key, files, tokenizer, rules, host));
  made.cache_ = std::make_unique<TokenCache>(std::move(cache));
  return made;
}

}  // namespace baleen::text
