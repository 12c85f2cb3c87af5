import { type ResolvedSyntaxLimits, resolveSyntaxLimits, type SyntaxLimits } from "./limits.ts";
import { ProblemCollector } from "./problem.ts";
import { SourceFile } from "./source-file.ts";

/** What is to be parsed: a source that exists already, or text or UTF-8 bytes under a name. */
export type SourceInput =
  | SourceFile
  | { readonly name: string; readonly text: string | Uint8Array };

export const ENCODING_DETAIL = "The file is not valid UTF-8 here. Save it with the encoding UTF-8.";

/**
 * Makes a source ready for a parser: bytes are decoded, the size is checked before anything looks
 * at the text, and text that is not valid Unicode is reported. A source that is too large is
 * replaced by an empty one of the same name.
 */
export function openSource(
  input: SourceInput,
  limits: SyntaxLimits | undefined,
): { source: SourceFile; problems: ProblemCollector; limits: ResolvedSyntaxLimits } {
  const resolved = resolveSyntaxLimits(limits);
  const size = input.text.length;
  if (size > resolved.maxBytes) {
    const source = new SourceFile(input.name, "");
    const problems = new ProblemCollector(source, resolved.maxErrors);
    const detail = `The file has ${size} bytes; at most ${resolved.maxBytes} are read.`;
    problems.error("LANG_LIMIT_BYTES", detail, 0, 0);
    return { source, problems, limits: resolved };
  }
  const { source, valid } = decode(input);
  const problems = new ProblemCollector(source, resolved.maxErrors);
  if (!valid) {
    const at = Math.max(0, source.text.search(/\ufffd|\p{Surrogate}/u));
    problems.error("LANG_ENCODING", ENCODING_DETAIL, at, at + 1);
  }
  return { source, problems, limits: resolved };
}

function decode(input: SourceInput): { source: SourceFile; valid: boolean } {
  if (input instanceof SourceFile) return { source: input, valid: input.text.isWellFormed() };
  if (typeof input.text !== "string") return SourceFile.fromBytes(input.name, input.text);
  return { source: new SourceFile(input.name, input.text), valid: input.text.isWellFormed() };
}
