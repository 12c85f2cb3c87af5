import type { Diff } from "./diff.ts";

/** What became of one object between two revisions of a state. */
export interface ObjectView {
  readonly address: string;
  /** Key of a deposed object; empty for the current one. */
  readonly deposed: string;
  readonly type: string;
  readonly change: "created" | "updated" | "deleted";
  readonly body: Diff;
}
