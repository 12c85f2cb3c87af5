/** What is known about a value that is decided during apply. */
export interface ShownRefinement {
  readonly notNull?: true;
  /** How a string begins. */
  readonly prefix?: string;
  /** Number of elements of a collection, at least and at most. */
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** A value as JSON: exact numbers as decimal text, and no content where there is none to show. */
export type Shown =
  | { readonly kind: "null" }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "list" | "set"; readonly items: readonly Shown[] }
  | { readonly kind: "object" | "map"; readonly members: readonly ShownMember[] }
  /** Decided during apply. */
  | { readonly kind: "unknown"; readonly refinement?: ShownRefinement }
  /** Sensitive: nothing of it is in the document. */
  | { readonly kind: "secret" }
  /** Left out by {@link ShowOptions.maxTextLength}: number of characters. */
  | { readonly kind: "omitted"; readonly characters: number };

export interface ShownMember {
  readonly name: string;
  readonly value: Shown;
}
