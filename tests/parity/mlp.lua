-- A small network of awkward sizes on rows that the script makes.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 101 do rows[i] = { math.random(), math.random(), math.random(), i % 5 } end
local points = baleen.data.table { rows = rows, held_out = 0.3 }

local inner = baleen.arg("inner", "")  -- the logical axis of the inner widths
local model = nn.sequential {
  nn.linear { out = 17, axes = { inner } }, nn.tanh {}, nn.linear { out = 3 }, nn.tanh {},
  nn.linear { out = 11, axes = { inner } }, nn.tanh {}, nn.linear { out = points.classes },
}

return baleen.job {
  model = model, loss = nn.cross_entropy {}, metrics = { accuracy = nn.accuracy {} }, data = points,
  batch = baleen.arg("batch", 13), steps = 20,
  clip_grad_norm = baleen.arg("clip", 0.0), gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer("lamb", { lr = 0.02 }),
}
