/// \file What every optimizer must do, whatever its formula.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "frontend/validate/cases.hpp"
#include "frontend/validate/optimizer_steps.hpp"

namespace baleen::validate {
namespace {

constexpr double kRate = 0.01;
constexpr int kSteps = 3;

Numbers matrix() { return {{2, 3}, {0.5, -1, 2, 0.25, -0.125, 3}}; }
std::vector<double> matrix_gradient() { return {0.1, 0.2, -0.3, 0.4, -0.5, 0.6}; }

/// Shapes of rank 0 to 4 and of rank 8, with extents of 1.
std::vector<Numbers> shapes() {
  std::vector<Numbers> all;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {1}, {7}, {2, 3}, {1, 4}, {3, 1, 2}, {2, 1, 2, 2}, {1, 2, 1, 1, 2, 1, 1, 2}}) {
    Numbers one{shape, {}};
    for (std::int64_t i = 0; i < one.size(); ++i) one.data.push_back(0.25 * static_cast<double>(i % 5) - 0.5);
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<double> gradient_of(const Numbers& parameter) {
  std::vector<double> gradient;
  for (std::int64_t i = 0; i < parameter.size(); ++i) gradient.push_back(0.1 * static_cast<double>(i % 7) - 0.25);
  return gradient;
}

/// An optimizer in the hands of a case.
struct Driven {
  Driven(const Subject& subject, Mark& mark)
      : descriptor(subject.descriptor), plugin(subject, mark), settings(settings_of(subject)) {}
  OptimizerSteps run(std::vector<Numbers> parameters, OptimizerSteps::Options options) {
    return {plugin, settings, descriptor, std::move(parameters), options};
  }
  OptimizerSteps run(std::vector<Numbers> parameters) { return {plugin, settings, descriptor, std::move(parameters)}; }
  bool has_rate() const {
    const Option* const rate = descriptor.find("lr");
    return rate && rate->type == BALEEN_OPTION_SCHEDULE;
  }
  void need_rate() const {
    if (!has_rate()) throw Skip("it has no schedule `lr`");
  }

  const Descriptor& descriptor;
  Opened plugin;
  SettingsStorage settings;
};

std::string differs_at(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return "element " + std::to_string(i) + " is " + number_text(a[i]) + " and " + number_text(b[i]);
  return {};
}

std::vector<double> zeros_for(const Numbers& parameter) {
  return std::vector<double>(static_cast<std::size_t>(parameter.size()), 0);
}

bool are_finite(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

void stays_finite(Driven& driven, baleen_dtype_t dtype, const Numbers& parameter, const std::vector<double>& gradient,
                  const std::string& of) {
  constexpr int kManySteps = 12;
  OptimizerSteps run = driven.run({parameter}, {dtype, 0});
  for (int step = 1; step <= kManySteps; ++step) {
    run.step({gradient}, kRate);
    const std::string after = " is not finite after step " + std::to_string(step) + of;
    if (!are_finite(run.parameter().data)) throw Failure("a parameter" + after);
    for (std::size_t s = 0; s < run.slots().size(); ++s)
      if (!are_finite(run.slots()[s].data)) throw Failure("slot `" + run.asked()[s].name + "`" + after);
  }
}

void computes_each_shape(const Subject& subject, Mark& mark, baleen_dtype_t dtype) {
  Driven driven(subject, mark);
  for (const Numbers& shape : shapes()) {
    const Numbers nothing{shape.shape, zeros_for(shape)};
    stays_finite(driven, dtype, shape, gradient_of(shape), "");
    stays_finite(driven, dtype, shape, zeros_for(shape), ", with gradients of 0");
    stays_finite(driven, dtype, nothing, gradient_of(shape), ", with parameters that begin as 0");
    stays_finite(driven, dtype, nothing, zeros_for(shape), ", with parameters and gradients of 0");
  }
}

void moves(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  OptimizerSteps run = driven.run({matrix()});
  run.step({matrix_gradient()}, 1e-3);
  double slope = 0;
  for (std::size_t i = 0; i < matrix_gradient().size(); ++i)
    slope += matrix_gradient()[i] * (run.parameter().data[i] - matrix().data[i]);
  if (run.parameter() == matrix()) throw Failure("a step with rate 0.001 changes no parameter");
  if (!(slope < 0))
    throw Failure("the first step goes up the slope: parameters move along the gradient by " + number_text(slope));
}

void rests_at_rate_zero(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  driven.need_rate();
  OptimizerSteps run = driven.run({matrix()});
  run.step({matrix_gradient()}, 0);
  const std::string where = differs_at(matrix().data, run.parameter().data);
  if (!where.empty()) throw Failure("at rate 0 a step changes parameters: " + where);
}

void repeats(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  OptimizerSteps first = driven.run({matrix()}), again = driven.run({matrix()});
  for (int step = 0; step < kSteps; ++step) first.step({matrix_gradient()}, kRate);
  for (int step = 0; step < kSteps; ++step) again.step({matrix_gradient()}, kRate);
  const std::string where = differs_at(first.parameter().data, again.parameter().data);
  if (!where.empty()) throw Failure("the same steps give other numbers: " + where);
}

/// The core drops what a skipped step gives; a member that counts steps itself goes on counting.
void forgets_skipped_steps(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  OptimizerSteps straight = driven.run({matrix()}), skipping = driven.run({matrix()});
  for (int step = 0; step < kSteps; ++step) {
    straight.step({matrix_gradient()}, kRate);
    skipping.step({std::vector<double>(6, 0.75)}, kRate, false);
    skipping.step({matrix_gradient()}, kRate);
  }
  std::string where = differs_at(straight.parameter().data, skipping.parameter().data);
  for (std::size_t s = 0; s < straight.slots().size() && where.empty(); ++s)
    where = differs_at(straight.slots()[s].data, skipping.slots()[s].data);
  if (!where.empty())
    throw Failure("a step that was skipped changes later ones, so something is kept outside slots: " + where);
}

void updates_slices_alone(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  OptimizerSteps whole = driven.run({matrix()});
  if (!(whole.traits() & BALEEN_OPTIMIZER_ELEMENTWISE)) throw Skip("it does not say that it is elementwise");
  for (std::size_t s = 0; s < whole.slots().size(); ++s)
    if (whole.slots()[s].shape != matrix().shape)
      throw Failure("says that it is elementwise, and slot `" + whole.asked()[s].name +
                    "` has another shape than its parameter");
  const std::vector<std::pair<std::size_t, std::size_t>> slices = {{0, 1}, {3, 5}, {1, 6}};
  for (const auto& [begin, end] : slices) {
    const auto cut = [&, from = begin, to = end](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(from),
                                 all.begin() + static_cast<std::ptrdiff_t>(to));
    };
    OptimizerSteps alone = driven.run({{{static_cast<std::int64_t>(end - begin)}, cut(matrix().data)}});
    OptimizerSteps together = driven.run({matrix()});
    for (int step = 0; step < kSteps; ++step) {
      alone.step({cut(matrix_gradient())}, kRate);
      together.step({matrix_gradient()}, kRate);
    }
    const std::string where = differs_at(cut(together.parameter().data), alone.parameter().data);
    if (!where.empty())
      throw Failure("says that it is elementwise, and elements " + std::to_string(begin) + " to " +
                    std::to_string(end - 1) + " alone become other numbers than among the others: " + where);
  }
}

void keeps_parameters_apart(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  OptimizerSteps alone = driven.run({matrix()}), together = driven.run({matrix(), {{2}, {5, 6}}});
  for (int step = 0; step < kSteps; ++step) {
    alone.step({matrix_gradient()}, kRate);
    together.step({matrix_gradient(), {7, -8}}, kRate);
  }
  const std::string where = differs_at(alone.parameter().data, together.parameter().data);
  if (!where.empty()) throw Failure("a second parameter changes what the first one becomes: " + where);
}

/// The slots that are what they were at first after each step. Some are renewed every so many steps.
std::vector<std::string> still_slots(Driven& driven, const Numbers& parameter) {
  constexpr int kMostSteps = 120;
  OptimizerSteps run = driven.run({parameter});
  std::vector<std::size_t> still(run.slots().size());
  std::iota(still.begin(), still.end(), std::size_t{0});
  for (int step = 0; step < kMostSteps && !still.empty(); ++step) {
    run.step({gradient_of(parameter)}, kRate);
    std::erase_if(still, [&](std::size_t s) { return run.slots()[s] != run.asked()[s].first; });
  }
  std::vector<std::string> names;
  for (const std::size_t s : still) names.push_back(run.asked()[s].name);
  return names;
}

void uses_its_slots(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  std::vector<std::string> still;
  bool is_first = true;
  for (const Numbers& shape : {matrix(), Numbers{{4}, {1, -2, 3, 4}}, Numbers{{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}) {
    const std::vector<std::string> here = still_slots(driven, shape);
    if (is_first) still = here;
    std::erase_if(still, [&](const std::string& name) { return std::ranges::count(here, name) == 0; });
    is_first = false;
  }
  if (!still.empty())
    throw Failure("slot `" + still.front() +
                  "` never changes, whatever the gradient: give its new value, or leave it out");
}

void takes_updates_of_a_later_host(const Subject& subject, Mark& mark) {
  constexpr std::size_t kBehind = 64;
  Driven driven(subject, mark);
  const std::vector<Numbers> both = {matrix(), {{2}, {5, 6}}};
  OptimizerSteps today = driven.run(both), later = driven.run(both, {BALEEN_F64, kBehind});
  for (int step = 0; step < kSteps; ++step) {
    today.step({matrix_gradient(), {7, -8}}, kRate);
    later.step({matrix_gradient(), {7, -8}}, kRate);
  }
  for (std::size_t i = 0; i < both.size(); ++i)
    if (today.parameter(i) != later.parameter(i))
      throw Failure("where updates lie further apart than it knows (`updates->size`), it gives other numbers");
}

void passes_refusals_on(const Subject& subject, Mark& mark) {
  Driven driven(subject, mark);
  std::size_t appended = 0;
  bool failed = false;
  driven.run({matrix()}).refused_step(matrix_gradient(), static_cast<std::size_t>(-1), appended, failed);
  if (failed) throw Skip("it fails where the graph refuses nothing");
  if (appended == 0) throw Failure("appends no op at all");
  for (std::size_t refused = 0; refused < appended; ++refused) {
    std::size_t ignored = 0;
    const Error why = driven.run({matrix()}).refused_step(matrix_gradient(), refused, ignored, failed);
    if (!failed) throw Failure("returns OK where the graph has refused op " + std::to_string(refused));
    if (why.message.find(FormulaGraph::kRefusal) == why.message.npos)
      throw Failure("hides why the graph has refused an op; it says: " + why.message);
  }
}

}  // namespace

std::vector<Case> optimizer_cases() {
  return {
      {"optimizer.fp32", "gives finite values of the right shapes, rank 0 to 8, in fp32, also of zeros",
       [](const Subject& subject, Mark& mark) { computes_each_shape(subject, mark, BALEEN_F32); }},
      {"optimizer.fp64", "the same in fp64",
       [](const Subject& subject, Mark& mark) { computes_each_shape(subject, mark, BALEEN_F64); }},
      {"optimizer.descends", "the first step moves parameters, and down the slope", &moves},
      {"optimizer.no_rate", "a rate of 0 leaves parameters as they are", &rests_at_rate_zero},
      {"optimizer.repeats", "the same steps give the same bits", &repeats},
      {"optimizer.skipped_steps", "a step that is skipped leaves no trace", &forgets_skipped_steps},
      {"optimizer.slices", "if elementwise, any slice alone becomes what it becomes among the others",
       &updates_slices_alone},
      {"optimizer.parameters", "one parameter does not change what another becomes", &keeps_parameters_apart},
      {"optimizer.slots", "every slot changes for some parameter", &uses_its_slots},
      {"optimizer.later_host", "takes updates as far apart as their size says", &takes_updates_of_a_later_host},
      {"optimizer.refusals", "fails, with the graph's words, where the graph refuses an op", &passes_refusals_on},
  };
}

}  // namespace baleen::validate
