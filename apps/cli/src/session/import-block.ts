import { impliedValue, type Plan, type StackState, type StateObject } from "@stackwright/core";
import { type Diagnostic, formatAddress, parseAddress, quoteLiteral } from "@stackwright/lang";
import { CommandError } from "../command-error.ts";

/** What the command `import` is asked for. */
export interface CommandImport {
  readonly address: string;
  readonly id: string;
  /** The same as an import block, in a file that is there for one run. */
  readonly files: ReadonlyMap<string, string>;
}

/** No file of the directory has this name, and problems in it are reported without it. */
const FILE = "<command line>.tf";

/** A file with an import block, for one run: what `import` does is planned and shown like everything else. */
export function importBlock(text: string, id: string): CommandImport {
  const { value, diagnostics } = parseAddress({ name: "<command line>", text });
  if (value?.kind !== "resource") {
    const why = diagnostics[0]?.detail ?? "It names no resource.";
    throw new CommandError(`"${text}" is not a valid resource address: ${why}`);
  }
  const address = formatAddress(value);
  const block = `import {\n  to = ${address}\n  id = "${quoteLiteral(id)}"\n}\n`;
  return { address, id, files: new Map([[FILE, block]]) };
}

/**
 * `CommandError` where there is nothing to import to: the state has an object there already, or one may have been
 * created: an object whose existence is unknown is left out of every plan, and so would be its import.
 */
export async function checkImport(
  state: Pick<StackState, "read">,
  { address, id }: CommandImport,
): Promise<void> {
  const { objects } = await state.read();
  for (const object of objects.values()) {
    if (object.address !== address || object.deposed !== "") continue;
    if (object.phase === "unresolved") {
      throw new CommandError(`${address} cannot be imported: an earlier create may have made it.`, {
        advice: `End this attempt, then import the object:\n  stackwright state resolve-absent '${address}'`,
      });
    }
    if (object.value === undefined) continue;
    const recorded = idOf(object);
    if (recorded === id) {
      throw new CommandError(`${address} is recorded already, with this id "${id}".`, {
        advice: "There is nothing to import.",
      });
    }
    const known = recorded === undefined ? "" : `, with the id "${recorded}"`;
    throw new CommandError(`${address} is recorded already${known}; "${id}" was not imported.`, {
      advice: `To import another object at this address, first remove the recorded one from the state; it is not destroyed:\n  stackwright state rm '${address}'`,
    });
  }
}

/** Whether a plan imports what was asked for: an object that moves to the address comes before. */
export function imports({ changes }: Plan, { address }: CommandImport): boolean {
  return changes.some((change) => change.address === address && change.importing !== undefined);
}

/**
 * A diagnostic for a user who wrote no block: about the import on the command line. Empty for the warning that the plan
 * is partial, which the user did not request.
 */
export function ofImport(
  diagnostic: Diagnostic,
  { address, id }: CommandImport,
): readonly Diagnostic[] {
  if (diagnostic.code === "ENGINE_PARTIAL") return [];
  const { subject, context: _context, ...rest } = diagnostic;
  if (subject?.source.locate(subject.start, subject.end).filename !== FILE) return [diagnostic];
  const where = `This is about the import on the command line, of "${id}" to ${address}.`;
  return [{ ...rest, detail: `${rest.detail}\n\n${where}` }];
}

function idOf(object: StateObject): string | undefined {
  if (object.value === undefined) return undefined;
  const value = impliedValue(object.value);
  if (value.isMarked || value.isNull || value.type.kind !== "object") return undefined;
  for (const [name, id] of value.entries()) {
    if (name !== "id" || id.isMarked || id.isNull || id.type.kind !== "string") continue;
    return id.asString();
  }
  return undefined;
}
