import { statfs } from "node:fs/promises";
import { readStored, tenancyOf } from "@stackwright/storage";
import { fenceResourceId } from "@stackwright/storage/lease";
import { SKEW_ERROR_MS, SKEW_WARNING_MS } from "../clock/server-clock.ts";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { WORKER_PROTOCOL } from "../worker/remote-protocol.ts";
import { DAY_MS, type DoctorParts } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";
import type { ServerFacts } from "./server-facts.ts";

const SLOW_MS = 1_000;
/** From when on a certificate has to be replaced that is not by itself. */
const CERTIFICATE_MS = 14 * DAY_MS;
const FREE_BYTES = 1024 ** 3;
const FREE_SHARE = 0.05;

/** Keys, store and disks of the server that is asked. */
export async function serverFindings(
  parts: DoctorParts,
  facts: ServerFacts,
): Promise<readonly Finding[]> {
  return [
    ...(await storeFindings(parts)),
    ...(await clockFindings(facts)),
    ...certificateFindings(parts, facts),
    ...refusalFindings(facts),
    ...(await parts.records.unlessDamaged(async () => keyFindings(parts, facts))),
    ...(await Promise.all(facts.directories.map(diskFindings))).flat(),
  ];
}

async function storeFindings({ storage, clock, signal }: DoctorParts): Promise<readonly Finding[]> {
  const startMs = clock.monotonicMs();
  const name = `${WORKER_LEASE}none`;
  const id = fenceResourceId({ tenancy: tenancyOf({ kind: "site" }), name });
  await readStored(storage, "strong", id, { signal });
  const tookMs = Math.round(clock.monotonicMs() - startMs);
  if (tookMs < SLOW_MS) return [];
  return [finding("store_slow", `one read of the store took ${tookMs} ms`)];
}

async function clockFindings({ clockStanding }: ServerFacts): Promise<readonly Finding[]> {
  const { skewMs: skew = 0, isDisputed, mayReact } = await clockStanding();
  const off = Math.abs(skew);
  if (off < SKEW_WARNING_MS) {
    if (mayReact) return [];
    const detail = "the clock of the server was not compared with those of the others lately";
    return [finding("clock_unknown", detail)];
  }
  const direction = skew > 0 ? "ahead of" : "behind";
  const by = `${(off / 1_000).toFixed(1)} s ${direction}`;
  if (isDisputed) {
    const what = mayReact
      ? "does what is due, later than others would"
      : "leaves what is due to others";
    const detail = `the clock of the server is ${by} that of another server, and no majority of servers says which is right: it ${what}`;
    return [finding("clock_disputed", detail)];
  }
  const detail = `the clock of the server is ${by} the clock that it is compared with`;
  return [finding(off < SKEW_ERROR_MS ? "clock_skewed" : "clock_far_off", detail)];
}

function certificateFindings(
  { nowMs }: DoctorParts,
  { certificateEndMs }: ServerFacts,
): readonly Finding[] {
  const endMs = certificateEndMs?.();
  if (endMs === undefined || endMs - nowMs > CERTIFICATE_MS) return [];
  const at = new Date(endMs).toISOString();
  return endMs <= nowMs
    ? [finding("certificate_ended", `the certificate of the server ended at ${at}`)]
    : [finding("certificate_ends", `the certificate of the server ends at ${at}`)];
}

function refusalFindings({ refusedWorkers }: ServerFacts): readonly Finding[] {
  return (refusedWorkers?.list() ?? []).map(({ actor, protocol, sinceMs }) => {
    const detail = `workers of the token ${actor} get no steps: they speak version ${protocol} with servers, and this server version ${WORKER_PROTOCOL}`;
    return finding("worker_refused", detail, { sinceMs });
  });
}

async function keyFindings(
  { signal }: DoctorParts,
  { secretKeys, identityKeys }: ServerFacts,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { keyId, secrets, dataKeys, isCurrent, isAvailable } of await secretKeys(signal)) {
    const count = secrets + dataKeys;
    const of = `${count} stored ${count === 1 ? "secret needs" : "secrets need"} the key ${keyId}`;
    if (!isAvailable)
      found.push(finding("key_unavailable", `${of}, which this server does not have`));
    else if (!isCurrent) found.push(finding("key_former", `${of}, which is a former one`));
  }
  try {
    await identityKeys();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    found.push(finding("identity_key_unavailable", `tokens of runs cannot be signed: ${why}`));
  }
  return found;
}

async function diskFindings(directory: string): Promise<readonly Finding[]> {
  let free: number;
  let all: number;
  try {
    const { bavail, blocks, bsize } = await statfs(directory);
    [free, all] = [bavail * bsize, blocks * bsize];
  } catch (error) {
    // It is made when something is written there for the first time.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  if (all === 0 || free >= Math.min(FREE_BYTES, all * FREE_SHARE)) return [];
  const mib = Math.floor(free / 1024 ** 2);
  return [finding("disk_full", `${mib} MiB are free where ${directory} is`)];
}
