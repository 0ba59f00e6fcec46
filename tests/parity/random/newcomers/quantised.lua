-- Codes of a book: the nearest entry by distances, gradients straight through, and losses that pull both together.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local dim, entries = 3, 5
local down, up = nn.linear { name = "down", out = dim },
  nn.sequential { name = "up", nn.linear { name = "in", out = 8, axes = { "ff" } }, nn.relu {},
    nn.linear { name = "out", out = 6 } }
local book = common.layer("book", function(self, z)
  local codes = self:parameter("codes", { entries, dim }, { init = init.normal(0.7) })
  local apart = ops.sum(codes * codes, 2) - 2 * ops.matmul("bd,ed->be", z, codes)
  local _, id = ops.top_k(-apart, 1)
  return ops.embedding(codes, ops.reshape(id, { z.shape[1] }))
end)

return common.job {
  model = function(x)
    local z = down(x)
    local code = book(z)
    return { y = up(code) + up(z), z = z, code = code }
  end,
  loss = function(o, x)
    local off, gap = o.y - x, o.z - o.code
    return ops.sum(off * off) + 0.25 * ops.sum(gap * gap), x.shape[1]
  end,
  input = "x", target = "x", data = common.rows("x f32 6"),
}
