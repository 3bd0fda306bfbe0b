-- include: register.lua
local function write(to, token, expiry, state)
  local until_ms = digits(expiry)
  redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state, 'PXAT', until_ms)
end

-- Makes a claim the holder; answers its token and the last one reserved for it. What can fail comes first.
-- The token is the clock, or one more than the register when the clock stands, went back, or was outrun by reservations.
local function grant(to, length, state, reserve)
  local token, top = now, now + reserve
  local last = tonumber(redis.call('SET', register_key, digits(top), 'PX', guard, 'GET') or 0)
  if last >= now then
    token = last + 1
    top = token + reserve
    redis.call('SET', register_key, digits(top), 'PX', guard)
  end
  write(to, token, now_ms + length, state)
  return token, top
end
