import { parseTypeToken, type TypeToken } from "@stackwright/provider-source";
import type { SourceRange } from "../syntax/source-file.ts";
import type { ContentBlock } from "./body-content.ts";

/*
 * Types of Pulumi and cocorpc providers may be written as their providers call them: resource "lab:index:Note" "n". The
 * block declares lab_note.n all the same, and nothing but this file and a diagnostic sees a difference: a token has one name,
 * which follows from its text. Whether a provider has such a type is for callers that know its schema.
 */

/** A token as the type of a block. */
export interface TokenTypeLabel extends TypeToken {
  readonly range: SourceRange;
}

/** Types of blocks whose first label is a type of a provider. */
const TYPED: ReadonlySet<string> = new Set(["resource", "data", "ephemeral"]);

/** Puts names in the place of tokens, and keeps the tokens beside them. Other blocks stay as they are. */
export function nameTypes(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  return blocks.map((block) => {
    const [label, ...rest] = block.labels;
    if (label === undefined || !TYPED.has(block.type)) return block;
    const token = parseTypeToken(label.value);
    if (token === undefined) return block;
    return { ...block, labels: [{ ...label, value: token.typeName, token }, ...rest] };
  });
}

/** The token that the type of a block was written as. */
export function writtenToken({ labels }: ContentBlock): TokenTypeLabel | undefined {
  const [label] = labels;
  return label?.token && { ...label.token, range: label.range };
}

interface Typed {
  readonly type: string;
  readonly token: TokenTypeLabel | undefined;
}

/** Why two blocks of one address do not look alike; empty where they do. */
export function sameTypeNote(one: Typed, other: Typed): string {
  const texts = new Set([one, other].flatMap(({ token }) => token?.text ?? []));
  if (texts.size === 0) return "";
  const quoted = [...texts].map((text) => JSON.stringify(text));
  return quoted.length === 1
    ? ` The type ${quoted.join("")} is called ${one.type}.`
    : ` The types ${quoted.join(" and ")} are both called ${one.type}.`;
}
