/** A piece of a configuration: a line, or a block with pieces in it. */
export type ConfigurationItem = string | ConfigurationBlock;

interface ConfigurationBlock {
  /** The line that opens it, with its bracket. */
  readonly open: string;
  readonly items: readonly ConfigurationItem[];
  /** @default "}" */
  readonly close?: string;
}

/** One configuration and how it is run. */
export interface GeneratedStep {
  readonly mode: "apply" | "plan-only";
  /** By path from the folder of the root module. */
  readonly files: ReadonlyMap<string, readonly ConfigurationItem[]>;
  /** Changes of the recorded state before the plan. */
  readonly stateEdits: readonly (readonly string[])[];
  /** Arguments of the plan. */
  readonly targets: readonly string[];
  readonly replace: readonly string[];
}

/** Configurations that follow one another over one state. */
export interface GeneratedCase {
  readonly name: string;
  /** Folders of `tools/` whose providers it uses. */
  readonly needs: readonly string[];
  readonly steps: readonly GeneratedStep[];
  /** Whether all is destroyed at the end. @default false */
  readonly finalDestroy?: boolean;
}

/** The text of pieces, indented as `fmt` does. */
export function renderItems(items: readonly ConfigurationItem[], indent = ""): string {
  return items
    .map((item) =>
      typeof item === "string"
        ? `${indent}${item}\n`
        : `${indent}${item.open}\n${renderItems(item.items, `${indent}  `)}${indent}${item.close ?? "}"}\n`,
    )
    .join("");
}
