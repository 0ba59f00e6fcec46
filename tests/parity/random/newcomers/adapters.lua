-- Low-rank adapters over a frozen trunk: of the attention's products, and one between blocks.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local dim = 8
local adapted = nn.layer {
  kind = "adapted",
  setup = function(self) self.base = nn.linear { name = "base", out = self.out, axes = { self.axis } } end,
  options = { out = { type = "integer", required = true }, axis = { type = "string", default = "" } },
  forward = function(self, x)
    local a = self:parameter("a", { x.shape[3], 1 }, { init = init.normal(0.3) })
    local b = self:parameter("b", { 1, self.out }, { init = init.zeros })
    return self.base(x) + ops.matmul("bsr,re->bse", ops.matmul("bsd,dr->bsr", x, a), b) * 4
  end,
}
local block = nn.layer {
  kind = "block",
  setup = function(self)
    self.attention, self.norm = nn.attention { name = "attention", heads = 2, causal = true },
      nn.layer_norm { name = "norm" }
    self.up, self.down = adapted { name = "up", out = 12, axis = "ff" }, adapted { name = "down", out = dim }
  end,
  forward = function(self, x)
    x = x + self.attention(x)
    return x + self.down(ops.relu(self.up(self.norm(x))))
  end,
}

return common.job {
  model = nn.sequential {
    nn.embedding { name = "embedding", vocab = 10, dim = dim, positions = 5 },
      nn.repeated(3, function() return block {} end),
    nn.linear { name = "head", out = 10, bias = false },
  },
  loss = nn.cross_entropy {}, data = common.tokens(5, 10),
  groups = { { match = { "*.a", "*.b" } }, { match = "*.gamma", lr = 3e-3 }, { match = "*", frozen = true } },
}
