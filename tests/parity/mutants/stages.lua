-- Four layers and a metric, for pipelines.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 60 do rows[i] = { math.sin(i), math.cos(3 * i), math.sin(7 * i), i % 3 } end
local points = baleen.data.table { rows = rows, held_out = 0.2 }

return baleen.job {
  model = nn.sequential {
    nn.linear { name = "into", out = 12 }, nn.tanh {}, nn.linear { name = "up", out = 12 }, nn.tanh {},
    nn.linear { name = "down", out = 12 }, nn.tanh {}, nn.linear { name = "head", out = points.classes },
  },
  loss = nn.cross_entropy {}, metrics = { accuracy = nn.accuracy {} }, data = points,
  batch = 16, steps = 20, gradient_accumulation_steps = 4, clip_grad_norm = 0.5,
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
  evaluate = { every = 10, batches = 1 },
}
