import { createUlidGenerator } from "@stackwright/storage";
import type { TerraformState } from "@stackwright/tfstate";
import { EngineError } from "../errors.ts";
import {
  hasLineage,
  lineageAdopted,
  type NamedStack,
  type ProjectReference,
  type StackDirectory,
} from "../state/stack-directory.ts";
import type { StackOrigin } from "../state/stack-origin.ts";
import type { StackReference, StackState } from "../state/stack-state.ts";
import { importState } from "../state-transfer/import-state.ts";

export interface AdoptStateRequest {
  readonly stacks: StackDirectory;
  readonly stateOf: (reference: StackReference) => StackState;
  readonly project: ProjectReference;
  /** Name of the stack, which has no objects yet. */
  readonly name: string;
  readonly file: TerraformState;
  readonly origin: Extract<StackOrigin, { kind: "state" }>;
  /** Called after everything is written and before it counts; may reject. */
  readonly beforeCommit?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

/** Writes at the same time. */
const CONCURRENCY = 32;

/**
 * Records a state as the first one of a stack. All or nothing: the objects are written under a new stack that has no name,
 * and one conditional write gives it the name and the origin. What is interrupted before leaves the name as it was.
 * `ENGINE_STATE_NOT_EMPTY` where the stack has objects, or a backend that still waits for them; `ENGINE_STATE_ADOPTED` where another stack has this lineage.
 */
export async function adoptState(request: AdoptStateRequest): Promise<NamedStack> {
  const { stacks, stateOf, project, name, file, origin, beforeCommit } = request;
  const options = request.signal === undefined ? {} : { signal: request.signal };
  await refuseSecond(request);
  const existing = await stacks.find(project, name, options);
  // While the name is given to the new stack no other run may begin under it.
  await using old = existing && (await stateOf(existing.reference).tryAcquire(options));
  if (existing !== undefined) {
    if (old === undefined) {
      throw new EngineError(
        "ENGINE_STATE_NOT_EMPTY",
        `the stack "${name}" is in use by another run`,
      );
    }
    const { objects } = await stateOf(existing.reference).read(options);
    // The objects of a stack that was handed back belong to the other command.
    const ended = existing.adoption?.kind === "state" && existing.adoption.handedBack;
    if (!ended) refuseOtherOrigin(existing, origin);
    if (objects.size > 0 && !ended) {
      throw new EngineError(
        "ENGINE_STATE_NOT_EMPTY",
        `the stack "${name}" has ${objects.size} objects`,
      );
    }
  }
  const ulid = createUlidGenerator({ wallMs: Date.now });
  const reference: StackReference = { ...project, stack: ulid() };
  const { changes, outputs } = importState(file);
  {
    await using hold = await stateOf(reference).acquire(options);
    const writer = await hold.begin({ run: ulid(), base: 0n }, options);
    const queue = changes.values();
    const work = async (): Promise<void> => {
      for (const change of queue) await writer.write(change, options);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    await writer.finish({ outputs });
  }
  await beforeCommit?.();
  return await stacks.bind(
    project,
    name,
    { stack: reference.stack, replaces: existing, origin },
    options,
  );
}

/** An emptied stack still owns the state of the backend that it was adopted from: its lock, its marker and the way back. */
function refuseOtherOrigin({ name, adoption }: NamedStack, origin: AdoptStateRequest["origin"]) {
  if (adoption?.kind !== "state" || adoption.backend === "" || adoption.backend === "file") return;
  const { lineage, backend, place } = adoption;
  if (lineage === origin.lineage && backend === origin.backend && place === origin.place) return;
  throw new EngineError("ENGINE_STATE_NOT_EMPTY", `the stack "${name}" was adopted from ${place}`, {
    details: {
      advice:
        "Hand it back first with stackwright hand-back, or use another stack with --stack NAME.",
    },
  });
}

/** Refuses early; `bind` decides, by the record of the lineage. Stacks of earlier releases have no such record. */
async function refuseSecond({
  stacks,
  project,
  name,
  origin: { lineage },
  signal,
}: AdoptStateRequest): Promise<void> {
  if (lineage === "") return;
  const others = await stacks.list(project, signal === undefined ? {} : { signal });
  const second = others.find((one) => one.name !== name && hasLineage(one, lineage));
  if (second !== undefined) throw lineageAdopted(second.name, lineage);
}
