--- The default training loop. To have your own, copy this file and give the function to the job as `loop`.
local core = require "baleen.core"
local generate = require "baleen.generate"

local function evaluate(job, run)
  local facts = run:evaluate(job.evaluate.batches)
  if job.on_evaluate then job.on_evaluate(facts, run) end
end

return function(job, run)
  if not job.trains then
    core.fail("the job has no `loss` to train by, and no `loop`; give it one of them, or run a program: baleen infer",
      job.where)
  end
  local held_out, every = job.data.held_out_rows > 0, job.evaluate.every
  while run.step_count < job.steps do
    local facts = run:step()
    if job.on_step then job.on_step(facts, run) end
    if held_out and every > 0 and facts.step % every == 0 and facts.step < job.steps then evaluate(job, run) end
  end
  if held_out then evaluate(job, run) end
  if job.generate then print(core.presentable(generate.write(job, run, job.generate))) end
end
