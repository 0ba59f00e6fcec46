/// \file A tokenizer as a tokenizer.json describes it: normalise, cut, apply the model; and back.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "added_tokens.hpp"
#include "decoder.hpp"
#include "model.hpp"
#include "normalizer.hpp"
#include "pre_tokenizer.hpp"
#include "trained_tokenizer.hpp"

namespace baleen::text {

class Pipeline : public TrainedTokenizer {
 public:
  struct Parts {
    Normalizers normalizers;
    PreTokenizers pre_tokenizers;
    std::unique_ptr<Model> model;
    AddedTokens added;
    Decoders decoders;
    std::vector<std::uint32_t> before, after;
    std::vector<std::string> notes;
  };
  /// Completes the added tokens.
  static TokenizerResult make(Parts parts);

  std::int64_t vocabulary() const override;
  Status encode(std::string_view text, std::vector<std::uint32_t>& ids) const override;
  Result<std::string> decode(std::span<const std::int32_t> ids) const override;
  std::string token(std::int64_t id) const override;
  std::string name() const override { return parts_.model->name(); }

 private:
  explicit Pipeline(Parts parts);
  /// A cache that no other call uses.
  std::unique_ptr<WordCache> take_cache() const;
  void give_cache(std::unique_ptr<WordCache> cache) const;
  Status encode_words(Pieces& pieces, WordCache& cache, std::vector<std::uint32_t>& ids) const;

  Parts parts_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<WordCache>> caches_;
};

}  // namespace baleen::text
