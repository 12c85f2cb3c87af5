import { type NotificationEventName, TEST_EVENT } from "../domain/notification-events.ts";
import type { BodyFacts } from "./notification-body.ts";

const TEXTS: Readonly<Record<NotificationEventName, string>> = {
  "run.needs_approval": "has a plan that waits for approval",
  "run.applied": "was applied",
  "run.failed": "failed",
  "run.policy_failed": "has a plan that policies forbid",
  "run.stuck": "is stuck",
  "run.approval_expired": "was not approved, or not applied, in time",
  "drift.found": "differs from its recorded state",
  "stack.locked_long": "has been locked for long",
  "provider.changed": "is concerned by a change of a provider",
};

/** What an event says in one line. `linked` makes the link of what the line is about. */
export function notificationLine(
  { event, stackName, project }: Omit<BodyFacts, "origin">,
  linked: (text: string) => string,
  plain: (text: string) => string = (text) => text,
): string {
  if (event.event === TEST_EVENT) {
    return `A test from Stackwright for the project ${linked(project.project)}`;
  }
  const place = `${project.project}/${stackName === "" ? event.stack : stackName}`;
  const what = TEXTS[event.event as NotificationEventName] ?? event.event;
  const about =
    event.run === ""
      ? `The stack ${linked(place)} ${what}`
      : `Run ${linked(`#${event.runNumber}`)} of ${plain(place)} ${what}`;
  const code = event.reasonCode === "" ? "" : ` (${plain(event.reasonCode)})`;
  const others =
    event.ignored === 0
      ? ""
      : `, and ${event.ignored} that ${event.ignored === 1 ? "is" : "are"} ignored`;
  const count =
    event.drifted === 0
      ? ""
      : `: ${event.drifted} object${event.drifted === 1 ? "" : "s"}${others}`;
  const { provider, providerVersion, providerChange } = event;
  const change =
    provider === "" ? "" : `: ${plain(`${provider} ${providerVersion}`)} was ${providerChange}`;
  return `${about}${code}${count}${change}`;
}
