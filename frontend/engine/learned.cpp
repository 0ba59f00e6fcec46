/// \file Records of "baleen.data.learned/1".
#include "frontend/engine/learned.hpp"

#include <algorithm>

#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/engine/json.hpp"

namespace baleen::app {
namespace {

namespace fs = std::filesystem;

/// Of a checkpoint; nothing where the folder is none.
std::map<std::string, std::string> facts_of_folder(const Registry& plugins, const fs::path& path) {
  const auto format = ShardFormat::find(plugins, "", "--load");
  if (!format) return {};
  const auto found = find_checkpoint(path.string(), path, *format);
  if (!found || !*found) return {};
  const auto folder = format->open((*found)->string());
  return folder ? (*folder)->facts() : std::map<std::string, std::string>();
}

constexpr std::size_t kMostShown = 80;

/// `at`: a JSON pointer to both.
std::optional<std::string> unlike(const Json& then, const Json& now, const std::string& at) {
  if (then.is_number() && now.is_number()) return std::nullopt;
  if (then.is_structured() && then.type() == now.type() && then.size() == now.size()) {
    for (const auto& [key, value] : then.items()) {
      const bool is_there = then.is_array() || now.contains(key);
      const Json& other = then.is_array() ? now[std::stoul(key)] : is_there ? now[key] : Json();
      if (auto found = unlike(value, other, at + "/" + key)) return found;
    }
    return std::nullopt;
  }
  if (then == now) return std::nullopt;
  const auto text = [](const Json& json) {
    const std::string all = json_text(json);
    return all.size() > kMostShown ? all.substr(0, kMostShown) + "..." : all;
  };
  return "`" + at + "` was " + text(then) + " and is " + text(now);
}

}  // namespace

std::optional<std::string> unlike_names(const std::string& then, const std::string& now) {
  const Json before = Json::parse(then, nullptr, false), after = Json::parse(now, nullptr, false);
  if (!before.is_structured() || !after.is_structured()) return std::nullopt;
  return unlike(before, after, "");
}

Result<std::string> learned_text(const Dataset& data, int number) {
  BALEEN_TRY_ASSIGN(const std::string facts, data.learned());
  return facts.empty() ? facts : json_text({{"plugin", data.plugin()}, {"number", number}, {"facts", facts}});
}

Result<std::optional<LearnedRecord>> read_learned(const Registry& plugins, const fs::path& loaded) {
  std::error_code failure;
  std::map<std::string, std::string> facts;
  if (fs::is_directory(loaded, failure)) {
    facts = facts_of_folder(plugins, loaded);
  } else {
    BALEEN_TRY_ASSIGN(const auto file, open_tensor_files(plugins, {loaded.string()}));
    facts = file->facts();
  }
  const auto found = facts.find(kLearnedFact);
  if (found == facts.end()) return std::optional<LearnedRecord>();
  const Json json = Json::parse(found->second, nullptr, false);
  if (!json.is_object() || !json.contains("plugin") || !json["plugin"].is_string() || !json.contains("facts") ||
      !json["facts"].is_string() || !json.contains("number") || !json["number"].is_number_unsigned())
    return invalid(std::string("its `") + kLearnedFact + "` is not what a run saves there", loaded.string());
  return std::optional(
      LearnedRecord{json["plugin"].get<std::string>(), json["facts"].get<std::string>(), json["number"].get<int>()});
}

Result<std::shared_ptr<Dataset>> DataOpener::open(const MemberSpec& spec, std::uint64_t seed,
                                                  const std::string& folder) {
  std::vector<std::string>& places = places_[spec.name];
  auto place = std::ranges::find(places, spec.where);
  if (place == places.end()) place = places.insert(place, spec.where);
  const int number = static_cast<int>(place - places.begin());
  std::optional<DataFacts> facts;
  if (record_ && record_->plugin == spec.name && record_->number == number)
    facts = {record_->facts, use_.source, use_.rows};
  if (!record_ && !use_.source.empty()) {
    if (places_.size() > 1 || places.size() > 1)
      return unsupported("the script opens several data sets, and what is loaded does not say which of them `" +
                             use_.source + "` is to take the place of; save it again from a run",
                         spec.where);
    BALEEN_TRY_ASSIGN(const auto own, Dataset::create(plugins_, spec, seed, folder));
    BALEEN_TRY_ASSIGN(const std::string learned, own->learned());
    if (learned.empty())
      return unsupported("data `" + spec.name + "` cannot read `" + use_.source +
                             "` in place of its own rows: it does not offer " BALEEN_DATA_LEARNED,
                         spec.where);
    facts = {learned, use_.source, use_.rows};
  }
  BALEEN_TRY_ASSIGN(auto data, Dataset::create(plugins_, spec, seed, folder, facts));
  numbers_[data.get()] = number;
  taught_.erase(data.get());  // an earlier one may have lain there
  if (facts) taught_.insert(data.get());
  return data;
}

Status DataOpener::check(const Dataset& data, const std::string& where) const {
  if (use_.source.empty() || taught_.contains(&data)) return {};
  return invalid("the job's data is `" + data.plugin() + "`, and what is loaded was trained on `" + record_->plugin +
                     "`" + (record_->plugin == data.plugin() ? " that the script opened elsewhere" : "") + ": `" +
                     use_.source + "` cannot be read as it was then",
                 where);
}

}  // namespace baleen::app
