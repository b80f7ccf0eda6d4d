import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Block, blocksIn, type Guide, readDocument, root, startGuide } from '../helpers/guide.ts'
import { phonePhoto } from '../helpers/pictures.ts'

const documents = ['README.md', 'CONTRIBUTING.md', 'client/README.md', ...globSync('docs/*.md', { cwd: root })]
const startedWithinMs = 60_000

/** How the commands of a block are tested. */
type Plan =
  /** In this file: the preparation, and the reader's values. */
  | { prepare?: string; words?: Record<string, string>; finds?: RegExp }
  /** By another test, which contains these words: the heading, or the command. */
  | { by: string; as?: string }
  /** In this file, by a function. */
  | { how(demo: Guide, code: string): Promise<void> }
  /** By running this test. */
  | { ranBy: 'CI' }

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}

/** Runs a server command until it is ready, then the following commands. */
async function serve({ env, folder }: Guide, command: string, then: () => Promise<void>): Promise<void> {
  const child = spawn('sh', ['-eu', '-c', command], {
    cwd: folder,
    env: { ...env, PORT: '0', LOG_LEVEL: 'info' },
    detached: true, // a process group, which is killed as a whole
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const ended = once(child, 'close')
  try {
    for (const endMs = Date.now() + startedWithinMs; !output.includes('Server listening at'); await sleep(50))
      assert.ok(Date.now() < endMs && child.exitCode === null, `${command}\n${output}`)
    await then()
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

const serves: Plan = { how: (demo, code) => serve(demo, code, async () => {}) }

const corner = `npx sluice group show "Corner Bakery" >/dev/null 2>&1 || npx sluice group create "Corner Bakery" --tier pro >/dev/null\n`
const blog = `${corner}npx sluice collection show "Corner Bakery" Blog >/dev/null 2>&1 ||
  npx sluice collection create "Corner Bakery" Blog --schema '{"title": {"type": "text"}, "slug": {"type": "slug"}, "body": {"type": "longText"}}' >/dev/null\n`
const facts = `KEY=$(node -p "require('./data/demo.json').apiKey")
ADMIN_TOKEN=$(node -p "require('./data/demo.json').adminToken")\n`
const reviewsJson = `cat > reviews.json <<'END'
{"author": {"type": "text", "required": true}, "body": {"type": "longText"}, "email": {"type": "text"}}
END\n`

/** By document, heading, and number of the block. */
const plans: Record<string, Plan> = {
  'README.md: Sluice 1': { ranBy: 'CI' }, // and test/e2e/demo.test.ts starts the demo like npm start
  'README.md: Sluice 2': { finds: /"totalCount":2/ },
  'README.md: What it does 1': { prepare: facts, finds: /"groups":/ },
  'README.md: What it does 2': { prepare: facts, finds: /"expanded":[\s\S]*Why our rye takes two days/ },
  'README.md: Sell something 1': { prepare: facts, finds: /\/sandbox\/checkout\// },
  'README.md: Hear from visitors 1': { by: 'test/e2e/mail-docs.test.ts' },
  'README.md: Hear from visitors 2': { by: 'test/e2e/mail-docs.test.ts' },
  'README.md: Hear from visitors 3': { by: 'test/e2e/mail-docs.test.ts' },
  'README.md: A picture of your own 1': { prepare: facts, finds: /"name":"You"/ },
  'README.md: Tenants and keys 1': { finds: /slc_live_/ },
  'README.md: Working on it 1': { ranBy: 'CI' },
  'CONTRIBUTING.md: Working on Sluice 1': { ranBy: 'CI' },
  'client/README.md: @sluice/client 1': { how: installClient },
  'docs/commerce.md: A sale, from product to order 1': { by: 'test/e2e/commerce-docs.test.ts' },
  'docs/commerce.md: A sale, from product to order 2': { by: 'test/e2e/commerce-docs.test.ts' },
  'docs/commerce.md: A sale, from product to order 3': { by: 'test/e2e/commerce-docs.test.ts' },
  'docs/commerce.md: A sale, from product to order 4': { by: 'test/e2e/commerce-docs.test.ts' },
  'docs/commerce.md: Connecting Stripe 1': { by: 'test/cli/integrations.test.ts', as: 'integration connect stripe' },
  'docs/commerce.md: Connecting Stripe 2': { by: 'test/cli/integrations.test.ts', as: 'integration secret' },
  'docs/commerce.md: Orders 1': { by: 'test/e2e/commerce-docs.test.ts' },
  'docs/commerce.md: Orders 2': { by: 'test/e2e/commerce-docs.test.ts' },
  'docs/commerce.md: Typed metadata 1': {
    prepare: `field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }
VERSION=$(npx sluice integration-type show "Demo Bakery" stripe --json | field version)\n`,
    words: { 'Corner Bakery': 'Demo Bakery', '--version 3': '--version $VERSION' },
  },
  'docs/commerce.md: The sandbox 1': { prepare: corner },
  'docs/commerce.md: The sandbox 2': {
    // After the previous block, which connects the account.
    prepare: `field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }
PICTURE=$(npx sluice media add "Corner Bakery" photo.jpg --json | field 'items[0].key')\n`,
    words: {
      '<product id>': '$(npx sluice product list "Corner Bakery" stripe --json | field "items[0].id")',
      '<key of a picture>': '$PICTURE',
    },
    finds: /6\.00/,
  },
  ...Object.fromEntries(
    [1, 2, 3, 4, 5].map((n) => [
      `docs/mail.md: From a form to the mailbox ${n}`,
      { by: 'test/e2e/mail-docs.test.ts' } as Plan,
    ]),
  ),
  'docs/mail.md: Accepting submissions 1': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: Accepting submissions 2': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: Notifications 1': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: Allowed recipients 1': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: The outbox 1': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: Suppressed addresses 1': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: Your own mail server 1': { by: 'test/cli/mail.test.ts', as: 'mail-server set' },
  'docs/mail.md: Setting up a mail server 1': serves,
  'docs/mail.md: Setting up a mail server 2': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/mail.md: Setting up a mail server 3': {},
  'docs/mail.md: The local mailbox 1': { by: 'test/e2e/mail-docs.test.ts' },
  'docs/managing.md: The first token 1': { finds: /^slc_admin_/m },
  'docs/managing.md: Creating a tenant 1': { by: 'test/e2e/managing.test.ts', as: 'docs/managing.md' },
  'docs/managing.md: Members, invitations and programs 1': { by: 'test/e2e/managing.test.ts', as: 'docs/managing.md' },
  'docs/managing.md: Other integrations 1': { by: 'test/e2e/managing.test.ts', as: 'docs/managing.md' },
  'docs/managing.md: Submissions 1': { prepare: corner + reviewsJson, finds: /author,body,email/ },
  'docs/managing.md: Changing a schema 1': {
    prepare: `${blog}echo '{"title": {"type": "text"}, "slug": {"type": "slug"}, "text": {"type": "longText"}}' > blog.json\n`,
  },
  'docs/managing.md: Export and import 1': {
    prepare: `${blog}mkdir -p posts && printf -- '---\\ntitle: Rye\\n---\\nIt is back.\\n' > posts/rye.md
printf 'email,author\\nada@example.com,Ada\\n' > reviews.csv\n`,
    words: { 'npx sluice import group': 'DATA_DIR="$PWD/elsewhere" npx sluice import group' },
  },
  'docs/media.md: From upload to page 1': {},
  'docs/media.md: From upload to page 2': {
    prepare: `demo() { node -p "require('./data/demo.json').$1"; }
TOKEN=$(demo adminToken) BASE_URL=$(demo baseUrl) GROUP=$(demo groupId)\n`,
    finds: /"type":"image"/,
  },
  'docs/media.md: From upload to page 3': {
    prepare: `${corner}printf '%%PDF-1.4\\n%%%%EOF\\n' > menu.pdf\n`,
  },
  'docs/media.md: Managing files 1': { prepare: corner },
  'docs/media.md: In an S3 store 1': { prepare: corner },
  'docs/media.md: Background jobs 1': { how: lookAtJobs },
  'docs/operations.md: Start 1': {
    async how(demo, code) {
      const [install, start = '', ...rest] = code.split('\n')
      assert.equal(install, 'npm ci') // CI runs it
      const fresh = 'export DATA_DIR="$PWD/fresh"\n'
      await serve(demo, fresh + start, async () => {
        assert.match(await demo.run(fresh + rest.join('\n')), /slc_live_/)
      })
    },
  },
  'docs/operations.md: Start 2': { by: 'test/cli/data-owner.test.ts', as: 'group create' },
  'docs/operations.md: Jobs 1': serves,
  'docs/operations.md: Metrics 1': {
    async how(demo, code) {
      const [start = '', ask = ''] = code.replaceAll('9464', String(await freePort())).split('\n')
      const again = ask.replace('curl', 'curl --retry 30 --retry-delay 1 --retry-connrefused')
      await serve(demo, start, async () => assert.match(await demo.run(again), /^sluice_build_info/m))
    },
  },
  'docs/working-copies.md: Working copies 1': { finds: /Friday market[\s\S]+2099-06-01T04:00:00\.000Z[\s\S]+Done/ },
  'docs/testing.md: Testing 1': { ranBy: 'CI' },
  'docs/operations.md: Request timing 1': {
    prepare: `${facts}BLOG=$(node -p "require('./data/demo.json').collections.Blog")\n`,
    words: { 'collectionId=…': 'collectionId=$BLOG' },
    finds: /^server-timing: auth;dur=/im,
  },
}

/** Built and packed in the checkout, and installed in a separate project. */
async function installClient({ folder, run }: Guide, code: string): Promise<void> {
  const [pack = '', install = ''] = code.split('\n')
  const { stdout } = await promisify(execFile)('sh', ['-c', pack], { cwd: root })
  const tarball = stdout.trim().split('\n').at(-1) ?? ''
  await mkdir(join(folder, 'sluice'))
  await mkdir(join(folder, 'site'))
  // The folder may be on another disk.
  await cp(join(root, tarball), join(folder, 'sluice', tarball))
  await rm(join(root, tarball))
  await writeFile(join(folder, 'site/package.json'), '{"type": "module"}')
  const use = `import('@sluice/client').then(({ createClient }) => console.log(typeof createClient))`
  assert.match(await run(`cd site && ${install}\nnode -e "${use}"`), /function/)
}

async function lookAtJobs({ run, facts: { groupId } }: Guide, code: string): Promise<void> {
  const [list = '', show = '', retry = ''] = code.split('\n')
  await run(list)
  const { items } = JSON.parse(await run('npx sluice jobs --state done --json'))
  const job = items.find((one: { groupId: string }) => one.groupId === groupId)?._id
  const word = (command: string) => command.replace('Corner Bakery', 'Demo Bakery').replace('<job>', job)
  assert.match(await run(word(show)), new RegExp(job))
  await assert.rejects(run(word(retry)), /failed or was cancelled|is done|cannot be/i) // no job has failed
}

/** Normalises `run('mail', 'list')` and `mail list` to the same words. */
const wordsIn = (text: string): string => text.replace(/[^\p{L}\d-]+/gu, ' ')

async function runBlock(demo: Guide, { code, heading }: Block, plan: Plan): Promise<void> {
  if ('how' in plan) return plan.how(demo, code)
  if ('ranBy' in plan) return
  if ('by' in plan) return assert.ok(wordsIn(readDocument(plan.by)).includes(wordsIn(plan.as ?? heading)), plan.by)
  const { prepare = '', words = {}, finds = /(?:)/ } = plan
  let commands = prepare + code.replaceAll('http://127.0.0.1:4000', demo.server.baseUrl)
  for (const [word, filled] of Object.entries(words)) commands = commands.replaceAll(word, filled)
  assert.match(await demo.run(commands), finds)
}

describe('every command block of the documents', () => {
  const known = new Set<string>()
  let demo: Guide
  before(async () => {
    demo = await startGuide('sqlite')
    await writeFile(join(demo.folder, 'photo.jpg'), await phonePhoto(400, 300))
  })
  after(() => demo.close())

  for (const file of documents) {
    const seen = new Map<string, number>()
    for (const block of blocksIn(readDocument(file)).filter(({ language }) => language === 'sh')) {
      const position = (seen.get(block.heading) ?? 0) + 1
      seen.set(block.heading, position)
      const name = `${file}: ${block.heading} ${position}`
      known.add(name)
      it(`is run: ${name}`, async () => {
        const plan = plans[name]
        assert.ok(plan, 'Add a plan for this block to this file.')
        await runBlock(demo, block, plan)
      })
    }
  }

  it('exists for every plan', () => {
    assert.deepEqual(
      Object.keys(plans).filter((name) => !known.has(name)),
      [],
    )
  })
})
