-- Which ring does a point lie on? Learned from the data `@NAME@`.
local baleen = require "baleen"
local nn = baleen.nn

local points = baleen.data["@NAME@"] { rows = 512 }

return baleen.job {
  model = nn.sequential { nn.linear { out = 16, init = baleen.init.fan_in(2) }, nn.tanh {},
                          nn.linear { out = points.classes, init = baleen.init.fan_in(16) } },
  loss = nn.cross_entropy {}, data = points, batch = 32, steps = 50, seed = 1,
  optimizer = baleen.optimizer("adamw", { lr = 0.02 }),
}
