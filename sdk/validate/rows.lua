-- Which of two spirals does a point lie on? Ranks that cut layers find one width that many numbers divide, and a prime.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 96 do
  local arm, turn = i % 2, i / 96
  local angle = math.pi * (3 * turn + arm)
  rows[i] = { turn * math.cos(angle), turn * math.sin(angle), arm }
end
local points = baleen.data.table { rows = rows, held_out = 0.25 }

return baleen.job {
  model = nn.sequential { nn.linear { out = 20, axes = { "ff" } }, nn.tanh {}, nn.linear { out = 13 }, nn.tanh {},
                          nn.linear { out = points.classes } },
  loss = nn.cross_entropy {}, data = points, batch = 16, steps = 5, seed = 1, clip_grad_norm = 1.0,
  gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
