/// \file A session from its plan to its last record, with the tree's own plugins.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "support/places.hpp"
#include "unit/core/runtime/small_job.hpp"

namespace baleen::test {
namespace {

/// A session, or a failed test.
#define MAKE_RUN(name, ...)   \
  SmallRun name(__VA_ARGS__); \
  ASSERT_TRUE(name.status) << name.status.error().text()

std::vector<double> losses(Session& session, int steps) {
  std::vector<double> result;
  for (int i = 0; i < steps; ++i) {
    auto facts = session.step();
    if (!facts) throw std::runtime_error(facts.error().text());
    result.push_back(facts->at("loss"));
  }
  return result;
}

std::vector<double> parameter(Session& session, const std::string& name) {
  std::vector<double> values(session.persistent().find(name)->bytes / sizeof(double));
  if (Status ok = session.read_tensor(name, values.data(), values.size() * sizeof(double)); !ok)
    throw std::runtime_error(ok.error().text());
  return values;
}

TEST(Session, LearnsAndSaysSo) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto first = run.session->evaluate(4);
  ASSERT_TRUE(first) << first.error().text();
  // Small random logits: every byte is about as likely as every other.
  EXPECT_NEAR(first->at("held_out_loss"), std::log(256.0), 0.3);
  const auto all = losses(*run.session, 60);
  EXPECT_LT(all.back(), 0.75 * all.front());
  const auto last = run.session->evaluate(4);
  ASSERT_TRUE(last);
  EXPECT_LT(last->at("held_out_loss"), 0.75 * first->at("held_out_loss"));
  EXPECT_EQ(run.session->steps_done(), 60);
  EXPECT_EQ(run.session->position(), 60 * 8);
}

TEST(Session, TwoRunsAreTheSameBitForBit) {
  TemporaryFolder folder;
  MAKE_RUN(a, folder);
  MAKE_RUN(b, folder);
  EXPECT_EQ(losses(*a.session, 5), losses(*b.session, 5));
  for (const PersistentBuffer& buffer : a.session->persistent().buffers)
    EXPECT_EQ(parameter(*a.session, buffer.spec.name), parameter(*b.session, buffer.spec.name)) << buffer.spec.name;
}

/// Does something before an instruction of a run, counted from 0, while transfers are under way.
class Interferes : public InstructionWatch {
 public:
  explicit Interferes(std::function<Status()> act) : act_(std::move(act)) {}
  void before_number(int instruction) { left_ = instruction; }
  bool has_acted() const { return left_ < 0; }

  bool sees(const Executable&, std::size_t, const BlockLaunches*) override { return true; }
  Status before(const Instruction&) override { return left_-- == 0 ? act_() : Status(); }
  Status after(const Instruction&) override { return {}; }

 private:
  static constexpr int kNever = 1 << 30;
  int left_ = kNever;
  std::function<Status()> act_;
};

/// Parameters and states are got and put in pieces of half a MiB, each of which takes a while.
JobOptions in_pieces(InstructionWatch& watch) {
  JobOptions wide;
  wide.width = 2000;
  wide.dtype = BALEEN_F32;
  wide.lr = 0;  // a run that is cut short changes no parameter
  wide.watch = &watch;
  wide.store = "late";
  wide.store_folder = LATE;
  wide.strategies = {{"offload",
                      {{"piece_mb", {0.5, "test"}},
                       {"min_elements", {std::int64_t{16}, "test"}},
                       {"parameters", {std::vector<std::string>{"*"}, "test"}}},
                      {},
                      "test"}};
  return wide;
}

/// Of all parameters and states.
std::vector<std::byte> bits_of(Session& session) {
  std::vector<std::byte> all;
  for (const PersistentBuffer& buffer : session.persistent().buffers) {
    std::vector<std::byte> own(buffer.bytes);
    EXPECT_TRUE(session.read_own(buffer, 0, own));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// What a run that failed had under way is over before another one uses its memory and the store. Parameters are whole
/// as long as it has come to no update.
TEST(Session, RunsAfterARunThatWasCutShort) {
  if (!has_plugin("strategy", "offload")) GTEST_SKIP() << "no strategy `offload` in this tree";
  TemporaryFolder folder;
  Interferes watch([] { return invalid("ended here"); });
  MAKE_RUN(run, folder, in_pieces(watch));
  ASSERT_GT(run.session->offload_traffic().got, 0u);
  const auto expected = run.session->evaluate(2);
  ASSERT_TRUE(expected) << expected.error().text();
  const std::vector<std::byte> before = bits_of(*run.session);
  int whole = 0;
  for (int at = 0;; ++at) {
    watch.before_number(at);
    const auto facts = run.session->step();
    if (!watch.has_acted()) {
      EXPECT_GT(whole, 10);
      EXPECT_GT(at, whole + 10);
      break;
    }
    ASSERT_FALSE(facts);
    ASSERT_EQ(facts.error().message, "ended here");
    const auto after = run.session->evaluate(2);
    ASSERT_TRUE(after) << after.error().text() << " (cut short before instruction " << at << ')';
    EXPECT_EQ(after->at("held_out_loss"), expected->at("held_out_loss")) << "before instruction " << at;
    if (run.session->is_whole()) {
      EXPECT_EQ(whole++, at) << "a later run has made good what one has left undone";
      EXPECT_EQ(bits_of(*run.session), before) << at;
    }
  }
}

/// As at a gate: the store takes one operation more than its programs have under way.
TEST(Session, ReadsFromAStoreThatAllIsUnderWayIn) {
  if (!has_plugin("strategy", "offload")) GTEST_SKIP() << "no strategy `offload` in this tree";
  TemporaryFolder folder;
  const PersistentBuffer* stored = nullptr;
  Session* session = nullptr;
  std::array<std::byte, 64> some;
  Interferes watch([&] { return session->read_own(*stored, 0, some); });
  MAKE_RUN(run, folder, in_pieces(watch));
  session = run.session.get();
  for (const PersistentBuffer& buffer : session->persistent().buffers)
    if (buffer.is_offloaded()) stored = &buffer;
  ASSERT_TRUE(stored);
  for (int at = 0;; ++at) {
    watch.before_number(at);
    const auto facts = session->step();
    ASSERT_TRUE(facts) << facts.error().text() << " (read before instruction " << at << ')';
    if (!watch.has_acted()) break;
  }
}

TEST(Session, MicroBatchesChangeNothing) {
  TemporaryFolder folder;
  MAKE_RUN(whole, folder);
  const auto expected = losses(*whole.session, 6);
  for (std::int64_t accumulate : {2, 4, 8}) {
    SCOPED_TRACE(accumulate);
    MAKE_RUN(cut, folder, {.accumulate = accumulate});
    const auto got = losses(*cut.session, 6);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12 * expected[i]);
    const auto p = parameter(*whole.session, "hidden.weight"), q = parameter(*cut.session, "hidden.weight");
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], q[i], 1e-12);
  }
}

/// The first step, computed by hand from what the session says: p1 - p0 = -lr · g with |g| clipped to 1.
TEST(Session, TheFirstUpdateIsTheClippedGradientTimesTheRate) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  double squares = 0;
  std::map<std::string, std::vector<double>> before;
  for (const char* name : {"embedding.table", "hidden.weight", "head.weight"})
    before[name] = parameter(*run.session, name);
  const auto facts = run.session->step();
  ASSERT_TRUE(facts);
  for (const auto& [name, old] : before) {
    const auto now = parameter(*run.session, name);
    for (std::size_t i = 0; i < old.size(); ++i) squares += (now[i] - old[i]) * (now[i] - old[i]);
  }
  const double norm = std::min(facts->at("gradient_norm"), 1.0);
  EXPECT_EQ(facts->at("lr"), 0.5);
  EXPECT_NEAR(std::sqrt(squares), 0.5 * norm, 1e-5);
}

TEST(Session, PlannedBytesAddUp) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto& planned = run.session->planned_bytes();
  std::uint64_t sum = 0;
  for (const auto& [kind, bytes] : planned)
    if (kind != "total") sum += bytes;
  EXPECT_EQ(sum, planned.at("total"));
  EXPECT_EQ(planned.at("parameters"), 8u * (256 * 6 + 6 * 12 + 12 * 256));
  EXPECT_EQ(planned.at("optimizer"), planned.at("parameters"));
}

TEST(Session, APlanThatDoesNotFitIsRefusedWithItsBytes) {
  TemporaryFolder folder;
  SmallRun wide(folder, {.memory = "4", .width = 300});
  ASSERT_FALSE(wide.status);
  EXPECT_EQ(wide.status.error().code, BALEEN_NO_MEMORY);
  for (const char* part : {"parameters", "optimizer", "activations", "4.0 MiB", "`baleen plan` with this script"})
    EXPECT_NE(wide.status.error().message.find(part), std::string::npos) << part << ": " << wide.status.error().message;
}

HostTensors tokens(const std::vector<double>& numbers) { return {{"tokens", *tensor_of(numbers, BALEEN_I32, {5, 8})}}; }

TEST(Session, RunsProgramsByName) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto programs = run.session->programs();
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].name, "alone");
  EXPECT_EQ(programs[1].name, "together");
  ASSERT_EQ(programs[1].outputs.size(), 1u);
  EXPECT_EQ(type_text(programs[1].outputs[0].type.dtype, programs[1].outputs[0].type.shape), "fp64 [5, 8, 256]");
  std::vector<double> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const auto a = run.session->run("together", tokens(numbers));
  numbers.back() = 9;
  const auto b = run.session->run("together", tokens(numbers)), c = run.session->run("alone", tokens(numbers));
  ASSERT_TRUE(a && b && c) << a.error().text();
  const auto x = numbers_of(a->at("logits")), y = numbers_of(b->at("logits"));
  ASSERT_EQ(x.size(), 40u * 256);
  // This model looks at one token at a time: only the last row changes.
  EXPECT_TRUE(std::equal(x.begin(), x.end() - 256, y.begin()));
  EXPECT_FALSE(std::equal(x.end() - 256, x.end(), y.end() - 256));
  EXPECT_EQ(numbers_of(c->at("logits")), y);
}

TEST(Session, ProgramsChangeNothingOfTheTraining) {
  TemporaryFolder folder;
  MAKE_RUN(disturbed, folder);
  MAKE_RUN(other, folder);
  std::vector<double> expected = losses(*other.session, 4), got;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(disturbed.session->run("together", tokens(std::vector<double>(40, i))));
    got.push_back(losses(*disturbed.session, 1)[0]);
  }
  EXPECT_EQ(got, expected);
}

TEST(Session, OfProgramsAloneHoldsParametersAndRefusesToTrain) {
  TemporaryFolder folder;
  MAKE_RUN(whole, folder);
  MAKE_RUN(run, folder, {.only = GraphRole::infer});
  const auto &planned = run.session->planned_bytes(), &all = whole.session->planned_bytes();
  EXPECT_EQ(planned.at("parameters"), all.at("parameters"));
  EXPECT_FALSE(planned.contains("optimizer"));
  EXPECT_EQ(planned.at("gradients"), 0u);
  EXPECT_LT(planned.at("total"), all.at("total"));
  EXPECT_TRUE(run.session->traffic().empty());
  const HostTensors rows = tokens(std::vector<double>(40, 3));
  for (const char* program : {"alone", "together"}) {
    const auto got = run.session->run(program, rows), expected = whole.session->run(program, rows);
    ASSERT_TRUE(got && expected) << got.error().text();
    EXPECT_EQ(numbers_of(got->at("logits")), numbers_of(expected->at("logits"))) << program;
  }
  EXPECT_EQ(run.session->step().error().text(), "this session has the job's programs alone: it cannot train");
  EXPECT_EQ(run.session->evaluate(1).error().text(), "this session has the job's programs alone: it cannot evaluate");
}

TEST(Session, RefusesInputsThatAProgramDoesNotTake) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto refused = [&](const std::string& program, const HostTensors& inputs) {
    const auto result = run.session->run(program, inputs);
    return result ? "" : result.error().text();
  };
  const HostTensors good = tokens(std::vector<double>(40, 0));
  EXPECT_EQ(refused("togehter", good), "unknown program `togehter`; did you mean `together`?");
  EXPECT_EQ(refused("train", good), "unknown program `train`; known: `alone`, `together`");
  EXPECT_EQ(refused("together", {}), "input `tokens` of program `together` is missing; it is int32 [5, 8]");
  HostTensors more = good;
  more["targets"] = good.at("tokens");
  EXPECT_EQ(refused("together", more), "program `together`: unknown input `targets`; known: `tokens`");
  EXPECT_EQ(refused("together", {{"tokens", *tensor_of(std::vector<double>(8, 0), BALEEN_I32, {1, 8})}}),
            "input `tokens` of program `together` is int32 [5, 8], not int32 [1, 8]");
  HostTensors cut = good;
  cut.at("tokens").bytes.pop_back();
  EXPECT_EQ(refused("together", cut), "input `tokens` of program `together` has 160 bytes, not 159");
  EXPECT_EQ(refused("together", good), "");
}

TEST(Session, ParametersAreReadAndWrittenByName) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  auto tensor = run.session->read_parameter("hidden.weight");
  ASSERT_TRUE(tensor) << tensor.error().text();
  EXPECT_EQ(type_text(tensor->dtype, tensor->shape), "fp64 [6, 12]");
  EXPECT_EQ(numbers_of(*tensor), parameter(*run.session, "hidden.weight"));
  const std::vector<double> halves(72, 0.5);
  ASSERT_TRUE(run.session->write_parameter("hidden.weight", *tensor_of(halves, BALEEN_F32, {6, 12})));
  EXPECT_EQ(parameter(*run.session, "hidden.weight"), halves);
  const auto text = [](const Status& status) { return status ? "" : status.error().text(); };
  EXPECT_EQ(text(run.session->write_parameter("hiden.weight", *tensor)),
            "unknown parameter `hiden.weight`; did you mean `hidden.weight`?");
  EXPECT_EQ(text(run.session->write_parameter("hidden.weight", *tensor_of(halves, BALEEN_F32, {12, 6}))),
            "parameter `hidden.weight` is [6, 12], not [12, 6]");
  EXPECT_EQ(
      text(run.session->write_parameter("hidden.weight", *tensor_of(std::vector<double>(72, 1), BALEEN_I32, {6, 12}))),
      "parameter `hidden.weight`: int32 is not converted into fp64; only floating dtypes are into each other");
  EXPECT_FALSE(run.session->read_parameter("optimizer.updates")) << "a state is no parameter";
}

TEST(Session, ALossThatIsNotFiniteEndsTheTraining) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder);
  const auto before = run.session->step();
  ASSERT_TRUE(before);
  auto poisoned = parameter(*run.session, "hidden.weight");
  poisoned[0] = std::nan("");
  ASSERT_TRUE(run.session->write_tensor("hidden.weight", poisoned.data(), poisoned.size() * sizeof(double)));
  const auto step = run.session->step();
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, BALEEN_DAMAGED);
  const std::string expected =
      "the loss is not finite at step 2 (the loss of the step before was " + number_text(before->at("loss")) + ")";
  EXPECT_TRUE(step.error().text().starts_with(expected)) << step.error().text();
}

TEST(Session, ALossThatIsNotFiniteIsNotedOnceByWish) {
  TemporaryFolder folder;
  MAKE_RUN(run, folder, {.goes_on_not_finite = true});
  auto poisoned = parameter(*run.session, "hidden.weight");
  poisoned[0] = std::nan("");
  ASSERT_TRUE(run.session->write_tensor("hidden.weight", poisoned.data(), poisoned.size() * sizeof(double)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run.session->step());
  const auto lines = run.finish();
  const auto notes = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("not finite at step 1") != std::string::npos;
  });
  EXPECT_EQ(notes, 1);
}

}  // namespace
}  // namespace baleen::test
