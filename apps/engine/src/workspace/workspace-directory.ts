import type { Logger } from "@stackwright/base/logger";
import { type NamedStack, StackDirectory } from "@stackwright/core";
import { Workspace, type WorkspaceTag } from "@stackwright/proto/stackwright";
import {
  listResourceHeads,
  type ResourceHead,
  readStored,
  tenancyOf,
  WILDCARD,
} from "@stackwright/storage";
import { readShortUlid } from "@stackwright/tfe";
import { decodeRecord } from "../domain/record-kind.ts";
import { type Place, STACK_KIND } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addStack } from "../queue/add-stack.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { idOf, type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";

// Names of workspaces are unique in an account, those of stacks in a project. A name belongs to the stack that took it first; one
// that came later from another project is called `PROJECT--STACK`. Stacks that were made elsewhere get their record when
// workspaces are listed, or when one of their name is read.
//
// Who sees some projects alone does not learn what names others have: where a stack of a project that is not seen has a name, it is for
// such a caller that of the stack which is called so in the seen projects, of several the oldest. So the answers are those that it would get if
// the others were not there.

/** A stack with its record as a workspace. */
export interface StoredWorkspace {
  readonly stack: NamedStack;
  readonly record: Workspace;
}

type WorkspaceParts = TransactionParts & { readonly logger?: Logger | undefined };

const NAME = /^[A-Za-z0-9_-]{1,90}$/;

/** The stacks of accounts by the names that they have as workspaces. */
export class WorkspaceDirectory {
  readonly #parts: WorkspaceParts;
  readonly #stacks: StackDirectory;

  constructor(parts: WorkspaceParts) {
    this.#parts = parts;
    this.#stacks = new StackDirectory({ storage: parts.storage });
  }

  /** By the name that it has for a caller. @param projects those that the caller sees; none: all */
  async find(
    account: string,
    name: string,
    projects: readonly string[] = [],
  ): Promise<StoredWorkspace | undefined> {
    const found = await this.#find(account, name);
    if (projects.length === 0) return found;
    if (found !== undefined && projects.includes(found.record.project)) return found;
    if (!NAME.test(name)) return undefined;
    const stacks = await Promise.all(
      projects.map(async (project) => this.#stacks.find({ account, project }, name)),
    );
    const [own] = stacks.filter((one) => one !== undefined).toSorted(byAge);
    if (own === undefined) return undefined;
    await this.#register(own);
    return this.get(account, own.reference.stack);
  }

  /** The name that a workspace has for a caller who sees some projects alone; for others it is that of its record. */
  async shownName(
    account: string,
    { stack, record }: StoredWorkspace,
    projects: readonly string[],
  ): Promise<string> {
    const { name, stackName } = record;
    if (projects.length === 0 || name === stackName) return name;
    const found = await this.find(account, stackName, projects);
    return found?.stack.reference.stack === stack.reference.stack ? stackName : name;
  }

  async #find(account: string, name: string): Promise<StoredWorkspace | undefined> {
    if (!NAME.test(name)) return undefined;
    const found = await this.#named(account, name);
    if (found !== undefined) return found;
    // A stack that has no record yet; its name is the whole, or what follows its project.
    const candidates = [
      name,
      ...[...name.matchAll(/--/g)].map(({ index }) => name.slice(index + 2)),
    ];
    for (const candidate of candidates) {
      for (const stack of await this.#stacksNamed(account, candidate)) await this.#register(stack);
    }
    return this.#named(account, name);
  }

  /** By the id of the stack, or by the short form in which clients read it; undefined where the stack is gone. */
  async get(account: string, given: string): Promise<StoredWorkspace | undefined> {
    const id = await this.#wholeId(account, given);
    if (id === undefined) return undefined;
    const found = await readStored(
      this.#parts.storage,
      "strong",
      idOf(SERVER_KINDS.workspace, workspacePlace(account, id)),
    );
    if (found === undefined) return undefined;
    const record = decodeRecord(SERVER_KINDS.workspace, found);
    const { project, stackName } = record;
    const stack = await this.#stacks.find({ account, project }, stackName);
    return stack?.reference.stack === id ? { stack, record } : undefined;
  }

  /** Reads those records alone that are of the millisecond in which the stack was made. A damaged one is found, and not read as one that is gone. */
  async #wholeId(account: string, given: string): Promise<string | undefined> {
    const short = readShortUlid(given);
    if (short === undefined) return given;
    const { type } = SERVER_KINDS.workspace;
    const { tenancy } = workspacePlace(account, "");
    const ids = new Set<string>();
    const note = ({ id: { name } }: Pick<ResourceHead, "id">): void => {
      if (short.matches(name)) ids.add(name);
    };
    const heads = listResourceHeads(this.#parts.storage, "strong", type, tenancy, short.start, {
      onDamaged: note,
    });
    for await (const head of heads) note(head);
    const [id] = ids;
    return ids.size === 1 ? id : undefined;
  }

  /** All that a caller sees of an account, with the names that they have for it. @param projects those that it sees; none: all */
  async listShown(
    account: string,
    projects: readonly string[],
  ): Promise<readonly (StoredWorkspace & { readonly name: string })[]> {
    const all = await this.list(account);
    if (projects.length === 0) return all.map((one) => ({ ...one, name: one.record.name }));
    const seen = all.filter(({ record }) => projects.includes(record.project));
    const owners = new Map<string, NamedStack>();
    for (const { stack } of seen.toSorted((a, b) => byAge(a.stack, b.stack))) {
      if (!owners.has(stack.name)) owners.set(stack.name, stack);
    }
    for (const { stack, record } of seen) owners.set(record.name, stack);
    return seen
      .map((one) => {
        const { name, stackName } = one.record;
        return { ...one, name: owners.get(stackName) === one.stack ? stackName : name };
      })
      .toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }

  /** All of an account, by name. Stacks whose names no workspace can have are left out, and those of which a record is damaged. */
  async list(account: string): Promise<readonly StoredWorkspace[]> {
    const read = async () => Promise.all([this.#listStacks(account), this.#records(account)]);
    let [stacks, { records, damaged }] = await read();
    const missing = stacks.filter(
      ({ reference: { stack } }) => !records.has(stack) && !damaged.has(stack),
    );
    for (const stack of missing) await this.#register(stack);
    if (missing.length > 0) [stacks, { records, damaged }] = await read();
    return stacks
      .flatMap((stack) => {
        const record = records.get(stack.reference.stack);
        return record === undefined ? [] : [{ stack, record }];
      })
      .toSorted(({ record: a }, { record: b }) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }

  /** Makes a stack with its record. Undefined where another workspace that the caller sees has the name, or another stack in the project. */
  async create(
    account: string,
    given: Pick<Workspace, "name" | "project"> & Partial<Workspace>,
    projects: readonly string[] = [],
  ): Promise<StoredWorkspace | undefined> {
    const { name, project } = given;
    if ((await this.find(account, name, projects)) !== undefined) return undefined;
    return transact(this.#parts, async (tx) => {
      const isFree = async (one: string): Promise<boolean> =>
        NAME.test(one) &&
        (await tx.find(SERVER_KINDS.workspaceName, namePlace(account, one))) === undefined;
      const isFirst = await isFree(name);
      if (!isFirst && projects.length === 0) return undefined;
      const stack = await addStack(tx, { account, project }, name);
      if (stack === undefined) return undefined;
      // One that the caller does not see has the name.
      const other = `${project}--${name}`;
      const later = (await isFree(other)) ? other : stack.reference.stack;
      const record = Workspace.fromPartial({
        ...given,
        name: isFirst ? name : later,
        stackName: name,
        createdAtMs: BigInt(tx.nowMs),
      });
      this.#add(tx, stack, record);
      return { stack, record };
    });
  }

  async change(
    account: string,
    id: string,
    change: (record: Workspace) => Partial<Workspace>,
  ): Promise<void> {
    await transact(this.#parts, async (tx) => {
      const row = await tx.get(SERVER_KINDS.workspace, workspacePlace(account, id));
      tx.update(row, change(row.message));
    });
  }

  async #named(account: string, name: string): Promise<StoredWorkspace | undefined> {
    const found = await readStored(
      this.#parts.storage,
      "strong",
      idOf(SERVER_KINDS.workspaceName, namePlace(account, name)),
    );
    if (found === undefined) return undefined;
    const { stack } = decodeRecord(SERVER_KINDS.workspaceName, found);
    const workspace = await this.get(account, stack);
    if (workspace === undefined) await this.#forget(account, name, stack);
    return workspace;
  }

  /** Removes what a stack left that was removed elsewhere, so that its name is free. */
  async #forget(account: string, name: string, id: string): Promise<void> {
    await transact(this.#parts, async (tx) => {
      const own = await tx.find(SERVER_KINDS.workspace, workspacePlace(account, id));
      const named = await tx.find(SERVER_KINDS.workspaceName, namePlace(account, name));
      if (named?.message.stack !== id) return;
      if (own !== undefined) {
        const { project, stackName } = own.message;
        const place = stackNamePlace(account, project, stackName);
        const stack = await tx.find(STACK_KIND, place);
        if (stack?.message.id === id) return;
        if (stack === undefined) tx.guardAbsent(STACK_KIND, place);
        else tx.guardRow(stack);
        tx.remove(own);
      }
      tx.remove(named);
    });
  }

  async #register(stack: NamedStack): Promise<void> {
    const { account, project, stack: id } = stack.reference;
    const names = [stack.name, `${project}--${stack.name}`].filter((name) => NAME.test(name));
    for (const name of names) {
      const former = await readStored(
        this.#parts.storage,
        "strong",
        idOf(SERVER_KINDS.workspaceName, namePlace(account, name)),
      );
      if (former !== undefined) await this.#named(account, name);
    }
    await transact(this.#parts, async (tx) => {
      const place = workspacePlace(account, id);
      if ((await tx.find(SERVER_KINDS.workspace, place)) !== undefined) return;
      for (const name of names) {
        const taken = await tx.find(SERVER_KINDS.workspaceName, namePlace(account, name));
        if (taken !== undefined) continue;
        const { name: stackName, description, createdAtMs } = stack;
        const created = { description, createdAtMs: BigInt(createdAtMs) };
        this.#add(tx, stack, Workspace.fromPartial({ name, project, stackName, ...created }));
        return;
      }
    });
  }

  #add(tx: Transaction, { reference }: NamedStack, record: Workspace): void {
    const { account, stack } = reference;
    tx.create(SERVER_KINDS.workspace, workspacePlace(account, stack), record);
    tx.create(SERVER_KINDS.workspaceName, namePlace(account, record.name), { stack });
  }

  /** The stacks of a name in all projects of an account. */
  async #stacksNamed(account: string, name: string): Promise<readonly NamedStack[]> {
    const projects = await this.#projectsWith(account, name);
    const stacks = await Promise.all(
      projects.map(async (project) => this.#stacks.find({ account, project }, name)),
    );
    return stacks.filter((stack) => stack !== undefined);
  }

  async #projectsWith(account: string, name: string): Promise<readonly string[]> {
    const everywhere = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
    const { storage } = this.#parts;
    const projects = new Set<string>();
    const note = logDamaged(this.#parts.logger);
    const heads = listResourceHeads(storage, "strong", STACK_KIND.type, everywhere, name, {
      onDamaged: ({ id, reason }) => note(id, reason),
    });
    for await (const { id } of heads) if (id.name === name) projects.add(id.tenancy.namespace);
    return [...projects].toSorted();
  }

  async #listStacks(account: string): Promise<readonly NamedStack[]> {
    const note = logDamaged(this.#parts.logger);
    return this.#stacks.listAccount(account, { onDamaged: ({ id, reason }) => note(id, reason) });
  }

  /** The records of an account by the ids of their stacks, and the ids of those that are damaged. */
  async #records(account: string): Promise<{
    readonly records: ReadonlyMap<string, Workspace>;
    readonly damaged: ReadonlySet<string>;
  }> {
    const { tenancy } = workspacePlace(account, "");
    const { storage, logger } = this.#parts;
    const note = logDamaged(logger);
    const damaged = new Set<string>();
    const found = await listReadable(storage, SERVER_KINDS.workspace, tenancy, {
      onDamaged: (id, reason) => {
        damaged.add(id.name);
        note(id, reason);
      },
    });
    return { records: new Map(found.map(({ id, message }) => [id.name, message])), damaged };
  }
}

/** Removes the stack of a workspace with its names, in a transaction. False where it is gone, or another one has its name by now. */
export async function removeNames(
  tx: Transaction,
  { stack, record }: StoredWorkspace,
): Promise<boolean> {
  const { account, project, stack: id } = stack.reference;
  const named = await tx.find(STACK_KIND, stackNamePlace(account, project, stack.name));
  if (named?.message.id !== id) return false;
  tx.remove(named);
  const own = await tx.find(SERVER_KINDS.workspace, workspacePlace(account, id));
  if (own !== undefined) tx.remove(own);
  const known = await tx.find(SERVER_KINDS.workspaceName, namePlace(account, record.name));
  if (known?.message.stack === id) tx.remove(known);
  return true;
}

/** Adds tags to others: a key has one value. */
export function mergeTags(
  tags: readonly WorkspaceTag[],
  added: readonly WorkspaceTag[],
): WorkspaceTag[] {
  const merged = new Map([...tags, ...added].map(({ key, value }) => [key, value]));
  if (merged.size > 100) {
    throw new ServerError("unprocessable", "a workspace has at most 100 tags");
  }
  return [...merged]
    .map(([key, value]) => ({ key, value }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function byAge(a: NamedStack, b: NamedStack): number {
  const older = a.createdAtMs - b.createdAtMs;
  return older === 0 ? Number(a.reference.stack > b.reference.stack) * 2 - 1 : older;
}

function workspacePlace(account: string, stack: string): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name: stack };
}

function namePlace(account: string, name: string): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name };
}

function stackNamePlace(account: string, project: string, name: string): Place {
  return { tenancy: tenancyOf({ kind: "project", account, project }), name };
}
