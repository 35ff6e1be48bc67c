"""Lua scripts of the Redis store: each runs on the server in one step, completely or not at all.

Keys, for a prefix P and a kind K (one server, not a cluster: the scripts compute index keys):

    P:K:document:<id>      string: the document as JSON
    P:K:ids                sorted set: id -> when the document expires (ms since 1970; +inf: never)
    P:K:tokens:<id>        set: the tokens under which the document is found
    P:K:index:<token>      set: the ids of the documents that have this token

Each script first removes expired documents from the sets, at most 1,000 in a `put`. `ARGV[1]` is
always `P:K:`.
"""

from __future__ import annotations

_COMMON = """
local base = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function unindex(id)
  for _, token in ipairs(redis.call('SMEMBERS', base .. 'tokens:' .. id)) do
    redis.call('SREM', base .. 'index:' .. token, id)
  end
  redis.call('DEL', base .. 'tokens:' .. id)
end

local function sweep(most)
  local ended = redis.call('ZRANGEBYSCORE', base .. 'ids', '-inf', now, 'LIMIT', 0, most)
  for _, id in ipairs(ended) do
    unindex(id)
    redis.call('DEL', base .. 'document:' .. id)
    redis.call('ZREM', base .. 'ids', id)
  end
end
"""

PUT = (
    _COMMON
    + """
local id, lasts = ARGV[2], tonumber(ARGV[4])
-- the document first: a server that is full refuses the first write of a script, and no later one
if lasts > 0 then
  redis.call('SET', base .. 'document:' .. id, ARGV[3], 'PXAT', now + lasts)
  redis.call('ZADD', base .. 'ids', now + lasts, id)
else
  redis.call('SET', base .. 'document:' .. id, ARGV[3])
  redis.call('ZADD', base .. 'ids', '+inf', id)
end
unindex(id)
for i = 5, #ARGV do
  redis.call('SADD', base .. 'tokens:' .. id, ARGV[i])
  redis.call('SADD', base .. 'index:' .. ARGV[i], id)
end
sweep(1000)
"""
)

DELETE = (
    _COMMON
    + """
local id = ARGV[2]
sweep(-1)
unindex(id)
redis.call('ZREM', base .. 'ids', id)
return redis.call('DEL', base .. 'document:' .. id)
"""
)

# One text for all ids: a client parses it many times faster than a list. Ids contain no newline.
FIND = (
    _COMMON
    + """
sweep(-1)
if #ARGV == 1 then return table.concat(redis.call('ZRANGE', base .. 'ids', 0, -1), '\\n') end
local keys = {}
for i = 2, #ARGV do keys[i - 1] = base .. 'index:' .. ARGV[i] end
return table.concat(redis.call('SINTER', unpack(keys)), '\\n')
"""
)
