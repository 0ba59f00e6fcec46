/// \file Tokenizers of data plugins, without a data set: found by what a plugin offers, trained, opened.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/data.h"
#include "core/plugin/registry.hpp"

namespace baleen::app {

/// A data plugin that offers "baleen.data.tokenizer/1".
class TokenizerPlugin {
 public:
  /// The data plugin `name`; "": the first that offers tokenizers, in the order of their names. Fails where there is
  /// none.
  static Result<TokenizerPlugin> find(const Registry& registry, const std::string& name);

  const std::string& name() const { return plugin_.descriptor().name; }
  /// What it trains, for people; a line for each kind.
  std::string kinds() const;
  /// `training.size` need not be set.
  Status train(baleen_tokenizer_training_t training) const;

 private:
  friend class Tokenizer;
  TokenizerPlugin(Plugin plugin, const baleen_data_tokenizer_t& table) : plugin_(std::move(plugin)), table_(table) {}

  Plugin plugin_;
  baleen_data_tokenizer_t table_;
};

/// An opened tokenizer. [any thread]
class Tokenizer {
 public:
  static Result<Tokenizer> open(TokenizerPlugin plugin, const std::string& path);
  Tokenizer(Tokenizer&& other) noexcept : plugin_(other.plugin_), handle_(std::exchange(other.handle_, nullptr)) {}
  Tokenizer& operator=(Tokenizer&&) = delete;
  ~Tokenizer();

  Result<std::int64_t> vocabulary() const;
  /// `framed`: with the ids that it puts around a text.
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool framed) const;
  Result<std::string> decode(std::span<const std::int32_t> ids) const;
  /// As the vocabulary writes it.
  Result<std::string> token(std::int32_t id) const;

 private:
  Tokenizer(TokenizerPlugin plugin, void* handle) : plugin_(std::move(plugin)), handle_(handle) {}
  /// `call(data, capacity)` until all fits.
  template <class Text, class Call>
  Result<Text> grown(Text text, Call call) const;

  TokenizerPlugin plugin_;
  void* handle_;
};

}  // namespace baleen::app
