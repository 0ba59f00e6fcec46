-- Bags of hashed ids with lengths of their own, tables of very unlike sizes, crossed pairwise (recommendation).
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local dim = 4
local tables = { nn.embedding { name = "large", vocab = 61, dim = dim },
  nn.embedding { name = "small", vocab = 3, dim = dim } }
local bottom = nn.sequential { name = "bottom", nn.linear { name = "up", out = 9, axes = { "ff" } }, nn.relu {},
  nn.linear { name = "down", out = dim } }
local top = nn.sequential { name = "top", nn.linear { name = "up", out = 7, axes = { "ff" } }, nn.relu {},
  nn.linear { name = "down", out = 1 } }

return common.job {
  model = function(x, f)
    local n = x.shape[1]
    local count = ops.reshape(ops.float(f.count), { n, 1, 1 })
    local inside = ops.lt(ops.index({ n, 4, 1 }, 2), count)
    local bag = ops.sum(tables[1](ops.hash_bucket(f.items, { buckets = 61 })) * inside,
      2) / ops.max(ops.reshape(count, { n, 1 }), 1)
    local all = {}
    for i, v in ipairs { bag, tables[2](f.kind), bottom(x) } do all[i] = ops.reshape(v, { n, 1, dim }) end
    local z = ops.concat(all, 2)
    local crossed = ops.reshape(ops.matmul("bid,bjd->bij", z, z), { n, 9 })
    return ops.reshape(top(ops.concat({ crossed, bottom(x) }, 2)), { n })
  end,
  loss = function(o, y) -- logistic, of rows that count
    local soft = ops.log(1 + ops.exp(-ops.abs(o))) + ops.relu(o)
    return ops.sum(soft - o * ops.lt(0, y)), o.shape[1]
  end,
  input = "x", target = "y",
    data = common.rows("x f32 5", "items i32 4 < 1000", "count i32 < 5", "kind i32 < 3", "y f32"),
}
