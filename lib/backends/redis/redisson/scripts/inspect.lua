--[[
Returns the holders of a lock: ours, and those of Redisson. Waiters leave no trace in Redis.

KEYS  as in includes/lock.lua, for one lock
ARGV  1 not used
      2 terms of the lock (includes/lock.lua)
REPLY {kind, or '' when the lock is free, 0,
       holders: {claim, or the field of Redisson; token; µs since its grant; rest of its lease in ms, full | kept, 1} each, '-' for what is
       not known, and for a rest that never ends, {}} or 'failed <error>'
INVARIANT  Changes nothing.
]]
local terms = ARGV[2]
-- include: lock.lua

local function inspect()
  local holders, kind = {}, ''
  local present, rest = fields(), redis.call('PTTL', lock_key)
  if rest < 0 then
    rest = '-'
  end
  for _, field in ipairs(present) do
    local claim, token, kept = read(field)
    if is_holder(field, present) then
      local age = claim and age_of(token) or '-'
      holders[#holders + 1] = {claim or field, claim and digits(token) or '-', age, rest, kept and 'kept' or 'full', 1}
      kind = 'exclusive'
    end
  end
  if kind ~= '' and redis.call('HGET', lock_key, 'mode') == 'read' then
    kind = 'shared'
  end
  return {kind, 0, holders, {}}
end

choose(1)
return isolated(inspect)
