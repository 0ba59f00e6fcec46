/// \file Calls "baleen.data.tokenizer/1".
#include "frontend/engine/tokenizers.hpp"

#include <utility>

#include "baleen/host.hpp"
#include "baleen/sized.hpp"

namespace baleen::app {
namespace {

/// Plugins of earlier revisions were never asked without a data set.
constexpr int kFirstRevision = 3;

}  // namespace

Result<TokenizerPlugin> TokenizerPlugin::find(const Registry& registry, const std::string& name) {
  if (!name.empty()) BALEEN_TRY(registry.find("data", name));
  for (const Descriptor& descriptor : registry.descriptors()) {
    if (descriptor.kind != "data" || descriptor.kind_revision < kFirstRevision) continue;
    if (!name.empty() && descriptor.name != name) continue;
    BALEEN_TRY_ASSIGN(const Plugin plugin, registry.open(descriptor));
    BALEEN_TRY_ASSIGN(const auto* table, plugin.table<baleen_data_t>("data"));
    const void* offered = table->query ? table->query(nullptr, abi(BALEEN_DATA_TOKENIZER)) : nullptr;
    if (!offered) continue;
    const auto copied = copy_in(static_cast<const baleen_data_tokenizer_t*>(offered));
    if (copied.kinds && copied.train && copied.open && copied.close && copied.vocabulary && copied.encode &&
        copied.decode && copied.token)
      return TokenizerPlugin(plugin, copied);
    return internal("data `" + descriptor.name + "` offers " BALEEN_DATA_TOKENIZER " without some of its functions");
  }
  if (!name.empty()) return unsupported("data `" + name + "` makes no tokenizers (" BALEEN_DATA_TOKENIZER ")");
  return Error{
      BALEEN_NOT_FOUND, "no data plugin makes tokenizers (" BALEEN_DATA_TOKENIZER "); see `baleen plugins`", {}};
}

std::string TokenizerPlugin::kinds() const { return std::string(view(table_.kinds())); }

Status TokenizerPlugin::train(baleen_tokenizer_training_t training) const {
  training.size = sizeof(training);
  return plugin_.check(table_.train(plugin_.host(), &training));
}

Result<Tokenizer> Tokenizer::open(TokenizerPlugin plugin, const std::string& path) {
  void* handle = nullptr;
  BALEEN_TRY(plugin.plugin_.check(plugin.table_.open(plugin.plugin_.host(), abi(path), &handle)));
  return Tokenizer(std::move(plugin), handle);
}

Tokenizer::~Tokenizer() {
  if (handle_) plugin_.table_.close(handle_);
}

template <class Text, class Call>
Result<Text> Tokenizer::grown(Text text, Call call) const {
  for (;;) {
    const std::int64_t count = call(text.data(), static_cast<std::int64_t>(text.size()));
    if (count < 0) return plugin_.plugin_.failure(BALEEN_INVALID);
    const bool fits = count <= static_cast<std::int64_t>(text.size());
    text.resize(static_cast<std::size_t>(count));
    if (fits) return text;
  }
}

Result<std::int64_t> Tokenizer::vocabulary() const {
  const std::int64_t count = plugin_.table_.vocabulary(handle_);
  if (count < 0) return plugin_.plugin_.failure(BALEEN_INTERNAL);
  return count;
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text, bool framed) const {
  return grown(std::vector<std::int32_t>(text.size() + 2), [&](std::int32_t* ids, std::int64_t capacity) {
    return plugin_.table_.encode(handle_, abi(text), framed ? 1 : 0, ids, capacity);
  });
}

Result<std::string> Tokenizer::decode(std::span<const std::int32_t> ids) const {
  return grown(std::string(ids.size() * 8, '\0'), [&](char* text, std::int64_t capacity) {
    return plugin_.table_.decode(handle_, ids.data(), static_cast<std::int64_t>(ids.size()), text, capacity);
  });
}

Result<std::string> Tokenizer::token(std::int32_t id) const {
  return grown(std::string(64, '\0'),
               [&](char* text, std::int64_t capacity) { return plugin_.table_.token(handle_, id, text, capacity); });
}

}  // namespace baleen::app
