-- Which of two spirals does a point lie on? Learned with the optimizer `@NAME@`.
local baleen = require "baleen"
local nn = baleen.nn

local rows = {}
for i = 1, 200 do
  local arm, turn = i % 2, i / 200
  local angle = math.pi * (3 * turn + arm)
  rows[i] = { turn * math.cos(angle), turn * math.sin(angle), arm }
end
local points = baleen.data.table { rows = rows, held_out = 0.2 }

return baleen.job {
  model = nn.sequential { nn.linear { out = 16, init = baleen.init.fan_in(2) }, nn.tanh {},
                          nn.linear { out = points.classes, init = baleen.init.fan_in(16) } },
  loss = nn.cross_entropy {}, data = points, batch = 20, steps = 50, seed = 1,
  optimizer = baleen.optimizer("@NAME@", { lr = 0.1 }),
}
