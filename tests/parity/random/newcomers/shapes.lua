-- Parameters of any shape: none, one, rows, columns, four dimensions; one that nothing reads; a loss of them.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.rows("x f32 1", "y f32 1")
local odd = nn.layer { kind = "odd", forward = function(self, x)
  local i = init.normal(0.5)
  local a, b = self:parameter("a", {}, { init = i }), self:parameter("b", { 1 }, { init = i })
  local c, d = self:parameter("c", { 1, 3 }, { init = i }), self:parameter("d", { 3, 1 }, { init = i })
  local big = self:parameter("big", { 2, 3, 5, 7 }, { init = i })
  self:parameter("unused", { 4 }, { init = i })
  local h = ops.tanh(ops.matmul("bi,ij->bj", x, c))
  local y = ops.matmul("bj,jk->bk", h, d) * a + b
  return y, ops.sum(big * big) + a * a
end }
local o = odd { name = "odd" }
return common.job { model = function(x) local y, l2 = o(x); return { y = y, l2 = l2 } end,
  loss = function(out, t) local n = t.shape[1]; return ops.sum((out.y - t) ^ 2) + 0.01 * out.l2 * n, n end,
  data = data,
  }
