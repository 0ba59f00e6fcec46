-- A classifier or a regression on a table, whose layers can be called otherwise: what trained models are used with.
local baleen = require "baleen"
local nn = baleen.nn

local task = baleen.arg("task", "classify")
local first, last = baleen.arg("first", "first"), baleen.arg("last", "last")
local points = baleen.data.table {
  path = baleen.arg("data"), task = task, normalize = true, shuffle = true, held_out = baleen.arg("held_out", 0.25),
}

return baleen.job {
  model = nn.sequential {
    nn.linear { name = first, out = 24, axes = { "ff" } }, nn.tanh {},
    nn.linear { name = last, out = baleen.arg("outputs", task == "classify" and points.classes or 1) },
  },
  loss = task == "classify" and nn.cross_entropy {} or nn.mse {},
  metrics = task == "classify" and { accuracy = nn.accuracy {} } or {},
  evaluate = { every = 10, batches = baleen.arg("batches", 0) },
  data = points, batch = 8, steps = 20, optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
