import type { ProjectReference, StoredKeys } from "@stackwright/core";
import type { AccountVariableSet, Variable, VariableSet } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend, tenancyOf } from "@stackwright/storage";
import { requireEnvironmentValues } from "../domain/environment-values.ts";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { type Place, projectTenancy } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type SecretOwner, sealProjectSecret } from "../queue/project-secrets.ts";
import { requireRoom } from "../queue/require-room.ts";
import {
  idOf,
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import { accountSetSecret, setVariableSecret } from "../worker/run-variables.ts";
import type { DecideValue, VariableName } from "./new-value.ts";
import {
  MAX_SETS,
  storedVariable,
  variableOf,
  withoutVariable,
  withVariable,
} from "./set-variables.ts";

/** Whose the sets are: a project's, or an account's. */
interface SetHome<M extends VariableSet> {
  readonly kind: RecordKind<M>;
  readonly tenancy: Place["tenancy"];
  readonly owner: "project" | "account";
  secretOf(set: string, variable: VariableName): SecretOwner;
}

/** A set as it is stored. */
interface WrittenSet<M> {
  readonly set: M;
  /** Its version by now. */
  readonly generation: string;
}

/** Sets for the stacks of a project. */
export function setsOfProject(project: ProjectReference): SetHome<VariableSet> {
  return {
    kind: SERVER_KINDS.variableSet,
    tenancy: projectTenancy(project),
    owner: "project",
    secretOf: (set, { category, key }) => setVariableSecret(project, set, category, key),
  };
}

/** Sets for the stacks of several projects. */
export function setsOfAccount(account: string): SetHome<AccountVariableSet> {
  return {
    kind: SERVER_KINDS.accountVariableSet,
    tenancy: tenancyOf({ kind: "account", account }),
    owner: "account",
    secretOf: (set, { category, key }) => accountSetSecret({ account }, set, category, key),
  };
}

/** All of a home, in no order. */
export async function listSets<M extends VariableSet>(
  storage: StorageBackend,
  { kind, tenancy }: SetHome<M>,
): Promise<readonly M[]> {
  const found = await storage.list("strong", kind.type, tenancy, "");
  return found.map((one) => decodeRecord(kind, one));
}

/** One by its name; undefined where there is none. */
export async function readSet<M extends VariableSet>(
  storage: StorageBackend,
  home: SetHome<M>,
  name: string,
): Promise<WrittenSet<M> | undefined> {
  const { kind } = home;
  const found = await readStored(storage, "strong", idOf(kind, setPlace(home, name)));
  return found && { set: decodeRecord(kind, found), generation: found.generation };
}

/** Adds a set. `name_taken`; `unprocessable` where there are too many. */
export async function createSet<M extends VariableSet>(
  parts: TransactionParts,
  home: SetHome<M>,
  made: M,
): Promise<WrittenSet<M>> {
  const { kind, tenancy, owner } = home;
  const { name } = made;
  return transact(parts, async (tx) => {
    if ((await tx.find(kind, setPlace(home, name))) !== undefined) {
      throw new ServerError("name_taken", `the ${owner} has a variable set "${name}"`);
    }
    const article = owner === "account" ? "an" : "a";
    const detail = `${article} ${owner} has at most ${MAX_SETS} variable sets`;
    await requireRoom(parts, tx, { kind, tenancy, most: MAX_SETS, detail });
    const at = BigInt(tx.nowMs);
    const set = { ...made, createdAtMs: at, updatedAtMs: at };
    tx.create(kind, setPlace(home, name), set);
    return { set, generation: tx.generation };
  });
}

/** Changes a set as it is by then. @param change throws where it is not to be changed */
export async function changeSet<M extends VariableSet>(
  parts: TransactionParts,
  home: SetHome<M>,
  name: string,
  change: (row: StoredRow<M>) => Partial<M>,
): Promise<WrittenSet<M>> {
  return transact(parts, async (tx) => {
    const row = await findSet(tx, home, name);
    tx.update(row, { ...change(row), updatedAtMs: BigInt(tx.nowMs) });
    return { set: row.message, generation: tx.generation };
  });
}

/** Deletes a set with its variables. @param check throws where it is not to be deleted */
export async function removeSet<M extends VariableSet>(
  parts: TransactionParts,
  home: SetHome<M>,
  name: string,
  check: (version: string) => void,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await findSet(tx, home, name);
    check(row.resource.generation);
    tx.remove(row);
  });
}

/** Adds a variable of a set, or changes one; `decide` gets the version of the set, also where it has no such variable. */
export async function writeSetVariable<M extends VariableSet>(
  parts: TransactionParts & { readonly keys: StoredKeys },
  home: SetHome<M>,
  at: VariableName & { readonly set: string },
  decide: (...given: [...Parameters<DecideValue>, version: string]) => ReturnType<DecideValue>,
): Promise<{
  readonly variable: Variable;
  readonly isNew: boolean;
  readonly generation: string;
}> {
  return transact(parts, async (tx) => {
    const row = await findSet(tx, home, at.set);
    const stored = variableOf(row.message, at);
    const version = row.resource.generation;
    const wanted = decide(stored && { variable: stored, version }, version);
    if (at.category === "env") requireEnvironmentValues({ [at.key]: wanted.value ?? "" });
    const seal = async (plain: Buffer) =>
      sealProjectSecret(tx, parts.keys, home.secretOf(at.set, at), plain);
    const variable = await storedVariable(at, wanted, stored, seal, tx.nowMs);
    const variables = withVariable(row.message.variables, variable);
    tx.update(row, withVariables<M>(variables, tx.nowMs));
    return { variable, isNew: stored === undefined, generation: tx.generation };
  });
}

/** Deletes a variable of a set. @param check throws where it is not to be deleted */
export async function removeSetVariable<M extends VariableSet>(
  parts: TransactionParts,
  home: SetHome<M>,
  at: VariableName & { readonly set: string },
  check: (version: string) => void,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await findSet(tx, home, at.set);
    const variables = withoutVariable(row.message, at);
    check(row.resource.generation);
    tx.update(row, withVariables<M>(variables, tx.nowMs));
  });
}

/** What is answered where a set does not exist, or is none of the caller's business. */
export function noSet(name: string): ServerError {
  return new ServerError("not_found", `there is no variable set "${name}"`);
}

function withVariables<M extends VariableSet>(variables: Variable[], nowMs: number): Partial<M> {
  const change: Pick<VariableSet, "variables" | "updatedAtMs"> = {
    variables,
    updatedAtMs: BigInt(nowMs),
  };
  return change as Partial<M>;
}

function setPlace<M extends VariableSet>({ tenancy }: SetHome<M>, name: string): Place {
  return { tenancy, name };
}

async function findSet<M extends VariableSet>(
  tx: Transaction,
  home: SetHome<M>,
  name: string,
): Promise<StoredRow<M>> {
  const row = await tx.find(home.kind, setPlace(home, name));
  if (row === undefined) throw noSet(name);
  return row;
}
