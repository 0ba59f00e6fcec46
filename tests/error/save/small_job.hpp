/// \file A script that trains a layer within a moment.
#pragma once
#include <string>

namespace baleen::test {

/// A classification of 20 rows with sgd. `optimizer`: its options; `more`: further fields of the job, from line 8 on.
inline std::string small_job(int steps, const std::string& optimizer, const std::string& more) {
  return "local baleen = require 'baleen'\n"
         "local rows = {}\n"
         "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
         "return baleen.job {\n"
         "  model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
         "  data = baleen.data.table { rows = rows, held_out = 0.5 }, batch = 4, steps = " +
         std::to_string(steps) + ",\n  optimizer = baleen.optimizer('sgd', { " + optimizer + " }),\n" + more + "}\n";
}

}  // namespace baleen::test
