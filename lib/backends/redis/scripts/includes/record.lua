-- Holder, token, expiry and state; the expiry alone of a lock in another layout, which is held until its key is gone.
local function read(text)
  local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$')
  if holder then
    return holder, token, tonumber(expiry), state
  end
  local rest = string.match(text, ' v%d+$') and redis.call('PTTL', record_key) or -1
  if rest < 0 then
    error('FOREIGN value on the key of a lock')
  end
  return nil, nil, now_ms + rest, nil
end

local function read_waiter(claim)
  local entry = redis.call('HGET', waiters_key, claim) or ''
  local alive_until, lease, reserve, standing = string.match(entry, '^(%d+) (%d+) (%d+) (%l+)$')
  return tonumber(alive_until), tonumber(lease), tonumber(reserve), standing
end

local function write_waiter(claim, alive_until, lease, reserve, standing)
  redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' ' .. reserve .. ' ' .. standing)
end

local function channel_of(claim)
  return channel_prefix .. string.match(claim, '^[^:]+')
end

-- Answers whether the claim stood in the queue.
local function leave_queue(claim)
  redis.call('HDEL', waiters_key, claim)
  return redis.call('ZREM', queue_key, claim) == 1
end
