/// \file Facts to JSON, and back with every member checked: the file may come from anywhere.
#include "facts.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace baleen::table {
namespace {

using Json = nlohmann::ordered_json;

Error unusable(const std::string& what) {
  return invalid("what was saved with the parameters about this table cannot be used: " + what +
                 "; save them again from a run of this job");
}

/// Numbers that come back as they were.
bool is_finite(double number) { return std::isfinite(number); }

Status check(const FeatureFacts& feature) {
  const std::string who = "`" + feature.name + "`";
  if (!is_finite(feature.mean) || !is_finite(feature.deviation) || feature.deviation <= 0)
    return unusable(who + " has no mean or deviation");
  if (feature.numeric) return {};
  if (feature.most_frequent < 0 || static_cast<std::size_t>(feature.most_frequent) >= feature.categories.size())
    return unusable(who + " has no category " + std::to_string(feature.most_frequent));
  return {};
}

}  // namespace

std::string Facts::text() const {
  Json all = {{"named", named}, {"normalize", normalize}, {"label", label}, {"classify", classify}};
  all["features"] = Json::array();
  for (const FeatureFacts& feature : features) {
    Json one = {{"name", feature.name}, {"marks_missing", feature.marks_missing}};
    if (feature.numeric)
      one.update({{"mean", feature.mean}, {"deviation", feature.deviation}});
    else
      one.update({{"categories", feature.categories}, {"most_frequent", feature.most_frequent}});
    all["features"].push_back(std::move(one));
  }
  if (classify) all["classes"] = classes;
  if (!class_values.empty()) all["class_values"] = class_values;
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Facts> Facts::parse(std::string_view text) {
  Facts facts;
  try {
    const Json all = Json::parse(text);
    all.at("named").get_to(facts.named);
    all.at("normalize").get_to(facts.normalize);
    all.at("classify").get_to(facts.classify);
    all.at("label").get_to(facts.label);
    for (const Json& one : all.at("features")) {
      FeatureFacts& feature = facts.features.emplace_back();
      one.at("name").get_to(feature.name);
      one.at("marks_missing").get_to(feature.marks_missing);
      feature.numeric = !one.contains("categories");
      if (feature.numeric) {
        one.at("mean").get_to(feature.mean);
        one.at("deviation").get_to(feature.deviation);
      } else {
        one.at("categories").get_to(feature.categories);
        one.at("most_frequent").get_to(feature.most_frequent);
      }
      BALEEN_TRY(check(feature));
    }
    if (facts.classify) all.at("classes").get_to(facts.classes);
    if (all.contains("class_values")) all.at("class_values").get_to(facts.class_values);
  } catch (const Json::exception& problem) {
    return unusable(problem.what());
  }
  if (facts.classify && facts.classes.empty()) return unusable("it has no classes");
  if (!facts.class_values.empty() && facts.class_values.size() != facts.classes.size())
    return unusable("it has " + std::to_string(facts.classes.size()) + " classes of " +
                    std::to_string(facts.class_values.size()) + " values");
  return facts;
}

}  // namespace baleen::table
