import { type ContentBlock, readBody } from "./body-content.ts";
import type { StaticReader } from "./static-reader.ts";

/** The blocks of a module with its override files applied. */
interface Overridden {
  readonly blocks: readonly ContentBlock[];
  /** `terraform` blocks of override files, which are merged by what is in them. */
  readonly settings: readonly ContentBlock[];
  /** `locals` blocks of override files, which are merged by name. */
  readonly locals: readonly ContentBlock[];
}

/** Blocks that have no name by which an override file could mean one of them. */
const NAMELESS = new Set(["moved", "removed", "import", "check", "Provider"]);

/**
 * Merges the blocks of override files, file by file, into those of the same type and names. A block
 * that has nothing to override is reported.
 */
export function mergeOverrides(
  reader: StaticReader,
  primary: readonly ContentBlock[],
  overrides: readonly (readonly ContentBlock[])[],
): Overridden {
  const blocks = [...primary];
  const settings: ContentBlock[] = [];
  const locals: ContentBlock[] = [];
  for (const block of overrides.flat()) {
    if (block.type === "terraform") {
      settings.push(block);
    } else if (block.type === "locals") {
      locals.push(block);
    } else if (NAMELESS.has(block.type)) {
      const detail = `Blocks of type "${block.type}" cannot stand in override files.`;
      reader.fail(`Cannot override "${block.type}" blocks`, detail, block.headerRange);
    } else {
      override(reader, blocks, block);
    }
  }
  return { blocks, settings, locals };
}

function override(reader: StaticReader, blocks: ContentBlock[], block: ContentBlock): void {
  const wanted = identity(reader, block);
  const position = blocks.findIndex(
    (candidate) => candidate.type === block.type && identity(reader, candidate) === wanted,
  );
  const base = blocks[position];
  if (base !== undefined) {
    blocks[position] = {
      ...base,
      body: { kind: "merged-body", base: base.body, over: block.body },
    };
  } else if (block.type === "provider") {
    // A provider configuration may exist in override files only.
    blocks.push(block);
  } else {
    const what = [block.type, ...block.labels.map(({ value }) => JSON.stringify(value))].join(" ");
    const detail = `There is no block ${what} that this could override.`;
    reader.fail(`Missing base ${block.type} configuration for override`, detail, block.headerRange);
  }
}

/** What identifies blocks of one type: their labels, and for providers the alias. */
function identity(reader: StaticReader, block: ContentBlock): string {
  const labels = block.labels.map(({ value }) => value);
  if (block.type !== "provider") return JSON.stringify(labels);
  const { attributes } = readBody(block.body, { attributes: ["alias"] }, [], { ignore: true });
  const alias = attributes.get("alias");
  const value = alias === undefined ? undefined : reader.literal(alias.expression);
  return JSON.stringify([...labels, value?.type.kind === "string" ? value.asString() : ""]);
}
