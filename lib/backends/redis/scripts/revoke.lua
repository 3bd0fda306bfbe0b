--[[
Takes a lock from holders that inspect.lua has returned, hands it to the next waiters in the same step, and notifies the clients that
lost it.

KEYS  1 register, 2 record, 3 queue, 4 waiters (includes/layout.lua)
ARGV  1 prefix of the clients' channels
      2 and so on: two for each holder: claim, its token
REPLY the claims that lost the lock; or 'failed <error>'
INVARIANT  A claim that is not named keeps what it has. Sent again, or late, it takes nothing from later holders.
]]
local channel_prefix = ARGV[1]
-- include: serve.lua

local function deprive(claim, token)
  local record = look()
  if record then
    local holder, holds = read(record)
    if holder ~= claim or holds ~= token then
      return false
    end
    leave_queue(claim)
    redis.call('DEL', record_key)
    kind = nil
    return true
  end
  if (kind ~= 'shared' and kind ~= 'permits') or read_sharer(claim) ~= tonumber(token) then
    return false
  end
  leave_queue(claim)
  drop(claim)
  settle()
  return true
end

local function revoke()
  local dropped = {}
  for named = 2, #ARGV, 2 do
    if deprive(ARGV[named], ARGV[named + 1]) then
      dropped[#dropped + 1] = ARGV[named]
    end
  end
  if dropped[1] then
    serve(nil)
  end
  for _, claim in ipairs(dropped) do
    local channel = channel_of(claim)
    local way = way_to(channel)
    redis.call(way, channel, 'revoked ' .. claim .. ' ' .. record_key)
  end
  return dropped
end

choose(1)
return isolated(revoke)
