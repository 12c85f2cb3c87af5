import type { Marks, Type, Value } from "@stackwright/cty";
import type { ChangeNote, PairedBy } from "../model/diff.ts";

/**
 * The difference of two values, exact: {@link applyValueDiff} makes the value after from it and the value before.
 * It holds the values themselves, sensitive ones too; `showDiff` makes the form that may leave the process.
 */
export type ValueDiff =
  | { readonly kind: "same"; readonly value: Value }
  | { readonly kind: "add" | "remove"; readonly value: Value }
  | {
      readonly kind: "change";
      readonly before: Value;
      readonly after: Value;
      readonly note?: ChangeNote;
    }
  /** A string whose content has a structure that is worth comparing: JSON, or several lines. */
  | {
      readonly kind: "text" | "document";
      readonly before: Value;
      readonly after: Value;
      /** Of a document: the difference of its values. */
      readonly body?: ValueDiff;
    }
  | {
      readonly kind: "members";
      /** Of the value after. */
      readonly type: Type;
      readonly marks: Marks;
      readonly members: readonly MemberDiff[];
    }
  | {
      readonly kind: "items";
      /** Of the value after. */
      readonly type: Type;
      readonly marks: Marks;
      readonly items: readonly ItemDiff[];
      /** The order of the elements has no meaning, and is all that differs. */
      readonly orderOnly?: true;
    }
  /** Sensitive on one side at least. */
  | { readonly kind: "secret"; readonly before: Value; readonly after: Value };

export interface MemberDiff {
  readonly name: string;
  readonly diff: ValueDiff;
  /** It identifies the object that it belongs to. */
  readonly context?: true;
}

export interface ItemDiff {
  readonly diff: ValueDiff;
  readonly beforeIndex?: number;
  readonly afterIndex?: number;
  readonly moved?: true;
  readonly pairedBy?: PairedBy;
}
