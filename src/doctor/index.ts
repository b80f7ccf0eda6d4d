import { administratorsCheck } from './administrators.ts'
import type { Check } from './check.ts'
import { clockCheck } from './clock.ts'
import { dataFolderCheck } from './data-folder.ts'
import { databaseIndexesCheck } from './database-indexes.ts'
import { databasesCheck } from './databases.ts'
import { deletionsCheck } from './deletions.ts'
import { demoCheck } from './demo.ts'
import { diskSpaceCheck } from './disk-space.ts'
import { fileModesCheck } from './file-modes.ts'
import { fileOwnersCheck } from './file-owners.ts'
import { inboxCheck } from './inbox.ts'
import { integrityCheck } from './integrity.ts'
import { jobsCheck } from './jobs.ts'
import { leftOversCheck } from './left-overs.ts'
import { mailCheck } from './mail.ts'
import { mediaFilesCheck } from './media-files.ts'
import { mediaFoldersCheck } from './media-folders.ts'
import { mediaStoreCheck } from './media-store.ts'
import { nodeVersionCheck } from './node-version.ts'
import { objectIndexCheck } from './object-index.ts'
import { paymentsCheck } from './payments.ts'
import { picturesCheck } from './pictures.ts'
import { schemaVersionsCheck } from './schema-versions.ts'
import { settingsCheck } from './settings.ts'
import { sitePagesCheck } from './site-pages.ts'
import { tokensCheck } from './tokens.ts'
import { totalsCheck } from './totals.ts'
import { usageCheck } from './usage.ts'
import { valuesCheck } from './values.ts'

/** In the order in which an operator would look: the machine, the databases, who may come in, the content, the files, the work. */
export const checks: readonly Check[] = [
  nodeVersionCheck,
  settingsCheck,
  dataFolderCheck,
  fileModesCheck,
  fileOwnersCheck,
  diskSpaceCheck,
  databasesCheck,
  schemaVersionsCheck,
  integrityCheck,
  databaseIndexesCheck,
  clockCheck,
  administratorsCheck,
  tokensCheck,
  demoCheck,
  deletionsCheck,
  leftOversCheck,
  objectIndexCheck,
  totalsCheck,
  usageCheck,
  valuesCheck,
  sitePagesCheck,
  mediaStoreCheck,
  mediaFilesCheck,
  mediaFoldersCheck,
  picturesCheck,
  inboxCheck,
  paymentsCheck,
  mailCheck,
  jobsCheck,
]
