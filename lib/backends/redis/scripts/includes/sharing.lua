-- include: record.lua
-- include: sharer.lua

-- The state of the chosen name: read by `look`, and kept up to date while the script works on it.
local kind -- exclusive | shared | permits; unreadable: held in another layout; nil: free
local used -- readers, or permits in use
local limit -- how many permits there are; nil: set by the next grant

-- The demand of a claim: the kind, how many permits, of how many.
local function parse(demand)
  local wanted, permits, top = string.match(demand, '^ (%l+) (%d+) (%d+)$')
  return wanted or 'exclusive', tonumber(permits or 1), tonumber(top or 0)
end

-- Called while the lock is free, or held by several claims.
local function fits(wanted, permits)
  return not kind or kind == wanted and (kind == 'shared' or used + permits <= limit)
end

-- A name is used with permits or without, not both at once.
local function clashes(wanted)
  return kind and kind ~= 'unreadable' and (kind == 'permits') ~= (wanted == 'permits')
end

local function save()
  redis.call('HSET', waiters_key, '', kind .. ' ' .. digits(limit) .. ' ' .. digits(used))
end

-- Saves the state after holders have left.
local function settle()
  if redis.call('EXISTS', record_key) == 0 then
    kind, used = nil, 0
    redis.call('HDEL', waiters_key, '')
  else
    save()
  end
end

-- Ends one of several holds. A claim whose hold lapses unconfirmed is unreachable until it asks.
local function drop(claim)
  local _, _, permits = read_sharer(claim)
  redis.call('ZREM', record_key, claim)
  redis.call('HDEL', waiters_key, '=' .. claim)
  used = used - (permits or 0)
end

-- Reads the state of the name, and returns the record of an exclusive holder. Readers and permits whose time is up leave.
-- `known`: that record, if the script has read it already.
local function look(known)
  kind, used, limit = nil, 0, nil
  local record = known or redis.pcall('GET', record_key)
  if not record then
    return nil
  end
  if type(record) == 'string' then
    kind = 'exclusive'
    return record
  end
  -- Not a string. If it is not a sorted set either, the next command fails, and the value is foreign.
  local over = redis.call('ZRANGEBYSCORE', record_key, '-inf', '(' .. digits(now_ms))
  local what, top, taken = string.match(redis.call('HGET', waiters_key, '') or '', '^(%l+) (%d+) (%d+)$')
  if what then
    kind, limit, used = what, tonumber(top), tonumber(taken)
    for _, claim in ipairs(over) do
      drop(claim)
    end
    if over[1] then
      settle()
    end
  elseif redis.call('PTTL', record_key) >= 0 and string.find(redis.call('ZRANGEBYSCORE', record_key, '-inf', '+inf', 'LIMIT', 0, 1)[1], '^%S+:%S+$') then
    -- The hash was evicted, or has another layout (docs/inside/adr/0079): the holders may work until the key is gone.
    kind = 'unreadable'
  else
    error('FOREIGN value on the key of a lock')
  end
  return nil
end

-- Makes a claim one of several holders, and returns its token. What can fail comes first.
local function admit(to, length, state, wanted, permits, top)
  local token, refused = issue(1, 1)
  if not token then
    error(refused)
  end
  if not kind then
    -- The record expired by itself: its holders' entries are stale.
    if redis.call('HDEL', waiters_key, '') == 1 then
      for _, field in ipairs(redis.call('HKEYS', waiters_key)) do
        if string.sub(field, 1, 1) == '=' then
          redis.call('HDEL', waiters_key, field)
        end
      end
    end
    kind, limit = wanted, limit or top
  end
  used = used + permits
  redis.call('ZADD', record_key, digits(now_ms + length), to)
  write_sharer(to, token, state, permits)
  save()
  outlive(record_key, length)
  outlive(waiters_key, length)
  return token
end

-- Milliseconds until the leases end that keep a claim out: the last one of readers, the first one of permits, since one permit may be
-- enough. 1 when the lock is free, and others may have to be passed over first. With it comes the claim that has this lease, and the token of
-- an exclusive holder.
local function rest_of(record)
  if not kind then
    return 1
  elseif kind == 'exclusive' then
    local holder, token, expiry = read(record or redis.call('GET', record_key))
    return expiry - now_ms, holder, token
  elseif kind == 'unreadable' then
    return redis.call('PTTL', record_key)
  end
  local deciding
  if kind == 'permits' then
    deciding = redis.call('ZRANGEBYSCORE', record_key, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  else
    deciding = redis.call('ZREVRANGEBYSCORE', record_key, '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
  end
  return tonumber(deciding[2]) - now_ms, deciding[1]
end

-- When they end, and the claim that has this lease.
local function ends_of(record)
  local rest, by = rest_of(record)
  return now_ms + rest, by
end

-- Holders of one lock that are compared at most: there may be any number of them.
local most_compared = 16

-- The earliest of several holders, and its token. Of more than are compared: the earliest of those whose leases end first.
local function earliest()
  local claims, fields = redis.call('ZRANGEBYSCORE', record_key, '-inf', '+inf', 'LIMIT', 0, most_compared), {}
  for place, claim in ipairs(claims) do
    fields[place] = '=' .. claim
  end
  local holder, lowest
  for place, entry in ipairs(redis.call('HMGET', waiters_key, unpack(fields))) do
    local token = tonumber(string.match(entry or '', '^%d+') or nil)
    if token and (not lowest or token < lowest) then
      holder, lowest = claims[place], token
    end
  end
  return holder, lowest
end
