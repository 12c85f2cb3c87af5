import { expect, it } from "vitest";
import { operationsOf } from "../testing/api-document.ts";
import { filledPath } from "../testing/filled-path.ts";
import { P, S, startApi } from "../testing/start-api.ts";

/** Who may call an operation: a role, and all above it; everybody who is authenticated; or an admin who is limited to no project. */
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
  ListAccountVariableSets: "reader",
  ShowAccountVariableSet: "reader",
  CreateAccountVariableSet: "account-admin",
  ChangeAccountVariableSet: "account-admin",
  DeleteAccountVariableSet: "account-admin",
  SetAccountSetVariable: "account-admin",
  DeleteAccountSetVariable: "account-admin",
  ShowVariableSet: "reader",
  ListSchedules: "reader",
  ShowSchedule: "reader",
  ListTriggers: "reader",
  ShowTrigger: "reader",
  ListDrift: "reader",
  ShowDrift: "reader",
  CheckDrift: "planner",
  SetDriftRule: "deployer",
  DeleteDriftRule: "deployer",
  ShowProviderReaction: "reader",
  SetProviderReaction: "deployer",
  IgnoreDrift: "deployer",
  IgnoreDriftOfSeveral: "deployer",
  HeedDrift: "deployer",
  ListSchemaChanges: "reader",
  ListModules: "reader",
  ShowModule: "reader",
  ShowModuleVersion: "reader",
  PublishModule: "publisher",
  WithdrawModule: "publisher",
  ListProviderSchemas: "reader",
  CompareProviderSchemas: "reader",
  RemoveProviderSchema: "account-admin",
  ListCachedPackages: "reader",
  EvictPackages: "account-admin",
  ListQuarantined: "reader",
  QuarantineVersion: "account-admin",
  ReleaseVersion: "account-admin",
  ListStateVersions: "reader",
  ShowStateVersion: "reader",
  WatchTopics: "reader",
  ShowCaller: "self",
  ExportAudit: "account-admin",
  ListAuditWebhooks: "account-admin",
  ListAuditDeliveries: "account-admin",
  CreateAuditWebhook: "account-admin",
  ShowAuditWebhook: "account-admin",
  ChangeAuditWebhook: "account-admin",
  DeleteAuditWebhook: "account-admin",
  TestAuditWebhook: "account-admin",
  ListSessions: "self",
  EndSession: "self",
  ListTokens: "self",
  CreateToken: "self",
  RevokeToken: "self",
  ListAccounts: "site-admin",
  CreateAccount: "site-admin",
  ShowAccount: "account-admin",
  ChangeAccount: "account-admin",
  DeleteAccount: "site-admin",
  CreateAccountToken: "site-admin",
  ListUsers: "account-admin",
  CreateUser: "account-admin",
  ListUserIdentities: "account-admin",
  LinkUserIdentity: "account-admin",
  UnlinkUserIdentity: "account-admin",
  ShowUser: "account-admin",
  ShowUserRights: "account-admin",
  ChangeUser: "account-admin",
  ListTeams: "account-admin",
  CreateTeam: "account-admin",
  ShowTeam: "account-admin",
  ChangeTeam: "account-admin",
  DeleteTeam: "account-admin",
  AddTeamMember: "account-admin",
  RemoveTeamMember: "account-admin",
  ListRoles: "account-admin",
  GiveRole: "account-admin",
  TakeRole: "account-admin",
  ListProjectRoles: "admin",
  GiveProjectRole: "admin",
  TakeProjectRole: "admin",
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
  ListPlanDependents: "reader",
  ShowPlanComparison: "reader",
  ListPlanComparisons: "reader",
  ShowStackTool: "reader",
  ListStackTools: "reader",
  ShowIdentityIssuer: "reader",
  ShowStackIdentity: "reader",
  RenderPlan: "reader",
  FollowRun: "reader",
  CreateConfiguration: "planner",
  SetVariable: "deployer",
  DeleteVariable: "deployer",
  CreateRun: "planner",
  RetryRun: "deployer",
  ApproveRun: "deployer",
  DiscardRun: "deployer",
  CancelRun: "deployer",
  ListPlanSets: "reader",
  ShowPlanSet: "reader",
  RenderPlanSet: "reader",
  CreatePlanSet: "planner",
  ApprovePlanSet: "deployer",
  DiscardPlanSet: "deployer",
  CancelPlanSet: "deployer",
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
  DeleteStack: "admin",
  SetStackTool: "admin",
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
  ShowProjectHooks: "deployer",
  ShowStackHooks: "deployer",
  SetProjectHooks: "admin",
  SetStackHooks: "admin",
  ListNotificationDestinations: "deployer",
  ShowNotificationDestination: "deployer",
  ListNotificationDeliveries: "deployer",
  CreateNotificationDestination: "admin",
  ChangeNotificationDestination: "admin",
  DeleteNotificationDestination: "admin",
  TestNotificationDestination: "admin",
  RedeliverNotification: "admin",
  ListDriftHooks: "deployer",
  CreateDriftHook: "admin",
  DeleteDriftHook: "admin",
  ListVcsConnections: "deployer",
  ShowVcsConnection: "deployer",
  ListVcsTasks: "deployer",
  SyncVcsConnection: "deployer",
  CreateVcsConnection: "admin",
  ChangeVcsConnection: "admin",
  DeleteVcsConnection: "admin",
  ShowLiveGraph: "account-admin",
  ShowLiveObject: "account-admin",
  Examine: "account-admin",
  DeleteProject: "admin",
  ListPolicySets: "reader",
  ShowPolicySet: "reader",
  ShowPolicyResults: "reader",
  OverridePolicies: "deployer",
  TestPolicies: "deployer",
  ReplayPolicies: "deployer",
  CreatePolicySet: "account-admin",
  ChangePolicySet: "account-admin",
  DeletePolicySet: "account-admin",
  UploadPolicies: "account-admin",
} as const;

/** What workers ask of a server: allowed to the role alone, or to the token of a claim, which no role has. */
const OF_WORKERS: Readonly<Record<string, "worker" | "claim">> = {
  ShowWorkerEndpoint: "worker",
  ClaimStep: "worker",
  FindOrphans: "worker",
  ShowClaim: "claim",
  StartClaim: "claim",
  IssueRunIdentity: "claim",
  BeginPlanning: "claim",
  BeginApply: "claim",
  ReadOtherStack: "claim",
  ReadRegistry: "claim",
  RecordState: "claim",
  HandInSchema: "claim",
  AppendEvents: "claim",
  EndClaim: "claim",
};

/** Roles of the API, the lowest first; a worker has no part in it but for claims. */
const RANKS = ["worker", "reader", "planner", "deployer", "publisher", "admin"] as const;
type Rank = (typeof RANKS)[number];

/** Where somebody has which role. */
interface Holder {
  readonly account?: Rank;
  readonly web?: Rank;
  readonly elsewhere?: Rank;
  /** A credential whose role is for the project `web` alone. */
  readonly isLimited?: boolean;
  /** A credential for all accounts of the server. */
  readonly isOfSite?: boolean;
}

interface Caller extends Holder {
  readonly name: string;
  readonly token: string;
}

/** The expected answer of a cell of the matrix. */
function mayCall(
  { account, web, isLimited, isOfSite }: Holder,
  name: string,
  isInProject: boolean,
): boolean {
  if (name in OF_WORKERS) return OF_WORKERS[name] === account;
  const needed = LOWEST[name as keyof typeof LOWEST];
  if (needed === "self") return true;
  if (needed === "site-admin") return isOfSite === true && isLimited !== true;
  if (needed === "account-admin") return account === "admin" && isLimited !== true;
  const there = Math.max(rankOf(account), isInProject ? rankOf(web) : -1);
  // For what belongs to no project, those who have roles in projects alone have the lowest of these, and are no admins.
  const beside = account === undefined ? Math.min(rankOf(web), rankOf("deployer")) : -1;
  return Math.max(there, isInProject ? -1 : beside) >= rankOf(needed);
}

function rankOf(rank: Rank | undefined): number {
  return rank === undefined ? -1 : RANKS.indexOf(rank);
}

it("each operation is allowed to the roles of the table, and to no other", {
  timeout: 240_000,
}, async () => {
  const { server, call, upload, tokenOf } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload()).json;
  const made = await call("POST", `${S}/runs`, { body: { configuration: digest } });
  const run = String(made.json["id"]);
  const operations = operationsOf((await call("GET", "/openapi.json")).json);
  expect(operations.map(({ name }) => name).toSorted()).toEqual(
    Object.keys({ ...LOWEST, ...OF_WORKERS }).toSorted(),
  );
  const withRoles = async (name: string, given: Holder, ceiling = "admin"): Promise<Caller> => {
    await call("POST", "/api/v1/users", { body: { name, service: true } });
    for (const [path, role] of [
      ["/api/v1", given.account],
      [P, given.web],
      ["/api/v1/projects/elsewhere", given.elsewhere],
    ] as const) {
      if (role === undefined) continue;
      const body = { role: role === "deployer" ? "operator" : role === "reader" ? "viewer" : role };
      await call("PUT", `${path}/roles/user/${name}`, { body });
    }
    const made = await call("POST", "/api/v1/tokens", { body: { user: name, role: ceiling } });
    return { name, token: String(made.json["token"]), ...given };
  };
  const callers: readonly Caller[] = [
    ...(await Promise.all(
      RANKS.map(async (role) => ({
        name: role,
        token: await tokenOf(role, ["web"]),
        account: role,
        isLimited: true,
      })),
    )),
    { name: "account-admin", token: await tokenOf("admin"), account: "admin" },
    { name: "site-admin", token: await tokenOf("operator"), account: "admin", isOfSite: true },
    {
      name: "limited-site-admin",
      token: await tokenOf("operator", ["web"]),
      account: "admin",
      isOfSite: true,
      isLimited: true,
    },
    await withRoles("user-of-nothing", {}),
    ...(await Promise.all(
      (["reader", "planner", "deployer", "admin"] as const).map(async (web) =>
        withRoles(`${web}-of-web`, { web }),
      ),
    )),
    await withRoles("deployer-among-viewers", { account: "reader", web: "deployer" }),
    await withRoles("admin-of-account", { account: "admin" }),
    {
      ...(await withRoles("admin-that-plans", { account: "admin" }, "planner")),
      account: "planner",
    },
  ];
  const strangers = [
    await tokenOf("admin", ["elsewhere"]),
    (await withRoles("admin-of-elsewhere", { elsewhere: "admin" })).token,
  ];
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
    const path = filledPath(template, { run });
    expect([name, await statusOf(method, path)]).toEqual([name, 401]);
    const isOfProject = /\/web(?:\/|$)/.test(path);
    if (isOfProject) {
      for (const stranger of strangers) {
        expect([name, await statusOf(method, path, stranger)]).toEqual([name, 404]);
      }
    }
    for (const caller of callers) {
      // The requests have no body: those who are allowed learn what is missing, or get an answer.
      const status = await statusOf(method, path, caller.token);
      found.push(`${name} ${caller.name} ${status === 403 ? "denied" : "allowed"}`);
      const isAllowed = mayCall(caller, name, isOfProject);
      expected.push(`${name} ${caller.name} ${isAllowed ? "allowed" : "denied"}`);
      expect([name, caller.name, status === 401 || status >= 500]).toEqual([
        name,
        caller.name,
        false,
      ]);
    }
  }
  expect(found).toEqual(expected);
});
