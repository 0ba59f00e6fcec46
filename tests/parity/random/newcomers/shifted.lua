-- Token shift, a causal convolution, running sums in both directions, coordinates.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.tokens(12, 17)
local blk = nn.layer { kind = "rwkv", setup = function(self)
    self.k, self.v, self.r = nn.linear { name = "k", out = 12 }, nn.linear { name = "v", out = 12 },
      nn.linear { name = "r", out = 12 }
    self.n = nn.layer_norm { name = "n" }
  end,
  forward = function(self, x)
    local y = self.n(x)
    local s = x.shape[2]
    local prev = ops.pad(ops.slice(y, 2, 1, s - 1), 2, 1, 0)
    local mix = self:parameter("mix", { 12 }, { init = init.constant(0.5) })
    local z = y * mix + prev * (1 - mix)
    local k, v, r = self.k(z), self.v(z), self.r(z)
    local e = ops.exp(ops.min(k, 5))
    local num, den = ops.cumsum(e * v, { dim = 2 }), ops.cumsum(e, { dim = 2 })
    local back = ops.cumsum(v, { dim = 2, reverse = true })
    local pos = ops.index({ s, 12 }, 1)
    return x + ops.sigmoid(r) * num / (den + 1e-6) + 0.01 * back / (pos + 1)
  end }
local conv = nn.layer { kind = "cconv", forward = function(self, x)
  local w = self:parameter("w", { 3, 12 }, { init = init.normal(0.3) })
  local s, y = x.shape[2]
  for i = 1, 3 do
    local xi = i == 1 and x or ops.slice(ops.pad(x, 2, i - 1, 0), 2, 1, s)
    local t = xi * ops.reshape(ops.slice(w, 1, i, 1), { 12 })
    y = y and y + t or t
  end
  return ops.silu(y) end }
local model = nn.sequential { nn.embedding { name = "emb", vocab = 17, dim = 12 }, conv { name = "conv" },
  nn.repeated(2, function() return blk {} end), nn.linear { name = "head", out = 17, axes = { "vocab" } } }
return common.job { model = model, loss = nn.cross_entropy {}, data = data,
  }
