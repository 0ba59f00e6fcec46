/// \file Which launcher serves a job, and what this process is in it: a rank, or what starts the ranks.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "core/launch/launcher.hpp"
#include "core/launch/rank_link.hpp"
#include "frontend/engine/setup.hpp"

namespace baleen::app {

/// What begins the one word that a launcher adds to the command of a rank.
constexpr const char* kRankMark = "--rank-link=";

/// Takes that word from the front of the arguments, without its mark; nothing where there is none.
std::optional<std::string> take_rank_word(std::vector<std::string>& words);

/// This process in its job; at most one of the two is there.
struct LaunchedAs {
  std::unique_ptr<RankLink> link;            ///< of a rank
  std::unique_ptr<LauncherMember> launcher;  ///< of what starts ranks
};

/// Opens the launcher of a job that has several ranks, or whose manifest names one, and sets what `setup` borrows.
/// `rank_word`: as take_rank_word gives it. In a rank that something else than this program has started: collective;
/// compares what the launcher told each, and takes the hosts from there where the manifest names none.
Status join_job(Setup& setup, const HostOptions& options, const std::optional<std::string>& rank_word, LaunchedAs& as);

/// `rank_word` where the command line cannot have one.
Error no_rank_word(const std::string& rank_word);

/// Through the launcher that the manifest names, or the best that knows how.
Status make_secret(const Setup& setup, const std::string& file);

}  // namespace baleen::app
