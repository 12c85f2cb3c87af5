import { type LoadedPolicy, loadPolicy } from "@open-policy-agent/opa-wasm";
import { type Findings, interpretAnswers } from "./interpret-result.ts";
import { MAX_ENTRYPOINTS } from "./policy-limits.ts";
import { requireDefinedAllow } from "./require-defined-allow.ts";

/** What a thread gets: a program, and what it is to do with it. */
export interface PolicyTask {
  readonly program: Uint8Array<ArrayBuffer>;
  /** Base data, as JSON. */
  readonly data?: Uint8Array<ArrayBuffer> | undefined;
  readonly memoryPages: number;
  /** The input document, as JSON; without one the program is only looked at. */
  readonly input?: Uint8Array<ArrayBuffer> | undefined;
  /** @default all of the program */
  readonly entrypoints?: readonly string[] | undefined;
}

/** What a program is, and what it says about the input. */
export interface PolicyAnswer extends Findings {
  readonly entrypoints: readonly string[];
}

/** Functions that are no part of a program, and which this evaluator has. All give the same for the same arguments. */
const HOST_FUNCTIONS: ReadonlySet<string> = new Set([
  "json.is_valid",
  "regex.split",
  "sprintf",
  "yaml.is_valid",
  "yaml.marshal",
  "yaml.unmarshal",
]);

/** Pages that a program begins with. It says itself how many it needs at least. */
const FIRST_PAGES = 5;

/** Evaluates a compiled policy. Throws where it cannot be loaded, fails, or gives nothing that can be read. */
export async function evaluatePolicy(task: PolicyTask): Promise<PolicyAnswer> {
  const { program, data, input, memoryPages } = task;
  requireGivenMemory(program);
  const descriptor = { initial: FIRST_PAGES, maximum: memoryPages };
  const policy = await loadPolicy(program, descriptor);
  requireFunctions(policy);
  const known = Object.keys(policy.entrypoints as Readonly<Record<string, number>>);
  const entrypoints = task.entrypoints ?? known;
  const missing = entrypoints.find((one) => !known.includes(one));
  if (missing !== undefined) {
    throw new Error(`the program has no entry point ${missing}; it has ${known.join(", ")}`);
  }
  if (entrypoints.length === 0 || entrypoints.length > MAX_ENTRYPOINTS) {
    throw new Error(
      `the program has ${entrypoints.length} entry points; it needs one, and has at most ${MAX_ENTRYPOINTS}`,
    );
  }
  if (data !== undefined) policy.setData(bufferOf(data));
  if (input === undefined) return { entrypoints, findings: [], cut: 0, isForbidden: false };
  const given = bufferOf(input);
  const answers = entrypoints.map((entrypoint) => ({
    entrypoint,
    value: resultOf(policy.evaluate(given, entrypoint)),
  }));
  requireDefinedAllow(program, answers);
  return { entrypoints, ...interpretAnswers(answers) };
}

/** Bytes of a module before its sections. */
const HEADER = 8;
const MEMORY_SECTION = 5;

/** Refuses a module that has memory of its own: only that which it is given has a bound. */
function requireGivenMemory(program: Uint8Array): void {
  for (let at = HEADER; at < program.length; ) {
    const section = program[at];
    at += 1;
    let size = 0;
    // A size has at most 32 bits, seven in each byte, the lowest first.
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = program[at] ?? 0;
      at += 1;
      size += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    if (section === MEMORY_SECTION && program[at] !== 0) {
      throw new Error("the program has memory of its own; opa build makes one that is given it");
    }
    at += size;
  }
}

/** What a program has that is called here. */
type Exports = Readonly<Record<string, ((address?: number) => number) | undefined>>;

/** The document of a result set, which has one result at most. */
function resultOf(set: unknown): unknown {
  if (!Array.isArray(set)) throw new Error("the program gave no set of results");
  const [first] = set as readonly unknown[];
  return typeof first === "object" && first !== null && "result" in first
    ? first.result
    : undefined;
}

/** Refuses a program that calls functions of its host which this one does not have, such as those of the network. */
function requireFunctions({ wasmInstance, mem }: LoadedPolicy): void {
  const { exports } = wasmInstance as { readonly exports: Exports };
  const { builtins, opa_json_dump: dump } = exports;
  if (builtins === undefined || dump === undefined) throw new Error("this is not a module of OPA");
  const bytes = new Uint8Array(mem.buffer);
  const start = dump(builtins());
  const text = Buffer.from(bytes.subarray(start, bytes.indexOf(0, start))).toString("utf8");
  const names = Object.keys(JSON.parse(text) as Readonly<Record<string, number>>);
  const absent = names.filter((name) => !HOST_FUNCTIONS.has(name));
  if (absent.length === 0) return;
  throw new Error(
    `the program calls ${absent.join(", ")}, which policies do not have here: they reach no network, no clock and no chance`,
  );
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return byteLength === buffer.byteLength
    ? buffer
    : buffer.slice(byteOffset, byteOffset + byteLength);
}
