/// \file Ranks that do not do the same: the first difference is told once, and nobody waits for what never comes.
#include <algorithm>
#include <chrono>

#include "ranks_run.hpp"
#include "support/promise.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

class UnevenRanks : public Ranks {
 protected:
  /// A job whose data is not alike on all ranks.
  std::string odd(const std::string& how, const std::string& more = "batch = 6") const {
    return script(more, "odd { " + mark() + ", how = '" + how + "' }");
  }
};

TEST_F(UnevenRanks, OneFailsInTheScript) { expect_refused(run(3, odd("fails")), "this rank has no data"); }

/// While the others connect.
TEST_F(UnevenRanks, OneDiesOrStopsInTheScript) {
  const std::vector<std::pair<std::string, std::string>> ends{{"dies", ": killed by SIGKILL"},
                                                              {"stops", ": stopped by a signal"}};
  for (const auto& [how, said] : ends) {
    expect_kept(how == "dies" ? 3 : 5, [&, how = how, said = said] {
      const TemporaryFolder folder;
      const std::string data = "odd { mark = '" + (folder / "mark") + "', how = '" + how + "' }";
      const auto start = std::chrono::steady_clock::now();
      const ProcessResult result = run(3, script("batch = 6", data));
      const double took = seconds_since(start);
      expect_refused(result, said, 4);
      EXPECT_TRUE(result.err.starts_with("error: rank ")) << result.err;
      return took;
    });
  }
}

TEST_F(UnevenRanks, OneDescribesAnotherModel) {
  const ProcessResult result = run(2, odd("classes"));
  expect_refused(result, "rank 1: its job is not that of rank 0: `parameter `weight` is ");
  EXPECT_NE(result.err.find("[3, 5]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("[3, 4]"), std::string::npos) << result.err;
}

TEST_F(UnevenRanks, OneDescribesAnotherLength) {
  const ProcessResult result = run(2, odd("rows", "batch = 6, steps = points.rows"));
  expect_refused(result, "rank 1: its job is not that of rank 0: `steps = 4");
}

TEST_F(UnevenRanks, OneHasOtherRows) {
  const ProcessResult result = run(2, odd("values"));
  expect_refused(result, "rank 1: its job is not that of rank 0: `the digest of the data's content is ");
}

TEST_F(UnevenRanks, OneHasMoreRowsThanItTrainsOn) {
  const ProcessResult result = run(2, odd("rows"));
  expect_refused(result, "rank 1: its job is not that of rank 0: `the data has 4");
  EXPECT_NE(result.err.find("the data has 48 rows to train on and 8 held out"), std::string::npos) << result.err;
}

TEST_F(UnevenRanks, OneHasNoEvaluation) {
  const ProcessResult result = run(2, odd("held_out"));
  expect_refused(result, "rank 1: its job is not that of rank 0: `graphs = train");
  EXPECT_NE(result.err.find("`graphs = train evaluate`"), std::string::npos) << result.err;
}

/// Noticed whatever the transport, before memory is allocated.
TEST_F(UnevenRanks, OneJoinsCollectivesOtherwise) {
  const ProcessResult result = run(2, script("batch = 4, plan = { baleen.strategy('uneven', { " + mark() + " }) }"));
  expect_refused(result, " begins all_reduce at ");
  for (const char* part :
       {"rank 1 begins ", " where rank 0 begins ", " of what they begin together; a strategy must plan"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

/// As another build of a plugin may: what ranks begin together is the same.
TEST_F(UnevenRanks, OneComputesOtherwise) {
  const std::string plan = "plan = { baleen.strategy('uneven', { " + mark() + ", what = 'gradients' }) }";
  const ProcessResult result = run(2, script("batch = 4, " + plan));
  expect_refused(result, "rank 1: the job is that of rank 0, and its plan is not: `train graph, op ");
  EXPECT_NE(result.err.find("` here is something else there; every host must have the same build"), std::string::npos)
      << result.err;
}

/// Alike before the first step, and then by what each rank has measured.
TEST_F(UnevenRanks, ASchedulesValuesPart) {
  const std::string file = folder_.write(
      "train.lua", std::string("local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal points = baleen.data.") +
                       kRows +
                       "\nlocal rate = 0.01\n"
                       "return baleen.job { model = nn.linear { out = points.classes }, data = points,\n"
                       "  steps = 3, batch = 4, loss = nn.cross_entropy {},\n"
                       "  optimizer = baleen.optimizer('sgd', { lr = function() return rate end }),\n"
                       "  on_step = function(info) rate = info.step_ms * 1e-6 end }\n");
  const std::string saved = folder_ / "end.safetensors";
  const ProcessResult result = run(2, file, {"--save", saved});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("schedule `lr` gave other values on rank 1 than on rank 0 by step 3"), std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(saved));
  EXPECT_EQ(result.err.find("are saved in"), std::string::npos) << result.err;
}

/// Likewise of a program that learns, beside steps and in a job without any.
TEST_F(UnevenRanks, AProgramsScheduleParts) {
  const auto job = [&](const std::string& more) {
    const std::string file = folder_.write(
        "train.lua", "local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal points = baleen.data.odd { " +
                         mark() +
                         ", how = 'summary' }\n"
                         "local layer, rate, x = nn.linear { name = 'l', out = 4 }, 0.01, {}\n"
                         "for i = 1, 4 do x[i] = { i, 1, 2 } end\n"
                         "local learn = { inputs = { x = { shape = { 4, 3 }, axes = { 'batch', '' } } },\n"
                         "  run = function(given) return { loss = layer(given.x):sum() } end,\n"
                         "  optimizer = baleen.optimizer('sgd', { lr = function() return rate end }) }\n"
                         "local function apart(run)\n"
                         "  run:run('learn', { x = x })\n"
                         "  if points.summary == 'other' then rate = 0.02 end\n"
                         "end\n"
                         "return baleen.job { programs = { learn = learn }, check = { every = 2 }, " +
                         more + " }\n");
    std::filesystem::remove(folder_ / "mark");
    return run(2, file);
  };
  const auto expect = [](const ProcessResult& result, const std::string& when) {
    EXPECT_EQ(result.exit_code, 6) << result.err;
    EXPECT_NE(result.err.find("schedule `learn.lr` gave other values on rank "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(" than on rank 0 by " + when + ", so"), std::string::npos) << result.err;
  };
  expect(job("loop = function(job, run) for i = 1, 7 do apart(run) end end"), "run 2");
  expect(job("model = layer, data = points, steps = 5, batch = 4, loss = nn.cross_entropy {},\n"
             "  optimizer = baleen.optimizer('sgd'), on_step = function(facts, run) apart(run) end"),
         "step 2");
}

/// The callback is the same on all ranks; what it gives a program is made of what is not.
TEST_F(UnevenRanks, OneIsGivenOtherInputs) {
  const ProcessResult result =
      run(2, odd("summary",
                 "batch = 6,\n  programs = { twice = { inputs = { x = { dtype = 'fp32', shape = { 2 } } },\n"
                 "    run = function(t) return { y = t.x * 2 } end } },\n"
                 "  on_step = function(info, run)\n"
                 "    run:run('twice', { x = { 1, points.summary == 'other' and 2 or 3 } })\n  end"));
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("program `twice` was given other inputs on rank 1 than on rank 0 by step 2"),
            std::string::npos)
      << result.err;
}

/// The plans are alike; how the script drives them is not.
class RanksApart : public UnevenRanks {
 protected:
  using Sides = std::vector<std::vector<std::string>>;  ///< all of one of them

  /// One step together, and then what only the odd rank does, and what the other does.
  void expect_named(const std::string& odd_one, const std::string& other, const Sides& sides) {
    expect_kept(3, [&] { return seconds_until_named(odd_one, other, sides); });
  }
  /// Who notices first names it: the launcher, or the transport where its members meet.
  static bool names(const std::string& text, const Sides& sides) {
    return std::ranges::any_of(sides, [&](const std::vector<std::string>& parts) {
      return std::ranges::all_of(parts, [&](const std::string& part) { return text.find(part) != std::string::npos; });
    });
  }

 private:
  double seconds_until_named(const std::string& odd_one, const std::string& other, const Sides& sides) {
    std::filesystem::remove(folder_ / "mark");
    std::vector<std::string> words = on_ranks(2,
                                              odd("summary",
                                                  "batch = 6, loop = function(job, run)\n"
                                                  "  run:step()\n"
                                                  "  print('apart')\n"
                                                  "  if points.summary == 'other' then " +
                                                      odd_one + " else " + other + " end\nend"),
                                              {});
    words.insert(words.begin(), build_dir() + "/bin/baleen");
    RunningJob job(words);
    EXPECT_TRUE(job.prints("apart\n")) << job.err();
    const auto start = std::chrono::steady_clock::now();
    const auto code = job.ends();
    const double took = seconds_since(start);
    EXPECT_EQ(code, 2);
    EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return job.processes().empty(); })) << "an orphan is left";
    EXPECT_EQ(std::count(job.err().begin(), job.err().end(), '\n'), 1) << job.err();
    EXPECT_TRUE(names(job.err(), sides)) << job.err();
    return took;
  }
};

TEST_F(RanksApart, ByAnotherProgram) {
  expect_named("run:evaluate(1)", "run:step()",
               {{"rank 1 runs program `evaluate` where rank 0 runs program `train`", "a script must do the same"},
                {"rank 0 runs program `train` where rank 1 runs program `evaluate`"},
                {"rank 1 runs program `train` where rank 0 runs program `evaluate`"},
                {"rank 0 runs program `evaluate` where rank 1 runs program `train`"},
                {"rank 1 starts ", " where rank 0 starts ", "number 1 of `train`", "number 1 of `evaluate`"}});
}

const std::vector<std::string> kEndSeenByTransport{"starts barrier at the end of the script",
                                                   "(loss), number 1 of `train`", "rank 1 starts ",
                                                   " where rank 0 starts "},
    kEndSeenByLauncher{" is at the end of the script", " runs program `train`", " where rank "};

TEST_F(RanksApart, ByAnEarlyEnd) { expect_named("return", "run:step()", {kEndSeenByTransport, kEndSeenByLauncher}); }

/// Through two transports: those on one host, or on two, may be the first to see it.
TEST_F(RanksApart, ByAnEarlyEndOnSeveralHosts) {
  std::vector<std::string> words = on_ranks(4,
                                            odd("summary",
                                                "batch = 6, loop = function(job, run)\n"
                                                "  run:step()\n"
                                                "  if points.summary ~= 'other' then run:step() end\nend"),
                                            {});
  for (const char* set : {"intra_host=shm", "inter_host=shm", "ranks_per_host=2"})
    words.insert(words.end(), {"--set", "transport." + std::string(set)});
  const ProcessResult result = run_baleen(words);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(names(result.err, {{"error: ", kEndSeenByTransport[0], kEndSeenByTransport[1]}, kEndSeenByLauncher}))
      << result.err;
  EXPECT_EQ(result.err.find("error: "), result.err.rfind("error: ")) << result.err;
}

}  // namespace
}  // namespace baleen::test
