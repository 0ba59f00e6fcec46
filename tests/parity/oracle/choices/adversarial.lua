-- A judge that learns beside the training: its bias has two terms that cancel at first.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local data = baleen.data.synthetic { features = 6, rows = 64, held_out = 8 }
local gen = nn.sequential { name = "gen", nn.linear { out = 12, axes = { "ff" } }, nn.relu {}, nn.linear { out = 6 } }
local dis = nn.sequential { name = "dis", nn.linear { out = 12, axes = { "ff" } }, nn.relu {}, nn.linear { out = 1 } }
local function soft(x) return ops.log(1 + ops.exp(-ops.abs(x))) + ops.max(x, 0) end

return baleen.job {
  model = function(x) return dis(gen(ops.normal { x.shape[1], 4 })) end,
  loss = function(o, _, f) return ops.sum(soft(-o)), f.features.shape[1] end,
  data = data, batch = 8, steps = 6,
  optimizer = baleen.optimizer("adamw", { lr = 1e-2, groups = { { match = { "dis.*" }, frozen = true } } }),
  programs = {
    judge = {
      inputs = { real = { shape = { 4, 6 }, axes = { "batch" } } },
      run = function(i)
        local fake = gen(ops.normal { 4, 4 })
        return { loss = ops.sum(soft(-dis(i.real)) + soft(dis(fake))), weight = ops.constant(4) }
      end,
      optimizer = baleen.optimizer("adamw", { lr = 1e-2 }), parameters = { "dis.*" }, clip_grad_norm = 1,
    },
  },
  on_step = function(facts, run)
    local real = {}
    for i = 1, 24 do real[i] = math.sin(i * facts.step) end
    run:run("judge", { real = real })
  end,
}
