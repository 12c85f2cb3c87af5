import { readFileSync } from "node:fs";

/** What a file that may be a Terraform state holds, as far as it matters for whether there is something to adopt. */
type FoundState =
  | {
      readonly kind: "state";
      readonly objects: number;
      readonly outputs: number;
      readonly lineage: string;
      readonly serial: number;
    }
  /** There is something, and it cannot be read as a state. */
  | {
      readonly kind: "unreadable";
      readonly problem: string;
      /** The stack that its marker names. */
      readonly adopter?: { readonly stack: string; readonly store: string };
    };

/** Reads a state file of any version; undefined where there is none. It is not checked as a whole. */
export function findState(path: string): FoundState | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { kind: "unreadable", problem: `it cannot be read (${code ?? "unknown error"})` };
  }
  if (text.trim() === "") return { kind: "unreadable", problem: "the file is empty" };
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return { kind: "unreadable", problem: "it is not JSON, or was cut off" };
  }
  if (!isObject(file)) return { kind: "unreadable", problem: "it is not a state" };
  if (file["encrypted_data"] !== undefined) {
    return { kind: "unreadable", problem: "it is encrypted" };
  }
  const { version, lineage, serial } = file;
  if (typeof version !== "number") return { kind: "unreadable", problem: "it is not a state" };
  if (version > 4) {
    const { adopted_stack: stack, adopted_store: store } = file;
    if (file["adopted_by"] !== undefined) {
      const adopter = { stack: String(stack), store: String(store) };
      const problem = `it was adopted by the stack ${adopter.stack} of the store ${adopter.store}`;
      return { kind: "unreadable", problem, adopter };
    }
    const problem = `it has version ${version}`;
    return { kind: "unreadable", problem };
  }
  return {
    kind: "state",
    // Up to version 3 resources and outputs are those of modules.
    ...(version >= 4 ? contentOf(file) : total(listOf(file["modules"]).map(contentOf))),
    lineage: typeof lineage === "string" ? lineage : "",
    serial: typeof serial === "number" ? serial : 0,
  };
}

interface Content {
  readonly objects: number;
  readonly outputs: number;
}

function contentOf(holder: unknown): Content {
  if (!isObject(holder)) return { objects: 0, outputs: 0 };
  const { resources, outputs } = holder;
  const objects = Array.isArray(resources)
    ? resources.reduce<number>((sum, one) => sum + instancesOf(one), 0)
    : namesOf(resources);
  return { objects, outputs: namesOf(outputs) };
}

function instancesOf(resource: unknown): number {
  return isObject(resource) ? listOf(resource["instances"]).length : 0;
}

function total(contents: readonly Content[]): Content {
  return contents.reduce(
    (sum, { objects, outputs }) => ({
      objects: sum.objects + objects,
      outputs: sum.outputs + outputs,
    }),
    { objects: 0, outputs: 0 },
  );
}

function namesOf(value: unknown): number {
  return isObject(value) ? Object.keys(value).length : 0;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
