import {
  type RfsStackInstance,
  RfsStackInstance_Phase,
  type RfsStackSet,
  type RfsStackSetOperation,
  type RfsStackSetOperation_Member,
  RfsStackSetOperation_Phase,
} from "@stackwright/proto/stackwright";
import { type Guard, readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { beginMember, endOfMember, type MemberOf } from "./member-step.ts";
import { operationProgress } from "./operation-progress.ts";
import type { RfsParts } from "./rfs-parts.ts";
import {
  type StackSetReference,
  setOperationPlace,
  stackSetPlace,
  usedOverrides,
} from "./stack-set-places.ts";

// The holder of the lease of a set carries its operations out, so that the records have one writer beside the requests, which only add. A member has
// the id of its run before the run is requested: where the server ends in between, the next one requests the same run, and finds the one
// that exists.

type Member = RfsStackSetOperation_Member;

/** What may be written: as long as the lease is held. */
interface Tenure {
  readonly guard: Guard;
  readonly signal: AbortSignal;
  /** A run of this stack was requested: it may end before the set is done with what it does now. */
  readonly onRequest: (stack: string) => void;
}

/** Brings all operations of a set as far as they come now. Returns the stacks whose runs they wait for. */
export async function advanceStackSet(
  parts: RfsParts,
  reference: StackSetReference,
  tenure: Tenure,
): Promise<ReadonlySet<string>> {
  const awaited = new Set<string>();
  const { openOperations = [] } = (await readSet(parts, reference)) ?? {};
  const busy = new Set<string>();
  for (const id of openOperations) {
    const advance = new OperationAdvance(parts, reference, id, tenure);
    // What comes later waits for the instances of what came before.
    for (const stack of await advance.run(busy)) awaited.add(stack);
    for (const target of await advance.targets()) busy.add(target);
  }
  return awaited;
}

async function readSet(
  { storage }: RfsParts,
  reference: StackSetReference,
): Promise<RfsStackSet | undefined> {
  const id = idOf(SERVER_KINDS.rfsStackSet, stackSetPlace(reference));
  const found = await readStored(storage, "strong", id);
  return found && decodeRecord(SERVER_KINDS.rfsStackSet, found);
}

/** What a step writes of an operation and of its set. */
interface Change {
  readonly members?: ReadonlyMap<string, Partial<Member>>;
  readonly operation?: Partial<Pick<RfsStackSetOperation, "phase" | "message">>;
  /** Stacks that were made, by target. */
  readonly stacks?: ReadonlyMap<string, string>;
  /** Targets whose instances are no more. */
  readonly gone?: ReadonlySet<string>;
  readonly ends?: boolean;
}

class OperationAdvance {
  readonly #parts: RfsParts;
  readonly #reference: StackSetReference;
  readonly #id: string;
  readonly #tenure: Tenure;

  constructor(parts: RfsParts, reference: StackSetReference, id: string, tenure: Tenure) {
    this.#parts = parts;
    this.#reference = reference;
    this.#id = id;
    this.#tenure = tenure;
  }

  /** The targets of an operation that has not ended. */
  async targets(): Promise<readonly string[]> {
    const found = await this.#read();
    if (found === undefined || isOver(found.operation)) return [];
    return found.operation.members.map(keyOf);
  }

  async run(busy: ReadonlySet<string>): Promise<readonly string[]> {
    const { signal } = this.#tenure;
    for (;;) {
      signal.throwIfAborted();
      const found = await this.#read();
      if (found === undefined) {
        await this.#forget();
        return [];
      }
      const { operation } = found;
      if (isOver(operation)) {
        await this.#write({ ends: true });
        return [];
      }
      if (operation.phase === RfsStackSetOperation_Phase.PHASE_QUEUED) {
        if (operation.members.some((member) => busy.has(keyOf(member)))) return [];
        await this.#write({ operation: { phase: RfsStackSetOperation_Phase.PHASE_RUNNING } });
        continue;
      }
      if (await this.#resume(found)) continue;
      if (await this.#settle(found)) continue;
      const { start, cancel, exceeded, isOver: isDone } = operationProgress(operation);
      if (cancel.length > 0) {
        const message = "too many others failed";
        const phase = RfsStackInstance_Phase.PHASE_CANCELED;
        await this.#write({ members: mapOf(cancel, () => ({ phase, message })) });
      } else if (isDone) {
        await this.#end(operation, exceeded);
      } else if (start.length > 0) {
        const phase = RfsStackInstance_Phase.PHASE_RUNNING;
        await this.#write({
          members: mapOf(start, () => ({ phase, run: this.#parts.token() })),
        });
      } else {
        return runningIn(operation).flatMap((member) => {
          const stack = instanceOf(found.set, member)?.stack ?? "";
          return stack === "" ? [] : [stack];
        });
      }
    }
  }

  /** Requests the runs of members whose turn it is. */
  async #resume(found: Found): Promise<boolean> {
    const { signal } = this.#tenure;
    const begun = runningIn(found.operation).filter(({ requested }) => !requested);
    for (const member of begun) {
      const result = await beginMember(this.#parts, this.#of(found, member), signal);
      const key = keyOf(member);
      if ("stack" in result) {
        this.#tenure.onRequest(result.stack);
        await this.#write({
          members: new Map([[key, { requested: true }]]),
          stacks: new Map([[key, result.stack]]),
        });
        continue;
      }
      const { isGone = false, ...end } = result;
      const gone = new Set(isGone ? [key] : []);
      await this.#write({ members: new Map([[key, end]]), gone });
    }
    return begun.length > 0;
  }

  /** Notes how members ended. */
  async #settle(found: Found): Promise<boolean> {
    const ended = new Map<string, Partial<Member>>();
    const gone = new Set<string>();
    for (const member of runningIn(found.operation)) {
      const end = await endOfMember(this.#parts, this.#of(found, member));
      if (end === undefined) continue;
      const { phase, message, isGone = false } = end;
      ended.set(keyOf(member), { phase, message });
      if (isGone) gone.add(keyOf(member));
    }
    if (ended.size === 0) return false;
    await this.#write({ members: ended, gone });
    return true;
  }

  async #end({ members }: RfsStackSetOperation, exceeded: readonly string[]): Promise<void> {
    const hasFailed = exceeded.length > 0;
    const failures = members.filter(
      ({ phase }) => phase === RfsStackInstance_Phase.PHASE_FAILED,
    ).length;
    await this.#write({
      operation: {
        phase: hasFailed
          ? RfsStackSetOperation_Phase.PHASE_FAILED
          : RfsStackSetOperation_Phase.PHASE_COMPLETE,
        message: hasFailed
          ? `${failures} of ${members.length} stack instances failed, more than may in ${exceeded.join(", ")}; ListStackInstances says why`
          : "",
      },
      ends: true,
    });
  }

  #of({ set, operation }: Found, member: Member): MemberOf {
    const { account, name: setName } = this.#reference;
    return { account, set, setName, operation, member, instance: instanceOf(set, member) };
  }

  async #read(): Promise<Found | undefined> {
    const set = await readSet(this.#parts, this.#reference);
    if (set === undefined) return undefined;
    const place = setOperationPlace(this.#reference.account, set.id, this.#id);
    const id = idOf(SERVER_KINDS.rfsStackSetOperation, place);
    const found = await readStored(this.#parts.storage, "strong", id);
    if (found === undefined) return undefined;
    return { set, operation: decodeRecord(SERVER_KINDS.rfsStackSetOperation, found) };
  }

  /** Takes an operation from the set that is stored no more. */
  async #forget(): Promise<void> {
    await transact(this.#parts, async (tx) => {
      tx.guard(this.#tenure.guard);
      const row = await tx.find(SERVER_KINDS.rfsStackSet, stackSetPlace(this.#reference));
      if (row === undefined) return;
      const openOperations = row.message.openOperations.filter((id) => id !== this.#id);
      tx.update(row, { openOperations });
    });
  }

  async #write({ members, operation, stacks, gone, ends = false }: Change): Promise<void> {
    const { account } = this.#reference;
    await transact(this.#parts, async (tx) => {
      tx.guard(this.#tenure.guard);
      const set = await tx.get(SERVER_KINDS.rfsStackSet, stackSetPlace(this.#reference));
      const place = setOperationPlace(account, set.message.id, this.#id);
      const row = await tx.get(SERVER_KINDS.rfsStackSetOperation, place);
      const at = BigInt(tx.nowMs);
      tx.update(row, {
        ...operation,
        members: row.message.members.map((one) => ({ ...one, ...members?.get(keyOf(one)) })),
        updatedAtMs: at,
      });
      const instances = set.message.instances
        .filter((instance) => gone?.has(keyOf(instance)) !== true)
        .map((instance): RfsStackInstance => {
          const change = members?.get(keyOf(instance));
          const stack = stacks?.get(keyOf(instance)) ?? instance.stack;
          // One that waits for a later operation already is shown as that.
          if (change === undefined || instance.operation !== this.#id) {
            return { ...instance, stack };
          }
          const { phase = instance.phase, message = instance.message } = change;
          return { ...instance, stack, phase, message, updatedAtMs: at };
        });
      tx.update(set, {
        instances,
        overrides: usedOverrides(instances, set.message.overrides),
        ...(ends && {
          openOperations: set.message.openOperations.filter((id) => id !== this.#id),
        }),
      });
    });
  }
}

interface Found {
  readonly set: RfsStackSet;
  readonly operation: RfsStackSetOperation;
}

function isOver({ phase }: RfsStackSetOperation): boolean {
  return (
    phase === RfsStackSetOperation_Phase.PHASE_COMPLETE ||
    phase === RfsStackSetOperation_Phase.PHASE_FAILED
  );
}

function runningIn({ members }: RfsStackSetOperation): readonly Member[] {
  return members.filter(({ phase }) => phase === RfsStackInstance_Phase.PHASE_RUNNING);
}

function instanceOf(
  { instances }: RfsStackSet,
  member: Pick<Member, "project" | "region">,
): RfsStackInstance | undefined {
  return instances.find((instance) => keyOf(instance) === keyOf(member));
}

function keyOf({ project, region }: Pick<Member, "project" | "region">): string {
  return `${region}\0${project}`;
}

function mapOf(
  members: readonly Member[],
  change: () => Partial<Member>,
): ReadonlyMap<string, Partial<Member>> {
  return new Map(members.map((member) => [keyOf(member), change()]));
}
