-- Products over tokens and over channels in turn, with a dimension that no strategy knows.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.rows("x f32 tok=9 x 10", "label i32 < 7")
local block = nn.layer { kind = "mixer", setup = function(self)
    self.n1, self.n2 = nn.layer_norm { name = "n1" }, nn.layer_norm { name = "n2" }
    self.t1, self.t2 = nn.linear { name = "t1", out = 14, axes = { "ff" } }, nn.linear { name = "t2", out = 9 }
    self.c = nn.mlp { name = "c", hidden = 20, activation = "gelu" }
  end,
  forward = function(self, x)
    local y = ops.transpose(self.n1(x), { 1, 3, 2 })
    y = self.t2(ops.gelu(self.t1(y)))
    x = x + ops.transpose(y, { 1, 3, 2 })
    return x + self.c(self.n2(x))
  end }
local blocks = nn.repeated(3, function() return block {} end)
local head = nn.linear { name = "head", out = 7, init = init.zeros }
return common.job {
  model = function(x) return head(ops.mean(blocks(x), 2)) end,
  loss = nn.cross_entropy {}, metrics = { acc = nn.accuracy {} }, data = data,

}
