-- A loss with a statistic of the batch, the mean of what the hidden layer says.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows = {}
for i = 1, 60 do rows[i] = { i % 7 - 3, i % 5 - 2, i % 3 } end
local points = baleen.data.table { rows = rows, held_out = 0.4 }
local up, head = nn.linear { name = "up", out = 6 }, nn.linear { name = "head", out = points.classes }
local loss, penalty = nn.cross_entropy {}, nil

return baleen.job {
  model = function(x)
    local hidden = ops.sigmoid(up(x))
    local mean = ops.mean(hidden, 1)
    penalty = ops.sum(mean * mean)
    return head(hidden)
  end,
  loss = function(output, target)
    local sum, weight = loss(output, target)
    return sum + penalty * target.shape[1], weight
  end,
  data = points, batch = 8, steps = 3, gradient_accumulation_steps = baleen.arg("accumulate", 2),
  optimizer = baleen.optimizer("sgd", { lr = 0.1 }),
}
