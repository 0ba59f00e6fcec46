/// \file What every device must do: trainings on it have the losses that they have on the processor.
#include <algorithm>
#include <cmath>

#include "frontend/validate/cases.hpp"
#include "frontend/validate/trainings.hpp"

namespace baleen::validate {
namespace {

/// Of a loss after five steps. Sums in another order differ in the last digits, which training makes larger.
struct Precision {
  const char* dtype;
  double tolerance;
};
constexpr Precision kPrecisions[] = {{"fp32", 1e-4}, {"fp64", 1e-9}};

std::string own_manifest(const Subject& subject) { return "[compute]\n" + manifest_lines(subject, "plugin"); }

/// Before any training.
void needs_its_device(const Subject& subject, Mark& mark) {
  const SettingsStorage settings = settings_of(subject);
  needs_device(subject, Opened(subject, mark), settings.get());
}

void trains(const Subject& subject, Mark& mark, std::string_view job, const Precision& precision) {
  needs_its_device(subject, mark);
  const std::vector<std::string> words = {"--dtype", precision.dtype};
  const std::vector<double> own = steps_of(subject, mark, job, own_manifest(subject), words);
  const std::vector<double> other = steps_of(subject, mark, job, text_of_file(subject, "reference.toml"), words);
  if (own.size() != other.size()) throw Failure("makes " + std::to_string(own.size()) + " steps");
  for (std::size_t i = 0; i < own.size(); ++i)
    if (!(std::abs(own[i] - other[i]) <= precision.tolerance * std::abs(other[i])))
      throw Failure("the loss of step " + std::to_string(i + 1) + " is " + digits_of(own[i]) +
                    ", and on the processor " + digits_of(other[i]));
}

void trains_the_same_again(const Subject& subject, Mark& mark, std::string_view job) {
  needs_its_device(subject, mark);
  const std::vector<double> first = steps_of(subject, mark, job, own_manifest(subject));
  if (steps_of(subject, mark, job, own_manifest(subject)) != first) throw Failure("the same run has other losses");
}

void keeps_to_its_results(const Subject& subject, Mark& mark, std::string_view job) {
  needs_its_device(subject, mark);
  const Ended ended = run_program(subject, mark, "verify", job, own_manifest(subject), {"--steps", "2"});
  if (ended.is_refusal() && ended.out.find("DIFFERENT") == std::string::npos)
    throw Skip("refused: " + ended.complaint());
  if (ended.code != 0) throw Failure("`baleen verify` " + ended.text());
}

void trains_on_two_ranks(const Subject& subject, Mark& mark) {
  needs_its_device(subject, mark);
  const std::vector<double> two = steps_of(subject, mark, kJobs[0], own_manifest(subject) + beside_on(subject, 2));
  const std::vector<double> one = steps_of(subject, mark, kJobs[0], own_manifest(subject));
  const bool is_near = std::ranges::equal(
      two, one, [](double a, double b) { return std::abs(a - b) <= kPrecisions[0].tolerance * std::abs(b); });
  if (!is_near) throw Failure("two ranks have other losses than one");
}

}  // namespace

std::vector<Case> compute_cases() {
  std::vector<Case> all;
  for (const std::string_view job : kJobs) {
    for (const Precision& precision : kPrecisions)
      all.push_back({"compute." + std::string(job) + "_in_" + precision.dtype,
                     "five steps have the losses that they have on the processor",
                     [=](const Subject& subject, Mark& mark) { trains(subject, mark, job, precision); }});
    all.push_back({"compute." + std::string(job) + "_repeats", "the same run has the same losses, bit for bit",
                   [=](const Subject& subject, Mark& mark) { trains_the_same_again(subject, mark, job); }});
    all.push_back({"compute." + std::string(job) + "_verified",
                   "a run is what the same run computes once more, in fp64",
                   [=](const Subject& subject, Mark& mark) { keeps_to_its_results(subject, mark, job); }});
  }
  all.push_back({"compute.two_ranks", "two ranks, each with a device, train as one", &trains_on_two_ranks});
  return all;
}

}  // namespace baleen::validate
