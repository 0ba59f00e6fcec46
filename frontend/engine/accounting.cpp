/// \file Counts on each rank, and brings the numbers to rank 0.
#include "frontend/engine/accounting.hpp"

#include <map>
#include <sstream>

#include "core/runtime/session_memory.hpp"
#include "frontend/engine/process_memory.hpp"

namespace baleen::app {
namespace {

using Numbers = std::map<std::string, std::uint64_t>;

Numbers own_numbers(const Session& session) {
  Numbers numbers;
  for (const auto& [kind, bytes] : session.planned_bytes()) numbers["planned_bytes." + kind] = bytes;
  numbers["working_bytes"] = session.working().total();
  numbers["working_value_bytes"] = session.working().values;
  numbers["allocated_bytes"] = session.allocated_bytes();
  const ProcessMemory memory = process_memory();
  numbers["resident_bytes"] = memory.resident;
  numbers["process_bytes"] = memory.own_peak();
  for (const Traffic& t : session.traffic())
    numbers["sent_bytes." + t.kind + "." + t.axes] = t.bytes * static_cast<std::uint64_t>(session.steps_done());
  return numbers;
}

std::string to_text(const Numbers& numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) text += name + " " + std::to_string(number) + "\n";
  return text;
}

Numbers from_text(const std::string& text) {
  Numbers numbers;
  std::istringstream lines(text);
  std::string name;
  std::uint64_t number = 0;
  while (lines >> name >> number) numbers[name] = number;
  return numbers;
}

std::string for_people(const Numbers& numbers) {
  std::string text = "planned " + bytes_text(numbers.at("planned_bytes.total")) + " (";
  for (const char* kind : {"parameters", "gradients", "optimizer", "activations"})
    if (const auto it = numbers.find(std::string("planned_bytes.") + kind); it != numbers.end())
      text += std::string(text.back() == '(' ? "" : ", ") + kind + " " + bytes_text(it->second);
  text += "), allocated " + bytes_text(numbers.at("allocated_bytes")) + ", resident " +
          bytes_text(numbers.at("resident_bytes"));
  constexpr std::string_view kSent = "sent_bytes.";
  for (const auto& [name, bytes] : numbers)
    if (name.starts_with(kSent)) {
      std::string what = name.substr(kSent.size());  // "all_reduce.data"
      if (const std::size_t dot = what.find('.'); dot != what.npos) what.replace(dot, 1, " over ");
      text += ", sent " + bytes_text(bytes) + " by " + what;
    }
  return text;
}

void add(const Numbers& numbers, int rank, std::vector<Fact>& facts) {
  const std::string number = std::to_string(rank);
  for (const auto& [name, bytes] : numbers)
    facts.push_back({"rank." + number + "." + name, static_cast<double>(bytes), {}});
  facts.push_back({"rank " + number, 0, for_people(numbers)});
}

}  // namespace

Result<std::vector<Fact>> account(const Session& session, RankLink* link) {
  const Numbers mine = own_numbers(session);
  std::vector<Fact> facts;
  if (!link) {
    add(mine, 0, facts);
    return facts;
  }
  const Place& place = link->place();
  if (place.rank != 0) BALEEN_TRY(link->put("account." + std::to_string(place.rank), to_text(mine)));
  // What ranks share is counted by how many have it, so nobody leaves before all have counted.
  BALEEN_TRY(link->barrier("account"));
  if (place.rank != 0) return facts;
  add(mine, 0, facts);
  for (int rank = 1; rank < place.ranks; ++rank) {
    BALEEN_TRY_ASSIGN(const std::string text, link->get("account." + std::to_string(rank)));
    add(from_text(text), rank, facts);
  }
  return facts;
}

}  // namespace baleen::app
