-- Ten blocks whose attention and products stand side by side; the table is the head too.
local baleen = require "baleen"
local common = require "common"
local nn = baleen.nn

local data = common.tokens(8, 23)
local emb = nn.embedding { name = "emb", vocab = 23, dim = 16 }
local blk = nn.layer { kind = "gptj", setup = function(self) self.n = nn.layer_norm { name = "n" };
  self.at = nn.attention { name = "at", heads = 4, causal = true, rotary = true };
    self.ml = nn.mlp { name = "ml", hidden = 32 } end,
  forward = function(self, x) local y = self.n(x); return x + self.at(y) + self.ml(y) end }
local body = nn.repeated(10, function() return blk {} end)
local norm, head = nn.layer_norm { name = "norm" }, nn.linear { name = "head", tied_to = emb, bias = false }
return common.job { model = function(ids) return head(norm(body(emb(ids)))) end, loss = nn.cross_entropy {},
  data = data,
  }
