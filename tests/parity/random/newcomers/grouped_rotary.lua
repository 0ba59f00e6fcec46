-- Grouped heads with rotary positions written by hand, a sliding window and a bias that grows with distance (ALiBi).
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local heads, groups, width, dim, length = baleen.arg("heads", 4), baleen.arg("groups", 2), 4, 12, 6

local function turned(x) -- [b, s, h, w]: pairs of numbers turn with the position
  local shape = { x.shape[2], 1, width // 2 }
  local angle = ops.index(shape, 1) * ops.exp(ops.index(shape, 3) * -2)
  local a, b = ops.slice(x, 4, 1, width // 2), ops.slice(x, 4, width // 2 + 1, width // 2)
  local c, s = ops.cos(angle), ops.sin(angle)
  return ops.concat({ a * c - b * s, a * s + b * c }, 4)
end
local look = nn.layer {
  kind = "window",
  setup = function(self)
    self.norm = nn.rms_norm { name = "norm" }
    self.q = nn.linear { name = "q", out = { heads, width }, axes = { "heads", "head_dim" }, bias = false }
    self.k = nn.linear { name = "k", out = { groups, width }, axes = { "heads", "head_dim" }, bias = false }
    self.v = nn.linear { name = "v", out = { groups, width }, axes = { "heads", "head_dim" }, bias = false }
    self.o = nn.linear { name = "o", out = dim, over = 2, axes = { "embed" } }
  end,
  forward = function(self, x)
    local y, b, s, each = self.norm(x), x.shape[1], x.shape[2], heads // groups
    local q = ops.reshape(turned(self.q(y)), { b, s, groups, each, width })
    local k, v = turned(self.k(y)), self.v(y)
    local scores = ops.matmul("bigew,bjgw->bgeij", q, k) * 0.5
    local shape = { groups, each, s, s }
    local back = ops.index(shape, 3) - ops.index(shape, 4)
    scores = scores - back * ops.exp(-(ops.index(shape, 1) * each + ops.index(shape, 2) + 1))
    scores = ops.select(ops.lt(back, 0), -1e4, ops.select(ops.lt(3, back), -1e4, scores))
    local mixed = ops.matmul("bgeij,bjgw->bigew", ops.softmax(scores), v)
    return x + self.o(ops.reshape(mixed, { b, s, heads, width }))
  end,
}

return common.job {
  model = nn.sequential {
    nn.embedding { name = "embedding", vocab = 11, dim = dim }, nn.repeated(2, function() return look {} end),
    nn.linear { name = "head", out = 11, axes = { "vocab" } },
  },
  loss = nn.cross_entropy { smoothing = 0.1 }, metrics = { right = nn.accuracy {} }, data = common.tokens(length, 11),
}
