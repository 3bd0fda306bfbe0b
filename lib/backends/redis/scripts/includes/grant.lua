local function write(to, token, expiry, state)
  redis.call('SET', record_key, to .. ' ' .. token .. ' ' .. expiry .. ' ' .. state, 'PXAT', expiry)
end

-- Makes a claim the holder; answers its token as text (a Lua number would be printed with 14 digits).
-- The token is the clock, or one more than the last one when the clock stands or went back. What can fail comes first.
local function grant(to, length, state)
  local token = string.format('%.0f', now)
  local last = redis.call('SET', register_key, token, 'PX', guard, 'GET')
  if last and tonumber(last) >= now then
    token = string.format('%.0f', last + 1)
    redis.call('SET', register_key, token, 'PX', guard)
  end
  write(to, token, now_ms + length, state)
  return token
end
