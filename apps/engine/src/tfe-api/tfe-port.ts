import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import type { NamedStack } from "@stackwright/core";
import { type StackLock, Workspace_ExecutionMode } from "@stackwright/proto/stackwright";
import { type Authenticator, hasRole, type Principal, principalIn } from "@stackwright/registry";
import { listResourceHeads, readStored } from "@stackwright/storage";
import type {
  ExecutionMode,
  TfeCaller,
  TfePort,
  TfeWorkspace,
  WorkspaceLock,
} from "@stackwright/tfe";
import type { FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { auditedParts } from "../access/change-entry.ts";
import { forgetRights, type KeptRights } from "../access/forget-rights.ts";
import { type AuditCaller, type AuditTrail, auditCaller } from "../access/registry-audit.ts";
import type { AccountPlaces } from "../api/account-places.ts";
import { requireApiRole } from "../api/api-roles.ts";
import { authenticateToken } from "../api/authorize.ts";
import { serverErrorOf } from "../api/problem.ts";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_ERRORS, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isOver } from "../queue/stack-lock.ts";
import { COMMANDS_TOOL, ENGINE_TOOL, findStackTool } from "../queue/stack-tool.ts";
import { isHandedBack } from "../queue/state-owner.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { removeWorkspace } from "../stack-deletion/remove-workspace.ts";
import type { ServedParts } from "../terraform-state/served-state.ts";
import { breakLock, LockHeldError } from "../terraform-state/state-lock.ts";
import {
  mergeTags,
  type StoredWorkspace,
  WorkspaceDirectory,
} from "../workspace/workspace-directory.ts";
import { type AuditedChange, targetAt, targetOf } from "./audited-change.ts";
import { RateTurns } from "./rate-turns.ts";
import { REFUSED_ACTIONS } from "./refused-actions.ts";
import { switchExecution } from "./switch-execution.ts";
import { variableSetsPort } from "./variable-sets-port.ts";
import { lockWorkspace, unlockWorkspace } from "./workspace-lock.ts";
import { workspaceRuns } from "./workspace-runs.ts";
import { workspaceStates } from "./workspace-states.ts";
import { workspaceVariables } from "./workspace-variables.ts";

interface TfePortParts extends TransactionParts, ServedParts, KeptRights {
  readonly authenticator: Authenticator;
  readonly audit: AuditTrail;
  readonly addressKey: () => Promise<Uint8Array>;
  readonly logger: Logger;
  /** Requests per credential. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Places for states that commands upload. */
  readonly stateUploads: AccountPlaces;
}

const RATE_LIMIT: RateLimit = Object.freeze({ perSecond: 200, burst: 2_000 });

const limitedBy = ({ account, actor }: Pick<TfeCaller, "account" | "actor">): string =>
  `${account}\0${actor}`;

function admitted(retryAfterMs: number): void {
  if (retryAfterMs === 0) return;
  throw new ServerError("rate_limited", "the credential makes too many requests", { retryAfterMs });
}

/** This server for the API of `@stackwright/tfe`: its stacks are the workspaces, the account of the caller is the organization. */
export function createTfePort(parts: TfePortParts): TfePort {
  const { storage, clock, authenticator, logger } = parts;
  const directory = new WorkspaceDirectory(parts);
  const limiter = new KeyedRateLimiter(parts.rateLimit ?? RATE_LIMIT, () => clock.monotonicMs());
  const turns = new RateTurns(limiter, clock);

  const principals = new WeakMap<FastifyRequest, Principal>();
  const requests = new WeakMap<TfeCaller, AuditCaller>();
  /** What the server works with for one change, whose entry is written with it. */
  const audited: AuditedChange = (caller, action, target) => {
    const { account, actor } = caller;
    const unknown = { account, actor, requestId: "", remoteAddress: "" };
    return auditedParts(parts, requests.get(caller) ?? unknown, { action, target });
  };

  const visible = (caller: TfeCaller, found: StoredWorkspace | undefined) =>
    found !== undefined && seesProject(caller, found.record.project) ? found : undefined;
  const require = async (caller: TfeCaller, id: string): Promise<StoredWorkspace> => {
    const found = visible(caller, await directory.get(caller.account, id));
    if (found === undefined) throw new ServerError("not_found");
    return found;
  };
  const stackOf = async (caller: TfeCaller, id: string): Promise<NamedStack> =>
    (await require(caller, id)).stack;
  const lockOf = async ({ stack }: StoredWorkspace): Promise<StackLock | undefined> => {
    const id = idOf(SERVER_KINDS.lock, stackPlace(stack.reference));
    const found = await readStored(storage, "strong", id);
    const lock = found && decodeRecord(SERVER_KINDS.lock, found);
    return lock === undefined || isOver(lock, clock.wallMs()) ? undefined : lock;
  };
  const currentRunOf = async ({ stack }: StoredWorkspace): Promise<string | undefined> => {
    const id = idOf(SERVER_KINDS.queue, stackPlace(stack.reference));
    const found = await readStored(storage, "strong", id);
    const { current = "" } = found === undefined ? {} : decodeRecord(SERVER_KINDS.queue, found);
    return current === "" ? undefined : current;
  };
  const executionOf = async ({ stack, record }: StoredWorkspace): Promise<ExecutionMode> => {
    const id = idOf(STACK_HEAD_KIND, stackPlace(stack.reference));
    const [head, { tool }] = await Promise.all([
      readStored(storage, "strong", id),
      findStackTool(storage, stack.reference),
    ]);
    if (tool === COMMANDS_TOOL) return "local";
    // A stack of which the engine has the state cannot be planned by a command: it could not store what it changed.
    return head === undefined ? recordedMode(record) : "remote";
  };
  const isOfEngine = async ({ stack }: StoredWorkspace): Promise<boolean> => {
    const id = idOf(STACK_HEAD_KIND, stackPlace(stack.reference));
    const { tool } = await findStackTool(storage, stack.reference);
    if (tool !== ENGINE_TOOL || isHandedBack(stack)) return false;
    return (await readStored(storage, "strong", id)) !== undefined;
  };
  const full = async (
    { account, projects }: TfeCaller,
    workspace: StoredWorkspace,
  ): Promise<TfeWorkspace> => {
    const [name, lock, mode, currentRun, { tool }] = await Promise.all([
      directory.shownName(account, workspace, projects),
      lockOf(workspace),
      executionOf(workspace),
      currentRunOf(workspace),
      findStackTool(storage, workspace.stack.reference),
    ]);
    // Another tool writes what it says as text.
    const structuredOutput = tool === ENGINE_TOOL;
    return { ...viewOf({ ...workspace, name }, lock, mode), currentRun, structuredOutput };
  };

  const projectsOf = async (caller: TfeCaller): Promise<readonly string[]> => {
    const names = new Set(["default"]);
    for (const { record } of await directory.list(caller.account)) names.add(record.project);
    const { tenancy } = projectPlace({ account: caller.account, project: "" });
    const { type } = SERVER_KINDS.project;
    for await (const { id } of listResourceHeads(storage, "strong", type, tenancy, "")) {
      names.add(id.name);
    }
    return [...names].filter((name) => seesProject(caller, name)).toSorted();
  };

  return {
    authenticate: async (request, { isCurrent = false } = {}) => {
      const before = principals.get(request);
      if (isCurrent && before !== undefined) await forgetRights(parts, before);
      const principal = await authenticateToken(authenticator, request);
      // Refusals are audited with the caller.
      principals.set(request, principal);
      const caller = callerOf(principal);
      requests.set(caller, auditCaller(request, principal));
      return caller;
    },
    callerOf: async (credential) => {
      const principal = await parts.credentials.principalOf(credential);
      if (principal !== undefined) return callerOf(principal);
      throw new ServerError("forbidden", "the credential that the address was made for has ended");
    },
    admit: (caller) => admitted(limiter.take(limitedBy(caller))),
    admitInTurn: async (caller) => admitted(await turns.take(limitedBy(caller))),
    failureOf: (error) => {
      const { code, message, retryAfterMs } = serverErrorOf(error);
      const { httpStatus: status = 500 } = SERVER_ERRORS[code];
      return { status, detail: message, ...(status === 429 && { retryAfterMs }) };
    },
    noteRefusal: async (request, { route, target, status, signer }) => {
      const action = REFUSED_ACTIONS[route] ?? route;
      const facts = { action, target, outcome: `HTTP_${status}` };
      if (signer === undefined) {
        return parts.audit.note(request, principals.get(request), facts);
      }
      return parts.audit.noteOf(auditCaller(request, signer), facts);
    },
    addressKey: parts.addressKey,
    wallMs: () => clock.wallMs(),
    workspaces: {
      find: async (caller, name) => {
        const found = await directory.find(caller.account, name, caller.projects);
        return found && full(caller, found);
      },
      get: async (caller, id) => {
        const found = visible(caller, await directory.get(caller.account, id));
        return found && full(caller, found);
      },
      list: async (caller) => {
        const all = await directory.listShown(caller.account, caller.projects);
        return all.map((one) => viewOf(one, undefined, recordedMode(one.record)));
      },
      create: async (caller, { tags = [], executionMode, ...given }) => {
        if (!seesProject(caller, given.project)) throw new ServerError("not_found");
        const noted = audited(caller, "CreateWorkspace", targetAt(given.project, given.name));
        const workspace = {
          name: given.name,
          project: given.project,
          description: given.description ?? "",
          executionMode: storedMode(executionMode),
          workingDirectory: given.workingDirectory ?? "",
          autoApply: given.autoApply ?? false,
          terraformVersion: given.terraformVersion ?? "",
          tags: mergeTags([], tags),
        };
        const { account, projects } = caller;
        const made = await new WorkspaceDirectory(noted).create(account, workspace, projects);
        return made && full(caller, made);
      },
      change: async (caller, id, change) => {
        const workspace = await require(caller, id);
        const { record: before } = workspace;
        const target = targetAt(before.project, before.stackName);
        const noted = audited(caller, "ChangeWorkspace", target);
        const { executionMode, tags, description, workingDirectory, autoApply } = change;
        const { terraformVersion } = change;
        if (executionMode !== undefined && executionMode !== (await executionOf(workspace))) {
          await switchExecution(noted, workspace, executionMode, caller);
        }
        await new WorkspaceDirectory(noted).change(caller.account, id, (record) => ({
          ...(executionMode !== undefined && { executionMode: storedMode(executionMode) }),
          ...(tags !== undefined && { tags: mergeTags(record.tags, tags) }),
          ...(description !== undefined && { description }),
          ...(workingDirectory !== undefined && { workingDirectory }),
          ...(autoApply !== undefined && { autoApply }),
          ...(terraformVersion !== undefined && { terraformVersion }),
        }));
        return full(caller, await require(caller, id));
      },
      remove: async (caller, id, { force }) => {
        const workspace = await require(caller, id);
        const { name, project, stackName } = workspace.record;
        const target = targetAt(project, stackName);
        if (force && !caller.isAdmin && (await isOfEngine(workspace))) {
          throw new ServerError(
            "forbidden",
            "the server has the state of the workspace, and forgets its objects; that needs the role registry:admin",
          );
        }
        const noted = audited(caller, "DeleteWorkspace", target);
        await removeWorkspace(noted, workspace, { force, actor: caller.actor });
        logger.warn({ workspace: name, project, actor: caller.actor }, "a workspace was deleted");
      },
      lock: async (caller, id, reason) => {
        const workspace = await require(caller, id);
        const { actor } = caller;
        const locked = await lockWorkspace(parts, workspace.stack.reference, { actor, reason });
        return locked && full(caller, workspace);
      },
      unlock: async (caller, id, { force }) => {
        const { stack } = await require(caller, id);
        if (!force) {
          const found = await unlockWorkspace(parts, stack.reference, caller);
          if (found === undefined) return "unlocked";
          return found.ended ? "done" : lockView(found.lock);
        }
        const { actor } = caller;
        try {
          const given = { actor, force: caller.isAdmin };
          const noted = audited(caller, "BreakLock", targetOf(stack));
          const broken = await breakLock(noted, stack.reference, given);
          if (broken === undefined) return "unlocked";
          const { actor: holder, reason } = broken;
          logger.warn({ stack: stack.name, actor, holder, reason }, "a lock was broken");
          return "done";
        } catch (error) {
          if (error instanceof LockHeldError) return lockView(error.holder);
          throw error;
        }
      },
      projects: projectsOf,
      createProject: async (caller, name) => {
        if (!seesProject(caller, name)) throw new ServerError("forbidden");
        return transact(audited(caller, "CreateProject", `projects/${name}`), async (tx) => {
          const place = projectPlace({ account: caller.account, project: name });
          if ((await tx.find(SERVER_KINDS.project, place)) !== undefined) return undefined;
          const at = BigInt(tx.nowMs);
          const times = { createdAtMs: at, updatedAtMs: at };
          tx.create(SERVER_KINDS.project, place, { ...defaultProject(name), ...times });
          return name;
        });
      },
    },
    states: workspaceStates({ ...parts, stackOf, audited }),
    runs: workspaceRuns({ ...parts, stackOf, audited }),
    variables: workspaceVariables({ ...parts, stackOf, audited }),
    variableSets: variableSetsPort({
      ...parts,
      workspaceOf: require,
      workspacesOf: async ({ account, projects }) => directory.listShown(account, projects),
      projectsOf,
      audited,
    }),
  };
}

/** Without a list of projects a caller sees all of its account. */
function seesProject({ projects }: TfeCaller, project: string): boolean {
  return projects.length === 0 || projects.includes(project);
}

/**
 * The caller of a request. This API has no roles per project: one that may operate some projects only is shown as one that sees these
 * and no others.
 */
function callerOf(principal: Principal): TfeCaller {
  const { account, actor, credential = actor, projects, stacks = [], projectRoles } = principal;
  requireApiRole(principal, "viewer");
  if (stacks.length > 0) {
    throw new ServerError("forbidden", `${actor} is limited to stacks, which this API is not`);
  }
  const operated = [...(projectRoles?.keys() ?? [])].flatMap((name) => {
    const there = principalIn(principal, name);
    return there !== undefined && hasRole(there, "deployer") ? [{ name, there }] : [];
  });
  const adminProjects = operated.flatMap(({ name, there }) =>
    hasRole(there, "admin") ? [name] : [],
  );
  const ofProjects = adminProjects.length > 0 ? { adminProjects } : {};
  if (operated.length > 0 && !hasRole(principal, "deployer")) {
    return {
      ...ofProjects,
      account,
      actor,
      credential,
      projects: operated.map(({ name }) => name),
      isOperator: true,
      isAdmin: operated.every(({ there }) => hasRole(there, "admin")),
    };
  }
  return {
    ...ofProjects,
    account,
    actor,
    credential,
    projects,
    isOperator: hasRole(principal, "deployer"),
    isAdmin: hasRole(principal, "admin"),
  };
}

function recordedMode({ executionMode: mode }: StoredWorkspace["record"]): ExecutionMode {
  return mode === Workspace_ExecutionMode.EXECUTION_MODE_REMOTE ? "remote" : "local";
}

function viewOf(
  { stack, record, name }: StoredWorkspace & { readonly name: string },
  lock: StackLock | undefined,
  executionMode: ExecutionMode,
): TfeWorkspace {
  return {
    id: stack.reference.stack,
    name,
    project: record.project,
    description: record.description,
    createdAtMs: Number(record.createdAtMs),
    executionMode,
    terraformVersion: record.terraformVersion,
    workingDirectory: record.workingDirectory,
    autoApply: record.autoApply,
    tags: record.tags,
    lock: lock && lockView(lock),
  };
}

function lockView({ actor, reason, terraform }: StackLock): WorkspaceLock {
  return { actor, reason, by: terraform === undefined ? "user" : "command" };
}

function storedMode(mode: TfeWorkspace["executionMode"] | undefined): Workspace_ExecutionMode {
  if (mode === undefined) return Workspace_ExecutionMode.EXECUTION_MODE_UNSPECIFIED;
  return mode === "remote"
    ? Workspace_ExecutionMode.EXECUTION_MODE_REMOTE
    : Workspace_ExecutionMode.EXECUTION_MODE_LOCAL;
}
