/// \file Facts to JSON and back.
#include "facts.hpp"

#include <nlohmann/json.hpp>

namespace baleen::text {

std::string Facts::text() const {
  nlohmann::ordered_json all = {{"tokenizer", tokenizer}, {"vocabulary", vocabulary}};
  if (!alphabet.empty()) all["alphabet"] = alphabet;
  return all.dump();
}

Result<Facts> Facts::parse(std::string_view text) {
  Facts facts;
  try {
    const auto all = nlohmann::json::parse(text);
    all.at("tokenizer").get_to(facts.tokenizer);
    all.at("vocabulary").get_to(facts.vocabulary);
    if (all.contains("alphabet")) all.at("alphabet").get_to(facts.alphabet);
  } catch (const nlohmann::json::exception& problem) {
    return invalid("what was saved with the parameters about this text cannot be used: " + std::string(problem.what()) +
                   "; save them again from a run of this job");
  }
  return facts;
}

}  // namespace baleen::text
