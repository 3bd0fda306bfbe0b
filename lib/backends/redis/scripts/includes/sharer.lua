-- One of the holders of a lock that several hold at once: a reader, or whoever uses permits.

-- Token, state, permits, and its place in the queue; nothing for who is none.
local function read_sharer(claim)
  local entry = redis.call('HGET', waiters_key, '=' .. claim) or ''
  local token, state, permits, place = string.match(entry, '^(%d+) (%l+) (%d+) (%d+)$')
  return tonumber(token), state, tonumber(permits), place
end

local function write_sharer(claim, token, state, permits, place)
  redis.call('HSET', waiters_key, '=' .. claim, digits(token) .. ' ' .. state .. ' ' .. digits(permits) .. ' ' .. place)
end

-- A key lasts as long as the longest of what stands in it.
local function outlive(key, ms)
  if redis.call('PTTL', key) < ms then
    redis.call('PEXPIRE', key, ms)
  end
end

-- Brings the end of a hold forward or back, and confirms it. The record's own expiry comes first: Redis does not refuse that for lack of
-- memory, and refuses nothing after the first write.
local function prolong(claim, ends, token, state, permits)
  local rest = ends - now_ms
  redis.call('PEXPIRE', record_key, math.max(rest, redis.call('PTTL', record_key)))
  redis.call('ZADD', record_key, digits(ends), claim)
  write_sharer(claim, token, state, permits, 0)
  outlive(waiters_key, rest)
end
