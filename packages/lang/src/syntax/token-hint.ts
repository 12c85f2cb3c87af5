import { parseTypeToken } from "@stackwright/provider-source";

const TOKEN = /[A-Za-z][\w-]*:[\w./-]*:[A-Za-z_][\w/-]*/y;

/**
 * What to write instead of the token of a type, of which the colon at an offset is a part; empty where it is not a part of
 * one. Tokens are labels of blocks and nothing else: in references, `a:b` would mean the rest of a conditional.
 */
export function tokenHint(text: string, colon: number): string {
  const [word = ""] = /[A-Za-z][\w-]*$/.exec(text.slice(Math.max(0, colon - 256), colon)) ?? [];
  TOKEN.lastIndex = colon - word.length;
  const token = word === "" ? undefined : parseTypeToken(TOKEN.exec(text)?.[0] ?? "");
  if (token === undefined) return "";
  return ` The token of a type stands in quotes, as the type of a block. References and addresses have its name: ${token.text} is ${token.typeName}.`;
}
