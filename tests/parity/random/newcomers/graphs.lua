-- Graphs as tables of neighbours: sums over edges by a product with an adjacency made of ids, and a readout per graph.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local nodes, dim = 5, 6
local embedding = nn.embedding { name = "embedding", vocab = 4, dim = dim }
local step = nn.layer {
  kind = "step",
  setup = function(self)
    self.own, self.other = nn.linear { name = "own", out = dim },
      nn.linear { name = "other", out = dim, bias = false, axes = { "ff" } }
  end,
  forward = function(self, x, near)
    local degree = ops.sum(near, 3, true) + 1
    return ops.tanh(self.own(x) + ops.matmul("bij,bjd->bid", near, self.other(x)) / degree)
  end,
}
local steps, head = { step { name = "one" }, step { name = "two" } }, nn.linear { name = "head", out = 3 }

return common.job {
  model = function(kinds, f)
    local b = kinds.shape[1]
    local near = ops.eq(ops.float(ops.reshape(f.edge, { b, nodes, 1 })), ops.index({ b, nodes, nodes }, 3))
    near = ops.max(near, ops.transpose(near, { 1, 3, 2 }))
    local x = embedding(kinds)
    for i = 1, 2 do x = x + steps[i](x, near) end
    return head(ops.concat({ ops.amax(x, 2), ops.mean(x, 2) }, 2))
  end,
  loss = nn.cross_entropy {}, metrics = { right = nn.accuracy {} }, input = "kinds", target = "label",
  data = common.rows("kinds i32 5 < 4", "edge i32 5 < 5", "label i32 < 3"),
}
