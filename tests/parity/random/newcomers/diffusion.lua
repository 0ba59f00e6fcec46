-- Noise of a random level is taken off a picture: levels drawn in the graph, sines of them, modulated norms, a
-- residual net.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local dim = 6
local into, out = nn.linear { name = "into", out = dim }, nn.linear { name = "out", out = 2, init = init.normal(0.1) }
local level = nn.sequential { name = "level", nn.linear { name = "up", out = 10, axes = { "ff" } }, nn.silu {},
  nn.linear { name = "down", out = { 2, dim } } }
local block = nn.layer {
  kind = "modulated",
  setup = function(self) self.mlp, self.norm = nn.mlp { name = "mlp", hidden = 9 }, nn.layer_norm { name = "norm" } end,
  forward = function(self, x, how)
    local b = x.shape[1]
    local scale, shift = ops.reshape(common.part(how, 2, 1), { b, 1, dim }),
      ops.reshape(common.part(how, 2, 2), { b, 1, dim })
    return x + self.mlp(self.norm(x) * (1 + scale) + shift)
  end,
}
local one, two = block { name = "one" }, block { name = "two" }

return common.job {
  model = function(x)
    local b, noise, t = x.shape[1], ops.normal(x.shape), ops.uniform { x.shape[1], 1 }
    local waves = ops.sin(t * ops.exp(ops.index({ 1, 4 }, 2)))
    local how, wide = level(ops.concat({ waves, ops.cos(t) }, 2)), ops.reshape(t, { b, 1, 1 })
    local y = into(x * ops.sqrt(1 - wide) + noise * ops.sqrt(wide))
    return { guess = out(two(one(y, how), how)), noise = noise }
  end,
  loss = function(o, x)
    local off = o.guess - o.noise
    return ops.sum(off * off), x.shape[1] * x.shape[2]
  end,
  input = "x", target = "x", data = common.rows("x f32 seq=5 x 2"),
}
