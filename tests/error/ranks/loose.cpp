/// \file A transport that adds in any order, as some libraries do: it refuses sums that are to be alike in every run.
/// All else is another transport's.
#include "baleen/collective.hpp"
#include "baleen/open_transport.hpp"
#include "baleen/opened_member.hpp"

BALEEN_DESCRIPTOR("transport", "loose", "1.0.0", "Apache-2.0", "sums in any order, for tests", -1, "",
                  BALEEN_OPTION("over", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_MEMBER, 1, 0, "",
                                "", "", "carries what is sent"));

namespace baleen {

using namespace sdk;

namespace {

class Loose : public Transport {
 public:
  static Result<std::unique_ptr<Loose>> create(const Host& host, const Settings& settings, const Rendezvous& rendezvous,
                                               baleen_transport_flags_t) {
    BALEEN_TRY_ASSIGN(OpenedMember over, OpenedMember::open(host, settings, "transport", settings.text("over")));
    std::unique_ptr<Loose> made(new Loose(std::move(over)));
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
    if (is_reducing(spec.op) && spec.deterministic)
      return unsupported("it adds in any order; write `deterministic = false` into [transport]",
                         std::string(view(spec.where)));
    return over_->prepare(group, spec);
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    return over_->start(slot, after, after_value, done, done_value);
  }
  Status check() override { return over_->check(); }
  void abort(std::string_view reason) override { over_->abort(reason); }

 private:
  explicit Loose(OpenedMember member) : member_(std::move(member)) {}

  const OpenedMember member_;
  std::unique_ptr<OpenTransport> over_;
};

}  // namespace
}  // namespace baleen

BALEEN_TRANSPORT(baleen::Loose);
