// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run `npm run lua`.
export const scripts = {
  acquire: {
    source: `local channel_prefix = ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local version = ' v1'
if now > tonumber(ARGV[1]) then
return {now, 'late'}
end
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function issue(count)
local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
if type(last) == 'table' then
return nil, last
end
local token = now
if last and tonumber(last) >= now then
token = last + 1
redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
end
return token
end
local function raise_register(top)
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= top then
return last
end
redis.call('SET', KEYS[1], digits(top), 'PX', guard)
return top
end
local names, position = (#KEYS - 1) / 3, 0
local next_terms = string.gmatch(ARGV[5], '(%d+) (%d+) (%d+)')
local lease, reserve, patience, expiry
local next_token
local reply, rest = {now}, nil
local free = redis.call('EXISTS', unpack(KEYS, 2, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[4], '%S+') do
position = position + 1
local new_lease, new_reserve, new_patience = next_terms()
if new_lease then
lease, reserve, patience = new_lease, new_reserve, new_patience
expiry = digits(now_ms + lease)
end
local granted
if free or redis.call('EXISTS', KEYS[1 + position], KEYS[1 + names + position]) == 0 then
next_token = next_token or issue(ARGV[3])
if next_token then
local record = claim .. ' ' .. digits(next_token) .. ' ' .. expiry .. ' full' .. version
local written = redis.pcall('SET', KEYS[1 + position], record, 'NX', 'PXAT', expiry)
granted = written and not written.err
end
end
if granted then
reply[1 + position] = next_token
next_token = next_token + 1 + reserve
else
rest = rest or {}
rest[#rest + 1] = {position, claim, tonumber(lease), tonumber(reserve), tonumber(patience)}
end
end
if not rest then
return reply
end
local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state .. version, 'PXAT', until_ms)
end
local function grant(to, length, state, reserve)
local token, refused = issue(1 + reserve)
if not token then
error(refused)
end
write(to, token, now_ms + length, state)
return token, token + reserve
end
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
local function way_to(channel)
local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
if shard and not shard.err and shard[2] > 0 then
return 'SPUBLISH', true
end
local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
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
local way, heard
if standing ~= 'deaf' then
way, heard = way_to(channel)
end
if heard or standing == 'asked' then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call(way, channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
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
expiry, state = now_ms + lease, 'full'
end
pcall(write, claim, token, expiry, state)
return granted(token, expiry - now_ms, raise_register(token + reserve))
end
if patience == 0 then
return 'contended ' .. (expiry - now_ms)
end
local _, heard = way_to(channel_of(claim))
local standing = heard and 'heard' or 'asked'
if not redis.call('ZRANK', queue_key, claim) then
local last = redis.call('ZREVRANGE', queue_key, 0, 0, 'WITHSCORES')[2] or 0
redis.call('ZADD', queue_key, math.max(last + 1, now), claim)
end
write_waiter(claim, now_ms + patience, lease, reserve, standing)
if redis.call('PTTL', queue_key) < patience then
redis.call('PEXPIRE', queue_key, patience)
redis.call('PEXPIRE', waiters_key, patience)
end
return 'queued ' .. (expiry - now_ms) .. ' ' .. redis.call('ZRANK', queue_key, claim) .. ' ' .. standing
end
for _, asked in ipairs(rest) do
choose(asked[1])
reply[1 + asked[1]] = isolated(ask, unpack(asked, 2))
end
return reply`,
    sha1: 'ed3c5175ed582870ffdd8ba7f9ab3aaae4214070',
  },
  adopt: {
    source: `local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
if now > tonumber(ARGV[1]) then
return {now, 'late'}
end
local version = ' v1'
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function issue(count)
local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
if type(last) == 'table' then
return nil, last
end
local token = now
if last and tonumber(last) >= now then
token = last + 1
redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
end
return token
end
local function raise_register(top)
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= top then
return last
end
redis.call('SET', KEYS[1], digits(top), 'PX', guard)
return top
end
local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state .. version, 'PXAT', until_ms)
end
local function grant(to, length, state, reserve)
local token, refused = issue(1 + reserve)
if not token then
error(refused)
end
write(to, token, now_ms + length, state)
return token, token + reserve
end
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
local function way_to(channel)
local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
if shard and not shard.err and shard[2] > 0 then
return 'SPUBLISH', true
end
local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
end
local function leave_queue(claim)
redis.call('HDEL', waiters_key, claim)
return redis.call('ZREM', queue_key, claim) == 1
end
local function adopt(from, known_token, to, lease)
local record = redis.call('GET', record_key)
if not record then
return 'gone'
end
local holder, token, expiry, state = read(record)
token = tonumber(token)
local ends = now_ms + lease
if holder == to and token == known_token then
ends = math.max(expiry, ends)
elseif holder == from and state ~= 'kept' and token <= known_token then
if token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0)) then
return 'gone'
end
elseif holder and token == known_token then
return 'taken'
else
return 'gone'
end
write(to, known_token, ends, 'full')
leave_queue(from)
return 'adopted ' .. (ends - now_ms)
end
choose(1)
local outcome = isolated(adopt, ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]))
if string.sub(outcome, 1, 7) == 'failed ' then
return outcome
end
return {now, outcome}`,
    sha1: 'd55cf3bbf0e2bf839d27d66607d36bc990ed59f2',
  },
  inspect: {
    source: `local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
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
local version = ' v1'
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
local function way_to(channel)
local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
if shard and not shard.err and shard[2] > 0 then
return 'SPUBLISH', true
end
local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
end
local function leave_queue(claim)
redis.call('HDEL', waiters_key, claim)
return redis.call('ZREM', queue_key, claim) == 1
end
local function holders_of()
local record = redis.call('GET', record_key)
if not record then
return {}
end
local claim, token, expiry, state = read(record)
if not claim then
return {{'', '0', 0, math.max(0, expiry - now_ms), 'full', 1}}
end
return {{claim, token, math.max(0, now - tonumber(token)), math.max(0, expiry - now_ms), state, 1}}
end
local function inspect(most)
local holders, holding = holders_of(), {}
for _, holder in ipairs(holders) do
holding[holder[1]] = true
end
local waiters = {}
local reply = {holders[1] and 'exclusive' or '', 0, holders, waiters}
if most == 0 then
return reply
end
local queue = redis.call('ZRANGE', queue_key, 0, most - 1 + #holders, 'WITHSCORES')
for entry = 1, #queue, 2 do
local claim, came = queue[entry], tonumber(queue[entry + 1])
local alive_until = read_waiter(claim)
if alive_until and alive_until >= now_ms and not holding[claim] and #waiters < most then
waiters[#waiters + 1] = {claim, math.max(0, now - came)}
end
end
return reply
end
choose(1)
return isolated(inspect, tonumber(ARGV[1]))`,
    sha1: '624598af40e72aeed228d3a77615814a418362ac',
  },
  release: {
    source: `local channel_prefix = ARGV[1]
local names, position = (#KEYS - 1) / 3, 0
local reply, freed, rest = {}, {}, nil
local next_keep = ARGV[3] and string.gmatch(ARGV[3], '%d+')
local records = redis.call('MGET', unpack(KEYS, 2, 1 + names))
local unwanted = redis.call('EXISTS', unpack(KEYS, 2 + names, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[2], '%S+') do
position = position + 1
local record = records[position]
local keep = next_keep and tonumber(next_keep()) or 0
if
record
and keep == 0
and string.sub(record, 1, #claim + 1) == claim .. ' '
and (unwanted or redis.call('EXISTS', KEYS[1 + names + position]) == 0)
then
freed[#freed + 1] = KEYS[1 + position]
reply[position] = 'released'
else
rest = rest or {}
rest[#rest + 1] = {position, claim, keep}
end
end
if freed[1] then
redis.call('DEL', unpack(freed))
end
if not rest then
return 'released'
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local version = ' v1'
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function issue(count)
local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
if type(last) == 'table' then
return nil, last
end
local token = now
if last and tonumber(last) >= now then
token = last + 1
redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
end
return token
end
local function raise_register(top)
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= top then
return last
end
redis.call('SET', KEYS[1], digits(top), 'PX', guard)
return top
end
local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state .. version, 'PXAT', until_ms)
end
local function grant(to, length, state, reserve)
local token, refused = issue(1 + reserve)
if not token then
error(refused)
end
write(to, token, now_ms + length, state)
return token, token + reserve
end
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
local function way_to(channel)
local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
if shard and not shard.err and shard[2] > 0 then
return 'SPUBLISH', true
end
local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
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
local way, heard
if standing ~= 'deaf' then
way, heard = way_to(channel)
end
if heard or standing == 'asked' then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call(way, channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
return claim
end
if standing ~= 'deaf' then
write_waiter(claim, alive_until, lease, reserve, 'deaf')
end
place = place + 1
end
end
end
local function release(claim, keep)
local outcome
local record = redis.call('GET', record_key)
if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
leave_queue(claim)
if keep > 0 then
local _, token = read(record)
write(claim, token, now_ms + keep, 'kept')
return 'released'
end
redis.call('DEL', record_key)
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
for _, left in ipairs(rest) do
choose(left[1])
reply[left[1]] = isolated(release, left[2], left[3])
end
return reply`,
    sha1: '1012c9664b65edf0a5751bab8dfc8262d3c2faa7',
  },
  renew: {
    source: `local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
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
local version = ' v1'
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function issue(count)
local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
if type(last) == 'table' then
return nil, last
end
local token = now
if last and tonumber(last) >= now then
token = last + 1
redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
end
return token
end
local function raise_register(top)
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= top then
return last
end
redis.call('SET', KEYS[1], digits(top), 'PX', guard)
return top
end
local own_record = '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$'
local function renew(claim, known_token, lease, reserve)
local record = redis.pcall('GET', record_key)
local text = type(record) == 'string' and record or ''
local holder, token, expiry, state = string.match(text, own_record)
token = tonumber(token)
if holder ~= claim or state == 'kept' or token > known_token or (token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))) then
return 'lost'
end
expiry = math.max(tonumber(expiry), now_ms + lease)
if state == 'provisional' then
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local until_ms = string.format('%d', expiry)
local written = redis.pcall('SET', record_key, claim .. ' ' .. digits(token) .. ' ' .. until_ms .. ' full' .. version, 'PXAT', until_ms)
if written.err then
redis.call('PEXPIRE', record_key, expiry - now_ms + 1)
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
    sha1: '4622b1553d7dbf32b8cb06c9dfe5e3ad73d5491e',
  },
  revoke: {
    source: `local channel_prefix = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local version = ' v1'
local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function issue(count)
local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
if type(last) == 'table' then
return nil, last
end
local token = now
if last and tonumber(last) >= now then
token = last + 1
redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
end
return token
end
local function raise_register(top)
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= top then
return last
end
redis.call('SET', KEYS[1], digits(top), 'PX', guard)
return top
end
local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end
local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state .. version, 'PXAT', until_ms)
end
local function grant(to, length, state, reserve)
local token, refused = issue(1 + reserve)
if not token then
error(refused)
end
write(to, token, now_ms + length, state)
return token, token + reserve
end
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
local function way_to(channel)
local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
if shard and not shard.err and shard[2] > 0 then
return 'SPUBLISH', true
end
local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
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
local way, heard
if standing ~= 'deaf' then
way, heard = way_to(channel)
end
if heard or standing == 'asked' then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call(way, channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
return claim
end
if standing ~= 'deaf' then
write_waiter(claim, alive_until, lease, reserve, 'deaf')
end
place = place + 1
end
end
end
local function drop(claim, token)
local record = redis.call('GET', record_key)
if not record then
return false
end
local holder, holds = read(record)
if holder ~= claim or holds ~= token then
return false
end
leave_queue(claim)
redis.call('DEL', record_key)
return true
end
local function revoke()
local dropped = {}
for named = 2, #ARGV, 2 do
if drop(ARGV[named], ARGV[named + 1]) then
dropped[#dropped + 1] = ARGV[named]
end
end
if dropped[1] then
serve(nil)
end
for _, claim in ipairs(dropped) do
local channel = channel_of(claim)
local way = way_to(channel)
redis.call(way, channel, 'revoked ' .. claim .. ' ' .. record_key)
end
return dropped
end
choose(1)
return isolated(revoke)`,
    sha1: '7afc4654a075afcc678ccaf6fbc081b6d089914b',
  },
} as const;
