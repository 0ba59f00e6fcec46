-- Two networks against each other: the job's own step trains the maker, a program the judge, twice a step.
local baleen = require "baleen"
local nn = baleen.nn

local count, width = 12, 4
local rows, real = {}, {}
for i = 1, count do
  rows[i], real[i] = {}, {}
  for k = 1, width do
    rows[i][k] = math.sin(i * 5 + k)
    real[i][k] = math.cos(i + k * 2)
  end
  rows[i][width + 1] = 1
end

local maker = nn.sequential {
  name = "maker", nn.linear { out = 16, axes = { "ff" } }, nn.tanh {}, nn.linear { out = width },
}
local judge = nn.sequential {
  name = "judge", nn.linear { out = 16, axes = { "ff" } }, nn.tanh {}, nn.dropout { p = baleen.arg("dropout", 0.0) },
  nn.linear { out = 1 },
}
local mse = nn.mse {}
local fields = { shape = { count, width }, axes = { "batch", "" } }

return baleen.job {
  model = function(noise) return judge(maker(noise)) end,
  loss = mse, data = baleen.data.table { rows = rows, task = "regress", held_out = 0 },
  batch = count, steps = 4, seed = 11,
  optimizer = baleen.optimizer("adamw", { lr = 0.02, groups = { { match = "judge.*", frozen = true } } }),
  programs = {
    judge = {
      inputs = { noise = fields, real = fields },
      run = function(inputs)
        local made, true_ones = judge(maker(inputs.noise)), judge(inputs.real)
        local wrong, right = (made * made):sum(), ((true_ones - 1) * (true_ones - 1)):sum()
        return { loss = wrong + right, weight = 2 * count, wrong = wrong, right = right }
      end,
      optimizer = baleen.optimizer("sgd", { lr = 0.05, momentum = 0.9 }), parameters = { "judge.*" },
    },
  },
  on_step = function(facts, run)
    local noise = {}
    for i = 1, count do noise[i] = { table.unpack(rows[i], 1, width) } end
    for _ = 1, 2 do
      local out = run:run("judge", { noise = noise, real = real })
      print(("learnt %d loss %.15g wrong %.15g right %.15g"):format(facts.step, facts.loss, out.wrong[1],
        out.right[1]))
    end
  end,
}
