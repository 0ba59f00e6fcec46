/// \file A monitor as a C++ class: derive from Monitor, then `BALEEN_MONITOR(Mine)`.
#pragma once
#include <span>
#include <string_view>

#include "baleen/monitor.h"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// A record with C++ manners; borrowed, valid during the call.
class Record {
 public:
  explicit Record(const baleen_record_t* record) : record_(record) {}

  baleen_record_kind_t kind() const { return record_->kind; }
  std::int32_t rank() const { return record_->rank; }
  std::int64_t step() const { return record_->step; }
  std::int64_t steps() const { return record_->steps; }
  /// Since the start of the run.
  double seconds() const { return record_->seconds; }
  std::span<const baleen_fact_t> facts() const { return {record_->facts, record_->count}; }
  /// The fact of that name, or null.
  const baleen_fact_t* find(std::string_view name) const {
    for (const baleen_fact_t& fact : facts())
      if (view(fact.name) == name) return &fact;
    return nullptr;
  }

 private:
  const baleen_record_t* record_;
};

/// True where the fact is a text, not a number.
inline bool is_text(const baleen_fact_t& fact) { return fact.text.data != nullptr; }

/// Base of a member; its destructor flushes. [one thread] A member also has
/// `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&)`.
class Monitor {
 public:
  /// A member that sets this true is sent spans.
  static constexpr bool kWantsSpans = false;

  virtual ~Monitor() = default;
  virtual Status record(const Record& record) = 0;
  virtual Status spans(std::span<const baleen_span_t> spans) {
    (void)spans;
    return {};
  }
};

/// The C table of a member.
template <class Member>
baleen_monitor_t monitor_table() {
  using Self = Instance<Monitor>;
  baleen_monitor_t table{};
  table.create = &create_instance<Monitor, Member>;
  table.destroy = &Self::destroy;
  table.record = [](void* self, const baleen_record_t* record) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->record(Record(record)); });
  };
  if constexpr (Member::kWantsSpans) {
    table.spans = [](void* self, const baleen_span_t* spans, std::uint64_t count) {
      return guard(Self::of(self).host, [&] { return Self::of(self).member->spans({spans, count}); });
    };
  }
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` (a baleen::sdk::Monitor) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_MONITOR(Member) BALEEN_EXPORT_TABLE(baleen::sdk::monitor_table<Member>())
