/// \file Trains a small model inside another program, step by step, and runs a program of it. Prints what it came to, a
/// line each; every digit of a loss.
#include <baleen/engine.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace {

namespace engine = baleen::engine;

/// The value, or the end of the program with the error's text.
template <class T>
T need(baleen::Result<T> result) {
  if (result) return *std::move(result);
  std::printf("error %d: %s\n", result.error().code, result.error().text().c_str());
  std::exit(1);
}

void need(const baleen::Status& status) {
  if (status) return;
  std::printf("error %d: %s\n", status.error().code, status.error().text().c_str());
  std::exit(1);
}

template <class T>
void expect_refused(const char* what, const T& result) {
  std::printf("refused %s: %s\n", what, result ? "no" : result.error().text().c_str());
}

float element(const engine::Tensor& tensor, std::size_t number) {
  float value = 0;
  std::memcpy(&value, tensor.bytes.data() + number * sizeof value, sizeof value);
  return value;
}

engine::Tensor points() {
  const float rows[6] = {0.5f, -0.25f, 1, 2, -3, 0};
  engine::Tensor tensor{BALEEN_F32, {3, 2}, std::vector<std::byte>(sizeof rows)};
  std::memcpy(tensor.bytes.data(), rows, sizeof rows);
  return tensor;
}

void print_classes(const char* what, const engine::Tensor& classes) {
  std::printf("%s", what);
  for (std::size_t i = 0; i < classes.bytes.size() / sizeof(float); ++i) std::printf(" %.9g", element(classes, i));
  std::printf("\n");
}

void train(engine::Session& session, std::int64_t steps) {
  while (session.steps_done() < steps) {
    const engine::Facts facts = need(session.step());
    std::printf("loss %.17g\n", facts.at("loss"));
  }
}

/// A second session begins where the first did; written to and loaded, it computes what the first does.
void use_parameters(const engine::Job& job, engine::Session& trained, const std::string& file) {
  engine::Session other = need(job.start());
  const engine::Tensors inputs{{"points", points()}};
  const engine::Tensors before = need(other.run("classify", inputs));
  for (const engine::TensorInfo& parameter : trained.parameters())
    need(other.write(parameter.name, need(trained.read(parameter.name))));
  const engine::Tensors written = need(other.run("classify", inputs));
  const engine::Tensors wanted = need(trained.run("classify", inputs));
  std::printf("before equal %d, written equal %d\n", before.at("classes").bytes == wanted.at("classes").bytes,
              written.at("classes").bytes == wanted.at("classes").bytes);
  need(trained.save(file));
  engine::Session loaded = need(job.start({.trains = false}));
  need(loaded.load(file));
  std::printf("loaded equal %d\n",
              need(loaded.run("classify", inputs)).at("classes").bytes == wanted.at("classes").bytes);
  std::printf("alone %s\n", loaded.step().error().text().c_str());
}

/// Interrupted after seven steps and begun again, in a session of its own each.
void go_on(const engine::Engine& opened, engine::JobOptions given, const std::string& file) {
  given.settings.push_back("checkpoint.folder=" + file + ".checkpoints");
  given.settings.push_back("checkpoint.every=5");
  const engine::Job job = need(opened.load(given));
  {
    engine::Session first = need(job.start());
    while (first.steps_done() < 7) need(first.step());
    need(first.close());
  }
  engine::SessionOptions options;
  options.resume = "latest";
  engine::Session second = need(job.start(options));
  std::printf("resumed after %lld\n", static_cast<long long>(second.steps_done()));
  while (second.steps_done() < job.steps()) need(second.step());
  need(second.checkpoint());
  need(second.save(file + ".resumed.safetensors"));
  need(second.close());
}

/// One of several processes that something else has started.
int train_as_rank(const char* script, const char* manifest, const char* plugins, const char* file) {
  engine::EngineOptions options;
  options.plugin_paths = {plugins};
  const engine::Engine opened = need(engine::Engine::open(options));
  engine::JobOptions given;
  given.script = script;
  given.manifest = manifest;
  given.arguments = {"--width", "16"};
  given.settings = {"compute.threads=1"};
  engine::Job job = need(opened.load(given));
  engine::Session session = need(job.start());
  train(session, job.steps());
  std::printf("held out %.17g\n", need(session.evaluate()).at("held_out_loss"));
  need(session.save(file));
  expect_refused("again", job.start());
  need(session.close());
  return 0;
}

}  // namespace

/// embedder SCRIPT MANIFEST-OF-TWO CHECKPOINT, or of several ranks: embedder SCRIPT MANIFEST PLUGINS CHECKPOINT
int main(int argc, char** argv) {
  if (argc == 5) return train_as_rank(argv[1], argv[2], argv[3], argv[4]);
  if (argc != 4) return 2;
  std::string log;
  engine::EngineOptions options;
  options.log = [&log](baleen_level_t, std::string_view line) { log += std::string(line) + "\n"; };
  options.log_level = BALEEN_DEBUG;
  const engine::Engine opened = need(engine::Engine::open(options));

  std::string said;
  engine::JobOptions given;
  given.script = argv[1];
  given.arguments = {"--width", "16"};
  given.settings = {"compute.threads=1"};
  given.print = [&said](std::string_view line) { said += line; };
  engine::Job job = need(opened.load(given));
  std::printf("job %lld steps, batch %lld, said %s\n", static_cast<long long>(job.steps()),
              static_cast<long long>(job.batch()), said.c_str());
  for (const engine::ProgramInfo& program : job.programs())
    std::printf("program %s: %s -> %s\n", program.name.c_str(), program.inputs.at(0).name.c_str(),
                program.outputs.at(0).name.c_str());
  const engine::PlanReport plan = need(job.plan());
  std::printf("plan fits %d, json %c, text %d\n", plan.fits, plan.json.at(0),
              plan.text.find("parameters") != std::string::npos);

  engine::Session session = need(job.start());
  train(session, job.steps());
  std::printf("held out %.17g\n", need(session.evaluate()).at("held_out_loss"));
  print_classes("classes", need(session.run("classify", {{"points", points()}})).at("classes"));
  use_parameters(job, session, argv[3]);

  go_on(opened, given, argv[3]);
  expect_refused("checkpoint", session.checkpoint());
  expect_refused("program", session.run("clasify", {}));
  expect_refused("input", session.run("classify", {}));
  expect_refused("parameter", session.read("nothing"));
  need(session.close());
  expect_refused("closed", session.step());
  given.script = "nowhere.lua";
  expect_refused("script", opened.load(given));
  given.script = argv[1];
  given.manifest = argv[2];
  given.settings.clear();
  engine::Job on_two = need(opened.load(given));
  expect_refused("ranks", on_two.start());
  std::printf("two ranks fit %d\n", need(on_two.plan()).fits);
  engine::EngineOptions wrong;
  wrong.plugin_paths = {"/nowhere/plugins"};
  expect_refused("place", engine::Engine::open(wrong));
  return 0;
}
