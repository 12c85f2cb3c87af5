import {
  type NotificationDestination,
  NotificationDestination_Kind,
  type NotificationEvent,
} from "@stackwright/proto/stackwright";
import type { ProjectReference } from "../domain/notification-places.ts";
import { notificationLine } from "./notification-text.ts";

/** What is said of an event. */
export interface BodyFacts {
  readonly project: ProjectReference;
  readonly event: NotificationEvent;
  /** Empty for a test, and for a stack that was deleted. */
  readonly stackName: string;
  /** Of the server, as users see it. */
  readonly origin: string;
}

/**
 * What a webhook or a chat is sent: who, where and what, and a link to the rest. No value, no text of a provider and no words of a user
 * are in it, as receivers may show it to anybody.
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
  const { id, run, runNumber, phase, reasonCode, mode, planOnly, actor, drifted, ignored, stack } =
    event;
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
    ...(ignored > 0 && { ignored }),
    ...(event.provider !== "" && {
      provider: {
        source: event.provider,
        version: event.providerVersion,
        change: event.providerChange,
      },
    }),
    url: linkOf({ project: { account, project }, event, stackName, origin }),
  };
}

/** The form that Slack takes, and Mattermost and others with it. */
function chatMessage(facts: BodyFacts) {
  const link = escaped(linkOf(facts));
  return { text: notificationLine(facts, (text) => `<${link}|${escaped(text)}>`, escaped) };
}

/** Characters with a meaning in such texts. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Where the console shows what an event is about. */
export function linkOf({ project: { project }, event, stackName, origin }: BodyFacts): string {
  const parts = [
    "p",
    project,
    ...(stackName === "" ? [] : ["s", stackName]),
    ...(stackName === "" || event.run === "" ? [] : ["r", event.run]),
  ];
  return `${origin}/console/${parts.map(encodeURIComponent).join("/")}`;
}
