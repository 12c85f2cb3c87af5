import {
  type NotificationDestination,
  NotificationDestination_Kind,
  type NotificationEvent,
} from "@stackwright/proto/stackwright";
import { type NotificationEventName, TEST_EVENT } from "../domain/notification-events.ts";
import type { ProjectReference } from "../domain/notification-places.ts";

interface BodyFacts {
  readonly project: ProjectReference;
  readonly event: NotificationEvent;
  /** Empty for a test, and for a stack that was deleted. */
  readonly stackName: string;
  /** Of the server, as users see it. */
  readonly origin: string;
}

/**
 * What a destination is sent: who, where and what, and a link to the rest. No value, no text of a provider and no words of a user are in
 * it, as receivers may show it to anybody.
 */
export function notificationBody(
  { kind }: Pick<NotificationDestination, "kind">,
  facts: BodyFacts,
): string {
  return JSON.stringify(
    kind === NotificationDestination_Kind.KIND_SLACK ? chatMessage(facts) : message(facts),
  );
}

function message({ project: { account, project }, event, stackName, origin }: BodyFacts) {
  const { id, run, runNumber, phase, reasonCode, mode, planOnly, actor, drifted, stack } = event;
  return {
    id,
    event: event.event,
    at: new Date(Number(event.atMs)).toISOString(),
    account,
    project,
    ...(stack !== "" && { stack: { id: stack, ...(stackName !== "" && { name: stackName }) } }),
    ...(run !== "" && {
      run: {
        id: run,
        number: Number(runNumber),
        phase,
        ...(mode !== "" && { mode }),
        plan_only: planOnly,
        ...(reasonCode !== "" && { reason_code: reasonCode }),
      },
    }),
    ...(actor !== "" && { actor }),
    ...(drifted > 0 && { drifted }),
    url: linkOf({ project: { account, project }, event, stackName, origin }),
  };
}

const TEXTS: Readonly<Record<NotificationEventName, string>> = {
  "run.needs_approval": "has a plan that waits for approval",
  "run.applied": "was applied",
  "run.failed": "failed",
  "run.policy_failed": "has a plan that policies forbid",
  "drift.found": "differs from its recorded state",
  "stack.locked_long": "has been locked for long",
};

/** The form that Slack takes, and Mattermost and others with it. */
function chatMessage(facts: BodyFacts) {
  const { event, stackName, project } = facts;
  const link = escaped(linkOf(facts));
  if (event.event === TEST_EVENT) {
    return {
      text: `A test from Stackwright for the project <${link}|${escaped(project.project)}>`,
    };
  }
  const place = `${project.project}/${stackName === "" ? event.stack : stackName}`;
  const what = TEXTS[event.event as NotificationEventName] ?? event.event;
  const about =
    event.run === ""
      ? `The stack <${link}|${escaped(place)}> ${what}`
      : `Run <${link}|#${event.runNumber}> of ${escaped(place)} ${what}`;
  const code = event.reasonCode === "" ? "" : ` (${escaped(event.reasonCode)})`;
  const count = event.drifted === 0 ? "" : `: ${event.drifted} objects`;
  return { text: `${about}${code}${count}` };
}

/** Characters with a meaning in such texts. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function linkOf({ project: { project }, event, stackName, origin }: BodyFacts): string {
  const parts = [
    "p",
    project,
    ...(stackName === "" ? [] : ["s", stackName]),
    ...(stackName === "" || event.run === "" ? [] : ["r", event.run]),
  ];
  return `${origin}/console/${parts.map(encodeURIComponent).join("/")}`;
}
