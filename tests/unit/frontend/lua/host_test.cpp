/// \file The Lua host: what a script may and may not do, whatever it describes.
#include <chrono>
#include <thread>

#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using Host = ScriptTest;

const std::string kModel = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";

/// The script prints; then comes a job that loads.
#define EXPECT_PRINTS(code, expected)                                   \
  do {                                                                  \
    printed_.clear();                                                   \
    EXPECT_EQ(error_of(std::string(code) + "\n" + job_of(kModel)), ""); \
    EXPECT_EQ(printed_, expected);                                      \
  } while (false)

TEST_F(Host, VisitsPairsInTheOrderOfTheirKeys) {
  EXPECT_PRINTS(R"(local keys = {}
for key in pairs { z = 1, a = 2, [10] = 3, [2] = 4, [true] = 5, [false] = 6, m = 7 } do
  keys[#keys + 1] = tostring(key)
end
print(table.concat(keys, " ")))",
                "2 10 a m z false true\n");
}

TEST_F(Host, SkipsPairsThatAreRemovedMeanwhile) {
  EXPECT_PRINTS(R"(local t, seen = { a = 1, b = 2, c = 3 }, ""
for key in pairs(t) do seen = seen .. key; t.b = nil end
print(seen))",
                "ac\n");
}

TEST_F(Host, DrawsTheSameNumbersForASeed) {
  const std::string code = "print(math.random(1 << 40), math.random(), math.random(6))\n" + job_of(kModel);
  EXPECT_EQ(error_of(code), "");
  const std::string first = printed_;
  printed_.clear();
  EXPECT_EQ(error_of(code), "");
  EXPECT_EQ(printed_, first);
  printed_.clear();
  options_.seed = 2;
  EXPECT_EQ(error_of(code), "");
  EXPECT_NE(printed_, first);
}

TEST_F(Host, HasNoFilesNoSystemAndNoBinaryChunks) {
  EXPECT_PRINTS("print(io, os, debug, package, dofile, loadfile, string.dump)", "nil\tnil\tnil\tnil\tnil\tnil\tnil\n");
  EXPECT_PRINTS("print(load('\\27Lua'))", "nil\tattempt to load a binary chunk (mode is 't')\n");
  EXPECT_PRINTS("print(load('return 1 + 1')())", "2\n");
}

TEST_F(Host, RefusesAScriptThatIsABinaryChunk) {
  EXPECT_NE(error_of("\x1bLua").find("attempt to load a binary chunk"), std::string::npos);
}

TEST_F(Host, RequiresModulesBesideTheScript) {
  write("parts.lua", "print('loaded') return { dim = 4 }");
  EXPECT_PRINTS("print(require('parts').dim, require('parts').dim)", "loaded\n4\t4\n");
}

TEST_F(Host, SkipsAShebang) { EXPECT_EQ(error_of("#!/usr/bin/env baleen\n" + job_of(kModel)), ""); }

TEST_F(Host, StopsADescriptionThatDoesNotEnd) {
  options_.time_limit = std::chrono::milliseconds(100);
  const std::string message =
      "train.lua:1: the script did not finish describing its model in 0.1 s; is there an endless loop?";
  EXPECT_EQ(error_of("while true do end"), message);
  EXPECT_EQ(error_of("while true do pcall(function() while true do end end) end"), message);
  EXPECT_EQ(error_of("coroutine.wrap(function() while true do end end)()"), message);
  auto script = load("while true do end");
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().code, BALEEN_INVALID);
}

TEST_F(Host, DoesNotCountTheTimeInWhichDataIsOpened) {
  using std::chrono::milliseconds;
  milliseconds late(700);
  options_.time_limit = milliseconds(500);
  options_.stuck = [](const Error& why) { ADD_FAILURE() << why.text(); };
  options_.data = [&](const MemberSpec& spec, std::uint64_t seed) {
    std::this_thread::sleep_for(late);
    return FakeData::create(spec, seed);
  };
  EXPECT_EQ(error_of(job_of(kModel)), "");
  late = milliseconds(20);
  EXPECT_EQ(error_of("require('baleen').data.fake {}\nwhile true do end"),
            "train.lua:2: the script did not finish describing its model in 0.5 s; is there an endless loop?");
}

TEST_F(Host, StopsAMapThatDoesNotEnd) {
  options_.time_limit = std::chrono::milliseconds(100);
  write("map.lua", "while true do end");
  auto library = Script::library(options_);
  ASSERT_TRUE(library);
  MapRequest request;
  request.map = folder_ / "map.lua";
  const auto map = (*library)->model_map(request);
  ASSERT_FALSE(map);
  EXPECT_NE(map.error().text().find("map.lua:1: the script did not finish"), std::string::npos) << map.error().text();
}

/// One call of C that takes for ever: nothing in Lua can end it.
TEST_F(Host, EndsTheProcessOfAScriptThatSitsInOneCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  options_.time_limit = std::chrono::milliseconds(200);
  options_.stuck = [](const Error& why) {
    std::fputs(why.text().c_str(), stderr);
    std::_Exit(2);
  };
  for (const std::string code :
       {"table.move({}, 1, math.maxinteger - 1, 2)", "print((('a'):rep(40)):find(('.-'):rep(40) .. 'b'))"})
    EXPECT_EXIT((void)load(code), ::testing::ExitedWithCode(2), "the script sits in one call for 0.2 s and more")
        << code;
}

TEST_F(Host, KeepsAScriptBelowAGibibyte) {
  const std::string message = "the script holds more than 960 MiB of memory";
  for (const std::string code :
       {"local s, t = ('x'):rep(100000), {} for i = 1, 1e9 do t[i] = s .. i end",
        "local s = 'x' while true do s = s .. s end", "local t = {} for i = 1, 1e9 do t[i] = i end"}) {
    const auto script = load(code);
    ASSERT_FALSE(script) << code;
    EXPECT_EQ(script.error().code, BALEEN_INVALID);
    EXPECT_NE(script.error().text().find(message), std::string::npos) << script.error().text();
  }
}

TEST_F(Host, ListsTheCallsThatLedToAnError) {
  EXPECT_EQ(error_of("local function inner() error('no') end\nlocal function outer()\n  inner()\nend\nouter()\n"),
            "train.lua:1: no\n  called from train.lua:3\n  called from train.lua:5");
}

TEST_F(Host, NamesTheModuleOfAnError) {
  write("parts.lua", "\nreturn nil + 1");
  EXPECT_EQ(error_of("\n\nlocal parts = require 'parts'"),
            "parts.lua:2: attempt to perform arithmetic on a nil value\n  called from train.lua:3");
}

TEST_F(Host, SurvivesErrorsThatAreNoStrings) {
  EXPECT_EQ(error_of("error({})"), "train.lua:1: error(table) was called; give it a text that says what is wrong");
  EXPECT_EQ(error_of("error()"), "train.lua:1: error(nil) was called; give it a text that says what is wrong");
}

TEST_F(Host, LetsAScriptCatchOurErrors) {
  EXPECT_PRINTS("print(pcall(require, 'absent'))",
                "false\t" + (folder_ / "train.lua").string() + ":1: require: there is no module `absent`; looked for " +
                    (folder_ / "absent.lua").string() + " and " + (folder_ / "absent/init.lua").string() + "\n");
}

}  // namespace
}  // namespace baleen::testing
