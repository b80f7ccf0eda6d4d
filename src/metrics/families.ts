/** A metric family of Prometheus: a name, and a value for each set of labels. */
export interface Family {
  name: string
  type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** Of low cardinality: never a group, a key, an id or a URL. */
  labels: readonly string[]
  about: string
}

function family(type: Family['type'], name: string, labels: readonly string[], about: string): Family {
  return { name, type, labels, about }
}

/** In the order of the output. The table in docs/operations.md is generated from this one. */
export const families = {
  buildInfo: family(
    'gauge',
    'sluice_build_info',
    ['version', 'engine', 'node'],
    'Always 1; version, engine and Node in its labels.',
  ),
  httpRequests: family(
    'counter',
    'sluice_http_requests_total',
    ['route', 'status'],
    'Answered requests. Unknown paths have the route `none`.',
  ),
  httpDuration: family(
    'histogram',
    'sluice_http_request_duration_seconds',
    ['route'],
    'Time from a request to its answer.',
  ),
  requestsByTier: family(
    'counter',
    'sluice_requests_by_tier_total',
    ['tier'],
    'Answered requests by the tier of the group; `none` where no API key was accepted.',
  ),
  openConnections: family('gauge', 'sluice_open_connections', [], 'Open client connections, including idle ones.'),
  unsentBytes: family(
    'gauge',
    'sluice_unsent_bytes',
    [],
    'Memory of answers that clients have not read yet, plus 128 KB for each.',
  ),
  cutReaders: family(
    'counter',
    'sluice_slow_readers_cut_total',
    [],
    'Connections closed because the client read too slowly or had too much unread.',
  ),
  cacheHits: family('counter', 'sluice_answer_cache_hits_total', [], 'Answers served from the cache.'),
  cacheMisses: family('counter', 'sluice_answer_cache_misses_total', [], 'Answers that had to be built.'),
  cacheJoined: family(
    'counter',
    'sluice_answer_cache_joined_total',
    [],
    'Requests that shared an answer being built for another request.',
  ),
  cacheEvictions: family('counter', 'sluice_answer_cache_evictions_total', [], 'Valid answers evicted to make room.'),
  cacheBytes: family('gauge', 'sluice_answer_cache_bytes', [], 'Memory used by cached answers.'),
  cacheEntries: family('gauge', 'sluice_answer_cache_entries', [], 'Cached answers.'),
  eventLoopDelay: family(
    'summary',
    'sluice_event_loop_delay_seconds',
    ['quantile'],
    'Event loop delay, sampled 50 times a second. Quantiles cover the time since the last scrape at least 10 seconds ago.',
  ),
  eventLoopBusy: family(
    'counter',
    'sluice_event_loop_busy_seconds_total',
    [],
    'Time the event loop was busy; its rate is the utilisation, at most 1.',
  ),
  eventLoopStalls: family(
    'counter',
    'sluice_event_loop_stalls_total',
    ['cause'],
    'Event loop delays of more than 100 ms. `work`: the process was busy, and the log names the candidates; `wait`: it got no CPU, or waited for a disk.',
  ),
  eventLoopStalled: family(
    'counter',
    'sluice_event_loop_stalled_seconds_total',
    ['cause'],
    'Total duration of those delays.',
  ),
  databases: family(
    'gauge',
    'sluice_databases',
    [],
    'Databases of the service: the control database and the content databases.',
  ),
  upDatabases: family('gauge', 'sluice_up_databases', [], 'Databases that answered the last check.'),
  jobs: family(
    'gauge',
    'sluice_jobs',
    ['kind', 'state'],
    'Jobs in all databases, at most 10 seconds ago: `waiting`, `running`, `failed` or `cancelled`. Completed jobs are not counted.',
  ),
  mailMessages: family('gauge', 'sluice_mail_messages', ['state'], 'E-mails in all databases, at most 10 seconds ago.'),
  databaseConnections: family(
    'gauge',
    'sluice_database_connections',
    ['state'],
    'PostgreSQL only: connections of the pool, `busy` or `idle`.',
  ),
  databaseWaiting: family('gauge', 'sluice_database_waiting', [], 'PostgreSQL only: queries waiting for a connection.'),
  processCpu: family('counter', 'process_cpu_seconds_total', [], 'CPU time of all threads.'),
  processStart: family('gauge', 'process_start_time_seconds', [], 'Start time of the process, in seconds since 1970.'),
  processMemory: family('gauge', 'process_resident_memory_bytes', [], 'Resident memory (RSS).'),
  heapTotal: family('gauge', 'nodejs_heap_size_total_bytes', [], 'JavaScript heap allocated.'),
  heapUsed: family('gauge', 'nodejs_heap_size_used_bytes', [], 'JavaScript heap in use.'),
  externalMemory: family('gauge', 'nodejs_external_memory_bytes', [], 'Memory outside the heap, such as buffers.'),
} satisfies Record<string, Family>
