import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ENGINE_KINDS } from "@stackwright/core";
import { expect, it } from "vitest";
import { KINDS_OF_STACKS } from "../stack-deletion/stack-deletion.ts";
import { ACCOUNT_KINDS_NAMING_PROJECTS, KINDS_OF_PROJECTS } from "./kinds-of-projects.ts";
import { SERVER_KINDS } from "./server-kinds.ts";

const PROTO = join(import.meta.dirname, "../../../../packages/proto/proto/own/stackwright/v1");

it("every kind of a project goes with the project, or with a stack of it", () => {
  const covered = new Set([...KINDS_OF_STACKS, ...KINDS_OF_PROJECTS].map(({ kind }) => kind));
  const left = Object.values(SERVER_KINDS).filter(
    ({ scope, type }) => scope === "project" && !covered.has(type.kind),
  );
  // A ticket goes with the step of its run, and no project with a run is deleted. A variable is named by its stack in another way.
  expect(left.map(({ type }) => type.kind).toSorted()).toEqual(["RunTicket", "Variable"]);
  expect(KINDS_OF_PROJECTS.map(({ kind }) => kind).toSorted()).toEqual([
    "DriftHook",
    "Freeze",
    "NotificationDelivery",
    "NotificationEvent",
    "NotificationSettings",
    "PlanSet",
    "RfsTemplate",
    "RunHooks",
    "VariableSet",
    "VcsBranch",
    "VcsConnection",
    "VcsDelivery",
    "VcsPullRequest",
    "VcsTask",
  ]);
  // Of the engine all is of stacks, but for the lineages of what they adopted and the data keys of a project, which have its name for an id.
  expect(ENGINE_KINDS.toSorted()).toEqual([
    "Fence",
    "Heartbeat",
    "Run",
    "Stack",
    "StackHead",
    "StackKeys",
    "StackLineage",
    "StackOutputs",
    "StackPlan",
    "StackRevision",
    "StateObject",
  ]);
});

it("of every kind of an account that names projects it is said what becomes of the names", () => {
  const messages = readMessages();
  const naming = Object.values(SERVER_KINDS).filter(
    ({ scope, type, nameParts }) =>
      scope !== "project" &&
      (nameParts.includes("project") || namesProjects(type.kind, messages, new Set())),
  );
  expect(naming.map(({ type }) => type.kind).toSorted()).toEqual(
    Object.keys(ACCOUNT_KINDS_NAMING_PROJECTS).toSorted(),
  );
});

/** The bodies of the messages that are stored, by their names. */
function readMessages(): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const file of readdirSync(PROTO)) {
    const text = readFileSync(join(PROTO, file), "utf8");
    for (const [, name = "", body = ""] of text.matchAll(/^message (\w+) \{\n(.*?)^\}/gms)) {
      messages.set(name, body);
    }
  }
  return messages;
}

/** Whether a field of a message, or of one that it holds, is called after projects. */
function namesProjects(
  name: string,
  messages: ReadonlyMap<string, string>,
  seen: Set<string>,
): boolean {
  const body = messages.get(name);
  if (body === undefined || seen.has(name)) return false;
  seen.add(name);
  return [...body.matchAll(/^\s*(?:repeated |optional )?(\w+) (\w+) = \d+;/gm)].some(
    ([, type = "", field = ""]) => field.includes("project") || namesProjects(type, messages, seen),
  );
}
