--[[
Ends claims that hold, and wakes the waiters.

KEYS  as in includes/lock.lua
ARGV  1 terms of the locks (includes/lock.lua)
      2 the claims, with a space between two
      3 for each of them the ms for which the lock stays taken after the release (minHold); left out when it is 0 for all
REPLY 'released' when all claims were; else for each claim 'released' | 'absent' | 'failed <error>'
INVARIANT  A claim that does not hold changes nothing; nor does one that has left already (kept).
]]
local terms = ARGV[1]
-- include: lock.lua

local function release(claim, keep)
  local field, _, kept = find(claim)
  if not field or kept then
    return 'absent'
  elseif keep == 0 then
    drop(field)
    return 'released'
  end
  redis.call('HSET', lock_key, field .. '@kept', 1)
  redis.call('HDEL', lock_key, field)
  redis.call('PEXPIRE', lock_key, keep)
  -- The lifetime is shorter now: a waiter of Redisson sleeps for as long as it was when that waiter asked.
  wake()
  return 'released'
end

local next_keep = ARGV[3] and string.gmatch(ARGV[3], '%d+')
local reply, all = {}, true
for claim in string.gmatch(ARGV[2], '%S+') do
  choose(#reply + 1)
  reply[position] = isolated(release, claim, next_keep and tonumber(next_keep()) or 0)
  all = all and reply[position] == 'released'
end
return all and 'released' or reply
