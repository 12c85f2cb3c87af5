import { formatAddress, parseAddress, quoteLiteral } from "@stackwright/lang";
import { CommandError } from "./command-error.ts";

/** A file with an import block, for one run: what `import` does is planned and shown like everything else. */
export function importBlock(text: string, id: string): ReadonlyMap<string, string> {
  const { value, diagnostics } = parseAddress({ name: "<command line>", text });
  if (value?.kind !== "resource") {
    const why = diagnostics[0]?.detail ?? "It names no resource.";
    throw new CommandError(`"${text}" is no address of a resource: ${why}`);
  }
  const block = `import {\n  to = ${formatAddress(value)}\n  id = "${quoteLiteral(id)}"\n}\n`;
  return new Map([["import-of-this-run.tf", block]]);
}
