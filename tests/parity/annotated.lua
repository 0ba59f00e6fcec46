-- A small network whose layouts are chosen by annotations alone.
local baleen = require "baleen"
local nn, parallel = baleen.nn, baleen.parallel

local rows = {}
for i = 1, 101 do rows[i] = { math.random(), math.random(), math.random(), i % 5 } end
local points = baleen.data.table { rows = rows, held_out = 0.3 }

local first = nn.mlp { name = "first", hidden = 17 }
local second = nn.linear { name = "second", out = 11 }
local last = nn.linear { name = "last", out = points.classes }

parallel.layout { name = "second.weight", axis = "tensor", placement = "shard", dim = 2 }
parallel.layout { name = baleen.arg("result", "second"), axis = "tensor", placement = "shard", dim = -1 }

return baleen.job {
  model = function(x)
    x = parallel.split { axis = "tensor", dim = baleen.arg("dim", "ff") } (first, x)
    return parallel.replicate { axis = "tensor" } (function() return last(second(x)) end)
  end,
  loss = nn.cross_entropy {}, data = points, batch = 13, steps = 20,
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
