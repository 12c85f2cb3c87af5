import { NotificationDelivery_State } from "@stackwright/proto/stackwright";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { DoctorParts } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";

/** Attempts that fail for a passing reason. */
const ATTEMPTS = 3;

/** Notifications and audit entries that do not arrive, and repositories whose tasks fail. */
export async function deliveryFindings({ records }: DoctorParts): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const names = new Map<string, string>();
  for (const { project, message } of await records.list(SERVER_KINDS.notificationSettings)) {
    for (const { id, name } of message.destinations) names.set(`${project}/${id}`, name);
  }
  const waits = new Map<string, Group>();
  for (const { project, message } of await records.list(SERVER_KINDS.notificationEvent)) {
    for (const { destination, attempts, problem, sinceMs } of message.waits) {
      if (attempts >= ATTEMPTS) add(waits, `${project}/${destination}`, Number(sinceMs), problem);
    }
  }
  const dead = new Map<string, Group>();
  for (const { project, owner, message } of await records.list(SERVER_KINDS.notificationDelivery)) {
    const { state, problem, endedAtMs } = message;
    if (state === NotificationDelivery_State.STATE_DEAD) {
      add(dead, `${project}/${owner}`, Number(endedAtMs), problem);
    }
  }
  for (const [code, groups, what] of [
    ["notification_waits", waits, "fail and are tried again"],
    ["notification_dead", dead, "were given up"],
  ] as const) {
    for (const [place, { count, sinceMs, problem }] of groups) {
      const name = names.get(place);
      // Of a deleted destination nothing can be sent again.
      if (name === undefined) continue;
      const [project = ""] = place.split("/");
      const detail = `${count} ${count === 1 ? "event" : "events"} for "${name}" ${what}: ${problem}`;
      found.push(finding(code, detail, { project, sinceMs }));
    }
  }
  for (const { message } of await records.list(SERVER_KINDS.auditWebhook)) {
    const { name, attempts, problem, failingSinceMs, paused } = message;
    if (attempts < ATTEMPTS || paused) continue;
    const detail = `the audit trail has not reached "${name}" in ${attempts} attempts: ${problem}`;
    found.push(finding("audit_webhook_waits", detail, { sinceMs: Number(failingSinceMs) }));
  }
  for (const { project, message } of await records.list(SERVER_KINDS.vcsTask)) {
    const { connection, pullRequest, attempts, problem, createdAtMs, check } = message;
    if (attempts < ATTEMPTS) continue;
    if (check) {
      const detail = `to look for lost deliveries of the connection "${connection}" failed ${attempts} times: ${problem}`;
      found.push(finding("repository_failed", detail, { project }));
      continue;
    }
    const of = pullRequest === "" ? "the branch" : `pull request ${pullRequest}`;
    const detail = `${of} of the connection "${connection}" failed ${attempts} times: ${problem}`;
    found.push(finding("repository_failed", detail, { project, sinceMs: Number(createdAtMs) }));
  }
  return found;
}

interface Group {
  readonly count: number;
  /** Of the oldest. */
  readonly sinceMs: number;
  /** Of one of them. */
  readonly problem: string;
}

function add(groups: Map<string, Group>, key: string, sinceMs: number, problem: string): void {
  const former = groups.get(key);
  groups.set(key, {
    count: (former?.count ?? 0) + 1,
    sinceMs: Math.min(former?.sinceMs ?? sinceMs, sinceMs),
    problem,
  });
}
