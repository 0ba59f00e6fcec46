-- A code chosen by the largest of logits with Gumbel noise.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { features = 10, rows = 64, held_out = 8 }
local enc = nn.sequential { name = "enc", nn.linear { out = 16, axes = { "ff" } }, nn.gelu {}, nn.linear { out = 8 } }
local book = nn.linear { name = "book", out = 6, bias = false }
local dec = nn.sequential { name = "dec", nn.linear { out = 16, axes = { "ff" } }, nn.gelu {}, nn.linear { out = 10 } }
return baleen.job {
  model = function(x)
    local z = enc(x)
    local noise = -ops.log(1e-6 - ops.log(ops.uniform { x.shape[1], 8 } * 0.999 + 1e-4))
    local soft = ops.softmax(z + noise)
    local hard = ops.le(ops.amax(z + noise, -1, true), z + noise)
    return dec(book(hard * soft))
  end,
  loss = function(o, _, f) local d = o - f.features; return ops.sum(d * d), o.shape[1] * 10 end,
  data = data, batch = 8, steps = 6, clip_grad_norm = 1, optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
