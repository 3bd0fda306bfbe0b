-- include: register.lua
-- include: record.lua

-- Waiters that one command passes over at most: Redis serves no other client until it has ended.
local most_passed = 100

-- A lease ends earlier than the waiters may know: sends the time to the first that can be reached.
local function tell_of(ends)
  local channel, way, listens
  for _, claim in ipairs(first_waiters(most_passed)) do
    -- Many in a row may belong to one process.
    if channel_of(claim) ~= channel then
      channel = channel_of(claim)
      way, listens = way_to(channel)
    end
    if listens then
      local entry = redis.call('HGET', waiters_key, claim) or ''
      local alive_until, asked_at, asks_at, rest = string.match(entry, '^(%d+) (%d+) (%d+)( .*)$')
      if asks_at and tonumber(asks_at) > ends then
        redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. asked_at .. ' ' .. digits(ends) .. rest)
        redis.call(way, channel, 'ask ' .. claim .. ' ' .. digits(ends - now_ms) .. ' ' .. record_key)
      end
      return
    end
  end
end
