-- Which of two spirals does a point lie on? A small network learns it from rows that this script makes.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 1000 do
  local arm, turn = i % 2, math.random()
  local angle = math.pi * (3 * turn + arm)
  rows[i] = { turn * math.cos(angle), turn * math.sin(angle), arm }
end
local points = baleen.data.table { rows = rows, held_out = 0.2 }

local function dense(out) return nn.linear { out = out, init = baleen.init.fan_in(2) } end
local model = nn.sequential { dense(32), nn.tanh {}, dense(32), nn.tanh {}, dense(points.classes) }

return baleen.job {
  model = model, loss = nn.cross_entropy {}, metrics = { accuracy = nn.accuracy {} }, data = points,
  batch = 50, steps = 500, optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
