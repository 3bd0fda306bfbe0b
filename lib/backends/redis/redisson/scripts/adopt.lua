--[[
Moves a hold to a claim of another client, with the same token. The lock is never free in between.

KEYS  as in includes/lock.lua, for one lock
ARGV  1 latest server time in µs at which the sender still wants the reply
      2 the claim that holds, 3 its token, or a later one of its block
      4 the claim that is to hold, 5 its lease in ms
      6 terms of the lock (includes/lock.lua)
REPLY {now µs, 'adopted <rest of the lease in ms>' | 'gone' | 'taken' | 'late'} or 'failed <error>'
INVARIANT  One of several adopters gets it. Sent again by that one: the same reply, and never a shorter lease. 'late' changed nothing.
]]
local terms = ARGV[6]
-- include: clock.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
-- include: lock.lua

local function adopt(from, known_token, to, lease)
  local present = redis.call('PTTL', lock_key)
  local own, own_token = find(to)
  if own and own_token == known_token then
    lease = math.max(present, lease)
    redis.call('PEXPIRE', lock_key, lease)
    return 'adopted ' .. lease
  end
  local field, token, kept = find(from)
  if field and not kept and covers(token, known_token) then
    redis.call('HSET', lock_key, field_of(to, known_token), 1)
    redis.call('HDEL', lock_key, field)
    redis.call('PEXPIRE', lock_key, lease)
    if lease < present then
      wake()
    end
    return 'adopted ' .. lease
  elseif field then
    return 'gone'
  end
  for _, other in ipairs(redis.call('HKEYS', lock_key)) do
    local _, other_token = read(other)
    if other_token == known_token then
      return 'taken'
    end
  end
  return 'gone'
end

choose(1)
local outcome = isolated(adopt, ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]))
if string.sub(outcome, 1, 7) == 'failed ' then
  return outcome
end
return {now, outcome}
