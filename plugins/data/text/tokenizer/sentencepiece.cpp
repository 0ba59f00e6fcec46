/// \file SentencePiece through its library, which gets a model only after its bytes were checked.
#include <sentencepiece_processor.h>

#include "sentencepiece_check.hpp"
#include "trained_tokenizer.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

class SentencePiece : public TrainedTokenizer {
 public:
  Status load(std::string_view model, const std::string& where) {
    const auto status = processor_.LoadFromSerializedProto(absl::string_view(model.data(), model.size()));
    if (!status.ok()) return invalid("is no SentencePiece model: " + std::string(status.message()), where);
    return {};
  }
  std::int64_t vocabulary() const override { return processor_.GetPieceSize(); }
  std::string name() const override { return "SentencePiece"; }

  Status encode(std::string_view text, std::vector<std::uint32_t>& ids) const override {
    if (const std::size_t end = end_of_utf8(text); end < text.size())
      return invalid("not UTF-8 at byte " + std::to_string(end));
    std::vector<int> found;
    const auto status = processor_.Encode(absl::string_view(text.data(), text.size()), &found);
    if (!status.ok()) return internal("SentencePiece cannot encode: " + std::string(status.message()));
    for (const int id : found) {
      if (id < 0 || id >= vocabulary())
        return invalid("SentencePiece's id " + std::to_string(id) + " is outside its vocabulary");
      ids.push_back(static_cast<std::uint32_t>(id));
    }
    return {};
  }
  Result<std::string> decode(std::span<const std::int32_t> ids) const override {
    std::vector<int> given;
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocabulary())
        return invalid("no token has the id " + std::to_string(id) + "; ids are below " + std::to_string(vocabulary()));
      given.push_back(id);
    }
    std::string text;
    const auto status = processor_.Decode(given, &text);
    if (!status.ok()) return internal("SentencePiece cannot decode: " + std::string(status.message()));
    return text;
  }
  std::string token(std::int64_t id) const override {
    if (id < 0 || id >= vocabulary()) return {};
    return processor_.IdToPiece(static_cast<int>(id));
  }
  /// The ids that models put around a text; both exist in most of them.
  void set_frame() {
    if (processor_.bos_id() >= 0) before_ = {static_cast<std::uint32_t>(processor_.bos_id())};
    if (processor_.eos_id() >= 0) after_ = {static_cast<std::uint32_t>(processor_.eos_id())};
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

TokenizerResult read_sentencepiece(std::string_view model, const std::string& where) {
  BALEEN_TRY(check_sentencepiece(model, where));
  auto made = std::make_unique<SentencePiece>();
  BALEEN_TRY(made->load(model, where));
  made->set_frame();
  return std::unique_ptr<TrainedTokenizer>(std::move(made));
}

}  // namespace baleen::text
