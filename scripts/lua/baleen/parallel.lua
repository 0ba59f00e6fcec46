--- parallel: layouts by hand. They change where things lie, never what is computed; a mesh axis that a run lacks
--- changes nothing, so one script runs on any ranks.
---   split { axis = "tensor", dim = "heads" } (f, ...): f(...), a layer or a function; parameters and values made
---     inside that have the logical axis `dim` are cut along the mesh axis
---   replicate { axis = "tensor" } (f, ...): what is made inside is whole
---   layout { name = "blocks.*.mlp.up.weight", axis = "tensor", placement = "shard", dim = 2 }: of parameters and
---     inputs by name, or of a layer's result by its path; `dim` counts from 1, -1 is the last, or is a logical axis
--- The innermost wins, `layout` stands above the others (the first that matches), and all stand above strategies.
local core = require "baleen.core"
local options = require "baleen.options"

local axis_rule = { type = "string", required = true }

local function check(what, given, rules)
  local chosen = options.check(what, given, rules)
  if not chosen.axis:match("^[%w_%-%.]+$") then
    core.fail(("%s: `axis` is %q; it must be the name of a mesh axis, as in axis = \"tensor\""):format(
      what, chosen.axis))
  end
  if chosen.dim == "" then
    core.fail(("%s: `dim` is %q; it must be a logical axis, as in dim = \"heads\""):format(what, chosen.dim))
  end
  return chosen
end

local Leaving = { __close = function(scope) core.leave(scope.mark) end }

local function around(kind, rules)
  local what = "parallel." .. kind
  return core.entry(function(given)
    local chosen, where = check(what, given, rules), core.where()
    return core.entry(function(body, ...)
      if not options.callable(body) then
        core.fail(("%s: what it is put around is %s; it must be a function or a layer, as in "
          .. "parallel.%s { ... } (function() ... end)"):format(what, core.describe(body), kind))
      end
      if core.graph_name() == "" then
        core.fail(what .. ": it stands around forward code, which runs only while the job's model is described; put it "
          .. "inside a layer's or the model's function")
      end
      local mark = core.begin_annotation(kind, chosen.axis, chosen.dim or "", where)
      local _scope <close> = setmetatable({ mark = mark }, Leaving)
      local results = table.pack(body(...))
      core.end_annotation(mark)
      return table.unpack(results, 1, results.n)
    end)
  end)
end

local layout_rules = {
  name = { type = "string|table", required = true },
  axis = axis_rule,
  placement = { type = "string", required = true, choices = { "shard", "replicate" } },
  dim = { type = "integer|string" },
}

local function dimension_of(chosen)
  if chosen.placement == "replicate" then
    if chosen.dim then
      core.fail("parallel.layout: `dim` says what to cut; take it away from placement = \"replicate\"")
    end
    return 0
  end
  if chosen.dim == nil or chosen.dim == 0 then
    core.fail(("parallel.layout: `dim` is %s; placement = \"shard\" needs a dimension from 1, -1 for the last, or a "
      .. "logical axis"):format(core.describe(chosen.dim)))
  end
  return chosen.dim
end

local function layout(given)
  local chosen = check("parallel.layout", given, layout_rules)
  if core.graph_name() ~= "" then
    core.fail("parallel.layout: it stands beside the model, not in its functions: they run once per graph")
  end
  local dim, names = dimension_of(chosen), chosen.name
  if type(names) == "string" then names = { names } end
  if #names == 0 then
    core.fail("parallel.layout: `name` is empty; it must be a pattern of names, or a list of them")
  end
  for i, name in ipairs(names) do
    options.expect(("parallel.layout: name %d"):format(i), name, "string")
    core.layout(name, chosen.axis, dim, core.where())
  end
end

return {
  split = around("split", { axis = axis_rule, dim = { type = "string", required = true } }),
  replicate = around("replicate", { axis = axis_rule }),
  layout = core.entry(layout),
}
