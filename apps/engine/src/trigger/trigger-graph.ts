import type { Logger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import type { RunTrigger } from "@stackwright/proto/stackwright";
import { type StorageBackend, type Tenancy, WILDCARD } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";

/** A trigger with its place. */
interface PlacedTrigger {
  readonly place: Place;
  readonly message: RunTrigger;
}

/** All triggers of an account. One whose record is damaged requests no runs, and is left out. */
export async function listTriggers(
  { storage, logger }: { readonly storage: StorageBackend; readonly logger?: Logger | undefined },
  account: string,
): Promise<readonly PlacedTrigger[]> {
  const tenancy: Tenancy = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
  const onDamaged = logDamaged(logger);
  const found = await listReadable(storage, SERVER_KINDS.trigger, tenancy, { onDamaged });
  return found.map(({ id, message }) => ({
    place: { tenancy: id.tenancy, name: id.name },
    message,
  }));
}

/** The stack whose runs a trigger requests. */
export function consumerOf({ tenancy, name }: Place): StackReference {
  const { partition: account, namespace: project } = tenancy;
  return { account, project, stack: name.slice(0, name.indexOf(".")) };
}

/**
 * The names of the stacks on a shortest way from one stack to another along triggers (producer to consumer), both ends
 * included; undefined where there is none.
 */
export function wayBetween(
  triggers: readonly PlacedTrigger[],
  from: Pick<StackReference, "project" | "stack">,
  to: Pick<StackReference, "project" | "stack">,
): readonly string[] | undefined {
  const consumers = new Map<string, { readonly key: string; readonly name: string }[]>();
  const names = new Map<string, string>();
  for (const { place, message } of triggers) {
    const producer = `${message.producerProject}/${message.producer}`;
    const consumer = consumerOf(place);
    const key = `${consumer.project}/${consumer.stack}`;
    const name = `${consumer.project}/${message.stackName}`;
    names.set(producer, `${message.producerProject}/${message.producerName}`);
    names.set(key, name);
    const known = consumers.get(producer);
    if (known === undefined) consumers.set(producer, [{ key, name }]);
    else known.push({ key, name });
  }
  const start = `${from.project}/${from.stack}`;
  const end = `${to.project}/${to.stack}`;
  const cameFrom = new Map<string, string | undefined>([[start, undefined]]);
  const open = [start];
  for (const at of open) {
    if (at === end) {
      const way: string[] = [];
      for (let step: string | undefined = at; step !== undefined; step = cameFrom.get(step)) {
        way.unshift(names.get(step) ?? step);
      }
      return way;
    }
    for (const { key } of consumers.get(at) ?? []) {
      if (cameFrom.has(key)) continue;
      cameFrom.set(key, at);
      open.push(key);
    }
  }
  return undefined;
}
