--[[
Takes a lock from holders that inspect.lua has returned, and wakes the waiters.

KEYS  as in includes/lock.lua, for one lock
ARGV  1 terms of the lock (includes/lock.lua)
      2 and so on: two for each holder: claim, or the field of Redisson; its token, or '-'
REPLY the claims and fields that lost the lock; or 'failed <error>'
INVARIANT  A holder that is not named keeps what it has. Sent again, or late, it takes nothing from later holders of ours.
]]
local terms = ARGV[1]
-- include: lock.lua

local function revoke()
  local dropped, is_read_write = {}, redis.call('HEXISTS', lock_key, 'mode') == 1
  for named = 2, #ARGV, 2 do
    local present = fields()
    for _, field in ipairs(present) do
      local claim, token = read(field)
      if is_holder(field, present) and (claim or field) == ARGV[named] and token == tonumber(ARGV[named + 1]) then
        drop(field)
        dropped[#dropped + 1] = ARGV[named]
      end
    end
  end
  if is_read_write and dropped[1] and redis.call('HLEN', lock_key) < 2 then
    -- Without holders its mode is left.
    redis.call('DEL', lock_key)
    -- Redisson's message for all its waiters, readers and writers: they listen to a channel of their own.
    tell(channel_with('redisson_rwlock:'), '1')
  end
  return dropped
end

choose(1)
return isolated(revoke)
