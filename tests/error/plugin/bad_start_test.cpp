/// \file Plugins that are sound files and still cannot serve: by kind, by symbols, or by how they start.
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr int kBadInput = 2;

class BadStart : public testing::Test {
 protected:
  /// `baleen run` with this compute plugin: a member of the bad folder, or a path.
  ProcessResult run_with(const std::string& compute) {
    const std::string script = folder_.write("job.lua", "error('the script must not be reached')\n");
    return run_baleen({"run", script, "--plugin-path", BAD_FOLDER, "--set", "compute.plugin=" + compute});
  }
  void expect_refused(const std::string& compute, const std::string& why) {
    const ProcessResult result = run_with(compute);
    expect_refusal(result, {.exit_code = kBadInput, .after_others = true, .parts = {why}});
    EXPECT_EQ(result.err.find("must not be reached"), std::string::npos) << result.err;
  }
  TemporaryFolder folder_;
};

TEST_F(BadStart, NeedsASymbolThatNobodyDefines) {
  expect_refused("undefined", "baleen_compute_undefined.so: plugin compute `undefined` cannot be loaded: ");
  expect_refused("undefined", "undefined symbol: function_that_nobody_defines");
}

TEST_F(BadStart, HasNoStartFunction) {
  expect_refused("startless", "plugin compute `startless` exports no `baleen_plugin_start`");
}

TEST_F(BadStart, Throws) {
  expect_refused("throws",
                 "plugin compute `throws` threw an exception out of `baleen_plugin_start`: the device is on fire");
}

TEST_F(BadStart, ThrowsWhatIsNoException) {
  expect_refused("throws_int", "plugin compute `throws_int` threw an exception out of `baleen_plugin_start`");
}

TEST_F(BadStart, FailsWithItsOwnReason) {
  expect_refused("fails", "baleen_compute_fails.so: plugin compute `fails`: no such device on this machine");
}

TEST_F(BadStart, LeavesItsTableIncomplete) {
  expect_refused(
      "incomplete",
      "plugin compute `incomplete` left the function `arena_create` of its table empty (see baleen/compute.h)");
}

TEST_F(BadStart, HandsOverATableOfAnotherKind) {
  expect_refused("other_table",
                 "plugin compute `other_table`: its table is of kind `optimizer`, and its descriptor says `compute`");
}

TEST_F(BadStart, IsOfTheWrongKind) {
  expect_refused("other_kind", "--set compute.plugin=other_kind: wrong kind: `other_kind` is a plugin of kind data");
  expect_refused(BAD_FOLDER + "/baleen_data_other_kind.so", "wrong kind: it is the data plugin `other_kind`");
}

TEST_F(BadStart, IsUnknown) {
  expect_refused("thorws", "--set compute.plugin=thorws: unknown compute plugin `thorws`; did you mean `throws`?");
}

TEST_F(BadStart, IsReportedByTheDoctor) {
  const ProcessResult result = run_baleen({"doctor", "--plugin-path", BAD_FOLDER});
  EXPECT_NE(result.out.find("not usable: "), std::string::npos);
  EXPECT_NE(result.out.find("the device is on fire"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("undefined symbol"), std::string::npos) << result.out;
}

/// What a data plugin says of its lists is held against its fields before a script sees them.
TEST_F(BadStart, HasLengthsOfListsWhereNoneCanBe) {
  const auto expect_said = [&](const std::string& options, const std::string& why) {
    const std::string script =
        folder_.write("job.lua", "local data = require('baleen').data.ragged { " + options +
                                     " }\nerror('lengths in ' .. tostring(data.fields[1].length))\n");
    const ProcessResult result = run_baleen({"run", script, "--plugin-path", BAD_FOLDER});
    EXPECT_EQ(result.exit_code == kBadInput, why.starts_with("lengths")) << result.err;
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
  };
  const std::string items = "data `ragged`: its ragged field `items` ";
  expect_said("lengths = 3", items + "has its lengths in field 3 of 3; see baleen/data.h");
  expect_said("lengths = -2", items + "has its lengths in field -2 of 3; see baleen/data.h");
  expect_said("lengths = 1", items + "has its lengths in `weights`, which is not one int32 in a row");
  expect_said("lengths = 0", items + "has its lengths in `items`, which is not one int32 in a row");
  expect_said("list = 1, lengths = 2", "data `ragged`: its ragged field `weights` has no dimensions");
  expect_said("lengths = 9", "no lengths today");
  expect_said("lengths = 2", "lengths in count");
}

}  // namespace
}  // namespace baleen::test
