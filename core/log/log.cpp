/// \file The log over spdlog: one logger, a stderr sink with a level, a ring that keeps everything.
#include "core/log/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/version.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <utility>

#include "core/log/last_lines.hpp"
#include "core/log/presentable.hpp"

namespace baleen {
namespace {

spdlog::level::level_enum native(baleen_level_t level) {
  switch (level) {
    case BALEEN_DEBUG: return spdlog::level::debug;
    case BALEEN_INFO: return spdlog::level::info;
    case BALEEN_WARNING: return spdlog::level::warn;
    default: return spdlog::level::err;
  }
}

baleen_level_t ours(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug: return BALEEN_DEBUG;
    case spdlog::level::info: return BALEEN_INFO;
    case spdlog::level::warn: return BALEEN_WARNING;
    default: return BALEEN_FAILURE;
  }
}

/// Gives lines to a function, one at a time.
class FunctionSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(Log::Sink sink) : sink_(std::move(sink)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    sink_(ours(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

 private:
  Log::Sink sink_;
};

constexpr std::array<std::pair<std::string_view, baleen_level_t>, 4> kLevels = {
    {{"debug", BALEEN_DEBUG}, {"info", BALEEN_INFO}, {"warning", BALEEN_WARNING}, {"error", BALEEN_FAILURE}}};

}  // namespace

struct Log::State {
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> ring =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kRecorded);
  std::shared_ptr<spdlog::sinks::sink> shown;  // null: silent
  spdlog::logger logger{"baleen"};

  // Only the ring has a clock: a person at a terminal knows the time, a person reading a crash does not.
  void set_patterns(const std::string& prefix) {
    ring->set_pattern("%H:%M:%S.%e " + prefix + "%l: %v");
    if (shown) shown->set_pattern(prefix + "%^%l:%$ %v");
  }
};

Log::Log() : state_(std::make_shared<State>()) {
  state_->logger.sinks().push_back(state_->ring);
  state_->logger.set_level(spdlog::level::debug);
  state_->set_patterns("");
}

Log Log::to_stderr(baleen_level_t level) {
  Log log;
  log.state_->shown = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  log.state_->logger.sinks().push_back(log.state_->shown);
  log.state_->set_patterns("");
  log.set_level(level);
  return log;
}

Log Log::to(Sink sink, baleen_level_t level) {
  Log log;
  log.state_->shown = std::make_shared<FunctionSink>(std::move(sink));
  log.state_->logger.sinks().push_back(log.state_->shown);
  log.set_level(level);
  return log;
}

std::string_view Log::library() {
  static const std::string name = "spdlog " + std::to_string(SPDLOG_VER_MAJOR) + "." +
                                  std::to_string(SPDLOG_VER_MINOR) + "." + std::to_string(SPDLOG_VER_PATCH);
  return name;
}

void Log::set_rank(int rank, int ranks) const {
  state_->set_patterns(ranks > 1 ? "[rank " + std::to_string(rank) + "] " : "");
}

void Log::set_level(baleen_level_t level) const {
  if (state_->shown) state_->shown->set_level(native(level));
}

void Log::write(baleen_level_t level, std::string_view text) const {
  const std::string plain = presentable(text, kLongestMessage);
  text = plain;
  state_->logger.log(native(level), spdlog::string_view_t(text.data(), text.size()));
  const auto known = std::find_if(kLevels.begin(), kLevels.end(), [=](const auto& one) { return one.second == level; });
  remember_line(known == kLevels.end() ? "error" : known->first, text);
}

std::vector<std::string> Log::recorded() const {
  std::vector<std::string> lines = state_->ring->last_formatted();
  for (std::string& line : lines)
    if (line.ends_with('\n')) line.pop_back();
  return lines;
}

void Log::dump(std::span<const std::string> lines) {
  std::fputs("---- flight recorder: the last lines of the log ----\n", stderr);
  for (const std::string& line : lines) std::fprintf(stderr, "%s\n", line.c_str());
  std::fputs("---- end of flight recorder ----\n", stderr);
}

std::optional<baleen_level_t> level_from(std::string_view name) {
  for (const auto& [word, level] : kLevels)
    if (word == name) return level;
  return std::nullopt;
}

}  // namespace baleen
