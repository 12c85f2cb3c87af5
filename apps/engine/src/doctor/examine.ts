import type { Clock } from "@stackwright/base/clock";
import type { CredentialStore } from "@stackwright/registry";
import type { StorageBackend } from "@stackwright/storage";
import { STACK_KIND } from "../domain/run-places.ts";
import type { QuarantinedUse } from "../live/quarantined-uses.ts";
import { DEFAULT_STUCK_BOUNDS, type StuckBounds } from "../queue/stuck-steps.ts";
import { AccountRecords } from "./account-records.ts";
import { deliveryFindings } from "./delivery-findings.ts";
import type { DoctorParts } from "./doctor-parts.ts";
import { dueFindings } from "./due-findings.ts";
import type { Finding } from "./finding.ts";
import { providerFindings } from "./provider-findings.ts";
import { queueFindings } from "./queue-findings.ts";
import type { ServerFacts } from "./server-facts.ts";
import { serverFindings } from "./server-findings.ts";
import { lockFindings, readHolds } from "./stack-holds.ts";
import { stepFindings } from "./step-findings.ts";
import { tokenFindings } from "./token-findings.ts";

interface ExamineOptions {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly credentials: Pick<CredentialStore, "list">;
  readonly account: string;
  /** Of the server itself, where the caller operates it. @default it is left out */
  readonly server?: ServerFacts | undefined;
  /** Finds the stacks with objects of versions of providers in quarantine. @default they are left out */
  readonly quarantinedUses?:
    | ((signal: AbortSignal) => Promise<readonly QuarantinedUse[]>)
    | undefined;
  /** From when on steps count as stuck. @default those of a server without options */
  readonly stuck?: StuckBounds | undefined;
  readonly signal: AbortSignal;
}

/** What is stuck in an account, and why: what needs a user first, the oldest of it first. Changes nothing. */
export async function examine({
  storage,
  clock,
  credentials,
  account,
  server,
  quarantinedUses = async () => [],
  stuck = DEFAULT_STUCK_BOUNDS,
  signal,
}: ExamineOptions): Promise<readonly Finding[]> {
  const records = new AccountRecords(storage, account, signal);
  const stacks = await records.list(STACK_KIND);
  const names = new Map(
    stacks.map(({ project, name, message }) => [`${project}/${message.id}`, name]),
  );
  const nowMs = clock.wallMs();
  const parts: DoctorParts = {
    storage,
    clock,
    account,
    records,
    nameOf: (project, stack) => names.get(`${project}/${stack}`) ?? stack,
    nowMs,
    stuck,
    signal,
  };
  const found = await Promise.all([
    server === undefined ? [] : serverFindings(parts, server),
    queueFindings(parts),
    readHolds(parts).then(async (holds) => stepFindings(parts, holds)),
    lockFindings(parts),
    dueFindings(parts),
    deliveryFindings(parts),
    quarantinedUses(signal).then(providerFindings),
    records.unlessDamaged(
      async () => tokenFindings(parts, credentials),
      // It may be of another account.
      server === undefined
        ? "which tokens end soon is not known: a record of the credentials cannot be read"
        : undefined,
    ),
  ]);
  const damage = new Map(records.damage.map((one) => [`${one.project} ${one.detail}`, one]));
  return [...found.flat(), ...damage.values()].toSorted(
    (a, b) =>
      rankOf(a) - rankOf(b) ||
      (a.sinceMs ?? nowMs) - (b.sinceMs ?? nowMs) ||
      compare(a.code, b.code),
  );
}

function rankOf({ severity }: Finding): number {
  return severity === "error" ? 0 : 1;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
