import type { Shown } from "./shown.ts";

/** Why two elements of a list or set are shown as one that changed. */
export type PairedBy = "equal" | "key" | "similarity";

/** The difference of two values as JSON. */
export type Diff =
  | { readonly kind: "same"; readonly value: Shown }
  | { readonly kind: "add" | "remove"; readonly value: Shown }
  | {
      readonly kind: "change";
      readonly before: Shown;
      readonly after: Shown;
      /** What makes the two hard to compare: another type, null on one side, not known yet. */
      readonly note?: ChangeNote;
    }
  | { readonly kind: "object" | "map"; readonly members: readonly DiffMember[] }
  | { readonly kind: "list" | "set"; readonly items: readonly DiffItem[]; readonly note?: "order" }
  | { readonly kind: "text"; readonly hunks: readonly TextHunk[] }
  | {
      readonly kind: "document";
      readonly syntax: "json";
      readonly body: Diff;
      /** The texts differ, what they say does not. */
      readonly formattingOnly: boolean;
    }
  /** A part that is sensitive before or after: that it changes is said, and nothing else. */
  | { readonly kind: "secret"; readonly changed: boolean | "unknown" };

export type ChangeNote = "type" | "null" | "unknown";

export interface DiffMember {
  readonly name: string;
  readonly diff: Diff;
  /** Shown although it does not change: it identifies the element. */
  readonly context?: true;
}

export interface DiffItem {
  readonly diff: Diff;
  /** Positions from 0; absent on the side where the element is not. */
  readonly beforeIndex?: number;
  readonly afterIndex?: number;
  /** The element has another place among the others. */
  readonly moved?: true;
  readonly pairedBy?: PairedBy;
}

/** Neighbouring lines of a text. */
export interface TextHunk {
  /** Number of unchanged lines left out before it. */
  readonly skipped: number;
  readonly lines: readonly TextLine[];
}

export interface TextLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}
