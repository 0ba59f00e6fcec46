-- Three quantiles, by a loss that bends.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { features = 7, rows = 60, held_out = 8 }
local net = nn.sequential {
  nn.linear { name = "a", out = 16, axes = { "ff" } }, nn.silu {}, nn.linear { name = "q", out = 3 },
}
return baleen.job {
  model = net,
  loss = function(o, t)
    local b = o.shape[1]
    local y = ops.reshape(t, { b, 1 })
    local total
    for i, q in ipairs { 0.1, 0.5, 0.9 } do
      local d = y - ops.slice(o, 2, i, 1)
      local one = ops.sum(ops.max(q * d, (q - 1) * d))
      total = total and total + one or one
    end
    return total, b
  end,
  data = data, batch = 6, steps = 6, optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
