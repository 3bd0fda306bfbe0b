--[[
Moves a hold to a claim of another client: that client finishes the work, with the same token and without a gap.

KEYS  1 register, 2 record, 3 queue, 4 waiters (includes/layout.lua)
ARGV  1 latest server time in µs at which the sender still wants the reply
      2 the claim that holds, 3 its token, or a later one of its block
      4 the claim that is to hold, 5 its lease in ms
      6 prefix of the clients' channels
REPLY {now µs, 'adopted <rest of the lease in ms>' | 'gone' | 'taken' | 'late'} or 'failed <error>'
        gone: that hold is over; taken: another claim has adopted it
INVARIANT  One of several adopters gets it. Sent again by that one: the same reply, and never a shorter lease. 'late' changed nothing.
]]
local channel_prefix = ARGV[6]
-- include: clock.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
-- include: grant.lua
-- include: sharing.lua
-- include: tell.lua

-- Token, state, permits and end of the hold of a sharer; nothing for a claim that does not hold any more.
local function held_by(claim)
  local ends = tonumber(redis.call('ZSCORE', record_key, claim) or nil)
  if ends and ends >= now_ms then
    local token, state, permits = read_sharer(claim)
    return token, state, permits, ends
  end
end

local function adopt_share(from, known_token, to, lease)
  local ends = now_ms + lease
  local token, state, permits, present = held_by(to)
  if token == known_token then
    ends = math.max(present, ends)
  else
    token, state, permits, present = held_by(from)
    if token ~= known_token or state == 'kept' then
      for _, claim in ipairs(redis.call('ZRANGEBYSCORE', record_key, '-inf', '+inf')) do
        if held_by(claim) == known_token and claim ~= from then
          return 'taken'
        end
      end
      return 'gone'
    end
  end
  -- The new one first: Redis may refuse the write, and must do so before the old one is gone.
  prolong(to, ends, known_token, 'full', permits)
  if token == known_token and from ~= to then
    redis.call('ZREM', record_key, from)
    redis.call('HDEL', waiters_key, '=' .. from)
    leave_queue(from)
  end
  if ends < present then
    look()
    tell_of(ends_of())
  end
  return 'adopted ' .. (ends - now_ms)
end

local function adopt(from, known_token, to, lease)
  local record = redis.pcall('GET', record_key)
  if not record then
    return 'gone'
  elseif type(record) == 'table' then
    return adopt_share(from, known_token, to, lease)
  end
  local holder, token, expiry, state = read(record)
  token = tonumber(token)
  local ends = now_ms + lease
  if holder == to and token == known_token then
    ends = math.max(expiry, ends)
  elseif holder == from and state ~= 'kept' and token <= known_token then
    -- As for a renewal: only this library raises the register, so a token beyond it is wrong.
    if token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0)) then
      return 'gone'
    end
  elseif holder and holder ~= from and token == known_token then
    return 'taken'
  else
    return 'gone'
  end
  write(to, known_token, ends, 'full')
  leave_queue(from)
  if ends < expiry then
    tell_of(ends, to)
  end
  return 'adopted ' .. (ends - now_ms)
end

choose(1)
local outcome = isolated(adopt, ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]))
if string.sub(outcome, 1, 7) == 'failed ' then
  return outcome
end
return {now, outcome}
