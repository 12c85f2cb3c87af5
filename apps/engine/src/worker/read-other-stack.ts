import type { Logger } from "@stackwright/base/logger";
import {
  createStackStates,
  type FormerState,
  StackDirectory,
  type StackName,
  type StackReference,
  type StackState,
  type StoredKeys,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { readStored, type StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { STACK_OUTPUTS_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { OtherStack } from "../executor/other-stacks.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { findStackTool, isOutside } from "../queue/stack-tool.ts";
import { idOf } from "../queue/transaction.ts";

/** How a run reads another stack. */
interface OtherStackReading {
  /** Finds a stack of the project by its name that is planned together with the reader. @default there are none */
  readonly planned?: ((name: string) => Promise<OtherStack | undefined>) | undefined;
  /** Whether it says how the last apply ended. @default false */
  readonly needsHistory?: boolean;
}

interface ReadingParts {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  readonly logger?: Logger | undefined;
}

/** Bytes of the outputs of one stack, which travel to an executor in one frame. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Stacks that are visited for a cycle. */
const MAX_VISITED = 10_000;

/**
 * What a stack publishes, for a run of another stack of the account; undefined where there is none. Stacks of the same project may be
 * read, and those of projects whose settings name the project of the reader. `ENGINE_INPUT_UNAVAILABLE` where that is not so, where
 * another tool than the engine has the stack, the outputs are too large, and where the stack was itself made with outputs of the reader.
 */
export async function readOtherStack(
  parts: ReadingParts,
  reader: StackReference,
  given: StackName | FormerState,
  { planned, needsHistory = false }: OtherStackReading = {},
): Promise<OtherStack | undefined> {
  const { storage, blobs, keys } = parts;
  const { account } = reader;
  const name = "stack" in given ? given : await findAdopter(parts, reader, given);
  if (name === undefined) return undefined;
  const { project = reader.project, stack } = name;
  const ofSet = project === reader.project ? await planned?.(stack) : undefined;
  if (ofSet !== undefined) return requireSmall(ofSet);
  if (project !== reader.project && !(await isShared(storage, { account, project }, reader))) {
    throw unavailable(
      `the stack ${project}/${stack}: the project ${project} does not share its outputs with ${reader.project}; its settings (outputs_shared_with) name the projects that may read them`,
    );
  }
  const found = await new StackDirectory({ storage }).find({ account, project }, stack);
  if (found === undefined) return undefined;
  const tool = await findStackTool(storage, found.reference);
  if (isOutside(tool)) {
    throw unavailable(
      `the stack ${project}/${stack}: ${tool.tool} executes its runs, and what the engine recorded of it is from before`,
    );
  }
  const way = await wayOfInputs(storage, found.reference, reader);
  if (way !== undefined) {
    const names = [`${project}/${stack}`, ...way];
    const cycle = [names.at(-1), ...names].join(" reads ");
    throw unavailable(
      `the stack ${project}/${stack}: stacks would read each other in a cycle, ${cycle}; apply one of them without the other first`,
    );
  }
  const states = createStackStates({ storage, blobs, ciphers: keys, owner: "reader" });
  const state = states.stack(found.reference);
  const { head, outputs } = await state.outputs();
  const { revision } = await state.head();
  const last = needsHistory ? await lastApply(state) : undefined;
  return requireSmall({
    stack: found.reference,
    name: found.name,
    head: revision.toString(),
    revision: head.revision.toString(),
    outputs: Array.from(outputs, ([key, { type, json, sensitive }]) => ({
      name: key,
      type,
      json,
      sensitive,
    })),
    ...(last !== undefined && { last }),
  });
}

function requireSmall(answer: OtherStack): OtherStack {
  if (Buffer.byteLength(JSON.stringify(answer)) <= MAX_BYTES) return answer;
  const { stack, name } = answer;
  throw unavailable(
    `the stack ${stack.project}/${name}: its outputs are more than ${MAX_BYTES / 1024 / 1024} MiB`,
  );
}

/** Writes of a stack that are looked through for its last apply. */
const LOOKED_THROUGH = 100;

/** The last apply in the history of a stack, or what was interrupted since. */
async function lastApply(state: Pick<StackState, "history">): Promise<OtherStack["last"]> {
  const entries = await state.history({ limit: LOOKED_THROUGH });
  const last = entries.find(({ status, complete }) => status !== undefined || !complete);
  if (last === undefined) return undefined;
  const { revision, status, complete } = last;
  return { revision: revision.toString(), complete, ...(status !== undefined && { status }) };
}

/** The stack that has adopted a state: of the project of the reader, else of a project that shares its outputs with it. */
async function findAdopter(
  { storage, logger }: Pick<ReadingParts, "storage" | "logger">,
  reader: StackReference,
  state: FormerState,
): Promise<StackName | undefined> {
  const { account } = reader;
  const directory = new StackDirectory({ storage });
  const own = await directory.findAdopter({ account, project: reader.project }, state);
  if (own !== undefined) return { stack: own.name };
  // Settings that are damaged share nothing.
  const { tenancy } = projectPlace({ account, project: "" });
  const onDamaged = logDamaged(logger);
  const projects = await listReadable(storage, SERVER_KINDS.project, tenancy, { onDamaged });
  for (const { id, message } of projects) {
    if (!message.outputsSharedWith.includes(reader.project)) continue;
    const project = id.name;
    const found = await directory.findAdopter({ account, project }, state);
    if (found !== undefined) return { stack: found.name, project };
  }
  return undefined;
}

async function isShared(
  storage: StorageBackend,
  publisher: Pick<StackReference, "account" | "project">,
  reader: StackReference,
): Promise<boolean> {
  const id = idOf(SERVER_KINDS.project, projectPlace(publisher));
  const found = await readStored(storage, "strong", id);
  if (found === undefined) return false;
  return decodeRecord(SERVER_KINDS.project, found).outputsSharedWith.includes(reader.project);
}

/**
 * The names on a shortest way along recorded inputs from one stack to another, without the first one; undefined where there is none.
 * Inputs are recorded by applies, so of two stacks that begin to read each other the one that is planned later is refused.
 */
async function wayOfInputs(
  storage: StorageBackend,
  from: StackReference,
  to: StackReference,
): Promise<readonly string[] | undefined> {
  const seen = new Set([keyOf(from)]);
  let open: readonly { readonly stack: StackReference; readonly way: readonly string[] }[] = [
    { stack: from, way: [] },
  ];
  while (open.length > 0 && seen.size <= MAX_VISITED) {
    const next: (typeof open)[number][] = [];
    for (const { stack, way } of open) {
      const found = await readStored(
        storage,
        "strong",
        idOf(STACK_OUTPUTS_KIND, stackPlace(stack)),
      );
      if (found === undefined) continue;
      for (const input of decodeRecord(STACK_OUTPUTS_KIND, found).inputs) {
        const { account, project, stack: id, name } = input;
        const reference = { account, project, stack: id };
        const names = [...way, `${project}/${name}`];
        if (keyOf(reference) === keyOf(to)) return names;
        if (seen.has(keyOf(reference))) continue;
        seen.add(keyOf(reference));
        next.push({ stack: reference, way: names });
      }
    }
    open = next;
  }
  return undefined;
}

function keyOf({ account, project, stack }: StackReference): string {
  return `${account}/${project}/${stack}`;
}

function unavailable(what: string): EngineError {
  return new EngineError("ENGINE_INPUT_UNAVAILABLE", `outputs cannot be read of ${what}`);
}
