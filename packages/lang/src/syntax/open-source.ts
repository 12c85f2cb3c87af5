import { type ResolvedSyntaxLimits, resolveSyntaxLimits, type SyntaxLimits } from "./limits.ts";
import { ProblemCollector } from "./problem.ts";
import { SourceFile } from "./source-file.ts";

/** What is to be parsed: a source that exists already, or text or UTF-8 bytes under a name. */
export type SourceInput =
  | SourceFile
  | { readonly name: string; readonly text: string | Uint8Array };

export const ENCODING_DETAIL = "The file is not valid UTF-8 here. Save it with the encoding UTF-8.";

const UTF_16_DETAIL =
  'The file has the encoding UTF-16, as the redirections of PowerShell write it. Save it with the encoding UTF-8, there with "Out-File -Encoding utf8".';

/** Whether bytes begin with the byte order mark of UTF-16, which is in no text of UTF-8. */
function isUtf16(text: string | Uint8Array): boolean {
  if (typeof text === "string") return false;
  const [first, second] = text;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

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
  if (isUtf16(input.text)) {
    // Not one line of it could be read, and each would be reported.
    const source = new SourceFile(input.name, "");
    const problems = new ProblemCollector(source, resolved.maxErrors);
    problems.error("LANG_ENCODING", UTF_16_DETAIL, 0, 0);
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
