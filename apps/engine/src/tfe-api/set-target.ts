import type { TfeSetName } from "@stackwright/tfe";

/** A variable set as a target of the audit trail. */
export function setTarget({ project, name }: TfeSetName): string {
  const own = `variable-sets/${name}`;
  return project === undefined ? own : `projects/${project}/${own}`;
}
