import type { AccountTexts } from "./account-fields.tsx";

/** What of a draft differs from what it began with: all else stays as it is. */
export function changedTexts(base: AccountTexts, draft: AccountTexts): Partial<AccountTexts> {
  return {
    ...(draft.display_name !== base.display_name && { display_name: draft.display_name }),
    ...(draft.description !== base.description && { description: draft.description }),
  };
}

/** A draft on what others have set meanwhile: what the user changed is kept, all else is as it is now. */
export function mergedTexts(
  base: AccountTexts,
  draft: AccountTexts,
  now: AccountTexts,
): AccountTexts {
  return { ...now, ...changedTexts(base, draft) };
}
