-- include: clock.lua
-- include: register.lua
-- include: layout.lua

-- A sharer is one of several holders of a lock: a reader, or a holder of permits.

-- Token, state and permits; nothing for a claim that is not a sharer.
local function read_sharer(claim)
  local entry = redis.call('HGET', waiters_key, '=' .. claim) or ''
  local token, state, permits = string.match(entry, '^(%d+) (%l+) (%d+)$')
  return tonumber(token), state, tonumber(permits)
end

local function write_sharer(claim, token, state, permits)
  redis.call('HSET', waiters_key, '=' .. claim, digits(token) .. ' ' .. state .. ' ' .. digits(permits))
end

-- A key lives as long as its longest entry.
local function outlive(key, ms)
  if redis.call('PTTL', key) < ms then
    redis.call('PEXPIRE', key, ms)
  end
end

-- Changes the end of a hold, and confirms it. The record's own expiry comes first: Redis does not refuse that for lack of memory, and
-- refuses nothing after the first write.
local function prolong(claim, ends, token, state, permits)
  local rest = ends - now_ms
  redis.call('PEXPIRE', record_key, math.max(rest, redis.call('PTTL', record_key)))
  redis.call('ZADD', record_key, digits(ends), claim)
  write_sharer(claim, token, state, permits)
  outlive(waiters_key, rest)
end
