import type { Connection, Pool, PoolClient, Submittable } from 'pg'

/** What the values of a statement's columns are read with. */
type Readers = ((text: string) => unknown)[]

/** pg's connection, which notes by their names the statements that PostgreSQL has prepared on it. */
type Preparing = Connection & { parsedStatements: Record<string, string | undefined> }

interface RowDescription {
  fields: { dataTypeID: number }[]
}

interface DataRow {
  fields: (string | null)[]
}

export interface ValuesQuestion {
  text: string
  name: string | undefined
  parameters: readonly (string | number)[]
  /** Of statements that have a name, by that name, as of when it was last prepared: from then on its columns stay the same. */
  known: Map<string, Readers>
}

/**
 * A query whose rows are lists of values. PostgreSQL is asked for a statement's columns when it is prepared and not each time,
 * and no objects are made of them: that was a quarter of what it costs us to read a page's objects.
 *
 * It takes the place of pg's own `Query`, as pg-cursor does: pg calls these methods as messages arrive.
 */
class ValuesQuery implements Submittable {
  /** pg notes by these what a connection has prepared. */
  readonly name: string | undefined
  readonly text: string
  /** Set by pg where the database's URL has a `query_timeout`, to know when it is over. */
  callback: (() => void) | undefined
  readonly #question: ValuesQuestion
  readonly #client: PoolClient
  readonly #rows: unknown[][] = []
  #readers: Readers
  readonly #resolve: (rows: unknown[][]) => void
  readonly #reject: (error: Error) => void

  constructor(
    question: ValuesQuestion,
    client: PoolClient,
    resolve: (rows: unknown[][]) => void,
    reject: (error: Error) => void,
  ) {
    this.name = question.name
    this.text = question.text
    this.#question = question
    this.#client = client
    this.#readers = question.known.get(question.name ?? '') ?? []
    this.#resolve = resolve
    this.#reject = reject
  }

  submit(connection: Connection): void {
    const { name = '', text, parameters } = this.#question
    const isPrepared = name !== '' && (connection as Preparing).parsedStatements[name] !== undefined
    connection.stream.cork() // all of it in one packet
    if (!isPrepared) connection.parse({ name, text, types: [] }, true)
    connection.bind({ portal: '', statement: name, values: parameters.map(String) }, true)
    if (!isPrepared || this.#readers.length === 0) connection.describe({ type: 'P', name: '' }, true)
    connection.execute({ portal: '' }, true)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#readers = fields.map(({ dataTypeID }) => this.#client.getTypeParser(dataTypeID, 'text'))
    if (this.name !== undefined) this.#question.known.set(this.name, this.#readers)
  }

  handleDataRow({ fields }: DataRow): void {
    try {
      this.#rows.push(fields.map((text, column) => (text === null ? null : this.#readers[column]?.(text))))
    } catch (error) {
      this.#reject(error as Error) // pg has nobody who would catch it
    }
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback?.()
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.callback?.()
    this.#resolve(this.#rows)
  }
}

/** As with `pool.query`, a connection on which something failed is given up. */
export async function queryValues(pool: Pool, question: ValuesQuestion): Promise<unknown[][]> {
  const client = await pool.connect()
  try {
    const rows = await new Promise<unknown[][]>((resolve, reject) => {
      client.query(new ValuesQuery(question, client, resolve, reject))
    })
    client.release()
    return rows
  } catch (error) {
    client.release(error as Error)
    Error.captureStackTrace(error as Error) // or it would only say that something was read from the connection
    throw error
  }
}
