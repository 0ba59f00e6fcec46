/// \file The ends of connections, between two wires in one thread.
#include "tls_wire.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "support/plugin_under_test.hpp"
#include "support/shared_rendezvous.hpp"

namespace baleen::ucx {
namespace {

/// One of two ranks; what it hears of the other one, in order.
struct End {
  End(std::int32_t number, test::SharedRendezvous& meeting) : rank(number), view(meeting.of(number, 2)) {
    Options options;
    options.devices = "lo";
    auto made = TlsWire::create(Host(host.get()), options, Rendezvous(&view));
    EXPECT_TRUE(made) << host.failure();
    wire = *std::move(made);
    wire->on_note([this](const NoteHeader& header, std::string_view bytes) {
      heard.push_back(std::string(header.kind == NoteKind::kGoodbye ? "goodbye: " : "note: ") + std::string(bytes));
    });
    wire->on_break([this](std::int32_t, const std::string&) { heard.push_back("broken"); });
  }
  std::int32_t rank;
  baleen_rendezvous_t view;
  test::TestHost host;
  std::unique_ptr<TlsWire> wire;
  std::vector<std::string> heard;
};

/// On two hosts, so over TCP, or on one.
class TlsWireEnds : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(near.wire->open(1, *far.wire->address()));
    ASSERT_TRUE(far.wire->open(0, *near.wire->address()));
    near.wire->note(1, NoteKind::kHello, "1");
    far.wire->note(0, NoteKind::kHello, "2");
    for (int turn = 0; turn < 100'000 && (near.heard.empty() || far.heard.empty()); ++turn) {
      near.wire->progress();
      far.wire->progress();
    }
    ASSERT_EQ(near.heard, std::vector<std::string>{"note: 2"});
    near.heard.clear();
  }
  /// The far end says why it leaves, while the near one looks away.
  void leave() {
    far.wire->note(0, NoteKind::kGoodbye, "rank 3 has left");
    far.wire->close(0, false);
    for (int turn = 0; turn < 100'000 && far.wire->tidy(); ++turn) far.wire->progress();
    far.wire->abandon();
  }
  test::SharedRendezvous meeting{GetParam()};
  End near{0, meeting}, far{1, meeting};
};

TEST_P(TlsWireEnds, AReasonIsHeardByWhoFindsOutThatNothingCanBeSent) {
  leave();
  for (int i = 0; i < 3; ++i) near.wire->note(1, NoteKind::kLetter, "are you there?");
  for (int turn = 0; turn < 1'000 && near.wire->is_open(1); ++turn) near.wire->progress();
  EXPECT_FALSE(near.wire->is_open(1));
  EXPECT_EQ(near.heard, (std::vector<std::string>{"goodbye: rank 3 has left", "broken"}));
  EXPECT_TRUE(near.wire->arm()) << "nothing is left to do";
}

TEST_P(TlsWireEnds, WithoutAReasonIsABreak) {
  far.wire->abandon();
  for (int i = 0; i < 3; ++i) near.wire->note(1, NoteKind::kLetter, "are you there?");
  for (int turn = 0; turn < 1'000 && near.wire->is_open(1); ++turn) near.wire->progress();
  EXPECT_FALSE(near.wire->is_open(1));
  EXPECT_EQ(near.heard, std::vector<std::string>{"broken"});
}

INSTANTIATE_TEST_SUITE_P(On, TlsWireEnds, testing::Values("ab", "aa"),
                         [](const auto& hosts) { return std::string(hosts.param) == "ab" ? "TwoHosts" : "OneHost"; });

}  // namespace
}  // namespace baleen::ucx
