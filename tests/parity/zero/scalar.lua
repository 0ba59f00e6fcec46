-- A network with a parameter that is a single number.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 97 do rows[i] = { math.random() - 0.5, math.random() - 0.5, math.random() - 0.5, i % 5 } end
local points = baleen.data.table { rows = rows, held_out = 0.3 }

local scale = nn.layer {
  kind = "scale",
  forward = function(self, x) return x * self:parameter("factor", {}, { init = baleen.init.constant(0.5) }) end,
}

return baleen.job {
  model = nn.sequential { nn.linear { out = 16 }, scale {}, nn.tanh {}, nn.linear { out = points.classes }, scale {} },
  loss = nn.cross_entropy {}, data = points, batch = 15, steps = 20, clip_grad_norm = baleen.arg("clip", 0.0),
  gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer(baleen.arg("optimizer", "adamw"), { lr = 0.02 }),
}
