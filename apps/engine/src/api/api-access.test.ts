import { expect, it } from "vitest";
import { operationsOf } from "../testing/api-document.ts";
import { P, S, startApi } from "../testing/start-api.ts";

/** Who may call an operation: a role, and all above it. */
const LOWEST = {
  ListProjects: "reader",
  ShowProject: "reader",
  ListStacks: "reader",
  ShowStack: "reader",
  ShowLock: "reader",
  ShowFreeze: "reader",
  ShowProjectFreeze: "reader",
  ListVariables: "reader",
  ShowVariable: "reader",
  ListEffectiveVariables: "reader",
  ListVariableSets: "reader",
  ShowVariableSet: "reader",
  ListSchedules: "reader",
  ShowSchedule: "reader",
  ListTriggers: "reader",
  ShowTrigger: "reader",
  ListStateVersions: "reader",
  ShowStateVersion: "reader",
  WatchTopics: "reader",
  ShowCaller: "reader",
  SearchResources: "reader",
  ListUses: "reader",
  ShowState: "reader",
  ShowResource: "reader",
  ListRevisions: "reader",
  CompareRevisions: "reader",
  ListRuns: "reader",
  ShowRun: "reader",
  ShowPlan: "reader",
  ShowPlanView: "reader",
  RenderPlan: "reader",
  FollowRun: "reader",
  CreateConfiguration: "deployer",
  SetVariable: "deployer",
  DeleteVariable: "deployer",
  CreateRun: "deployer",
  RetryRun: "deployer",
  ApproveRun: "deployer",
  DiscardRun: "deployer",
  CancelRun: "deployer",
  CreateSchedule: "deployer",
  ChangeSchedule: "deployer",
  DeleteSchedule: "deployer",
  CreateTrigger: "deployer",
  ChangeTrigger: "deployer",
  DeleteTrigger: "deployer",
  DownloadStateVersion: "deployer",
  RestoreStateVersion: "deployer",
  LockStack: "deployer",
  UnlockStack: "deployer",
  CreateStack: "admin",
  CreateProject: "admin",
  FreezeStack: "admin",
  UnfreezeStack: "admin",
  FreezeProject: "admin",
  UnfreezeProject: "admin",
  OverrideFreeze: "admin",
  CreateVariableSet: "admin",
  ChangeVariableSet: "admin",
  DeleteVariableSet: "admin",
  SetSetVariable: "admin",
  DeleteSetVariable: "admin",
  ChangeProject: "admin",
  ListPullRequests: "reader",
  ShowPullRequest: "reader",
  ShowPullRequestComment: "reader",
  ListVcsConnections: "deployer",
  ShowVcsConnection: "deployer",
  ListVcsTasks: "deployer",
  SyncVcsConnection: "deployer",
  CreateVcsConnection: "admin",
  ChangeVcsConnection: "admin",
  DeleteVcsConnection: "admin",
  ShowLiveGraph: "admin",
  DeleteProject: "admin",
} as const;

/** What workers ask of a server: allowed to the role alone, or to the token of a claim, which no role has. */
const OF_WORKERS: Readonly<Record<string, "worker" | "claim">> = {
  ShowWorkerEndpoint: "worker",
  ClaimStep: "worker",
  FindOrphans: "worker",
  ShowClaim: "claim",
  StartClaim: "claim",
  BeginPlanning: "claim",
  BeginApply: "claim",
  AppendEvents: "claim",
  EndClaim: "claim",
};

/** Roles of the API, the lowest first; a worker has no part in it but for claims. */
const RANKS = ["worker", "reader", "deployer", "admin"] as const;

it("each operation is allowed to the roles of the table, and to no other", {
  timeout: 60_000,
}, async () => {
  const { server, call, upload, tokenOf } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload()).json;
  const made = await call("POST", `${S}/runs`, { body: { configuration: digest } });
  const values: Readonly<Record<string, string>> = {
    project: "web",
    stack: "one",
    run: String(made.json["id"]),
    category: "terraform",
    key: "word",
    set: "shared",
    version: "1",
    connection: "infra",
    pull_request: "1",
  };
  const operations = operationsOf((await call("GET", "/openapi.json")).json);
  expect(operations.map(({ name }) => name).toSorted()).toEqual(
    Object.keys({ ...LOWEST, ...OF_WORKERS }).toSorted(),
  );
  const tokens = await Promise.all(
    RANKS.map(async (role) => ({ role, token: await tokenOf(role, ["web"]) })),
  );
  const elsewhere = await tokenOf("admin", ["elsewhere"]);
  const statusOf = async (method: string, path: string, token?: string): Promise<number> => {
    const gone = new AbortController();
    const answer = await fetch(server.url + path, {
      method,
      signal: gone.signal,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    });
    gone.abort();
    return answer.status;
  };
  const found: string[] = [];
  const expected: string[] = [];
  for (const { name, method, path: template } of operations) {
    const path = template.replaceAll(/\{([a-z_]+)\}/g, (_, key: string) => values[key] ?? "");
    expect([name, await statusOf(method, path)]).toEqual([name, 401]);
    if (path.includes("/web")) {
      expect([name, await statusOf(method, path, elsewhere)]).toEqual([name, 404]);
    }
    for (const { role, token } of tokens) {
      const isAllowed =
        name in OF_WORKERS
          ? OF_WORKERS[name] === role
          : RANKS.indexOf(role) >= RANKS.indexOf(LOWEST[name as keyof typeof LOWEST]);
      // The requests have no body: those who are allowed learn what is missing, or get an answer.
      const status = await statusOf(method, path, token);
      found.push(`${name} ${role} ${status === 403 ? "denied" : "allowed"}`);
      expected.push(`${name} ${role} ${isAllowed ? "allowed" : "denied"}`);
      expect([name, role, status === 401 || status >= 500]).toEqual([name, role, false]);
    }
  }
  expect(found).toEqual(expected);
});
