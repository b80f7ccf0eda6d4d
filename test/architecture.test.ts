import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
const root = join(import.meta.dirname, '..')

/** The linter's verdict, under the project's own rules, on files in a temporary folder. */
function lint(files: Record<string, string>): { failed: boolean; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lint-'))
  try {
    const { vcs: _git, $schema: _path, ...rules } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'))
    writeFileSync(join(folder, 'biome.json'), JSON.stringify(rules))
    cpSync(join(root, 'scripts/lint'), join(folder, 'scripts/lint'), { recursive: true })
    for (const [path, code] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), `${code}\n`)
    }
    const { status, stdout, stderr } = spawnSync(process.execPath, [biome, 'lint', '.'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return { failed: status !== 0, output: stdout + stderr }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const violations: [guarantee: string, path: string, code: string, message: RegExp][] = [
  [
    'SQL libraries are imported in store/ only',
    'src/tenant/x.ts',
    "import { sql } from 'kysely'\nexport { sql }",
    /SQL belongs/,
  ],
  ['SQL is built in store/ only', 'src/http/x.ts', "export const f = (db) => db.selectFrom('objects')", /SQL belongs/],
  ['content/ does no I/O', 'src/content/x.ts', "import fs from 'node:fs'\nexport { fs }", /pure rules/],
  [
    'content/ does not know the store',
    'src/content/x.ts',
    "import { openStore } from '../store/open.ts'\nexport { openStore }",
    /pure rules/,
  ],
  [
    'endpoints do not import each other',
    'src/tenant/x.ts',
    "import { preview } from './preview.ts'\nexport { preview }",
    /do not import each other/,
  ],
  [
    'the store does not know the endpoints',
    'src/store/x.ts',
    "import { preview } from '../tenant/preview.ts'\nexport { preview }",
    /Lower layers/,
  ],
]

describe('the linter enforces the architecture', () => {
  for (const [guarantee, path, code, message] of violations) {
    it(guarantee, () => {
      const { failed, output } = lint({ [path]: code })
      assert.ok(failed, `accepted: ${code}`)
      assert.match(output, message)
    })
  }

  it('rejects import cycles, even of types', () => {
    const { failed, output } = lint({
      'src/mail/a.ts': "import type { B } from './b.ts'\nexport type A = B[]",
      'src/mail/b.ts': "import type { A } from './a.ts'\nexport type B = A | string",
    })
    assert.ok(failed)
    assert.match(output, /noImportCycles/)
  })

  it('accepts code that follows the rules', () => {
    const { failed, output } = lint({
      'src/content/x.ts': "import { invalid } from '../core/errors.ts'\nexport { invalid }",
    })
    assert.equal(failed, false, output)
  })
})
