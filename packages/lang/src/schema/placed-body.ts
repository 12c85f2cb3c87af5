import type { Value } from "@stackwright/cty";
import type { SourceRange } from "../syntax/source.ts";
import type { BoundBody } from "./bind-body.ts";

/** An evaluated body with the blocks that it has after expansion: from where its values came. */
export interface PlacedBody {
  readonly bound: BoundBody;
  /** By type, where there are any. */
  readonly blocks: ReadonlyMap<string, readonly PlacedBlock[]>;
}

export interface PlacedBlock {
  readonly placed: PlacedBody;
  /** Header of the block as written. */
  readonly range: SourceRange;
  /** Label of a block that becomes an element of a map. */
  readonly key: string | undefined;
  /** For blocks of a `dynamic` one: which element they were made for, such as `rule["web"]`. */
  readonly element: string | undefined;
  readonly value: Value;
}
