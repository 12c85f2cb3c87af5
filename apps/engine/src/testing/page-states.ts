import type { StackStatus } from "@stackwright/client";

/** A way to a page on which it shows a state. */
export interface StateCase {
  /** Address below `/console`; `RUN` stands for a run of `default/one` that waits for approval. */
  readonly at: string;
  /** What the page says. */
  readonly text: string;
  /** Answers in place of those of the server, by path. */
  readonly answers?: Readonly<Record<string, object>>;
  /** The stacks of the stream in place of those of the server. */
  readonly stacks?: readonly StackStatus[];
}

/** How a page is brought to each state in which it has nothing, or not yet, to show. */
export interface PageStates extends Pick<StateCase, "at" | "answers"> {
  /** The paths of the requests that the page is made of: each entry is held, refused or failed by itself. */
  readonly reads: readonly RegExp[];
  /** With nothing to show; a text says why that cannot be. */
  readonly empty: StateCase | string;
  /** With filters that hide all there is; none where the page has no filter. */
  readonly noMatch: readonly StateCase[];
  /** Those who may not see the page find nothing at its address. */
  readonly isHidden?: boolean;
}

const WATCH = /^\/api\/v1\/watch$/;
const PROJECT = "/p/bare";
const STACK = "/p/default/s/bare";
const OF_STACK = "/api/v1/projects/default/stacks/bare";
const USED = "/p/default/s/one";
const SET = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const NOTES = "/v1/private-providers/notes";
const MODULE = "/api/v1/registry/modules/acme/network/lab";

const ofStack = (...names: readonly string[]): RegExp =>
  new RegExp(`^${OF_STACK}/(${names.join("|")})$`);

const drifted: StackStatus = {
  id: "01ARZ3NDEKTSV4RRFFQ69G5FAW",
  project: "default",
  name: "one",
  waiting: 0,
  outdated: [],
  reads: [],
  drift: { changed: 1, deleted: 0, checked_at: "2026-01-01T00:00:00Z" },
};

const provider = {
  provider_id: "p-1",
  provider_name: "notes",
  provider_description: "",
  provider_source: "example.com/acme/notes",
  update_time: "2026-01-01T00:00:00Z",
};

const planSet = {
  id: SET,
  phase: "discarded",
  mode: "apply",
  actor: "token/one",
  message: "",
  stacks: [],
  required_approvals: 1,
  exclude_author: false,
  approvers: [],
  approvals: [],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};

const ofProvider = {
  [`${NOTES}/metadata`]: provider,
  [`${NOTES}/versions`]: { versions: [] },
  "/api/v1/registry/private-providers/notes/uses": { uses: [] },
};

const ofModule = {
  [MODULE]: { namespace: "acme", name: "network", system: "lab", versions: [] },
};

const ofSet = {
  "/api/v1/variable-sets/shared": {
    name: "shared",
    description: "",
    projects: [],
    stacks: [],
    priority: false,
    variables: [],
  },
};

/** The pages of the console by their routes. */
export const PAGE_STATES: Readonly<Record<string, PageStates>> = {
  "/": {
    at: "/",
    reads: [WATCH],
    empty: { at: "/", text: "There are no stacks yet", stacks: [] },
    noMatch: [
      { at: "/?q=zzz", text: "No stack matches the filter" },
      { at: "/?state=drift", text: "No stack matches the filter" },
    ],
  },
  "/projects": {
    at: "/projects",
    reads: [/^\/api\/v1\/projects$/],
    empty: {
      at: "/projects",
      text: "There are no projects yet",
      answers: { "/api/v1/projects": { projects: [] } },
    },
    noMatch: [],
  },
  "/p/$project": {
    at: PROJECT,
    reads: [/^\/api\/v1\/projects\/bare$/, WATCH, /\/variable-sets$/],
    empty: { at: PROJECT, text: "This project has no stacks" },
    noMatch: [],
  },
  "/p/$project/plan-sets": {
    at: `${PROJECT}/plan-sets`,
    reads: [/\/plan-sets$/],
    empty: { at: `${PROJECT}/plan-sets`, text: "No stacks were planned together yet" },
    noMatch: [],
  },
  "/p/$project/plan-sets/$set": {
    at: `${PROJECT}/plan-sets/${SET}`,
    answers: { [`/api/v1/projects/bare/plan-sets/${SET}`]: planSet },
    reads: [/\/plan-sets\/[^/]+$/],
    empty: "a set has the stacks that it was made of",
    noMatch: [],
  },
  "/p/$project/notifications": {
    at: `${PROJECT}/notifications`,
    reads: [/\/notifications$/],
    empty: { at: `${PROJECT}/notifications`, text: "Nothing is sent anywhere" },
    noMatch: [],
  },
  "/p/$project/hooks": {
    at: `${PROJECT}/hooks`,
    reads: [/\/projects\/bare\/hooks$/, /\/drift-hooks$/],
    empty: { at: `${PROJECT}/hooks`, text: "There are no hooks" },
    noMatch: [],
  },
  "/p/$project/s/$stack": {
    at: STACK,
    reads: [new RegExp(`^${OF_STACK}$`), ofStack("state", "runs")],
    empty: { at: STACK, text: "No runs yet" },
    noMatch: [],
  },
  "/p/$project/s/$stack/resources": {
    at: `${STACK}/resources`,
    reads: [ofStack("state")],
    empty: { at: `${STACK}/resources`, text: "This stack has no resources" },
    noMatch: [{ at: `${USED}/resources?q=zzz`, text: "No resource matches the filter" }],
  },
  "/p/$project/s/$stack/graph": {
    at: `${STACK}/graph`,
    reads: [ofStack("state")],
    empty: { at: `${STACK}/graph`, text: "This stack has no resources" },
    noMatch: [],
  },
  "/p/$project/s/$stack/outputs": {
    at: `${STACK}/outputs`,
    reads: [ofStack("state"), WATCH],
    empty: { at: `${STACK}/outputs`, text: "This stack has no outputs" },
    noMatch: [],
  },
  "/p/$project/s/$stack/variables": {
    at: `${STACK}/variables`,
    reads: [ofStack("effective-variables")],
    empty: { at: `${STACK}/variables`, text: "This stack has no variables on the server" },
    noMatch: [],
  },
  "/p/$project/s/$stack/runs": {
    at: `${STACK}/runs`,
    reads: [ofStack("runs")],
    empty: { at: `${STACK}/runs`, text: "No runs yet" },
    noMatch: [],
  },
  "/p/$project/s/$stack/history": {
    at: `${STACK}/history`,
    reads: [ofStack("revisions")],
    empty: { at: `${STACK}/history`, text: "There is no history yet" },
    noMatch: [],
  },
  "/p/$project/s/$stack/drift": {
    at: `${STACK}/drift`,
    reads: [ofStack("drift")],
    empty: { at: `${STACK}/drift`, text: "This stack was not checked yet" },
    noMatch: [],
  },
  "/p/$project/s/$stack/tool": {
    at: `${STACK}/tool`,
    reads: [ofStack("tool"), ofStack("comparisons")],
    empty: { at: `${STACK}/tool`, text: "No plan was compared yet" },
    noMatch: [],
  },
  "/p/$project/s/$stack/settings": {
    at: `${STACK}/settings`,
    reads: [ofStack("tool", "schedules", "triggers", "state", "hooks")],
    empty: { at: `${STACK}/settings`, text: "There are no hooks" },
    noMatch: [],
  },
  "/p/$project/s/$stack/r/$run": {
    at: `${USED}/r/RUN?tab=plan`,
    reads: [/\/runs\/[0-9A-Z]{26}$/, /\/plan\/view$/],
    empty: { at: `${USED}/r/RUN?tab=apply`, text: "Nothing was applied" },
    noMatch: [
      { at: `${USED}/r/RUN?tab=plan&q=zzz`, text: "No change matches the filter" },
      { at: `${USED}/r/RUN?tab=log&q=zzz`, text: "No line matches the filter" },
    ],
  },
  "/frozen": {
    at: "/frozen",
    reads: [WATCH],
    empty: { at: "/frozen", text: "Nothing is frozen" },
    noMatch: [],
  },
  "/drift": {
    at: "/drift",
    reads: [WATCH],
    empty: { at: "/drift", text: "No stack was checked yet" },
    noMatch: [{ at: "/drift?q=zzz", text: "No stack matches the filter", stacks: [drifted] }],
  },
  "/graph": {
    at: "/graph",
    reads: [WATCH],
    empty: { at: "/graph", text: "There are no stacks yet", stacks: [] },
    noMatch: [],
  },
  "/registry": {
    at: "/registry",
    reads: [/^\/v1\/private-providers$/, /\/provider-schemas$/, /\/registry\/modules$/],
    empty: { at: "/registry", text: "There are no private providers yet" },
    noMatch: [
      {
        at: "/registry?q=zzz",
        text: "No provider matches the filter",
        answers: { "/v1/private-providers": { providers: [provider] } },
      },
    ],
  },
  "/registry/$provider": {
    at: "/registry/notes",
    answers: ofProvider,
    reads: [/\/notes\/metadata$/, /\/notes\/(versions|uses)$/],
    empty: {
      at: "/registry/notes",
      text: "This provider has no version yet",
      answers: ofProvider,
    },
    noMatch: [],
  },
  "/registry/upstream/$host/$namespace/$name": {
    at: "/registry/upstream/example.com/acme/cloud",
    reads: [/\/provider-schemas$/],
    empty: {
      at: "/registry/upstream/example.com/acme/cloud",
      text: "The server has no schema of this provider",
    },
    noMatch: [],
  },
  "/registry/modules/$namespace/$name/$system": {
    at: "/registry/modules/acme/network/lab",
    answers: ofModule,
    reads: [new RegExp(`^${MODULE}$`), /\/where-used$/],
    empty: {
      at: "/registry/modules/acme/network/lab",
      text: "This module has no version",
      answers: ofModule,
    },
    noMatch: [],
  },
  "/policies": {
    at: "/policies",
    reads: [/\/policy-sets$/],
    empty: {
      at: "/policies",
      text: "There are no policy sets",
      answers: { "/api/v1/policy-sets": { sets: [] } },
    },
    noMatch: [],
  },
  "/policies/$policySet": {
    at: "/policies/security",
    reads: [/\/policy-sets\/security$/],
    empty: { at: "/policies/security", text: "This set has no version yet" },
    noMatch: [],
  },
  "/tools": {
    at: "/tools",
    reads: [/^\/api\/v1\/projects$/, /\/tools$/],
    empty: { at: "/tools", text: "This project has no stacks" },
    noMatch: [{ at: "/tools?only=adopt", text: "No stack of this project matches the filter" }],
  },
  "/identity": {
    at: "/identity?stack=default/one",
    reads: [/^\/api\/v1\/identity$/, /\/one\/identity$/],
    empty: { at: "/identity", text: "There are no stacks yet", stacks: [] },
    noMatch: [],
  },
  "/audit/webhooks": {
    at: "/audit/webhooks",
    reads: [/\/audit\/webhooks$/],
    empty: { at: "/audit/webhooks", text: "The trail is sent nowhere" },
    noMatch: [],
    isHidden: true,
  },
  "/debug/krt": {
    at: "/debug/krt",
    reads: [/\/debug\/krt$/],
    empty: "a server has the collections by which it shows this page",
    noMatch: [],
    isHidden: true,
  },
  "/audit": {
    at: "/audit",
    reads: [/\/registry\/audit$/],
    empty: {
      at: "/audit?day=2026-01-01",
      text: "Nothing was changed on 2026-01-01",
      answers: { "/api/v1/registry/audit": { entries: [] } },
    },
    noMatch: [{ at: "/audit?q=zzz", text: "No entry matches the filter" }],
  },
  "/access": {
    at: "/access",
    reads: [/^\/api\/v1\/(users|teams|roles|sessions)$/],
    empty: { at: "/access", text: "There are no teams" },
    noMatch: [],
  },
  "/settings/accounts": {
    at: "/settings/accounts",
    reads: [/^\/api\/v1\/accounts$/],
    empty: "a server has the account of those who administer it at least",
    noMatch: [{ at: "/settings/accounts?q=zzz", text: "No account has “zzz” in its name" }],
    isHidden: true,
  },
  "/settings/accounts/$account": {
    at: "/settings/accounts/default",
    reads: [/^\/api\/v1\/accounts\/default$/],
    empty: "an account has a name at least",
    noMatch: [],
    isHidden: true,
  },
  "/settings/variable-sets": {
    at: "/settings/variable-sets",
    reads: [/^\/api\/v1\/variable-sets$/],
    empty: { at: "/settings/variable-sets", text: "The account has no variable sets" },
    noMatch: [],
  },
  "/settings/variable-sets/$accountSet": {
    at: "/settings/variable-sets/shared",
    answers: ofSet,
    reads: [/^\/api\/v1\/variable-sets\/shared$/],
    empty: {
      at: "/settings/variable-sets/shared",
      text: "This set has no variables",
      answers: ofSet,
    },
    noMatch: [],
  },
  "/settings": {
    at: "/settings",
    reads: [/\/registry\/credentials$/],
    empty: {
      at: "/settings",
      text: "There are no tokens and access keys",
      answers: { "/api/v1/registry/credentials": { credentials: [] } },
    },
    noMatch: [],
  },
};

/** The stream of stacks with one snapshot. */
export function streamOf(stacks: readonly StackStatus[]): string {
  const events = [
    ["snapshot-begin", { topic: "stacks" }],
    ["snapshot", { topic: "stacks", items: stacks }],
    ["snapshot-end", { topic: "stacks" }],
  ] as const;
  return events
    .map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    .join("");
}
