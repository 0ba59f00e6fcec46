-- Two programs that learn in turn beside the training: a critic without sigmoid, and a mapper.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local data = baleen.data.synthetic { features = 6, rows = 64, held_out = 8 }
local gen = nn.sequential { name = "gen", nn.linear { out = 12, axes = { "ff" } }, nn.relu {}, nn.linear { out = 6 } }
local critic = nn.sequential {
  name = "critic", nn.linear { out = 12, axes = { "ff" } }, nn.relu {}, nn.linear { out = 1 },
}
local mapper = nn.sequential { name = "mapper", nn.linear { out = 6 }, nn.tanh {}, nn.linear { out = 4 } }
local real = { shape = { 4, 6 }, axes = { "batch" } }

return baleen.job {
  model = function(x) return critic(gen(mapper(ops.normal { x.shape[1], 4 }))) end,
  loss = function(o, _, f) return ops.sum(-o), f.features.shape[1] end,
  data = data, batch = 8, steps = 6,
  optimizer = baleen.optimizer("adamw", {
    lr = 1e-2, groups = { { match = { "critic.*", "mapper.*" }, frozen = true } },
  }),
  programs = {
    judge = {
      inputs = { real = real },
      run = function(i)
        local fake = gen(ops.normal { 4, 4 })
        return { loss = ops.sum(critic(fake)) - ops.sum(critic(i.real)), weight = ops.constant(4) }
      end,
      optimizer = baleen.optimizer("adamw", { lr = 5e-3 }), parameters = { "critic.*" }, clip_grad_norm = 1,
    },
    map = {
      inputs = { real = real },
      run = function(i)
        return { loss = ops.sum(ops.abs(gen(mapper(ops.normal { 4, 4 })) - i.real)), weight = ops.constant(24) }
      end,
      optimizer = baleen.optimizer("sgd", { lr = 1e-2, momentum = 0.9 }), parameters = { "mapper.*" },
    },
  },
  on_step = function(facts, run)
    local rows = {}
    for i = 1, 24 do rows[i] = math.sin(i * facts.step) end
    run:run("judge", { real = rows })
    run:run("judge", { real = rows })
    if facts.step % 2 == 0 then run:run("map", { real = rows }) end
  end,
}
