import { append } from "@stackwright/base/append";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { parseJson } from "../syntax/json-parser.ts";
import type { SyntaxLimits } from "../syntax/limits.ts";
import { parseFile } from "../syntax/parse.ts";
import { type ConfigBody, jsonRootBody } from "./body-content.ts";

/** The body of a configuration file: JSON where its name ends with `.json`, else native syntax. */
export function parseConfigBody(
  file: { readonly name: string; readonly text: string | Uint8Array },
  diagnostics: Diagnostic[],
  limits?: SyntaxLimits,
): ConfigBody {
  if (file.name.endsWith(".json")) {
    const { root, diagnostics: found } = parseJson(file, limits);
    append(diagnostics, found);
    return jsonRootBody(root, diagnostics);
  }
  const { body, diagnostics: found } = parseFile(file, limits);
  append(diagnostics, found);
  return body;
}
