/// \file The monitor plugin `trace`: spans as a JSON array that Perfetto and chrome://tracing open, and as a table. The
/// array's closing bracket is optional in that format, so the file of a crashed run loads too.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "baleen/monitor.hpp"
#include "baleen/output_file.hpp"
#include "profile.hpp"

BALEEN_DESCRIPTOR(
    "monitor", "trace", "1.0.0", "Apache-2.0", "Spans as a trace file for Perfetto", -1, "",
    BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_PATH, 0, 0, "", "", "trace",
                  "the file to write; rank N > 0 writes NAME.rankN.EXT beside it"),
    BALEEN_OPTION("profile", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "profile",
                  "at the end, print what each op took beside what the device can do; without --trace, the "
                  "spans go to profile.json"));

namespace {

using namespace baleen;
using namespace baleen::sdk;
using Json = nlohmann::ordered_json;

/// The file of a rank: the path itself for rank 0.
std::string path_of(const std::string& path, std::int32_t rank) {
  if (rank == 0) return path;
  std::filesystem::path name(path);
  const std::string extension = name.extension().string();
  return name.replace_extension(".rank" + std::to_string(rank) + extension).string();
}

class Trace : public Monitor {
 public:
  static constexpr bool kWantsSpans = true;

  static Result<std::unique_ptr<Trace>> create(const Host&, const Settings& settings) {
    auto monitor = std::make_unique<Trace>();
    const bool profiles = settings.boolean("profile");
    if (profiles) monitor->profile_.emplace();
    std::string path(settings.text("path"));
    if (path.empty() && !profiles)
      return invalid("needs `path`, the file to write (--trace FILE), or `profile` (--profile)");
    if (path.empty()) path = std::filesystem::absolute("profile.json").string();
    BALEEN_TRY_ASSIGN(monitor->file_, OutputFile::open(path, settings.folder()));
    return monitor;
  }
  ~Trace() override {
    // Nobody is left to tell of a failure, and without the bracket the file loads all the same.
    if (started_) static_cast<void>(file_.write(pending_ + "\n]\n"));
    static_cast<void>(print_table());
  }

  Status record(const Record& record) override {
    rank_ = record.rank();
    if (profile_) profile_->add(record);
    if (!started_) BALEEN_TRY(start(record.rank()));
    const double now = 1e6 * record.seconds();
    if (record.kind() == BALEEN_RECORD_NOTE) {
      const auto* message = record.find("message");
      const std::string text = message && is_text(*message) ? std::string(view(message->text)) : "note";
      BALEEN_TRY(add(record.rank(),
                     {{"ph", "i"}, {"s", "g"}, {"name", text}, {"ts", now}, {"pid", record.rank()}, {"tid", 0}}));
      return flush();
    }
    if (record.kind() == BALEEN_RECORD_FINISH) {
      BALEEN_TRY(flush());
      BALEEN_TRY(file_.sync());
      return print_table();
    }
    if (record.kind() != BALEEN_RECORD_STEP) return {};
    for (const char* name : {"loss", "units_per_second", "memory_bytes"}) {
      const auto* fact = record.find(name);
      if (!fact || is_text(*fact) || !std::isfinite(fact->number)) continue;
      BALEEN_TRY(
          add(record.rank(),
              {{"ph", "C"}, {"name", name}, {"ts", now}, {"pid", record.rank()}, {"args", {{"value", fact->number}}}}));
    }
    return flush();
  }

  Status spans(std::span<const baleen_span_t> spans) override {
    for (const baleen_span_t& span : spans) {
      if (profile_) profile_->add(span);
      BALEEN_TRY(name_stream(span.rank, span.stream));
      BALEEN_TRY(add(span.rank, {{"ph", "X"},
                                 {"name", std::string(view(span.name))},
                                 {"cat", std::string(view(span.category))},
                                 {"ts", static_cast<double>(span.begin) / 1e3},
                                 {"dur", static_cast<double>(span.end - span.begin) / 1e3},
                                 {"pid", span.rank},
                                 {"tid", span.stream},
                                 {"args", {{"step", span.step}}}}));
    }
    return flush();
  }

 private:
  Status start(std::int32_t rank) {
    if (rank != 0) {
      BALEEN_TRY_ASSIGN(file_, OutputFile::open(path_of(file_.path(), rank), {}));
    }
    BALEEN_TRY(file_.restart());
    started_ = true;
    pending_ = "[";
    return {};
  }

  Status add(std::int32_t rank, const Json& event) {
    if (!started_) BALEEN_TRY(start(rank));
    pending_ += first_ ? "\n" : ",\n";
    first_ = false;
    pending_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    return pending_.size() > kBlock ? flush() : Status{};
  }

  /// Names the process and the stream, the first time that each is seen.
  Status name_stream(std::int32_t rank, std::int32_t stream) {
    const auto name = [&](const char* what, const std::string& text) {
      return add(rank, {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", stream}, {"args", {{"name", text}}}});
    };
    if (ranks_.insert(rank).second) BALEEN_TRY(name("process_name", "rank " + std::to_string(rank)));
    if (!streams_.insert({rank, stream}).second) return {};
    return name("thread_name", "stream " + std::to_string(stream));
  }

  Status flush() {
    BALEEN_TRY(file_.write(pending_));
    pending_.clear();
    return {};
  }

  /// Once: at the end of the run, or where it breaks off. No error where nobody reads.
  Status print_table() {
    if (!profile_ || rank_ != 0 || std::exchange(is_printed_, true)) return {};
    const std::string table = profile_->table();
    if (table.empty()) return {};
    const std::string text = table + "trace in " + file_.path() + " (https://ui.perfetto.dev)\n";
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
    const int reason = errno;
    struct stat about {};
    const bool is_file = ::fstat(STDOUT_FILENO, &about) == 0 && S_ISREG(about.st_mode);
    if (reason == EPIPE || (reason == EIO && !is_file)) return {};  // a terminal that is gone is EIO
    return Error{BALEEN_IO, std::string("standard output did not take all: ") + std::strerror(reason), {}};
  }

  OutputFile file_;
  std::optional<trace::Profile> profile_;
  std::int32_t rank_ = 0;
  std::string pending_;  ///< not in the file yet, which holds whole records
  bool started_ = false, first_ = true, is_printed_ = false;
  std::set<std::int32_t> ranks_;
  std::set<std::pair<std::int32_t, std::int32_t>> streams_;
};

}  // namespace

BALEEN_MONITOR(Trace);
