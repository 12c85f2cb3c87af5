import type { Value } from "@stackwright/cty";
import type { SourceRange } from "../syntax/source-file.ts";
import type { BoundBody } from "./bind-body.ts";

/** An evaluated body with the blocks that it has after expansion: from where its values came. */
export interface LocatedBody {
  readonly bound: BoundBody;
  /** By type, where there are any. */
  readonly blocks: ReadonlyMap<string, readonly LocatedBlock[]>;
}

export interface LocatedBlock {
  readonly placed: LocatedBody;
  /** Header of the block as written. */
  readonly range: SourceRange;
  /** Label of a block that becomes an element of a map. */
  readonly key: string | undefined;
  /** For blocks of a `dynamic` one: which element they were made for, such as `rule["web"]`. */
  readonly element: string | undefined;
  readonly value: Value;
}
