-- Skip connections, a scalar parameter, and rows that are made twice as long by concat.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.rows("x f32 seq=8 x 4", "y f32 seq=8")
local a, b, c, d = nn.linear { name = "a", out = 8, axes = { "ff" } }, nn.linear { name = "b", out = 8 },
  nn.linear { name = "c", out = 8, axes = { "ff" } }, nn.linear { name = "d", out = 1 }
local s = nn.layer { kind = "s", forward = function(self, x)
  return x * self:parameter("alpha", {}, { init = init.ones }) end } { name = "s" }
return common.job { model = function(x)
    local n = x.shape[1]
    local h = ops.tanh(b(ops.relu(a(x))))
    local low = ops.mean(ops.reshape(h, { n, 4, 2, 8 }), 3)
    local upsampled = ops.reshape(ops.concat({ ops.reshape(low, { n, 4, 1, 8 }), ops.reshape(low, { n, 4, 1, 8 }) },
      3), { n, 8, 8 })
    return ops.reshape(d(ops.silu(c(ops.concat({ h, s(upsampled) }, 3)))), { n, 8 })
  end, loss = function(o, y) return ops.sum(ops.abs(o - y)), y.shape[1] * 8 end,
  data = data }
