import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type DoctorParts, HOUR_MS, MINUTE_MS } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";

/** What a sweep takes at the most, many times over. */
const OVERDUE_MS = 5 * MINUTE_MS;
const CHECK_MS = HOUR_MS;

/** Schedules and checks for drift that failed, or that are late. */
export async function dueFindings(parts: DoctorParts): Promise<readonly Finding[]> {
  return [...(await scheduleFindings(parts)), ...(await driftFindings(parts))];
}

async function scheduleFindings({ records, nowMs }: DoctorParts): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { project, message } of await records.list(SERVER_KINDS.schedule)) {
    const { id, stackName: stack, paused, lastProblem } = message;
    if (paused) continue;
    const [nextMs, lastMs] = [Number(message.nextAtMs), Number(message.lastAtMs)];
    if (lastProblem !== "") {
      const where = { project, stack, sinceMs: lastMs };
      found.push(
        finding("schedule_failed", `the schedule ${id} made no run: ${lastProblem}`, where),
      );
    }
    if (nextMs !== 0 && nowMs - nextMs >= OVERDUE_MS) {
      const where = { project, stack, sinceMs: nextMs };
      found.push(finding("schedule_overdue", `the schedule ${id} is due and made no run`, where));
    }
  }
  return found;
}

async function driftFindings({ records, nowMs }: DoctorParts): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const { project, message } of await records.list(SERVER_KINDS.drift)) {
    const { stackName: stack, lastProblem, check, checkAtMs, nextAtMs } = message;
    if (lastProblem !== "") {
      found.push(finding("drift_failed", lastProblem, { project, stack }));
    }
    const [askedMs, dueMs] = [Number(checkAtMs), Number(nextAtMs)];
    if (check !== "" && nowMs - askedMs >= CHECK_MS) {
      const where = { project, stack, run: check, sinceMs: askedMs };
      found.push(finding("drift_overdue", "a check for drift has not ended", where));
    } else if (check === "" && dueMs !== 0 && nowMs - dueMs >= CHECK_MS) {
      const where = { project, stack, sinceMs: dueMs };
      found.push(finding("drift_overdue", "a check for drift is due and was not requested", where));
    }
  }
  return found;
}
