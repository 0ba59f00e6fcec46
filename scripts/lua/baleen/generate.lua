--- Text that the model writes: the prompt and, token by token, what follows.

--- The number of a token drawn from softmax(logits / temperature); the likeliest at temperature 0.
local function pick(logits, temperature)
  local best = 1
  for i = 2, #logits do
    if logits[i] > logits[best] then best = i end
  end
  if temperature == 0 then return best - 1 end
  local weights, total = {}, 0
  for i, logit in ipairs(logits) do
    weights[i] = math.exp((logit - logits[best]) / temperature)
    total = total + weights[i]
  end
  local point = math.random() * total
  for i, weight in ipairs(weights) do
    point = point - weight
    if point < 0 then return i - 1 end
  end
  return best - 1 -- only rounding leads here
end

--- generate(job, run, { prompt, tokens, temperature })
return function(job, run, options)
  local prompt = options.prompt or (job.generate and job.generate.prompt) or "\n"
  local ids = job.data:encode(prompt)
  for _ = 1, options.tokens do
    ids[#ids + 1] = pick(run:logits(ids), options.temperature)
  end
  return job.data:decode(ids)
end
