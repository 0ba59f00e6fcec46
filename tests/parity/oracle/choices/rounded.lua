-- Coordinates rounded down to a grid, and signs.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { features = 8, rows = 64, held_out = 8 }
local enc, dec = nn.linear { name = "enc", out = 6, axes = { "ff" } }, nn.linear { name = "dec", out = 8 }
return baleen.job {
  model = function(x)
    local z = enc(x)
    local grid = ops.floor(z * 4 + 0.5) * 0.25
    local sign = ops.select(ops.lt(z, 0), -1, 1)
    return dec(grid * 0.5 + sign * z * 0.5)
  end,
  loss = function(o, _, f) local d = o - f.features; return ops.sum(d * d), o.shape[1] * 8 end,
  data = data, batch = 8, steps = 6, optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
