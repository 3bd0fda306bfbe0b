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
  local alive_until, lease, reserve, standing, demand = string.match(entry, '^(%d+) (%d+) (%d+) (%l+)(.*)$')
  return tonumber(alive_until), tonumber(lease), tonumber(reserve), standing, demand
end

-- `demand`: as it stands in the entry, empty for the exclusive lock.
local function write_waiter(claim, alive_until, lease, reserve, standing, demand)
  redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' ' .. reserve .. ' ' .. standing .. demand)
end

local function channel_of(claim)
  return channel_prefix .. string.match(claim, '^[^:]+')
end

-- The command that sends messages on a channel from here, and whether anybody listens at this very server. In a cluster, and only there, the
-- prefix of channels ends in the tag of a slot: messages stay in its shard, where the server (Redis 7) and whoever listens can do that.
local function way_to(channel)
  local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
  if shard and not shard.err and shard[2] > 0 then
    return 'SPUBLISH', true
  end
  local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
  return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
end

-- Answers whether the claim stood in the queue.
local function leave_queue(claim)
  redis.call('HDEL', waiters_key, claim)
  return redis.call('ZREM', queue_key, claim) == 1
end
