local function read(text)
  local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
  if not holder then
    error('FOREIGN value on the key of a lock')
  end
  return holder, token, tonumber(expiry), state
end

local function read_waiter(entry)
  local alive_until, lease, standing = string.match(entry, '^(%d+) (%d+) (%l+)$')
  return tonumber(alive_until), tonumber(lease), standing
end

local function channel_of(claim)
  return channel_prefix .. string.match(claim, '^[^:]+')
end

local function leave_queue(claim)
  redis.call('ZREM', queue_key, claim)
  redis.call('HDEL', waiters_key, claim)
end
