-- A policy's gradient with a baseline: the loss is 0 at first, but for rounding, and its gradients are not.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

return baleen.job {
  model = nn.sequential {
    nn.linear { name = "into", out = 16 },
    nn.tanh {},
    nn.linear { name = "out", out = 4, init = baleen.init.zeros },
  },
  loss = function(o, action, fields)
    local n = o.shape[1]
    local a = ops.reshape(fields.advantage, { n })
    a = a - ops.mean(a, 1, true)
    local m = ops.amax(o, -1, true)
    local likely = o - m - ops.log(ops.sum(ops.exp(o - m), -1, true))
    local one = ops.eq(ops.float(ops.reshape(action, { n, 1 })), ops.index({ n, 4 }, 2))
    return -ops.sum(ops.sum(likely * one, -1) * a), n
  end,
  data = baleen.data.synthetic { fields = { "x f32 6", "advantage f32", "action i32 < 4" }, rows = 64, held_out = 8 },
  batch = 8, steps = 20, optimizer = baleen.optimizer("adamw", { lr = 0.01 }),
}
