import { collectionVerbs } from './collections.ts'
import { groupVerbs } from './groups.ts'
import { integrationTypeVerbs } from './integration-types.ts'
import { integrationVerbs } from './integrations.ts'
import { invitationVerbs } from './invitations.ts'
import { jobVerbs } from './jobs.ts'
import { keyVerbs } from './keys.ts'
import { mailVerbs } from './mail.ts'
import { mailServerVerbs } from './mail-server.ts'
import { mediaVerbs } from './media.ts'
import { memberVerbs } from './members.ts'
import { objectVerbs } from './objects.ts'
import { orderVerbs } from './orders.ts'
import { previewVerbs } from './previews.ts'
import { productVerbs } from './products.ts'
import { recordVerbs } from './records.ts'
import { sandboxProductVerbs } from './sandbox-products.ts'
import { siteWorkingCopyVerbs } from './site-working-copies.ts'
import { siteVerbs } from './sites.ts'
import { submissionVerbs } from './submissions.ts'
import { suppressionVerbs } from './suppressions.ts'
import { userVerbs } from './users.ts'
import type { Verb } from './verb.ts'
import { versionVerbs } from './versions.ts'
import { workingCopyVerbs } from './working-copies.ts'

/** All verbs, in the order of their table. */
export const verbs: readonly Verb[] = [
  ...groupVerbs,
  ...userVerbs,
  ...memberVerbs,
  ...invitationVerbs,
  ...keyVerbs,
  ...siteVerbs,
  ...siteWorkingCopyVerbs,
  ...mediaVerbs,
  ...collectionVerbs,
  ...objectVerbs,
  ...versionVerbs,
  ...workingCopyVerbs,
  ...previewVerbs,
  ...integrationVerbs,
  ...integrationTypeVerbs,
  ...productVerbs,
  ...sandboxProductVerbs,
  ...orderVerbs,
  ...submissionVerbs,
  ...mailVerbs,
  ...mailServerVerbs,
  ...suppressionVerbs,
  ...recordVerbs,
  ...jobVerbs,
]
