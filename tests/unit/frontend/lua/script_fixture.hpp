/// \file Loads scripts from text, with data that needs no plugin.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "frontend/lua/script.hpp"

namespace baleen::testing {

/// Options `fields` = "tokens" (tokens and targets [context], vocabulary 16), "documents" (those and documents
/// [context]), "features" (features [4], label []) or "lists" (items int64 [3], items_length, label []); `context`,
/// `held_out` (rows).
class FakeData : public ScriptData {
 public:
  static Result<std::shared_ptr<ScriptData>> create(const MemberSpec& spec, std::uint64_t seed);
  const baleen_dataset_info_t& info() const override { return info_; }
  std::string length_of(std::uint32_t field) const override {
    return std::string_view(info_.fields[field].name) == "items" ? "items_length" : "";
  }
  /// 'a' is 0, 'b' is 1, …
  Result<std::vector<std::int32_t>> encode(std::string_view text) const override;
  Result<std::string> decode(std::span<const std::int32_t> ids) const override;

 private:
  void add_field(const char* name, baleen_dtype_t dtype, std::vector<std::int64_t> shape);
  baleen_dataset_info_t info_{};
};

/// A test with a folder of its own and the built-in ops.
class ScriptTest : public ::testing::Test {
 protected:
  ScriptTest();
  ~ScriptTest() override;

  /// Writes a file into the folder.
  void write(const std::string& name, const std::string& text) const;
  /// Loads `text` as "train.lua".
  Result<std::unique_ptr<Script>> load(const std::string& text);
  /// The same; a failure fails the test, and the result is null.
  std::unique_ptr<Script> loaded(const std::string& text);
  /// The error of loading `text`, with the folder's name taken off; "" where it loads.
  std::string error_of(const std::string& text);
  /// A script around a model's expression: fake tokens of context 8, vocabulary 16, batch 2.
  static std::string job_of(const std::string& model, const std::string& more = {});
  /// Name and shape of every parameter, "name [1, 2]".
  static std::vector<std::string> parameters_of(Script& script);
  static std::int64_t parameter_count(Script& script);
  /// The one op of a kind in a graph; a failure of the test where there is not exactly one.
  static const Op* only(const Graph& graph, const std::string& kind);
  static std::vector<const Op*> ops_of(const Graph& graph, const std::string& kind);

  OpRegistry ops_;
  std::filesystem::path folder_;
  ScriptOptions options_;
  std::string printed_;
};

}  // namespace baleen::testing
