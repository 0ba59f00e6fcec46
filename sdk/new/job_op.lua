-- A network with an op of the plugin `@NAME@`: the outer product of a layer's results with themselves.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows = {}
for i = 1, 200 do
  local x, y = math.cos(7 * i), math.sin(3 * i)
  rows[i] = { x, y, x * y > 0 and 1 or 0 }
end
local points = baleen.data.table { rows = rows, held_out = 0.2 }
local function pairs_of(x) return ops.outer(x, x, { scale = 0.5 }):reshape { x.shape[1], 64 } end

return baleen.job {
  model = nn.sequential { nn.linear { out = 8, init = baleen.init.fan_in(2) }, nn.tanh {}, pairs_of,
                          nn.linear { out = points.classes, init = baleen.init.fan_in(64) } },
  loss = nn.cross_entropy {}, data = points, batch = 20, steps = 50, seed = 1,
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
