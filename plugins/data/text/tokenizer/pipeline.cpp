/// \file Runs the steps.
#include "pipeline.hpp"

#include <algorithm>

#include "unicode.hpp"

namespace baleen::text {

Pipeline::Pipeline(Parts parts) : parts_(std::move(parts)) {
  before_ = parts_.before;
  after_ = parts_.after;
  notes_ = parts_.notes;
}

TokenizerResult Pipeline::make(Parts parts) {
  BALEEN_TRY(parts.added.complete(parts.normalizers));
  return std::unique_ptr<TrainedTokenizer>(new Pipeline(std::move(parts)));
}

std::int64_t Pipeline::vocabulary() const { return std::max(parts_.model->vocabulary().end(), parts_.added.end()); }

std::unique_ptr<WordCache> Pipeline::take_cache() const {
  const std::lock_guard lock(mutex_);
  if (caches_.empty()) return std::make_unique<WordCache>();
  auto cache = std::move(caches_.back());
  caches_.pop_back();
  return cache;
}

void Pipeline::give_cache(std::unique_ptr<WordCache> cache) const {
  const std::lock_guard lock(mutex_);
  caches_.push_back(std::move(cache));
}

Status Pipeline::encode_words(Pieces& pieces, WordCache& cache, std::vector<std::uint32_t>& ids) const {
  for (const Piece& piece : pieces) {
    if (piece.text.empty()) continue;
    if (const auto* known = cache.find(piece.text)) {
      ids.insert(ids.end(), known->begin(), known->end());
      continue;
    }
    const auto before = static_cast<std::ptrdiff_t>(ids.size());
    BALEEN_TRY(parts_.model->encode(piece.text, ids));
    cache.keep(piece.text, {ids.begin() + before, ids.end()});
  }
  return {};
}

Status Pipeline::encode(std::string_view text, std::vector<std::uint32_t>& ids) const {
  if (const std::size_t end = end_of_utf8(text); end < text.size())
    return invalid("not UTF-8 at byte " + std::to_string(end));
  std::vector<TextPart> parts;
  BALEEN_TRY(parts_.added.split(std::string(text), parts_.normalizers, parts));
  auto cache = take_cache();
  for (TextPart& part : parts) {
    if (part.id != Vocabulary::kNone) {
      ids.push_back(part.id);
      continue;
    }
    Pieces pieces;
    pieces.push_back({std::move(part.text), part.at_start});
    BALEEN_TRY(pre_tokenize(parts_.pre_tokenizers, pieces));
    BALEEN_TRY(encode_words(pieces, *cache, ids));
  }
  give_cache(std::move(cache));
  return {};
}

std::string Pipeline::token(std::int64_t id) const {
  if (const AddedToken* added = parts_.added.find(id)) return added->content;
  const std::string* token = parts_.model->vocabulary().token(id);
  return token ? *token : std::string();
}

Result<std::string> Pipeline::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) {
    if (!parts_.added.find(id) && !parts_.model->vocabulary().token(id))
      return invalid("no token has the id " + std::to_string(id) + "; ids are below " + std::to_string(vocabulary()));
    tokens.push_back(token(id));
  }
  return decode_tokens(parts_.decoders, std::move(tokens));
}

}  // namespace baleen::text
