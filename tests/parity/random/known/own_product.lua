-- A product in a layer of the script's own whose weight is laid by hand, by the number of a dimension.
local baleen = require "baleen"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local rows = {}
for i = 1, 60 do rows[i] = { i % 7 - 3, i % 5 - 2, i % 4 } end
local points = baleen.data.table { rows = rows, held_out = 0.4 }
local own = nn.layer {
  kind = "own",
  forward = function(self, x)
    return ops.matmul("bd,de->be", x, self:parameter("weight", { 8, 8 }, {
      axes = { arg("rows", ""), arg("columns", "") }, init = init.normal(0.3),
    }))
  end,
}
local layers = {
  nn.linear { name = "up", out = 8, axes = { "embed" } }, nn.tanh {}, own { name = "own" },
  nn.linear { name = "head", out = points.classes },
}
baleen.parallel.layout { name = "own.weight", axis = "tensor", placement = "shard", dim = arg("dim", 1) }

return baleen.job {
  model = nn.sequential(layers), loss = nn.cross_entropy {}, data = points, batch = 8, steps = 3,
  optimizer = baleen.optimizer("sgd", { lr = 0.1 }),
}
