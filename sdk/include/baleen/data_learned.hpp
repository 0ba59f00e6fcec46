/// \file What a dataset adds that learns from its rows: the interface "baleen.data.learned/1" (a draft).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "baleen/data_learned.h"
#include "baleen/data_tokenizer.hpp"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// What a dataset is made with that takes facts.
struct LearnedFacts {
  std::string text;    ///< what `learned` gave
  std::string source;  ///< in place of what the settings name; empty: theirs
  baleen_learned_use_t use = BALEEN_LEARNED_PARTS;

  bool takes_all_rows() const { return use != BALEEN_LEARNED_PARTS; }
};

/// A member has `static Result<std::unique_ptr<Member>> take(const Host&, const Settings&, const LearnedFacts&)` too.
class Learned {
 public:
  virtual ~Learned() = default;
  /// One JSON object.
  virtual std::string learned() const = 0;
  /// Of a class; "" where numbers have none.
  virtual std::string label(std::int64_t number) const = 0;
};

namespace detail {

template <class Base, class Member>
baleen_status_t take_learned(const baleen_host_t* host, const baleen_settings_t* settings, baleen_string_t learned,
                             baleen_string_t source, baleen_learned_use_t use, void** out) {
  return guard(Host(host), [&]() -> Status {
    if (use < BALEEN_LEARNED_PARTS || use > BALEEN_LEARNED_NO_TARGET)
      return internal("no use " + std::to_string(use) + " of what was learned");
    const LearnedFacts facts{std::string(view(learned)), std::string(view(source)), use};
    BALEEN_TRY_ASSIGN(auto member, Member::take(Host(host), Settings(settings), facts));
    return Instance<Base>::keep(Host(host), std::move(member), out);
  });
}

/// The table of a member that derives from Learned.
template <class Base, class Member>
const baleen_data_learned_t* learned_table() {
  using Self = Instance<Base>;
  static const baleen_data_learned_t table = {
      sizeof(baleen_data_learned_t),
      [](void* self, char* text, std::int64_t capacity) {
        return give_some(Self::of(self).host, text, capacity, [&]() -> Result<std::string> {
          return dynamic_cast<const Learned&>(*Self::of(self).member).learned();
        });
      },
      &take_learned<Base, Member>,
      [](void* self, std::int64_t number, char* text, std::int64_t capacity) {
        return give_some(Self::of(self).host, text, capacity, [&]() -> Result<std::string> {
          return dynamic_cast<const Learned&>(*Self::of(self).member).label(number);
        });
      }};
  return &table;
}

}  // namespace detail
}  // namespace baleen::sdk
