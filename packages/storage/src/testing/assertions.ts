import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { StorageError, type StorageErrorCode } from "../errors.ts";
import { resourceKey } from "../key.ts";
import type { Resource, Tenancy, UnversionedType } from "../resource.ts";
import type { StorageBackend, Watch, WatchEvent } from "../types.ts";

/** How long an eventual assertion is repeated, and an event is waited for. */
const PATIENCE_MS = 5_000;

/** Asserts that a call fails with one of the given codes, and gives the error. */
export async function assertCode(
  promise: Promise<unknown>,
  ...codes: readonly StorageErrorCode[]
): Promise<StorageError> {
  const error: unknown = await promise.then(
    () => assert.fail(`expected ${codes.join(" or ")}, but the call succeeded`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StorageError)) throw error;
  assert.ok(
    codes.includes(error.code),
    `expected ${codes.join(" or ")}, found ${error.code}: ${error.message}`,
  );
  return error;
}

/** Repeats an assertion that may only hold after a while, as eventual reads allow. */
export async function eventually(assertion: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await assertion();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(10);
    }
  }
}

/** Asserts that two resources are equal in every field, bytes included. */
export function assertSame(actual: Resource, expected: Resource): void {
  assert.deepEqual(normalize(actual), normalize(expected));
}

/** Asserts that two sets of resources are equal, whatever their order. */
export function assertSameSet(actual: readonly Resource[], expected: readonly Resource[]): void {
  const sorted = (resources: readonly Resource[]): unknown[] =>
    resources
      .toSorted((left, right) => (resourceKey(left.id) < resourceKey(right.id) ? -1 : 1))
      .map(normalize);
  assert.deepEqual(sorted(actual), sorted(expected));
}

/**
 * What is stored after everything that was acknowledged: by a strong list, or where there is none by
 * an eventual one that does not change any more.
 */
export async function settledList(
  storage: StorageBackend,
  type: UnversionedType,
  tenancy: Tenancy,
  prefix: string,
): Promise<readonly Resource[]> {
  if (storage.capabilities.strongList) return storage.list("strong", type, tenancy, prefix);
  let last = await storage.list("eventual", type, tenancy, prefix);
  for (;;) {
    await delay(100);
    const next = await storage.list("eventual", type, tenancy, prefix);
    const shown = (resources: readonly Resource[]): string =>
      JSON.stringify(resources.map((one) => `${resourceKey(one.id)} ${one.version}`).toSorted());
    if (shown(next) === shown(last)) return next;
    last = next;
  }
}

/** The next event, or a failed assertion when none comes. */
export async function nextEvent(watch: Watch): Promise<WatchEvent> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return watch.next({ signal }).catch((error: unknown) => {
    if (signal.aborted) assert.fail("no event arrived in time");
    throw error;
  });
}

/** The next event, which has to be an upsert; gives its resource. */
export async function nextUpsert(watch: Watch): Promise<Resource> {
  const event = await nextEvent(watch);
  assert.equal(event.operation, "upsert");
  return event.resource;
}

/** The next event, which has to be a delete; gives its resource. */
export async function nextDelete(watch: Watch): Promise<Resource> {
  const event = await nextEvent(watch);
  assert.equal(event.operation, "delete");
  return event.resource;
}

/** Asserts that no event is on its way right now. */
export async function assertQuiet(watch: Watch, forMs = 50): Promise<void> {
  const signal = AbortSignal.timeout(forMs);
  const event = await watch.next({ signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  assert.equal(event, undefined, "an event arrived that nothing was to cause");
}

function normalize(resource: Resource): unknown {
  return {
    ...resource,
    ...(resource.data === undefined
      ? {}
      : {
          data: {
            typeUrl: resource.data.typeUrl,
            value: Buffer.from(resource.data.value).toString("hex"),
          },
        }),
  };
}
