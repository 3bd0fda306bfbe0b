// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run `npm run lua`.
export const scripts = {
  acquire: {
    source: `local channel_prefix = ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
if now > tonumber(ARGV[1]) then
return {now, 'late'}
end
local reply, rest, span = {now}, {}, 0
for position = 1, (#ARGV - 2) / 4 do
span = span + 1 + ARGV[position * 4 + 1]
end
local base
for position = 1, (#ARGV - 2) / 4 do
local record_key = KEYS[position * 3 - 1]
local granted = false
if redis.call('EXISTS', record_key, KEYS[position * 3]) == 0 then
if not base then
base = now
local last = redis.pcall('SET', KEYS[1], string.format('%d', now + span - 1), 'PX', '60000', 'GET')
if type(last) == 'table' then
base = nil
elseif last and tonumber(last) >= now then
base = tonumber(last) + 1
redis.call('SET', KEYS[1], string.format('%d', base + span - 1), 'PX', '60000')
end
end
if base then
local claim, lease = ARGV[position * 4 - 1], ARGV[position * 4]
local token, expiry = string.format('%d', base), string.format('%d', now_ms + lease)
local written = redis.pcall('SET', record_key, claim .. ' ' .. token .. ' ' .. expiry .. ' full', 'PXAT', expiry)
if not written.err then
granted = true
base = base + ARGV[position * 4 + 1]
reply[position + 1] = 'granted ' .. token .. ' ' .. lease .. ' ' .. string.format('%d', base) .. ' 0'
base = base + 1
end
end
end
if not granted then
rest[#rest + 1] = position
end
end
if #rest == 0 then
return reply
end
local register_key = KEYS[1]
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[position * 3 - 1], KEYS[position * 3], KEYS[position * 3 + 1]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function raise_register(top)
local last = tonumber(redis.call('GET', register_key) or 0)
if last >= top then
return last
end
redis.call('SET', register_key, digits(top), 'PX', guard)
return top
end
local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state, 'PXAT', until_ms)
end
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
local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
if not holder then
error('FOREIGN value on the key of a lock')
end
return holder, token, tonumber(expiry), state
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
local function leave_queue(claim)
redis.call('HDEL', waiters_key, claim)
return redis.call('ZREM', queue_key, claim) == 1
end
local window = 3000
local function serve(caller)
local place = 0
while true do
local claim = redis.call('ZRANGE', queue_key, place, place)[1]
if not claim or claim == caller then
return claim
end
local alive_until, lease, reserve, standing = read_waiter(claim)
if not alive_until or alive_until < now_ms then
leave_queue(claim)
else
local channel = channel_of(claim)
if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call('PUBLISH', channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
return claim
end
if standing ~= 'deaf' then
write_waiter(claim, alive_until, lease, reserve, 'deaf')
end
place = place + 1
end
end
end
local function granted(token, length, top)
return 'granted ' .. digits(token) .. ' ' .. length .. ' ' .. digits(top) .. ' ' .. redis.call('ZCARD', queue_key)
end
local function ask(claim, lease, reserve, patience)
local record = redis.call('GET', record_key)
if not record then
local served = serve(claim)
record = redis.call('GET', record_key)
if served == claim or not record then
local token, top = grant(claim, lease, 'full', reserve)
leave_queue(claim)
return granted(token, lease, top)
end
end
local holder, token, expiry, state = read(record)
if holder == claim then
token = tonumber(token)
if state == 'provisional' then
leave_queue(claim)
expiry = now_ms + lease
write(claim, token, expiry, 'full')
end
return granted(token, expiry - now_ms, raise_register(token + reserve))
end
if patience == 0 then
return 'contended ' .. (expiry - now_ms)
end
local standing = redis.call('PUBSUB', 'NUMSUB', channel_of(claim))[2] > 0 and 'heard' or 'asked'
if not redis.call('ZRANK', queue_key, claim) then
local last = redis.call('ZREVRANGE', queue_key, 0, 0, 'WITHSCORES')[2] or 0
redis.call('ZADD', queue_key, last + 1, claim)
end
write_waiter(claim, now_ms + patience, lease, reserve, standing)
if redis.call('PTTL', queue_key) < patience then
redis.call('PEXPIRE', queue_key, patience)
redis.call('PEXPIRE', waiters_key, patience)
end
return 'queued ' .. (expiry - now_ms) .. ' ' .. redis.call('ZRANK', queue_key, claim) .. ' ' .. standing
end
for _, position in ipairs(rest) do
choose(position)
local at = position * 4 - 1
reply[position + 1] = isolated(ask, ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]))
end
return reply`,
    sha1: '57212c370c47ae7e28064f4b8e677e54a18609a2',
  },
  release: {
    source: `local channel_prefix = ARGV[1]
local reply, rest = {}, {}
for position = 1, #ARGV - 1 do
local claim = ARGV[position + 1]
local record_key = KEYS[position * 3 - 1]
local record = redis.pcall('GET', record_key)
if type(record) == 'string' and string.sub(record, 1, #claim + 1) == claim .. ' ' and redis.call('EXISTS', KEYS[position * 3]) == 0 then
redis.call('DEL', record_key)
reply[position] = 'released'
else
rest[#rest + 1] = position
end
end
if #rest == 0 then
return reply
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local register_key = KEYS[1]
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[position * 3 - 1], KEYS[position * 3], KEYS[position * 3 + 1]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function raise_register(top)
local last = tonumber(redis.call('GET', register_key) or 0)
if last >= top then
return last
end
redis.call('SET', register_key, digits(top), 'PX', guard)
return top
end
local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state, 'PXAT', until_ms)
end
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
local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
if not holder then
error('FOREIGN value on the key of a lock')
end
return holder, token, tonumber(expiry), state
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
local function leave_queue(claim)
redis.call('HDEL', waiters_key, claim)
return redis.call('ZREM', queue_key, claim) == 1
end
local window = 3000
local function serve(caller)
local place = 0
while true do
local claim = redis.call('ZRANGE', queue_key, place, place)[1]
if not claim or claim == caller then
return claim
end
local alive_until, lease, reserve, standing = read_waiter(claim)
if not alive_until or alive_until < now_ms then
leave_queue(claim)
else
local channel = channel_of(claim)
if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call('PUBLISH', channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
return claim
end
if standing ~= 'deaf' then
write_waiter(claim, alive_until, lease, reserve, 'deaf')
end
place = place + 1
end
end
end
local function release(claim)
local outcome
local record = redis.call('GET', record_key)
if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
redis.call('DEL', record_key)
leave_queue(claim)
outcome = 'released'
else
outcome = leave_queue(claim) and 'cancelled' or 'absent'
if record then
return outcome
end
end
serve(nil)
return outcome
end
for _, position in ipairs(rest) do
choose(position)
reply[position] = isolated(release, ARGV[position + 1])
end
return reply`,
    sha1: '1d586c711cdeb590c16298698d6fd00e9077af6d',
  },
  renew: {
    source: `local register_key = KEYS[1]
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[position * 3 - 1], KEYS[position * 3], KEYS[position * 3 + 1]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function raise_register(top)
local last = tonumber(redis.call('GET', register_key) or 0)
if last >= top then
return last
end
redis.call('SET', register_key, digits(top), 'PX', guard)
return top
end
local function renew(claim, known_token, lease, reserve)
local record = redis.pcall('GET', record_key)
local text = type(record) == 'string' and record or ''
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
token = tonumber(token)
if holder ~= claim or token > known_token or (token < known_token and known_token > math.max(now, tonumber(redis.call('GET', register_key) or 0))) then
return 'lost'
end
expiry = math.max(tonumber(expiry), now_ms + lease)
if state == 'provisional' then
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local until_ms = string.format('%d', expiry)
local written = redis.pcall('SET', record_key, claim .. ' ' .. digits(token) .. ' ' .. until_ms .. ' full', 'PXAT', until_ms)
if written.err then
redis.call('PEXPIREAT', record_key, until_ms)
return (expiry - now_ms) .. ' 0 0'
end
if reserve == 0 then
return (expiry - now_ms) .. ' 0 0'
end
return (expiry - now_ms) .. ' ' .. digits(raise_register(known_token + reserve)) .. ' ' .. redis.call('ZCARD', queue_key)
end
local reply = {now}
for hold = 1, #ARGV / 4 do
choose(hold)
local base = hold * 4 - 3
reply[hold + 1] = isolated(renew, ARGV[base], tonumber(ARGV[base + 1]), tonumber(ARGV[base + 2]), tonumber(ARGV[base + 3]))
end
return reply`,
    sha1: 'fd9eb48ce6dd383f480d95bec0c9f6ae79fa42ee',
  },
} as const;
