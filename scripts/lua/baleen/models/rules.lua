--- rules(add, sizes, prefix): short words for the rules of a map (map.lua) whose letters all have these sizes; `prefix`
--- stands before all of their names. Gives one(ours, theirs, form, more), norm(ours, theirs) of a layer norm, and
--- linear(ours, theirs, form, last): a weight of that form, and a bias of the letter `last`.
return function(add, sizes, prefix)
  local function one(ours, theirs, form, more)
    local rule = { ours = ours, theirs = theirs, form = form, sizes = sizes }
    if prefix then rule.theirs = prefix .. theirs end
    for key, value in pairs(more or {}) do rule[key] = value end
    add(rule)
  end
  local function norm(ours, theirs)
    one(ours .. ".gamma", theirs .. ".weight", "e")
    one(ours .. ".beta", theirs .. ".bias", "e")
  end
  local function linear(ours, theirs, form, last)
    one(ours .. ".weight", theirs .. ".weight", form)
    one(ours .. ".bias", theirs .. ".bias", last)
  end
  return one, norm, linear
end
