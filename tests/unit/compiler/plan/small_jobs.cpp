/// \file Small jobs for tests of plans.
#include "unit/compiler/plan/small_jobs.hpp"
#include "support/places.hpp"

#include <stdexcept>

namespace baleen::test {
namespace {

ValueId sum_all(GraphMaker& m, ValueId x) {
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < m.shape(x).size(); ++d) dims.push_back(static_cast<std::int64_t>(d));
  return m.sum(x, dims);
}

ValueId rms_norm(GraphMaker& m, ValueId x, ValueId gain) {
  return m.ops("norm", {x, gain}, {{"kind", std::string("rms")}, {"epsilon", Attributes::floats({1e-5})}})[0];
}

ValueId dropout(GraphMaker& m, ValueId x) {
  Expression e;
  const auto kept = e.binary(BALEEN_X_LT, e.random(BALEEN_X_UNIFORM, 99), e.constant(0.8));
  const auto result = e.binary(BALEEN_X_MUL, e.input(0), kept);
  return m.op("pointwise", {x}, {{"expression", std::move(e)}, {"results", Attributes::ints({result})}});
}

/// 1 where a target counts.
ValueId counted(GraphMaker& m, ValueId targets) {
  Expression e;
  const auto one = e.binary(BALEEN_X_NE, e.input(0), e.constant(static_cast<double>(kMasked)));
  return m.op(
      "pointwise", {targets},
      {{"expression", std::move(e)}, {"results", Attributes::ints({one})}, {"dtype", Attributes::ints({m.floats})}});
}

/// A graph whose parameters are also written into the job.
struct JobMaker : GraphMaker {
  using GraphMaker::GraphMaker;
  ValueId trained(const std::string& name, Shape shape) {
    job.parameters.push_back({name, {floats, shape, {}}, {Initializer::Kind::normal, 0, 0.5}, "test"});
    return parameter(name, std::move(shape));
  }
  ValueId add(ValueId a, ValueId b) { return binary(BALEEN_X_ADD, a, b); }
  Job finish(std::int64_t batch, ValueId loss, ValueId weight) {
    output("loss", loss);
    output("weight", weight);
    job.train() = std::move(graph);
    job.optimizer = {"sgd", {{"lr", {0.1, "test"}}}, {}, "test"};
    job.batch = batch;
    job.dtype = floats;
    return std::move(job);
  }
  Job job;
};

ValueId attention(JobMaker& m, ValueId x) {
  const ValueId q = m.matmul("bsd,dhe->bshe", x, m.trained("attention.q", {4, 2, 3}));
  const ValueId k = m.matmul("bsd,dge->bsge", x, m.trained("attention.k", {4, 1, 3}));
  const ValueId v = m.matmul("bsd,dge->bsge", x, m.trained("attention.v", {4, 1, 3}));
  const ValueId mixed =
      m.ops("attention", {q, k, v}, {{"causal", Attributes::ints({1})}, {"scale", Attributes::floats({0.5})}})[0];
  return m.matmul("bshe,hed->bsd", mixed, m.trained("attention.out", {2, 3, 4}));
}

}  // namespace

const Registry& plugins() {
  static const Registry found = [] {
    const PluginPlace place{build_dir() + "/lib/baleen/plugins", "test"};
    auto registry = Registry::discover({&place, 1}, Log());
    if (!registry) throw std::runtime_error(registry.error().text());
    return *std::move(registry);
  }();
  return found;
}

Job gpt_job(std::int64_t batch, baleen_dtype_t dtype) {
  JobMaker m(dtype);
  const ValueId tokens = m.batch("tokens", {batch, 4}, BALEEN_I32),
                targets = m.batch("targets", {batch, 4}, BALEEN_I32);
  ValueId x = m.op("embedding", {m.trained("embedding.table", {5, 4}), tokens});
  x = dropout(m, m.add(x, m.reshape(m.trained("positions", {4, 4}), {1, 4, 4})));
  x = m.add(x, attention(m, rms_norm(m, x, m.trained("norm1.gain", {4}))));
  ValueId h = m.matmul("bsd,dh->bsh", rms_norm(m, x, m.trained("norm2.gain", {4})), m.trained("up.weight", {4, 6}));
  h = m.unary(BALEEN_X_GELU, m.add(h, m.reshape(m.trained("up.bias", {6}), {1, 1, 6})));
  x = m.add(x, m.matmul("bsh,hd->bsd", h, m.trained("down.weight", {6, 4})));
  const ValueId logits = m.matmul("bsd,dv->bsv", x, m.trained("head.weight", {4, 5}));
  const ValueId losses = m.ops("cross_entropy", {logits, targets}, {{"ignore_index", Attributes::ints({kMasked})}})[0];
  const ValueId loss = sum_all(m, losses), weight = sum_all(m, counted(m, targets));
  Job job = m.finish(batch, loss, weight);
  job.optimizer.options["momentum"] = {0.9, "test"};
  return job;
}

Job affine_job(std::int64_t batch, baleen_dtype_t dtype) {
  JobMaker m(dtype);
  const ValueId x = m.batch("x", {batch, 3});
  const ValueId y =
      m.add(m.matmul("bi,io->bo", x, m.trained("up.weight", {3, 4})), m.reshape(m.trained("up.bias", {4}), {1, 4}));
  const ValueId loss = sum_all(m, m.binary(BALEEN_X_MUL, y, y));
  Expression e;
  const auto one = e.constant(1);
  const ValueId ones = m.op("pointwise", {},
                            {{"expression", std::move(e)},
                             {"results", Attributes::ints({one})},
                             {"shape", Attributes::ints({})},
                             {"dtype", Attributes::ints({m.floats})}});
  return m.finish(batch, loss, m.scale(ones, static_cast<double>(batch)));
}

Result<TrainGraph> train_graph(Job job) {
  BALEEN_TRY(fuse_kinds(job.train()));
  BALEEN_TRY_ASSIGN(LossGradients gradients, differentiate_loss(job.train(), job));
  for (std::size_t i = 0; i < gradients.all.size(); ++i)
    if (const ValueId g = gradients.all[i].gradient; g != kNone)
      job.train().set_output("gradient." + job.parameters[i].name, g);
  BALEEN_TRY_ASSIGN(UpdateResult update, append_update(job.train(), job, std::move(gradients), plugins()));
  job.train().remove_dead();
  BALEEN_TRY(verify(job.train()));
  return TrainGraph{std::move(job.train()), std::move(update)};
}

}  // namespace baleen::test
