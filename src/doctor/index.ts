import { administratorsCheck, tokensCheck } from './access.ts'
import type { Check } from './check.ts'
import { dataFolderCheck, fileModesCheck, fileOwnersCheck } from './data-folder.ts'
import { databaseIndexesCheck, databasesCheck, integrityCheck, schemaVersionsCheck } from './databases.ts'
import { jobsCheck } from './jobs.ts'
import { deletionsCheck, demoCheck, leftoversCheck } from './leftovers.ts'
import { clockCheck, diskSpaceCheck, nodeVersionCheck } from './machine.ts'
import { mailCheck } from './mail.ts'
import { inboxCheck, mediaFilesCheck, mediaFoldersCheck, mediaStoreCheck, picturesCheck } from './media.ts'
import { paymentsCheck } from './payments.ts'
import { settingsCheck } from './settings.ts'
import { objectIndexCheck, scheduleCheck, totalsCheck, usageCheck } from './totals.ts'
import { sitePagesCheck, valuesCheck } from './values.ts'

/** In the order in which an operator would look: the machine, the databases, access, the content, the files, the work. */
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
  leftoversCheck,
  objectIndexCheck,
  totalsCheck,
  scheduleCheck,
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
