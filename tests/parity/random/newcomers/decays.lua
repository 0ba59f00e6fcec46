-- Gated linear recurrence by running sums of logarithms.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.tokens(12, 17)
local scan = nn.layer { kind = "scan", setup = function(self)
    self.norm = nn.rms_norm { name = "norm" }
    self.i, self.g, self.o = nn.linear { name = "in", out = 24, axes = { "ff" } },
      nn.linear { name = "gate", out = 24, axes = { "ff" } }, nn.linear { name = "out", out = 12 }
  end,
  forward = function(self, x)
    local y = self.norm(x)
    local u, g = self.i(y), self.g(y)
    local la = ops.log(ops.sigmoid(g)) * 0.1
    local cum = ops.cumsum(la, { dim = 2 })
    local h = ops.exp(cum) * ops.cumsum(u * ops.exp(-cum), { dim = 2 })
    return x + self.o(h * ops.silu(g))
  end }
local model = nn.sequential { nn.embedding { name = "emb", vocab = 17, dim = 12 },
  nn.repeated(2, function() return scan {} end), nn.layer_norm {},
    nn.linear { name = "head", out = 17, axes = { "vocab" } } }
return common.job { model = model, loss = nn.cross_entropy {}, data = data,
  }
