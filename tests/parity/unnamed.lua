-- Weights without logical axes: one beside an operand that has them, one that is sliced before its products.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows = {}
for i = 1, 64 do rows[i] = { math.random(), math.random(), math.random(), i % 3 } end

local own = nn.layer {
  kind = "own",
  forward = function(self, x)
    return ops.matmul("bd,de->be", x, self:parameter("weight", { 6, 6 }, { init = baleen.init.normal(0.4) }))
  end,
}
local slices = nn.layer {
  kind = "slices",
  forward = function(self, x)
    local all, y = self:parameter("weight", { 3, 3, 3 }, { init = baleen.init.normal(0.4) }), nil
    for k = 1, 3 do
      y = ops.matmul("bc,cd->bd", ops.slice(x, 2, k, 3), ops.reshape(ops.slice(all, 1, k, 1), { 3, 3 }), y)
    end
    return y
  end,
}

local dim = baleen.arg("dim", 0)
if dim > 0 then baleen.parallel.layout { name = "own.weight", axis = "tensor", placement = "shard", dim = dim } end

return baleen.job {
  model = nn.sequential {
    nn.linear { name = "up", out = 6, axes = { "embed" } }, nn.tanh {},
    own { name = "own" }, slices { name = "slices" },
  },
  loss = nn.cross_entropy {}, data = baleen.data.table { rows = rows }, batch = 12, steps = 20,
  optimizer = baleen.optimizer("adamw", { lr = 0.01 }),
}
