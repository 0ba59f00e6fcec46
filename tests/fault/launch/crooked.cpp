/// \file A transport of which one rank, once, starts another collective than it was asked to, or prepares one of
/// another shape, or from some start on starts none, or gets wrong sums. All else is another transport's.
#include <algorithm>
#include <fstream>
#include <map>

#include "baleen/event.hpp"
#include "baleen/open_transport.hpp"
#include "baleen/opened_member.hpp"

BALEEN_DESCRIPTOR("transport", "crooked", "1.0.0", "Apache-2.0", "One rank does otherwise, for tests", -1, "",
                  BALEEN_OPTION("over", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_MEMBER, 1, 0, "",
                                "", "", "carries what is sent"),
                  BALEEN_OPTION("rank", BALEEN_OPTION_INT, 0, 0, 99, "0", "", "", "that does otherwise"),
                  BALEEN_OPTION("start", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "from 1: the one that is another collective's; 0: none"),
                  BALEEN_OPTION("lose", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "from 1: the first that never starts, as those behind it; 0: none"),
                  BALEEN_OPTION("wrong", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "from 1: the first of fp32 that is summed wrong, as those behind it; 0: none"),
                  BALEEN_OPTION("mark", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "",
                                "a file that is made when one does not start"),
                  BALEEN_OPTION("prepare", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "from 1: the collective of another shape; 0: none"));

namespace baleen {

using namespace sdk;

namespace {

class Crooked : public Transport {
 public:
  static Result<std::unique_ptr<Crooked>> create(const Host& host, const Settings& settings,
                                                 const Rendezvous& rendezvous, baleen_transport_flags_t) {
    BALEEN_TRY_ASSIGN(OpenedMember over, OpenedMember::open(host, settings, "transport", settings.text("over")));
    std::unique_ptr<Crooked> made(new Crooked(std::move(over)));
    if (rendezvous.get()->rank == settings.integer("rank")) {
      made->start_ = settings.integer("start");
      made->mark_ = settings.text("mark");
      made->lose_ = settings.integer("lose");
      made->wrong_ = settings.integer("wrong");
      made->prepare_ = settings.integer("prepare");
    }
    const OpenedMember& member = made->member_;
    BALEEN_TRY_ASSIGN(
        made->over_,
        TableTransport::create(member.table<baleen_transport_t>(), member.host(), member.settings(), *rendezvous.get(),
                               [&member](baleen_status_t status) { return member.failure(status); }));
    return made;
  }

  Result<void*> allocate(std::uint64_t bytes) override { return over_->allocate(bytes); }
  void release(void* base) override { over_->release(base); }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override { return over_->group_create(std::move(ranks)); }
  void group_destroy(void* group) override { over_->group_destroy(group); }
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override {
    const bool is_odd = spec.entry_count > 0 && prepare_ > 0 && --prepare_ == 0;
    std::vector<baleen_collective_entry_t> entries(spec.entries, spec.entries + spec.entry_count);
    if (is_odd) entries.front().count += 1;
    baleen_collective_spec_t mine = spec;
    mine.entries = entries.data();
    BALEEN_TRY_ASSIGN(void* const slot, over_->prepare(group, mine));
    slots_[slot] = {group, spec.op};
    if (spec.op == BALEEN_ALL_REDUCE && spec.dtype == BALEEN_F32) sums_[slot] = std::move(entries);
    return slot;
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    if (start_ > 0 && --start_ == 0) slot = other(slot);
    if (lose_ == 1) return std::ofstream(mark_, std::ios::app).flush(), Status();
    if (lose_ > 1) --lose_;
    if (wrong_ > 1) --wrong_;
    if (wrong_ == 1 && sums_.contains(slot)) return sum_wrong(slot, after, after_value, done, done_value);
    return over_->start(slot, after, after_value, done, done_value);
  }
  Status check() override { return over_->check(); }
  void abort(std::string_view reason) override { over_->abort(reason); }

 private:
  explicit Crooked(OpenedMember member) : member_(std::move(member)) {}

  /// Another one of its group. Where there is none, the next start is the odd one.
  void* other(void* slot) {
    const auto found = std::ranges::find_if(slots_, [&](const auto& each) {
      return each.first != slot && each.second.first == slots_[slot].first && each.second.second == BALEEN_ALL_REDUCE;
    });
    if (found == slots_.end()) return start_ = 1, slot;
    return found->first;
  }

  /// Each first element is a little less than it should be.
  Status sum_wrong(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                   std::uint64_t done_value) {
    baleen_event_t own{sizeof own, 0, 0, nullptr};
    BALEEN_TRY(over_->start(slot, after, after_value, &own, 1));
    event_wait(own, 1, 60);
    for (const baleen_collective_entry_t& entry : sums_[slot]) *static_cast<float*>(entry.output) *= 0.999F;
    event_signal(*done, event_value(own) > 1 ? BALEEN_EVENT_FAILED : done_value);
    return {};
  }

  const OpenedMember member_;
  std::unique_ptr<OpenTransport> over_;
  std::int64_t start_ = 0, lose_ = 0, wrong_ = 0, prepare_ = 0;  ///< 1: the next one is odd; 0: none is
  std::string mark_;
  std::map<void*, std::pair<void*, baleen_collective_t>> slots_;
  std::map<void*, std::vector<baleen_collective_entry_t>> sums_;
};

}  // namespace
}  // namespace baleen

BALEEN_TRANSPORT(baleen::Crooked);
