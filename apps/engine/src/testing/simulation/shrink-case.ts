import { shrinkFailing } from "@stackwright/core/testing";
import type { SimCase } from "./sim-case.ts";

/** Makes a failing case smaller for as long as it still fails: fewer actions and faults, no delays, fewer servers. */
export function shrinkCase(
  failing: SimCase,
  fails: (candidate: SimCase) => Promise<boolean>,
): Promise<SimCase> {
  return shrinkFailing(failing, smallerCases, fails);
}

/** Halves first, then single ones. */
function* smallerCases(given: SimCase): Generator<SimCase> {
  const { actions, writeFaults, serverFaults, servers, workers, delayMs } = given;
  const { schedules, triggers, policies } = given;
  for (const some of without(actions)) yield { ...given, actions: some };
  for (const some of without(writeFaults)) yield { ...given, writeFaults: some };
  for (const some of without(serverFaults)) yield { ...given, serverFaults: some };
  for (const some of without(schedules)) yield { ...given, schedules: some };
  for (const some of without(triggers)) yield { ...given, triggers: some };
  for (const position of policies.keys()) {
    if (policies[position] !== "none") {
      yield { ...given, policies: policies.with(position, "none") };
    }
  }
  for (const some of without(given.reads)) yield { ...given, reads: some };
  const { waitMs, validMs } = given.approvals;
  if (waitMs > 0) yield { ...given, approvals: { waitMs: 0, validMs } };
  if (validMs > 0) yield { ...given, approvals: { waitMs, validMs: 0 } };
  if (given.isStaged) yield { ...given, isStaged: false };
  const remotes = servers.length;
  const isWorkerUsed = [...writeFaults, ...serverFaults].some(({ server }) => server >= remotes);
  const isApart = servers.every(({ capacity }) => capacity === 0) && workers.length === 1;
  if (!isWorkerUsed && workers.length > 0 && !isApart)
    yield { ...given, workers: workers.slice(1) };
  if (delayMs > 0) yield { ...given, delayMs: 0 };
  if (servers.some(({ skewMs }) => skewMs !== 0)) {
    yield { ...given, servers: servers.map((server) => ({ ...server, skewMs: 0 })) };
  }
  const last = servers.length - 1;
  if (last > 0 && workers.length === 0) {
    const isUsed = [...actions, ...writeFaults, ...serverFaults].some(
      ({ server }) => server === last,
    );
    if (!isUsed) yield { ...given, servers: servers.slice(0, last) };
  }
}

function* without<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length > 3) {
    const half = Math.floor(items.length / 2);
    yield items.slice(half);
    yield items.slice(0, half);
  }
  for (const position of items.keys()) yield items.toSpliced(position, 1);
}
