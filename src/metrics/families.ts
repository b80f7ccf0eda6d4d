/** One metric as Prometheus knows it: a name, and a value for each set of labels. */
export interface Family {
  name: string
  type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** All labels have few values: never a group, a key, an id or a URL. */
  labels: readonly string[]
  about: string
}

function family(type: Family['type'], name: string, labels: readonly string[], about: string): Family {
  return { name, type, labels, about }
}

/** All that can be seen from outside, in the order in which it is told. The documentation's table is made from this one. */
export const families = {
  buildInfo: family('gauge', 'sluice_build_info', ['version', 'engine', 'node'], 'Always 1; what runs here.'),
  httpRequests: family(
    'counter',
    'sluice_http_requests_total',
    ['route', 'status'],
    'Answered requests. Paths that do not exist are the route `none`.',
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
  openConnections: family('gauge', 'sluice_open_connections', [], 'Connections of clients, idle ones included.'),
  unsentBytes: family(
    'gauge',
    'sluice_unsent_bytes',
    [],
    'Memory of answers that wait for their clients to read, 128 KB for each of them included.',
  ),
  cutReaders: family(
    'counter',
    'sluice_slow_readers_cut_total',
    [],
    'Connections that were cut off because their clients read too slowly, or had too much unread.',
  ),
  cacheHits: family('counter', 'sluice_answer_cache_hits_total', [], 'Answers that were at hand.'),
  cacheMisses: family('counter', 'sluice_answer_cache_misses_total', [], 'Answers that had to be made.'),
  cacheJoined: family(
    'counter',
    'sluice_answer_cache_joined_total',
    [],
    'Answers that were being made for somebody else already, and were shared.',
  ),
  cacheEvictions: family(
    'counter',
    'sluice_answer_cache_evictions_total',
    [],
    'Answers given up while they were good, to make room.',
  ),
  cacheBytes: family('gauge', 'sluice_answer_cache_bytes', [], 'Memory that the kept answers take.'),
  cacheEntries: family('gauge', 'sluice_answer_cache_entries', [], 'Answers that are kept.'),
  eventLoopDelay: family(
    'summary',
    'sluice_event_loop_delay_seconds',
    ['quantile'],
    'How late the process comes to its next piece of work, looked at 50 times a second. The quantiles are since the last scrape that was 10 seconds ago or more.',
  ),
  eventLoopBusy: family(
    'counter',
    'sluice_event_loop_busy_seconds_total',
    [],
    'Time in which the process worked and did not wait; its rate is the utilisation, 1 at most.',
  ),
  eventLoopStalls: family(
    'counter',
    'sluice_event_loop_stalls_total',
    ['cause'],
    'How often the process was more than 100 ms late for its next piece of work. `work`: it was busy with another one, and the log names the candidates; `wait`: it got no CPU, or waited for a disk.',
  ),
  eventLoopStalled: family(
    'counter',
    'sluice_event_loop_stalled_seconds_total',
    ['cause'],
    'How late it was on those occasions, all together.',
  ),
  databases: family(
    'gauge',
    'sluice_databases',
    [],
    'Databases of the service: that of control, and those of content.',
  ),
  upDatabases: family('gauge', 'sluice_up_databases', [], 'How many of them answered when they were last looked at.'),
  jobs: family(
    'gauge',
    'sluice_jobs',
    ['kind', 'state'],
    'Jobs in all databases, at most 10 seconds ago: `waiting`, `running`, `failed` or `cancelled`. Those that are done are not counted.',
  ),
  mailMessages: family('gauge', 'sluice_mail_messages', ['state'], 'E-mails in all databases, at most 10 seconds ago.'),
  databaseConnections: family(
    'gauge',
    'sluice_database_connections',
    ['state'],
    'PostgreSQL only: connections of the pool, `busy` or `idle`.',
  ),
  databaseWaiting: family(
    'gauge',
    'sluice_database_waiting',
    [],
    'PostgreSQL only: pieces of work that wait for a connection.',
  ),
  processCpu: family('counter', 'process_cpu_seconds_total', [], 'CPU time of all threads.'),
  processStart: family('gauge', 'process_start_time_seconds', [], 'When the process began, in seconds since 1970.'),
  processMemory: family('gauge', 'process_resident_memory_bytes', [], 'Memory that the process holds (RSS).'),
  heapTotal: family('gauge', 'nodejs_heap_size_total_bytes', [], 'Memory set apart for objects of JavaScript.'),
  heapUsed: family('gauge', 'nodejs_heap_size_used_bytes', [], 'How much of it is in use.'),
  externalMemory: family('gauge', 'nodejs_external_memory_bytes', [], 'Memory outside of it, such as buffers.'),
} satisfies Record<string, Family>
