/// \file Builds the table of a program, and runs it.
#include "program.hpp"

#include <cstring>

namespace baleen::shm {

void Program::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 0 && to != from) copies_.push_back({to, from, bytes});
}

void Program::reduce(const std::vector<const std::byte*>& sources, const std::vector<std::byte*>& destinations,
                     std::uint64_t count) {
  if (count == 0) return;
  reduces_.push_back({sources_.size(), destinations_.size(), sources.size(), destinations.size(), count});
  sources_.insert(sources_.end(), sources.begin(), sources.end());
  destinations_.insert(destinations_.end(), destinations.begin(), destinations.end());
}

void Program::end_step(bool meet) { steps_.push_back({copies_.size(), reduces_.size(), meet}); }

void Program::run(std::size_t step) const {
  const Step& now = steps_[step];
  const Step before = step == 0 ? Step{0, 0, false} : steps_[step - 1];
  for (std::size_t i = before.copies_end; i < now.copies_end; ++i)
    std::memcpy(copies_[i].to, copies_[i].from, copies_[i].bytes);
  for (std::size_t i = before.reduces_end; i < now.reduces_end; ++i) {
    const Reduce& r = reduces_[i];
    reduction_(&sources_[r.source], r.source_count, &destinations_[r.destination], r.destination_count, r.count);
  }
}

}  // namespace baleen::shm
