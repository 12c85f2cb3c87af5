import { forEachLimited } from "@stackwright/base/limiter";
import { AccountVariableSet, VariableSet } from "@stackwright/proto/stackwright";
import { listResourceHeads, type StorageBackend, WILDCARD } from "@stackwright/storage";
import type {
  SetPlaces,
  TfeCaller,
  TfeSetChange,
  TfeSetName,
  TfeVariableSet,
  VariableSetPort,
} from "@stackwright/tfe";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { SeenStacks } from "../api/variable-sets/seen-stacks.ts";
import { shownAccountSets } from "../api/variable-sets/shown-account-sets.ts";
import {
  MAX_PATTERNS,
  MAX_PLACES,
  NewAccountVariableSet,
  NewVariableSet,
} from "../api/variable-sets/variable-set-view.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { matchesPlace, matchesStack } from "../domain/stack-pattern.ts";
import { isSetFor, isSetForProject } from "../domain/variable-precedence.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import {
  accountPlaces,
  isForAll,
  isSinglePattern,
  isWholePattern,
  projectPlaces,
  type SetPlace,
  storedAccountPlaces,
  storedProjectPlaces,
  withoutPlaces,
  withPlaces,
} from "../variables/set-places.ts";
import { byKey } from "../variables/set-variables.ts";
import {
  changeSet,
  createSet,
  listSets,
  readSet,
  removeSet,
  setsOfAccount,
  setsOfProject,
} from "../variables/variable-sets.ts";
import type { StoredWorkspace } from "../workspace/workspace-directory.ts";
import type { AuditedChange } from "./audited-change.ts";
import { setTarget } from "./set-target.ts";
import { viewOf } from "./workspace-variables.ts";

interface SetParts {
  readonly storage: StorageBackend;
  /** `not_found` for the id of a workspace that the caller does not see. */
  readonly workspaceOf: (caller: TfeCaller, workspace: string) => Promise<StoredWorkspace>;
  /** Those that the caller sees. */
  readonly workspacesOf: (caller: TfeCaller) => Promise<readonly StoredWorkspace[]>;
  readonly projectsOf: (caller: TfeCaller) => Promise<readonly string[]>;
  readonly audited: AuditedSetChange;
}

/** Parts for one change of a set, as {@link AuditedChange} makes them. */
type AuditedSetChange = (...change: Parameters<AuditedChange>) => TransactionParts;

/** A set as it is stored, of a project or of the account. */
type Stored =
  | { readonly project: string; readonly set: VariableSet }
  | { readonly project: undefined; readonly set: AccountVariableSet };

const ACCOUNT_SET = Compile<TSchema>(NewAccountVariableSet);
const PROJECT_SET = Compile<TSchema>(NewVariableSet);
/** Sets, or workspaces, that are read at once. */
const READS = 8;

/** The variable sets of projects and of the account as those of an organization. */
export function variableSetsPort(parts: SetParts): VariableSetPort {
  const { storage } = parts;
  /** What callers, each of one request, were shown before: until they change something. */
  const seen = new WeakMap<TfeCaller, SeenStacks>();
  const audited: AuditedSetChange = (caller, action, target) => {
    seen.delete(caller);
    return parts.audited(caller, action, target);
  };

  const accountSets = async (caller: TfeCaller, all: readonly AccountVariableSet[]) => {
    const { account, actor, projects } = caller;
    const stacks = seen.get(caller) ?? new SeenStacks(storage, account);
    seen.set(caller, stacks);
    return shownAccountSets(stacks, { account, actor, projects, roles: ["reader"] }, all);
  };
  const accountNames = async (caller: TfeCaller): Promise<readonly string[]> => {
    const home = setsOfAccount(caller.account);
    if (caller.projects.length > 0) {
      const shown = await accountSets(caller, await listSets(storage, home));
      return shown.map(({ name }) => name);
    }
    const names: string[] = [];
    const heads = listResourceHeads(storage, "strong", home.kind.type, home.tenancy, "");
    for await (const { id } of heads) names.push(id.name);
    return names;
  };
  const projectNames = async ({ account, projects }: TfeCaller): Promise<readonly TfeSetName[]> => {
    const everywhere = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
    const tenancies =
      projects.length === 0
        ? [everywhere]
        : projects.map((project) => projectTenancy({ account, project }));
    const names: TfeSetName[] = [];
    for (const tenancy of tenancies) {
      const { type } = SERVER_KINDS.variableSet;
      for await (const { id } of listResourceHeads(storage, "strong", type, tenancy, "")) {
        names.push({ project: id.tenancy.namespace, name: id.name });
      }
    }
    return names;
  };
  /** A set, whatever of it its caller sees. */
  const whole = async (
    { account }: TfeCaller,
    { project, name }: TfeSetName,
  ): Promise<Stored | undefined> => {
    if (project === undefined) {
      const found = await readSet(storage, setsOfAccount(account), name);
      return found && { project, set: found.set };
    }
    const found = await readSet(storage, setsOfProject({ account, project }), name);
    return found && { project, set: found.set };
  };
  /** Those of the names that exist, in their order. */
  const stored = async (
    caller: TfeCaller,
    names: readonly TfeSetName[],
  ): Promise<readonly Stored[]> => {
    const all: (Stored | undefined)[] = [];
    await forEachLimited(names.entries(), READS, async ([index, name]) => {
      all[index] = await whole(caller, name);
    });
    const found = all.filter((one) => one !== undefined);
    const ofAccount = found.flatMap(({ project, set }) => (project === undefined ? [set] : []));
    const shown = new Map((await accountSets(caller, ofAccount)).map((set) => [set.name, set]));
    return found.flatMap((one): readonly Stored[] => {
      if (one.project !== undefined) return [one];
      const set = shown.get(one.set.name);
      return set === undefined ? [] : [{ project: undefined, set }];
    });
  };
  const read = async (
    caller: TfeCaller,
    names: readonly TfeSetName[],
  ): Promise<readonly TfeVariableSet[]> => {
    const found = await stored(caller, names);
    // All workspaces of an account are many, and most sets are for projects or for all.
    const [workspaces, projects] = await Promise.all([
      found.some(namesStacks) ? parts.workspacesOf(caller) : [],
      found.some(namesProjects) ? parts.projectsOf(caller) : [],
    ]);
    return found.map((one) => shownSet(one, workspaces, projects));
  };
  const readOne = async (caller: TfeCaller, name: TfeSetName): Promise<TfeVariableSet> => {
    const [set] = await read(caller, [name]);
    if (set === undefined) throw new ServerError("not_found");
    return set;
  };

  const placesOf = async (
    caller: TfeCaller,
    { workspaces, projects }: SetPlaces,
  ): Promise<readonly SetPlace[]> => {
    const stacks: SetPlace[] = [];
    await forEachLimited(workspaces.entries(), READS, async ([index, id]) => {
      const { stack } = await parts.workspaceOf(caller, id);
      stacks[index] = { project: stack.reference.project, stack: stack.name };
    });
    const whole = projects.map((project) => ({ project, stack: undefined }));
    // A workspace has two ids.
    return stacks
      .reduce<readonly SetPlace[]>((found, one) => withPlaces(found, [one]), [])
      .concat(whole);
  };
  /**
   * Which places of a set still exist. A workspace that is deleted stays among them, as one that is created later with its name has the set again, until
   * there would be no room for others.
   */
  const whatIsThere = async (
    caller: TfeCaller,
    name: TfeSetName,
    added: number,
  ): Promise<(place: SetPlace) => boolean> => {
    const most = name.project === undefined ? MAX_PLACES : MAX_PATTERNS;
    const [found] = await stored(caller, [name]);
    if (found === undefined || found.set.stacks.length + added <= most) return () => true;
    const all = await parts.workspacesOf(caller);
    const names = new Set(all.map(({ stack }) => `${stack.reference.project}/${stack.name}`));
    return ({ project, stack }) => stack === undefined || names.has(`${project}/${stack}`);
  };
  /** Changes a set, and what it is attached to as far as `place` says. */
  const change = async (
    caller: TfeCaller,
    name: TfeSetName,
    settings: Partial<Pick<VariableSet, "description" | "priority">>,
    place: ((before: Attached) => Attached) | undefined,
  ): Promise<void> => {
    const { account } = caller;
    const { project } = name;
    if (project === undefined) {
      const noted = audited(caller, "ChangeAccountVariableSet", setTarget(name));
      await changeSet(noted, setsOfAccount(account), name.name, ({ message }) => {
        const places = place && accountChange(message, place);
        const wanted = { ...settings, ...places };
        requireValid(ACCOUNT_SET, { name: name.name, ...wanted });
        return wanted;
      });
      return;
    }
    const noted = audited(caller, "ChangeVariableSet", setTarget(name));
    await changeSet(noted, setsOfProject({ account, project }), name.name, ({ message }) => {
      const places = place && projectChange(project, message, place);
      const wanted = { ...settings, ...places };
      requireValid(PROJECT_SET, { name: name.name, ...wanted });
      return wanted;
    });
  };
  /** What a request says of what a set is attached to; undefined where it says nothing of it. */
  const wantedPlaces = async (
    caller: TfeCaller,
    { isGlobal, workspaces, projects }: TfeSetChange,
  ): Promise<((before: Attached) => Attached) | undefined> => {
    if (isGlobal === undefined && workspaces === undefined && projects === undefined) {
      return undefined;
    }
    const stacks =
      workspaces && (await placesOf(caller, { workspaces: [...workspaces], projects: [] }));
    const whole = projects?.map((project) => ({ project, stack: undefined }));
    const named = [...(stacks ?? []), ...(whole ?? [])];
    return (before) => {
      const isForAllNow: boolean = isGlobal ?? before === "all";
      if (isForAllNow) {
        if (named.length === 0) return "all";
        throw unprocessable('"global": a set for all workspaces is attached to none');
      }
      if (stacks === undefined && whole === undefined) return before === "all" ? [] : before;
      // What is said whole replaces patterns, too.
      const isWhole = stacks !== undefined && whole !== undefined;
      const own = isWhole || before === "all" ? [] : listed(before);
      return [
        ...(stacks ?? own.filter(({ stack }) => stack !== undefined)),
        ...(whole ?? own.filter(({ stack }) => stack === undefined)),
      ];
    };
  };

  return {
    names: async (caller) => {
      const [ofAccount, ofProjects] = await Promise.all([
        accountNames(caller),
        projectNames(caller),
      ]);
      return [...ofAccount.map((name) => ({ project: undefined, name })), ...ofProjects].toSorted(
        byName,
      );
    },
    namesFor: async (caller, workspace) => {
      const { stack } = await parts.workspaceOf(caller, workspace);
      const { account, project } = stack.reference;
      const at = { project, name: stack.name };
      const [ofAccount, ofProject] = await Promise.all([
        listSets(storage, setsOfAccount(account)),
        listSets(storage, setsOfProject({ account, project })),
      ]);
      return [
        ...ofAccount
          .filter((set) => isSetFor(set, at))
          .map(({ name }) => ({ project: undefined, name })),
        ...ofProject
          .filter(({ stacks }) => isSetFor({ projects: [], stacks }, at))
          .map(({ name }) => ({ project, name })),
      ].toSorted(byName);
    },
    read,
    create: async (caller, given) => {
      const { account } = caller;
      const { project, name, description = "", hasPriority: priority = false } = given;
      const place = await wantedPlaces(caller, { ...given, isGlobal: given.isGlobal ?? false });
      const settings = { name, description, priority };
      const start: Attached = [];
      try {
        if (project === undefined) {
          const places = storedAccount(place?.(start) ?? start);
          requireValid(ACCOUNT_SET, { ...settings, ...places });
          const noted = audited(caller, "CreateAccountVariableSet", setTarget(given));
          const made = AccountVariableSet.create({ ...settings, ...places });
          await createSet(noted, setsOfAccount(account), made);
        } else {
          const places = storedProject(project, place?.(start) ?? start);
          requireValid(PROJECT_SET, { ...settings, ...places });
          const noted = audited(caller, "CreateVariableSet", setTarget(given));
          const made = VariableSet.create({ ...settings, ...places });
          await createSet(noted, setsOfProject({ account, project }), made);
        }
      } catch (error) {
        if (isServerError(error, "name_taken")) return undefined;
        throw error;
      }
      return readOne(caller, given);
    },
    change: async (caller, name, given) => {
      const { description, hasPriority: priority } = given;
      const settings = {
        ...(description !== undefined && { description }),
        ...(priority !== undefined && { priority }),
      };
      await change(caller, name, settings, await wantedPlaces(caller, given));
      return readOne(caller, name);
    },
    attach: async (caller, name, places) => {
      const added = await placesOf(caller, places);
      const isThere = await whatIsThere(caller, name, added.length);
      await change(caller, name, {}, (before) => {
        if (before !== "all") return withPlaces(listed(before).filter(isThere), added);
        throw unprocessable('"global": a set for all workspaces is attached to none');
      });
    },
    detach: async (caller, name, places) => {
      const removed = await placesOf(caller, places);
      await change(caller, name, {}, (before) =>
        before === "all" ? before : withoutPlaces(listed(before), removed),
      );
    },
    remove: async (caller, name) => {
      const { account } = caller;
      const { project } = name;
      const unchecked = (): void => undefined;
      if (project === undefined) {
        const noted = audited(caller, "DeleteAccountVariableSet", setTarget(name));
        return removeSet(noted, setsOfAccount(account), name.name, unchecked);
      }
      const noted = audited(caller, "DeleteVariableSet", setTarget(name));
      return removeSet(noted, setsOfProject({ account, project }), name.name, unchecked);
    },
  };
}

/** What a set is attached to: all workspaces, single places, or what its patterns say. */
type Attached = "all" | "patterns" | readonly SetPlace[];

/** `unprocessable` for a set whose patterns this API cannot change one by one. */
function listed(attached: Exclude<Attached, "all">): readonly SetPlace[] {
  if (attached !== "patterns") return attached;
  throw unprocessable(
    "the set is for projects or stacks that match patterns; change these by the server's own API",
  );
}

function accountChange(
  set: AccountVariableSet,
  place: (before: Attached) => Attached,
): Partial<Pick<AccountVariableSet, "projects" | "stacks">> {
  const before = isForAll(set) ? "all" : (accountPlaces(set) ?? "patterns");
  const after = place(before);
  return after === before ? {} : storedAccount(after);
}

function projectChange(
  project: string,
  set: VariableSet,
  place: (before: Attached) => Attached,
): Partial<Pick<VariableSet, "stacks">> {
  const before = projectPlaces(project, set) ?? "patterns";
  const after = place(before);
  return after === before ? {} : storedProject(project, after);
}

function storedAccount(attached: Attached): Pick<AccountVariableSet, "projects" | "stacks"> {
  if (attached === "all") return { projects: [], stacks: [] };
  const places = listed(attached);
  if (places.length > MAX_PLACES) throw tooMany(MAX_PLACES);
  return storedAccountPlaces(places);
}

function storedProject(project: string, attached: Attached): Pick<VariableSet, "stacks"> {
  if (attached === "all") {
    throw unprocessable('"global": a set of a project is for workspaces of this project alone');
  }
  const places = listed(attached);
  if (places.some((one) => one.project !== project)) {
    throw unprocessable(`the set is of the project "${project}", and for its workspaces alone`);
  }
  if (places.length > MAX_PATTERNS) throw tooMany(MAX_PATTERNS);
  return storedProjectPlaces(places);
}

function tooMany(most: number): ServerError {
  return unprocessable(`the set is attached to at most ${most} workspaces and projects`);
}

function unprocessable(detail: string): ServerError {
  return new ServerError("unprocessable", detail);
}

/** Whether it is shown with single workspaces. */
function namesStacks({ set: { stacks } }: Stored): boolean {
  return stacks.some(isSinglePattern);
}

/** Whether it is shown with projects of the account. */
function namesProjects({ project, set }: Stored): boolean {
  return project === undefined && !isForAll(set);
}

function shownSet(
  { project, set }: Stored,
  workspaces: readonly StoredWorkspace[],
  projects: readonly string[],
): TfeVariableSet {
  const { name, description, priority, updatedAtMs, variables, stacks } = set;
  const patterns = project === undefined ? set.projects : [project];
  const single = stacks.filter(isSinglePattern);
  const whole = {
    projects: patterns,
    stacks: stacks.length === 0 ? [] : stacks.filter(isWholePattern),
  };
  const hasWhole = stacks.length === 0 || whole.stacks.length > 0;
  const isGlobal = project === undefined && isForAll(set);
  const own = project === undefined ? projects : [project];
  return {
    name,
    project,
    description,
    isGlobal,
    hasPriority: priority,
    updatedAtMs: Number(updatedAtMs),
    variables: variables.toSorted(byKey).map(viewOf),
    projects: hasWhole && !isGlobal ? own.filter((one) => isSetForProject(whole, one)) : [],
    workspaces: workspaces
      .filter(({ stack }) => {
        const at = { project: stack.reference.project, name: stack.name };
        const isInside =
          patterns.length === 0 || patterns.some((one) => matchesStack(one, at.project));
        return isInside && single.some((pattern) => matchesPlace(pattern, at));
      })
      .map(({ stack }) => stack.reference.stack),
  };
}

function byName(a: TfeSetName, b: TfeSetName): number {
  const [one, other] = [a, b].map(({ name, project = "" }) => `${name}\0${project}`);
  return (one ?? "") < (other ?? "") ? -1 : 1;
}

/** `unprocessable`, with the attribute that is wrong. */
function requireValid(schema: ReturnType<typeof Compile<TSchema>>, set: object): void {
  if (schema.Check(set)) return;
  const [first] = schema.Errors(set);
  const name = first?.instancePath.split("/")[1] ?? "name";
  throw unprocessable(`"${name}" ${first?.message ?? "is not valid"}`);
}
