-- Rectified units that are dead, or nearly, and an absolute error.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { features = 8, rows = 64, held_out = 8 }
local dead = nn.layer { kind = "dead", forward = function(self, x)
  local w = self:parameter("w", { x.shape[2], 24 }, { axes = { "", "ff" }, init = baleen.init.normal(0.3) })
  local b = self:parameter("b", { 24 }, { axes = { "ff" }, init = baleen.init.constant(-0.8) })
  return ops.relu(ops.matmul("bi,ij->bj", x, w) + b)
end }
local net = nn.sequential {
  dead { name = "one" }, nn.linear { name = "two", out = 16 }, nn.relu {}, nn.linear { name = "out", out = 1 },
}
return baleen.job {
  model = net,
  loss = function(o, t)
    local rows = o.shape[1]
    return ops.sum(ops.abs(ops.reshape(o, { rows }) - ops.reshape(t, { rows }))), rows
  end,
  data = data, batch = 8, steps = 6, optimizer = baleen.optimizer("adamw", { lr = 3e-3, weight_decay = 0.1 }),
}
