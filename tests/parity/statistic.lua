-- A loss with statistics of the whole batch, squared: the mean of each hidden unit, which is to be small, and the
-- spread of each around it, which is to be 1.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows = {}
for i = 1, 60 do rows[i] = { math.sin(i), math.cos(3 * i), i % 3 } end
local points = baleen.data.table { rows = rows, held_out = 0 }
local up, head = nn.linear { name = "up", out = 8 }, nn.linear { name = "head", out = points.classes }
local penalty

return baleen.job {
  model = function(x)
    local hidden = ops.sigmoid(up(x))
    local mean = ops.mean(hidden, 1, true)
    local spread = ops.mean((hidden - mean) * (hidden - mean), 1)
    penalty = ops.sum(mean * mean) + ops.sum((spread - 1) * (spread - 1))
    return head(hidden)
  end,
  loss = function(logits, label)
    local count = label.shape[1]
    return ops.sum(ops.cross_entropy(logits, label, {})) + penalty * count, count
  end,
  data = points, batch = 12, steps = 5, gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", { lr = 0.05 }),
}
