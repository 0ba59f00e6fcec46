-- A block three times with the same weights, documents, and a weight of four dimensions that is read in both
-- directions.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.rows("ids i32 seq=8 < 12", "doc i32 seq=8 < 2", "targets i32 seq=8 < 12")
local emb = nn.embedding { name = "emb", vocab = 12, dim = 16, positions = 8 }
local blk = nn.transformer_block { name = "shared", dim = 16, heads = 4, kv_heads = 2, documents = "doc",
  norm = "rms", rotary = true }
local norm = nn.rms_norm { name = "norm" }
local bi = nn.layer { kind = "bilinear", forward = function(self, x)
  local w = self:parameter("w", { 16, 2, 8, 16 }, { init = init.normal(0.1), axes = { "", "", "ff", "" } })
  local h = ops.tanh(ops.matmul("bsd,dgfe->bsgfe", x, w))
  return ops.matmul("bsgfe,dgfe->bsd", h, w) end } { name = "bi" }
local head = nn.linear { name = "head", out = 12, axes = { "vocab" }, bias = false }
return common.job { model = function(ids)
    local x = emb(ids)
    for _ = 1, 3 do x = blk(x) end
    return head(norm(x + bi(x)))
  end, loss = nn.cross_entropy {}, metrics = { acc = nn.accuracy {} }, data = data,
  }
