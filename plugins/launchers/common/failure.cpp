/// \file The progress of ranks, lists of ranks and signals as text.
#include "common/failure.hpp"

#include <csignal>
#include <cstring>

namespace baleen::launchers {

std::string ProgressSnapshot::text() const {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (step >= 0) add("step " + std::to_string(step));
  if (!phase.empty()) add(phase);
  if (collective >= 0) add("collective " + std::to_string(collective) + " begun");
  return out;
}

ProgressSnapshot common(const ProgressSnapshot& a, const ProgressSnapshot& b) {
  ProgressSnapshot both;
  if (a.step == b.step) both.step = a.step;
  if (a.phase == b.phase) both.phase = a.phase;
  if (a.collective == b.collective) both.collective = a.collective;
  return both;
}

std::string rank_list(std::span<const int> ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) out += (i ? ", " : "") + std::to_string(ranks[i]);
  return out;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace baleen::launchers
