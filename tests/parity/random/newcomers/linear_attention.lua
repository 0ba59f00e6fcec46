-- Attention as a running sum of products with decays, several outputs, and a convolution over time with groups.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local dim, heads, width = 8, baleen.arg("heads", 2), 4
local layer = nn.layer {
  kind = "retention",
  setup = function(self)
    for _, name in ipairs { "q", "k", "v" } do
      self[name] = nn.linear { name = name, out = { heads, width }, axes = { "heads", "" }, bias = false }
    end
    self.norm, self.o = nn.rms_norm { name = "norm" }, nn.linear { name = "o", out = dim, over = 2, axes = { "embed" } }
  end,
  forward = function(self, x)
    local y = self.norm(x)
    local q, k, v = ops.sigmoid(self.q(y)), ops.sigmoid(self.k(y)), self.v(y)
    local state = ops.cumsum(ops.matmul("bshi,bshj->bshij", k, v), { dim = 2 })
    local size = ops.cumsum(k, { dim = 2 })
    local top = ops.matmul("bshi,bshij->bshj", q, state)
    return x + self.o(top / ops.sum(q * size, -1, true))
  end,
}

return common.job {
  model = nn.sequential {
    nn.embedding { name = "embedding", vocab = 9, dim = dim }, nn.repeated(2, function() return layer {} end),
    nn.linear { name = "head", out = 9, axes = { "vocab" }, bias = false },
  },
  loss = nn.cross_entropy { ignore_index = 3 }, data = common.tokens(6, 9),
}
