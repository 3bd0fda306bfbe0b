-- include: clock.lua
-- include: version.lua
-- include: layout.lua

-- Holder, token, expiry and state. Of a lock in another layout only the expiry: it is held until its key is gone.
local function read(text)
  local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$')
  if holder then
    -- The key lives longer than its value says when the lease was extended while Redis had no memory to write.
    return holder, token, math.max(expiry, now_ms + redis.call('PTTL', record_key)), state
  end
  local rest = string.match(text, ' v%d+$') and redis.call('PTTL', record_key) or -1
  if rest < 0 then
    error('FOREIGN value on the key of a lock')
  end
  return nil, nil, now_ms + rest, nil
end

local function read_waiter(entry)
  local alive_until, asked_at, lease, reserve, standing, place, demand =
    string.match(entry or '', '^(%d+) (%d+) %d+ (%d+) (%d+) (%l+) (%d+)(.*)$')
  return tonumber(alive_until), tonumber(asked_at), tonumber(lease), tonumber(reserve), standing, place, demand
end

local function channel_of(claim)
  return channel_prefix .. client_of(claim)
end

-- The command that publishes on a channel from here, and whether a client listens at this server. The prefix of channels ends in the tag of
-- a slot only in a cluster: messages then stay in its shard, if the server (Redis 7) and the clients support that.
local function way_to(channel)
  local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
  if shard and not shard.err and shard[2] > 0 then
    return 'SPUBLISH', true
  end
  local listens = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
  return shard and not shard.err and not listens and 'SPUBLISH' or 'PUBLISH', listens
end
