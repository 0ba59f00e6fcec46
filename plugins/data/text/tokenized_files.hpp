/// \file The ids of many files: from a cache, or made in parallel and kept in one.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/host.hpp"
#include "documents.hpp"
#include "token_cache.hpp"

namespace baleen::text {

struct TextFile {
  std::string path;
  std::string_view text;
};

/// Owns the ids. Immutable.
class TokenizedFiles {
 public:
  /// `cache_folder`: where the cache is kept, made where it is missing; empty: the ids are held in memory. Of several
  /// processes of a host one makes the cache and the others wait for it. Progress goes to the host's log.
  static Result<TokenizedFiles> make(const std::vector<TextFile>& files, const TrainedTokenizer& tokenizer,
                                     const DocumentRules& rules, const std::string& cache_folder, const Host& host);

  /// One of each file.
  const std::vector<Run>& runs() const { return cache_ ? cache_->runs() : runs_; }

 private:
  std::unique_ptr<TokenCache> cache_;
  std::vector<std::vector<std::uint32_t>> ids_;
  std::vector<Run> runs_;
};

}  // namespace baleen::text
