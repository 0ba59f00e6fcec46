/// \file Options of strategies: the program, what is counted, or losses.
#include "parity/options/experiment.hpp"

namespace baleen::test::options {
namespace {

/// A small GPT on a mesh; `plan`: what stands beside the member.
Trial of_gpt(View view, MeshAxes mesh, std::vector<std::string> values, Options around = {},
             std::map<std::string, Options> plan = {}, int accumulate = 1) {
  Job job;
  job.script = "gpt";
  job.arguments = {"layers=1", "dim=32", "heads=8", "accumulate=" + std::to_string(accumulate)};
  job.mesh = std::move(mesh);
  job.plan = std::move(plan);
  return {job, std::move(view), std::move(values), std::move(around)};
}

/// Five steps of it in fp16, of which the first must be skipped at this scale.
Trial of_scale(std::vector<std::string> values, Options around) {
  around["dtype"] = text("fp16");
  Trial trial = of_gpt(numbers, {{"data", 1}}, std::move(values), std::move(around));
  trial.job.steps = 5;
  return trial;
}

/// Five steps of it with products in 8 bits, of which the first has no scales yet.
Trial of_eight_bits(View view, std::vector<std::string> values) {
  Trial trial =
      of_gpt(std::move(view), {{"data", 1}}, std::move(values), {{"dtype", text("bf16")}, {"products", text("fp8")}});
  trial.job.steps = 5;
  return trial;
}

/// Of four layers, with what runs again.
Trial of_blocks(std::vector<std::string> values, const std::string& mode, Options around = {}) {
  around["mode"] = text(mode);
  Trial trial = of_gpt(counts, {{"data", 1}}, std::move(values), std::move(around));
  trial.job.arguments = {"layers=4", "dim=32", "heads=4"};
  return trial;
}

/// With matrices of more than 65,536 elements.
Trial of_large(View view, std::vector<std::string> values) {
  Trial trial = of_gpt(std::move(view), {{"data", 1}}, std::move(values));
  trial.job.arguments = {"layers=1", "dim=288", "heads=2"};
  return trial;
}

/// Two stages of four micro-batches.
Trial of_pipeline(View view, std::vector<std::string> values, Options around = {}, MeshAxes mesh = {{"pipeline", 2}}) {
  return of_gpt(std::move(view), std::move(mesh), std::move(values), std::move(around), {}, 4);
}

/// Gradients of two ranks, small ones too, by a method.
Trial of_compression(View view, std::vector<std::string> values, const std::string& method) {
  return of_gpt(std::move(view), {{"data", 2}}, std::move(values), {{"method", text(method)}, {"min_elements", "0"}},
                {{"data", {}}});
}

/// What the user is told beside the plan.
std::string notes(const Job& job) {
  const TemporaryFolder folder;
  return run(job, {"graph"}, folder.path()).err;
}

const MeshAxes kData{{"data", 2}}, kRows{{"rows", 2}}, kBoth{{"data", 2}, {"tensor", 2}};

const std::string kNone = "0";

Experiments of_data_and_zero() {
  const Options third{{"stage", "3"}, {"bucket_mb", "0.001"}};
  return {
      {"strategy.data.axis", {of_gpt(counts, kRows, {kUnset, text("rows")})}},
      {"strategy.data.bucket_mb", {of_gpt(program, kData, {kUnset, kNone})}},
      {"strategy.zero.stage", {of_gpt(counts, kData, {"1", "2", "3"}, {}, {}, 2)}},
      {"strategy.zero.axis", {of_gpt(counts, kRows, {kUnset, text("rows")}, {{"stage", "1"}})}},
      {"strategy.zero.extra_axes",
       {of_gpt(counts, kBoth, {kUnset, text("tensor")}, {{"stage", "1"}}, {{"tensor", {}}})}},
      {"strategy.zero.reduce_gradients", {of_gpt(counts, kData, {}, {{"stage", "2"}}, {}, 2)}},
      {"strategy.zero.replicate_below", {of_gpt(counts, kData, {kUnset, "1000"}, {{"stage", "3"}})}},
      {"strategy.zero.bucket_mb", {of_gpt(program, kData, {kUnset, kNone}, {{"stage", "2"}})}},
      {"strategy.zero.prefetch", {of_gpt(program, kData, {kUnset, "3"}, third)}},
      {"strategy.zero.max_live_parameters_mb", {of_gpt(program, kData, {kUnset, "0.05"}, third)}},
  };
}

Experiments of_tensor_and_sequence() {
  return {
      {"strategy.tensor.axis", {of_gpt(counts, kRows, {kUnset, text("rows")})}},
      {"strategy.tensor.mode",
       {of_gpt(counts, {{"tensor", 8}}, {}), of_gpt(counts, {{"tensor", 8}}, {}, {{"depth", "2"}})}},
      {"strategy.tensor.depth", {of_gpt(counts, {{"tensor", 8}}, {"2", "8"}, {{"mode", text("2.5d")}})}},
      {"strategy.sequence.axis", {of_gpt(counts, kRows, {kUnset, text("rows")})}},
      {"strategy.sequence.mode", {of_gpt(counts, {{"sequence", 2}, {"tensor", 2}}, {}, {}, {{"tensor", {}}})}},
      {"strategy.sequence.bucket_mb", {of_gpt(program, {{"sequence", 2}}, {kUnset, kNone})}},
  };
}

Experiments of_compress() {
  return {
      {"strategy.compress.method", {of_gpt(numbers, kData, {}, {}, {{"data", {}}})}},
      {"strategy.compress.axis",
       {of_gpt(counts, kRows, {kUnset, text("rows")}, {{"method", text("bf16")}},
               {{"data", {{"axis", text("rows")}}}})}},
      {"strategy.compress.min_elements",
       {of_gpt(counts, kData, {kUnset, kNone}, {{"method", text("bf16")}}, {{"data", {}}})}},
      {"strategy.compress.skip", {of_compression(program, {kUnset, list({"head.*"})}, "8bit")}},
      {"strategy.compress.block", {of_compression(program, {kUnset, "64"}, "8bit")}},
      {"strategy.compress.rank", {of_compression(program, {kUnset, "2"}, "powersgd")}},
      {"strategy.compress.min_gain", {of_compression(program, {kUnset, "1000"}, "powersgd")}},
      {"strategy.compress.warmup_steps", {of_compression(numbers, {kUnset, "1"}, "powersgd")}},
      {"strategy.compress.bucket_mb",
       {of_gpt(program, kData, {kUnset, kNone}, {{"method", text("bf16")}}, {{"data", {}}})}},
  };
}

Experiments of_recompute_and_pipeline() {
  return {
      {"strategy.recompute.mode",
       {of_gpt(counts, {{"data", 1}}, {text("full"), text("selective"), text("every"), text("auto")})}},
      {"strategy.recompute.blocks", {of_blocks({kUnset, list({"blocks.*.mlp"})}, "full")}},
      {"strategy.recompute.interval", {of_blocks({kUnset, "3"}, "every")}},
      {"strategy.recompute.ops", {of_blocks({kUnset, list({"norm"})}, "selective", {{"flops_per_byte", kNone}})}},
      {"strategy.recompute.flops_per_byte", {of_blocks({kUnset, "0.5"}, "selective")}},
      {"strategy.recompute.budget_mb", {of_blocks({"0.5", "0.6", kUnset}, "auto")}},
      {"strategy.offload.states", {of_gpt(program, kData, {kUnset, list({"head.*"})})}},
      {"strategy.offload.parameters", {of_gpt(program, kData, {kUnset, list({"blocks.*"})})}},
      {"strategy.offload.gradients", {of_gpt(program, kData, {kUnset, list({"*"})})}},
      {"strategy.offload.activations", {of_gpt(program, kData, {kUnset, list({"*"})})}},
      {"strategy.offload.as_needed", {of_gpt(counts, kData, {kUnset, "true"})}},
      {"strategy.offload.fraction", {of_gpt(counts, kData, {kUnset, "0.5"})}},
      {"strategy.offload.min_elements", {of_gpt(counts, kData, {kUnset, "100000"})}},
      {"strategy.offload.piece_mb", {of_large(counts, {kUnset, "0.5"})}},
      {"strategy.offload.tile_mb", {of_large(program, {kUnset, "0.5"})}},
      {"strategy.offload.delay_update", {of_gpt(program, kData, {kUnset, "true"})}},
      {"strategy.offload.update", {of_gpt(counts, kData, {})}},
      {"strategy.offload.ahead", {of_gpt(program, kData, {kUnset, "5"})}},
      {"strategy.pipeline.axis", {of_pipeline(counts, {kUnset, text("rows")}, {}, kRows)}},
      {"strategy.pipeline.schedule", {of_pipeline(counts, {})}},
      {"strategy.pipeline.chunks", {of_pipeline(counts, {kUnset, "1"}, {{"schedule", text("looped")}})}},
      {"strategy.pipeline.table",
       {of_pipeline(counts,
                    {list({"F0 F1 F2 F3 B0 B1 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"}),
                     list({"F0 B0 F1 B1 F2 B2 F3 B3", "F0 B0 F1 B1 F2 B2 F3 B3"})},
                    {{"schedule", text("table")}})}},
      {"strategy.pipeline.memory_mb", {of_pipeline(counts, {kUnset, "0.01"})}},
      {"strategy.pipeline.show", {of_pipeline(notes, {kUnset, "true"})}},
  };
}

Experiments of_precision() {
  const std::string huge = "1e30";
  return {
      {"strategy.precision.dtype", {of_gpt(numbers, {{"data", 1}}, {})}},
      {"strategy.precision.gradients", {of_gpt(counts, kData, {}, {{"dtype", text("bf16")}})}},
      {"strategy.precision.keep", {of_gpt(program, kData, {kUnset, list({"head.*"})}, {{"dtype", text("bf16")}})}},
      {"strategy.precision.products", {of_gpt(program, kData, {kUnset, text("fp8")}, {{"dtype", text("bf16")}})}},
      {"strategy.precision.fp8_history", {of_eight_bits(program, {kUnset, "3"})}},
      {"strategy.precision.fp8_margin", {of_eight_bits(numbers, {kUnset, "4"})}},
      {"strategy.precision.fp8_keep", {of_eight_bits(program, {kUnset, list({"*.up.*"})})}},
      {"strategy.precision.loss_scale",
       {of_scale({kUnset, text("none"), text("dynamic"), "1024"}, {}),
        of_gpt(numbers, kData, {kUnset, text("none"), text("dynamic"), "1024"}, {{"dtype", text("bf16")}})}},
      {"strategy.precision.initial_scale", {of_scale({kUnset, "1024"}, {})}},
      {"strategy.precision.growth_factor", {of_scale({kUnset, "4"}, {{"growth_interval", "1"}})}},
      {"strategy.precision.growth_interval", {of_scale({kUnset, "1"}, {})}},
      {"strategy.precision.backoff_factor", {of_scale({kUnset, "0.25"}, {{"initial_scale", huge}})}},
      {"strategy.precision.hysteresis", {of_scale({kUnset, "3"}, {{"initial_scale", huge}})}},
      {"strategy.precision.min_scale", {of_scale({kUnset, huge}, {{"initial_scale", huge}})}},
      {"strategy.precision.patience", {of_scale({kUnset, "2"}, {{"initial_scale", huge}, {"min_scale", huge}})}},
  };
}

}  // namespace

Experiments strategy_experiments() {
  Experiments all;
  for (const auto of : {of_data_and_zero, of_tensor_and_sequence, of_compress, of_recompute_and_pipeline, of_precision})
    all.merge(of());
  return all;
}

}  // namespace baleen::test::options
