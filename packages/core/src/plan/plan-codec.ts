import { createHash } from "node:crypto";
import type { Value } from "@stackwright/cty";
import type { StackInput } from "../state/stack-state.ts";
import type { ResourceChange } from "./change.ts";
import { jsonPieces } from "./json-pieces.ts";
import type { Plan } from "./plan.ts";
import {
  decodePath,
  decodeValue,
  type EncodedPath,
  type EncodedValue,
  encodePath,
  encodeValue,
  invalidPlan,
} from "./value-codec.ts";

/** Version of the form in which plans are stored. */
const FORMAT = "stackwright-plan-1";

/**
 * A plan as bytes: JSON with sorted members and values in their exact encoding, so that equal plans are equal bytes and
 * the digest of the bytes names the plan. It contains secrets; the component that stores the bytes encrypts them.
 */
export function encodePlan(plan: Plan): Uint8Array {
  const encoder = new TextEncoder();
  const pieces = Array.from(planPieces(plan), (piece) => encoder.encode(piece));
  const bytes = new Uint8Array(pieces.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

const digests = new WeakMap<Plan, string>();

/** SHA-256 of {@link encodePlan} in hexadecimal. It is computed once for a plan, and never with the whole text in memory. */
export function planDigest(plan: Plan): string {
  const known = digests.get(plan);
  if (known !== undefined) return known;
  const hash = createHash("sha256");
  for (const piece of planPieces(plan)) hash.update(piece, "utf8");
  const digest = hash.digest("hex");
  digests.set(plan, digest);
  return digest;
}

/** The text of a plan. Only one element of its lists is encoded at a time. */
function* planPieces(plan: Plan): Generator<string, void> {
  const members = Object.entries({
    ...plan,
    format: FORMAT,
    revision: plan.revision.toString(),
    variables: lazily(plan.variables, ([name, value]) => [name, encodeValue(value)]),
    known: lazily(plan.known, ([address, value]) => [address, encodeValue(value)]),
    changes: lazily(plan.changes, encodeChange),
    outputs: lazily(plan.outputs, (output) => ({
      ...output,
      ...encodeSides(output),
      ...encodeOpen(output),
    })),
    drift: lazily(plan.drift, (drift) => ({ ...drift, ...encodeSides(drift) })),
    inputs: plan.inputs.map(encodeInput),
  });
  let before = "{";
  for (const [name, value] of members.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ",";
    if (typeof value === "function") {
      let separator = "[";
      for (const element of value()) {
        yield separator;
        yield* jsonPieces(element);
        separator = ",";
      }
      yield separator === "[" ? "[]" : "]";
    } else yield* jsonPieces(value);
  }
  yield "}";
}

function lazily<T>(items: Iterable<T>, encode: (item: T) => unknown): () => Generator {
  return function* elements() {
    for (const item of items) yield encode(item);
  };
}

/** The plan in some bytes. `ENGINE_PLAN_INVALID` where they are no plan of this format. */
export function decodePlan(bytes: Uint8Array): Plan {
  try {
    const document = JSON.parse(new TextDecoder().decode(bytes)) as Document;
    if (document.format !== FORMAT) throw invalidPlan(`its format is "${document.format}"`);
    const { format: _format, ...rest } = document;
    return {
      ...rest,
      revision: BigInt(rest.revision),
      variables: new Map(rest.variables.map(([name, value]) => [name, decodeValue(value)])),
      known: new Map(rest.known.map(([address, value]) => [address, decodeValue(value)])),
      changes: rest.changes.map(decodeChange),
      outputs: rest.outputs.map(decodeOutput),
      drift: rest.drift.map(({ before, after, ...drift }) => ({
        ...drift,
        before: decodeValue(before),
        ...(after !== undefined && { after: decodeValue(after) }),
      })),
      inputs: rest.inputs.map(decodeInput),
    };
  } catch (error) {
    if (error instanceof Error && error.name === "EngineError") throw error;
    throw invalidPlan("its content is damaged", error);
  }
}

interface Sides {
  readonly before?: EncodedValue;
  readonly after?: EncodedValue;
}

type Encoded<T> = Omit<T, "before" | "after" | "open"> &
  Sides & { readonly open?: readonly EncodedPath[] };
type EncodedChange = Omit<
  Encoded<ResourceChange>,
  "replacePaths" | "causes" | "words" | "key" | "importing"
> & {
  readonly key: string | number | null;
  readonly replacePaths: readonly EncodedPath[];
  readonly causes: readonly (Omit<ResourceChange["causes"][number], "path"> & {
    readonly path: EncodedPath;
  })[];
  readonly words: {
    readonly priorPrivate: string;
    readonly plannedPrivate: string;
    readonly priorIdentity?: EncodedValue;
    readonly plannedIdentity?: EncodedValue;
  };
  readonly importing?: { readonly id: string; readonly identity?: EncodedValue };
};

type Document = Omit<
  Plan,
  "revision" | "variables" | "known" | "changes" | "outputs" | "drift" | "inputs"
> & {
  readonly format: string;
  readonly revision: string;
  readonly variables: readonly (readonly [string, EncodedValue])[];
  readonly known: readonly (readonly [string, EncodedValue])[];
  readonly changes: readonly EncodedChange[];
  readonly outputs: readonly Encoded<Plan["outputs"][number]>[];
  readonly drift: readonly (Encoded<Plan["drift"][number]> & { readonly before: EncodedValue })[];
  readonly inputs: readonly EncodedInput[];
};

type EncodedInput = Omit<StackInput, "revision" | "planned"> & {
  readonly revision: string;
  readonly planned?: readonly (readonly [string, EncodedValue])[];
};

function encodeInput({ revision, planned, ...input }: StackInput): EncodedInput {
  return {
    ...input,
    revision: revision.toString(),
    ...(planned && {
      planned: [...planned].map(([name, value]) => [name, encodeValue(value)] as const),
    }),
  };
}

function decodeInput({ revision, planned, ...input }: EncodedInput): StackInput {
  return {
    ...input,
    revision: BigInt(revision),
    ...(planned && {
      planned: new Map(planned.map(([name, value]) => [name, decodeValue(value)])),
    }),
  };
}

function encodeSides({
  before,
  after,
}: {
  readonly before?: Value;
  readonly after?: Value;
}): Sides {
  return {
    ...(before !== undefined && { before: encodeValue(before) }),
    ...(after !== undefined && { after: encodeValue(after) }),
  };
}

function decodeSides({ before, after }: Sides): {
  readonly before?: Value;
  readonly after?: Value;
} {
  return {
    ...(before !== undefined && { before: decodeValue(before) }),
    ...(after !== undefined && { after: decodeValue(after) }),
  };
}

function encodeOpen({ open }: Pick<ResourceChange, "open">): {
  readonly open?: readonly EncodedPath[];
} {
  return open === undefined ? {} : { open: open.map(encodePath) };
}

function decodeOpen({
  open,
}: {
  readonly open?: readonly EncodedPath[];
}): Pick<ResourceChange, "open"> {
  return open === undefined ? {} : { open: open.map(decodePath) };
}

function decodeOutput(output: Encoded<Plan["outputs"][number]>): Plan["outputs"][number] {
  const { before: _before, after: _after, open: _open, ...rest } = output;
  return { ...rest, ...decodeSides(output), ...decodeOpen(output) };
}

function encodeChange(change: ResourceChange): EncodedChange {
  const { words, key, importing, before: _before, after: _after, open: _open, ...rest } = change;
  return {
    ...rest,
    ...encodeSides(change),
    ...encodeOpen(change),
    key: key ?? null,
    replacePaths: change.replacePaths.map(encodePath),
    causes: change.causes.map((cause) => ({ ...cause, path: encodePath(cause.path) })),
    words: {
      priorPrivate: base64(words.priorPrivate),
      plannedPrivate: base64(words.plannedPrivate),
      ...(words.priorIdentity && { priorIdentity: encodeValue(words.priorIdentity) }),
      ...(words.plannedIdentity && { plannedIdentity: encodeValue(words.plannedIdentity) }),
    },
    ...(importing && {
      importing: {
        id: importing.id,
        ...(importing.identity && { identity: encodeValue(importing.identity) }),
      },
    }),
  };
}

function decodeChange(change: EncodedChange): ResourceChange {
  const { words, key, importing, before: _before, after: _after, open: _open, ...rest } = change;
  return {
    ...rest,
    ...decodeSides(change),
    ...decodeOpen(change),
    key: key ?? undefined,
    replacePaths: change.replacePaths.map(decodePath),
    causes: change.causes.map((cause) => ({ ...cause, path: decodePath(cause.path) })),
    words: {
      priorPrivate: Buffer.from(words.priorPrivate, "base64"),
      plannedPrivate: Buffer.from(words.plannedPrivate, "base64"),
      ...(words.priorIdentity && { priorIdentity: decodeValue(words.priorIdentity) }),
      ...(words.plannedIdentity && { plannedIdentity: decodeValue(words.plannedIdentity) }),
    },
    ...(importing && {
      importing: {
        id: importing.id,
        ...(importing.identity && { identity: decodeValue(importing.identity) }),
      },
    }),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
