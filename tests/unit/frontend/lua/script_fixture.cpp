/// \file Loads scripts from text.
#include "script_fixture.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>

#include "support/op_cases.hpp"
#include "support/places.hpp"

namespace baleen::testing {

void FakeData::add_field(const char* name, baleen_dtype_t dtype, std::vector<std::int64_t> shape) {
  baleen_field_t& field = info_.fields[info_.field_count++];
  std::strncpy(field.name, name, sizeof(field.name) - 1);
  field.dtype = dtype;
  field.rank = static_cast<std::uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), field.shape);
  if (shape.size() == 1 && dtype == BALEEN_I32) std::strcpy(field.axes[0], "seq");
}

Result<std::shared_ptr<ScriptData>> FakeData::create(const MemberSpec& spec, std::uint64_t) {
  if (spec.name != "fake") return invalid("there is no data plugin `" + spec.name + "`", spec.where);
  auto integer = [&](const char* name, std::int64_t fallback) {
    const auto found = spec.options.find(name);
    return found == spec.options.end() ? fallback : std::get<std::int64_t>(found->second.data);
  };
  const auto fields = spec.options.find("fields");
  const std::string kind = fields == spec.options.end() ? "tokens" : std::get<std::string>(fields->second.data);
  auto data = std::make_shared<FakeData>();
  data->info_.size = sizeof(data->info_);
  data->info_.rows[BALEEN_TRAIN] = 100;
  data->info_.rows[BALEEN_HELD_OUT] = integer("held_out", 10);
  const bool rows = kind == "features" || kind == "lists";
  data->info_.classes = rows ? 3 : 16;
  std::strcpy(data->info_.unit, rows ? "rows" : "tokens");
  std::strcpy(data->info_.summary, "made up");
  if (kind == "features") {
    data->add_field("features", BALEEN_F32, {4});
    data->add_field("label", BALEEN_I32, {});
    return std::shared_ptr<ScriptData>(data);
  }
  if (kind == "lists") {
    data->add_field("items", BALEEN_I64, {3});
    data->add_field("items_length", BALEEN_I32, {});
    data->add_field("label", BALEEN_I32, {});
    return std::shared_ptr<ScriptData>(data);
  }
  data->add_field("tokens", BALEEN_I32, {integer("context", 8)});
  if (kind == "documents") data->add_field("documents", BALEEN_I32, {integer("context", 8)});
  data->add_field("targets", BALEEN_I32, {integer("context", 8)});
  return std::shared_ptr<ScriptData>(data);
}

Result<std::vector<std::int32_t>> FakeData::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  for (char c : text) ids.push_back(c - 'a');
  return ids;
}

Result<std::string> FakeData::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::int32_t id : ids) text.push_back(static_cast<char>('a' + id));
  return text;
}

ScriptTest::ScriptTest() {
  std::string name = (std::filesystem::temp_directory_path() / "baleen_script_XXXXXX").string();
  folder_ = ::mkdtemp(name.data());
  EXPECT_TRUE(test::register_all_ops(ops_));
  options_.ops = &ops_;
  options_.library = std::filesystem::path(test::source_dir()) / "scripts" / "lua";
  options_.seed = 1;
  options_.data = FakeData::create;
  options_.print = [this](std::string_view line) { printed_.append(line).append("\n"); };
}

ScriptTest::~ScriptTest() { std::filesystem::remove_all(folder_); }

void ScriptTest::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

Result<std::unique_ptr<Script>> ScriptTest::load(const std::string& text) {
  write("train.lua", text);
  return Script::load(folder_ / "train.lua", options_);
}

std::unique_ptr<Script> ScriptTest::loaded(const std::string& text) {
  auto script = load(text);
  if (script) return *std::move(script);
  ADD_FAILURE() << script.error().text();
  return nullptr;
}

std::string ScriptTest::error_of(const std::string& text) {
  auto script = load(text);
  if (script) return "";
  std::string error = script.error().text();
  const std::string prefix = folder_.string() + "/";
  for (std::size_t at = error.find(prefix); at != std::string::npos; at = error.find(prefix))
    error.erase(at, prefix.size());
  return error;
}

std::string ScriptTest::job_of(const std::string& model, const std::string& more) {
  return R"(local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local corpus = baleen.data.fake {}
return baleen.job { batch = 2, steps = 10, data = corpus, loss = nn.cross_entropy {},
  optimizer = baleen.optimizer("o", { lr = 0.1 }), )" +
         more + R"(
  model = )" +
         model + "\n}\n";
}

std::vector<std::string> ScriptTest::parameters_of(Script& script) {
  std::vector<std::string> list;
  for (const ParameterSpec& spec : script.job().parameters)
    list.push_back(spec.name + " " + to_string(spec.type.shape));
  return list;
}

std::int64_t ScriptTest::parameter_count(Script& script) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : script.job().parameters) count += element_count(spec.type.shape);
  return count;
}

std::vector<const Op*> ScriptTest::ops_of(const Graph& graph, const std::string& kind) {
  std::vector<const Op*> found;
  for (OpId id : graph.ops())
    if (graph.op(id).kind->name == kind) found.push_back(&graph.op(id));
  return found;
}

const Op* ScriptTest::only(const Graph& graph, const std::string& kind) {
  const std::vector<const Op*> found = ops_of(graph, kind);
  EXPECT_EQ(found.size(), 1u) << kind << " in\n" << print(graph);
  return found.empty() ? nullptr : found[0];
}

}  // namespace baleen::testing
