import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MailServerAddress, parseMailServer } from '../../src/mail/server-address.ts'
import { isLoopback } from '../../src/security/public-address.ts'

const login = { user: 'ann@x', password: 'p:/?#%' }
const cases: [url: string, address: MailServerAddress][] = [
  ['smtp://mail.example', { host: 'mail.example', port: 587, tls: 'required', login: undefined }],
  ['smtp://mail.example/', { host: 'mail.example', port: 587, tls: 'required', login: undefined }],
  ['smtp://MAIL.example:25', { host: 'mail.example', port: 25, tls: 'required', login: undefined }],
  ['smtps://mail.example', { host: 'mail.example', port: 465, tls: 'implicit', login: undefined }],
  ['smtps://mail.example:2465', { host: 'mail.example', port: 2465, tls: 'implicit', login: undefined }],
  ['smtp://mail.example?tls=optional', { host: 'mail.example', port: 587, tls: 'optional', login: undefined }],
  ['smtp://mail.example?tls=off', { host: 'mail.example', port: 587, tls: 'off', login: undefined }],
  ['smtp://localhost:25', { host: 'localhost', port: 25, tls: 'optional', login: undefined }],
  ['smtp://127.0.0.1:25?tls=required', { host: '127.0.0.1', port: 25, tls: 'required', login: undefined }],
  ['smtp://[::1]:25', { host: '::1', port: 25, tls: 'optional', login: undefined }],
  ['smtp://ann%40x:p%3A%2F%3F%23%25@mail.example', { host: 'mail.example', port: 587, tls: 'required', login }],
]

describe('the address of a mail server', () => {
  for (const [url, address] of cases) it(`reads ${url}`, () => assert.deepEqual(parseMailServer(url), address))

  it('never repeats the login in an error', () => {
    const secret = 'hunter2'
    const broken = ['http://u:SECRET@a.example', 'smtp://u:SECRET@', 'smtp://u:SECRET@a.example/inbox', 'SECRET',
      'smtp://u:SECRET%zz@a.example', 'smtp://u:SECRET@a.example?tls=no', 'smtp://:SECRET@a.example'] // biome-ignore format: a list
    for (const url of broken) {
      assert.throws(
        () => parseMailServer(url.replace('SECRET', secret)),
        (error: Error) => /^must /.test(error.message) && !error.message.includes(secret),
      )
    }
  })

  it('recognises this machine', () => {
    for (const host of ['localhost', '127.0.0.1', '127.8.9.1', '::1']) assert.ok(isLoopback(host), host)
    for (const host of ['localhost.example', '127.0.0.1.example', '128.0.0.1', '10.0.0.1', '::2', ''])
      assert.ok(!isLoopback(host), host)
  })
})
