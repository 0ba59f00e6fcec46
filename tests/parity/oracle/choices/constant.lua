-- A column that is the same in all rows, before a batch norm: of what is left of it rounding decides the sign.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows = {}
for i = 1, 60 do rows[i] = { math.random(), 0.1, math.random(), i % 5 } end
local norm = nn.layer {
  kind = "norm",
  forward = function(self, x)
    local gain = self:parameter("gain", { 3 }, { init = baleen.init.ones })
    local bias = self:parameter("bias", { 3 }, { init = baleen.init.zeros })
    x = ops.log(1 + x)
    local c = x - ops.mean(x, 1, true)
    return c * ops.rsqrt(ops.mean(c * c, 1, true) + 1e-5) * gain + bias
  end,
}

return baleen.job {
  model = nn.sequential {
    norm { name = "norm" }, nn.relu {}, nn.linear { name = "into", out = 11 }, nn.tanh {},
    nn.linear { name = "out", out = 5 },
  },
  loss = nn.cross_entropy {}, data = baleen.data.table { rows = rows, held_out = 0.2 },
  batch = 12, steps = 20, seed = 1, optimizer = baleen.optimizer("adamw", { lr = 0.01 }),
}
